"""
Chromatography: peaks that overlap
==================================

*A user story on generated data.* Compounds leave a column one after the other; a detector takes the spectrum of
what comes, time after time. If the peaks overlap, no single wavelength shows one compound alone. The elution
profiles are the sources, and overlapping peaks are correlated, of either sign: nothing whitens them without
harm. But each compound is absent while another is present, before it comes and after it has gone, and these
samples are the facets that :class:`nica.FacetNICA` looks for.

What is realistic: tailing peaks at a resolution of about one half, smooth spectra that overlap, a lamp that drifts
below the noise. What is not: a flat baseline, and spectra that do not change with concentration.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import erfcx

import nica
from nica.plotting import colors, style

rng = np.random.default_rng(4)
SCANS, BANDS, RUNS = 300, 30, 5
time = np.linspace(3, 7, SCANS)  # minutes


def peak(at, width, tail):
    """A Gaussian peak of unit height with an exponential tail."""
    z = (width / tail - (time - at) / width) / np.sqrt(2)
    shape = np.exp(-(((time - at) / width) ** 2) / 2) * erfcx(z)
    return shape / shape.max()


retention = (4.0, 4.5, 5.1)
profiles = np.column_stack([peak(at, 0.25, 0.2) for at in retention])
amounts = rng.uniform(0.3, 1.5, (RUNS, 3))  # what each injection holds of them
S = np.vstack([amount * profiles for amount in amounts])

wavelength = np.linspace(210, 400, BANDS)
A = np.column_stack(
    [
        np.exp(-(((wavelength - low) / 25) ** 2) / 2)
        + share * np.exp(-(((wavelength - high) / 30) ** 2) / 2)
        for low, high, share in ((225, 280, 0.8), (235, 300, 0.6), (220, 320, 0.9))
    ]
)
X = S @ A.T + 0.005 * rng.standard_normal((len(S), BANDS))
print("correlations of the profiles:", np.corrcoef(S.T)[np.triu_indices(3, 1)].round(2))

# %%
# One run is drawn; the model has seen five, with other amounts each.
found = {}
for name, model in {
    "NICA": nica.NICA(3, solver="batch", random_state=0),
    "FacetNICA": nica.FacetNICA(3, random_state=0),
}.items():
    Y = model.fit_transform(X)
    match = nica.metrics.match_sources(S, Y, scale=True)
    found[name] = Y[:, match.permutation] * match.scale
    print(f"{name}: correlation with each compound {match.correlation.round(3)}")

with style():
    figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained", sharey=True)
    axes[0].plot(time, X[:SCANS, ::6], color="0.5", linewidth=0.8)
    axes[0].set(title="five of the wavelengths", xlabel="minutes")
    for ax, (name, Y) in zip(axes[1:], found.items(), strict=True):
        for i, color in enumerate(colors(3)):
            ax.plot(time, Y[:SCANS, i], color=color)
            ax.plot(time, S[:SCANS, i], "--", color="0.3", linewidth=0.8)
        ax.set(title=f"{name} (dashed: the truth)", xlabel="minutes")
    plt.show()

# %%
# What a peak holds is its area, and areas are what is reported. Scale is open, as in all of these methods, so
# compare runs: the amounts of the five injections against the areas that were found.
for name, Y in found.items():
    areas = Y.reshape(RUNS, SCANS, 3).sum(axis=1) / profiles.sum(axis=0)
    print(f"{name}: largest error of an amount {np.abs(areas - amounts).max():.3f}")

# %%
# The window matters. Scans without any compound say nothing about the mixing, but they count: with as much
# again of bare baseline, and with four times as much,
for times in (1, 4):
    baseline = 0.005 * rng.standard_normal((times * len(X), BANDS))
    model = nica.FacetNICA(3, random_state=0).fit(np.vstack([X, baseline]))
    r = nica.metrics.match_sources(S, model.transform(X), scale=True).correlation
    print(f"{times} times as much baseline: {r.round(3)}")
