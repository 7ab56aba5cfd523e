"""Problems for sources that depend on each other: correlated, summing to one, dense; with the truth.

A family draws sources, `make` mixes them with a signed Gaussian matrix and adds what a detector adds.
The oracle knows that matrix: what least squares with it leaves is no method's fault.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import nnls
from scipy.special import ndtr

from benchmarks.problems import Array, Rng, _levels, _values
from nica.datasets import mixing, natural_scenes, rectified_gaussian
from nica.metrics import match_sources

OUTLIERS, OUTLIER_SIZE, OFFSET = 0.05, 10.0, 1.0  # share, sd, sd
COLLINEAR = 0.95  # least correlation of the two sources that hardly differ


@dataclass
class Mixture:
    """Samples X = S Aᵀ + offset + noise, and which of them no outlier has hit."""

    X: Array
    S: Array
    A: Array
    offset: Array
    good: Array
    facts: dict[str, float] = field(default_factory=dict)


# ---- sources


def sparse(rng: Rng, n: int, d: int) -> Array:
    family = "sparse uniform" if rng.random() < 0.5 else "sparse exponential"
    return _values(rng, _levels(rng, n, d), family)


def exponential(rng: Rng, n: int, d: int) -> Array:
    return rng.exponential(size=(n, d))


def gain_modulated(rng: Rng, n: int, d: int) -> Array:
    """Independent sources times one gain for all: light that flickers, attention."""
    return rng.lognormal(0.0, rng.uniform(0.5, 1.0), (n, 1)) * exponential(rng, n, d)


def rectified(rng: Rng, n: int, d: int, r: float | None = None) -> Array:
    """What is positive of correlated Gaussians; r from .3 to .8 unless told."""
    r = rng.uniform(0.3, 0.8) if r is None else r
    return rectified_gaussian(n, d, correlation=r, random_state=rng)


def dirichlet(concentration: float) -> Callable[[Rng, int, int], Array]:
    return lambda rng, n, d: rng.dirichlet(np.full(d, concentration), n)


def lognormal(rng: Rng, n: int, d: int) -> Array:
    return rng.lognormal(0.0, rng.uniform(0.7, 1.2), (n, d))


@cache
def _scenes() -> Array:
    return np.asarray(natural_scenes().S)


def images(rng: Rng, n: int, d: int) -> Array:
    """Three or four of the bundled images, whatever n is: dense, hardly ever black."""
    chosen = list(combinations(range(4), min(d, 4)))
    return _scenes()[:, chosen[rng.integers(len(chosen))]]


def smooth(rng: Rng, n: int, d: int) -> Array:
    """Smooth fields, each touching zero at its darkest places only."""
    side = round(np.sqrt(n))
    fields = [
        gaussian_filter(rng.standard_normal((side, side)), rng.uniform(1, 4), mode="wrap").ravel()
        for _ in range(d)
    ]
    return np.column_stack([f - f.min() for f in fields])


def collinear(rng: Rng, n: int, d: int) -> Array:
    """Two sources correlate at .95 to .98, the rest are independent of them; all often near zero."""
    G = rng.standard_normal((n, d))
    r = rng.uniform(0.965, 0.985)
    G[:, 1] = r * G[:, 0] + np.sqrt(1 - r**2) * G[:, 1]
    while (
        True
    ):  # what a marginal does to a correlation has no formula: go nearer until it is enough
        S = _values(rng, ndtr(G), "exponential")
        if np.corrcoef(S[:, :2].T)[0, 1] >= COLLINEAR:
            return S
        G[:, 1] = 0.9 * G[:, 1] + 0.1 * G[:, 0]


Family = Callable[[Rng, int, int], Array]
FAMILIES: dict[str, Family] = {
    "sparse": sparse,
    "exponential": exponential,
    "lognormal": lognormal,
    "gain-modulated": gain_modulated,
    "rectified Gaussian": rectified,
    "Dirichlet .3": dirichlet(0.3),
    "Dirichlet 1": dirichlet(1.0),
}
HARD: dict[str, Family] = {"images": images, "smooth": smooth, "near-collinear": collinear}
UNCORRELATED = ("sparse", "exponential", "lognormal")
SUM_TO_ONE = ("Dirichlet .3", "Dirichlet 1")


# ---- mixtures


def generator(seed: int, *what: object) -> Rng:
    """The same generator for the same words, in any order of a run."""
    return np.random.default_rng([seed, zlib.crc32(repr(what).encode())])


def make(
    family: str,
    rng: Rng,
    d: int,
    k: int,
    n: int = 4000,
    noise: float = 0.0,
    outliers: bool = False,
    offsets: bool = False,
    positive: bool = False,
) -> Mixture:
    """Draw sources of unit variance and mix them; noise in standard deviations of a mean channel.

    The matrix has both signs, unless `positive`.
    """
    S = (FAMILIES | HARD)[family](rng, n, d)
    S = S / S.std(axis=0)
    n, d = S.shape
    A = mixing(k, d, condition=float(10 ** rng.uniform(0.3, 1.3)), random_state=rng)
    if positive:
        A = rng.random((k, d))
    X = S @ A.T
    spread = np.sqrt(np.mean(X.var(axis=0)))
    X = X + noise * spread * rng.standard_normal(X.shape)
    good = rng.random(n) >= (OUTLIERS if outliers else 0.0)
    hit = ~good
    X[hit] += OUTLIER_SIZE * X.std(axis=0) * rng.standard_normal((hit.sum(), k))
    offset = OFFSET * X[good].std(axis=0) * rng.choice([-1.0, 1.0], k) * offsets
    facts = {
        "r": float(np.max(np.abs(np.corrcoef(S.T) - np.eye(d)))),
        "condition": float(np.linalg.cond(A)),
    }
    return Mixture(X + offset, S, A, offset, good, facts)


def jump(rng: Rng, d: int, k: int, before: int, after: int, family: str = "sparse") -> Mixture:
    """A stream whose mixture changes once, to another of about the same size; A is the second."""
    S = FAMILIES[family](rng, before + after, d)
    S = S / S.std(axis=0)
    A, B = (
        mixing(k, d, condition=float(10 ** rng.uniform(0.3, 1)), random_state=rng) for _ in "AB"
    )
    X = np.vstack([S[:before] @ A.T, S[before:] @ B.T])
    return Mixture(X, S, B, np.zeros(k), np.ones(len(S), bool), {"at": before})


# ---- judging


def oracle(mixture: Mixture) -> Array:
    """Least squares with the true matrix and offset."""
    return np.asarray((mixture.X - mixture.offset) @ np.linalg.pinv(mixture.A).T)


def oracle_nnls(mixture: Mixture) -> Array:
    """Nonnegative least squares with them, sample by sample."""
    return np.array([nnls(mixture.A, x)[0] for x in mixture.X - mixture.offset])


def figures(mixture: Mixture, Y: Array) -> dict[str, float]:
    """Mean and worst correlation, and squared error per variance, at best order and scale.

    Of the samples that no outlier has hit. Outputs that are not finite count as if they were zero.
    """
    S, Y = mixture.S[mixture.good], np.nan_to_num(Y[mixture.good], posinf=0, neginf=0)
    match = match_sources(S, Y, scale=True)
    return {
        "mean": float(match.correlation.mean()),
        "worst": float(match.correlation.min()),
        "nmse": float(np.mean(match.errors / S.var(axis=0))),
    }


def shortfall(X: Array, S: Array, Y: Array) -> float:
    """By how much a correlation with a source is below that of the best linear unmixing, at worst.

    Each output is judged by the source that it resembles; with more outputs than sources one is no
    source at all, and falls short by 1.
    """
    if Y.shape[1] > S.shape[1]:
        return 1.0
    Y = np.nan_to_num(Y, posinf=0, neginf=0)
    match = match_sources(Y, S, scale=True)
    best = X @ np.linalg.lstsq(X, S, rcond=None)[0]
    possible = match_sources(S, best, scale=True).correlation[match.permutation]
    return float(np.max(possible - match.correlation))
