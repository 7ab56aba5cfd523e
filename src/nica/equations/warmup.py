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
    return gain, x_bar, np.ascontiguousarray(W_hx), np.ascontiguousarray(W_hg)


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

    With k = d, or k > d and residual noise about equal (or none), the gain is 1/RMS for all channels:
    channels are never standardised without a reason. With clearly unequal noise each channel is divided
    by its noise, found by three rounds of principal component analysis, because the largest variances
    would otherwise be noise. A channel that stands still gets the smallest gain of the others.

    Examples
    --------
    >>> import numpy as np
    >>> channel_gain(np.array([[2.0, 0.0], [-2.0, 0.0]]), d=2)
    array([0.70710678, 0.70710678])
    """
    k = R.shape[1]
    scalar = np.full(k, 1.0 / _rms(R))
    if k <= d:
        return scalar
    R = R * scalar
    noise = np.sqrt(_residual_variance(R, d))
    low, high = np.quantile(noise, [0.1, 0.9])
    if high <= 10 * low or np.median(noise) < 1e-10:
        return scalar
    variance = R.var(axis=0)
    alive = variance > 0
    gain = np.where(alive, 1 / np.sqrt(np.where(alive, variance, 1.0)), 0.0)
    for _ in range(3):
        noise = _residual_variance(R * gain, d) / np.where(alive, gain, 1.0) ** 2
        floor = np.maximum(noise, 1e-7 * variance)
        gain = np.where(alive, 1 / np.sqrt(np.where(alive, floor, 1.0)), 0.0)
    gain = np.where(alive, gain, np.min(gain[alive], initial=np.inf))
    result: Array = gain / _rms(R * gain) * scalar
    return result


def _rms(R: Array) -> float:
    return float(np.sqrt(np.mean(_unit(R) ** 2)) * _size(R))


def _size(R: Array) -> float:
    """Power of two near the largest entry: dividing by it is exact."""
    return float(2.0 ** np.floor(np.log2(np.max(np.abs(R)))))


def _unit(R: Array) -> Array:
    return R / _size(R) if np.any(R) else R


def _residual_variance(R: Array, d: int) -> Array:
    """Variance of each channel that d principal components leave unexplained."""
    centred = R - R.mean(axis=0)
    _, _, Vt = np.linalg.svd(centred, full_matrices=False)
    residual: Array = np.mean((centred - centred @ Vt[:d].T @ Vt[:d]) ** 2, axis=0)
    return residual


__all__ = ["channel_gain", "clean", "warm_start", "warm_start_rank"]
