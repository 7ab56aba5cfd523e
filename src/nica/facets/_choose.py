"""What to take instead of facets that cannot be trusted: a smallest cone, or factors of small volume.

Facets are right as long as samples populate them. Where hardly any do, as in dense images, or where
nearly all lie close to the middle of the cone, the likelihood cuts off the bulk of the samples, and
fits of other samples or with other assumptions cut elsewhere. Then the smallest cone around all samples
is right if there is one, for what noise does to samples far inside does not matter to it; if noise
leaves no cone that holds them all, nonnegative factors of small volume bear it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nica.equations.facets_start import cone_unmixing, extreme_points, reduction
from nica.facets._cones import hard_cone, on_plane
from nica.facets._factors import factorise
from nica.facets._solve import FacetSolution
from nica.facets._trust import AGREE, FacetTrust

Array = NDArray[np.float64]

TOL, STEPS = 1e-9, 500  #: of the cone
PLATEAU, ITERATIONS = 1e-4, 1000  #: of the factors


class Choice(NamedTuple):
    """An unmixing, y = unmixing x + intercept, and what found it."""

    method: str  #: "facets" or "bulk" (the solution's), "volume" or "factors"
    unmixing: Array  #: (d, k)
    mixing: Array  #: (k, d)
    intercept: Array  #: (d,)


def choose(R: Array, solution: FacetSolution, trust: FacetTrust) -> Choice:
    """Keep facets if other fits find them too, or else look for a small volume.

    If the least agreement of `trust` is below what is trusted, the choice is the smallest cone,
    provided it holds all samples; if none does, factors of small volume. With offsets, where the tip of
    the cone is unknown, and on a plane that no cone fits, the solution stays as it is.

    Parameters
    ----------
    R : array (n_samples, n_channels)
        Samples, or an even selection of them.
    solution : FacetSolution
    trust : FacetTrust
        Of the same samples.

    Returns
    -------
    Choice
    """
    as_it_is = Choice(solution.method, solution.unmixing, solution.mixing, solution.intercept)
    if solution.offset or float(np.min(trust.agree)) >= AGREE:
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
