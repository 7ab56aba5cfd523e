"""`nica diagnose`: whether a separation of this file can be believed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from nica.cli._console import fail, out
from nica.cli._words import number

HELP = """
Say whether the sources that nica finds in a file can be believed, and if not, why and what to do.

\b
  nica diagnose mix.csv -n 3
  nica diagnose mix.npy -n auto --report trust.html
  nica diagnose mix.csv --model m.safetensors --json

Fits from other seeds and on parts of the samples must agree, and more: docs/trust.md has each signal, \
and how often the verdict is wrong. Of long files an even selection of 20,000 samples is looked at.

Exit codes: 0 whatever the verdict, 1 error; with --strict 3 if it has failed or nothing can be said.
"""


class Verdict(StrEnum):
    """Verdicts that --strict ends on with an exit code."""

    failed = "failed"
    cannot_say = "cannot say"


def diagnose(
    source: Annotated[
        str,
        typer.Argument(
            metavar="IN", show_default=False, help="File to read; - for standard input."
        ),
    ],
    n_components: Annotated[
        str | None,
        typer.Option(
            "--n-components",
            "-n",
            metavar="N",
            help="Number of sources, or auto; else of channels.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="FILE", help="Diagnose what this model separates."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="A line of JSON instead of text.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page of HTML too.")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 3 unless the verdict is OK or doubtful.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the fits.")] = 0,
    columns: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Channels, by name or number from 0; else all."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="Format of the file; else told by itself.")
    ] = None,
) -> None:
    """Say whether the sources found in a file can be believed (see HELP)."""
    from nica import load
    from nica.diagnostics import diagnose as look
    from nica.streams import open_chunks

    try:
        wanted = number(n_components)
        fitted = None if model is None else load(model)
        names = None if columns is None else columns.split(",")
        with open_chunks(source, columns=names, format=format) as chunks:
            found = look(chunks, wanted, fitted, random_state=seed)
        if report is not None:
            _write(found, source, report)
    except OSError as error:
        fail(str(error) if error.filename is None else f"{error.strerror}: {error.filename!r}")
    except (ValueError, TypeError, ImportError) as error:
        fail(str(error))
    if as_json:
        typer.echo(found.to_json())
    else:
        out.print(found)
    if report is not None and not as_json:
        out.print(f"Report: {report.resolve()}", markup=False, soft_wrap=True)
    if strict and found.verdict in list(Verdict):
        raise typer.Exit(3)


def _write(found: Any, source: str, path: Path) -> None:
    from nica import report

    report.save(report.diagnosed(found, source=source), path)
