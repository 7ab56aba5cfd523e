"""Whether ten updates per neuron suffice (discussion): the error against the number of sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._drawing import INK, LINE, SERIES, SOFT, new_figure
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs_images import images
from nica.experiments._runs_limits import sweeps
from nica.experiments.fig6a import PIXELS

UPDATES = [1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 100]
DIMENSIONS = [3, 5, 7, 10]
ENOUGH = 1.1  # times the error of the fixed point: no significant loss
IMAGE_SHARE = 2 * PIXELS / 1000  # samples of images for one of random sources
IMAGES = "images"
SAID = 10
WHY = (
    "Each sweep shrinks the distance from the fixed point by a constant factor "
    "(nica.theory.nsm_fixed_point_rate), which comes nearer to 1 with more sources, and with some that "
    "are seldom zero, as images are. The errors say how much of that one would notice."
)
TICKS = [1, 2, 5, 10, 20, 50, 100]


def plan(setup: Setup) -> list[Job]:
    """Every problem with every limit, and without one."""
    jobs: list[Job] = []
    for d in sorted(DIMENSIONS, reverse=True):
        rates = _parameters.published("two_layer", f"d{d}")
        for limit in [None, *UPDATES]:
            for run in range(setup.runs):
                part: dict[str, Any] = {
                    "d": d,
                    "rates": rates,
                    "run": run,
                    "samples": setup.samples,
                }
                jobs.append(Job(sweeps, part | {"sweeps": limit}))
    rates = _parameters.published("two_layer", IMAGES)
    n_images = int(IMAGE_SHARE * setup.samples)
    for limit in [None, *UPDATES]:
        for run in range(setup.runs):
            part = {"algorithm": "two_layer", "rates": rates, "run": run, "samples": n_images}
            jobs.append(Job(images, part | {"folder": setup.images, "sweeps": limit}))
    return jobs


def ratios(results: Results, problem: int | str, key: str) -> Any:
    """Error at each limit over that of the fixed point, means of the runs; inf where one diverged."""
    exact = error(results, problem, key, None)
    return np.array([error(results, problem, key, limit) / exact for limit in UPDATES])


def error(results: Results, problem: int | str, key: str, limit: int | None) -> float:
    """Mean error of the runs with one limit."""
    where = {"algorithm": "two_layer"} if problem == IMAGES else {"d": problem}
    lost = results.diverged(sweeps=limit, **where)
    return np.inf if lost else float(results.values(key, sweeps=limit, **where).mean())


def needed(results: Results, problem: int | str, key: str) -> int | None:
    """Fewest updates from which on the loss is no longer significant."""
    good = ratios(results, problem, key) <= ENOUGH
    tail = len(good) - int(np.argmin(good[::-1])) if not good.all() else 0
    return UPDATES[tail] if tail < len(UPDATES) else None


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Where ten are enough, for the whole run and for its end."""
    problems: list[int | str] = [*DIMENSIONS, IMAGES]
    verdicts = []
    for key, words in (("final", "E_T"), ("late", "error after learning")):
        loss = {p: ratios(results, p, key)[UPDATES.index(SAID)] for p in problems}
        least = {p: needed(results, p, key) for p in problems}
        said = "; ".join(
            f"{_name(p)}: {loss[p]:.2f} times with {SAID} ({figure_of(error(results, p, key, SAID))} "
            f"against {figure_of(error(results, p, key, None))}), "
            + (f"enough from {least[p]}" if least[p] else f"not enough with {UPDATES[-1]}")
            for p in problems
        )
        short = [_name(p) for p in problems if loss[p] > ENOUGH]
        verdicts.append(
            Verdict(
                f"About {SAID} updates per neuron suffice, in {words} (at most {ENOUGH:g} times the "
                "fixed point's).",
                f"{said}.",
                not short,
                f"It stops being true at {', '.join(short)}. {WHY}" if short else "",
            )
        )
    return verdicts


def _name(problem: int | str) -> str:
    return IMAGES if problem == IMAGES else f"d = {problem}"


def draw(results: Results, setup: Setup) -> Any:
    """Error over that of the fixed point, for the whole run and for its end."""
    figure = new_figure(2.8)
    axes = figure.subplots(1, 2, sharey=True)
    titles = {"final": "whole run, $E_T$", "late": "after learning"}
    problems: list[int | str] = [*DIMENSIONS, IMAGES]
    for ax, (key, title) in zip(axes, titles.items(), strict=True):
        ax.axhspan(0.5, ENOUGH, color=LINE, linewidth=0, zorder=0)
        ax.axvline(SAID, color=SOFT, linewidth=0.7)
        for j, problem in enumerate(problems):
            label = IMAGES if problem == IMAGES else f"$d = {problem}$"
            loss = ratios(results, problem, key)
            seen = np.isfinite(loss)
            ax.plot(
                np.array(UPDATES)[seen], loss[seen], marker="o" if problem != IMAGES else "s",
                linestyle="-" if problem != IMAGES else "--", color=SERIES[j], markersize=3, label=label,
            )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="updates per neuron, at most", title=title)
        ax.set_xticks(TICKS, [str(tick) for tick in TICKS])
        ax.minorticks_off()
        ax.set_ylim(bottom=0.8)
        ax.grid(visible=True, axis="y")
    axes[0].set_ylabel("error / error of the fixed point")
    axes[1].legend(loc="upper right", handlelength=1.6, labelcolor=INK)
    axes[0].annotate(
        "the paper's 10", (SAID, 1), xycoords=("data", "axes fraction"), xytext=(3, -8),
        textcoords="offset points", color=SOFT, fontsize="small",
    )  # fmt: skip
    return figure


EXPERIMENT = Experiment(
    name="sweeps",
    title="How many updates per neuron suffice",
    caption="The two-layer network with at most so many updates of each output per sample, its error "
    "relative to that of the exact fixed point; the grey band is a loss of 10 %. Images: 200 "
    "presentations.",
    runs=3,
    samples=100_000,
    quick=(1, 3_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
    needs_images=True,
)
