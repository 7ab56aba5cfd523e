"""Fig. 5A: two uniform and three exponential sources, recovered together."""

from __future__ import annotations

from typing import Any

from nica.experiments._drawing import SERIES, SOFT, new_figure, strips
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._traces import trace_jobs

SHOWN = 80  # samples


def plan(setup: Setup) -> list[Job]:
    """The two-layer network with the rates of d = 5; the last samples of the first run are drawn."""
    return trace_jobs("mixed", 5, setup, SHOWN)


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """All sources, of either kind."""
    worst = results.values("correlation").min(axis=1)
    return [
        Verdict(
            "Sources of different distributions are recovered together.",
            f"worst correlation of five sources {worst.min():.6f} over the last tenth of "
            f"{setup.samples:,} samples, in {setup.runs} runs (0.9999 asked for).",
            bool(worst.min() >= 0.9999),
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Three columns of five strips."""
    data = results.of(run=0)[0]
    figure = new_figure(3.2)
    colours = SERIES[:5]
    columns = {
        "Sources": (data["sources"], colours),
        "Mixture": (data["mixture"], [SOFT] * 5),
        "Recovered": (data["recovered"], colours),
    }
    notes = {
        "Sources": "two uniform, three exponential",
        "Mixture": "what the network sees",
        "Recovered": f"late error {figure_of(data['late'])}",
    }
    strips(figure, columns, notes)
    return figure


EXPERIMENT = Experiment(
    name="fig5a",
    title="Fig. 5A: uniform and exponential sources together",
    caption="Two sparse uniform (upper) and three sparse exponential sources, their mixture, and the "
    "outputs "
    "of the two-layer network, at the end of the stream.",
    runs=10,
    samples=100_000,
    quick=(2, 20_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
