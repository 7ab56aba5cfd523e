"""From the first held samples to a network that is already whitening (not in the paper).

Everything is read robustly off a few dozen samples, and nothing depends on the unit of the input: the
held samples times c give the gain divided by c and otherwise the same start, bit for bit when c is a
power of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nica.equations.network import orthonormal

Array = NDArray[np.float64]

UNEQUAL = 3.0  #: ratio of large to small noise from which channels are scaled by it


def warm_start(
    held: Array,
    d: int,
    l: int,
    m: int,
    alpha: float,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array, Array]:
    r"""Stationary state of layer 1 for the covariance of the held samples.

    With R the cleaned samples in the new scale (mean x̄, covariance V diag(s²) Vᵀ) and Q, Q' random with
    orthonormal columns, eq. ``fullFirstW`` stands still at

    .. math:: W^{HX} = Q\, \mathrm{diag}(s)\, V^\top, \qquad
              W^{HG} = Q\, \mathrm{diag}(\sqrt{s^2 - \alpha})\, Q'^\top

    because then δh has variance one in each direction. Directions whose variance is below ``alpha``
    start small, and stay so.

    Parameters
    ----------
    held : array (n, k), n >= 2
    d, l, m : int
        Sources, principal neurons, interneurons.
    alpha : float
    rng : Generator

    Returns
    -------
    gain : array (k,)
    x_bar : array (k,), in the new scale
    W_hx : array (l, k)
    W_hg : array (l, m)

    Examples
    --------
    >>> import numpy as np
    >>> held = np.random.default_rng(0).exponential(size=(30, 2))
    >>> gain, x_bar, W_hx, W_hg = warm_start(held, 2, 2, 2, 0.0, np.random.default_rng(1))
    >>> F = np.linalg.solve(W_hg @ W_hg.T, W_hx)
    >>> bool(np.allclose(np.cov(F @ (clean(held) * gain).T, bias=True), np.eye(2)))
    True
    """
    R = clean(held)
    gain = channel_gain(R, d)
    R = R * gain
    x_bar = R.mean(axis=0)
    _, s, Vt = np.linalg.svd((R - x_bar) / np.sqrt(len(R)), full_matrices=False)
    return gain, x_bar, *stationary_layer(s, Vt, l, m, alpha, rng)


def stationary_layer(
    s: Array, Vt: Array, l: int, m: int, alpha: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """W_HX and W_HG at which layer 1 stands still, for the standard deviations s along the axes Vt.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.array([2.0, 1.0])
    >>> W_hx, W_hg = stationary_layer(s, np.eye(2), 2, 2, 0.0, np.random.default_rng(0))
    >>> F = np.linalg.solve(W_hg @ W_hg.T, W_hx)
    >>> bool(np.allclose(F @ np.diag(s**2) @ F.T, np.eye(2)))
    True
    """
    modes = min(l, len(s))
    s = np.maximum(s[:modes], 1e-6 * s[0])
    s = np.concatenate([s, np.full(l - modes, 1e-6 * s[0])])
    Vt = np.vstack([Vt[:modes], np.zeros((l - modes, Vt.shape[1]))])
    kept = s**2 > alpha
    Q, Q_prime = orthonormal(l, l, rng), orthonormal(m, min(l, m), rng)
    S_hx = np.where(kept, s, 0.01 * s)
    S_hg = np.sqrt(np.where(kept, s**2 - alpha, 0.0))[: min(l, m)]
    W_hx = (Q * S_hx) @ Vt
    W_hg = (Q[:, : min(l, m)] * S_hg) @ Q_prime.T
    return np.ascontiguousarray(W_hx), np.ascontiguousarray(W_hg)


def warm_start_rank(held: Array) -> int:
    """Directions in which the held samples vary at all (above 1e-6 of the largest).

    Examples
    --------
    >>> import numpy as np
    >>> warm_start_rank(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]))
    1
    """
    s = np.linalg.svd(_unit(held - held.mean(axis=0)), compute_uv=False)
    return int(np.sum(s >= 1e-6 * s[0])) if s[0] > 0 else 0


def clean(held: Array) -> Array:
    """Held samples without their accidents.

    Rows with an entry beyond ten times the third largest deviation from the channel's median are left
    out, if they are at most three; then deviations are cut at twice the third largest. The third
    largest survives two wild values and still speaks for the tail of a sparse source.

    Examples
    --------
    >>> import numpy as np
    >>> held = np.arange(10.0)[:, None]
    >>> clean(np.vstack([held, [[1e6]]])).ravel()
    array([0., 1., 2., 3., 4., 5., 6., 7., 8., 9.])
    """
    centre = np.median(held, axis=0)
    deviation = held - centre
    size = np.sort(np.abs(deviation), axis=0)
    third = size[max(len(size) - 3, 0)]
    wild = np.any(np.abs(deviation) > 10 * third, axis=1)
    if np.sum(wild) <= 3:
        deviation = deviation[~wild]
    deviation = np.clip(deviation, -2 * third, 2 * third)
    if not np.any(deviation):  # fewer than three rows differ from the rest: keep what there is
        return held
    return centre + deviation


def channel_gain(R: Array, d: int) -> Array:
    """Scale of each channel: one number for all, unless extra channels show unequal noise.

    With k = d, or with residual noise about equal (or none), the gain is 1/RMS for all channels: they are
    never standardised without a reason. Where there are channels enough to tell noise from sources
    (Ledermann's bound, (k - d)² > k + d) and the noise is clearly unequal, each channel is divided by its
    noise, because the largest variances would otherwise be noise. The noise of a channel is what all the
    others leave unexplained of it, 1 / diag(covariance⁻¹): that needs no scale. A channel that stands
    still gets the smallest gain of the others.

    Examples
    --------
    >>> import numpy as np
    >>> channel_gain(np.array([[2.0, 0.0], [-2.0, 0.0]]), d=2)
    array([0.70710678, 0.70710678])
    """
    scalar = 1.0 / _rms(R)
    same = np.full(R.shape[1], scalar)
    R = (R - R.mean(axis=0)) * scalar
    size = R.std(axis=0)
    alive = size > 0
    k = int(np.sum(alive))
    if k <= d or (k - d) ** 2 <= k + d:
        return same
    R = R[:, alive] / size[alive]
    covariance = R.T @ R / len(R) + 1e-9 * np.eye(k)
    noise = size[alive] / np.sqrt(np.diag(np.linalg.inv(covariance)))
    low, high = np.quantile(noise, [0.1, 0.9])
    if high <= UNEQUAL * low or np.median(noise / size[alive]) < 3e-4:
        return same
    gain = np.full(len(size), np.min(1 / noise))
    gain[alive] = 1 / noise
    result: Array = gain * scalar / _rms(gain[alive] * size[alive] * R)
    return result


def _rms(R: Array) -> float:
    return float(np.sqrt(np.mean(_unit(R) ** 2)) * _size(R))


def _size(R: Array) -> float:
    """Power of two near the largest entry: dividing by it is exact."""
    return float(2.0 ** np.floor(np.log2(np.max(np.abs(R)))))


def _unit(R: Array) -> Array:
    return R / _size(R) if np.any(R) else R


__all__ = ["channel_gain", "clean", "stationary_layer", "warm_start", "warm_start_rank"]
