"""
Glitches, gains and a bad beginning
===================================

Real recordings begin with a transient, change their gain, and have spikes. ``start="warm"``, the default,
reads scale and covariance off the first samples, gives outliers no weight, and begins again when most
samples lie far outside. ``start="paper"`` is the paper to the letter, which assumes none of that.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import nica
from nica.plotting import colors, style

T = 30_000
mixture = nica.datasets.make_mixture(n_samples=T, random_state=0)
X = mixture.X.copy()
rng = np.random.default_rng(0)
spikes = rng.random(T) < 1e-3
X[spikes] += 100 * X.std(axis=0) * rng.standard_normal((spikes.sum(), 3))  # one in a thousand
X[10_000:] *= 1000  # somebody turns the gain
X[20_000:20_500] = X[20_000]  # a stuck sensor

WINDOW = 500
t = np.arange(WINDOW, T + 1, WINDOW)
with style():
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    for number, start in enumerate(("warm", "paper")):
        model = nica.NICA(3, start=start, random_state=0)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", ConvergenceWarning)
            Y = model.separate(X)
        for warning in said:
            print(warning.message)
        error = np.full(len(t), np.nan)
        for i, end in enumerate(t):
            rows = np.flatnonzero(~spikes[end - WINDOW : end]) + end - WINDOW
            error[i] = nica.metrics.match_sources(mixture.S[rows], Y[rows], scale=True).error
        ax.semilogy(t, error, color=colors(3)[number], label=f'start="{start}"')
    for place, what in ((10_000, "gain × 1000"), (20_000, "stuck")):
        ax.axvline(place, color="0.6", linewidth=0.8)
        ax.annotate(
            what,
            (place, 1),
            xycoords=("data", "axes fraction"),
            xytext=(3, -10),
            textcoords="offset points",
            fontsize=8,
        )
    ax.set(xlabel="samples seen", ylabel="error per sample, at best scale")
    ax.legend(loc="lower left")
    plt.show()
