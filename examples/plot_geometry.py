"""
Why it works: whiten, then turn
===============================

Whitening makes the mixture a turned copy of the sources; if the mean is kept, the copy still begins at
the origin. Nonnegative sources fill one orthant, so one turn is left to find: the one that puts the cloud
into the positive orthant (figure 1 of the paper).
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import WhitenedDisplay, style

data = nica.datasets.two_sources(3000, random_state=0)
model = nica.NICA(2, random_state=0).fit(data.X)
H = data.X @ model.whitening_.T

with style():
    figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
    axes[0].plot(*data.S.T, ".", markersize=2, alpha=0.3)
    axes[0].set(title="sources s", xlabel="$s_1$", ylabel="$s_2$", aspect="equal")
    axes[1].plot(*data.X.T, ".", markersize=2, alpha=0.3)
    axes[1].set(title="mixture x = A s", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    WhitenedDisplay.from_estimator(model, data.X, ax=axes[2])
    axes[2].set_title("whitened h = F x")
    plt.show()

# %%
# The covariance of h is one, its mean is not zero:
print(np.cov(H.T).round(2), H.mean(axis=0).round(2), sep="\n")
