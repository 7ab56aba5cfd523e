"""``.parquet``: columns by name, some rows at a time, whatever the size of the row groups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nica.streams._bare import BareSink
from nica.streams._chunks import Array, Chunks, Reading
from nica.streams._guard import guard, guarded

BUFFER = 1 << 18  #: bytes of a column read at once
GROUP = 1 << 20  #: numbers in a row group that is written


class Reader(Chunks):
    """Columns of numbers; an index that pandas stored is no channel, unless it is asked for."""

    format = "parquet"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        with guard(self.name, "Parquet"):
            self._file = pq.ParquetFile(
                path,
                memory_map=False,
                buffer_size=BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            about = self._file.metadata
            self._schema = self._file.schema_arrow
            names = list(self._schema.names)
            self._groups = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            self.n_rows = about.num_rows
        if any(rows < 0 for rows in self._groups) or sum(self._groups) != self.n_rows:
            raise ValueError(f"{self.name!r} contradicts itself about its number of rows")
        if reading.columns is None:
            names = self._without_index(names)
        self._names = [names[j] for j in self._choose(len(names), names)]
        self._check_types(names)

    def _without_index(self, names: list[str]) -> list[str]:
        try:
            index = json.loads((self._schema.metadata or {})[b"pandas"])["index_columns"]
            return [name for name in names if name not in index]
        except (KeyError, ValueError, TypeError, RecursionError):
            return names

    def _check_types(self, names: list[str]) -> None:
        numbers = [
            name for name in names
            if self._schema.names.count(name) == 1 and _real(self._schema.field(name).type)
        ]  # fmt: skip
        for name in self._names:
            if self._schema.names.count(name) > 1:
                raise ValueError(
                    f"{self.name!r} has several columns {name!r}: give each its own name"
                )
            if name not in numbers:
                shown = ", ".join(map(repr, numbers[:20])) or "none"
                raise ValueError(
                    f"{self.name!r}: column {name!r} holds {str(self._schema.field(name).type)[:60]} "
                    f"values: choose from those with real numbers, columns=[{shown}]"
                )

    def _chunks(self) -> Iterator[Array]:
        row = 0
        for group, rows in enumerate(self._groups):
            if row + rows > self.start:
                yield from self._group(group, row)
            row += rows

    def _group(self, group: int, row: int) -> Iterator[Array]:
        """Rows of a row group from row `start` on; `row` is the number of its first."""
        end = row + self._groups[group]
        batches = self._file.iter_batches(
            self.step, row_groups=[group], columns=self._names, use_threads=False
        )
        for batch in guarded(self.name, "Parquet", batches):
            skip = max(0, min(self.start - row, batch.num_rows))
            if skip < batch.num_rows:
                yield self._rows(batch.slice(skip), row + skip)
            row += batch.num_rows
        if row != end:
            raise ValueError(f"{self.name!r} was cut off: row {row} is missing")

    def _rows(self, batch: pa.RecordBatch, row: int) -> Array:
        rows = np.empty((batch.num_rows, self.n_channels))
        for j, name in enumerate(self._names):
            with guard(self.name, "Parquet"):
                column = batch.column(name)
                if column.type != pa.float64():
                    column = column.cast(pa.float64(), safe=False)
                null = None if column.null_count == 0 else column.is_null().to_numpy(False)
                rows[:, j] = column.to_numpy(zero_copy_only=False)
            if null is not None:
                if self.reading.on_bad != "skip":
                    raise ValueError(
                        f"{self.name}: row {row + int(null.argmax())}, column {name!r} is null; "
                        "on_bad='skip' leaves such rows out"
                    )
                rows[null, j] = np.nan
        return rows

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Writer(BareSink):
    """A float64 column for each output."""

    format = "parquet"

    def finish(self, final: Path) -> Path:
        """Write the rows by groups."""
        schema = pa.schema([(name, pa.float64()) for name in self.names])
        step = max(1, GROUP // max(1, self.shape[1]))
        options = {"use_dictionary": False, "write_page_checksum": True}
        with pq.ParquetWriter(final, schema, **options) as writer:
            for rows in self.bare(step):
                columns = [_column(column) for column in rows.T]
                writer.write_table(pa.table(columns, schema=schema), row_group_size=step)
        return final


def _column(numbers: Array) -> pa.Array:
    """Numbers as they are; `pyarrow.array` would import pandas first."""
    data = pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.float64(), len(numbers), [None, data])


def _real(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or (pa.types.is_dictionary(kind) and _real(kind.value_type))
    )
