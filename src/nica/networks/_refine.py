"""``refine="facets"``: what a fit of NICA found, polished without asking for uncorrelated sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nica.batch import BadSampleError
from nica.facets import solve
from nica.networks._settings import cores

if TYPE_CHECKING:
    from nica.networks._batch import BatchFit

REFINEMENTS = ("facets",)


def check(value: Any) -> None:
    """Refuse what is no refinement."""
    if value is not None and value not in REFINEMENTS:
        raise ValueError(f"refine={value!r}: give None or {', '.join(map(repr, REFINEMENTS))}")


def refine(network: BatchFit, X: Any) -> None:
    """Put the network where outputs have the facets of the samples' cone, near where they are.

    Layer 1 stays. In layer 2 all is in the feedforward weights: outputs that are correlated have no
    lateral ones that would undo it.
    """
    threads = cores(network.n_jobs)
    U = network.unmixing_
    try:
        solution = solve(
            network._source(X, threads), len(U), start=U, seed=network._seed, threads=threads,
            report=network._report,
        )  # fmt: skip
    except BadSampleError:
        raise AssertionError("fit has refused bad samples already") from None
    scaled = solution.unmixing / solution.spread[:, None]
    W_yh = scaled @ np.linalg.pinv(network.whitening_)
    assert network._core is not None
    network._core.set_state({"w_yh": np.ascontiguousarray(W_yh), "lateral": np.eye(len(U))}, False)
