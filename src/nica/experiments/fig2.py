"""Fig. 2: the network, drawn from weights that it has learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs import learned_network
from nica.plotting import NetworkDisplay

WEIGHTS = ("w_yh", "w_yy", "w_hx", "w_hg")


def plan(setup: Setup) -> list[Job]:
    """One network for each run; the first is drawn."""
    return [
        Job(learned_network, {"run": run, "samples": setup.samples}) for run in range(setup.runs)
    ]


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """The two populations of the first layer whiten; the second rectifies."""
    worst = float(results.values("not_white").max())
    return [
        Verdict(
            "Two populations of linear neurons prewhiten the stream.",
            f"covariance of h within {figure_of(worst)} of the identity (Frobenius) after "
            f"{setup.samples:,} samples, the worst of {setup.runs} runs.",
            worst < 0.1,
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Diagram, widths of lines as learned."""
    learned = results.of(run=0)[0]
    return NetworkDisplay.from_data(**{name: np.asarray(learned[name]) for name in WEIGHTS}).figure_


EXPERIMENT = Experiment(
    name="fig2",
    title="Fig. 2: the network",
    caption="Principal neurons h and interneurons g prewhiten; rectifying neurons y separate. Widths "
    "of "
    "lines are weights after learning three uniform sources; dashed ones are negative.",
    runs=10,
    samples=100_000,
    quick=(2, 20_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
