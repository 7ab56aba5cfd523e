"""
Neurons that fire together
==========================

*A user story on generated data.* The same microscope as in :doc:`plot_calcium`, but most events are bursts of
the population: traces of different neurons correlate at about 0.5. Whitening takes such traces apart as if their
likeness were an effect of the mixing. :class:`nica.FacetNICA` needs no decorrelation: that each neuron is
silent now and then, while others are not, tells it where the truth is.

What is realistic: rates, decay, neuropil that neurons share pixels with, photon noise. What is not: nothing
moves, nothing bleaches, and all neurons are alike. At first there is no haze; the second part adds one.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

import nica
from nica.plotting import colors, style

rng = np.random.default_rng(0)
FRAMES, NEURONS, REGIONS = 9_000, 4, 12  # five minutes at 30 frames a second
S = nica.datasets.coactive_traces(
    FRAMES, NEURONS, together=0.8, rate=0.2 / 30, decay=0.7 * 30, random_state=rng
)
place = np.linspace(0, 1, REGIONS)[:, np.newaxis]
A = np.exp(-((place - np.linspace(0.1, 0.9, NEURONS)) ** 2) / (2 * 0.15**2))
light = S @ A.T
X = light + 0.05 * np.sqrt(light + 0.1) * rng.standard_normal(light.shape)
print("correlations of the true traces:", np.corrcoef(S.T)[np.triu_indices(NEURONS, 1)].round(2))

# %%
# Both methods, and what each makes of the likeness of two neighbours:
found = {}
for name, model in {
    "NICA": nica.NICA(NEURONS, solver="batch", random_state=0),
    "FacetNICA": nica.FacetNICA(NEURONS, random_state=0),
}.items():
    Y = model.fit_transform(X)
    match = nica.metrics.match_sources(S, Y, scale=True)
    found[name] = Y[:, match.permutation] * match.scale
    print(f"{name}: correlation with each neuron {match.correlation.round(3)}")

with style():
    figure, axes = plt.subplots(
        1, 3, figsize=(9, 3.2), layout="constrained", sharex=True, sharey=True
    )
    for ax, (name, Y), color in zip(axes, {"truth": S, **found}.items(), colors(3), strict=True):
        ax.plot(Y[::5, 1], Y[::5, 2], ".", markersize=2, alpha=0.4, color=color)
        r = np.corrcoef(Y[:, 1], Y[:, 2])[0, 1]
        ax.set(title=f"{name}: r = {r:.2f}", xlabel="neuron 2")
    axes[0].set_ylabel("neuron 3")
    plt.show()

# %%
# The likeness is the finding in such a recording, and NICA has made it go away: its outputs are uncorrelated,
# because they must be. What FacetNICA leaves of it is what is there.
#
# What lies over all regions and never changes is an offset of each of them: ``offset=True``. A haze that changes
# but is never dark is one more source, and one without a facet: the neurons come out nearly right, the haze
# itself does not. Where the estimator cannot find a facet it says so, in ``identified_`` and in a warning.
dark = X + 0.5
changing = 0.5 + 0.3 * np.sin(np.arange(FRAMES) / 2000)[:, np.newaxis] ** 2
for what, data, d, options in (
    ("constant light", dark, NEURONS, {}),
    ("constant light, offset=True", dark, NEURONS, {"offset": True}),
    ("haze, as one more source", X + changing, NEURONS + 1, {}),
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = nica.FacetNICA(d, random_state=0, **options).fit(data)
    truth = np.hstack([S, changing])[:, :d]
    match = nica.metrics.match_sources(truth, model.transform(data), scale=True)
    sure = model.identified_[match.permutation]
    print(f"{what}: {match.correlation.round(3)}, identified: {sure}")
