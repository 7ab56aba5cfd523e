"""A rival of the paper: nonnegative PCA (Plumbley & Oja 2004), eq. by eq. in equations/rivals.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.networks._rivals import RivalNetwork
from nica.networks._samples import Array
from nica.rates import Time


class NonnegativePCA(RivalNetwork):
    r"""Online nonnegative principal component analysis of white input.

    .. math:: y = \max(W z, 0), \qquad W \leftarrow W + \eta\, (y z^\top - y y^\top W)

    for z white, its mean kept. It separates what ``NICA`` separates, by a rule that is not local: each
    synapse sees the outputs and the weights of all neurons.

    Parameters
    ----------
    n_components : int or None
        Number of outputs; None takes the number of channels. At most that.
    rate : rates.Time or None
        Rate 1/(a + b t). None takes the paper's for this number of outputs (appendix D).
    whiten : bool
        Whether layer 1 of the paper's network stands in front and whitens the stream as it comes. False
        takes the input for white, its mean kept: whitened offline, as in the paper
        (`nica.offline.Whitening`), or by ``OnlineWhitening``.
    start : {"warm", "paper"}
        How layer 1 starts, as in ``OnlineWhitening``.
    flip_silent : bool
        Flip the inputs of a neuron that has never fired.
    on_bad, tol, max_passes, shuffle, random_state
        As in ``NICA``. ``fit`` lets the rate fall like 1/t once it no longer gets better.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    w_ : array (n_components, n_whitened), the weights W
    mean_ : array (n_channels,)
    n_components_, n_samples_seen_, n_bad_samples_, n_iter_, n_features_in_ : int

    References
    ----------
    M. D. Plumbley and E. Oja, *A "nonnegative PCA" algorithm for independent component analysis*, IEEE
    Transactions on Neural Networks 15, 2004.

    Examples
    --------
    >>> import nica
    >>> S = nica.datasets.sparse_uniform(20000, 3, random_state=0)
    >>> Y = nica.NonnegativePCA(random_state=0).separate(S @ nica.datasets.MIXING_3.T)
    >>> nica.metrics.match_sources(S[-2000:], Y[-2000:]).error < 0.02
    True
    """

    _rule = 1
    _wants_white = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        rate: Time | None = None,
        whiten: bool = True,
        start: str = "warm",
        flip_silent: bool = True,
        on_bad: str = "raise",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.rate = rate
        self.whiten = whiten
        self.start = start
        self.flip_silent = flip_silent
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state

    def _paper_rate(self, d: int) -> Time:
        return Time(10 if d <= 5 else 100 if d <= 7 else 1000, 0.1 if d <= 3 else 0.01)

    def _decoding(self, state: dict[str, Array]) -> Array:
        return state["w"]

    def _silent(self) -> list[int]:
        silent: list[int] = np.flatnonzero(self._state()["fired"].ravel() == 0).tolist()
        return silent
