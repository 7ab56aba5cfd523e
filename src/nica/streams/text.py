"""``.csv``, ``.tsv`` and other delimited text: blocks of lines, each parsed by pyarrow.

A block that pyarrow refuses, and the few lines that a pipe has at a time, go through Python's own
`csv`, which is slower, gives the same numbers, and knows the line and column of what is wrong.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from nica._core import lines
from nica.streams._chunks import Array
from nica.streams._lines import EMPTY, BadValue, TextReader

SMALL = 4096  #: bytes below which pyarrow's start takes longer than Python's parsing
THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}")


class Reader(TextReader):
    """Delimited text; what is not said (delimiter, header, decimal mark) is read off the first lines."""

    format = "csv"

    def _begin(self, first: bytes) -> None:
        self._delimiter = self.reading.delimiter or self._guess_delimiter(first)
        if len(self._delimiter) != 1 or not self._delimiter.isascii() or self._delimiter in '"\r\n':
            raise ValueError(f"delimiter={self._delimiter!r}: give one character, as ',' or ';'")
        self._decimal = self.reading.decimal
        if self._decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self._decimal!r}: give '.' or ','")
        if self._decimal == self._delimiter:
            raise ValueError(f"delimiter and decimal are both {self._decimal!r}: they must differ")
        cells = self._cells(first)
        header = self.reading.header
        if header is None:
            header = any(c.strip() and not is_number(c.replace(",", ".")) for c in cells)
        self._header = header
        self._width = len(cells)
        names = [cell.strip() for cell in cells] if header else None
        self._chosen = self._choose(self._width, names)
        self._labels = [names[j] if names else str(j) for j in self._chosen]

    def _guess_delimiter(self, first: bytes) -> str:
        """The first of these outside quotes; numbers in one column need none."""
        if self.format == "tsv":
            return "\t"
        bare = re.sub(rb'"[^"]*"', b"", first).strip()
        for mark in (b"\t", b";", b",", b"|", b" "):
            if mark in bare:
                return mark.decode()
        return ","

    def _cells(self, line: bytes) -> list[str]:
        try:
            text = self._tidy(line).decode()
            return next(csv.reader([text], delimiter=self._delimiter, skipinitialspace=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{self.name!r}: its first line is not text: {error}") from None

    def _body(self, block: bytes) -> bytes:
        return (
            block[self._split(block)[0] :] if self._header else block.removeprefix(b"\xef\xbb\xbf")
        )

    def _tidy(self, text: bytes) -> bytes:
        """With blanks between the columns, any number of them is one."""
        if self._delimiter != " ":
            return text
        return re.sub(rb"(?m)^ +| +\r?$", b"", re.sub(rb"[ \t]+", b" ", text))

    def _parse(self, block: bytes, line: int) -> Array:
        text = self._tidy(block)
        if self._decimal is None:
            self._decimal = self._guess_decimal(text)
            if self._decimal is None:
                return np.empty((0, self.n_channels))
        rows = self._fast(text) if len(text) > SMALL else None
        return self._slow(text, line) if rows is None else rows

    def _guess_decimal(self, text: bytes) -> str | None:
        """The decimal mark, read off the first row; None if there is no row yet."""
        first = self._split(text)[1]
        if not first:
            return None
        marked = [cell for cell in self._cells(first) if "," in cell]
        if self._delimiter == "," or not any(is_number(c.replace(",", ".")) for c in marked):
            return "."
        if all(THOUSANDS.fullmatch(cell.strip()) for cell in marked):
            raise ValueError(
                f"{self.name!r}: {marked[0].strip()!r} may have a decimal comma or a comma between "
                "thousands: say decimal=',' or remove the commas"
            )
        return ","

    # ------------------------------------------------------------------------ two ways to parse

    def _fast(self, text: bytes) -> Array | None:
        """Rows by pyarrow; None if it is missing, or if it finds anything that is not a number."""
        try:
            import pyarrow as pa
            from pyarrow import csv as arrow
        except ImportError:
            return None
        if self._comment and self._comment in text:
            text = re.sub(rb"(?m)^[ \t]*" + re.escape(self._comment) + rb".*\n", b"", text)
        names = [str(j) for j in range(self._width)]
        chosen = [names[j] for j in self._chosen]
        try:
            table = arrow.read_csv(
                pa.BufferReader(text),
                read_options=arrow.ReadOptions(
                    column_names=names, use_threads=False, block_size=max(len(text), 1)
                ),
                parse_options=arrow.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=b'"' in text
                ),
                convert_options=arrow.ConvertOptions(
                    column_types=dict.fromkeys(chosen, pa.float64()), include_columns=chosen,
                    null_values=[], decimal_point=self._decimal, check_utf8=False,
                ),
            )  # fmt: skip
        except (pa.ArrowException, ValueError):
            return None
        rows = np.empty((table.num_rows, self.n_channels))
        for j, column in enumerate(table.columns):
            if column.null_count:
                return None
            rows[:, j] = column.to_numpy()
        return rows

    def _slow(self, text: bytes, line: int) -> Array:
        """Rows by Python, which can say where it failed."""
        lines = text.decode(errors="replace").split("\n")
        lines.pop()
        mark = self._comment.decode()
        kept = ("" if mark and one.lstrip().startswith(mark) else f"{one}\n" for one in lines)
        reader = csv.reader(kept, delimiter=self._delimiter)
        rows: list[list[float]] = []
        try:
            for begun, cells in self._records(reader, line):
                rows.append(self._row(cells, line + begun))
        except BadValue as error:
            error.before = self._array(rows)
            raise
        return self._array(rows)

    def _records(self, reader: Any, line: int) -> Iterator[tuple[int, list[str]]]:
        """Each record that is not blank, with the number of lines before it."""
        begun = 0
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise BadValue(self.name, line + begun, "", str(error)) from None
            if cells is None:
                return
            if len(cells) > 1 or (cells and cells[0].strip()):
                yield begun, cells
            begun = reader.line_num

    def _row(self, cells: list[str], line: int) -> list[float]:
        skip = self.reading.on_bad == "skip"
        if len(cells) != self._width:
            if skip:
                return [np.nan] * self.n_channels
            columns = "1 column" if len(cells) == 1 else f"{len(cells)} columns"
            what = f"it has {columns}, the first line has {self._width}"
            raise BadValue(self.name, line, "", what)
        row = []
        for j, label in zip(self._chosen, self._labels, strict=True):
            cell = cells[j].strip()
            if self._decimal == ",":
                cell = "x" if "." in cell else cell.replace(",", ".")
            if is_number(cell):
                row.append(float(cell))
            elif skip:
                row.append(np.nan)
            else:
                shown = cells[j] if len(cells[j]) <= 40 else cells[j][:40] + "..."
                what = f"{shown!r} is not a number" if shown.strip() else EMPTY
                raise BadValue(self.name, line, label, what)
        return row


class TabReader(Reader):
    """The same with tabs."""

    format = "tsv"


def is_number(cell: str) -> bool:
    """Whether a cell is a number as text files have them: no underscores, no foreign digits."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


class Text:
    """Rows as delimited text, each number with the fewest digits that bring back its bits."""

    def __init__(self, columns: list[str] | None, delimiter: str = ",") -> None:
        self.columns = columns
        self._delimiter = delimiter

    def head(self) -> bytes:
        """The line of names, if there are names."""
        if self.columns is None:
            return b""
        line = io.StringIO()
        writer = csv.writer(line, delimiter=self._delimiter, lineterminator="\n")
        writer.writerow(self.columns)
        return line.getvalue().encode()

    def rows(self, rows: Array) -> bytes:
        """Lines of some rows."""
        before = ["", *[self._delimiter] * (rows.shape[1] - 1)]
        return lines(rows, before, "\n", "")
