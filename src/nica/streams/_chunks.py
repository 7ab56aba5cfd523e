"""What every reader has in common: columns chosen, rows counted, a place to begin."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ENTRIES = 1 << 18  #: numbers in a chunk unless told: 2 MiB, small for a memory, large for overhead
MAX_CHANNELS = (
    1 << 20
)  #: more than a network could hold; a header that says so is damaged or hostile


@dataclass(frozen=True)
class Reading:
    """How a source is to be read; the options of `open_chunks`."""

    columns: Sequence[str | int] | None = None
    path: str | None = None
    chunk_rows: int | None = None
    start: int = 0
    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    comment: str | None = "#"
    on_bad: str = "raise"


class Chunks:
    """Samples of a source, chunk by chunk; what `open_chunks` returns.

    Iterate over it for float64 arrays (n, n_channels). A file can be gone over again: each iteration
    begins at row `start`. A pipe is read once. It is a context manager, and closes what it opened.

    Attributes
    ----------
    format : str
        Name of the format, one of `nica.streams.FORMATS`.
    name : str
        What was opened, for messages.
    columns : list of str, or None
        Names of the channels, where the source has names.
    n_rows : int or None
        All rows of the source, those before `start` included; None where that is not known beforehand.
    n_channels : int
    rows_read : int
        Rows given out by the present iteration; `start + rows_read` is where to resume.
    image_shape : tuple of int, or None
        Shape of one image where each image is a channel.
    """

    format = ""
    columns: list[str] | None = None
    n_rows: int | None = None
    n_channels = 0
    rows_read = 0
    image_shape: tuple[int, ...] | None = None

    def __init__(self, name: str, reading: Reading) -> None:
        self.name = name
        self.reading = reading
        self.start = reading.start

    def __iter__(self) -> Iterator[Array]:
        self.rows_read = 0
        for chunk in self._chunks():
            if len(chunk):
                self.rows_read += len(chunk)
                yield chunk

    def _chunks(self) -> Iterator[Array]:
        """Chunks from row `start` on; what each format has to tell."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # it may not have been opened to the end
            self.close()

    def __repr__(self) -> str:
        rows = "unknown" if self.n_rows is None else str(self.n_rows)
        return (
            f"<Chunks of {self.name!r}: {self.format}, rows: {rows}, channels: {self.n_channels}>"
        )

    def expected(self) -> int | None:
        """All rows of the source, as far as that can be told by now."""
        return self.n_rows

    # ------------------------------------------------------------------------ for the readers

    def _choose(self, n_columns: int, names: Sequence[str] | None) -> list[int]:
        """Numbers of the columns that were asked for; sets `columns` and `n_channels`."""
        if n_columns < 1:
            raise ValueError(f"{self.name!r} has no columns")
        if n_columns > MAX_CHANNELS:
            raise ValueError(f"{self.name!r} has {n_columns} columns: the limit is {MAX_CHANNELS}")
        wanted = self.reading.columns
        chosen = (
            list(range(n_columns))
            if wanted is None
            else [self._number(column, n_columns, names) for column in wanted]
        )
        if not chosen:
            raise ValueError("columns is empty: name at least one column")
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"columns={list(wanted or ())} names a column twice")
        self.columns = None if names is None else [names[j] for j in chosen]
        self.n_channels = len(chosen)
        return chosen

    def _number(self, column: str | int, n_columns: int, names: Sequence[str] | None) -> int:
        if isinstance(column, str) and names is not None and column in names:
            if list(names).count(column) > 1:
                raise ValueError(
                    f"{self.name!r} has several columns {column!r}: choose by number, "
                    f"0 to {n_columns - 1}"
                )
            return list(names).index(column)
        text = str(column)
        if text.isascii() and text.isdigit() and int(text) < n_columns:
            return int(text)
        has = (
            f"{n_columns} columns without names"
            if names is None
            else ", ".join(repr(n) for n in names[:20]) + (", ..." if len(names) > 20 else "")
        )
        raise ValueError(
            f"{self.name!r} has no column {column!r}: it has {has}; numbers go from 0 to {n_columns - 1}"
        )

    @property
    def step(self) -> int:
        """Rows of a chunk."""
        return self.reading.chunk_rows or max(1, ENTRIES // max(1, self.n_channels))

    def _rest(self, n_rows: int) -> range:
        """First rows of the chunks of a source with a known number of rows."""
        return range(min(self.start, n_rows), n_rows, self.step)


def as_float64(values: Any, name: str) -> Array:
    """Real numbers as contiguous float64; anything else is refused."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name!r} holds {array.dtype} values: give real numbers")
    return np.ascontiguousarray(array, dtype=np.float64)
