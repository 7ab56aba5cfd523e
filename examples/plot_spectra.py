"""
Fluorescence spectra: dyes and their concentrations
===================================================

*A user story on generated data.* Every pixel of a spectral image is a mixture of dyes, seen in 24 bands. The
concentrations are the sources, the emission spectra are the columns of the mixing, and neither is known.

What is realistic: emission bands with a steep blue and a long red side, strong overlap (neighbours correlate
at 0.8), shot noise. What is not: dyes stain different structures. If two of them always go together, their
spectra cannot be told apart by any method that looks at the pixels alone.
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import colors, style

rng = np.random.default_rng(1)
PIXELS, BANDS = 20_000, 24
wavelength = np.linspace(480, 700, BANDS)


def emission(peak):
    """An emission band: 12 nm wide on its blue side, 30 nm on its red side."""
    width = np.where(wavelength < peak, 12, 30)
    return np.exp(-((wavelength - peak) ** 2) / (2 * width**2))


A = np.column_stack([emission(peak) for peak in (515, 545, 580, 620)])
S = (rng.random((PIXELS, 4)) < 0.4) * rng.gamma(2, 0.5, (PIXELS, 4))
light = S @ A.T
X = light + 0.03 * np.sqrt(light + 0.05) * rng.standard_normal(light.shape)

print(nica.estimate_n_components(X))
model = nica.NICA(4, random_state=0).fit(X)
match = nica.metrics.match_sources(S, model.transform(X), scale=True)
print("correlation with each concentration:", match.correlation.round(3))

# %%
# The spectra that were found, beside the true ones (dashed):
found = model.mixing_[:, match.permutation]
found /= found.max(axis=0)
with style():
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    for i, color in enumerate(colors(4)):
        ax.plot(wavelength, found[:, i], color=color)
        ax.plot(wavelength, A[:, i], "--", color="0.4", linewidth=0.8)
    ax.set(xlabel="wavelength, nm", ylabel="emission, maximum 1")
    plt.show()
