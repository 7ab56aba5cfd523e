"""`nica tune`: search for rates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from nica.cli._bars import Bars, processes
from nica.cli._console import out

HELP = """
Search the paper's grids for the best learning rates, on all cores.

\b
  nica tune --paper fig3b --jobs -1
  nica tune --paper fig3b --only two_layer,nsm_activity
  nica tune --paper fig6b --quick

Best rates are shown beside those that the paper published (its appendix D), and every point is \
written to tune-FIGURE.json. Results are kept in OUT/runs as they come: the same command goes on where \
it stopped.
"""


def tune(
    paper: Annotated[
        str, typer.Option("--paper", metavar="FIGURE", help="fig3b: random sources; fig6b: images.")
    ],
    only: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Algorithms; else all of the figure.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder of the results.")
    ] = Path("nica-figures"),
    quick: Annotated[
        bool, typer.Option("--quick", help="One short run of each, d = 3 only.")
    ] = False,
    runs: Annotated[int | None, typer.Option(min=1, metavar="N", help="Runs; else 3.")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, metavar="T", help="Samples of a run; else 100,000.")
    ] = None,
    jobs: Annotated[
        int, typer.Option(metavar="N", help="Processes; -1 for one on each core.")
    ] = -1,
) -> None:
    """Search the paper's grids for rates (see HELP)."""
    from nica.experiments import search
    from nica.experiments._grid import HEADINGS

    with Bars(folder) as bars:
        found = search(
            paper, folder, algorithms=None if only is None else only.split(","), runs=runs,
            samples=samples, quick=quick, n_jobs=processes(jobs), advance=bars.advance,
        )  # fmt: skip
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(HEADINGS):
        table.add_column(name, justify="right" if i in (2, 3) else "left")
    for best in found:
        table.add_row(*best.row())
    out.print(table)
    out.print(f"All points: {folder / f'tune-{paper}.json'}", markup=False, soft_wrap=True)
