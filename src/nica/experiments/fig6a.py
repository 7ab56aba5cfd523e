"""Fig. 6A: four images, their mixtures, and the images recovered."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.experiments import _parameters
from nica.experiments._drawing import SOFT, new_figure
from nica.experiments._experiment import Experiment, Results, Setup, Verdict
from nica.experiments._jobs import Job
from nica.experiments._runs_images import images

PIXELS = 63 * 63
PRESENTATIONS = 5000
FOUND = 0.99  # a correlation at which one sees no difference


def image_job(algorithm: str, run: int, setup: Setup) -> Job:
    """One run on the images; the first of the two-layer network keeps its images."""
    shown = algorithm == "two_layer" and run == 0
    rates = _parameters.published(algorithm, "images")
    return Job(
        images,
        {
            "algorithm": algorithm, "rates": rates, "run": run, "samples": setup.samples,
            "folder": setup.images, "shown": shown,
        },
    )  # fmt: skip


def plan(setup: Setup) -> list[Job]:
    """The two-layer network from several starts."""
    return [image_job("two_layer", run, setup) for run in range(setup.runs)]


def judge(results: Results, setup: Setup) -> list[Verdict]:
    """Images come back."""
    correlation = results.values("correlation")
    worst = correlation.min(axis=1) if len(correlation) else np.zeros(1)
    names = ", ".join(results.of(run=0)[0].get("names", []))
    return [
        Verdict(
            "Images are recovered from their mixtures.",
            f"{int(np.sum(worst >= FOUND))} of {setup.runs} runs recover all four ({names}) with "
            f"correlations of at least {FOUND}; the worst of all is {worst.min():.4f}.",
            len(worst) == setup.runs and bool(np.all(worst >= FOUND)),
        )
    ]


def draw(results: Results, setup: Setup) -> Any:
    """Rows of sources, mixtures and recovered images."""
    data = results.of(run=0)[0]
    figure = new_figure(5.2)
    axes = figure.subplots(3, 4, gridspec_kw={"hspace": 0.02, "wspace": 0.02})
    rows = {"Sources": "sources", "Mixtures": "mixture", "Recovered": "recovered"}
    for line, (title, key) in zip(axes, rows.items(), strict=True):
        for column, (ax, image) in enumerate(zip(line, np.asarray(data[key]), strict=True)):
            low, high = np.quantile(image, [0.005, 0.995])
            ax.imshow(image.reshape(data["shape"]), cmap="gray", vmin=low, vmax=high)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
            if key == "sources":
                ax.set_title(data["names"][column], loc="center")
            if key == "recovered":
                ax.set_xlabel(f"correlation {data['correlation'][column]:.4f}", color=SOFT)
        line[0].set_ylabel(title)
    return figure


EXPERIMENT = Experiment(
    name="fig6a",
    title="Fig. 6A: images from their mixtures",
    caption="Four images, what the printed 4 × 4 matrix makes of them, and what the two-layer "
    "network recovers "
    "after 5000 presentations of all pixels in permuted orders.",
    runs=10,
    samples=PRESENTATIONS * PIXELS,
    quick=(2, 60 * PIXELS),
    least=PIXELS,
    plan=plan,
    judge=judge,
    draw=draw,
    needs_images=True,
)
