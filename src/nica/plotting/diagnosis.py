"""The panel of a diagnosis: spectrum, reliability of each source, values near zero."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nica.plotting._display import Display
from nica.plotting._style import dash
from nica.plotting.spectrum import SpectrumDisplay

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

MARKS = {"restarts": "o", "halves": "s", "random_halves": "^"}


class DiagnosisDisplay(Display):
    """What `nica.diagnose` found, in three panels under its verdict.

    Left, how many sources the channels show. In the middle, how well the fits agree on each source. On
    the right, the values of each output in order: a source begins at zero. With a model, see
    ``nica.diagnose(X, model=model).plot()``.

    Parameters
    ----------
    diagnosis : nica.diagnostics.Diagnosis

    Attributes
    ----------
    ax_ : array of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import nica
    >>> A = nica.datasets.mixing(8, 3, condition=5, random_state=0)
    >>> X = nica.datasets.make_mixture(n_samples=5000, A=A, noise=0.05, random_state=0).X
    >>> display = nica.plotting.DiagnosisDisplay.from_data(nica.diagnose(X, 3))
    >>> display.ax_[0, 0].get_title("left")
    '3 sources taken, 3 seen'
    """

    def __init__(self, diagnosis: Any) -> None:
        self.diagnosis = diagnosis

    @classmethod
    def from_data(cls, diagnosis: Any, *, ax: Any = None) -> Self:
        """Draw a diagnosis.

        Parameters
        ----------
        diagnosis : nica.diagnostics.Diagnosis
        ax : matplotlib Axes, default=None

        Returns
        -------
        DiagnosisDisplay
        """
        return cls(diagnosis).plot(ax)

    def _grid(self) -> dict[str, Any]:
        return {"ncols": 3, "squeeze": False}

    def _size(self) -> tuple[float, float]:
        return 10.0, 3.3

    def _draw(self, p: Palette) -> None:
        d = self.diagnosis
        spectrum, agreement, values = self.ax_[0]
        verdict = textwrap.fill(f"{d.verdict}: {d.reason}", 110)
        if len(self.figure_.axes) == 3:
            self.figure_.suptitle(verdict, x=0.01, ha="left")
        if d.rank is not None and len(d.rank.spectrum):
            SpectrumDisplay(d.rank, n_components=d.n_components).plot(spectrum)
        else:
            _empty(spectrum, "no spectrum", p)
        if d.sources:
            self._agreement(agreement, p)
        else:
            _empty(agreement, "no fits to compare", p)
        if d.outputs is not None:
            self._values(values, p)
        else:
            _empty(values, "no outputs", p)

    def _agreement(self, ax: Any, p: Palette) -> None:
        sources = self.diagnosis.sources
        for (name, mark), colour in zip(MARKS.items(), p.series, strict=False):
            known = [getattr(source, name) for source in sources]
            label = name.replace("_", " ")
            ax.plot(known, mark, color=colour, label=label, alpha=0.85, mew=0, ls="")
        ax.set(ylim=(0, 1.05), xlabel="source", ylabel="|correlation|")
        ax.set_title("agreement of fits")
        ax.set_xlim(-0.5, len(sources) - 0.5)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend(loc="lower left", fontsize="x-small")

    def _values(self, ax: Any, p: Palette) -> None:
        outputs = self.diagnosis.outputs
        share = np.linspace(0, 1, len(outputs))
        for j, u in enumerate(outputs.T):
            colour = p.series[j % len(p.series)]
            ax.plot(np.sort(u), share, linestyle=dash(j), color=colour, label=f"source {j}", lw=1.3)
        ax.axvline(0, color=p.soft, lw=0.7, zorder=0)
        low, high = np.quantile(outputs, [0.001, 0.98])
        ax.set(xlim=(min(low, -0.3), high), xlabel="output (standard deviations)")
        ax.set(ylabel="share of samples below")
        ax.set_title("values: a source begins at 0")
        if outputs.shape[1] <= 8:
            ax.legend(loc="lower right", fontsize="x-small")


def _empty(ax: Any, why: str, p: Palette) -> None:
    ax.set_axis_off()
    ax.text(0.5, 0.5, why, ha="center", va="center", color=p.soft, transform=ax.transAxes)
