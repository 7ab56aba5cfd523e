"""Long work on the command line: bars while it runs, one line when it cannot go on or is stopped."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import typer

from nica.cli._console import err, fail, progress


class Bars:
    """A bar for each task, on a terminal only; turns errors and Ctrl-C into one line and an exit code.

    Parameters
    ----------
    folder : Path
        Where runs are kept, for the message after Ctrl-C.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._progress = progress()
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bars:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()
        if isinstance(error, KeyboardInterrupt):
            kept = self._folder / "runs"
            err.print(
                f"nica: stopped; finished runs are kept in {kept}, and the same command goes on there",
                markup=False,
                soft_wrap=True,
            )
            raise typer.Exit(130) from None
        if isinstance(error, OSError):
            named = error.filename is not None
            fail(f"{error.strerror}: {str(error.filename)!r}" if named else str(error))
        if isinstance(error, (ValueError, ImportError)):
            fail(str(error))

    def advance(self, name: str, done: int, total: int) -> None:
        """Show how many runs of a task are done."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total, text="")
        self._progress.update(
            self._tasks[name], completed=done, total=total, text=f"{done:,} of {total:,} runs",
            visible=done < total,
        )  # fmt: skip


def processes(jobs: int) -> int:
    """Check a number of processes."""
    if jobs == 0:
        fail("--jobs 0: give a number of processes, or -1 for one on each core")
    return jobs
