"""
The weights that theory predicts
================================

When learning has come to rest, each weight of layer 2 is known from the sources alone (eq.
``stationaryWeights``): feedforward weights are the columns of the whitened mixing, lateral ones the
products of the sources' means. Here they are beside those that a network learned (figure 4 of the paper).
"""

import matplotlib.pyplot as plt

import nica
from nica.plotting import WeightsDisplay, style

mixture = nica.datasets.make_mixture(n_samples=100_000, random_state=0)
model = nica.NICA(3, start="paper", separation_rate=nica.rates.Time(10, 1), random_state=0)
model.partial_fit(mixture.X)

with style():
    WeightsDisplay.from_estimator(model, mixture.A, mixture.S)
    plt.show()
