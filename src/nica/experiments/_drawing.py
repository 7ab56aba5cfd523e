"""How all figures of the experiments look: sizes, colours of the algorithms, curves with shades."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nica import plotting
from nica.experiments._algorithms import ALGORITHMS
from nica.experiments._experiment import Results, mean_and_error

WIDTH = 7.0  # inches: two columns of a journal
INK, SOFT, LINE = "#1c1f24", "#667080", "#e3e6ea"
_BLUE, _RED, _GREEN, _PURPLE, _OCHRE, _DARK = plotting.colors(6)
#: Colour and dash of each algorithm: the paper's own are solid and wide, rivals dashed.
LOOKS: dict[str, dict[str, Any]] = {
    "two_layer": {"color": _BLUE, "linestyle": "-", "linewidth": 1.8},
    "nsm_activity": {"color": _GREEN, "linestyle": "-", "linewidth": 1.8},
    "nsm_time": {"color": _DARK, "linestyle": "-", "linewidth": 1.4},
    "projected_gradient": {"color": SOFT, "linestyle": (0, (1, 1)), "linewidth": 1.4},
    "nonnegative_pca": {"color": _RED, "linestyle": (0, (5, 1.5)), "linewidth": 1.2},
    "online_fastica": {"color": _PURPLE, "linestyle": (0, (5, 1.5, 1, 1.5)), "linewidth": 1.2},
    "infomax": {"color": _OCHRE, "linestyle": (0, (3, 1)), "linewidth": 1.2},
    "linsker": {"color": "#3f3f3f", "linestyle": (0, (1, 1.4)), "linewidth": 1.2},
}
SERIES = plotting.colors(6)


def new_figure(height: float, width: float = WIDTH) -> Any:
    """Give an empty figure that no window knows of."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def shaded(ax: Any, t: ArrayLike, curves: Any, **look: Any) -> None:
    """Draw the mean of the runs on logarithmic axes, and its standard error as a shade."""
    mean, error = mean_and_error(np.asarray(curves))
    ax.plot(t, mean, **look)
    if np.any(error > 0):
        low = np.maximum(mean - error, mean / 10)
        ax.fill_between(t, low, mean + error, color=look["color"], alpha=0.18, linewidth=0)


def error_axes(ax: Any, samples: int, bottom: float | None = None) -> None:
    """Make both axes logarithmic, over samples seen."""
    ax.set(xscale="log", yscale="log", xlim=(1, samples))
    if bottom is not None:
        ax.set_ylim(bottom=bottom)
    ax.grid(visible=True, which="major")
    ax.tick_params(which="minor", length=1.5)


def legend_below(figure: Any, handles: Any, labels: Any, columns: int = 4) -> None:
    """Put one legend under all panels."""
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.6)


def strips(figure: Any, columns: dict[str, tuple[Any, list[str]]], notes: dict[str, str]) -> None:
    """Draw columns of signals, one below the other, all of a column on one scale.

    Parameters
    ----------
    figure : matplotlib Figure
    columns : dict
        Title to signals (n_samples, n_signals) and their colours.
    notes : dict
        Title to what stands under the column.
    """
    axes = figure.subplots(1, len(columns))
    for ax, (title, (signals, colours)) in zip(axes, columns.items(), strict=True):
        values = np.asarray(signals, dtype=float)
        gap = 0.1 * float(np.ptp(values))
        base = 0.0
        for signal, colour in zip(values.T, colours, strict=True):
            base -= max(float(signal.max()), 0.0)
            ax.axhline(base, color=LINE, linewidth=0.8)
            ax.plot(signal + base, color=colour, linewidth=1.0)
            base += min(float(signal.min()), 0.0) - gap
        ax.set(xlim=(0, len(values) - 1), ylim=(base + gap / 2, gap / 2), xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(title, loc="center")
        ax.set_xlabel(notes.get(title, ""), color=SOFT, fontsize="small")


def algorithm_curves(
    ax: Any, results: Results, names: list[str], **parameters: Any
) -> dict[str, Any]:
    """Draw E_t of each algorithm; the offline one, which has no time, as a level.

    Returns
    -------
    dict
        Label to the line that stands for it in a legend.
    """
    from matplotlib.lines import Line2D

    handles: dict[str, Any] = {}
    for name in names:
        runs = results.converged(algorithm=name, **parameters)
        look = LOOKS[name]
        handles[ALGORITHMS[name].label] = Line2D([], [], **look)
        if not runs:
            continue
        if name == "projected_gradient":
            ax.axhline(np.mean([run["final"] for run in runs]), **look)
        else:
            shaded(ax, runs[0]["t"], [run["error"] for run in runs], **look)
    return handles
