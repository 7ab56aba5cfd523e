"""Layer 1, generalised prewhitening: eqs. fullFirst, fullFirstbar, fullFirstW, onlinesaddle_2, timedep.

Principal neurons **h** (l of them) are driven by the channels **x** (k) through ``W_hx`` and inhibited
by interneurons **g** (m) through ``W_hg``; the interneurons listen back through ``W_gh = W_hg.T``. The
interneurons clamp the activity of every direction of **h** to variance one: that is whitening.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def prewhitening_matrix(W_hx: Array, W_hg: Array, alpha: float = 0.0) -> Array:
    r"""Matrix **F** that the network applies to its input, eq. ``onlinesaddle`` and ``onlinesaddle_2``.

    .. math:: F = (\alpha I + W^{HG} W^{GH})^{-1} W^{HX}, \qquad W^{GH} = {W^{HG}}^\top

    Parameters
    ----------
    W_hx : array (l, k)
    W_hg : array (l, m)
    alpha : float
        Zero for l = d; positive for l > d, where ``W_hg @ W_hg.T`` loses its rank (appendix B). A
        direction of the input survives only if its variance exceeds ``alpha``.

    Returns
    -------
    F : array (l, k)

    Examples
    --------
    >>> import numpy as np
    >>> prewhitening_matrix(np.eye(2), 2 * np.eye(2))
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    """
    return np.asarray(np.linalg.solve(alpha * np.eye(len(W_hg)) + W_hg @ W_hg.T, W_hx), np.float64)


def prewhitening_fixed_point(
    x: Array, W_hx: Array, W_hg: Array, alpha: float = 0.0
) -> tuple[Array, Array]:
    r"""Activities at which the dynamics of eq. ``fullFirst`` comes to rest, eq. ``onlinesaddle_2``.

    .. math:: h = (\alpha I + W^{HG} W^{GH})^{-1} W^{HX} x, \qquad g = W^{GH} h

    Parameters
    ----------
    x : array (k,)
    W_hx : array (l, k)
    W_hg : array (l, m)
    alpha : float

    Returns
    -------
    h : array (l,)
    g : array (m,)

    Examples
    --------
    >>> import numpy as np
    >>> h, g = prewhitening_fixed_point(np.array([4.0, 8.0]), np.eye(2), 2 * np.eye(2))
    >>> h, g
    (array([1., 2.]), array([2., 4.]))
    """
    h = prewhitening_matrix(W_hx, W_hg, alpha) @ x
    return h, W_hg.T @ h


def prewhitening_dynamics(
    x: Array,
    W_hx: Array,
    W_hg: Array,
    alpha: float = 0.0,
    *,
    tol: float = 1e-10,
    max_steps: int = 100_000,
) -> tuple[Array, Array]:
    r"""Two-population dynamics of eq. ``fullFirst`` (appendix B with ``alpha``), integrated by Euler.

    .. math::
        \frac{dh}{d\gamma} = W^{HX} x - W^{HG} g - \alpha h, \qquad
        \frac{dg}{d\gamma} = -g + W^{GH} h

    Both populations move at once. A step of half the stability limit is used: with λ an eigenvalue
    of ``W_hg @ W_hg.T``, the Euler map contracts while the step is below (1 + α) / (α + λ). The
    largest λ is bounded by the squared Frobenius norm. Integration ends when the largest velocity is
    below ``tol`` times (1 + the largest drive): the one is an absolute floor, without which x = 0
    would never end.

    Parameters
    ----------
    x : array (k,)
    W_hx : array (l, k)
    W_hg : array (l, m)
    alpha : float
    tol : float
    max_steps : int

    Returns
    -------
    h : array (l,)
    g : array (m,)

    Examples
    --------
    >>> import numpy as np
    >>> h, g = prewhitening_dynamics(np.array([4.0, 8.0]), np.eye(2), 2 * np.eye(2))
    >>> np.round(h, 6), np.round(g, 6)
    (array([1., 2.]), array([2., 4.]))
    """
    drive = W_hx @ x
    h = np.zeros(len(W_hg))
    g = np.zeros(W_hg.shape[1])
    step = 0.5 * (1.0 + alpha) / (alpha + np.sum(W_hg**2))
    limit = tol * (1.0 + np.max(np.abs(drive)))
    for _ in range(max_steps):
        dh = drive - W_hg @ g - alpha * h
        dg = W_hg.T @ h - g
        h = h + step * dh
        g = g + step * dg
        if max(np.max(np.abs(dh)), np.max(np.abs(dg))) <= limit:
            break
    return h, g


def running_mean(mean: Array, value: Array, t: float, minimum: float = 0.0) -> Array:
    r"""Mean of everything seen so far, eq. ``fullFirstbar`` (also ``upd6``, ``upd8``, ``upd9``).

    .. math:: \bar x_t = (1 - \tfrac1t)\, \bar x_{t-1} + \tfrac1t\, x_t

    ``minimum`` is a floor on the weight 1/t: with it the mean forgets and can follow a drift.

    Examples
    --------
    >>> import numpy as np
    >>> running_mean(np.array([1.0]), np.array([4.0]), t=3)
    array([2.])
    """
    return mean + max(1.0 / t, minimum) * (value - mean)


def time_rate(t: float, a: float, b: float, minimum: float = 0.0) -> float:
    """Time-dependent learning rate 1 / (a + b t), eq. ``timedep``, never below ``minimum``.

    Examples
    --------
    >>> time_rate(100, a=100, b=1)
    0.005
    """
    return max(1.0 / (a + b * t), minimum)


def update_whitening_weights(
    W_hx: Array, W_hg: Array, dx: Array, dh: Array, dg: Array, rate: float
) -> tuple[Array, Array]:
    r"""Hebbian learning of layer 1, eq. ``fullFirstW``, with the rate of eq. ``timedep``.

    .. math::
        W^{HX} \leftarrow W^{HX} + \eta\,(\delta h\, \delta x^\top - W^{HX}), \qquad
        W^{HG} \leftarrow W^{HG} + \eta\,(\delta h\, \delta g^\top - W^{HG})

    Each synapse sees its own two neurons and itself. ``W_gh`` is the transpose of ``W_hg`` and stays so.

    Parameters
    ----------
    W_hx : array (l, k)
    W_hg : array (l, m)
    dx, dh, dg : arrays (k,), (l,), (m,)
        Activities less their running means.
    rate : float

    Returns
    -------
    W_hx, W_hg : arrays, new

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> update_whitening_weights(np.eye(1), np.eye(1), 3 * one, one, 2 * one, rate=0.5)
    (array([[2.]]), array([[1.5]]))
    """
    W_hx = W_hx + rate * (np.outer(dh, dx) - W_hx)
    W_hg = W_hg + rate * (np.outer(dh, dg) - W_hg)
    return W_hx, W_hg
