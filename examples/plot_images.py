"""
Four images out of four mixtures
================================

A pixel is a sample, an image a source (figure 6 of the paper). Images are dense, seldom black, and not
quite independent: hard data for a method that needs sources which come near zero. ``fit`` shows the pixels
again and again, each time in another order, as the paper does it.
"""

import matplotlib.pyplot as plt

import nica
from nica.plotting import ImagesDisplay, style

scenes = nica.datasets.natural_scenes()
model = nica.NICA(4, random_state=0).fit(scenes.X)

with style():
    ImagesDisplay.from_estimator(model, scenes.X, scenes.shape, scenes.S, names=scenes.names)
    plt.show()

# %%
# How well each output correlates with its image:
match = nica.metrics.match_sources(scenes.S, model.transform(scenes.X))
for name, r in zip(scenes.names, match.correlation, strict=True):
    print(f"{name:>8} {r:.3f}")
