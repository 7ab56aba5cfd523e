"""Fig. 1: two sources, their mixture, and the whitened mixture, which is the sources turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments._drawing import INK, SERIES, new_figure
from nica.experiments._experiment import Experiment, Results, Setup, Verdict, figure_of
from nica.experiments._jobs import Job
from nica.experiments._runs import illustration

TRACKED = ("P", "X")


def plan(setup: Setup) -> list[Job]:
    """One draw for each run; the first is drawn."""
    return [Job(illustration, {"run": run, "samples": setup.samples}) for run in range(setup.runs)]


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Whitening keeps similarities (Theorem 2) up to the correlation of the finite sample."""
    turned = results.values("not_orthonormal")
    drawn = results.values("source_correlation")
    return [
        Verdict(
            "Prewhitening leaves an orthogonal transformation of the sources.",
            f"‖(FA)ᵀFA − I‖ is {figure_of(turned.max())} at worst in {setup.runs} draws of "
            f"{setup.samples} samples, whose own covariance is {figure_of(drawn.max())} off the "
            "identity.",
            bool(np.all(turned < 3 * drawn + 0.01)),
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Scatter plots with two samples to follow."""
    data = results.of(run=0)[0]
    figure = new_figure(2.5)
    panels = {
        "sources": "Sources  $s$",
        "mixture": "Mixture  $x = As$",
        "whitened": "Whitened  $h = Fx$",
    }
    for ax, (name, title) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        points = np.asarray(data[name])
        ax.axhline(0, color=INK, linewidth=0.5, zorder=0)
        ax.axvline(0, color=INK, linewidth=0.5, zorder=0)
        ax.scatter(*points.T, s=3, color=SERIES[0], alpha=0.45, linewidths=0, rasterized=True)
        for index, marker, colour in zip(
            data["tracked"], TRACKED, (SERIES[2], SERIES[1]), strict=True
        ):
            ax.scatter(
                *points[index], s=70, marker=marker, color=colour, edgecolor="white", linewidth=0.8
            )
        ax.set_title(title, loc="center")
        ax.set(aspect="equal", xlim=(-1.1, 4.1), ylim=(-1.6, 3.6), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        symbol = title.split("$")[1][0]
        ax.set(xlabel=f"${symbol}_1$", ylabel=f"${symbol}_2$")
    return figure


EXPERIMENT = Experiment(
    name="fig1",
    title="Fig. 1: the two steps of nonnegative ICA",
    caption="Two sources fill a square, which mixing makes a parallelogram and whitening a square "
    "again, "
    "but turned. Plus and cross are two samples that can be followed. The second layer turns it back.",
    runs=10,
    samples=1000,
    quick=(2, 1000),
    least=50,
    plan=plan,
    judge=judge,
    draw=draw,
)
