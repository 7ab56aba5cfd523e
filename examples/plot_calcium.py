"""
Calcium imaging: neurons that share pixels
==========================================

*A user story on generated data.* A microscope watches regions of interest; each neuron glows in several of
them, because cell bodies overlap and light scatters, and a slowly changing haze of out-of-focus cells lies
over all. The sources are calcium transients: rare spikes, each followed by an exponential decay, so a silent
neuron is at zero most of the time.

What is realistic: rates (0.2 per second at 30 frames a second), decay (0.7 s), overlap, photon noise and the
haze. What is not: nothing moves, nothing bleaches, and neurons fire independently. Co-active neurons are
correlated, and beyond a correlation of about 0.3 the method is the wrong one; :func:`nica.diagnose` would say so,
and :doc:`plot_coactive` has another.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter

import nica
from nica.plotting import SourcesDisplay, style

rng = np.random.default_rng(3)
FRAMES, NEURONS, REGIONS = 18_000, 4, 12  # ten minutes
spikes = rng.random((FRAMES, NEURONS)) < 0.2 / 30
calcium = lfilter(
    [1], [1, -np.exp(-1 / (0.7 * 30))], spikes * rng.gamma(4, 0.25, spikes.shape), axis=0
)
haze = gaussian_filter1d(rng.standard_normal(FRAMES), 300)[:, np.newaxis]
haze = 0.3 * (haze - haze.min()) / np.ptp(haze)
S = np.hstack([calcium, haze])

place = np.linspace(0, 1, REGIONS)[:, np.newaxis]
footprints = np.exp(-((place - np.linspace(0.1, 0.9, NEURONS)) ** 2) / (2 * 0.12**2))
A = np.hstack([footprints, np.full((REGIONS, 1), 1.0)])
light = S @ A.T
X = light + 0.05 * np.sqrt(light + 0.1) * rng.standard_normal(light.shape)

# %%
# One region sees two neurons and the haze; the outputs tell them apart.
model = nica.NICA(NEURONS + 1, random_state=0).fit(X)
Y = model.transform(X)
match = nica.metrics.match_sources(S, Y, scale=True)
print("neurons and haze:", match.correlation.round(3))

with style():
    names = [f"neuron {i + 1}" for i in range(NEURONS)] + ["haze"]
    SourcesDisplay.from_data(Y[:3000], (S / S.std(axis=0))[:3000], names=names)
    plt.show()

# %%
# The haze hardly ever comes near zero, and comes out worst.
