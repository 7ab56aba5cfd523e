"""Fig. 3A: traces of three uniform sources, their mixture, both layers' outputs."""

from __future__ import annotations

from typing import Any

from nica.experiments._drawing import SERIES, SOFT, new_figure, strips
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._traces import trace_jobs

SHOWN = 60  # samples


def plan(setup: Setup) -> list[Job]:
    """The two-layer network at d = 3; the last samples of the first run are drawn."""
    return trace_jobs("uniform", 3, setup, SHOWN, whitened=True)


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Recovered signals are the sources."""
    worst = float(results.values("correlation").min())
    return [
        Verdict(
            "The two-layer network recovers the sources of a d = 3 mixture.",
            f"worst correlation {worst:.6f} over the last tenth of {setup.samples:,} samples, of "
            f"{setup.runs} runs with three sources each.",
            worst >= 0.9999,
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Four columns of three strips."""
    data = results.of(run=0)[0]
    figure = new_figure(2.3)
    columns = {
        "Sources": (data["sources"], SERIES[:3]),
        "Mixture": (data["mixture"], [SOFT] * 3),
        "Whitened": (data["whitened"], [SOFT] * 3),
        "Recovered": (data["recovered"], SERIES[:3]),
    }
    notes = {
        "Sources": f"last {SHOWN} samples",
        "Recovered": f"late error {figure_of(data['late'])}",
        "Mixture": "what the network sees",
        "Whitened": "first layer",
    }
    strips(figure, columns, notes)
    return figure


EXPERIMENT = Experiment(
    name="fig3a",
    title="Fig. 3A: uniform sources, their mixture, and both layers",
    caption="The last samples of a stream of three sparse uniform sources mixed with the printed "
    "matrix: "
    "what the network sees, what its first layer makes of it, and its outputs.",
    runs=10,
    samples=100_000,
    quick=(2, 20_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
