"""Draw docs/_static/overview.png, the picture of the README: python docs/make_overview.py.

Left, four images, their mixtures with the paper's matrix, and what nica makes of the mixtures alone:
their pixels are presented 300 times, each time in another order (compare Fig. 6A). Right, the error E_t
of all outputs so far while a stream is learned (compare Fig. 3B).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import nica
from nica.datasets import make_mixture, natural_scenes
from nica.metrics import match_sources, online_error

mpl.use("Agg")
from matplotlib import pyplot as plt

OUT = Path(__file__).parent / "_static" / "overview.png"
PRESENTATIONS, RUNS, T = 300, 10, 100_000
COLOURS = {3: "#0b5d7a", 5: "#2f8f9d", 7: "#d98a29", 10: "#b3402e"}
INK = "#333333"


def show_images(figure):
    """Rows: sources, mixtures, recovered; a column for each image or channel."""
    scenes = natural_scenes()
    model = nica.NICA(n_components=4, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(PRESENTATIONS):
        model.partial_fit(scenes.X[rng.permutation(len(scenes.X))])
    Y = model.transform(scenes.X)
    match = match_sources(scenes.S, Y)
    rows = {
        "images": scenes.S,
        "mixtures": scenes.X,
        "recovered": Y[:, match.permutation],
    }
    place = {
        "left": 0.07,
        "right": 0.99,
        "bottom": 0.02,
        "top": 0.91,
        "hspace": 0.05,
        "wspace": 0.05,
    }
    axes = figure.subplots(3, 4, gridspec_kw=place)
    for line, (name, columns) in zip(axes, rows.items(), strict=True):
        line[0].set_ylabel(name, fontsize=11, color=INK)
        for axis, column in zip(line, columns.T, strict=True):
            low, high = np.quantile(column, [0.005, 0.995])
            axis.imshow(column.reshape(scenes.shape), cmap="gray", vmin=low, vmax=high)
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    axes[0, 0].set_title("Images, from their mixtures alone", loc="left", fontsize=12, color=INK)
    return match


def show_errors(figure):
    """Mean of E_t over the runs, both axes logarithmic."""
    place = {"left": 0.17, "right": 0.84, "bottom": 0.13, "top": 0.91}
    axis = figure.subplots(gridspec_kw=place)
    when = np.unique(np.geomspace(1, T, 400).astype(int)) - 1
    for d, colour in COLOURS.items():
        errors = []
        for seed in range(RUNS):
            mixture = make_mixture(n_samples=T, n_sources=d, random_state=seed)
            Y = nica.NICA(n_components=d, random_state=seed).separate(mixture.X)
            errors.append(online_error(mixture.S, Y)[when])
        mean = np.mean(errors, axis=0)
        axis.loglog(when + 1, mean, color=colour, lw=2)
        axis.annotate(
            f"{d} sources", (T, mean[-1]), xytext=(6, 0), textcoords="offset points",
            va="center", color=colour, fontsize=10,
        )  # fmt: skip
    axis.set_title("A stream, learned while it flows", loc="left", fontsize=12, color=INK)
    axis.set_xlabel("samples seen", color=INK)
    axis.set_ylabel("mean squared error so far, $E_t$", color=INK)
    axis.set_xlim(1, T)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(colors=INK, which="both")
    axis.grid(color="#e4e4e4", lw=0.7)


def main():
    """Draw both halves and say how well the images were recovered."""
    figure = plt.figure(figsize=(11, 4.4), dpi=130)
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.05])
    match = show_images(left)
    show_errors(right)
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, facecolor="white", metadata={"Software": None})
    print(f"Wrote {OUT.name}; correlations of the images: {np.round(match.correlation, 3)}")


if __name__ == "__main__":
    main()
