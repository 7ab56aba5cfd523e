"""
From FastICA: the same answer from every start
==============================================

Sources that are zero half of the time and uniform otherwise are about as peaked as a Gaussian. FastICA,
which looks for peakedness, then ends in a wrong place from many starts, and does not say so. That
sources are never negative is another kind of knowledge, which does not fail here.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

import nica
from nica.plotting import colors, style

STARTS = 20
mixture = nica.datasets.make_mixture(n_samples=10_000, random_state=0)


def worst(Y):
    """Correlation of the source that came out worst, whatever order and sign."""
    r = np.abs(np.corrcoef(mixture.S.T, Y.T)[:3, 3:])
    return r.max(axis=1).min()


found = {"FastICA": [], "nica": []}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for seed in range(STARTS):
        found["FastICA"].append(worst(FastICA(random_state=seed).fit_transform(mixture.X)))
        model = nica.NICA(random_state=seed).fit(mixture.X)
        found["nica"].append(worst(model.transform(mixture.X)))

with style():
    figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
    for row, r in enumerate(found.values()):
        jitter = np.linspace(-0.25, 0.25, STARTS)
        ax.plot(r, row + jitter, "o", color=colors(2)[row], alpha=0.8)
        right = sum(value > 0.99 for value in r)
        ax.text(
            1.02, row, f"right {right} of {STARTS}", va="center", transform=ax.get_yaxis_transform()
        )
    ax.set(
        yticks=[0, 1],
        yticklabels=list(found),
        xlabel="correlation of the worst source",
        ylim=(-0.5, 1.5),
    )
    plt.show()

# %%
# What carries over: ``fit``, ``transform`` and ``fit_transform`` are the same. What differs: outputs are
# nonnegative with their mean kept, so there is no sign to guess, and :func:`nica.diagnose` says whether to
# believe them.
