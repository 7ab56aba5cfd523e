"""A point of a grid: the final error of some runs with the same rates, and nothing else of them."""

from __future__ import annotations

from typing import Any

from nica.experiments._parameters import Rates
from nica.experiments._runs import separation
from nica.experiments._runs_images import images


def errors(algorithm: str, problem: str, rates: Rates, runs: int, samples: int) -> dict[str, Any]:
    """E_T of each run; None of one that diverged."""
    found = []
    for run in range(runs):
        if problem == "images":
            result = images(algorithm, rates, run, samples)
        else:
            result = separation(algorithm, int(problem[1:]), rates, run, samples)
        found.append(None if result["diverged"] else result["final"])
    return {"errors": found}
