"""A rival of the paper: Linsker's local rule for Infomax (1997), eq. by eq. in equations/rivals.py."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nica.networks._rivals import RivalNetwork
from nica.networks._samples import Array
from nica.networks.whitening import _view
from nica.rates import Time


class LinskerICA(RivalNetwork):
    r"""Infomax by a local rule: lateral connections relax to what the gradient needs.

    .. math:: u = W \delta x, \qquad v \leftarrow v + \rho\, (u - Q v) \to Q^{-1} u, \qquad
              W \leftarrow W + \eta\, (v - u^3)\, \delta x^\top

    with δx = x less its mean and lateral weights Q, a running average of u uᵀ. For sub-Gaussian sources,
    as many as channels; needs no whitening. Outputs as those of ``OnlineInfomax``.

    Parameters
    ----------
    rate : rates.Time or None
        Rate 1/(a + b t) of both kinds of weights (Q averages faster at first). None takes the paper's,
        Time(1000, 0.2).
    dynamics : {"exact", "relaxation"}
        Solve for v directly, or iterate the relaxation, as the network would.
    max_sweeps, dynamics_tol
        Limits of the relaxation: steps of all neurons, and largest velocity relative to 1 + largest u.
    start, on_bad, tol, max_passes, shuffle, random_state
        As in ``OnlineInfomax``.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    w_ : array (n_components, n_channels), the weights W
    w_lateral_ : array (n_components, n_components), the weights Q
    mean_ : array (n_channels,)
    n_components_, n_samples_seen_, n_bad_samples_, n_iter_, n_features_in_ : int

    References
    ----------
    R. Linsker, *A local learning rule that enables information maximization for arbitrary input
    distributions*, Neural Computation 9, 1997.

    Examples
    --------
    >>> import nica
    >>> S = nica.datasets.sparse_uniform(50000, 2, zeros=0.0, random_state=0)
    >>> model = nica.LinskerICA(rate=nica.rates.Time(100, 0.1), random_state=0)
    >>> Y = model.separate(S @ [[0.9, -0.3], [0.4, 0.7]])
    >>> nica.metrics.match_sources(S[-2000:], Y[-2000:]).error < 0.05
    True
    """

    _rule = 4
    _dynamics: ClassVar = {"exact": 0, "relaxation": 1}
    _nonnegative = False

    def __init__(
        self,
        *,
        rate: Time | None = None,
        dynamics: str = "exact",
        max_sweeps: int = 10_000,
        dynamics_tol: float = 1e-10,
        start: str = "warm",
        on_bad: str = "raise",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        self.dynamics = dynamics
        self.max_sweeps = max_sweeps
        self.dynamics_tol = dynamics_tol
        self.start = start
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    def w_lateral_(self) -> Array:
        """Lateral weights Q, the average of u uᵀ (n_components, n_components)."""
        return _view(self._ready().get_state()["lateral"])

    def _paper_rate(self, d: int) -> Time:
        return Time(1000, 0.2)

    def _decoding(self, state: dict[str, Array]) -> Array:
        decoding: Array = super()._decoding(state) / np.sqrt(np.diag(state["lateral"]))[:, None]
        return decoding
