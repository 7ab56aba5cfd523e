"""
Separate a stream
=================

Three sources reach us through three channels, mixed with the matrix that the paper prints. The network
sees each sample once, emits its outputs, and learns.
"""

import matplotlib.pyplot as plt

import nica
from nica.plotting import ConvergenceDisplay, SourcesDisplay, style

mixture = nica.datasets.make_mixture(n_samples=100_000, random_state=0)
Y = nica.NICA(n_components=3, random_state=0).separate(mixture.X)

# %%
# The last samples: outputs follow the sources, up to their order, which nothing in the data could tell.
with style():
    SourcesDisplay.from_data(Y[-2000:], mixture.S[-2000:])
    plt.show()

# %%
# The error of all outputs so far, :math:`E_t = \frac1t \sum \lVert s - P y \rVert^2`, falls like
# :math:`1/t`: what is left of it was made in the first thousand samples.
with style():
    ConvergenceDisplay.from_data(Y, mixture.S)
    plt.show()
