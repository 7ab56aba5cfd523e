"""Fig. 5B: three exponential sources in background noise; the first layer reduces 5 to 3."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments._drawing import SERIES, SOFT, new_figure, strips
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._traces import trace_jobs

SHOWN = 80  # samples
SAME = 0.002  # of correlation: what counts as the level of the oracle


def plan(setup: Setup) -> list[Job]:
    """The two-layer network with the rates of d = 3, on five channels."""
    return trace_jobs("background", 3, setup, SHOWN)


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Each source as good as the best linear map from three channels; the background goes."""
    found, oracle = results.values("correlation"), results.values("oracle")
    gap = float((oracle - found).max())
    kept, by_oracle = results.values("background_kept"), results.values("background_kept_by_oracle")
    said = "; ".join(
        f"{a:.3f} (oracle {b:.3f})"
        for a, b in zip(found.mean(axis=0), oracle.mean(axis=0), strict=True)
    )
    below = f"at worst {figure_of(gap)} below" if gap > 0 else "never below"
    return [
        Verdict(
            "The network recovers sources in background noise, the first layer reducing 5 channels "
            "to 3.",
            f"correlations of the three sources {said}, mean of {setup.runs} runs; {below} the best "
            "linear map from three whitened channels, chosen knowing the sources.",
            gap <= SAME,
        ),
        Verdict(
            "The first layer denoises: the background is suppressed.",
            f"{100 * kept.mean():.1f} % of the background's variance can be told from the outputs "
            f"({100 * by_oracle.mean():.1f} % from the oracle's, 100 % from the mixture).",
            bool(kept.mean() <= by_oracle.mean() + 0.02),
        ),
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Three columns: sources and background, mixture, recovered."""
    data = results.of(run=0)[0]
    figure = new_figure(3.2)
    columns = {
        "Sources and background": (
            np.hstack([np.asarray(data["sources"]), np.asarray(data["background"])]),
            [*SERIES[:3], SOFT, SOFT],
        ),
        "Mixture": (data["mixture"], [SOFT] * 5),
        "Recovered": (data["recovered"], SERIES[:3]),
    }
    correlations = ", ".join(f"{value:.3f}" for value in data["correlation"])
    notes = {
        "Sources and background": "three exponential, two uniform of variance 0.1",
        "Mixture": "what the network sees",
        "Recovered": f"correlations {correlations}",
    }
    strips(figure, columns, notes)
    return figure


EXPERIMENT = Experiment(
    name="fig5b",
    title="Fig. 5B: sources in background noise",
    caption="Three sparse exponential sources and two background channels (grey) of variance 0.1, "
    "their "
    "five-channel mixture, and three outputs: the first layer keeps the three strongest directions.",
    runs=10,
    samples=100_000,
    quick=(2, 20_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
