"""
A mixture that drifts
=====================

The sensors move, and the mixing turns by one radian in 40,000 samples. A network that remembers everything
averages over mixtures that are gone. ``half_life`` makes it forget: short ones forget too much, long ones lag
behind, and :func:`nica.estimate_drift` proposes one in between.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm

import nica
from nica.plotting import colors, style

T, RADIAN = 100_000, 40_000
rng = np.random.default_rng(0)
S = nica.datasets.sparse_uniform(T, 3, random_state=rng)
axis = np.array([[0, -1, 0.5], [1, 0, -0.8], [-0.5, 0.8, 0]])
axis /= np.linalg.norm(axis) / np.sqrt(2)  # turns by one radian per unit

X = np.empty_like(S)
for start in range(0, T, 100):
    A = expm(start / RADIAN * axis) @ nica.datasets.MIXING_3
    X[start : start + 100] = S[start : start + 100] @ A.T

drift = nica.estimate_drift(X)
print(drift)

# %%
# Error over windows of 2,000 samples, outputs put into the order of the sources in each:
WINDOW = 2000
t = np.arange(WINDOW, T + 1, WINDOW)
with style():
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    for number, half_life in enumerate((None, round(drift.half_life), 8 * round(drift.half_life))):
        Y = nica.NICA(3, half_life=half_life, random_state=0).separate(X)
        error = [nica.metrics.match_sources(S[i - WINDOW : i], Y[i - WINDOW : i]).error for i in t]
        ax.semilogy(t, error, color=colors(3)[number], label=f"half_life={half_life}")
    ax.set(xlabel="samples seen", ylabel="error per sample")
    ax.legend()
    plt.show()
