"""What to take instead of facets that cannot be trusted: a smallest cone, or factors of small volume.

Facets are right as long as samples populate them. Where hardly any do, as in dense images, or where
nearly all lie close to the middle of the cone, the likelihood cuts off the bulk of the samples, and
fits of other samples or with other assumptions cut elsewhere. Then the smallest cone around all samples
is right if there is one, for what noise does to samples far inside does not matter to it; if noise
leaves no cone that holds them all, nonnegative factors of small volume bear it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nica.batch.sources import Source
from nica.equations.facets import Row, expectation_step, first_row
from nica.equations.facets_start import cone_unmixing, extreme_points, reduction
from nica.facets._cones import hard_cone, on_plane
from nica.facets._factors import factorise
from nica.facets._solve import NEAR, POPULATED, SELECTED, FacetSolution
from nica.facets._trust import AGREE, FacetTrust, trust

Array = NDArray[np.float64]

TOL, STEPS = 1e-9, 1000  #: of the cone
PLATEAU, ITERATIONS = 1e-4, 1000  #: of the factors
UNEXPLAINED = 0.1  #: noise of a facet that the channels do not show
DESCRIBED, STEADY, LEAST = (
    4000,
    30,
    1e-6,
)  #: samples, steps and noise by which outputs are described


class Choice(NamedTuple):
    """An unmixing, y = unmixing x + intercept, and what found it."""

    method: str  #: "facets" or "bulk" (the solution's), "volume" or "factors"
    unmixing: Array  #: (d, k)
    mixing: Array  #: (k, d)
    intercept: Array  #: (d,)


def chosen(source: Source, solution: FacetSolution, *, seed: int, threads: int) -> FacetSolution:
    """What `choose` says of the samples of a source, described as a solution."""
    R = source.sample(SELECTED)
    choice = choose(R, solution, trust(R, solution, seed=seed, threads=threads))
    if choice.method == solution.method:
        return solution
    some = R[:: -(-len(R) // DESCRIBED)]
    Y = some @ choice.unmixing.T + choice.intercept
    size = np.maximum(np.abs(Y).mean(axis=0), 1e-300)
    rows = [described(y) for y in (Y / size).T]
    sigma, mu, spike, outlier = np.array([row[:4] for row in rows]).T
    reached = np.maximum(3 * sigma, NEAR)
    return replace(
        solution,
        unmixing=choice.unmixing / size[:, None], mixing=choice.mixing * size,
        intercept=choice.intercept / size, sigma=sigma, mu=mu, spike=spike, outlier=outlier,
        bulk=np.zeros(len(rows)), spread=(Y / size).std(axis=0), method=choice.method,
        populated=np.sum(reached >= Y / size, axis=0) / (POPULATED * len(rows)),
    )  # fmt: skip


def described(y: Array) -> Row:
    """Parameters of an output, as it is."""
    row = first_row()
    for number in range(STEADY):
        row = expectation_step(y, row, max(0.3 * 0.6**number, LEAST))
    return row


def doubted(said: FacetTrust) -> bool:
    """Whether other fits find other facets, or noise that the other channels do not show hides them."""
    seen = np.isfinite(said.expected)
    hidden = np.max(said.unexplained, where=seen, initial=0.0) >= UNEXPLAINED
    return bool(np.min(said.agree) < AGREE or hidden)


def choose(R: Array, solution: FacetSolution, said: FacetTrust) -> Choice:
    """Keep facets if other fits find them too, or else look for a small volume.

    If the least agreement of fits is below what is trusted, the choice is the smallest cone,
    provided it holds all samples; if none does, factors of small volume. With offsets, where the tip of
    the cone is unknown, and on a plane that no cone fits, the solution stays as it is.

    Parameters
    ----------
    R : array (n_samples, n_channels)
        Samples, or an even selection of them.
    solution : FacetSolution
    said : FacetTrust
        Of the same samples.

    Returns
    -------
    Choice
    """
    as_it_is = Choice(solution.method, solution.unmixing, solution.mixing, solution.intercept)
    if solution.offset or not doubted(said):
        return as_it_is
    flat = solution.sum_to_one
    # All samples count as they are: shortened ones weigh too little for the factors.
    F, c, G, residual = reduction(R, len(solution.unmixing), affine=flat)
    Z = R @ F.T + c
    mean = Z.mean(axis=0)
    try:
        B = cone_unmixing(extreme_points(Z), mean)
    except np.linalg.LinAlgError:  # the edges that were found do not span the space
        return as_it_is
    start = on_plane(B) if flat else B
    (B, _, _, converged), outside, _ = hard_cone(
        Z, start, mean, affine=flat, tol=TOL, max_iter=STEPS
    )
    method = "volume"
    if outside or not converged:
        if flat:
            return as_it_is
        found = factorise(Z, start, G, residual, tol=PLATEAU, max_iter=ITERATIONS)
        if not found.Y.any(axis=0).all():
            return as_it_is
        method, B = "factors", found.B
    B = B / (B @ mean)[:, None] if not flat else B / len(B)
    return Choice(method, B @ F, G @ np.linalg.inv(B), B @ c)
