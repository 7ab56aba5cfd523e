"""Whether facets can be trusted: whether parts of the samples, and other assumptions, find them too."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nica.batch.sources import ArraySource
from nica.facets._compare import agreement
from nica.facets._prepare import lengths, prepare
from nica.facets._search import outputs, search, with_bulk
from nica.facets._solve import FacetSolution

Array = NDArray[np.float64]

AGREE, NOISE = 0.97, 0.2  #: trusted from this agreement on, and below this noise per tail
FEW = 10  #: samples per source that a half needs


@dataclass(frozen=True)
class FacetTrust:
    """Whether a solution can be trusted, for each output.

    Attributes
    ----------
    fits : array (4, d)
        Correlation of each output with its match in four other fits: of either half of the samples, of
        all with nothing shortened, and with a bulk in each row.
    noise : array (d,)
        Noise of an output, in units of the mean of its tail (ρ).
    outliers : array (d,)
        Share of samples that an output takes for outliers (ε).
    populated : array (d,)
        Samples near the facet, as a part of what it takes to place it.
    """

    fits: Array
    noise: Array
    outliers: Array
    populated: Array

    @property
    def agree(self) -> Array:
        """Least of these for each output (τ)."""
        return np.asarray(self.fits.min(axis=0))

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Whether each output can be trusted."""
        return np.asarray((self.agree >= AGREE) & (self.noise < NOISE) & (self.populated >= 1))

    @property
    def trusted(self) -> bool:
        """Whether all can."""
        return bool(np.all(self.rows))


def trust(R: Array, solution: FacetSolution, *, seed: int = 0, threads: int = 1) -> FacetTrust:
    """Fit again in four ways, and compare the outputs.

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

    def half(first: int) -> Array:
        found, _ = search(
            Z[first::2], d, n_starts=2, seed=seed, threads=1, offset=offset, flat=flat
        )
        return outputs(Z, found)

    def raw() -> Array:
        map, _ = prepare(ArraySource(R, 1), R, d, offset=offset, sum_to_one=flat, winsorise=False)
        z = map(R)
        found, _ = search(z, d, n_starts=2, seed=seed, threads=1, offset=offset, flat=flat)
        return outputs(R @ map.F.T + map.c, found)

    def bulk() -> Array:
        ones = np.column_stack([Z, np.ones(len(Z))]) if offset else Z
        return outputs(Z, with_bulk(ones, solution.found))

    def compared(i: int) -> Array:
        try:
            other = (lambda: half(0), lambda: half(1), raw, bulk)[i]()
        except ValueError:  # a part of the samples has fewer directions
            return np.zeros(d)
        usable = np.all(np.isfinite(other))
        return agreement(Y[near], np.maximum(other[near], 0)) if usable else np.zeros(d)

    fits = np.zeros((4, d))
    if len(R) >= 2 * FEW * d:
        with (
            threadpool_limits(1, user_api="blas"),
            ThreadPoolExecutor(max(1, min(threads, 4))) as pool,
        ):
            fits = np.array(list(pool.map(compared, range(4))))
    return FacetTrust(
        fits=fits, noise=solution.sigma / solution.mu, outliers=solution.outlier,
        populated=solution.populated,
    )  # fmt: skip
