"""`open_chunks` and `open_sink`: any source as chunks, any path as a place for outputs."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nica.streams._chunks import Chunks, Reading
from nica.streams._lines import Source
from nica.streams._registry import HEAD, Format, named, of_content, of_name
from nica.streams._sink import Sink


def open_chunks(
    source: Any,
    *,
    format: str | None = None,
    columns: Sequence[str | int] | None = None,
    path: str | None = None,
    chunk_rows: int | None = None,
    start: int = 0,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    comment: str | None = "#",
    on_bad: str = "raise",
) -> Chunks:
    r"""Open a file or a pipe as chunks of samples.

    Parameters
    ----------
    source : str, path, binary file, or list of paths
        What to read; ``"-"`` is standard input. A pipe gives each line as soon as it is there. A folder
        is a zarr store or holds images; a list or a pattern (``"cell*.tif"``) names images.
    format : str, optional
        One of `nica.streams.FORMATS`; otherwise told by the content, then by the extension.
    columns : list of str or int, optional
        The channels, by name or by number from 0, in this order; otherwise all.
    path : str, optional
        The dataset inside the file, where a file can hold several.
    chunk_rows : int, optional
        Most rows of a chunk; otherwise as many as make 2 MiB. Never changes a result.
    start : int, default=0
        First row to give, to resume.
    header : bool, optional
        Whether text begins with a line of names; otherwise it does if not all of it are numbers.
    delimiter, decimal : str, optional
        Marks between columns and in numbers; otherwise read off the first lines.
    comment : str or None, default="#"
        Lines that begin so are left out.
    on_bad : {"raise", "skip"}
        What to do with a cell that is not a number. With "skip" it becomes NaN, and a network with
        ``on_bad="skip"`` leaves the row out, with NaN in its place.

    Returns
    -------
    chunks : Chunks

    Examples
    --------
    >>> import io
    >>> from nica.streams import open_chunks
    >>> with open_chunks(io.BytesIO(b"left,right\n1,2\n3,4.5\n")) as chunks:
    ...     chunks.columns, list(chunks)
    (['left', 'right'], [array([[1. , 2. ],
           [3. , 4.5]])])
    """
    if on_bad not in ("raise", "skip"):
        raise ValueError(f"on_bad={on_bad!r}: give 'raise' or 'skip'")
    if start < 0:
        raise ValueError(f"start={start}: give a row number, 0 or more")
    if chunk_rows is not None and chunk_rows < 1:
        raise ValueError(f"chunk_rows={chunk_rows}: give at least 1")
    reading = Reading(
        columns, path, chunk_rows, start, header, delimiter, decimal, comment, on_bad
    )  # fmt: skip
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        return _of_stream(Source(sys.stdin.buffer, "standard input", waits=True), format, reading)
    if hasattr(source, "read"):
        name = str(getattr(source, "name", "the stream"))
        return _of_stream(Source(source, name, waits=True), format, reading)
    if isinstance(source, (list, tuple)):
        return _images([Path(path) for path in source], format, reading)
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"source is {type(source).__name__}: give a path, '-' or a binary file")
    where = Path(source)
    if not where.exists():
        if glob.has_magic(str(source)):
            return _images(
                [Path(path) for path in glob.glob(str(source))], format, reading, str(source)
            )
        raise FileNotFoundError(f"no file {os.fspath(where)!r}")
    if where.is_dir():
        return _reader(_of_folder(where, format), where, reading)
    if not where.is_file():
        return _of_stream(Source.of_path(where), format, reading)
    with open(where, "rb") as file:
        head = file.read(HEAD)
    if not head:
        raise ValueError(f"{os.fspath(where)!r} is empty")
    chosen = _format(format, head, str(where))
    return _reader(chosen, where, reading)


def _of_stream(source: Source, format: str | None, reading: Reading) -> Chunks:
    chosen = _format(format, source.peek(), "")
    if not chosen.pipe:
        raise ValueError(
            f"{source.name} holds {chosen.name} data, which cannot be read from a pipe: save it in a file"
        )
    return _reader(chosen, source, reading)


def _format(format: str | None, head: bytes, path: str) -> Format:
    if format is not None:
        return named(format)
    return named(of_content(head) or of_name(path) or "csv")


def _images(
    paths: list[Path], format: str | None, reading: Reading, pattern: str | None = None
) -> Chunks:
    """Several files, which can only be images; those of a pattern in the order people count."""
    if not paths:
        raise FileNotFoundError(f"no file matches {pattern!r}" if pattern else "the list is empty")
    if format not in (None, "images", "tiff"):
        raise ValueError(f"format={format!r}: only images can be read from several files")
    for path in paths:
        if of_name(str(path)) not in (None, "images", "tiff"):
            raise ValueError(
                f"{os.fspath(path)!r} is no image: only images can be read from several files; give "
                "others one by one"
            )
    module = named("images").load()
    order = sorted(paths, key=module.natural) if pattern else paths
    chunks: Chunks = module.Reader(order, reading)
    return chunks


def _of_folder(where: Path, format: str | None) -> Format:
    """A zarr store can be known by a file in it; other folders hold images."""
    store = any((where / mark).exists() for mark in ("zarr.json", ".zarray", ".zgroup"))
    chosen = named(format or ("zarr" if store else None) or of_name(str(where)) or "images")
    if not chosen.folder:
        raise IsADirectoryError(
            f"{os.fspath(where)!r} is a folder: {chosen.name} data is in a file"
        )
    return chosen


def _reader(format: Format, source: Path | Source, reading: Reading) -> Chunks:
    module = format.load()
    reader = module.TabReader if format.name == "tsv" else module.Reader
    chunks: Chunks = reader(source, reading)
    return chunks


def open_sink(
    path: Any,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    n_rows: int | None = None,
    like: Chunks | None = None,
    resume_at: dict[str, Any] | None = None,
) -> Sink:
    """Open a place for outputs; the file appears whole under its final name, or not at all.

    Parameters
    ----------
    path : str or path
        The final name; ``"-"`` is standard output. A file that is there is replaced on `Sink.commit`.
    format : str, optional
        One of `nica.streams.FORMATS`; otherwise told by the extension, CSV on a pipe.
    columns : list of str, optional
        Names of the outputs, for formats that have names; CSV then begins with a header.
    n_rows : int, optional
        How many rows will come, if known.
    like : Chunks, optional
        Where the samples come from: if each image was a channel, each output is an image of that
        shape, in a TIFF stack (``.tif``) or a folder (a name without extension).
    resume_at : dict, optional
        What `Sink.checkpoint` returned: go on from there. The rows behind it are dropped, so that the
        whole output is, bit for bit, that of an uninterrupted run.

    Returns
    -------
    sink : Sink

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from nica.streams import open_sink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = pathlib.Path(folder) / "sources.csv"
    ...     with open_sink(out, columns=["a", "b"]) as sink:
    ...         sink.write(np.array([[0.1, 2.5]]))
    ...     print(out.read_text(), end="")
    a,b
    0.1,2.5
    """
    names = None if columns is None else [str(name) for name in columns]
    if str(path) == "-":
        if sys.stdout is None:
            raise ValueError("standard output is closed: give the name of a file")
        return _pipe(sys.stdout.buffer, "-", format or "csv", names, resume_at)
    where = Path(path)
    name = format or of_name(str(where))
    if name is None and not where.suffix and getattr(like, "image_shape", None):
        name = "images"
    if where.exists() and not where.is_file() and not where.is_dir():
        return _pipe(open(where, "wb"), str(where), name or "csv", names, resume_at)
    if name is None:
        raise ValueError(f"{str(where)!r}: its extension names no format; add one, or say format=")
    chosen = named(name)
    if where.is_dir() and not chosen.folder:
        raise IsADirectoryError(f"{str(where)!r} is a folder: give the name of a file")
    module = chosen.load()
    if chosen.pipe:
        from nica.streams.pipe import TextSink

        return TextSink(where, resume_at, _encoder(chosen, names), chosen.name)
    sink: Sink = module.Writer(where, resume_at, columns=names, n_rows=n_rows, like=like)
    return sink


def _pipe(
    stream: Any, path: str, format: str, names: list[str] | None, resume_at: dict[str, Any] | None
) -> Sink:
    from nica.streams.pipe import PipeSink

    chosen = named(format)
    if not chosen.pipe:
        raise ValueError(f"{chosen.name} cannot be written to a pipe: give the name of a file")
    return PipeSink(stream, path, resume_at, _encoder(chosen, names), chosen.name)


def _encoder(format: Format, names: list[str] | None) -> Any:
    from nica.streams import ndjson, text

    if format.name == "ndjson":
        return ndjson.Lines(names)
    return text.Text(names, "\t" if format.name == "tsv" else ",")
