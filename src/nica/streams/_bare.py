"""Outputs kept as bare rows until all are there, for formats that cannot be cut and gone on with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nica.streams._chunks import ENTRIES, Array, Chunks
from nica.streams._sink import FileSink


class BareSink(FileSink):
    """Bare float64 rows, little endian; the formats make a file or folder of them in `finish`."""

    folder = False  #: whether `finish` makes a folder

    def __init__(
        self,
        path: Path,
        resume_at: dict[str, Any] | None,
        *,
        columns: list[str] | None = None,
        n_rows: int | None = None,
        like: Chunks | None = None,
    ) -> None:
        if path.exists() and path.is_dir() != self.folder:
            kind = "folder" if self.folder else "file"
            raise FileExistsError(f"{str(path)!r} is no {kind}: give another name")
        if path.is_dir() and any(path.iterdir()) and not self.replaces(path):
            raise FileExistsError(
                f"{str(path)!r} is a folder with other things in it, which would be lost: "
                "give another name"
            )
        self.like = like
        super().__init__(path, resume_at, columns)
        if self.rows_written and resume_at is not None:
            self._width = int(resume_at["bytes"]) // (8 * self.rows_written)

    def encode(self, rows: Array) -> Any:
        """The bare numbers."""
        return rows.astype("<f8", copy=False).data

    def replaces(self, folder: Path) -> bool:
        """Whether a folder holds nothing but an earlier output."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns written."""
        return self.rows_written, self._width or 0

    @property
    def names(self) -> list[str]:
        """Names of the columns, for formats that must have some."""
        return self.columns or [f"x{j}" for j in range(self.shape[1])]

    def bare(self, step: int | None = None) -> Iterator[Array]:
        """What was written, some rows at a time."""
        n, k = self.shape
        step = step or max(1, ENTRIES // max(k, 1))
        self._file.seek(0)
        for first in range(0, n, step):
            count = min(step, n - first)
            data = self._file.read(8 * count * k)
            yield np.frombuffer(data, "<f8").reshape(count, k)
