"""What is measured on the outputs, the channels and the fits; no limits and no words here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nica.diagnostics._fits import Fits, agreement, negative
from nica.diagnostics._second import second_opinion
from nica.equations.warmup import channel_gain, clean

Array = NDArray[np.float64]

ANGLES = (2, 5, 8, 11, 15, 20, 25, 30)  #: degrees that pairs of outputs are turned by
#: Of outputs of variance 1, between which their dependence is counted.
LEVELS = (0.3, 0.8, 1.5, 2.5)
FREE = 0.005  #: rise of the negative energy that a turn may cost
TURNED = 4000  #: samples on which outputs are turned


@dataclass
class Measures:
    """Numbers behind the signals; those of the outputs are arrays, one entry for each."""

    restarts: Array
    random_halves: Array
    halves: Array
    second: Array  # 1 - |r| with the second opinion, beyond its sampling error
    negative: Array
    lowest: Array  # 1 % quantile
    foot: Array  # from there to the 5 % quantile
    slack: Array
    tails: Array
    dependence: Array
    level: Array
    gap: float
    offset: float
    one: float
    ends: float
    outputs: Array


def measure(X: Array, covariance: Array, fits: Fits) -> Measures:
    """Take all measures for the first of the fits."""
    n, U = len(X), fits.restarts[0]
    d = len(U)
    u = X @ U.T

    def least(maps: list[Array]) -> Array:
        smallest: Array = np.min([agreement(U, V, covariance) for V in maps], axis=0)
        return smallest

    pairs = zip(fits.random[::2], fits.random[1::2], strict=True)
    between = min(float(np.min(agreement(V, W, covariance))) for V, W in pairs)
    random = least(fits.random)
    worst = int(np.argmin(random))
    random[worst] = min(random[worst], between)
    half = n // 2
    low, fifth = np.quantile(u, (0.01, 0.05), axis=0)
    gap, offset, one = spectrum(X, d)
    return Measures(
        restarts=least(fits.restarts[1:]),
        random_halves=random,
        halves=least(fits.halves),
        second=np.maximum(1 - second_opinion(u) - d / n, 0.0),
        negative=negative(u),
        lowest=low,
        foot=fifth - low,
        slack=slack(u[:: max(1, n // TURNED)]),
        tails=tails(u),
        # With channels to spare, a source too many is seen in the spectrum.
        dependence=dependence(u) if X.shape[1] == d else np.zeros(d),
        level=np.abs(u[:half].mean(axis=0) - u[half:].mean(axis=0)),
        gap=gap,
        offset=offset,
        one=one,
        ends=ends(X),
        outputs=u,
    )


def slack(u: Array) -> Array:
    """Degrees that each output can turn against some other one while both remain nonnegative."""
    d = u.shape[1]
    before, widest = negative(u), np.zeros(d)
    for i in range(d):
        for j in range(i + 1, d):
            for sign in (1, -1):
                for degrees in ANGLES:
                    c, s = np.cos(np.deg2rad(degrees)), sign * np.sin(np.deg2rad(degrees))
                    turned = np.column_stack([c * u[:, i] + s * u[:, j], c * u[:, j] - s * u[:, i]])
                    if np.max(negative(turned) - before[[i, j]]) >= FREE:
                        break
                    widest[[i, j]] = np.maximum(widest[[i, j]], degrees)
    return widest


def tails(u: Array) -> Array:
    """Largest correlation of one output's square with another's being among its top tenth.

    Reduced by three times its sampling error; 0 for sources that are independent.
    """
    n, d = u.shape
    if d < 2:
        return np.zeros(d)
    top = (u > np.quantile(u, 0.9, axis=0)).astype(np.float64)
    R = np.abs(_standard(u**2).T @ _standard(top) / n)
    np.fill_diagonal(R, 0.0)
    R = np.maximum(R, R.T)
    largest: Array = np.sqrt(np.maximum(np.max(R, axis=0) ** 2 - 9 / n, 0.0))
    return largest


def dependence(u: Array) -> Array:
    """Pearson's φ² of each output with another one, over classes of values, beyond chance.

    Classes are counted from 0 and from the lowest values, and the smaller φ² is taken: where many
    samples have the same value of one output, a border through it would cut them by what is left of
    the other outputs in it, however little.
    """
    least: Array = np.minimum(_dependence(u), _dependence(u - np.quantile(u, 0.02, axis=0)))
    return least


def _dependence(u: Array) -> Array:
    """φ² beyond three standard deviations; classes in which fewer than five are expected do not count."""
    n, d = u.shape
    size = len(LEVELS) + 1
    classes = np.digitize(u, LEVELS)
    largest = np.zeros(d)
    for i in range(d):
        for j in range(i + 1, d):
            counts = np.bincount(classes[:, i] * size + classes[:, j], minlength=size**2)
            seen = counts.reshape(size, size).astype(np.float64)
            rows, columns = seen.sum(axis=1), seen.sum(axis=0)
            expected = np.outer(rows, columns) / n
            enough = expected >= 5
            squares = float(np.sum((seen - expected)[enough] ** 2 / expected[enough]))
            present = max(int(np.sum(rows > 0)) - 1, 0) * max(int(np.sum(columns > 0)) - 1, 0)
            freedom = max(present * np.sum(enough) / max(int(np.sum(expected > 0)), 1), 1.0)
            phi = (squares - freedom - 3 * np.sqrt(2 * freedom)) / n
            largest[[i, j]] = np.maximum(largest[[i, j]], phi)
    return largest


def ends(X: Array) -> float:
    """Largest share of samples at the end of a channel's range, that differ in other channels."""
    share = 0
    for end in (X.max(axis=0), X.min(axis=0)):
        at = end == X
        for j in np.flatnonzero(np.sum(at, axis=0) > 2):
            share = max(share, len(np.unique(X[at[:, j]], axis=0)) - 1)
    return share / len(X)


def spectrum(X: Array, d: int) -> tuple[float, float, float]:
    """Gap, offset and constant sum, in the scale that the network gives the channels.

    The gap is √(l_{d+1} / l_d) of the covariance; the offset the part of the mean outside the first d
    directions, over √l_d; the last is the spread of the best prediction of the constant 1 from the first
    d directions of the second moments: it is small if the sources have a constant sum.
    """
    Z = X * channel_gain(clean(X), d)
    n, k = Z.shape
    mean = Z.mean(axis=0)
    values, axes = np.linalg.eigh(np.cov(Z.T, bias=True).reshape(k, k))
    values = np.maximum(values[::-1], 1e-13 * values[-1])
    axes = axes[:, ::-1][:, :d]
    gap = offset = 0.0
    if k > d:
        gap = float(np.sqrt(values[d] / values[d - 1]))
        offset = float(np.linalg.norm(mean - axes @ (axes.T @ mean)) / np.sqrt(values[d - 1]))
    _, moments = np.linalg.eigh(Z.T @ Z / n)
    scores = Z @ moments[:, ::-1][:, :d]
    weights = np.linalg.lstsq(scores, np.ones(n), rcond=None)[0]
    return gap, offset, float(np.std(1 - scores @ weights))


def _standard(values: Array) -> Array:
    centred = values - values.mean(axis=0)
    standard: Array = centred / np.maximum(centred.std(axis=0), 1e-300)
    return standard
