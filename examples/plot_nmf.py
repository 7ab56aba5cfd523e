"""
From NMF: when a channel is a difference
========================================

Nonnegative matrix factorisation needs nonnegative data. A differential electrode, a background that was
subtracted, a contrast between two detectors: such channels have both signs, and so has the mixing. nica
asks only that the *sources* be nonnegative. And where NMF can run, it has many answers that fit equally
well; uncorrelated sources have one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import NMF

import nica
from nica.plotting import SourcesDisplay, style

rng = np.random.default_rng(1)
S = nica.datasets.sparse_exponential(5000, 3, random_state=rng)
positive = rng.uniform(0.2, 1, size=(3, 3)) + 1.5 * np.eye(3)
contrast = np.array([[1.0, -0.7, 0.2], [-0.4, 1.0, -0.5], [0.3, -0.6, 1.0]])

for name, A in {"all weights positive": positive, "with differences": contrast}.items():
    X = S @ A.T
    ours = nica.metrics.match_sources(S, nica.NICA(3, random_state=0).fit_transform(X), scale=True)
    try:
        theirs = NMF(3, init="nndsvda", max_iter=2000, random_state=0).fit_transform(X)
        r = nica.metrics.match_sources(S, theirs, scale=True).correlation.min().round(3)
    except ValueError as error:
        r = f"refuses: {error}"
    print(f"{name}: worst source, nica {ours.correlation.min():.3f}; NMF {r}")

# %%
# The sources behind the contrasts:
with style():
    model = nica.NICA(3, random_state=0).fit(S @ contrast.T)
    SourcesDisplay.from_estimator(model, (S @ contrast.T)[:500], S[:500])
    plt.show()
