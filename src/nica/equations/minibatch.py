"""Layer 2 learned from whole blocks of samples: the same rules, with the sums written out.

Summed over the samples seen, eq. ``fullNSMW`` says W_yh = D⁻¹ K and W_yy = D⁻¹ C off the diagonal, where
C = Σ y yᵀ, K = Σ y hᵀ and D = diag(C). Nothing asks for the sums to be brought up to date after every
sample. A block of fixed points can be found with C and K held still; then they take up the block at
once, and the sums of separate blocks add, so that many workers can make them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nica.equations.nsm import nsm_fixed_point

Array = NDArray[np.float64]


def block_outputs(H: Array, C: Array, K: Array, *, tol: float = 1e-12) -> Array:
    r"""Outputs for a block of whitened samples, with the sums C and K held still.

    .. math:: y_i = \max\Big(\frac{1}{C_{ii}} \Big(\sum_j K_{ij} h_j - \sum_{j \ne i} C_{ij} y_j\Big),
              \ 0\Big)

    Parameters
    ----------
    H : array (l, n), samples in columns, as in the paper
    C : array (d, d), symmetric
    K : array (d, l)
    tol : float
        Of the coordinate descent.

    Returns
    -------
    Y : array (d, n)

    Examples
    --------
    >>> import numpy as np
    >>> block_outputs(np.array([[2.0, -1.0]]), np.array([[4.0]]), np.array([[4.0]]))
    array([[2., 0.]])
    """
    D = np.diag(C)[:, None]
    W_yy = C / D
    np.fill_diagonal(W_yy, 0.0)
    return np.stack([nsm_fixed_point(h, K / D, W_yy, tol=tol) for h in H.T], axis=1)


def update_sums(
    C: Array, K: Array, Y: Array, H: Array, forgetting: float = 0.5
) -> tuple[Array, Array]:
    r"""Sums after a block, as means: what was known fades, the block comes in.

    .. math:: C \leftarrow \frac{\lambda C + \frac1n Y Y^\top}{1 + \lambda}, \qquad
              K \leftarrow \frac{\lambda K + \frac1n Y H^\top}{1 + \lambda}

    A common factor of C and K changes no output. With λ = 0 the outputs can swing from block to block.

    Examples
    --------
    >>> import numpy as np
    >>> C, K = update_sums(np.eye(1), np.eye(1), np.array([[2.0]]), np.array([[4.0]]))
    >>> C, K
    (array([[3.]]), array([[5.66666667]]))
    """
    n = Y.shape[1]
    weight = 1 + forgetting
    return (forgetting * C + Y @ Y.T / n) / weight, (forgetting * K + Y @ H.T / n) / weight


def minibatch_nsm(
    H: Array, C: Array, K: Array, block: int, forgetting: float = 0.5
) -> tuple[Array, Array]:
    """One pass over whitened samples in columns, block after block.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((2, 2000)) < 0.5, 0, np.sqrt(9.6) * rng.random((2, 2000)))
    >>> Q = np.array([[0.6, 0.8], [-0.8, 0.6]])  # white sources, turned
    >>> C, K = minibatch_nsm(Q @ S, np.eye(2), np.eye(2), 100)
    >>> bool(np.max(np.abs(np.linalg.solve(C, K) - Q.T)) < 0.1)
    True
    """
    for start in range(0, H.shape[1], block):
        part = H[:, start : start + block]
        C, K = update_sums(C, K, block_outputs(part, C, K), part, forgetting)
    return C, K


__all__ = ["block_outputs", "minibatch_nsm", "update_sums"]
