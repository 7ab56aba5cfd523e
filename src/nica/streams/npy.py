"""``.npy``: NumPy arrays, mapped into memory; nothing is unpickled."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from nica.streams._chunks import Array, Chunks, Reading, as_float64
from nica.streams._guard import guard
from nica.streams._sink import FileSink


class Reader(Chunks):
    """Rows of a mapped array; what was read is given back to the system, so memory stays constant."""

    format = "npy"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        with guard(self.name, ".npy"):
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        self._array = samples(array, self.name)
        self._map: mmap.mmap | None = getattr(array, "_mmap", None)
        self.n_rows, n_columns = self._array.shape
        self._chosen = self._choose(n_columns, None)

    def _chunks(self) -> Iterator[Array]:
        all_columns = self._chosen == list(range(self._array.shape[1]))
        for first in self._rest(len(self._array)):
            part = self._array[first : first + self.step]
            yield as_float64(part if all_columns else part[:, self._chosen], self.name)
            if self._map is not None:
                self._map.madvise(mmap.MADV_DONTNEED)


class Writer(FileSink):
    """Appends rows; the header tells their number when all are there."""

    format = "npy"

    def __init__(self, path: Path, resume_at: dict[str, Any] | None, **_: Any) -> None:
        super().__init__(path, resume_at)
        if resume_at is not None and int(resume_at["bytes"]):
            self._file.seek(0)
            npy_format.read_magic(self._file)
            self._width = npy_format.read_array_header_1_0(self._file)[0][1]
            self._file.seek(int(resume_at["bytes"]))

    def _header(self, rows: int, width: int) -> None:
        """NumPy leaves room in the header for the number of rows to grow."""
        about: dict[str, Any] = {"descr": "<f8", "fortran_order": False, "shape": (rows, width)}
        npy_format.write_array_header_1_0(self._file, about)

    def encode(self, rows: Array) -> Any:
        """Bare numbers, little endian; the header goes before the first."""
        if not self._file.tell():
            self._header(0, rows.shape[1])
        return rows.astype("<f8", copy=False).data

    def finish(self, final: Path) -> Path:
        """Write the number of rows into the header."""
        self._file.seek(0)
        self._header(self.rows_written, self._width or 0)
        return self.part


def samples(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array as (n_samples, n_channels): one dimension is one channel."""
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name!r} holds {array.dtype} values: give real numbers")
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2:
        raise ValueError(
            f"{name!r} holds an array of shape {array.shape}: give (n_samples, n_channels)"
        )
    return array
