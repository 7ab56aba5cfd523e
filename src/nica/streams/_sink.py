"""What every writer has in common: a temporary file beside the final one, and one rename."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Sink:
    """A place for outputs; what `open_sink` returns.

    `write` rows, then `commit`. Until then they are in a temporary file beside the final one
    (``.NAME.part``), so that under its final name the output is whole or absent. As a context manager it
    commits when its block ends well. If the block ends in an error, the temporary file goes, unless
    `checkpoint` was called (or the sink was resumed): then it stays, for ``resume_at``.

    Attributes
    ----------
    format : str
    name : str
        The final name, or ``-``.
    rows_written : int
        Rows written so far, those before a resumption included.
    """

    format = ""

    def __init__(self, name: str, columns: list[str] | None = None) -> None:
        self.name = name
        self.columns = columns
        self._width = None if columns is None else len(columns)
        self.rows_written = 0
        self._resumable = False
        self._done = False

    def write(self, rows: Any) -> None:
        """Add rows (n, n_components) at the end."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"rows have {rows.ndim} dimensions: give (n_samples, n_components)")
        if self._done:
            raise ValueError(f"{self.name!r} was committed or discarded: open it again")
        if self._width is None:
            self._width = rows.shape[1]
        if rows.shape[1] != self._width:
            what = "names of columns" if self.columns else "columns before"
            raise ValueError(
                f"rows have {rows.shape[1]} columns, but there are {self._width} {what}"
            )
        self._write(rows)
        self.rows_written += len(rows)

    def checkpoint(self) -> dict[str, Any]:
        """Bring all rows to the disk and return the position, plain JSON, for ``resume_at``."""
        self._resumable = True
        return {"rows": self.rows_written, **self._position()}

    def commit(self) -> None:
        """Put the whole output under its final name."""
        if not self._done:
            self._commit()
            self._done = True

    def discard(self) -> None:
        """Drop what was written; a file that was there before stays as it was."""
        if not self._done:
            self._done = True
            self._discard()

    def close(self) -> None:
        """Stop here and keep what was written in the temporary file, for ``resume_at``."""
        if not self._done:
            self._done = True
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            try:
                self.commit()
            except BaseException:
                self._leave()
                raise
        else:
            self._leave()

    def _leave(self) -> None:
        """After an error: keep what can be resumed, drop the rest."""
        with contextlib.suppress(OSError):  # the first error is the one to tell
            self.close() if self._resumable else self.discard()

    # ------------------------------------------------------------------------ for the writers

    def _write(self, rows: Array) -> None:
        raise NotImplementedError

    def _position(self) -> dict[str, Any]:
        raise NotImplementedError

    def _commit(self) -> None:
        raise NotImplementedError

    def _discard(self) -> None:
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError


class FileSink(Sink):
    """Rows appended to a temporary file beside `path`; the writers say how a row looks in bytes.

    A format that can be cut anywhere (npy, CSV, NDJSON) is written as it will be, and `finish` has
    little to do. All others are first kept as bare float64 rows and made whole in `finish`: a
    Parquet or HDF5 file cut by ``kill -9`` cannot be gone on with, bare rows can.
    """

    def __init__(
        self, path: Path, resume_at: dict[str, Any] | None, columns: list[str] | None = None
    ) -> None:
        super().__init__(str(path), columns)
        self.path = Path(os.path.realpath(path))
        self.part = self.path.with_name(f".{self.path.name}.part")
        self._new = self.part.with_name(f"{self.part.name}.new")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"no folder {str(self.path.parent)!r} to write {path.name!r} in"
            )
        if resume_at is None:
            self._file = _locked(os.open(self.part, os.O_RDWR | os.O_CREAT, 0o666), self.part)
            self._file.truncate(0)
            return
        self._resumable = True
        if not self.part.is_file():
            raise FileNotFoundError(
                f"nothing to resume: {str(self.part)!r} is gone; start again without resuming"
            )
        self._file = _locked(os.open(self.part, os.O_RDWR), self.part)
        try:
            self._resume(int(resume_at["rows"]), int(resume_at["bytes"]))
        except BaseException:
            self._file.close()
            raise

    def _resume(self, rows: int, size: int) -> None:
        has = os.fstat(self._file.fileno()).st_size
        if not 0 <= size <= has:
            raise ValueError(
                f"{str(self.part)!r} has {has} bytes, fewer than the {size} of the checkpoint: "
                "start again without resuming"
            )
        self._file.truncate(size)
        self._file.seek(size)
        self.rows_written = rows

    def _write(self, rows: Array) -> None:
        self._file.write(self.encode(rows))

    def encode(self, rows: Array) -> Any:
        """Bytes of some rows; unless told otherwise the bare numbers."""
        return rows.data

    def finish(self, final: Path) -> Path:
        """Make the temporary file whole; returns the file or folder to rename, `final` or the part."""
        raise NotImplementedError

    def _position(self) -> dict[str, Any]:
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"bytes": self._file.tell()}

    def _commit(self) -> None:
        self._file.flush()
        self._remove_new()
        made = self.finish(self._new)
        if made.is_dir():
            replace_folder(made, self.path)
        else:
            sync(made)
            os.replace(made, self.path)
        sync(self.path.parent)
        if made != self.part:
            self.part.unlink()
        self._file.close()

    def _discard(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.part.unlink()
        self._close()

    def _close(self) -> None:
        self._remove_new()
        self._file.close()

    def _remove_new(self) -> None:
        """Nothing stays of a `finish` that failed."""
        if self._new.is_dir():
            shutil.rmtree(self._new)
        self._new.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Bring a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_folder(new: Path, final: Path) -> None:
    """Put a folder under its final name; one that is there goes when the new one is in its place."""
    for folder, _, files in os.walk(new):
        for file in files:
            sync(Path(folder) / file)
        sync(Path(folder))
    old = new.with_name(f"{new.name}.old")
    if final.exists():
        os.replace(final, old)
    os.replace(new, final)
    if old.exists():
        shutil.rmtree(old)


def _locked(handle: int, path: Path) -> BinaryIO:
    """The file, if no other process writes to it; a killed process leaves no lock."""
    file = os.fdopen(handle, "r+b", buffering=1 << 20)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise OSError(f"another process is writing {str(path)!r}: wait for it, or end it") from None
    return file
