"""Verdicts, and signals with limits: the words that `nica.diagnose` and `health_` share."""

from __future__ import annotations

from dataclasses import dataclass

OK, DOUBTFUL, FAILED, CANNOT_SAY = "OK", "doubtful", "failed", "cannot say"
COLOURS = {OK: "green", DOUBTFUL: "yellow", FAILED: "red", CANNOT_SAY: "magenta"}


@dataclass(frozen=True)
class Signal:
    """One thing that was measured.

    Attributes
    ----------
    name : str
    value : float
    ok, failed : float
        Limits: on which side of them the value must lie is told by which one is larger.
    verdict : {"OK", "doubtful", "failed"}
    finding : str
        What was measured, with the value, in a sentence.
    cause, remedy : str
        Empty if the verdict is OK.
    source : int or None
        The output that it is worst for.
    """

    name: str
    value: float
    ok: float
    failed: float
    verdict: str
    finding: str
    cause: str = ""
    remedy: str = ""
    source: int | None = None


@dataclass(frozen=True)
class Limit:
    """A signal's limits and words; ``{value}`` and ``{source}`` are filled in."""

    ok: float
    failed: float
    finding: str
    cause: str
    remedy: str

    @property
    def at_least(self) -> bool:
        """Whether the value must be above the limits."""
        return self.ok > self.failed

    def compare(self, value: float) -> str:
        """Verdict on a value; NaN has failed."""
        sign = 1 if self.at_least else -1
        if sign * value >= sign * self.ok:
            return OK
        return DOUBTFUL if sign * value >= sign * self.failed else FAILED

    def signal(self, name: str, value: float, verdict: str, source: int | None = None) -> Signal:
        """The signal that says so."""
        finding = self.finding.format(value=value, source=source)
        bad = verdict != OK
        return Signal(
            name, value, self.ok, self.failed, verdict, finding,
            self.cause if bad else "", self.remedy if bad else "", source,
        )  # fmt: skip


def worst(signals: tuple[Signal, ...]) -> str:
    """The worst verdict among some signals."""
    said = {signal.verdict for signal in signals}
    return FAILED if FAILED in said else DOUBTFUL if DOUBTFUL in said else OK


def worst_first(signals: tuple[Signal, ...]) -> tuple[Signal, ...]:
    """Signals that are not OK, the worst first."""
    found = [signal for signal in signals if signal.verdict != OK]
    return tuple(sorted(found, key=lambda signal: signal.verdict != FAILED))
