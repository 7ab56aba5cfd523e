"""Fig. 6B: the error on images, against nonnegative PCA and online FastICA."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments._algorithms import ALGORITHMS
from nica.experiments._drawing import SOFT, algorithm_curves, error_axes, new_figure
from nica.experiments._experiment import (
    Experiment,
    Results,
    Setup,
    Verdict,
    figure_of,
    plus_minus,
)
from nica.experiments._jobs import Job
from nica.experiments.fig6a import PIXELS, PRESENTATIONS, image_job

NAMES = ["two_layer", "nsm_activity", "nonnegative_pca", "online_fastica"]


def plan(setup: Setup) -> list[Job]:
    """Four algorithms on the same permuted pixels."""
    return [image_job(name, run, setup) for name in NAMES for run in range(setup.runs)]


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Our networks do much better."""
    finals = {name: results.values("final", algorithm=name) for name in NAMES}
    said = ", ".join(f"{ALGORITHMS[name].label} {plus_minus(e)}" for name, e in finals.items())
    floor = float(results.values("floor", algorithm="two_layer").mean())
    ours = max(np.mean(finals[name]) if len(finals[name]) else np.inf for name in NAMES[:2])
    rivals = min(np.mean(finals[name]) if len(finals[name]) else np.inf for name in NAMES[2:])
    return [
        Verdict(
            "On images the paper's networks do much better than online FastICA and nonnegative PCA.",
            f"E_T of {said} ({setup.runs} runs); the images' own correlations leave {figure_of(floor)} "
            f"to any rotation.{_said_of_exchanges(results)}",
            bool(2 * ours <= rivals),
            "" if 2 * ours <= rivals else "The rival that is not beaten is at the same floor.",
        )
    ]


def exchanges(results: Results, name: str) -> int:
    """Runs whose outputs are right at the end, and were right before in another order."""
    runs = results.converged(algorithm=name)
    return sum(
        run["final"] > 3 * run["late"] and run["final"] > 3 * min(run["error"]) for run in runs
    )


def _said_of_exchanges(results: Results) -> str:
    counts = {name: exchanges(results, name) for name in NAMES[:2]}
    if not any(counts.values()):
        return ""
    said = " and ".join(f"{n} of {ALGORITHMS[name].label}" for name, n in counts.items() if n)
    return (
        f" In some runs ({said}) two outputs exchange their images late, and go on as exact as before; "
        "E_t, with one permutation for all t, rises there, which is most of its mean and standard error."
    )


def draw(results: Results, setup: Setup) -> Any:
    """Error curves and the floor."""
    figure = new_figure(2.9, width=4.6)
    ax = figure.subplots()
    handles = algorithm_curves(ax, results, NAMES)
    total = results.converged(algorithm="two_layer")[0]["t"][-1]
    error_axes(ax, total)
    floor = float(results.values("floor", algorithm="two_layer").mean())
    ax.axhline(floor, color=SOFT, linewidth=0.8)
    ax.annotate(
        "no rotation does better", (1, floor), xytext=(4, 3), textcoords="offset points", color=SOFT,
        fontsize="small",
    )  # fmt: skip
    ax.set(xlabel="pixels seen, $t$", ylabel="error so far, $E_t$")
    ax.set_ylim(bottom=floor / 1.6)
    ax.legend(handles.values(), handles.keys(), loc="upper right", handlelength=2.6)
    return figure


def table(results: Results, setup: Setup) -> tuple[list[str], list[list[str]]]:
    """E_T, the error of the last weights, diverged runs."""
    rows = [
        [
            ALGORITHMS[name].label, plus_minus(results.values("final", algorithm=name)),
            plus_minus(results.values("late", algorithm=name)), str(results.diverged(algorithm=name)),
        ]
        for name in NAMES
    ]  # fmt: skip
    return ["algorithm", "E_T", "error of the last weights", "diverged"], rows


EXPERIMENT = Experiment(
    name="fig6b",
    title="Fig. 6B: the error on images",
    caption="Error E_t of all outputs so far, mean of the runs with its standard error, rates of "
    "appendix D. "
    "The level is what the correlations of the images leave to any rotation of white mixtures.",
    runs=10,
    samples=PRESENTATIONS * PIXELS,
    quick=(2, 60 * PIXELS),
    least=PIXELS,
    plan=plan,
    judge=judge,
    draw=draw,
    needs_images=True,
    table=table,
)
