"""
How many sources are there?
===========================

With more channels than sources, the spectrum of the channels falls to a floor of noise behind the last
source. :func:`nica.estimate_n_components` finds the edge, and says whether it is certain; ``n_components="auto"`` asks it.
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import SpectrumDisplay, style

rng = np.random.default_rng(0)
S = nica.datasets.sparse_uniform(10_000, 4, random_state=rng)
X = S @ nica.datasets.mixing(10, 4, condition=5, random_state=rng).T
X += 0.1 * rng.standard_normal(X.shape)

print(nica.estimate_n_components(X))
with style():
    SpectrumDisplay.from_data(X)
    plt.show()

# %%
# The estimators do the same by themselves:
model = nica.NICA("auto", random_state=0).fit(X)
print(model.n_components_, "sources")
