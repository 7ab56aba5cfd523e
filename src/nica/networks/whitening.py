"""Layer 1 alone: eqs. fullFirst, fullFirstbar, fullFirstW; appendix B for n_whitened > n_components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.networks._containers import like, to_numpy
from nica.networks._layers import LayeredNetwork
from nica.networks._samples import Array
from nica.rates import Time


class WhiteningWeights(LayeredNetwork):
    """What every network with a first layer shows of it."""

    missing: str

    @property
    def w_hx_(self) -> Array:
        """Feedforward weights of layer 1 (n_whitened, n_channels), in the network's own scale."""
        return _view(self._ready().get_state()["w_hx"])

    @property
    def w_hg_(self) -> Array:
        """Weights from interneurons (n_whitened, n_interneurons); ``w_gh`` is their transpose."""
        return _view(self._ready().get_state()["w_hg"])

    @property
    def whitening_(self) -> Array:
        """Matrix F that layer 1 applies to the input (n_whitened, n_channels)."""
        return _whitening(self._ready().get_state(), self._settings["alpha"])

    def flag_inferred(self, X: Any) -> NDArray[np.int8]:
        """How much of each sample must be inferred, for ``missing="infer"``.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)

        Returns
        -------
        flags : array (n_samples,) of int8
            0 where nothing is missing; 1 where it is inferred from at least ``n_components_`` channels;
            2 where fewer were seen: the output is a guess.
        """
        seen = np.sum(~np.isnan(np.asarray(X, dtype=np.float64)), axis=1)
        flags: NDArray[np.int8] = (seen < self.n_features_in_).astype(np.int8)
        flags[seen < self.n_components_] = 2
        return flags

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "infer"
        return tags


class OnlineWhitening(WhiteningWeights):
    r"""Noncentred prewhitening of a stream by two populations of neurons (layer 1 of the paper).

    The outputs h = F x have unit covariance in each of ``n_components`` directions, and keep their mean.

    .. math:: h = (\alpha I + W^{HG} W^{GH})^{-1} W^{HX} x, \qquad g = W^{GH} h

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of sources d; None takes the number of channels. "auto" estimates it
        (`nica.estimate_n_components`) from what ``fit`` is given, or from the first max(500, 25 k)
        samples of a stream, and warns when it is not certain; ``n_components_`` tells it.
    n_whitened : int or None
        Number of principal neurons l >= d; None takes d.
    n_interneurons : int or None
        Number of interneurons m >= d; None takes l.
    alpha : float
        Appendix B: directions of the input with less variance than this are dropped. Needed when
        l > d. With ``start="warm"`` it is relative to the mean square of the channels.
    whitening_rate : rates.Time or None
        None takes the start's own: Time(0, 2) after a warm start, the paper's Time(100, 1) else.
    dynamics : {"exact", "sweeps", "ode"}
        How the network settles: at the fixed point directly, or ("ode") by Euler integration of eq.
        ``fullFirst``. "sweeps" is the same as "exact" in this layer.
    max_sweeps, dynamics_tol
        Limits of the Euler integration: steps, and largest velocity relative to 1 + largest drive.
    start : {"warm", "paper"}
        "warm" reads scale and covariance off the first samples; "paper" starts from random
        orthonormal weights, to the letter.
    half_life : float or None
        Samples after which half of the past is forgotten; None forgets nothing.
    on_bad : {"raise", "skip"}
        What to do with samples that are not finite: an error, or NaN outputs and nothing learned.
    missing : {"refuse", "infer"}
        What to do with NaN in some channels of a sample: treat it as bad, or infer it from the other
        channels and what is known of them. A sample with gaps teaches only if at least 2 ``n_components``
        channels were seen; with fewer than ``n_components`` its output is a guess. See ``flag_inferred``.
    tol, max_passes, shuffle
        Of ``fit``: it passes over the samples, in permuted order, until no output changes by more
        than ``tol`` of its size (root mean square) from pass to pass.
    random_state : int, RandomState, Generator or None
        Used when weights are drawn, and never again.

    Attributes
    ----------
    whitening_ : array (n_whitened, n_channels)
    mean_ : array (n_channels,)
    w_hx_, w_hg_ : arrays
    n_components_, n_samples_seen_, n_bad_samples_, n_inferred_samples_, n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, nica
    >>> rng = np.random.default_rng(0)
    >>> X = rng.exponential(size=(5000, 3)) @ rng.standard_normal((3, 3))
    >>> H = nica.OnlineWhitening(random_state=0).fit_transform(X)
    >>> bool(np.allclose(np.cov(H.T), np.eye(3), atol=0.02))
    True
    """

    _separate = False
    _nonnegative = False

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_whitened: int | None = None,
        n_interneurons: int | None = None,
        alpha: float = 0.0,
        whitening_rate: Time | None = None,
        dynamics: str = "exact",
        max_sweeps: int = 10_000,
        dynamics_tol: float = 1e-10,
        start: str = "warm",
        half_life: float | None = None,
        on_bad: str = "raise",
        missing: str = "refuse",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_whitened = n_whitened
        self.n_interneurons = n_interneurons
        self.alpha = alpha
        self.whitening_rate = whitening_rate
        self.dynamics = dynamics
        self.max_sweeps = max_sweeps
        self.dynamics_tol = dynamics_tol
        self.start = start
        self.half_life = half_life
        self.on_bad = on_bad
        self.missing = missing
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.random_state = random_state

    def inverse_transform(self, Y: Any) -> Array:
        """Inputs that give the whitened Y.

        Parameters
        ----------
        Y : array-like (n_samples, n_whitened)

        Returns
        -------
        X : array (n_samples, n_channels)
        """
        return unmix(self, Y, np.linalg.pinv(self.whitening_), "n_whitened")

    def score(self, X: Any, y: Any = None) -> float:
        """How white the outputs for X are: 1 less the largest deviation of their covariance.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        y : ignored

        Returns
        -------
        score : float, at most 1
        """
        d = self._settings["d"]
        eigenvalues = np.linalg.eigvalsh(
            np.cov(self.transform(X), rowvar=False).reshape(-1, self._n_features_out)
        )
        wanted = np.r_[np.zeros(len(eigenvalues) - d), np.ones(d)]
        return float(1 - np.max(np.abs(eigenvalues - wanted)))

    def _map(self) -> Array | None:
        state = self._state()
        if self._settings["robust"] and not self._scalars()["started"]:
            return None
        return _whitening(state, self._settings["alpha"])


def _whitening(state: dict[str, Array], alpha: float) -> Array:
    """F in the units of the input."""
    from nica.equations.whitening import prewhitening_matrix

    return prewhitening_matrix(state["w_hx"], state["w_hg"], alpha) * state["gain"].ravel()


def unmix(
    estimator: Any, Y: Any, mixing: NDArray[Any], name: str, rest: Array | float = 0.0
) -> Array:
    """Y @ mixing.T + rest, after a check of Y; channels are named as they came."""
    from sklearn.utils import check_array

    inside = check_array(to_numpy(Y)[0], dtype=np.float64)
    if inside.shape[1] != mixing.shape[1]:
        raise ValueError(f"Y has {inside.shape[1]} columns, but {name} is {mixing.shape[1]}")
    unknown = [f"x{i}" for i in range(len(mixing))]
    names = getattr(estimator, "feature_names_in_", unknown)
    X: Array = like(Y, inside @ mixing.T + rest, lambda: names, "channel")
    return X


def _view(array: NDArray[np.float64]) -> Array:
    array.flags.writeable = False
    return array
