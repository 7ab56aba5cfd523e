"""Where the samples lie: winsorised moments, and the map to the d dimensions that are searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nica.batch.sources import Source, Sums, Total
from nica.equations.warmup import channel_gain

Array = NDArray[np.float64]

REACH = 3.0  #: samples longer than so many times the median, whitened, are shortened to that
LOOKS = 6  #: rounds of it, since what is shortened changes the whitening
LEAST = 1e-6  #: size of a direction, as a part of the largest, that counts


@dataclass(frozen=True)
class Map:
    """From samples to d dimensions, ``z = F x + c``, and back.

    With offsets z is centred. If the sources sum to one, its last entry is 1.
    """

    F: Array  #: (d, k)
    c: Array  #: (d,)
    reach: float  #: longer z are shortened; infinite if none are
    rank: int  #: directions in which the samples vary
    residual: (
        float  #: root mean square of what F leaves out, per direction, in the unit of F's channels
    )
    gain: Array  #: (k,) scale of the channels
    mean: Array  #: (k,) where z is zero; zeros unless moments are about the mean

    def __call__(self, X: Array) -> Array:
        """Reduced samples, the far ones shortened."""
        return shortened(X @ self.F.T + self.c, self.reach)

    @property
    def back(self) -> Array:
        """From reduced samples to channels (k, d), weighing these by their noise as F does."""
        flat = bool(np.any(self.c != 0) and not np.any(self.F[-1]))
        F = self.F[:-1] if flat else self.F
        inverse = np.divide(1.0, self.gain, out=np.zeros_like(self.gain), where=self.gain > 0)
        back = np.linalg.pinv(F * inverse) * inverse[:, None]
        return np.column_stack([back, self.mean]) if flat else np.asarray(back, np.float64)


def lengths(Z: Array) -> Array:
    """Length of each row."""
    return np.asarray(np.sqrt(np.einsum("ti,ti->t", Z, Z)), np.float64)


def shortened(Z: Array, reach: float) -> Array:
    """Samples, those that are too long at the length of the longest that are not."""
    if not np.isfinite(reach):
        return Z
    length = lengths(Z)
    factor = reach / np.maximum(length, reach)
    return Z if np.all(factor == 1) else Z * factor[:, None]


def prepare(
    source: Source, R: Array, d: int, *, offset: bool, sum_to_one: bool, winsorise: bool = True
) -> tuple[Map, Total]:
    """Map to d dimensions from a selection R and one pass over all samples, which it counts.

    Moments are taken about zero, since centring would undo correlations too; about the mean only where
    zero is not known (``offset``), or where the samples lie on a plane (``sum_to_one``).
    """
    centred = offset or sum_to_one
    width = d - 1 if sum_to_one else d
    gain = _gain(R, width)
    mean = np.median(R, axis=0) if centred else np.zeros(R.shape[1])
    D = (R - mean) * gain
    D = D[np.any(D != 0, axis=1)]
    shrink = _Shrink(np.zeros((0, R.shape[1])), np.zeros((R.shape[1], 0)), np.inf, np.inf)
    for _ in range(LOOKS if winsorise else 0):
        kept = shrink(D)
        axes, size, _ = _modes(kept.T @ kept / len(kept))
        F, G = axes[:width] / size[:width, None], (axes[:width] * size[:width, None]).T
        inside, outside = lengths(D @ F.T), lengths(D - D @ F.T @ G.T)
        reach = REACH * float(np.median(inside))
        beyond = REACH * float(np.median(outside)) + LEAST * reach * float(size[width - 1])
        shrink = _Shrink(F, G, reach, beyond)
    total = source.total(_Moments(mean, gain, shrink))
    (count,), first, second = total.sums
    if centred:
        shift = first / count
        mean = mean + np.divide(shift, gain, out=np.zeros_like(gain), where=gain > 0)
        second = second - count * np.outer(shift, shift)
    axes, size, rank = _modes(second / max(count, 1))
    if rank < width:
        raise ValueError(
            f"X {'varies in' if centred else 'spans'} {rank} direction{'s' * (rank != 1)} only but "
            f"n_components={d}: give at most {rank + d - width}"
        )
    F = axes[:width] / size[:width, None] * gain
    c = -F @ mean
    reach = np.inf
    if winsorise:
        length = lengths(R @ F.T + c)
        reach = REACH * float(np.median(length[np.any(mean != R, axis=1)]))
        reach = reach if np.any(length > reach) else np.inf
    if sum_to_one:
        F, c = np.vstack([F, np.zeros(F.shape[1])]), np.append(c, 1.0)
        reach = float(np.sqrt(reach**2 + 1))
    left = size[width:]
    residual = float(np.sqrt(np.mean(left**2))) if len(left) else 0.0
    return Map(F, c, reach, rank + d - width, residual, gain, mean), total


def _gain(R: Array, d: int) -> Array:
    if not np.any(R[0] != R):
        raise ValueError("all samples are the same: there is nothing to separate")
    return channel_gain(R - np.median(R, axis=0), d)


def _modes(second: Array) -> tuple[Array, Array, int]:
    """Principal axes, root mean squares along them, and how many of these count."""
    squares, axes = np.linalg.eigh(second)
    squares, axes = np.maximum(squares[::-1], 0), axes[:, ::-1].T
    rank = int(np.sum(squares > LEAST**2 * squares[0]))
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return axes, np.sqrt(np.maximum(squares, 1e-300)), rank


@dataclass(frozen=True)
class _Shrink:
    """Shortens samples that are too long, in the space of the sources or outside of it."""

    F: Array
    G: Array
    reach: float
    beyond: float

    def __call__(self, D: Array) -> Array:
        if not np.isfinite(self.reach):
            return D
        Z = D @ self.F.T
        factor = self.reach / np.maximum(lengths(Z), self.reach)
        if D.shape[1] > len(self.F):
            outside = lengths(D - Z @ self.G.T)
            factor = np.minimum(factor, self.beyond / np.maximum(outside, self.beyond))
        return D if np.all(factor == 1) else D * factor[:, None]


@dataclass(frozen=True)
class _Moments:
    """Winsorised sums about a first centre: a class, so that it can be sent to other machines."""

    mean: Array
    gain: Array
    shrink: _Shrink

    def __call__(self, X: Array) -> Sums:
        D = self.shrink((X - self.mean) * self.gain)
        return np.array([float(np.sum(np.any(D != 0, axis=1)))]), D.sum(axis=0), D.T @ D
