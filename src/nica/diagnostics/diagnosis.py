"""What a diagnosis says: the verdict, the signals behind it, each source, and how it is shown."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nica._signals import CANNOT_SAY, DOUBTFUL, FAILED, OK, Signal, worst_first
from nica.rank import Rank

if TYPE_CHECKING:
    from rich.console import Group

    from nica.plotting import DiagnosisDisplay
    from nica.report import Html

Array = NDArray[np.float64]

MEANINGS = {
    OK: "nothing speaks against these sources",
    DOUBTFUL: "some of these sources may be wrong: look at the causes before using them",
    FAILED: "do not use these sources",
    CANNOT_SAY: "no verdict is possible",
}


@dataclass(frozen=True)
class Source:
    """How reliable one output is: the verdict of the signals that are known for each of them.

    Attributes
    ----------
    index : int
        Column of the outputs.
    verdict : {"OK", "doubtful", "failed"}
    restarts, halves, random_halves : float
        Least absolute correlation with the matched output of the other fits.
    second : float
        ``1 - |r|`` with what independence makes of it, beyond sampling error.
    negative : float
        Mean square of what its linear output has below zero, for unit variance.
    lowest : float
        Its 1 % quantile, in standard deviations.
    slack : float
        Degrees that it can turn against another output and remain as nonnegative.
    """

    index: int
    verdict: str
    restarts: float
    halves: float
    random_halves: float
    second: float
    negative: float
    lowest: float
    slack: float


@dataclass(frozen=True)
class Diagnosis:
    """Outcome of `nica.diagnose`: shown as text, by rich, in a notebook, as JSON or as a plot.

    Attributes
    ----------
    verdict : {"OK", "doubtful", "failed", "cannot say"}
    reason : str
        The verdict in a sentence.
    signals : tuple of Signal
        All that was measured; the worst verdict of them is the verdict.
    sources : tuple of Source
    assumptions : dict of str to str
        Assumptions that X seems to break, and the evidence.
    obstacles : tuple of str
        Why nothing can be said, if so.
    rank : Rank or None
        Estimate of the number of sources, with the spectrum.
    n_components, n_samples, n_used, n_channels : int
        Number of sources asked for, samples given and looked at, channels.
    model : estimator or None
        The fitted model that was diagnosed.
    """

    verdict: str
    reason: str
    n_components: int
    n_samples: int
    n_used: int
    n_channels: int
    signals: tuple[Signal, ...] = ()
    sources: tuple[Source, ...] = ()
    assumptions: dict[str, str] = field(default_factory=dict)
    obstacles: tuple[str, ...] = ()
    rank: Rank | None = None
    model: Any = None
    outputs: Array | None = field(default=None, repr=False)

    @property
    def troubles(self) -> tuple[Signal, ...]:
        """Signals that are not OK, the worst first."""
        return worst_first(self.signals)

    @property
    def looked_at(self) -> str:
        """What the verdict rests on, with the error that leaving samples out brings."""
        channels = f"{self.n_channels} channel{'s' if self.n_channels != 1 else ''}"
        if self.n_used >= self.n_samples:
            return f"{self.n_samples:,} samples of {channels}, all of them looked at"
        error = 1 / math.sqrt(max(self.n_used, 1))
        return (
            f"{self.n_samples:,} samples of {channels}, of which {self.n_used:,} evenly spread ones were "
            f"looked at (shares and correlations are known to ±{error:.1g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """All that is known, as plain numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
            Ready for JSON: what is not finite is None.
        """
        found: dict[str, Any] = {
            "verdict": self.verdict,
            "reason": self.reason,
            "n_components": self.n_components,
            "n_samples": self.n_samples,
            "n_used": self.n_used,
            "n_channels": self.n_channels,
            "obstacles": list(self.obstacles),
            "signals": [vars(signal) for signal in self.signals],
            "sources": [vars(source) for source in self.sources],
            "assumptions": dict(self.assumptions),
            "rank": None,
        }
        if self.rank is not None:
            found["rank"] = {**vars(self.rank), "spectrum": self.rank.spectrum.tolist()}
        plain: dict[str, Any] = _plain(found)
        return plain

    def to_json(self) -> str:
        """`to_dict` as a line of JSON.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        from nica.diagnostics._show import as_text

        return as_text(self)

    def __rich__(self) -> Group:
        from nica.diagnostics._show import as_rich

        return as_rich(self)

    def parts(self) -> tuple[Html, ...]:
        """Pieces of `nica.report`, for a page.

        Returns
        -------
        tuple of Html
        """
        from nica.diagnostics._show import as_html

        return as_html(self)

    def _repr_html_(self) -> str:
        return "\n".join(self.parts())

    def plot(self, ax: Any = None) -> DiagnosisDisplay:
        """Draw spectrum, reliability of each source, and its values near zero; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        nica.plotting.DiagnosisDisplay
            The figure is its ``figure_``.
        """
        from nica.plotting import DiagnosisDisplay

        return DiagnosisDisplay(self).plot(ax)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
