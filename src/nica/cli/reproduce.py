"""`nica reproduce`: the figures of the paper, drawn again, with a verdict on each claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nica.cli._bars import Bars, processes
from nica.cli._console import out

PAGE = "nica-figures.html"
HELP = f"""
Redraw figures of the paper from runs on this machine, and say which of its claims hold.

\b
  nica reproduce fig3b --quick
  nica reproduce fig4a fig4b --out figures
  nica reproduce all --jobs -1 --report
  nica reproduce fig6a fig6b --images my-photographs

Figures: fig1 fig2 fig3a fig3b fig4a fig4b fig5a fig5b fig6a fig6b sweeps erratum, or all. Each gives \
NAME.png, NAME.svg and NAME.json: parameters, seeds, versions, results. --report puts all into {PAGE}.

Results of runs are kept in OUT/runs as they come. Interrupted, the same command goes on where it stopped.
"""


def reproduce(
    figures: Annotated[
        list[str], typer.Argument(metavar="FIGURE", show_default=False, help="Figures, or all.")
    ],
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the figures.")
    ] = Path("nica-figures"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes, for a first look; nothing is judged.")
    ] = False,
    runs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Runs; else the paper's.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, metavar="T", help="Samples of a run; else the paper's.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Processes; -1 for one on each core.")
    ] = -1,
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with the paper's photographs as TIFF files."),
    ] = None,
    report: Annotated[bool, typer.Option("--report", help=f"Write {PAGE} too.")] = False,
) -> None:
    """Redraw figures of the paper (see HELP)."""
    from nica.experiments import as_html
    from nica.experiments import reproduce as redraw

    with Bars(folder) as bars:
        done = redraw(
            figures, folder, runs=runs, samples=samples, quick=quick, images=images,
            n_jobs=processes(jobs), advance=bars.advance, finished=_show,
        )  # fmt: skip
        if report:
            from nica.report import save

            save(as_html(done), folder / PAGE)
    if report:
        out.print(f"Report: {(folder / PAGE).resolve()}", markup=False, soft_wrap=True)


def _show(done: Any) -> None:
    """One figure: its files, and a line for each claim."""
    files = ", ".join(path.name for path in done.paths.values())
    out.print(f"{done.experiment.title}: {files}", style="bold", markup=False, soft_wrap=True)
    for verdict in done.verdicts:
        mark = {"holds": "green", "differs": "red"}.get(verdict.word, "dim")
        out.print(f"  [{mark}]{verdict.word}[/]", end=" ")
        out.print(verdict.text(), markup=False, soft_wrap=True)
