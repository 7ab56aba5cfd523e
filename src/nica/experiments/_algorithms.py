"""The eight algorithms of Fig. 3B: what each is given, and how it is made from its rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica import networks
from nica.experiments._parameters import Rates
from nica.offline import nsm_pgd, whiten
from nica.rates import Activity, Time

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Algorithm:
    """How a curve is called, and whether its input is whitened beforehand.

    Attributes
    ----------
    label : str
        In legends and tables.
    whitened : bool
        Whether it is given input that was whitened offline, as section 4 has it.
    ours : bool
        Whether it is one of the paper's own networks.
    """

    label: str
    whitened: bool
    ours: bool = False


ALGORITHMS = {
    "two_layer": Algorithm("Two-layer network", whitened=False, ours=True),
    "nsm_activity": Algorithm("NSM, activity-dependent", whitened=True, ours=True),
    "nsm_time": Algorithm("NSM, time-dependent", whitened=True, ours=True),
    "projected_gradient": Algorithm("Projected gradient (offline)", whitened=True),
    "nonnegative_pca": Algorithm("Nonnegative PCA", whitened=True),
    "online_fastica": Algorithm("Online FastICA", whitened=True),
    "infomax": Algorithm("Infomax ICA", whitened=False),
    "linsker": Algorithm("Linsker's network", whitened=False),
}
RIVALS = {
    "nonnegative_pca": "NonnegativePCA",
    "online_fastica": "OnlineFastICA",
    "infomax": "OnlineInfomax",
    "linsker": "LinskerICA",
}
OFFLINE = "projected_gradient"
PAPER_SAMPLES = 100_000  # for which appendix D gives the step of the projected gradient


def network(name: str, d: int, rates: Rates, seed: int, **options: Any) -> Any:
    """Make a network of Fig. 3B with its rates, in the order of appendix D."""
    if name == "two_layer":
        return networks.NICA(
            d, start="paper", whitening_rate=Time(*rates[:2]),
            separation_rate=Activity(*rates[2:]), random_state=seed, **options,
        )  # fmt: skip
    if name in ("nsm_activity", "nsm_time"):
        rate = Activity(*rates) if name == "nsm_activity" else Time(*rates)
        return networks.NSM(d, start="paper", separation_rate=rate, random_state=seed, **options)
    rival = getattr(networks, RIVALS[name])
    if ALGORITHMS[name].whitened:
        options |= {"n_components": d, "whiten": False}
    return rival(rate=Time(*rates), start="paper", random_state=seed, **options)


def prepared(name: str, X: FloatArray, d: int) -> FloatArray:
    """Input of an algorithm: the mixture, or the mixture whitened offline with its mean kept."""
    return whiten(X, d).H if ALGORITHMS[name].whitened else X


def separate(name: str, X: FloatArray, d: int, rates: Rates, seed: int) -> FloatArray:
    """Outputs of an algorithm on one pass over X, those of the projected gradient at its plateau."""
    given = prepared(name, X, d)
    if name == OFFLINE:
        # The largest step that converges goes with 1 / T: so does the published one here.
        a, b = (rate * len(X) / PAPER_SAMPLES for rate in rates)
        return nsm_pgd(given, d, a=a, b=b, n_starts=1, random_state=seed).Y
    Y: FloatArray = network(name, d, rates, seed).separate(given)
    return Y
