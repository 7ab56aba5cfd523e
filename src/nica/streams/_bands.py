"""Rows of an array that a library keeps in chunks on disk, each chunk unpacked once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nica.streams._chunks import Array, Chunks, Reading, as_float64
from nica.streams._guard import BAND, CHUNKS, check_packing, guard, size_of


class BandReader(Chunks):
    """Reads as many whole chunks of the store as make a few megabytes, and cuts them into rows."""

    kind = ""  #: of file, for messages
    transposed = False  #: whether the store has (n_channels, n_samples)

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        self._array: Any = None

    def _take(
        self, array: Any, label: str, stored: int, names: Any, chunks: Any, inner: Any = None
    ) -> None:
        """Check an array that was opened: `stored` bytes of it are on disk, in `chunks` of `inner`."""
        with guard(self.name, self.kind):
            shape, dtype = tuple(map(int, array.shape)), np.dtype(array.dtype)
        if dtype.kind not in "fiub" or not 1 <= len(shape) <= 2:
            raise ValueError(
                f"{label!r} holds {dtype} values of shape {shape}: give real numbers as "
                "(n_samples, n_channels)"
            )
        check_packing(label, dtype.itemsize * int(np.prod(shape, dtype=object)), stored)
        long, wide = (1, 0) if self.transposed and len(shape) == 2 else (0, 1)
        self.n_rows = shape[long]
        width = shape[wide] if len(shape) == 2 else 1
        known = isinstance(names, (list, np.ndarray)) and len(names) == width
        texts = [str(name) for name in names] if known else None
        chosen = self._choose(width, texts)
        self._columns = None if chosen == list(range(width)) else chosen
        self._array, self._long = array, long
        self._band = self.step
        if chunks:
            tall = max(1, min(chunks[long], self.n_rows))
            count = -(-width // chunks[wide]) if len(chunks) == 2 else 1
            size = tall * count * (chunks[wide] if len(chunks) == 2 else 1) * dtype.itemsize
            inside = int(
                np.prod([-(-a // b) for a, b in zip(chunks, inner or chunks, strict=True)])
            )
            if size > BAND or count * inside > CHUNKS:
                raise ValueError(
                    f"{label!r} is stored in chunks of {tall} rows, of which {count * inside} with "
                    f"{size_of(size)} have to be unpacked together: the limits are {CHUNKS} and "
                    f"{size_of(BAND)}; store it in other chunks"
                )
            self._band = tall * max(1, min(self.step // tall, CHUNKS // (count * inside)))

    def _chunks(self) -> Iterator[Array]:
        n = self.n_rows or 0
        start = min(self.start, n)
        for first in range(start - start % self._band, n, self._band):
            rows = self._rows(first, min(first + self._band, n))
            for row in range(max(0, start - first), len(rows), self.step):
                yield rows[row : row + self.step]

    def _rows(self, first: int, last: int) -> Array:
        with guard(self.name, self.kind):
            if self._long:
                rows = np.asarray(self._array[:, first:last]).T
            else:
                rows = np.asarray(self._array[first:last])
        rows = rows.reshape(last - first, -1)
        return as_float64(rows if self._columns is None else rows[:, self._columns], self.name)
