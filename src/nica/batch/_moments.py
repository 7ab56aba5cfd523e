"""Mean and covariance by sums over blocks, without the outliers; a start of layer 1 from them.

A robust look at a selection of the samples gives a first centre and a first covariance. Against these
every sample gets the outlier weight of ``nica.equations.outlier_weight``, and the sums of the weighted
samples, taken from that centre, are safe from cancellation: the centre is near the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nica.batch.sources import Source, Sums, Total
from nica.equations.warmup import channel_gain

Array = NDArray[np.float64]

KAPPA = 10.0  #: beyond so many standard deviations a sample is an outlier, as in the stream
HIGH = 0.99  #: quantile of a channel's deviations from its median that outliers do not reach
BEYOND = 3.0  #: for the first look deviations are cut at so many times that
RESIDUE = (
    1e-3  #: of the weakest source's variance: what may always be left outside the sources' space
)
LOOKS = 10  #: passes over the selection at most


@dataclass(frozen=True)
class Reference:
    """Where the samples lie, roughly: enough to tell what is an outlier."""

    centre: Array  #: (k,)
    gain: Array  #: (k,) scale of the channels
    axes: Array  #: (d, k) principal axes of (x - centre) * gain, divided by the standard deviations
    spread: Array  #: (d,) those standard deviations
    residue: float  #: mean square outside these axes

    def weights(self, Z: Array) -> Array | None:
        """Outlier weight of each row of (X - centre) * gain; None if all are one."""
        P = Z @ self.axes.T
        squares = np.einsum("ti,ti->t", P, P) / len(self.axes)
        if len(self.axes) < Z.shape[1]:
            outside = np.einsum("ti,ti->t", Z, Z) - (P * P) @ self.spread**2
            squares = np.maximum(squares, outside / self.residue)
        return weights_of(squares)


def weights_of(squares: Array) -> Array | None:
    """Weights for squared distances in standard deviations: ``outlier_weight``; None if all are one."""
    far = squares > KAPPA**2
    if not np.any(far):
        return None
    return np.where(far, (KAPPA**2 / np.maximum(squares, KAPPA**2)) ** 2, 1.0)


def look(R: Array, d: int) -> Reference:
    """Centre, scale and covariance of a selection, by reweighting until they rest."""
    centre = np.median(R, axis=0)
    D = R - centre
    size = np.abs(D)
    high = np.quantile(size, HIGH, axis=0)
    high = np.where(high > 0, high, np.max(size, axis=0))
    cut = np.clip(D, -BEYOND * high, BEYOND * high)
    weights: Array | None = None
    gain = _gain(cut, d)
    for _ in range(LOOKS):
        if weights is None:
            kept, n = cut, float(len(D))
            mean = kept.mean(axis=0)
        else:
            n = float(np.sum(weights))
            mean = weights @ D / n
            kept = D
            gain = _gain(D[weights == 1], d) if np.sum(weights == 1) > d + 1 else gain
        Z = (kept - mean) * gain
        root = np.ones(len(Z)) if weights is None else np.sqrt(weights)
        Z = Z * root[:, None]
        reference = _reference(centre + mean, gain, Z.T @ Z / n, d)
        before = weights
        weights = reference.weights((R - reference.centre) * gain)
        if weights is None or (before is not None and np.array_equal(weights < 1, before < 1)):
            break
    return reference


def _gain(D: Array, d: int) -> Array:
    """Scale of the channels as in the warm start; those that stand still get the scale of the rest."""
    if not np.any(D):
        raise ValueError("all samples are the same: there is nothing to separate")
    return channel_gain(D, d)


def _reference(centre: Array, gain: Array, covariance: Array, d: int) -> Reference:
    variances, axes = np.linalg.eigh(covariance)
    variances, axes = np.maximum(variances[::-1], 0), axes[:, ::-1]
    top = np.maximum(variances[:d], 1e-12 * variances[0])
    residue = max(float(np.sum(variances[d:])), RESIDUE * float(top[-1]))
    spread = np.sqrt(top)
    return Reference(centre, gain, axes[:, :d].T / spread[:, None], spread, residue)


@dataclass(frozen=True)
class Moments:
    """Mean and covariance of all samples, in the scale of the reference."""

    mean: Array  #: (k,) in the unit of the input
    covariance: Array  #: (k, k) of x * gain
    gain: Array  #: (k,)
    n_samples: int
    n_bad: int
    n_outliers: int


def moments(source: Source, reference: Reference) -> Moments:
    """One pass over all samples."""
    total: Total = source.total(_Moments(reference))
    (count, outliers), first, second = total.sums
    mean = first / count
    return Moments(
        mean=reference.centre + mean / reference.gain,
        covariance=second / count - np.outer(mean, mean),
        gain=reference.gain,
        n_samples=total.n_samples, n_bad=total.n_bad, n_outliers=int(outliers),
    )  # fmt: skip


@dataclass(frozen=True)
class _Moments:
    """Weighted sums of a part: a class and not a closure, so that it can be sent to other machines."""

    reference: Reference

    def __call__(self, X: Array) -> Sums:
        Z = X - self.reference.centre
        Z *= self.reference.gain
        weights = self.reference.weights(Z)
        count, outliers = float(len(Z)), 0.0
        if weights is not None:
            count, outliers = float(np.sum(weights)), float(np.sum(weights < 1))
            first = weights @ Z
            Z *= np.sqrt(weights)[:, None]
        else:
            first = Z.sum(axis=0)
        return np.array([count, outliers]), first, Z.T @ Z
