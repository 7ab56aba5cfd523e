"""`nica convert`: the same samples in another format."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

from nica.cli import _options as o
from nica.cli._console import end_by, fail, out
from nica.cli._words import as_options

HELP = """
Write the samples of a file in another format, bit for bit.

\b
  nica convert mix.csv mix.parquet
  nica convert trace.mat - --path run3/x --columns 0,2 | head

Formats are told by content and name, as in nica separate; OUT appears whole or not at all.
"""


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", show_default=False, help="What to read.")],
    to_file: Annotated[
        str, typer.Argument(metavar="OUT", show_default=False, help="What to write.")
    ],
    format: o.FormatIn = None,
    to: o.FormatOut = None,
    columns: o.Columns = None,
    path: o.InPath = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    comment: o.Comment = "#",
    skip_bad: o.SkipBad = False,
) -> None:
    """Write samples in another format (see HELP)."""
    from nica.streams import open_chunks, open_sink

    try:
        chunks = open_chunks(
            source, format=format, columns=None if columns is None else columns.split(","), path=path,
            header=header, delimiter=delimiter, decimal=decimal, comment=comment,
            on_bad="skip" if skip_bad else "raise",
        )  # fmt: skip
        with (
            chunks,
            open_sink(
                to_file, format=to, columns=chunks.columns, n_rows=chunks.n_rows, like=chunks
            ) as sink,
        ):
            for X in chunks:
                sink.write(X)
    except BrokenPipeError:
        end_by(signal.SIGPIPE)
    except OSError as error:
        fail(f"{error.strerror}: {error.filename!r}" if error.filename else str(error))
    except (ValueError, TypeError, ImportError) as error:
        fail(as_options(str(error)))
    if to_file != "-":
        out.print(f"Wrote {sink.rows_written:,} samples to {to_file}", markup=False, soft_wrap=True)
