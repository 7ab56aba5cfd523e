"""
Power meters: which appliance is on?
====================================

*A user story on generated data.* Three-phase sub-meters and their reactive channels see sums of what the
appliances of a house draw; no appliance draws less than nothing. Reactive power has both signs, for
capacitors push back, so NMF cannot read these channels.

What is realistic: duty cycles, power and phase angles of a refrigerator, a heat pump, an oven and a
television; meter noise of a few watts. What is not: every appliance has one level, and people's habits do not
couple them. In a real house the oven and the hood are used together, and come out as one source.
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import SourcesDisplay, style

rng = np.random.default_rng(5)
MINUTES = 14 * 24 * 60


def cycles(on, off):
    """Minutes of on and off in turn, drawn from exponential distributions with these means."""
    state = []
    while len(state) < MINUTES:
        state += [1.0] * int(1 + rng.exponential(on)) + [0.0] * int(1 + rng.exponential(off))
    return np.array(state[:MINUTES])


names = ["refrigerator", "heat pump", "oven", "television"]
duty = [(15, 30), (25, 60), (40, 300), (120, 400)]
S = np.column_stack([cycles(*minutes) for minutes in duty])
S *= 1 + 0.03 * rng.standard_normal(S.shape)
watts = np.array(
    [[120, 0, 0, 90],  # phase 1, 2, 3
     [0, 900, 0, 0],
     [0, 900, 2000, 0],
     [80, 0, 0, -35],  # reactive power of phase 1, 2, 3
     [0, 500, 0, 0],
     [0, 500, 20, 0]]
)  # fmt: skip
X = S @ watts.T + rng.normal(0, 4, (MINUTES, 6))

# %%
# Appliances run for longer than a network remembers, so the minutes are shown in permuted order, as ``fit``
# does; one pass in the order of time would have to forget the morning to learn the evening.
model = nica.NICA(4, random_state=0).fit(X)
Y = model.transform(X)
match = nica.metrics.match_sources(S, Y, scale=True)
for name, r in zip(names, match.correlation, strict=True):
    print(f"{name:>13} {r:.3f}")

with style():
    SourcesDisplay.from_data(Y[-1500:], (S / S.std(axis=0))[-1500:], names=names)
    plt.show()

# %%
# What each of them draws at the six channels, read off the mixing (watts when it is on):
level = S[S > 0.5].mean() / np.array(
    [Y[S[:, i] > 0.5, j].mean() for i, j in enumerate(match.permutation)]
)
print((model.mixing_[:, match.permutation] / level).round())
