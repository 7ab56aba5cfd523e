"""From samples to the facets of their cone: map, starts, sharpening, rest on all samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nica._config import kernels
from nica.batch.sources import Source
from nica.equations.facets import BLUR_LEAST
from nica.facets._polish import polish
from nica.facets._prepare import Map, prepare
from nica.facets._search import Found, outputs, search, with_bulk

Array = NDArray[np.float64]

SELECTED = 20_000  #: samples on which starts search; if there are no more, no pass follows
BLURRED, CLEAR = (
    0.2,
    0.3,
)  #: noise per tail of facets that a bulk may replace, and of a bulk that may
UNCORRELATED = 0.15  #: its outputs are at most so correlated
NEAR, POPULATED = 0.02, 3  #: of mean output: near a facet; times d samples there populate it


@dataclass(frozen=True)
class FacetSolution:
    """An unmixing of samples, y = unmixing x + intercept, each output one on average."""

    unmixing: Array  #: (d, k)
    mixing: Array  #: (k, d)
    intercept: Array  #: (d,), zeros unless there are offsets or sources sum to one
    sigma: Array  #: noise of each output
    mu: Array  #: mean of its tail
    spike: Array  #: share of silence
    outlier: Array  #: share of outliers
    bulk: Array  #: share of the bulk; zero unless sources hardly come near zero
    populated: Array  #: samples near each facet, as a part of what it takes to place it
    method: str  #: "facets" or "bulk"
    loss: float
    losses: Array  #: of each start
    n_samples: int
    n_bad: int
    rank: int
    n_passes: int
    change: float
    map: Map  #: to the reduced samples
    found: Found  #: and what was found there
    spread: Array  #: standard deviation of each output
    offset: bool = False
    sum_to_one: bool = False

    @property
    def expected_noise(self) -> Array:
        """Noise of each output by what is seen of it outside the sources' space; NaN if k = d."""
        d, k = self.unmixing.shape
        if k <= d:
            return np.full(d, np.nan)
        gain = self.map.gain
        inverse = np.divide(1.0, gain, out=np.zeros_like(gain), where=gain > 0)
        return np.asarray(np.linalg.norm(self.unmixing * inverse, axis=1) * self.map.residual)

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Whether samples populate the facet of each row, enough of them and near enough to place it."""
        return np.asarray((self.populated >= 1) & (self.sigma < 0.99 * BLUR_LEAST))


def solve(
    source: Source, d: int, *,
    offset: bool = False, sum_to_one: bool = False, n_starts: int = 3, tol: float = 1e-6,
    max_passes: int = 30, seed: int = 0, threads: int = 1, winsorise: bool = True, bulk: bool = True,
    start: Array | None = None, report: Callable[[str], None] = lambda text: None,
) -> FacetSolution:  # fmt: skip
    """Find the facets of the cone of all samples of a source.

    Parameters
    ----------
    source : Source
    d : int
        Sources.
    offset : bool
        Whether channels may have constant offsets: then each row has an intercept.
    sum_to_one : bool
        Whether the sources of each sample are known to sum to one.
    n_starts, tol, max_passes, seed, threads : int, float
        Rest is a step that changes no output by more than ``tol`` of its mean.
    winsorise : bool
        Whether samples far outside are shortened.
    bulk : bool
        Whether sources that hardly come near zero get a bulk, where that pays.
    start : array (d, k), optional
        An unmixing matrix to start from, instead of those of the solver.
    report : callable
        Gets a line of progress now and then.
    """
    if offset and sum_to_one:
        raise ValueError(
            "offset=True and sum_to_one=True: an offset cannot be told from such sources"
        )
    with threadpool_limits(1, user_api="blas"):
        R = source.sample(SELECTED)
        distinct = len(np.unique(R, axis=0))
        if distinct <= d:
            raise ValueError(
                f"X has {distinct} distinct {'sample' if distinct == 1 else 'samples'} "
                f"(n_samples={len(R)}): give at least {d + 1} for n_components={d}"
            )
        map, total = prepare(
            source, R, d, offset=offset, sum_to_one=sum_to_one, winsorise=winsorise
        )
        Z = map(R)
        found, losses = search(
            Z, d, n_starts=n_starts, seed=seed, threads=threads, offset=offset, flat=sum_to_one,
            start=None if start is None else start @ map.back,
        )  # fmt: skip
        report(
            f"{len(losses)} starts on {len(R)} samples, losses "
            + ", ".join(f"{loss:.4g}" for loss in losses)
        )
        method = "facets"
        if bulk:
            other = with_bulk(np.column_stack([Z, np.ones(len(Z))]) if offset else Z, found)
            if bulk_is_better(Z, found, other):
                found, method = other, "bulk"
                report("some sources hardly come near zero: the solution with a bulk is taken")
        passes, moved = 0, 0.0
        if total.n_samples > len(R):
            found, passes, moved = polish(
                source, map, found, kernels=kernels(), tol=tol, max_passes=max_passes, report=report
            )
        Y = outputs(Z, found)
    B, rows = found.B[:, :d], found.rows
    reached = np.maximum(3 * rows[:, 0], NEAR)
    return FacetSolution(
        unmixing=B @ map.F, mixing=map.back @ np.linalg.inv(B),
        intercept=B @ map.c + (found.B[:, d] if offset else 0.0),
        sigma=rows[:, 0], mu=rows[:, 1], spike=rows[:, 2], outlier=rows[:, 3], bulk=rows[:, 4],
        populated=np.sum(reached >= Y, axis=0) / (POPULATED * d), method=method,
        loss=found.loss, losses=losses, n_samples=total.n_samples, n_bad=total.n_bad, rank=map.rank,
        n_passes=passes, change=moved, map=map, found=found, spread=Y.std(axis=0), offset=offset,
        sum_to_one=sum_to_one,
    )  # fmt: skip


def bulk_is_better(Z: Array, found: Found, other: Found) -> bool:
    """Whether facets are hardly populated, while a bulk gives clear and uncorrelated outputs."""
    if not np.isfinite(other.loss) or noise(found) < BLURRED or noise(other) > CLEAR:
        return False
    among = np.corrcoef(np.maximum(outputs(Z, other), 0).T) - np.eye(Z.shape[1])
    return bool(np.max(np.abs(among)) < UNCORRELATED)


def noise(found: Found) -> float:
    """The largest σ/μ."""
    return float(np.max(found.rows[:, 0] / found.rows[:, 1]))
