"""Fig. 3B: the error of all eight algorithms over time, d = 3, 5, 7 and 10."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._algorithms import ALGORITHMS, OFFLINE
from nica.experiments._drawing import algorithm_curves, error_axes, legend_below, new_figure
from nica.experiments._experiment import (
    Experiment,
    Results,
    Setup,
    Verdict,
    figure_of,
    plus_minus,
)
from nica.experiments._jobs import Job
from nica.experiments._runs import separation

#: E_T of the two-layer network at T = 1e5, measured with independent prototypes before.
RANGES = {3: (0.001, 0.006), 5: (0.004, 0.023), 7: (0.012, 0.04), 10: (0.03, 0.12)}
ONLINE_RIVALS = [name for name, a in ALGORITHMS.items() if not a.ours and name != OFFLINE]
OURS = [name for name, a in ALGORITHMS.items() if a.ours]


def plan(setup: Setup) -> list[Job]:
    """Every algorithm at every d with appendix D's rates, the same streams for all."""
    return [
        Job(
            separation,
            {
                "algorithm": name, "d": d, "rates": _parameters.published(name, f"d{d}"), "run": run,
                "samples": setup.samples,
            },
        )
        for d in sorted(_parameters.dimensions(), reverse=True)  # the long ones first
        for name in ALGORITHMS
        for run in range(setup.runs)
    ]  # fmt: skip


def finals(results: Results, name: str, d: int) -> Any:
    """E_T of the runs that did not diverge."""
    return results.values("final", algorithm=name, d=d)


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """The ranking at d >= 5, the magnitude, and the loss by whitening online."""
    verdicts = []
    for name in ("two_layer", "nsm_activity"):
        verdicts.append(_as_good_as_rivals(results, name))
    verdicts.append(_magnitude(results))
    verdicts.append(_competitive(results))
    return verdicts


def _as_good_as_rivals(results: Results, name: str) -> Verdict:
    said, beaten = [], []
    for d in [d for d in _parameters.dimensions() if d >= 5]:
        ours = finals(results, name, d)
        rivals = {rival: finals(results, rival, d) for rival in ONLINE_RIVALS}
        best = min(
            rivals, key=lambda rival: np.mean(rivals[rival]) if len(rivals[rival]) else np.inf
        )
        said.append(
            f"d = {d}: {plus_minus(ours)} against {plus_minus(rivals[best])} ({ALGORITHMS[best].label})"
        )
        if not len(ours) or np.mean(ours) > np.mean(rivals[best]) + _spread(ours, rivals[best]):
            beaten.append(d)
    return Verdict(
        f"{ALGORITHMS[name].label} is as good as or better than every online rival at d ≥ 5.",
        "E_T " + "; ".join(said) + ".",
        not beaten,
        ""
        if not beaten
        else f"The best rival has the lower E_T at d = {', '.join(map(str, beaten))}.",
    )


def _spread(a: Any, b: Any) -> float:
    """Two standard errors of the difference of two means."""
    return float(
        2 * np.sqrt(sum(np.var(x, ddof=1) / len(x) if len(x) > 1 else 0.0 for x in (a, b)))
    )


def _magnitude(results: Results) -> Verdict:
    means = {d: float(finals(results, "two_layer", d).mean()) for d in _parameters.dimensions()}
    said = "; ".join(
        f"d = {d}: {plus_minus(finals(results, 'two_layer', d))} (expected {low} to {high})"
        for d, (low, high) in RANGES.items()
    )
    return Verdict(
        "E_T of the two-layer network has the magnitude that earlier prototypes of it had.",
        f"{said}.",
        all(means[d] <= high for d, (_, high) in RANGES.items()),
    )


def _competitive(results: Results) -> Verdict:
    ratios = {
        d: float(finals(results, "two_layer", d).mean() / finals(results, "nsm_activity", d).mean())
        for d in _parameters.dimensions()
    }
    first, last = ratios[min(ratios)], ratios[max(ratios)]
    said = ", ".join(f"{figure_of(ratio)} at d = {d}" for d, ratio in ratios.items())
    return Verdict(
        "Offline whitening is better than online, but online becomes competitive as d grows.",
        f"E_T of the two-layer network is that of the single layer times {said}.",
        min(ratios.values()) > 0.8 and last < max(2.5, first),
    )


def draw(results: Results, setup: Setup) -> Any:
    """A panel for each d."""
    figure = new_figure(5.6)
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    handles: dict[str, Any] = {}
    for ax, d in zip(axes.flat, _parameters.dimensions(), strict=True):
        handles |= algorithm_curves(ax, results, list(ALGORITHMS), d=d)
        error_axes(ax, setup.samples)
        ax.set_title(f"$d = {d}$")
    for ax in axes[-1]:
        ax.set_xlabel("samples seen, $t$")
    for ax in axes[:, 0]:
        ax.set_ylabel("error so far, $E_t$")
    legend_below(figure, handles.values(), handles.keys())
    return figure


def table(results: Results, setup: Setup) -> tuple[list[str], list[list[str]]]:
    """E_T, error of the last tenth, diverged runs, of every algorithm and d."""
    rows = []
    for d in _parameters.dimensions():
        for name, algorithm in ALGORITHMS.items():
            late = results.values("late", algorithm=name, d=d)
            rates = ", ".join(f"{rate:g}" for rate in _parameters.published(name, f"d{d}") or ())
            rows.append(
                [
                    str(d), algorithm.label, rates, plus_minus(finals(results, name, d)),
                    plus_minus(late), str(results.diverged(algorithm=name, d=d)),
                ]
            )  # fmt: skip
        floor = results.values("floor", algorithm="two_layer", d=d)
        rows.append(
            [str(d), "no rotation of white samples does better", "", "", plus_minus(floor), ""]
        )
    return ["d", "algorithm", "rates", "E_T", "error of the last tenth", "diverged"], rows


EXPERIMENT = Experiment(
    name="fig3b",
    title="Fig. 3B: the error while a stream is learned",
    caption="Error E_t of all outputs so far, mean of the runs with its standard error, rates of "
    "appendix D. Solid: the paper's networks; dashed: rivals; dotted level: the offline solution.",
    runs=10,
    samples=100_000,
    quick=(2, 5_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
    table=table,
)
