"""A diagnosis as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nica.diagnostics.diagnosis import OK

if TYPE_CHECKING:
    from nica.diagnostics.diagnosis import Diagnosis

MARKS = {"restarts": "o", "halves": "s", "random_halves": "^"}


def draw(d: Diagnosis, fig: Any) -> Any:
    """Spectrum, agreement of the fits, and the distribution of each output."""
    if fig is None:
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("plot() needs matplotlib: pip install nica[plot]") from error
        fig = Figure(figsize=(11, 3.6), layout="constrained")
    fig.suptitle(f"{d.verdict}: {d.reason}", fontsize="medium")
    spectrum, agreement, values = fig.subplots(1, 3)
    if d.rank is not None and len(d.rank.spectrum):
        numbers = np.arange(1, len(d.rank.spectrum) + 1)
        spectrum.semilogy(numbers, d.rank.spectrum, "o-", color="C0")
        spectrum.axvspan(d.rank.low + 0.4, d.rank.high + 0.6, color="C1", alpha=0.25)
        spectrum.axvline(d.n_components + 0.5, color="C3", linestyle="--")
        spectrum.set(
            xlabel="direction",
            ylabel="variance / noise",
            title=f"sources: {d.n_components} asked for, {d.rank.low}–{d.rank.high} seen",
        )
    for name, mark in MARKS.items():
        known = [getattr(source, name) for source in d.sources]
        agreement.plot(known, mark, label=name.replace("_", " "), alpha=0.8)
    agreement.set(
        ylim=(0, 1.05), xlabel="source", ylabel="|correlation|", title="agreement of fits"
    )
    agreement.set_xticks(range(len(d.sources)))
    if d.outputs is not None:
        for j, u in enumerate(d.outputs.T):
            sorted_u = np.sort(u)
            style = "-" if d.sources[j].verdict == OK else "--"
            values.plot(sorted_u, np.linspace(0, 1, len(u)), style, label=f"source {j}")
        values.axvline(0, color="0.6", linewidth=0.8)
        low, high = np.quantile(d.outputs, [0.001, 0.98])
        values.set(
            xlim=(min(low, -0.3), high),
            xlabel="output (standard deviations)",
            ylabel="share of samples below",
            title="values: a source begins at 0",
        )
    for ax in (agreement, values):
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize="x-small", loc="lower right")
    return fig
