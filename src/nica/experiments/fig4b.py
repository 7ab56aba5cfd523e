"""Fig. 4B: weights converge to the predicted ones, and when time-dependent rates diverge."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._drawing import SERIES, error_axes, new_figure, shaded
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs import weights

STARTS = 5  # times as many runs when divergence is counted
DELAYS = (10, 20, 50, 100)  # a of 1 / (a + b t), whose first value is appendix D's
EARLY = 2000  # samples within which a run that diverges has done so
LIMITS = {3: 1e-3, 10: 1e-2}


def plan(setup: Setup) -> list[Job]:
    """Error curves at every d; short runs from many starts at d = 10, to count those that diverge."""
    jobs = []
    for d in _parameters.dimensions():
        rates = _parameters.published("nsm_time", f"d{d}")
        for run in range(setup.runs):
            part = {"d": d, "rates": rates, "run": run, "samples": setup.samples}
            jobs.append(Job(weights, part | {"matrices": d == 3}))
    for a in DELAYS:
        for run in range(STARTS * setup.runs):
            jobs.append(Job(weights, {"d": 10, "rates": (a, 0.01), "run": run, "samples": EARLY}))
    return jobs


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Errors at the end; divergence."""
    verdicts = []
    for d, limit in LIMITS.items():
        errors = results.values("error", d=d, samples=setup.samples)
        if len(errors):
            worst = errors[:, :, -1].max(axis=0)
            means = errors[:, :, -1].mean(axis=0)
            said = (
                f"{figure_of(means[0])} for W_YH and {figure_of(means[1])} for W_YY on average, "
                f"{figure_of(worst[0])} and {figure_of(worst[1])} at worst, of the {len(errors)} of "
                f"{setup.runs} runs that converged."
            )
        else:
            means, said = np.full(2, np.inf), f"none of {setup.runs} runs converged."
        verdicts.append(
            Verdict(
                f"At d = {d} the weights converge to the prediction (normalised error below "
                f"{limit:g}).",
                said,
                bool(np.all(means < limit)),
            )
        )
    return [*verdicts, _divergence(results, setup)]


def _divergence(results: Results, setup: Setup) -> Verdict:
    n = STARTS * setup.runs
    counts = {a: results.diverged(rates=(a, 0.01), samples=EARLY) for a in DELAYS}
    overshot = {
        a: sum(run["overshot"] is not None for run in results.of(rates=(a, 0.01), samples=EARLY))
        for a in DELAYS
    }
    published = {d: results.diverged(d=d, samples=setup.samples) for d in _parameters.dimensions()}
    return Verdict(
        "The network converges with the published time-dependent rates.",
        "diverged, of "
        + f"{setup.runs} runs: "
        + ", ".join(f"{count} at d = {d}" for d, count in published.items())
        + f"; at d = 10, of {n} starts: "
        + ", ".join(f"{count} with a = {a}" for a, count in counts.items())
        + ".",
        not any(published.values()),
        "The step of Oja's rule is y²/(a + b t); beyond 2 it overshoots, and the weights grow. "
        "Before the "
        "outputs are separated one of them can carry all ten sources. With a = 10, "
        f"{overshot[10]} of {n} starts took such steps within {EARLY} samples, and those in which they "
        f"followed each other were lost; with a = 20 it was {overshot[20]}, with a = 50 "
        f"{overshot[50]}. The "
        "activity-dependent rate cannot overshoot: its D contains y².",
    )


def draw(results: Results, setup: Setup) -> Any:
    """Errors of both matrices, and the share of starts that diverge."""
    figure = new_figure(2.5)
    axes = figure.subplots(1, 3, width_ratios=[1.15, 1.15, 0.8])
    for which, (ax, symbol) in enumerate(zip(axes[:2], ("YH", "YY"), strict=True)):
        for j, d in enumerate(_parameters.dimensions()):
            runs = results.converged(d=d, samples=setup.samples)
            if runs:
                curves = [run["error"][which] for run in runs]
                shaded(ax, runs[0]["t"], curves, color=SERIES[j], label=f"$d = {d}$")
        error_axes(ax, setup.samples)
        ax.set(title=f"$W^{{{symbol}}}$", xlabel="samples seen, $t$")
    low = min(ax.get_ylim()[0] for ax in axes[:2])
    high = max(ax.get_ylim()[1] for ax in axes[:2])
    for ax in axes[:2]:
        ax.set_ylim(low, high)
    axes[0].set_ylabel("normalised error of the weights")
    axes[0].legend(loc="lower left", handlelength=1.4)
    n = STARTS * setup.runs
    share = [100 * results.diverged(rates=(a, 0.01), samples=EARLY) / n for a in DELAYS]
    axes[2].bar([str(a) for a in DELAYS], share, color=SERIES[1], width=0.6)
    for j, value in enumerate(share):
        axes[2].annotate(
            f"{value:.0f} %", (j, value), xytext=(0, 2), textcoords="offset points", ha="center"
        )
    axes[2].set(
        title="Diverged, $d = 10$", xlabel="$a$ of the rate $1/(a + 0.01\\,t)$",
        ylabel=f"% of {n} starts", ylim=(0, max(10, 1.25 * max(share))),
    )  # fmt: skip
    return figure


EXPERIMENT = Experiment(
    name="fig4b",
    title="Fig. 4B: weights converge to the prediction",
    caption="Squared distance of the learned from the predicted weights, relative to these; "
    "offline-whitened "
    "input, time-dependent rates of appendix D; mean and standard error of the runs that converged. "
    "Right: "
    "how many starts diverge at d = 10, by the delay of the rate.",
    runs=10,
    samples=100_000,
    quick=(2, 10_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
