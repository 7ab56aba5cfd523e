"""What came of a run: counts, speed, neurons, convergence, and where things were written."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nica.networks._samples import Array
from nica.networks._stream import StreamNetwork

if TYPE_CHECKING:
    from nica._job.loop import Run


class Settling:
    """How much the outputs still changed over the last half of what was learned."""

    def __init__(self) -> None:
        self._taken: list[tuple[int, Array]] = []  # at rows that double
        self._next = 1

    def look(self, network: StreamNetwork, learned: int) -> None:
        """Remember the unmixing now and then; the last two are enough."""
        if learned < self._next:
            return
        now = network._map()
        self._next = 2 * learned
        if now is not None:
            self._taken = [*self._taken[-1:], (learned, now)]

    def change(self, network: StreamNetwork) -> tuple[int, float] | None:
        """Row to compare with, and the largest change of an output's weights since, by their size."""
        now = network._map() if network._core is not None else None
        if now is None or not self._taken:
            return None
        row, before = self._taken[0]
        size = np.linalg.norm(now, axis=1)
        change = np.linalg.norm(now - before, axis=1)
        return row, float(np.max(change / np.maximum(size, 1e-300)))


@dataclass(frozen=True)
class Outcome:
    """A run that ended well.

    Attributes
    ----------
    samples : int
        Rows written by now, before a resumption too.
    bad : int
        Rows left out.
    seconds, speed : float
        Of this run, without what was done before a resumption; rows per second.
    n_channels, n_components : int
    silent : list of int
        Outputs that do not fire.
    revived : int
        Times that a lost neuron was started again.
    settled : float or None
        Largest relative change of an output's weights since sample `settled_since`.
    out, model : str or None
        Where outputs and model were written.
    note : str
    """

    samples: int
    bad: int
    seconds: float
    speed: float
    n_channels: int
    n_components: int
    silent: list[int]
    revived: int
    settled_since: int | None
    settled: float | None
    out: str
    model: str | None
    mode: str
    note: str = ""

    @classmethod
    def of(cls, run: Run, rows: int, seconds: float, settled: tuple[int, float] | None) -> Outcome:
        """Gather what a finished run knows."""
        network, job = run.network, run.job
        now = network._scalars()
        causes = dict(network._causes(now))
        silent = [int(cause.split()[1]) for cause in causes if cause.startswith("silent ")]
        since, change = settled or (None, None)
        return cls(
            samples=run.position.rows,
            bad=network.n_bad_samples_ if job.mode != "apply" else run.position.bad,
            seconds=seconds,
            speed=rows / max(seconds, 1e-9),
            n_channels=int(network.n_features_in_),
            n_components=network._n_features_out,
            silent=silent,
            revived=int(now["revived"]),
            settled_since=since,
            settled=change,
            out=job.out if job.out == "-" else os.path.abspath(job.out),
            model=None if job.save is None else os.path.abspath(job.save),
            mode=job.mode,
            note=run.note,
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The same in words."""
        what = "applied the model to" if self.mode == "apply" else "separated"
        lines = [
            f"{what.capitalize()} {self.samples:,} samples of {self.n_channels} channels into "
            f"{self.n_components} sources in {self.seconds:.3g} s ({self.speed:,.0f} samples/s)"
        ]
        if self.note:
            lines.append(self.note.capitalize())
        if self.bad:
            lines.append(f"Left out: {self.bad:,} samples that are no numbers")
        if self.settled is not None and self.mode != "apply":
            lines.append(
                f"Weights: changed by {100 * self.settled:.2g} % since sample {self.settled_since:,}"
            )
        if self.silent:
            lines.append(f"Silent outputs: {', '.join(map(str, self.silent))} (lower -n)")
        if self.revived:
            lines.append(f"Neurons started again: {self.revived}")
        for name, path in (("Sources", self.out), ("Model", self.model)):
            if path is not None and path != "-":
                lines.append(f"{name}: {path}")
        return lines
