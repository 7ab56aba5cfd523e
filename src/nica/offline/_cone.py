"""From samples to a cone and from its facets to sources: what all minimum-volume methods share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from nica.equations.facets_start import NEAR, Reduction, cone_unmixing, extreme_points, reduction
from nica.facets._cones import on_plane
from nica.networks._containers import tensor
from nica.offline._checks import FloatArray, as_given, at_least_one, samples


class MinimumVolume(NamedTuple):
    """Sources, and the cone or simplex that they span.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_components)
        Sources, ``np.maximum(X @ unmixing.T + intercept, 0)`` unless a method says otherwise: one on
        average before they were rectified, or, if they sum to one, on this scale. A tensor, a data
        frame or a DataArray if X was one.
    unmixing : ndarray of shape (n_components, n_channels)
        Facets of the cone.
    intercept : ndarray of shape (n_components,)
        Zeros, unless sources sum to one.
    mixing : ndarray of shape (n_channels, n_components)
        Edges of the cone, or corners of the simplex: ``X ~ Y @ mixing.T``.
    objective : float
        What was minimised. Samples are reduced so that their second moments are one, so it does not
        depend on the units of X.
    n_iter : int
        Iterations.
    converged : bool
        Whether it stopped by itself.
    """

    Y: FloatArray
    unmixing: FloatArray
    intercept: FloatArray
    mixing: FloatArray
    objective: float
    n_iter: int
    converged: bool


class Problem(NamedTuple):
    """Samples in d dimensions, and how they came there."""

    given: ArrayLike
    X: FloatArray
    Z: FloatArray
    mean: FloatArray
    way: Reduction
    affine: bool

    @classmethod
    def of(cls, X: ArrayLike, n_components: int, affine: bool) -> Problem:
        """Check and reduce samples."""
        given, X = X, samples("X", X)
        n_samples, k = X.shape
        d = at_least_one("n_components", n_components)
        if d > k:
            raise ValueError(f"X has {k} channels but n_components={d}: give at most {k}")
        if n_samples <= d:
            raise ValueError(f"X has {n_samples} samples: n_components={d} needs at least {d + 1}")
        way = reduction(X, d, affine=affine)
        Z = X @ way.F.T + way.c
        mean = Z.mean(axis=0)
        # The height of the mean is at most 1; samples without one reach d / n_samples, give or take.
        if mean @ mean < min(4 * d / n_samples, 0.1):
            raise ValueError(
                f"X averages to {np.sqrt(mean @ mean):.2g} of its spread, but nonnegative sources have "
                "a mean: give samples as they were measured, not centred"
            )
        return cls(given, X, Z, mean, way, affine)

    def start(self, unmixing: ArrayLike | None, near: float = NEAR) -> FloatArray:
        """Facets to begin with: by successive projection, or as given."""
        if unmixing is None:
            try:
                return self.scaled(cone_unmixing(extreme_points(self.Z, near), self.mean))
            except np.linalg.LinAlgError as error:
                raise ValueError(f"{error}: give a start, or fewer n_components") from error
        given = samples("start", unmixing) if len(self.mean) > 1 else np.atleast_2d(unmixing)
        shape = self.way.F.shape
        if given.shape != shape:
            raise ValueError(f"start has shape {given.shape}: give an unmixing matrix of {shape}")
        B = given @ self.way.G
        if np.linalg.matrix_rank(B) < len(B):
            raise ValueError("start does not tell the sources apart: its rows are dependent on X")
        level = B @ self.mean
        if not np.all(level > 0):
            raise ValueError(
                f"start makes output {level.argmin()} {level.min():.3g} on average: "
                "each must be above 0, so turn its sign"
            )
        return self.scaled(B / level[:, None])

    def scaled(self, B: FloatArray) -> FloatArray:
        """Scale facets: outputs are one on average, each or all of them in each sample."""
        return on_plane(B) if self.affine else B / (B @ self.mean)[:, None]

    def solved(
        self, prefix: str, B: FloatArray, objective: float, n_iter: int, converged: bool
    ) -> MinimumVolume:
        """Return facets as sources and mixing, in the units of X."""
        if self.affine:
            B = B / len(B)
        unmixing, intercept = B @ self.way.F, B @ self.way.c
        Y = np.maximum(self.X @ unmixing.T + intercept, 0.0)
        mixing = self.way.G @ np.linalg.inv(B)
        parts = Y, unmixing, intercept, mixing, objective, n_iter, converged
        return self.as_given(prefix, MinimumVolume(*parts))

    def as_given(self, prefix: str, solution: MinimumVolume) -> MinimumVolume:
        """Return matrices as the library of the samples has them."""
        return solution._replace(
            Y=as_given(self.given, solution.Y, prefix),
            unmixing=tensor(self.given, solution.unmixing),
            mixing=tensor(self.given, solution.mixing),
        )
