"""The smallest cone around reduced samples, soft or hard: what facets are compared with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nica.facets._hinge import Facets, blurred_hinge

Array = NDArray[np.float64]

TAU = 3.0  #: right most often over all kinds of sources and noise: see docs/api/offline.md
STRICT = 2.0  #: price of a sample outside; multipliers of samples of unit size are at most 1
FINE = 0.1  #: blur from which on all samples are looked at
ENOUGH = 5000  #: samples, of which some facets were found before
OUTSIDE = 1e-9  #: of its size, that a sample must be outside to be looked at too
ROUNDS = 5  #: most times that outliers are chosen anew


def soft_cone(
    Z: Array, B: Array, mean: Array, *, tau: float = TAU, affine: bool, tol: float, max_iter: int
) -> Facets:
    """Leave samples outside at a price: `nica.offline.soft_hinge` from a start.

    Parameters
    ----------
    Z : array (n, d)
        Reduced samples.
    B : array (d, d)
        Start, each output one on average or, if `affine`, all of them in each sample.
    mean : array (d,)
        Of Z.
    tau, tol : float
    affine : bool
    max_iter : int

    Returns
    -------
    Facets
    """
    begun = _rough(Z, B, mean, tau, affine, max_iter)
    rest = blurred_hinge(
        Z, begun.B, mean, tau, affine=affine, blur=FINE, tol=tol, max_iter=max_iter - begun.n_iter
    )
    return rest._replace(n_iter=begun.n_iter + rest.n_iter)


class Cone(NamedTuple):
    """A cone around samples, and what it does not hold."""

    facets: Facets
    outside: int  #: samples, not counting those that may be
    farthest: float  #: how far the lowest output of these is below zero


def hard_cone(
    Z: Array,
    B: Array,
    mean: Array,
    *,
    slack: float = 0.0,
    outliers: float = 0.0,
    affine: bool,
    tol: float,
    max_iter: int,
) -> Cone:
    """Leave no sample outside but a stated share: `nica.offline.minimum_volume` from a start.

    Parameters
    ----------
    Z, B, mean, affine, tol, max_iter
        As for `soft_cone`.
    slack : float
        How far outputs may be below zero.
    outliers : float
        Share of samples that may be outside.

    Returns
    -------
    Cone
    """
    tau = min(TAU, 1 / max(outliers, 0.01))
    B, _, n_iter, converged = _rough(Z, B, mean, tau, affine, max_iter)
    inside = _inmost(Z @ B.T, len(Z) - int(outliers * len(Z)))
    for _ in range(ROUNDS):
        B, steps, converged = _around(Z[inside], B, mean, slack, affine, tol, max_iter - n_iter)
        n_iter += steps
        before, inside = inside, _inmost(Z @ B.T, len(inside))
        if np.array_equal(inside, before):
            break
    Y = Z[inside] @ B.T + slack
    outside = int(np.sum((Y < -1e-6).any(axis=1)))
    objective = -float(np.linalg.slogdet(B)[1])
    return Cone(Facets(B, objective, n_iter, converged), outside, float(max(-Y.min(), 0.0)))


def on_plane(B: Array) -> Array:
    """Scale facets so that outputs sum to their number in each sample, whose last entry is one."""
    d = len(B)
    height = np.zeros(d)
    height[-1] = d
    B = np.maximum(np.linalg.solve(B.T, height), 0.01)[:, None] * B
    return np.asarray(B + (height - B.sum(axis=0)) / d)


def _rough(Z: Array, B: Array, mean: Array, tau: float, affine: bool, max_iter: int) -> Facets:
    """Facets up to a blur, from some thousand samples."""
    return blurred_hinge(
        Z[:: max(1, len(Z) // ENOUGH)], B, mean, tau,
        affine=affine, blur=1.0, tol=FINE, max_iter=max_iter,
    )  # fmt: skip


def _around(
    Z: Array, B: Array, mean: Array, slack: float, affine: bool, tol: float, max_iter: int
) -> tuple[Array, int, bool]:
    """The cone around all of these samples, from those that are nearest to its facets."""
    size = np.maximum((Z @ B.T).mean(axis=1), 1e-6)
    margin = (Z @ B.T + slack) / size[:, None]
    work = np.arange(len(Z))
    if len(Z) > 2 * ENOUGH:  # some from everywhere, and those nearest to each facet
        nearest = np.argpartition(margin, ENOUGH // len(B), axis=0)[: ENOUGH // len(B)]
        work = np.union1d(work[:: len(Z) // ENOUGH], nearest)
    n_iter = 0
    while True:
        B, _, steps, converged = blurred_hinge(
            Z[work] / size[work, None], B, mean, STRICT * len(work),
            affine=affine, slack=slack / size[work], blur=FINE, tol=tol, max_iter=max_iter - n_iter,
        )  # fmt: skip
        n_iter += steps
        lowest = ((Z @ B.T + slack) / size[:, None]).min(axis=1)
        lowest[work] = 0.0
        out = np.flatnonzero(lowest < -OUTSIDE)
        if not converged or len(out) == 0:
            return B, n_iter, converged
        out = out[np.argsort(lowest[out])[:ENOUGH]]
        work = np.union1d(work, out)


def _inmost(Y: Array, count: int) -> NDArray[np.intp]:
    """Indices of the samples that are least outside."""
    return np.sort(np.argpartition(Y.min(axis=1), len(Y) - count)[len(Y) - count :])
