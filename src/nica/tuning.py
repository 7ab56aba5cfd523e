"""`tune`: rates and half-life without true sources, by a score on samples not yet learned.

Each candidate separates the record as a stream. Before it learns from a chunk, its weights of that moment
are judged on it: outputs that are separated are independent of each other and not negative. No weight has
seen the samples that it is judged on, so that candidates that learn fast gain nothing by fitting noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from threadpoolctl import threadpool_limits

from nica.diagnostics._intake import take
from nica.drift import Drift, estimate_drift, number_of_sources
from nica.networks import NICA
from nica.networks._settings import cores
from nica.rates import Time

Array = NDArray[np.float64]

CHUNKS = 100  #: on which candidates are judged, where the record is long enough
LEAST = 100  #: samples of such a chunk
SURE = 2.0  #: standard errors by which a candidate must be better than the defaults
WORTH = 0.02  #: part of the defaults' score by which it must be


@dataclass(frozen=True)
class Tuning:
    """What `tune` found.

    Attributes
    ----------
    parameters : dict
        Parameters to set, for example ``half_life``; empty if the defaults are best.
    gain, error : float
        By how much the score of the defaults falls with them (a part of it), and its standard error.
    candidates : tuple of (dict, float, float, float)
        All that was tried: parameters, score (smaller is better), gain, its standard error.
    drift : Drift
        What `nica.estimate_drift` says of the record.
    reason : str
        All that in a sentence.
    """

    parameters: dict[str, Any]
    gain: float
    error: float
    candidates: tuple[tuple[dict[str, Any], float, float, float], ...]
    drift: Drift
    reason: str

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
        """
        rows = [
            {"parameters": _plain(p), "score": s, "gain": g, "error": e}
            for p, s, g, e in self.candidates
        ]
        return {
            "parameters": _plain(self.parameters), "gain": self.gain, "error": self.error,
            "candidates": rows, "reason": self.reason, "drift": self.drift.reason,
        }  # fmt: skip


def tune(
    X: Any,
    n_components: int | str | None = None,
    *,
    estimator: Any = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Tuning:
    r"""Choose rates and half-life for a record, without knowing its sources.

    The score of a chunk, for outputs u of its linear unmixing with unit variance, is

    .. math:: \sum_{i<j} r(u_i, u_j)^2 + r(u_i^2, u_j)^2 + r(u_i, u_j^2)^2
        + \sum_i \langle \min(u_i, 0)^2 \rangle .

    Whatever is not better than the defaults by two standard errors is not taken: often that is all.

    Parameters
    ----------
    X : array-like (n_samples, n_channels)
        Finite samples in the order in which they were taken.
    n_components : int, "auto" or None
        Number of sources; None takes the number of channels, "auto" what `nica.estimate_n_components`
        says.
    estimator : NICA, default=None
        What is tuned; None takes ``NICA(n_components)``.
    grid : dict of lists, default=None
        Values to try; None tries what the record's length and its drift suggest.
    n_jobs : int or None
        Number of threads; None takes all cores.
    random_state : int, default=0
        Seed of the networks.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> nica.tune(mixture.X).parameters
    {}
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    base = NICA() if estimator is None else clone(estimator)
    drift = estimate_drift(X, n_components or base.n_components, random_state=random_state)
    size = max(LEAST, len(X) // CHUNKS)
    if len(X) < 6 * size:
        why = f"{len(X)} samples are too few to tune: give at least {6 * LEAST}"
        return Tuning({}, 0.0, 0.0, (), drift, why)
    if obstacles := take(X).obstacles:
        return Tuning({}, 0.0, 0.0, (), drift, f"nothing can be tuned: {obstacles[0]}")
    number = number_of_sources(X, n_components or base.n_components)
    base.set_params(random_state=random_state, n_components=number)
    tried = [{}, *(_suggestions(drift, len(X)) if grid is None else ParameterGrid(dict(grid)))]
    with (
        warnings.catch_warnings(), threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(cores(n_jobs)) as pool,
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        scores = list(pool.map(lambda p: _judge(clone(base).set_params(**p), X, size), tried))
    first = scores[0]
    level = max(float(np.mean(first)), 1e-300)
    rows = []
    for parameters, score in zip(tried, scores, strict=True):
        better = first - score
        error = float(np.std(better, ddof=1)) / np.sqrt(len(better))
        gain = float(np.mean(better))
        rows.append((dict(parameters), float(np.mean(score)), gain / level, error / level))
    best = max(rows, key=lambda row: row[2])
    if not (best[2] > SURE * best[3] and best[2] > WORTH):
        closest = max(rows[1:], key=lambda row: row[2], default=None)
        why = f"keep the defaults: none of {len(rows) - 1} candidates is surely better"
        if closest is not None:
            why += f" (the best by {closest[2]:.1%} ± {closest[3]:.1%} of the score)"
        return Tuning({}, 0.0, 0.0, tuple(rows), drift, why)
    chosen = ", ".join(f"{name}={_short(value)}" for name, value in best[0].items())
    why = f"set {chosen}: the score is better by {best[2]:.1%} ± {best[3]:.1%}"
    return Tuning(best[0], best[2], best[3], tuple(rows), drift, why)


def _suggestions(drift: Drift, n: int) -> list[dict[str, Any]]:
    """Half-lives around the proposal if there is a drift; other rates where the record is short."""
    found: list[dict[str, Any]] = []
    if drift.half_life is not None:
        found += [{"half_life": float(round(drift.half_life * f))} for f in (0.5, 1.0, 2.0)]
    elif n >= 4000:
        found += [{"half_life": float(n // part)} for part in (4, 16)]
    if n <= 5000:
        found += [{"whitening_rate": Time(0, b)} for b in (1.2, 1.5)]
    return found


def _judge(network: Any, X: Array, size: int) -> Array:
    """Score of each chunk, by weights that have not seen it."""
    scores, start = [], max(size, len(X) // 10)
    network.partial_fit(X[:start])
    for first in range(start, len(X) - size + 1, size):
        part = X[first : first + size]
        scores.append(_score(part @ network.unmixing_.T))
        network.partial_fit(part)
    return np.array(scores)


def _score(u: Array) -> float:
    """Dependence and negative energy of outputs."""
    u = u / np.maximum(np.std(u, axis=0), 1e-300)
    n = len(u)
    z, squares = _standard(u), _standard(u**2)
    R, Q = z.T @ z / n, squares.T @ z / n
    pairs = np.sum(np.triu(R, 1) ** 2) + np.sum((Q - np.diag(np.diag(Q))) ** 2)
    return float(pairs + np.sum(np.mean(np.minimum(u, 0.0) ** 2, axis=0)))


def _standard(u: Array) -> Array:
    standard: Array = (u - u.mean(axis=0)) / np.maximum(np.std(u, axis=0), 1e-300)
    return standard


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if isinstance(value, (int, float, str, type(None))) else str(value)
        for name, value in parameters.items()
    }
