"""
Flow cytometry: compensation without control samples
====================================================

*A user story on generated data.* Each cell carries dyes; each detector sees its own dye and spillover of
the others. Compensation undoes the spillover, usually with a stained control sample for every dye. If dyes
mark different kinds of cells, the mixture itself tells the spillover.

What is realistic: spillover of a few to forty percent, log-normal brightness, autofluorescence, detector
noise. What is not: markers here are independent, and one in three cells carries each. Co-expressed markers
(correlation 0.9) are beyond this method, and the diagnosis says *doubtful* or *failed* then; see
:class:`nica.FacetNICA` for milder correlation.
"""

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import colors, style

rng = np.random.default_rng(0)
CELLS, DYES = 20_000, 4
carried = rng.random((CELLS, DYES)) < 1 / 3
S = carried * rng.lognormal(0, 0.6, (CELLS, DYES))
SPILL = np.array(
    [[1.00, 0.12, 0.02, 0.00],
     [0.40, 1.00, 0.15, 0.03],
     [0.08, 0.35, 1.00, 0.10],
     [0.02, 0.06, 0.28, 1.00]]
)  # fmt: skip
X = S @ SPILL.T + 0.02 * rng.standard_normal((CELLS, DYES))

model = nica.NICA(random_state=0).fit(X)
Y = model.transform(X)
match = nica.metrics.match_sources(S, Y, scale=True)
print("correlation with each dye:", match.correlation.round(3))

# %%
# The mixing that was learned, each column scaled to one at its own detector, is the spillover matrix:
mixing = model.mixing_[:, match.permutation]
mixing /= np.diag(mixing)
print(mixing.round(2))

with style():
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.3), layout="constrained")
    few = slice(0, 3000)
    axes[0].plot(X[few, 0], X[few, 1], ".", markersize=2, color=colors(2)[0], alpha=0.4)
    axes[0].set(title="detectors", xlabel="detector 1", ylabel="detector 2")
    first, second = match.permutation[:2]
    axes[1].plot(Y[few, first], Y[few, second], ".", markersize=2, color=colors(2)[1], alpha=0.4)
    axes[1].set(title="separated", xlabel="dye 1", ylabel="dye 2")
    plt.show()

# %%
# And can it be believed?
print(nica.diagnose(X, model=model))
