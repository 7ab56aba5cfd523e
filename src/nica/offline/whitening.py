"""Generalised, non-centred whitening of a batch (eq. hhbar, Theorem 2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import dct
from scipy.linalg import qr, svd

from nica.networks._containers import tensor
from nica.offline._checks import FloatArray, as_given, at_least_one, samples


class Whitened(NamedTuple):
    """Whitened samples and the matrix that made them.

    Attributes
    ----------
    H : ndarray of shape (n_samples, n_whitened)
        ``X @ F.T``, its mean kept; a tensor, a data frame or a DataArray if X was one.
    F : ndarray of shape (n_whitened, n_channels)
        Whitening matrix.
    """

    H: FloatArray
    F: FloatArray


def whiten(X: ArrayLike, n_components: int, n_whitened: int | None = None) -> Whitened:
    r"""Whiten without removing the mean, in as many channels as wanted (eq. hhbar, Theorem 2).

    .. math:: H = F X, \qquad \tfrac1t\, \delta H\, \delta H^\top = U^H
        \mathrm{diag}(\underbrace{1, \dots, 1}_{d}, \underbrace{0, \dots, 0}_{l - d}) {U^H}^\top

    with the d largest principal directions of X. (Theorem 2 is printed for l >= k; it holds, and
    is needed, for l >= d.)

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture.
    n_components : int
        Number of sources d: unit eigenvalues of the covariance of H.
    n_whitened : int, default=n_components
        Channels l of H. If there are more than d, the d directions are spread over all of them by
        columns of the orthonormal cosine transform.

    Returns
    -------
    Whitened
        H and F.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 4))
    >>> H, F = whiten(X, 2, n_whitened=3)
    >>> np.linalg.eigvalsh(np.cov(H.T, bias=True)).round(9).tolist()[1:]
    [1.0, 1.0]
    """
    given, X = X, samples("X", X)
    n_samples, k = X.shape
    d = at_least_one("n_components", n_components)
    width = d if n_whitened is None else at_least_one("n_whitened", n_whitened)
    if d > k:
        raise ValueError(f"X has {k} channels but n_components={d}: give at most {k}")
    if width < d:
        raise ValueError(f"n_whitened={width} is below n_components={d}: give at least {d}")
    if n_samples <= d:
        raise ValueError(f"X has {n_samples} samples: n_components={d} needs at least {d + 1}")
    spread, axes, rank = directions(X)
    if rank < d:
        raise ValueError(
            f"X varies in {rank} directions only but n_components={d}: give at most {rank}"
        )
    axes = axes[:d] * np.sign(axes[np.arange(d), np.abs(axes[:d]).argmax(axis=1)])[:, None]
    F = axes * (np.sqrt(n_samples) / spread[:d, None])
    if width > d:
        F = dct(np.eye(width), norm="ortho")[:, :d] @ F
    return Whitened(as_given(given, X @ F.T, "whiten"), tensor(given, F))


def directions(X: FloatArray) -> tuple[FloatArray, FloatArray, int]:
    """Singular values and axes of the centred samples, and in how many directions they vary at all."""
    # The triangle of QR has the singular values of the samples, at a fraction of the cost.
    (triangle,) = qr(X - X.mean(axis=0), mode="r", overwrite_a=True, check_finite=False)
    _, spread, axes = svd(triangle[: X.shape[1]], full_matrices=False)
    rank = int(np.sum(spread > spread[0] * len(X) * np.finfo(float).eps))
    return spread, axes, rank
