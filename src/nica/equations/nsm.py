"""Layer 2, nonnegative similarity matching: eqs. NSMdynamics, fullNSMW, activitydep, timedep, pgd.

Rectifying neurons **y** (d of them) are driven by **h** through ``W_yh`` and inhibit each other through
``W_yy``, whose diagonal is zero. Feedforward synapses are Hebbian, lateral ones anti-Hebbian.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def nsm_fixed_point(
    h: Array, W_yh: Array, W_yy: Array, *, tol: float = 1e-10, max_sweeps: int = 10_000
) -> Array:
    r"""Outputs at which the coordinate descent of eq. ``NSMdynamics`` comes to rest.

    .. math:: y_i \leftarrow \max\Big(\sum_j W^{YH}_{ij} h_j - \sum_{j \ne i} W^{YY}_{ij} y_j,\ 0\Big)

    Neurons update one by one, each seeing the newest activity of the others; a sweep is one update of
    each. Sweeps end when no output moved by more than ``tol`` times (1 + the largest drive); the one is
    an absolute floor, without which x = 0 would never end.

    Parameters
    ----------
    h : array (l,)
    W_yh : array (d, l)
    W_yy : array (d, d), zero diagonal
    tol : float
    max_sweeps : int
        "About ten updates per neuron suffice" (discussion) is ``max_sweeps=10``.

    Returns
    -------
    y : array (d,), y >= 0

    Examples
    --------
    >>> import numpy as np
    >>> W_yy = np.array([[0.0, 0.5], [0.5, 0.0]])
    >>> np.round(nsm_fixed_point(np.array([2.0, 1.5]), np.eye(2), W_yy), 6)
    array([1.666667, 0.666667])
    """
    drive = W_yh @ h
    limit = tol * (1.0 + np.max(np.abs(drive)))
    y = np.zeros(len(drive))
    for _ in range(max_sweeps):
        largest = 0.0
        for i in range(len(y)):
            new = max(drive[i] - W_yy[i] @ y, 0.0)
            largest = max(largest, abs(new - y[i]))
            y[i] = new
        if largest <= limit:
            break
    return y


def activity(D: Array, y: Array, floor: float, forgetting: float) -> Array:
    r"""Running activity whose inverse is the learning rate, eq. ``activitydep`` **corrected**.

    .. math:: \tilde D_{t+1,i} = \max\big(\tilde a,\ \tilde b\, \tilde D_{t,i} + y_{t,i}^2\big)

    The paper prints a minimum, and the new D on both sides. With the minimum y²/D exceeds one, a
    single sample overwrites a neuron's weights, and most runs diverge. ``floor`` is the paper's a~ and
    ``forgetting`` its b~; ``floor=0, forgetting=1`` is eq. ``fullNSMW`` itself. Because of the floor a
    neuron that is silent for long keeps a positive D and never divides zero by zero.

    Examples
    --------
    >>> import numpy as np
    >>> activity(np.array([10.0, 10.0]), np.array([0.0, 3.0]), floor=10.0, forgetting=0.8)
    array([10., 17.])
    """
    return np.maximum(floor, forgetting * D + y**2)


def activity_as_printed(D: Array, y: Array, floor: float, forgetting: float) -> Array:
    """Eq. ``activitydep`` with the printed minimum; kept to show why it cannot be meant.

    Examples
    --------
    >>> import numpy as np
    >>> activity_as_printed(np.array([10.0]), np.array([9.0]), floor=10.0, forgetting=0.8)
    array([10.])
    """
    return np.minimum(floor, forgetting * D + y**2)


def time_activity(t: int, d: int, a: float, b: float) -> Array:
    """Time-dependent rate 1 / (a + b t), eq. ``timedep``, put as a D that all d neurons share.

    Examples
    --------
    >>> time_activity(100, 2, a=10, b=0.1)
    array([20., 20.])
    """
    return np.full(d, a + b * t)


def update_nsm_weights(
    W_yh: Array, W_yy: Array, y: Array, h: Array, D: Array
) -> tuple[Array, Array]:
    r"""Hebbian and anti-Hebbian learning of layer 2, eq. ``fullNSMW``.

    .. math::
        W^{YH}_{ij} \leftarrow W^{YH}_{ij} + \frac{y_i h_j - y_i^2 W^{YH}_{ij}}{D_i}, \qquad
        W^{YY}_{ij} \leftarrow W^{YY}_{ij} + \frac{y_i y_j - y_i^2 W^{YY}_{ij}}{D_i} \quad (j \ne i)

    Oja's rule for every neuron, with a rate that its own activity sets. A silent neuron learns nothing.

    Parameters
    ----------
    W_yh : array (d, l)
    W_yy : array (d, d), zero diagonal
    y : array (d,)
    h : array (l,)
    D : array (d,), after this sample was added

    Returns
    -------
    W_yh, W_yy : arrays, new

    Examples
    --------
    >>> import numpy as np
    >>> W_yh, W_yy = update_nsm_weights(
    ...     np.eye(2), np.zeros((2, 2)), np.array([1.0, 0.0]), np.array([3.0, 2.0]), np.full(2, 2.0)
    ... )
    >>> W_yh
    array([[2., 1.],
           [0., 1.]])
    """
    W_yh = W_yh + (np.outer(y, h) - (y**2)[:, None] * W_yh) / D[:, None]
    W_yy = W_yy + (np.outer(y, y) - (y**2)[:, None] * W_yy) / D[:, None]
    np.fill_diagonal(W_yy, 0.0)
    return W_yh, W_yy


def flip_silent(W_yh: Array, fired: NDArray[np.bool_]) -> Array:
    """Flip the feedforward synapses of every neuron that has never fired (section 4).

    A neuron whose random weights point away from the data stays silent for ever and learns nothing;
    after the flip it fires. Only for neurons that have *never* fired, and only after a sample x ≠ 0.

    Examples
    --------
    >>> import numpy as np
    >>> flip_silent(np.eye(2), np.array([True, False]))
    array([[ 1.,  0.],
           [-0., -1.]])
    """
    return np.where(fired[:, None], W_yh, -W_yh)


def projected_gradient(Y: Array, H: Array, rate: float) -> Array:
    r"""One step of the offline algorithm, eq. ``pgd``.

    .. math:: Y \leftarrow \max\big(Y + \eta\,(Y H^\top H - Y Y^\top Y),\ 0\big)

    Columns are samples, as in the paper. The products are taken from the left, so that no T x T matrix
    is ever formed.

    Parameters
    ----------
    Y : array (d, T)
    H : array (l, T)
    rate : float

    Examples
    --------
    >>> import numpy as np
    >>> H = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> bool(np.all(projected_gradient(H, H, 0.1) == H))
    True
    """
    return np.maximum(Y + rate * ((Y @ H.T) @ H - (Y @ Y.T) @ Y), 0.0)
