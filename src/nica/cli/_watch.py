"""Progress of a run on a terminal: rows, speed, time left, and how well the samples are explained."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from nica._job import Run
from nica.cli._console import err

PAUSE = 0.2  #: seconds between two looks
SOME = 1000  #: samples of a chunk that quality is measured on


class Watcher:
    """Shows a run on standard error if that is a terminal; call it after each chunk."""

    def __init__(self, wanted: bool, resumed: bool, console: Console = err) -> None:
        self.shown = wanted and console.is_terminal
        bar = [BarColumn(bar_width=None)] if console.width >= 72 else []
        self._progress = Progress(
            TextColumn("{task.description}"), *bar, TextColumn("{task.fields[text]}"),
            console=console, disable=not self.shown, transient=True, expand=bool(bar),
        )  # fmt: skip
        self._narrow = console.width < 72
        self._task = self._progress.add_task("Waiting for samples", total=None, text="")
        self._stage: tuple[Any, ...] = ()
        self._begun = time.monotonic()
        self._first = 0
        self._next = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def __call__(self, run: Run, X: Any) -> None:
        """Look at a run that has just done the chunk X."""
        now = time.monotonic()
        stage = run.position.stage, run.position.turn
        if stage != self._stage:
            self._stage, self._first, self._begun = stage, run.position.rows - len(X), self._begun
            self._next = 0.0
        if now < self._next:
            return
        self._next = now + PAUSE
        rows = run.position.rows
        speed = (rows - self._first) / max(now - self._begun, 1e-9)
        parts = [f"{rows:,} rows", f"{_short(speed)}/s"]
        total = run.total
        if total:
            left = max(total - rows, 0) / max(speed, 1e-9)
            parts.append(f"{_time(left)} left")
        if not self._narrow:
            parts.append(_quality(run, X))
        verb = "Learning" if run.position.stage == "learn" else "Separating"
        self._progress.update(
            self._task, description=verb, total=total, completed=rows, text=", ".join(parts)
        )


def _quality(run: Run, X: Any) -> str:
    """Share of the variance that nonnegative sources explain, of samples that just went by."""
    try:
        explained = f"explained {100 * run.network.score(X[-SOME:]):.1f} %"
        return f"{explained}, health {run.network.health_.verdict}"
    except (ValueError, AttributeError):
        return "warming up"


def _short(value: float) -> str:
    for unit in ("", "k"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}M"


def _time(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
