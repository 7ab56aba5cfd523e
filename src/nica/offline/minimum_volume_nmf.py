"""Nonnegative sources times any mixing whose volume is small: semi-NMF with a log-determinant."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from nica.offline._checks import FloatArray, at_least_one
from nica.offline._cone import MinimumVolume, Problem

SWEEPS = 2  # over the sources for each update of the mixing: more cost more than they gain
WINDOW = 20  # iterations between two looks for a plateau
LEAST, USUAL = 1e-5, 1e-3  # penalties without noise and where it is not known


def minimum_volume_nmf(
    X: ArrayLike,
    n_components: int,
    *,
    penalty: float | None = None,
    start: ArrayLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> MinimumVolume:
    r"""Factorise samples into nonnegative sources and a mixing of small volume and any sign.

    .. math:: \min_{W,\; H \ge 0}\; \tfrac12 \langle \lVert x - W h \rVert^2 \rangle
        + \tfrac{\lambda}{2} \log\det(W^\top W + \delta I), \qquad \bar h = 1

    with samples reduced to d dimensions, of unit mean square each. If sources fill a cone evenly, the
    likelihood of a mixing goes with its inverse volume for each sample, so :math:`\lambda` should be
    the variance of the noise. It is a rival of `soft_hinge` and `minimum_volume` that knows noise
    within the samples' dimensions, but has to be told how much there is unless there are channels to
    spare; and it is slower.

    Rows of H are updated in turn, as in hierarchical alternating least squares, with :math:`\lambda /
    \bar h_i` for what the volume costs; W is a ridge regression under the bound :math:`\log\det M \le
    \mathrm{tr}(M_0^{-1} M) + \text{const}`. Both are extrapolated, and go back to the last iteration
    without momentum when the objective rises. An iteration is O(T d^2).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture, not centred.
    n_components : int
        Number of sources d.
    penalty : float, default=None
        :math:`\lambda`: variance of the noise as a share of the mean square of samples in each of d
        dimensions. None takes what the other k - d dimensions hold, at least 1e-5, or 1e-3 if there are
        none, and at most a tenth of the weakest source's share at the start, or that source may vanish.
    start : array-like of shape (n_components, n_channels), default=None
        Unmixing matrix to begin with; None for `successive_projection`.
    tol : float, default=1e-4
        Plateau: stop when twenty iterations lower the objective by less than this times the penalty.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    MinimumVolume
        Y is H. The objective is that above.

    Warns
    -----
    ConvergenceWarning
        If the objective still fell after `max_iter` iterations, or an output became zero.

    References
    ----------
    Miao and Qi, IEEE Transactions on Geoscience and Remote Sensing 45, 2007. Fu, Huang, Yang, Ma and
    Sidiropoulos, IEEE Transactions on Signal Processing 64, 2016 (log-determinant). Leplat, Ang and
    Gillis, ICASSP 2019. Ang and Gillis, Neural Computation 31, 2019 (extrapolation).

    Examples
    --------
    >>> import numpy as np
    >>> from nica.metrics import match_sources
    >>> rng = np.random.default_rng(0)
    >>> S = rng.exponential(size=(2000, 3)) * rng.exponential(size=(2000, 1))
    >>> A = rng.normal(size=(6, 3))
    >>> X = S @ A.T + 0.1 * rng.normal(size=(2000, 6))
    >>> found = minimum_volume_nmf(X, 3)
    >>> found.converged, match_sources(S, found.Y, scale=True).error < 0.1
    (True, True)
    """
    if penalty is not None and not 0 < penalty < np.inf:
        raise ValueError(f"penalty={penalty!r} must be a number above 0, or None")
    if not 0 < tol < np.inf:
        raise ValueError(f"tol={tol!r} must be a number above 0")
    at_least_one("max_iter", max_iter)
    problem = Problem.of(X, n_components, affine=False)
    d = len(problem.mean)
    axes, shear = np.linalg.qr(problem.way.G)
    C = problem.Z @ shear.T
    scale = np.sqrt(np.mean(C * C))
    C = np.asfortranarray(C / scale)
    B = problem.start(start)
    H = np.maximum(problem.Z @ B.T, 0.0)
    W = shear @ np.linalg.inv(B) / scale
    weakest = float(np.linalg.svd(W, compute_uv=False)[-1]) ** 2
    if penalty is None:
        noise = (problem.way.residual / scale) ** 2
        penalty = min(max(noise, LEAST) if len(axes) > d else USUAL, 0.1 * weakest)
    H, W, objective, n_iter, converged = _factorise(C, H, W, penalty, 0.1 * weakest, tol, max_iter)
    alive = bool(H.any(axis=0).all())
    if not (alive and converged):
        what = f"the objective still fell after {n_iter} iterations: raise max_iter or tol"
        lost = f"an output became zero: lower penalty={penalty:.3g} or n_components={d}"
        warnings.warn(what if alive else lost, ConvergenceWarning, stacklevel=2)
    unmixing = np.linalg.pinv(W) @ axes.T / scale
    Y, mixing = np.ascontiguousarray(H), scale * (axes @ W)
    parts = Y, unmixing, np.zeros(d), mixing, objective, n_iter, alive and converged
    return problem.as_given("nmf", MinimumVolume(*parts))


def _factorise(
    C: FloatArray,
    H: FloatArray,
    W: FloatArray,
    penalty: float,
    ridge: float,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, float, int, bool]:
    value = _objective(C, H, W, penalty, ridge)
    values = [value]
    H_ahead, W_ahead, plain = H, W, True
    momentum, most = 0.5, 1.0
    for n_iter in range(1, max_iter + 1):
        H_next = _sweep(C, H_ahead, W_ahead, penalty)
        level = np.maximum(H_next.mean(axis=0), 1e-9)
        H_next /= level
        W_next = _mixing(C, H_next, W_ahead * level, penalty, ridge)
        value_next = _objective(C, H_next, W_next, penalty, ridge)
        if value_next > value and not plain:
            momentum, most, plain = momentum / 1.5, momentum, True
            H_ahead, W_ahead = H, W
        else:
            H_ahead = np.maximum(H_next + momentum * (H_next - H), 0.0)
            W_ahead = W_next + momentum * (W_next - W)
            momentum, most, plain = min(1.05 * momentum, most, 0.98), min(1.01 * most, 1.0), False
            H, W, value = H_next, W_next, value_next
        values.append(value)
        if n_iter >= WINDOW and values[-1 - WINDOW] - value < tol * penalty:
            return H, W, value, n_iter, True
    return H, W, value, max_iter, False


def _sweep(C: FloatArray, H: FloatArray, W: FloatArray, penalty: float) -> FloatArray:
    """Sources, one after another, each the best for the others as they are."""
    H = H.copy(order="F")
    gram, cross = W.T @ W, C @ W
    power = np.maximum(np.diag(gram), 1e-12)
    np.fill_diagonal(gram, 0.0)
    for _ in range(SWEEPS):
        for i in range(len(gram)):
            price = penalty / max(H[:, i].mean(), 1e-3)  # of the volume, which grows with the mean
            H[:, i] = np.maximum(cross[:, i] - H @ gram[i] - price, 0.0) / power[i]
    return H


def _mixing(
    C: FloatArray, H: FloatArray, W: FloatArray, penalty: float, ridge: float
) -> FloatArray:
    """Mixing for the sources, under the bound on its volume, taken twice."""
    moment, cross, eye = H.T @ H / len(H), C.T @ H / len(H), np.eye(len(W))
    for _ in range(2):
        W = cross @ np.linalg.inv(moment + penalty * np.linalg.inv(W.T @ W + ridge * eye))
    return W


def _objective(C: FloatArray, H: FloatArray, W: FloatArray, penalty: float, ridge: float) -> float:
    residual = C - H @ W.T
    volume = np.linalg.slogdet(W.T @ W + ridge * np.eye(len(W)))[1]
    return 0.5 * float(np.vdot(residual, residual)) / len(C) + 0.5 * penalty * float(volume)
