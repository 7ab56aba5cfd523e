"""A rival of the paper: online FastICA (Hyvärinen & Oja 1998), eq. by eq. in equations/rivals.py."""

from __future__ import annotations

from typing import Any

from nica.networks._rivals import RivalNetwork
from nica.rates import Time


class OnlineFastICA(RivalNetwork):
    r"""Online independent component analysis by a nonlinear Hebbian rule, its sign learned online.

    .. math:: W \leftarrow W + \eta\, \mathrm{diag}(\sigma)\, u^3\, \delta z^\top, \qquad
              W \leftarrow (W W^\top)^{-1/2}\, W, \qquad u = W \delta z

    for z white and δz = z less its mean. The sign σ of each neuron is that of the kurtosis of its output,
    a running average. The sources are W z, mean kept, with the signs that make their means positive; they
    have unit variance, and may be slightly negative.

    Parameters
    ----------
    n_components : int or None
        Number of outputs; None takes the number of channels. At most that.
    rate : rates.Time or None
        Rate 1/(a + b t). None takes the paper's for this number of outputs (appendix D).
    whiten, start, on_bad, tol, max_passes, shuffle, random_state
        As in ``NonnegativePCA``.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    w_ : array (n_components, n_whitened), the weights W, orthonormal rows
    nonlinearity_sign_ : array (n_components,), the signs σ
    mean_ : array (n_channels,)
    n_components_, n_samples_seen_, n_bad_samples_, n_iter_, n_features_in_ : int

    References
    ----------
    A. Hyvärinen and E. Oja, *Independent component analysis by general nonlinear Hebbian-like learning
    rules*, Signal Processing 64, 1998.

    Examples
    --------
    >>> import nica
    >>> S = nica.datasets.sparse_exponential(20000, 3, random_state=0)
    >>> Y = nica.OnlineFastICA(random_state=0).separate(S @ nica.datasets.MIXING_3.T)
    >>> nica.metrics.match_sources(S[-2000:], Y[-2000:]).error < 0.1
    True
    """

    _rule = 2
    _wants_white = True
    _nonnegative = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        rate: Time | None = None,
        whiten: bool = True,
        start: str = "warm",
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
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state

    @property
    def nonlinearity_sign_(self) -> Any:
        """Sign of the nonlinearity that each neuron has learned: -1 for sub-Gaussian sources."""
        kurtosis = self._ready().get_state()["kurtosis"].ravel()
        return (1 - 2 * (kurtosis < 0)).astype(float)

    def _paper_rate(self, d: int) -> Time:
        return Time(10 if d <= 3 else 100, 0.01)
