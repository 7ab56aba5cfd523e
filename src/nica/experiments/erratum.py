"""The minimum that eq. activitydep prints, against the maximum that it means."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._drawing import SERIES, error_axes, new_figure, shaded
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs_limits import erratum

DIMENSIONS = [3, 5, 10]
FOUND = 0.95  # correlation at which a source counts as found
RULES = {True: "minimum, as printed", False: "maximum, as meant"}


def plan(setup: Setup) -> list[Job]:
    """Both rules at three sizes, the equations in NumPy."""
    return [
        Job(
            erratum,
            {
                "as_printed": as_printed, "d": d, "rates": _parameters.published("two_layer", f"d{d}"),
                "run": run, "samples": setup.samples,
            },
        )
        for d in sorted(DIMENSIONS, reverse=True)
        for as_printed in RULES
        for run in range(setup.runs)
    ]  # fmt: skip


def failed(results: Results, d: int, as_printed: bool) -> tuple[int, int]:
    """How many runs diverged, and how many more ended without a source."""
    where = {"d": d, "as_printed": as_printed}
    wrong = [run for run in results.converged(**where) if min(run["correlation"]) < FOUND]
    return results.diverged(**where), len(wrong)


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """The printed rule fails, the meant one does not."""
    counts = {rule: {d: failed(results, d, rule) for d in DIMENSIONS} for rule in RULES}
    said = "; ".join(
        f"{RULES[rule]}: "
        + ", ".join(f"{a} + {b} at d = {d}" for d, (a, b) in counts[rule].items())
        for rule in RULES
    )
    longest = float(np.max([run["longest_step"] or np.inf for run in results.of(as_printed=False)]))
    return [
        Verdict(
            "The activity-dependent rate of eq. activitydep, as printed (a minimum), separates.",
            f"runs that diverged + runs that lost a source, of {setup.runs} runs of {setup.samples:,} "
            f"samples: {said}.",
            sum(map(sum, counts[True].values())) == 0,
            "With the minimum D is capped at 10 and falls to y² itself when a neuron is quiet, so "
            "that one "
            "sample overwrites its weights or overshoots (y²/D above 2). With the maximum D contains "
            "y² and "
            f"is never small: the longest step was {figure_of(longest)}. nica takes the maximum.",
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Runs that are still alive over time, and the error of those."""
    figure = new_figure(2.6)
    axes = figure.subplots(1, 2)
    t = np.unique(np.geomspace(1, setup.samples, 300).round())
    for as_printed, dash in ((True, (0, (3, 1.2))), (False, "-")):
        for j, d in enumerate(DIMENSIONS):
            where = {"d": d, "as_printed": as_printed}
            look = {"color": SERIES[j], "linestyle": dash}
            runs = results.of(**where)
            ends = np.array([run["at"] if run["diverged"] else np.inf for run in runs])
            alive = 100 * np.mean(ends[None] > t[:, None], axis=1)
            label = f"$d = {d}$, {RULES[as_printed].split(',')[0]}"
            axes[0].plot(t, alive, label=label, **look)
            good = results.converged(**where)
            if good:
                shaded(axes[1], good[0]["t"], [run["error"] for run in good], **look)
    axes[0].set(
        xscale="log", xlim=(1, setup.samples), ylim=(-4, 104), xlabel="samples seen, $t$",
        ylabel="% of runs not diverged",
    )  # fmt: skip
    axes[0].grid(visible=True)
    error_axes(axes[1], setup.samples)
    axes[1].set(xlabel="samples seen, $t$", ylabel="$E_t$ of those")
    axes[0].legend(loc="lower left", handlelength=2.4)
    return figure


EXPERIMENT = Experiment(
    name="erratum",
    title="Erratum: the minimum of eq. activitydep",
    caption="The equations in NumPy with the rate as printed (dashed) and with a maximum in place of "
    "the "
    "minimum (solid), rates of appendix D. Left: runs that have not diverged; right: the error of "
    "those.",
    runs=10,
    samples=20_000,
    quick=(2, 1_000),
    least=500,
    plan=plan,
    judge=judge,
    draw=draw,
)
