"""How many sources are in the channels: a gap in the spectrum, below which nothing is left but noise.

Two facts go beyond the usual look at the eigenvalues. Each channel is first divided by what all the
others leave unexplained of it, so that unequal noise and unequal units do not matter. And sources that
are never negative have a mean, and are skewed, while noise has neither: whatever is left of the mean, or
of the skewness, below the gap betrays a source that the gap has hidden.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GAP = 2.0  #: least ratio of the eigenvalues on both sides of the gap, to be certain
TAIL = 1.35  #: largest ratio of neighbours in the upper half below the gap, to be certain
MEAN = 5.0  #: largest mean square of the means below the gap, in units of their sampling error
SKEW = 3.0  #: largest skewness below the gap, in units of its sampling error
FEW = 100  #: rows below which nothing is certain
ROUNDS = 30  #: of estimating the noise of each channel
SHARE = 0.05  #: of a channel, that the directions of noise have at least
NOISELESS = 1e-9  #: part of a channel's variance that counts as unexplained at least


@dataclass(frozen=True)
class Rank:
    """How many sources `estimate_n_components` found, and how sure that is.

    Attributes
    ----------
    n_components : int
        The best guess.
    certain : bool
        Whether everything that was looked at agrees.
    low, high : int
        Range in which the number lies; both are `n_components` if certain.
    reason : str
        What speaks for it, or what is in doubt, in a sentence.
    spectrum : ndarray of shape (n_channels,)
        Eigenvalues of the covariance of the channels, each divided by its own noise, in units of the
        median of those taken for noise, largest first. Channels that never change have none.
    """

    n_components: int
    certain: bool
    low: int
    high: int
    reason: str
    spectrum: Array

    def __str__(self) -> str:
        sources = f"{self.n_components} source{'s' if self.n_components != 1 else ''}"
        if self.certain:
            return f"{sources}: {self.reason}"
        return f"probably {sources}, between {self.low} and {self.high}: {self.reason}"


def estimate_n_components(X: Any) -> Rank:
    r"""Estimate how many sources are mixed in X; there must be more channels than sources.

    With C the covariance, each channel is divided by its own noise, :math:`1 / (C^{-1})_{ii}`, and
    :math:`l_1 \ge l_2 \ge \dots` are the eigenvalues then. The number is the smallest r below which
    nothing of a source is left: the means along the directions behind r are within sampling error of 0,

    .. math:: \frac{1}{k - r} \sum_{i > r} \frac{n\, m_i^2 / l_i}{1 + \sum_{j \le r} m_j^2 / l_j} < 5,

    and so is their skewness. It is certain if :math:`l_r / l_{r+1}` is the widest gap by far.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Finite samples. Of more than 50,000 an even selection is taken.

    Returns
    -------
    Rank
        The number, whether it is certain, the range, the reason, the spectrum.

    Examples
    --------
    >>> import numpy as np, nica
    >>> rng = np.random.default_rng(0)
    >>> S = nica.datasets.sparse_uniform(5000, 3, random_state=rng)
    >>> X = S @ nica.datasets.mixing(8, 3, condition=5, random_state=rng).T
    >>> rank = nica.estimate_n_components(X + 0.05 * rng.standard_normal(X.shape))
    >>> rank.n_components, rank.certain
    (3, True)
    """
    X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        raise ValueError(
            f"X has shape {X.shape} and type {X.dtype}: give numbers (n_samples, n_channels)"
        )
    X = np.asarray(X[:: max(1, len(X) // 50_000)], dtype=np.float64)
    if not np.all(np.isfinite(X)):
        row = int(np.flatnonzero(~np.all(np.isfinite(X), axis=1))[0])
        raise ValueError(f"X contains NaN or infinity, first in sample {row}: remove such rows")
    return _estimate(X)


def _estimate(X: Array) -> Rank:
    size = np.max(np.abs(X), axis=0)
    varied = np.ptp(X, axis=0) > 1e-12 * size
    if not np.any(varied):
        return Rank(0, True, 0, 0, "no channel ever changes", np.empty(0))
    X = X[:, varied] / size[varied]
    n, k = X.shape
    mean = X.mean(axis=0)
    centred = X - mean
    C = centred.T @ centred / n
    variance = np.diag(C)
    if k == 1 or n <= k + 1:
        why = (
            "there is one channel that changes"
            if k == 1
            else f"{n} samples are too few for {k} channels: give more than {10 * k}"
        )
        return Rank(min(k, n - 1), k == 1, 1, k if n > k else max(n - 1, 1), why, np.ones(k))
    noise = 1 / np.diag(np.linalg.inv(C + NOISELESS * np.diag(variance)))
    spectrum, axes = _spectrum(C, noise)
    ratios = _ratios(spectrum)
    gap = int(np.argmax(ratios[:-1])) + 1
    quiet = _quiet(centred, mean, noise, spectrum, axes)
    if gap not in quiet:  # look once more, with the noise that each likely rank leaves
        for r in (int(i) + 1 for i in np.flatnonzero(ratios[:-1] > TAIL)):
            refined = _refined(C, noise, spectrum, axes, r)
            ratios_r = _ratios(refined[1])
            quiet_r = _quiet(centred, mean, *refined)
            if r in quiet_r and int(np.argmax(ratios_r)) + 1 == r:
                (noise, spectrum, axes), ratios, quiet, gap = refined, ratios_r, quiet_r, r
                break
    found = quiet[0] if quiet else None
    if gap in quiet and _behind(ratios, gap) < TAIL:
        chosen = gap
    else:
        wide = [r for r in quiet if ratios[r - 1] > GAP]
        doubt = 1 if found else 10  # where nothing looks like noise only a chasm counts
        chosen = wide[0] if wide else gap if ratios[gap - 1] > doubt * GAP else found or k
    clear, behind = float(ratios[chosen - 1]), _behind(ratios, chosen)
    floor = float(np.median(spectrum[chosen:])) if chosen < k else float(spectrum[-1])
    certain = bool(gap in quiet and chosen == gap and clear > GAP and behind < TAIL and n >= FEW)
    if certain:
        reason = (
            f"eigenvalue {chosen} is {clear:.3g} times the next, and the {k - chosen} behind it "
            "have neither a mean nor skewness, as noise"
        )
        low = high = chosen
    else:
        candidates = {chosen, gap, *(int(r) + 1 for r in np.flatnonzero(ratios[:-1] > TAIL))}
        low, high = min(candidates), k if found is None else max(candidates)
        if found is None:
            reason = (
                "every direction has a mean or skewness that noise would not have: as many sources as "
                "channels, or offsets, or noise that is not Gaussian. Give more channels, or subtract "
                "the offsets"
            )
        elif n < FEW:
            reason = f"{n} samples are too few: give at least {FEW}"
        elif clear <= GAP or chosen != gap:
            reason = (
                f"the gap behind eigenvalue {chosen} is small ({clear:.3g} times the next): the weakest "
                "source is near the noise"
            )
        else:
            reason = (
                f"behind eigenvalue {chosen} there is another gap ({behind:.3g} times): weak sources, or "
                "noise that the channels share"
            )
        if low == high:
            high = min(chosen + 1, k)
            low = max(chosen - 1, 1)
    return Rank(chosen, certain, low, high, reason, spectrum / floor)


def _spectrum(C: Array, noise: Array) -> tuple[Array, Array]:
    """Eigenvalues and axes, largest first, of the covariance with channels scaled to equal noise."""
    scale = 1 / np.sqrt(noise)
    spectrum, axes = np.linalg.eigh(C * scale * scale[:, None])
    return np.maximum(spectrum[::-1], 1e-13 * spectrum[-1]), axes[:, ::-1]


def _ratios(spectrum: Array) -> Array:
    """How many times the next each eigenvalue is; 1 for the last."""
    return np.append(spectrum[:-1] / spectrum[1:], 1.0)


def _quiet(centred: Array, mean: Array, noise: Array, spectrum: Array, axes: Array) -> list[int]:
    """Ranks behind which no direction has a mean or skewness that noise would not have."""
    n, k = centred.shape
    scores = (centred / np.sqrt(noise)) @ (axes / np.sqrt(spectrum))
    skew = np.abs(np.mean(scores**3, axis=0)) * np.sqrt(n / 6)
    means = np.cumsum(((mean / np.sqrt(noise)) @ axes) ** 2 / spectrum)
    left = n * (means[-1] - means) / (1 + means) / np.maximum(k - 1 - np.arange(k), 1)
    return [r for r in range(1, k) if left[r - 1] < MEAN and np.max(skew[r:]) < SKEW]


def _refined(
    C: Array, noise: Array, spectrum: Array, axes: Array, r: int
) -> tuple[Array, Array, Array]:
    """Noise of each channel if there are r sources, and the spectrum with it (factor analysis).

    What the other channels leave unexplained is too small where sources are strong, which turns the
    axes: many samples would show sources in the directions of noise. Here the noise of a channel is
    what the directions behind r show in it, by the share that they have of it.
    """
    k = len(C)
    if (k - r) ** 2 < k + r:  # fewer equations than unknowns
        return noise, spectrum, axes
    for _ in range(ROUNDS):
        behind = axes[:, r:] ** 2
        share = np.maximum(behind.sum(axis=1), SHARE)
        noise = np.maximum(noise * (behind @ spectrum[r:]) / share, NOISELESS * np.diag(C))
        spectrum, axes = _spectrum(C, noise)
    return noise, spectrum, axes


def _behind(ratios: Array, r: int) -> float:
    """Widest gap in the upper half of what is behind r: a weak source would stand there."""
    return float(np.max(ratios[r : r + max(1, (len(ratios) - r) // 2)], initial=1.0))
