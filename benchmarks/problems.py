"""Separation problems with a known truth: the good ones, and each way in which one goes bad.

A kind is a function that takes a random generator and gives a `Problem`. How bad a problem is it draws
too, so that most kinds hold harmless cases, hopeless ones and all between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri

from nica.datasets import mixing

Array = np.ndarray
Rng = np.random.Generator


@dataclass
class Problem:
    """Samples, the sources in them, and the number of components that the user asks for."""

    X: Array
    S: Array
    n_components: int
    facts: dict[str, float] = field(default_factory=dict)


# ---- sources: quantile functions, so that any of them can be correlated or drawn over time


def _sparse(values: Callable[[Array], Array], zeros: float) -> Callable[[Array], Array]:
    return lambda p: np.where(p < zeros, 0.0, values(np.maximum(p - zeros, 0) / (1 - zeros)))


def _exponential(p: Array) -> Array:
    return -np.log1p(-p)


FAMILIES: dict[str, Callable[[Rng], Callable[[Array], Array]]] = {
    "sparse uniform": lambda rng: _sparse(lambda p: p, rng.uniform(0.2, 0.8)),
    "sparse exponential": lambda rng: _sparse(_exponential, rng.uniform(0.2, 0.8)),
    "exponential": lambda rng: _exponential,
    "uniform": lambda rng: lambda p: p,
    "half normal": lambda rng: lambda p: ndtri(0.5 + p / 2),
    "power": lambda rng: (lambda e: lambda p: p**e)(rng.uniform(1.0, 3.0)),
}


def _levels(rng: Rng, n: int, d: int) -> Array:
    return rng.random((n, d))


def _values(rng: Rng, p: Array, family: str | None = None) -> Array:
    """Sources with these quantiles, of unit variance: each of a family of its own, or all of one."""
    p = np.clip(p, 0.0, 1 - 1e-12)
    names = list(FAMILIES)
    one = family or (names[rng.integers(len(names))] if rng.random() < 0.7 else None)
    S = np.empty_like(p)
    for i in range(p.shape[1]):
        quantile = FAMILIES[one or names[rng.integers(len(names))]](rng)
        grid = quantile((np.arange(4000) + 0.5) / 4000)
        S[:, i] = quantile(p[:, i]) / grid.std()
    return S


# ---- mixtures


def _size(rng: Rng, least: int = 600, most: int = 30_000) -> int:
    return int(np.exp(rng.uniform(np.log(least), np.log(most))))


def _sources(rng: Rng, most: int = 8) -> int:
    return int(rng.integers(2, most + 1))


def _channels(rng: Rng, d: int) -> int:
    return d if rng.random() < 0.5 else int(rng.integers(d + 1, 3 * d + 2))


def _matrix(rng: Rng, k: int, d: int) -> Array:
    if rng.random() < 0.3:  # as it is where nothing subtracts
        return rng.random((k, d))
    return mixing(k, d, condition=float(10 ** rng.uniform(0, 1.3)), random_state=rng)


def _mix(rng: Rng, S: Array, A: Array, noise: float | None = None) -> Array:
    """Mixture with a little noise, none in half of the cases unless told."""
    X = S @ A.T
    if noise is None:
        noise = 0.0 if rng.random() < 0.5 else 10 ** rng.uniform(-3, -1.5)
    if noise:
        X = X + noise * np.sqrt(np.mean(X.var(axis=0))) * rng.standard_normal(X.shape)
    return X


def _usual(rng: Rng, n: int | None = None, family: str | None = None) -> tuple[Array, Array, Array]:
    d = _sources(rng)
    S = _values(rng, _levels(rng, n or _size(rng), d), family)
    A = _matrix(rng, _channels(rng, d), d)
    return S, A, _mix(rng, S, A)


def good(rng: Rng) -> Problem:
    S, _, X = _usual(rng)
    return Problem(X, S, S.shape[1])


def _good_family(family: str) -> Callable[[Rng], Problem]:
    def kind(rng: Rng) -> Problem:
        S, _, X = _usual(rng, family=family)
        return Problem(X, S, S.shape[1])

    return kind


def few_samples(rng: Rng) -> Problem:
    d = _sources(rng)
    n = int(d * 10 ** rng.uniform(0.8, 2.0))
    S = _values(rng, _levels(rng, n, d))
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A), S, d, {"n": n})


def poor_grounding(rng: Rng) -> Problem:
    """Some or all sources are hardly ever small: gamma, or a normal far from zero."""
    d = _sources(rng)
    n = _size(rng)
    S = _values(rng, _levels(rng, n, d))
    count = int(rng.integers(1, d + 1))
    shape = float(rng.uniform(1.5, 10))
    for i in range(count):
        if rng.random() < 0.5:
            S[:, i] = rng.gamma(shape, size=n) / np.sqrt(shape)
        else:
            S[:, i] = np.abs(rng.normal(rng.uniform(1, 5), 1.0, n))
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A), S, d, {"poor": count})


def shifted(rng: Rng) -> Problem:
    """Sources that never reach zero: a constant is added to one or to all."""
    S, A, _ = _usual(rng)
    d = S.shape[1]
    shift = 10 ** rng.uniform(-1.3, 0.5) * (
        np.ones(d) if rng.random() < 0.5 else np.eye(d)[rng.integers(d)]
    )
    S = S + shift
    return Problem(_mix(rng, S, A), S, d, {"shift": float(shift.max())})


def correlated(rng: Rng) -> Problem:
    """Sources that move together: a Gaussian copula over all or over a pair, r from .3 to .95."""
    d = _sources(rng)
    r = float(rng.uniform(0.3, 0.95))
    C = np.eye(d)
    members = np.arange(d) if rng.random() < 0.5 else rng.permutation(d)[:2]
    C[np.ix_(members, members)] = r
    np.fill_diagonal(C, 1.0)
    G = rng.standard_normal((_size(rng), d)) @ np.linalg.cholesky(C).T
    S = _values(rng, ndtr(G))
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A), S, d, {"r": r})


def sum_to_one(rng: Rng) -> Problem:
    """Shares of a whole, seen with a little noise."""
    d = int(rng.integers(3, 9))
    S = rng.dirichlet(np.full(d, 10 ** rng.uniform(-0.7, 0.5)), _size(rng))
    S = S / S.std(axis=0)
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A, 10 ** rng.uniform(-4, -0.7)), S, d)


def heavy_noise(rng: Rng) -> Problem:
    S, A, _ = _usual(rng)
    X = S @ A.T
    level = 10 ** rng.uniform(-1.0, 0.2)
    spread = np.ones(X.shape[1]) if rng.random() < 0.5 else rng.uniform(0.2, 2, X.shape[1])
    X = X + level * spread * np.sqrt(np.mean(X.var(axis=0))) * rng.standard_normal(X.shape)
    return Problem(X, S, S.shape[1], {"noise": level})


def offsets(rng: Rng) -> Problem:
    """Each channel adds a constant of its own."""
    S, _, X = _usual(rng)
    size = 10 ** rng.uniform(-1.3, 0.5)
    X = X + size * X.std(axis=0) * rng.standard_normal(X.shape[1])
    return Problem(X, S, S.shape[1], {"offset": size})


def too_many(rng: Rng) -> Problem:
    """More components are asked for than there are sources; the channels are noisy."""
    d = _sources(rng, 6)
    S = _values(rng, _levels(rng, _size(rng), d))
    extra = int(rng.integers(1, 4))
    A = _matrix(rng, d + extra + int(rng.integers(0, d + 2)), d)
    return Problem(_mix(rng, S, A, 10 ** rng.uniform(-3, -0.3)), S, d + extra, {"extra": extra})


def too_few(rng: Rng) -> Problem:
    """Fewer components are asked for than there are sources, or fewer channels than sources."""
    d = _sources(rng)
    d = max(d, 3)
    S = _values(rng, _levels(rng, _size(rng), d))
    missing = int(rng.integers(1, d - 1))
    k = d - missing if rng.random() < 0.5 else _channels(rng, d)
    A = rng.standard_normal((k, d)) if k < d else _matrix(rng, k, d)
    return Problem(_mix(rng, S, A), S, d - missing, {"missing": missing})


def slow_drift(rng: Rng) -> Problem:
    S, A, _ = _usual(rng, _size(rng, 2000))
    n, d = S.shape
    angle = 10 ** rng.uniform(-1.3, 0.5)
    X = np.empty((n, len(A)))
    skew = rng.standard_normal((d, d))
    skew = skew - skew.T
    values, vectors = np.linalg.eig(angle * skew / np.linalg.norm(skew, 2))
    for rows in np.array_split(np.arange(n), 100):
        turn = (vectors * np.exp(values * rows[0] / n)) @ np.linalg.inv(vectors)
        X[rows] = S[rows] @ (A @ turn.real).T
    return Problem(X, S, d, {"angle": angle})


def jump(rng: Rng) -> Problem:
    S, A, _ = _usual(rng, _size(rng, 2000))
    n = len(S)
    at = int(n * rng.uniform(0.02, 0.98))
    size = 10 ** rng.uniform(-1.5, 0.3) * np.linalg.norm(A) / np.sqrt(A.size)
    B = A + size * rng.standard_normal(A.shape)
    X = np.vstack([S[:at] @ A.T, S[at:] @ B.T])
    return Problem(X, S, S.shape[1], {"at": at / n})


def heavy_tails(rng: Rng) -> Problem:
    """Sources with rare large values: lognormal or Pareto, with zeros or without."""
    d = _sources(rng)
    n = _size(rng)
    if rng.random() < 0.5:
        S = rng.lognormal(0.0, rng.uniform(0.8, 2.0), (n, d))
    else:
        S = rng.pareto(rng.uniform(2.1, 5.0), (n, d))
    S = np.where(rng.random((n, d)) < rng.choice([0.0, 0.5]), 0.0, S)
    S = S / S.std(axis=0)
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A), S, d)


def clipped(rng: Rng) -> Problem:
    """Sensors that end at a level, on either side."""
    S, _, X = _usual(rng)
    share = 10 ** rng.uniform(-3.5, -0.5)
    X = np.clip(X, np.quantile(X, share / 2, axis=0), np.quantile(X, 1 - share / 2, axis=0))
    return Problem(X, S, S.shape[1], {"clipped": share})


def slow_sources(rng: Rng) -> Problem:
    """Sources that change slowly: far fewer independent samples than rows."""
    d = _sources(rng)
    n = _size(rng, 2000)
    length = 10 ** rng.uniform(0.3, np.log10(n) - 1.0)
    pole = np.exp(-1 / length)
    G = lfilter(
        [np.sqrt(1 - pole**2)], [1, -pole], rng.standard_normal((n + int(5 * length), d)), axis=0
    )
    S = _values(rng, ndtr(G[-n:]))
    if np.any(np.ptp(S, axis=0) == 0):  # a source that never shows in this record
        return slow_sources(rng)
    A = _matrix(rng, _channels(rng, d), d)
    return Problem(_mix(rng, S, A), S, d, {"length": length})


# ---- kinds that the limits were never looked at with: see docs/trust.md


def outliers(rng: Rng) -> Problem:
    S, _, X = _usual(rng)
    hit = rng.random(len(X)) < 10 ** rng.uniform(-4, -1.3)
    size = 10 ** rng.uniform(0.5, 2.5)
    X = X + hit[:, None] * size * X.std(axis=0) * rng.standard_normal(X.shape)
    return Problem(X, S, S.shape[1])


def echoes(rng: Rng) -> Problem:
    """The mixture holds the past of the sources too."""
    S, A, X = _usual(rng)
    past = np.vstack([np.zeros((3, S.shape[1])), S[:-3]])
    X = X + 10 ** rng.uniform(-1.5, 0) * past @ mixing(len(A), S.shape[1], random_state=rng).T
    return Problem(X, S, S.shape[1])


def bent(rng: Rng) -> Problem:
    """Sensors that saturate gently."""
    S, _, X = _usual(rng)
    strength = 10 ** rng.uniform(-1.5, 0.5)
    scale = X.std(axis=0) / strength
    return Problem(scale * np.tanh(X / scale), S, S.shape[1])


def bursts(rng: Rng) -> Problem:
    """All sources grow and shrink together over time, though each is independent of the rest."""
    S, A, _ = _usual(rng, _size(rng, 2000))
    length = 10 ** rng.uniform(1, 3)
    pole = np.exp(-1 / length)
    g = lfilter([np.sqrt(1 - pole**2)], [1, -pole], rng.standard_normal(len(S) + int(5 * length)))
    S = S * np.exp(rng.uniform(0.1, 1.0) * g[-len(S) :])[:, None]
    S = S / S.std(axis=0)
    return Problem(_mix(rng, S, A), S, S.shape[1])


KINDS: dict[str, Callable[[Rng], Problem]] = {
    "good": good,
    **{f"good, {family}": _good_family(family) for family in list(FAMILIES)[:5]},
    "few samples": few_samples,
    "poor grounding": poor_grounding,
    "shifted": shifted,
    "correlated": correlated,
    "sum to one": sum_to_one,
    "heavy noise": heavy_noise,
    "offsets": offsets,
    "n too large": too_many,
    "n too small": too_few,
    "slow drift": slow_drift,
    "jump": jump,
    "heavy tails": heavy_tails,
    "clipped": clipped,
    "slow sources": slow_sources,
}
UNSEEN: dict[str, Callable[[Rng], Problem]] = {
    "outliers": outliers,
    "echoes": echoes,
    "bent": bent,
    "bursts": bursts,
}


def truth(S: Array, Y: Array) -> float:
    """Worst squared error per variance of a source, after best scale and order.

    With too few outputs each of them is judged by the source that it is matched with; with too many, one
    is no source at all, and the error is 1.
    """
    if S.shape[1] < Y.shape[1]:
        return 1.0
    cross, power = S.T @ Y / len(S), np.mean(Y**2, axis=0)
    gain = cross / np.where(power > 0, power, 1.0)
    errors = (np.mean(S**2, axis=0)[:, None] - gain * cross) / S.var(axis=0)[:, None]
    rows, columns = linear_sum_assignment(errors)
    return float(np.max(errors[rows, columns]))


def rank_problem(rng: Rng) -> tuple[Array, int]:
    """More channels than sources: noise of 0 to .5 of the channels, equal or not; unequal units."""
    d = int(rng.integers(2, 11))
    k = int(rng.integers(d + 1, 3 * d + 3))
    S = _values(rng, _levels(rng, _size(rng, 500, 20_000), d))
    X = S @ _matrix(rng, k, d).T
    draw = rng.random()
    level = (
        0.0 if draw < 0.2 else rng.uniform(0, 0.5) if draw < 0.6 else 10 ** rng.uniform(-3, -0.3)
    )
    spread = np.full(k, np.sqrt(np.mean(X.var(axis=0))))
    kind = rng.random()
    if kind < 1 / 3:
        spread = X.std(axis=0)
    elif kind < 2 / 3:
        spread = spread * rng.uniform(0.2, 1.8, k)
    X = X + level * spread * rng.standard_normal(X.shape)
    if rng.random() < 0.25:
        X = X * 10 ** rng.uniform(-1, 1, k)
    return X, d
