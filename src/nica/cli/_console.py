"""Where the verbs write to: results to standard output, all else to standard error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def fail(message: str) -> NoReturn:
    """Say in one line what is wrong, and end with exit code 1."""
    err.print(f"nica: {message}", markup=False, soft_wrap=True)
    raise typer.Exit(1)


def end_by(number: int) -> NoReturn:
    """End by a signal, as the shell wants to see it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    raise typer.Exit(128 + number)  # where signals are blocked


def progress() -> Progress:
    """Give a bar with a free text at its end, shown on a terminal only."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        console=err,
        disable=not err.is_terminal,
        transient=True,
    )
