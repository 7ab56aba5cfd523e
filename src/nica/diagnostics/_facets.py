"""The verdict on solutions of FacetNICA, and whether it would do where NICA has failed.

Uncorrelated outputs, the second opinion and the rest of what NICA is judged by are no virtues here. A
facet is believed if all fits find it: from other starts, in each half of the samples, with outliers as
they are, and under another likelihood; and if samples populate it. Limits were set on problems of
``benchmarks/facet_problems.py`` with seeds of their own, and frozen.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nica._signals import DOUBTFUL, FAILED, OK, Limit, Signal
from nica.batch import ArraySource
from nica.diagnostics._fits import negative
from nica.diagnostics.diagnosis import Source
from nica.facets import FacetTrust, solve, trust
from nica.facets._compare import agreement
from nica.networks._settings import cores

if TYPE_CHECKING:
    from nica.networks import NICA, FacetNICA

Array = NDArray[np.float64]

LOOKED_AT = 4000  #: samples on which it is tried whether FacetNICA would do
CORRELATED = 0.2  #: of sources that NICA takes harm from
NEVER = float("inf")
POPULATE = (
    "choose samples in which sources are absent, average the noise down, or give more channels"
)
LIMITS = {
    "rest": Limit(
        0.99, 0.7,
        "the likelihood leads away from source {source} of this model, to r = {value:.2f}",
        "the model was fitted to other samples, or has not settled",
        "fit it to these samples",
    ),
    "restarts": Limit(
        0.97, 0.7,
        "fits from other starts agree on source {source} with r = {value:.2f}",
        "a facet that hardly any samples populate, too many sources asked for, or too few samples",
        "raise n_starts, lower n_components, or give more samples",
    ),
    "random halves": Limit(
        0.97, 0.7,
        "fits on every second sample agree on source {source} with r = {value:.2f}",
        "too few samples near its facet",
        "give more samples, or lower n_components",
    ),
    "halves": Limit(
        0.95, 0.7,
        "fits on the first and on the second half agree on source {source} with r = {value:.2f}",
        "the mixture drifts or jumps, or the samples are too few",
        "cut the record where the mixture changes, or follow it with half_life; give more samples",
    ),
    "far samples": Limit(
        0.9, -NEVER,
        "with far samples as long as they are, source {source} comes out otherwise: r = {value:.2f}",
        "outliers",
        "find out what the far samples are, and leave them out",
    ),
    "bulk": Limit(
        0.97, -NEVER,
        "if sources were seldom near zero, source {source} would be another: r = {value:.2f}",
        "a facet that hardly any samples populate",
        POPULATE,
    ),
    "noise": Limit(
        0.28, NEVER,
        "the noise of source {source} is {value:.2f} of what it has when it is active",
        "heavy noise, or a source that hardly ever comes near zero",
        POPULATE,
    ),
    "unexplained": Limit(
        0.1, NEVER,
        "the noise of source {source}, in what it has when it is active, is {value:.2f} beyond what "
        "the other channels explain",
        "a source that hardly ever comes near zero, or only together with others; or heavy noise, with "
        "as many channels as sources",
        POPULATE,
    ),
    "facet": Limit(
        1.0, 0.5,
        "near the facet of source {source} lie {value:.1f} times the samples that it takes to place it",
        "a source that hardly ever comes near zero: it is not identified",
        POPULATE,
    ),
}  # fmt: skip


def judge_facets(
    X: Array, model: FacetNICA | NICA, seed: int
) -> tuple[tuple[Signal, ...], tuple[Source, ...], Array]:
    """Signals, sources and linear outputs of unit variance."""
    d = len(model.unmixing_)
    u = X @ model.unmixing_.T + getattr(model, "intercept_", 0.0)
    u /= np.maximum(u.std(axis=0), 1e-300)
    solution = solve(
        ArraySource(X, 1), d, offset=getattr(model, "offset", False),
        sum_to_one=getattr(model, "sum_to_one", False),
        start=model.unmixing_, seed=seed,
    )  # fmt: skip
    there = X @ solution.unmixing.T + solution.intercept
    said = trust(X, solution, seed=seed, threads=cores())
    rest = agreement(np.maximum(u, 0), np.maximum(there, 0))
    return *judged(said, rest, u), u


def judged(
    said: FacetTrust, rest: Array, u: Array
) -> tuple[tuple[Signal, ...], tuple[Source, ...]]:
    """Compare all measures with their limits."""
    d = len(rest)
    restarts, even, odd, first, second, raw, bulk = said.fits
    measures = {
        "rest": rest, "restarts": restarts, "random halves": np.minimum(even, odd),
        "halves": np.minimum(first, second), "far samples": raw, "bulk": bulk,
        "noise": said.noise, "unexplained": said.unexplained, "facet": said.populated,
    }  # fmt: skip
    order = (OK, DOUBTFUL, FAILED)
    verdicts = np.zeros(d, dtype=int)
    signals = []
    for name, values in measures.items():
        limit = LIMITS[name]
        told = [limit.compare(float(value)) for value in values]
        verdicts = np.maximum(verdicts, [order.index(one) for one in told])
        worst = int(np.argmin(values) if limit.at_least else np.argmax(values))
        signals.append(limit.signal(name, float(values[worst]), told[worst], worst))
    below, lowest = negative(u), np.quantile(u, 0.01, axis=0)
    sources = tuple(
        Source(
            i, order[verdicts[i]], float(restarts[i]), float(measures["halves"][i]),
            float(measures["random halves"][i]), float(1 - bulk[i]), float(below[i]),
            float(lowest[i]), 0.0,
        )
        for i in range(d)
    )  # fmt: skip
    return tuple(signals), sources


def doubts_of_facets(signals: tuple[Signal, ...]) -> dict[str, str]:
    """Assumptions that the signals speak against, with the evidence."""
    bad = {signal.name: signal.finding for signal in signals if signal.verdict != OK}
    kinds = {
        "sources that come near zero": ("facet", "bulk", "restarts", "unexplained"),
        "little noise": ("noise", "unexplained"),
        "enough samples": ("random halves",),
        "a mixture that does not change": ("halves",),
        "few outliers": ("far samples",),
    }
    found = {kind: [bad[name] for name in names if name in bad] for kind, names in kinds.items()}
    return {kind: findings[0] for kind, findings in found.items() if findings}


def would_do(X: Array, d: int, seed: int) -> str | None:
    """Why FacetNICA would be trusted with these samples, where NICA is not; None if it would not."""
    some = X[:: -(-len(X) // LOOKED_AT)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = solve(ArraySource(some, 1), d, seed=seed)
            said = trust(some, solution, seed=seed, threads=cores())
    except (ValueError, np.linalg.LinAlgError):
        return None
    Y = np.maximum(some @ solution.unmixing.T + solution.intercept, 0)
    signals, _ = judged(said, np.ones(d), Y)
    if d < 2 or any(signal.verdict != OK for signal in signals):
        return None
    r = np.corrcoef(Y.T) - np.eye(d)
    i, j = np.unravel_index(np.argmax(np.abs(r)), r.shape)
    if abs(r[i, j]) < CORRELATED:
        return None
    return (
        f"sources look correlated (two of them with r = {r[i, j]:.2f}), and nica.FacetNICA (--facets), "
        "which does not mind, finds all of them in every half of the samples: use it instead"
    )


def is_facets(model: Any) -> bool:
    """Whether a model is judged by its facets."""
    from nica.networks import FacetNICA

    return isinstance(model, FacetNICA) or getattr(model, "refine", None) == "facets"
