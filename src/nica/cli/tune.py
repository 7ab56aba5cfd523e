"""`nica tune`: search for rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from nica.cli._bars import Bars, processes
from nica.cli._console import fail, out
from nica.cli._words import number

HELP = """
Choose rates and half-life for a file, without knowing its sources; or search the paper's grids.

\b
  nica tune mix.csv -n 3
  nica tune mix.npy --json
  nica tune --paper fig3b --jobs -1
  nica tune --paper fig3b --only two_layer,nsm_activity
  nica tune --paper fig6b --quick

Of a file, each candidate separates it as a stream and is judged on samples that it has not yet learned; \
what is not surely better than the defaults is not proposed, and often nothing is. How fast the mixture \
drifts is told too.

Of the paper, best rates are shown beside those that it published (its appendix D), and every point is
written to tune-FIGURE.json. Results are kept in OUT/runs as they come: the same command goes on where
it stopped.
"""


def tune(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[IN]", show_default=False, help="File to choose rates for."),
    ] = None,
    n_components: Annotated[
        str | None,
        typer.Option("--n-components", "-n", metavar="N", help="Sources, or auto; else channels."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON.")] = False,
    paper: Annotated[
        str | None,
        typer.Option("--paper", metavar="FIGURE", help="fig3b: random sources; fig6b: images."),
    ] = None,
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
    """Choose rates for a file, or search the paper's grids (see HELP)."""
    if (source is None) == (paper is None):
        raise typer.BadParameter("say what to tune: a file, or --paper FIGURE")
    if source is not None:
        return _file(source, n_components, as_json)
    assert paper is not None
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
    return None


def _file(source: str, n_components: str | None, as_json: bool) -> None:
    import numpy as np

    from nica.streams import open_chunks
    from nica.tuning import tune as choose

    try:
        with open_chunks(source) as chunks:
            X = np.concatenate(list(chunks))
        found = choose(X, number(n_components))
    except OSError as error:
        fail(str(error) if error.filename is None else f"{error.strerror}: {error.filename!r}")
    except (ValueError, TypeError, ImportError) as error:
        fail(str(error))
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for i, name in enumerate(("candidate", "score", "better by", "±")):
        table.add_column(name, justify="right" if i else "left")
    for parameters, score, gain, error_of_gain in found.candidates:
        shown = ", ".join(f"{name}={value}" for name, value in parameters.items())
        table.add_row(shown or "defaults", f"{score:.4g}", f"{gain:.1%}", f"{error_of_gain:.1%}")
    if found.candidates:
        out.print(table)
    out.print(f"Drift: {found.drift}", markup=False, soft_wrap=True)
    out.print(f"Tuning: {found}", markup=False, soft_wrap=True)
