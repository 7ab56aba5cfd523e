"""
Abundances: what each pixel of a scene is made of
=================================================

*A user story on generated data.* A hyperspectral camera sees a scene in many bands; the spectrum of a pixel
is a mixture of the spectra of its materials, and the shares sum to one. Such sources cannot be uncorrelated:
where there is more of one there is less of the rest. :class:`nica.NICA`, like every method that whitens, is
the wrong one, and :class:`nica.FacetNICA` is made for it. If you know that the shares sum to one, say so.

What is realistic: smooth overlapping spectra with the red edge of plants and the dark of water, patches of
pure material with mixed borders, noise of the camera. What is not: one spectrum for each material everywhere,
no light that bounces twice, no shade.
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import style

rng = np.random.default_rng(0)
SHAPE, BANDS = (60, 80), 40
names = ["plants", "soil", "water", "roofs"]
wavelength = np.linspace(400, 1000, BANDS)  # nm


def step(at, width):
    """A smooth rise from 0 to 1."""
    return 1 / (1 + np.exp(-(wavelength - at) / width))


def bump(at, width):
    """A band."""
    return np.exp(-(((wavelength - at) / width) ** 2) / 2)


A = np.column_stack(
    [
        0.05 + 0.08 * bump(550, 30) + 0.45 * step(715, 15),
        0.08 + 0.35 * step(650, 120),
        0.09 - 0.07 * step(600, 60) + 0.03 * bump(500, 50),
        0.25 + 0.08 * step(550, 80) - 0.06 * bump(870, 60),
    ]
)
S = nica.datasets.abundances(SHAPE, 4, random_state=rng)
X = S @ A.T + 0.002 * rng.standard_normal((len(S), BANDS))

# %%
# Three ways, and how well each material comes out of them:
models = {
    "NICA": nica.NICA(4, solver="batch", random_state=0),
    "FacetNICA": nica.FacetNICA(4, random_state=0),
    "FacetNICA, sum_to_one": nica.FacetNICA(4, sum_to_one=True, random_state=0),
}
maps = {"truth": S}
for name, model in models.items():
    Y = model.fit_transform(X)
    match = nica.metrics.match_sources(S, Y, scale=True)
    maps[name] = Y[:, match.permutation] * match.scale
    print(f"{name}: correlation with each material {match.correlation.round(3)}")

with style():
    figure, axes = plt.subplots(len(maps), 4, figsize=(8, 6.4), layout="constrained")
    for row, (name, Y) in zip(axes, maps.items(), strict=True):
        for ax, y in zip(row, Y.T, strict=True):
            ax.imshow(y.reshape(SHAPE), vmin=0, vmax=1, cmap="viridis")
            ax.set(xticks=[], yticks=[])
        row[0].set_ylabel(name, fontsize=8)
    for ax, material in zip(axes[0], names, strict=True):
        ax.set_title(material)
    plt.show()

# %%
# Shade breaks the sum: every pixel gets its own amount of light, and its shares add up to that. Then
# ``sum_to_one`` is a claim that is not true, and it is better not made.
shade = np.random.default_rng(1).uniform(0.5, 1, (len(S), 1))
shaded = shade * (S @ A.T) + 0.002 * rng.standard_normal(X.shape)
for name, options in {"without": {}, "with sum_to_one": {"sum_to_one": True}}.items():
    Y = nica.FacetNICA(4, random_state=0, **options).fit_transform(shaded)
    r = nica.metrics.match_sources(shade * S, Y, scale=True).correlation
    print(f"in shade, {name}: {r.round(3)}")
