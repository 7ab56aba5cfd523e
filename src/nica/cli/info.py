"""`nica info`: what is in a file of samples, a model or a checkpoint; or how this installation is."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer
from rich.table import Table

import nica
from nica.cli import _options as o
from nica.cli._console import fail, out
from nica.cli._words import as_options

HELP = """
Describe a file of samples, a model or a checkpoint; without one, this installation.

\b
  nica info
  nica info mix.parquet
  nica info model.st --json

Of samples, columns are described by the first million numbers.
"""
SOME = 1_000_000  #: numbers of a file that are looked at


def info(
    source: Annotated[
        str | None, typer.Argument(metavar="FILE", show_default=False, help="What to describe.")
    ] = None,
    format: o.FormatIn = None,
    path: o.InPath = None,
    as_json: o.Json = False,
) -> None:
    """Describe a file, or this installation (see HELP)."""
    if source is None:
        nica.show_config()
        return
    try:
        found = _model(source) if _is_model(source) else _samples(source, format, path)
    except OSError as error:
        fail(f"{error.strerror}: {source!r}" if error.strerror else str(error))
    except (ValueError, TypeError, ImportError) as error:
        fail(as_options(str(error)))
    if as_json:
        typer.echo(json.dumps(found))
        return
    channels = found.pop("channels", None)
    for name, value in found.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        out.print(f"{name}: {shown}", markup=False, soft_wrap=True)
    if channels:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in channels[0]:
            table.add_column(name, justify="left" if name == "channel" else "right")
        for channel in channels:
            table.add_row(*map(_cell, channel.values()))
        out.print(table)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value is None else f"{value:.4g}"


def _is_model(source: str) -> bool:
    """Whether a file begins as safetensors do: the length of a JSON object, and that object."""
    if not os.path.isfile(source):
        return False
    with open(source, "rb") as file:
        head = file.read(9)
    return head[8:] == b"{" and int.from_bytes(head[:8], "little") < os.path.getsize(source)


def _model(source: str) -> dict[str, Any]:
    """A model or checkpoint, in words."""
    from nica._job import Checkpoint
    from nica._job.checkpoint import checkpoint_or_model

    found = checkpoint_or_model(source)
    network = found.network if isinstance(found, Checkpoint) else found
    about: dict[str, Any] = {"kind": "model"}
    if isinstance(found, Checkpoint):
        where = found.position
        about = {
            "kind": "checkpoint",
            "run": f"{' '.join(found.job.source)} to {found.job.out}",
            "stage": where.stage,
            "rows done": where.rows,
            "go on with": f"nica separate --resume {source}",
        }
    names = getattr(network, "feature_names_in_", None)
    chosen = {
        name: value if isinstance(value, (int, float)) else str(value)
        for name, value in network.get_params().items()
        if value != type(network)().get_params()[name]
    }
    return {
        **about,
        "network": type(network).__name__,
        "channels seen": int(network.n_features_in_),
        **({} if names is None else {"names": ", ".join(map(str, names))}),
        "outputs": int(network._n_features_out),
        "samples seen": network.n_samples_seen_,
        "samples left out": network.n_bad_samples_,
        "parameters": ", ".join(f"{name}={value}" for name, value in chosen.items()) or "defaults",
    }


def _samples(source: str, format: str | None, path: str | None) -> dict[str, Any]:
    """A file of samples, in words."""
    import numpy as np

    with nica.streams.open_chunks(source, format=format, path=path, on_bad="skip") as chunks:
        k = chunks.n_channels
        held = []
        for chunk in chunks:
            held.append(np.array(chunk))
            if chunks.rows_read * k >= SOME:
                break
        else:
            chunks.n_rows = chunks.rows_read
        about: dict[str, Any] = {"kind": "samples", "format": chunks.format}
        if os.path.isfile(source):
            about["bytes"] = os.path.getsize(source)
        about["samples"] = chunks.n_rows if chunks.n_rows is not None else "more than looked at"
        if chunks.image_shape:
            about["images"] = " x ".join(map(str, chunks.image_shape))
        if held:
            X = np.concatenate(held)
            about["looked at"] = len(X)
            names = chunks.columns or [str(j) for j in range(k)]
            about["channels"] = [_column(name, X[:, j]) for j, name in enumerate(names)]
    return about


def _column(name: str, x: Any) -> dict[str, Any]:
    import numpy as np

    good = x[np.isfinite(x)]
    looks = {"least": "min", "mean": "mean", "most": "max", "deviation": "std"}
    figures = {
        word: float(getattr(good, look)()) if len(good) else None for word, look in looks.items()
    }
    return {"channel": name, **figures, "bad": int(len(x) - len(good))}
