"""A rival of the paper: Infomax by the natural gradient, eq. by eq. in equations/rivals.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.networks._rivals import RivalNetwork
from nica.networks._samples import Array
from nica.rates import Time


class OnlineInfomax(RivalNetwork):
    r"""Online Infomax (natural gradient) for sub-Gaussian sources; needs no whitening.

    .. math:: W \leftarrow W + \eta\, (I - u^3 u^\top)\, W, \qquad u = W \delta x

    with δx = x less its mean. The sources are W x, mean kept, with the signs that make their means
    positive, scaled to unit variance by a running average of u²; they may be slightly negative. There are
    as many as channels. The rule is not local.

    Parameters
    ----------
    rate : rates.Time or None
        Rate 1/(a + b t). None takes the paper's, Time(1000, 0.2).
    start : {"warm", "paper"}
        "warm" holds the first max(30, 10 d) samples and reads their scale, so that any unit will do, and
        each output begins with unit variance; "paper" takes the input as it is, and weights start random
        and orthonormal.
    on_bad, tol, max_passes, shuffle, random_state
        As in ``NICA``. ``fit`` lets the rate fall like 1/t after a few passes.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    w_ : array (n_components, n_channels), the weights W
    mean_ : array (n_channels,)
    n_components_, n_samples_seen_, n_bad_samples_, n_iter_, n_features_in_ : int

    References
    ----------
    A. J. Bell and T. J. Sejnowski, *An information-maximization approach to blind separation and blind
    deconvolution*, Neural Computation 7, 1995; A. Cichocki, R. Unbehauen and others on its natural
    gradient, 1996.

    Examples
    --------
    >>> import nica
    >>> S = nica.datasets.sparse_uniform(50000, 2, zeros=0.0, random_state=0)
    >>> model = nica.OnlineInfomax(rate=nica.rates.Time(100, 0.1), random_state=0)
    >>> Y = model.separate(S @ [[0.9, -0.3], [0.4, 0.7]])
    >>> nica.metrics.match_sources(S[-2000:], Y[-2000:]).error < 0.05
    True
    """

    _rule = 3
    _nonnegative = False

    def __init__(
        self,
        *,
        rate: Time | None = None,
        start: str = "warm",
        on_bad: str = "raise",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.rate = rate
        self.start = start
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _paper_rate(self, d: int) -> Time:
        return Time(1000, 0.2)

    def _decoding(self, state: dict[str, Array]) -> Array:
        decoding: Array = super()._decoding(state) / np.sqrt(state["variance"])
        return decoding
