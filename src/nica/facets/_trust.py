"""Whether facets can be trusted: whether parts of the samples, and other assumptions, find them too."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nica.batch.sources import ArraySource
from nica.facets._compare import agreement
from nica.facets._prepare import lengths, prepare
from nica.facets._search import Found, outputs, search, with_bulk
from nica.facets._solve import FacetSolution

Array = NDArray[np.float64]

AGREE = 0.97  #: between fits that find the same
EXPLAINED = 1.5  #: an output's noise may be so many times what is seen of it in other channels
FEW = 10  #: samples per source that a half needs


@dataclass(frozen=True)
class FacetTrust:
    """Whether a solution can be trusted, for each output.

    Attributes
    ----------
    fits : array (7, d)
        Correlation of each output with its match in other fits: from other starts; of every second
        sample, and of the others; of the first half, and of the second; of all with nothing
        shortened; and with a bulk in each row.
    noise : array (d,)
        Noise of an output, in units of the mean of its tail (ρ).
    expected : array (d,)
        What that would be by the noise in the channels beyond the sources' space; NaN if there are none.
    outliers : array (d,)
        Share of samples that an output takes for outliers (ε).
    populated : array (d,)
        Samples near the facet, as a part of what it takes to place it.
    """

    fits: Array
    noise: Array
    expected: Array
    outliers: Array
    populated: Array

    @property
    def agree(self) -> Array:
        """Least correlation with another fit, for each output."""
        return np.asarray(self.fits.min(axis=0))

    @property
    def unexplained(self) -> Array:
        """Noise beyond what the other channels explain: a facet that hardly any samples populate."""
        seen = EXPLAINED * np.nan_to_num(self.expected)
        return np.asarray(np.sqrt(np.maximum(self.noise**2 - seen**2, 0)))


def trust(R: Array, solution: FacetSolution, *, seed: int = 0, threads: int = 1) -> FacetTrust:
    """Fit again in seven ways, and compare the outputs.

    Parameters
    ----------
    R : array (n_samples, n_channels)
        Samples, or an even selection of them.
    solution : FacetSolution
    seed, threads : int

    Returns
    -------
    FacetTrust
    """
    d = len(solution.unmixing)
    offset, flat = solution.offset, solution.sum_to_one
    Y = np.maximum(R @ solution.unmixing.T + solution.intercept, 0)
    Z = solution.map(R)
    near = (
        lengths(R @ solution.map.F.T + solution.map.c) <= solution.map.reach
    )  # outliers say nothing

    def fit(Z: Array, n_starts: int = 2, seed: int = seed) -> Found:
        found, _ = search(Z, d, n_starts=n_starts, seed=seed, threads=1, offset=offset, flat=flat)
        return found

    def part(rows: slice) -> Callable[[], Array]:
        return lambda: outputs(Z, fit(Z[rows]))

    def raw() -> Array:
        map, _ = prepare(ArraySource(R, 1), R, d, offset=offset, sum_to_one=flat, winsorise=False)
        z = map(R)
        return outputs(R @ map.F.T + map.c, fit(z))

    def bulk() -> Array:
        ones = np.column_stack([Z, np.ones(len(Z))]) if offset else Z
        return outputs(Z, with_bulk(ones, solution.found))

    half = len(Z) // 2
    ways: list[Callable[[], Array]] = [
        lambda: outputs(Z, fit(Z, 3, seed + 1)),
        part(slice(0, None, 2)), part(slice(1, None, 2)),
        part(slice(0, half)), part(slice(half, None)),
        raw, bulk,
    ]  # fmt: skip

    def compared(way: Callable[[], Array]) -> Array:
        try:
            other = way()
        except ValueError:  # a part of the samples has fewer directions
            return np.zeros(d)
        usable = np.all(np.isfinite(other))
        return agreement(Y[near], np.maximum(other[near], 0)) if usable else np.zeros(d)

    fits = np.zeros((len(ways), d))
    if len(R) >= 2 * FEW * d:
        with (
            threadpool_limits(1, user_api="blas"),
            ThreadPoolExecutor(max(1, min(threads, 4))) as pool,
        ):
            fits = np.array(list(pool.map(compared, ways)))
    return FacetTrust(
        fits=fits, noise=solution.sigma / solution.mu,
        expected=solution.expected_noise / solution.mu, outliers=solution.outlier,
        populated=solution.populated,
    )  # fmt: skip
