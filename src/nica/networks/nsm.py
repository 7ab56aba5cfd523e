"""Layer 2 alone: nonnegative similarity matching, eqs. NSMdynamics, fullNSMW, activitydep."""

from __future__ import annotations

from typing import Any

from nica.networks._outputs import OutputWeights
from nica.rates import Activity, Time


class NSM(OutputWeights):
    r"""Online nonnegative similarity matching, for input that is already white (layer 2 of the paper).

    .. math:: y_i = \max\Big(\sum_j W^{YH}_{ij} h_j - \sum_{j \ne i} W^{YY}_{ij} y_j,\ 0\Big)

    The input must have unit covariance and its mean must be kept: see ``OnlineWhitening``.

    Parameters
    ----------
    n_components : int or None
        Number of outputs d; None takes the number of channels.
    separation_rate : rates.Activity, rates.Time or None
        None takes the start's own: with "warm" a memory that grows to 15 d samples, else the paper's
        Activity(10, 0.8) for d <= 3 and Activity(10, 0.9) for more.
    dynamics : {"exact", "sweeps"}
        How the network settles: at the fixed point directly, or by coordinate sweeps.
    max_sweeps, dynamics_tol
        Limits of the sweeps: their number, and largest change relative to 1 + largest drive.
    start : {"warm", "paper"}
        "warm" adds outlier weights, growing memory and revival of lost neurons to the paper's rules.
    flip_silent : bool
        Flip the inputs of a neuron that has never fired; with start="warm" also of a lost one.
    half_life : float or None
        Samples after which half of the past is forgotten; None forgets nothing.
    on_bad, tol, max_passes, shuffle, random_state
        As in ``NICA``.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    w_yh_, w_yy_, activity_, mean_ : arrays
    n_samples_seen_, n_bad_samples_, n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, nica
    >>> S = nica.datasets.sparse_uniform(20000, 3, random_state=0)
    >>> H = nica.OnlineWhitening(random_state=0).fit_transform(S @ nica.datasets.MIXING_3.T)
    >>> Y = nica.NSM(random_state=0).fit_transform(H)
    >>> nica.metrics.match_sources(S, Y).error < 0.01
    True
    """

    _whiten = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        separation_rate: Activity | Time | None = None,
        dynamics: str = "exact",
        max_sweeps: int = 10_000,
        dynamics_tol: float = 1e-10,
        start: str = "warm",
        flip_silent: bool = True,
        half_life: float | None = None,
        on_bad: str = "raise",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.separation_rate = separation_rate
        self.dynamics = dynamics
        self.max_sweeps = max_sweeps
        self.dynamics_tol = dynamics_tol
        self.start = start
        self.flip_silent = flip_silent
        self.half_life = half_life
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state
