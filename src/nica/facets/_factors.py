"""Nonnegative sources times a mixing of small volume: `nica.offline.minimum_volume_nmf` from a start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SWEEPS = 2  # over the sources for each update of the mixing: more cost more than they gain
WINDOW = 20  # iterations between two looks for a plateau
LEAST, USUAL = 1e-5, 1e-3  # penalties without noise and where it is not known


class Factors(NamedTuple):
    """Sources and mixing."""

    Y: Array  #: (n, d)
    B: Array  #: (d, d), from reduced samples to sources; not what made Y, which is a fit
    mixing: Array  #: (k, d)
    objective: float
    n_iter: int
    converged: bool
    penalty: float


def factorise(
    Z: Array,
    B: Array,
    G: Array,
    residual: float,
    *,
    penalty: float | None = None,
    tol: float,
    max_iter: int,
) -> Factors:
    """Alternate between sources and mixing until the objective stands still.

    Parameters
    ----------
    Z : array (n, d)
        Reduced samples.
    B : array (d, d)
        Start.
    G : array (k, d)
        From reduced samples to channels, where errors are measured.
    residual : float
        Noise of a channel, if there are more than d.
    penalty : float, optional
    tol : float
    max_iter : int

    Returns
    -------
    Factors
    """
    k, d = G.shape
    axes, shear = np.linalg.qr(G)
    C = Z @ shear.T
    scale = np.sqrt(np.mean(C * C))
    C = np.asfortranarray(C / scale)
    H = np.maximum(Z @ B.T, 0.0)
    W = shear @ np.linalg.inv(B) / scale
    weakest = float(np.linalg.svd(W, compute_uv=False)[-1]) ** 2
    if penalty is None:
        noise = (residual / scale) ** 2
        penalty = min(max(noise, LEAST) if k > d else USUAL, 0.1 * weakest)
    H, W, objective, n_iter, converged = _descend(C, H, W, penalty, 0.1 * weakest, tol, max_iter)
    B = np.linalg.pinv(W) @ shear / scale
    mixing = scale * (axes @ W)
    return Factors(np.ascontiguousarray(H), B, mixing, objective, n_iter, converged, penalty)


def _descend(
    C: Array,
    H: Array,
    W: Array,
    penalty: float,
    ridge: float,
    tol: float,
    max_iter: int,
) -> tuple[Array, Array, float, int, bool]:
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


def _sweep(C: Array, H: Array, W: Array, penalty: float) -> Array:
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


def _mixing(C: Array, H: Array, W: Array, penalty: float, ridge: float) -> Array:
    """Mixing for the sources, under the bound on its volume, taken twice."""
    moment, cross, eye = H.T @ H / len(H), C.T @ H / len(H), np.eye(len(W))
    for _ in range(2):
        W = cross @ np.linalg.inv(moment + penalty * np.linalg.inv(W.T @ W + ridge * eye))
    return W


def _objective(C: Array, H: Array, W: Array, penalty: float, ridge: float) -> float:
    residual = C - H @ W.T
    volume = np.linalg.slogdet(W.T @ W + ridge * np.eye(len(W)))[1]
    return 0.5 * float(np.vdot(residual, residual)) / len(C) + 0.5 * penalty * float(volume)
