"""Samples in d dimensions, and where their cone seems to have its edges (not in the paper).

Sources that are correlated must not be whitened about their mean: that undoes the correlation too. A
first layer is wanted here only to leave out what is noise and to set the scale, so the moments are taken
about zero. Samples are rows, as in the estimators: there is no time in these functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEAR = 0.01  #: share of the samples that count as near a vertex, of which it is the median
FAINT = 0.3  #: samples whose height z̄·z is below this share of the mean one have no direction


class Reduction(NamedTuple):
    """A map to d dimensions, ``Z = X @ F.T + c``, and back, ``X ~ Z @ G.T``.

    Attributes
    ----------
    F : array (d, k)
    c : array (d,), zeros unless it is affine
    G : array (k, d)
    residual : float
        Root mean square of what is left out, in each of the k - d directions; 0 if there are none.
    """

    F: Array
    c: Array
    G: Array
    residual: float


def reduction(X: Array, d: int, *, affine: bool = False) -> Reduction:
    r"""The best map to d dimensions, about zero or about the mean.

    With the singular values s and directions V of the samples *as they are*,

    .. math:: z = \mathrm{diag}(\sqrt T / s_{1..d})\, V_{1..d}^\top x, \qquad \langle z z^\top \rangle = I

    and nonnegative sources stay a linear map away, however they are correlated. If they are known to sum
    to one, then samples lie on an affine set of d - 1 dimensions. With `affine`, s and V are those
    of x - x̄, of which d - 1 are kept, and the last entry of z is 1.

    Parameters
    ----------
    X : array (n, k)
    d : int
    affine : bool

    Returns
    -------
    Reduction

    Raises
    ------
    ValueError
        If X has fewer directions.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 2.0, 1.0], [3.0, 2.0, 3.0]])
    >>> F, c, G, residual = reduction(X, 2)
    >>> Z = X @ F.T
    >>> np.allclose(Z.T @ Z / 4, np.eye(2)), np.allclose(Z @ G.T, X), round(residual, 9)
    (True, True, 0.0)
    >>> F, c, G, _ = reduction(X, 3, affine=True)
    >>> (X @ F.T + c)[:, 2].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    n, k = X.shape
    mean = X.mean(axis=0) if affine else np.zeros(k)
    width = d - 1 if affine else d
    # The triangle of QR has the singular values of the samples, at a fraction of the cost.
    spread, axes = np.linalg.svd(np.linalg.qr(X - mean, mode="r"), full_matrices=False)[1:]
    rank = int(np.sum(spread > spread[0] * n * np.finfo(float).eps))
    if rank < width:
        where = "varies in" if affine else "spans"
        raise ValueError(
            f"X {where} {rank} direction{'s' * (rank != 1)} only but n_components={d}: "
            f"give at most {rank + d - width}, or drop channels and sources that repeat others"
        )
    left_out = spread[width:]
    residual = float(np.sqrt(np.mean(left_out**2) / n)) if len(left_out) else 0.0
    axes = axes[:width] * np.sign(axes[np.arange(width), np.abs(axes[:width]).argmax(1)])[:, None]
    scale = spread[:width, None] / np.sqrt(n)
    F, G = axes / scale, (axes * scale).T
    if not affine:
        return Reduction(F, np.zeros(d), G, residual)
    F = np.vstack([F, np.zeros(k)])
    c = -F @ mean
    c[-1] = 1.0
    return Reduction(F, c, np.column_stack([G, mean]), residual)


def extreme_points(Z: Array, near: float = NEAR) -> Array:
    r"""Edges of the cone of samples by successive projection, robustly.

    On the plane :math:`\bar z^\top p = 1`, with :math:`p = z / \bar z^\top z`, the cone is a simplex,
    and its edges are the vertices. They are the points farthest from the span of those found already
    (Araújo et al. 2001; Gillis & Vavasis 2014). A single point may be noise. So the `near` farthest ones
    say how far, the last of them in which direction, and the vertex is the median of those that
    reach farthest in this direction. If only one is to count, it is successive projection to the letter.

    It finds the sources where each is alone at times, and is a start where none is.

    Parameters
    ----------
    Z : array (n, d)
        Reduced samples; those with little of :math:`\bar z` in them are not looked at.
    near : float
        Share of the samples that counts as near; one sample at least.

    Returns
    -------
    V : array (d, d)
        A vertex in each row: :math:`V \bar z = 1`.

    Raises
    ------
    LinAlgError
        If the samples that are looked at span fewer dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.random.default_rng(0).dirichlet([1.0, 1.0], 500)
    >>> S[:2] = np.eye(2)
    >>> V = extreme_points(S, near=0.0)
    >>> np.abs(np.round(V / V.sum(axis=1, keepdims=True), 9)).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    mean = Z.mean(axis=0)
    height = Z @ mean
    bright = height > FAINT * (mean @ mean)
    P = Z[bright] / height[bright, None]
    m = max(1, round(near * len(P)))
    d = Z.shape[1]
    V = np.empty((d, d))
    R, span = P, np.empty((0, d))
    for i in range(d):
        length = np.einsum("ti,ti->t", R, R)
        far = np.argmax(length)
        if length[far] < 1e-24 * np.max(P * P):
            raise np.linalg.LinAlgError(f"samples with enough of the mean span {i} dimensions only")
        lead = _farthest(length, m)[0]
        if length[lead] < 1e-12 * length[far]:  # fewer than that lie outside
            lead = far
        V[i] = np.median(P[_farthest(R @ R[lead], m)], axis=0)
        new = _beside(span, V[i])
        if np.linalg.norm(new) < 1e-6 * np.linalg.norm(V[i]):
            V[i] = P[far]
            new = _beside(span, V[i])
        span = np.vstack([span, new / np.linalg.norm(new)])
        R = R - (R @ span[-1])[:, None] * span[-1]
    return V


def cone_unmixing(V: Array, mean: Array) -> Array:
    r"""Unmixing matrix of a cone with the given edges, each output one on average.

    .. math:: b_i \leftarrow b_i / b_i^\top \bar z, \qquad B = (V^\top)^{-1}

    If the mean lies outside, or all but outside, facets are first tilted outwards to let it in.

    Parameters
    ----------
    V : array (d, d)
        An edge in each row.
    mean : array (d,)
        z̄.

    Returns
    -------
    B : array (d, d)

    Examples
    --------
    >>> import numpy as np
    >>> cone_unmixing(np.eye(2), np.array([0.25, 1.0]))
    array([[4., 0.],
           [0., 1.]])
    """
    B = np.asarray(np.linalg.inv(V.T), np.float64)
    level = B @ mean
    least = 0.02 * np.linalg.norm(B, axis=1) * np.linalg.norm(mean)
    B = B + (np.maximum(least - level, 0.0) / (mean @ mean))[:, None] * mean
    return np.asarray(B / (B @ mean)[:, None])


def _beside(span: Array, v: Array) -> Array:
    """What is left of v outside a span of orthonormal rows."""
    for _ in range(2):  # once more, since the first time leaves rounding
        v = v - (v @ span.T) @ span
    return v


def _farthest(score: Array, m: int) -> NDArray[np.intp]:
    """Indices of the m largest, the least of them first."""
    if m == 1:
        return np.array([np.argmax(score)])
    return np.argpartition(score, len(score) - m)[-m:]
