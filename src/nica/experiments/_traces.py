"""What Figs. 3A, 5A and 5B share: runs of the two-layer network whose last samples are drawn."""

from __future__ import annotations

from nica.experiments import _parameters
from nica.experiments._experiment import Setup
from nica.experiments._jobs import Job
from nica.experiments._runs import traces


def trace_jobs(kind: str, d: int, setup: Setup, shown: int, *, whitened: bool = False) -> list[Job]:
    """Jobs with the rates of appendix D for d; all keep their last `shown` samples."""
    fixed = {
        "kind": kind, "d": d, "rates": _parameters.published("two_layer", f"d{d}"),
        "samples": setup.samples, "shown": shown, "whitened": whitened,
    }  # fmt: skip
    return [Job(traces, {**fixed, "run": run}) for run in range(setup.runs)]
