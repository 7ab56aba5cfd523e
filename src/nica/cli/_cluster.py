"""``nica separate --scheduler``: a file to its sources on Dask."""

from __future__ import annotations

import json
import os
from typing import Any

import typer

from nica.cli._console import err, fail, out


def separate_on(
    scheduler: str, source: list[str], to_file: str, facets: bool, network: dict[str, Any],
    reading: dict[str, Any], save: str | None, others: list[str], quiet: bool, as_json: bool,
) -> None:  # fmt: skip
    """Fit on all of one file, separate it with the weights that came of it, say what was done."""
    if others:
        raise typer.BadParameter(f"{', '.join(others)}: not with --scheduler")
    if len(source) != 1 or "-" in (*source, to_file):
        raise typer.BadParameter("--scheduler needs one file IN and -o OUT.zarr, no pipes")
    try:
        from nica.networks import NICA, FacetNICA
        from nica.scale import separate_store

        given = {"random_state": 0, "verbose": int(not quiet), **network}
        model = FacetNICA(**given) if facets else NICA(**{**given, "solver": "batch"})
        facts = separate_store(
            model, source[0], to_file, scheduler=scheduler,
            **{name: reading[name] for name in ("path", "columns") if name in reading},
        )  # fmt: skip
        if save is not None:
            model.save(os.path.abspath(save))
    except (ImportError, OSError, ValueError, TypeError) as error:
        fail(str(error))
    if as_json:
        out.print_json(json.dumps(facts | {"out": os.path.abspath(to_file)}))
    elif not quiet:
        err.print(
            f"{facts['samples']:,} samples of {facts['channels']} channels, {facts['components']} "
            f"sources in {to_file}; not diagnosed: nica diagnose {source[0]}",
            markup=False, soft_wrap=True,
        )  # fmt: skip
