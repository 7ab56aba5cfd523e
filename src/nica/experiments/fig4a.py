"""Fig. 4A: learned weights of the second layer beside the predicted ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._drawing import SERIES, new_figure
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs import weights


def plan(setup: Setup) -> list[Job]:
    """The single layer with time-dependent rates at d = 3; the first run is drawn."""
    rates = _parameters.published("nsm_time", "d3")
    return [
        Job(
            weights,
            {"d": 3, "rates": rates, "run": run, "samples": setup.samples, "matrices": True},
        )
        for run in range(setup.runs)
    ]


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Almost a perfect match."""
    gaps = [
        max(
            np.abs(np.asarray(learned) - np.asarray(theory)).max()
            for learned, theory in zip(result["learned"], result["theory"], strict=True)
        )
        for result in results.converged()
    ]
    worst = max(gaps, default=np.inf)
    return [
        Verdict(
            "Learned weights match eq. stationaryWeights almost perfectly.",
            f"no weight is off by more than {figure_of(worst)}, in {len(gaps)} of {setup.runs} runs "
            f"that ended; weights go up to 1.2.",
            len(gaps) == setup.runs and worst < 0.05,
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Two rows of matrices, learned and predicted, and how they correspond."""
    run = results.converged()[0]
    figure = new_figure(3.6)
    grid = figure.add_gridspec(2, 3, width_ratios=[1, 1, 2.1])
    compared = figure.add_subplot(grid[:, 2])
    ends = [-0.4, 1.3]
    compared.plot(ends, ends, color="#667080", linewidth=0.7)
    for row, (symbol, label) in enumerate((("YH", "feedforward"), ("YY", "lateral"))):
        learned, theory = (np.asarray(run[which][row]) for which in ("learned", "theory"))
        shown = np.ones((3, 3), bool) if symbol == "YH" else ~np.eye(3, dtype=bool)
        for column, (matrix, title) in enumerate(((learned, "learned"), (theory, "predicted"))):
            ax = figure.add_subplot(grid[row, column])
            ax.imshow(np.where(shown, matrix, np.nan), cmap="RdBu_r", vmin=-1.3, vmax=1.3)
            for i, j in np.argwhere(shown):
                colour = "white" if abs(matrix[i, j]) > 0.8 else "#1c1f24"
                text = f"{matrix[i, j]:.3f}".replace("-", "−")
                ax.text(j, i, text, ha="center", va="center", color=colour, size=7)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if row == 0:
                ax.set_title(title, loc="center")
            if column == 0:
                ax.set_ylabel(f"$W^{{{symbol}}}$, {label}")
        points = [
            np.concatenate([np.asarray(other[which][row])[shown] for other in results.converged()])
            for which in ("theory", "learned")
        ]
        compared.plot(
            *points, "ov"[row], color=SERIES[row], markersize=4, alpha=0.6, markeredgewidth=0,
            label=f"$W^{{{symbol}}}$",
        )  # fmt: skip
    compared.set(
        xlabel="predicted",
        ylabel="learned",
        title=f"every weight of {len(results.converged())} runs",
    )
    compared.set_aspect("equal")
    compared.legend(loc="upper left", handletextpad=0.1)
    return figure


EXPERIMENT = Experiment(
    name="fig4a",
    title="Fig. 4A: learned and predicted weights",
    caption="Feedforward and lateral weights of the second layer after one pass, beside eq. "
    "stationaryWeights for the true mixing and moments; right, every weight of every run.",
    runs=10,
    samples=100_000,
    quick=(2, 10_000),
    least=1000,
    plan=plan,
    judge=judge,
    draw=draw,
)
