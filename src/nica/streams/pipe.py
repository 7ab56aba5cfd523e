"""Where text goes: a file, compressed at the end if its name says so, or a pipe, at once."""

from __future__ import annotations

import fcntl
import gzip
import os
import select
import shutil
import stat
import struct
import termios
import time
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from nica.streams._chunks import Array
from nica.streams._overlap import Behind
from nica.streams._registry import need
from nica.streams._sink import FileSink, Sink

PATIENCE = 1.0  #: seconds that a checkpoint waits for the reader of a pipe
STEP = 4096  #: rows whose lines fit the cache; so many are written sooner than a thread is told to


class Encoder(Protocol):
    """How rows look as text."""

    columns: list[str] | None

    def head(self) -> bytes:
        """What comes before the first row."""

    def rows(self, rows: Array) -> bytes:
        """Lines of some rows."""


class TextSink(FileSink):
    """A file of lines, which a thread writes while the next rows are learned from."""

    def __init__(
        self, path: Path, resume_at: dict[str, Any] | None, encoder: Encoder, format: str
    ) -> None:
        self.format = format
        self._encoder = encoder
        self._behind = Behind()
        super().__init__(path, resume_at, encoder.columns)
        if resume_at is None:
            self._file.write(encoder.head())

    def encode(self, rows: Array) -> bytes:
        """Lines of some rows."""
        return self._encoder.rows(rows)

    def _write(self, rows: Array) -> None:
        if len(rows) > STEP:
            self._behind.do(self._write_steps, rows.copy())  # the caller may use its memory again
        else:
            self._behind.wait()
            super()._write(rows)

    def _write_steps(self, rows: Array) -> None:
        for first in range(0, len(rows), STEP):
            super()._write(rows[first : first + STEP])

    def _position(self) -> dict[str, Any]:
        self._behind.wait()
        return super()._position()

    def _commit(self) -> None:
        self._behind.wait()
        super()._commit()

    def _close(self) -> None:
        self._behind.end()
        super()._close()

    def finish(self, final: Path) -> Path:
        """Nothing to do, or the compression of the whole: only so is a resumed file the same file."""
        if self.path.suffix == ".gz":
            self._file.seek(0)
            with open(final, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as file:
                shutil.copyfileobj(self._file, file, 1 << 20)
            return final
        if self.path.suffix == ".zst":
            pyarrow = need("pyarrow", "zstd files need")
            self._file.seek(0)
            with pyarrow.CompressedOutputStream(str(final), "zstd") as file:
                shutil.copyfileobj(self._file, file, 1 << 20)
            return final
        return self.part


class PipeSink(Sink):
    """Lines to a pipe or a device: each chunk is on its way when `write` returns.

    What went through a pipe cannot be taken back: `discard` only stops. `checkpoint` waits until the
    reader has taken all rows, at most `PATIENCE` seconds, then raises TimeoutError; ``resume_at`` goes on
    behind the row of the checkpoint, and the reader must drop what came behind it. Where standard output
    is a file, what is behind the row is cut off.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        resume_at: dict[str, Any] | None,
        encoder: Encoder,
        format: str,
    ) -> None:
        super().__init__(name, encoder.columns)
        self._ours = name != "-"
        self.format = format
        self._stream = stream
        self._encoder = encoder
        self._bytes = 0
        self._handle, self._mode = _handle(stream)
        self._base = _place(self._handle) if stat.S_ISREG(self._mode) else 0
        if resume_at is None:
            self._send(encoder.head())
        else:
            self._resume(int(resume_at["rows"]), int(resume_at["bytes"]), int(resume_at["base"]))

    def _resume(self, rows: int, size: int, base: int) -> None:
        self.rows_written, self._bytes = rows, size
        if not stat.S_ISREG(self._mode):
            return
        self._base = base
        has = os.fstat(self._handle).st_size
        if has < base + size:
            raise ValueError(
                f"the file at {self.name!r} has {has} bytes, fewer than the {base + size} of the "
                "checkpoint: append to what was written before, with >>"
            )
        os.ftruncate(self._handle, base + size)
        os.lseek(self._handle, 0, os.SEEK_END)

    def _send(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()
        self._bytes += len(data)

    def _write(self, rows: Array) -> None:
        self._send(self._encoder.rows(rows))

    def _position(self) -> dict[str, Any]:
        if stat.S_ISREG(self._mode):
            os.fsync(self._handle)
        elif stat.S_ISFIFO(self._mode):
            _drained(self._handle)
        return {"bytes": self._bytes, "base": self._base}

    def _commit(self) -> None:
        self._stream.flush()
        self._close()

    def _discard(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._ours:
            self._stream.close()


def _handle(stream: BinaryIO) -> tuple[int, int]:
    """Number and kind of what is open; of streams that are no files, none."""
    try:
        handle = stream.fileno()
        return handle, os.fstat(handle).st_mode
    except (OSError, ValueError):
        return -1, 0


def _place(handle: int) -> int:
    """Where the next byte will go."""
    if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_APPEND:
        return os.fstat(handle).st_size
    return os.lseek(handle, 0, os.SEEK_CUR)


def _drained(handle: int) -> None:
    """Wait until the reader has taken all that is in a pipe: what fsync is to a file."""
    end = time.monotonic() + PATIENCE
    poll = select.poll()
    poll.register(handle, select.POLLERR)
    while struct.unpack("i", fcntl.ioctl(handle, termios.FIONREAD, b"\0" * 4))[0]:
        if poll.poll(1):
            raise BrokenPipeError("the reader of the pipe has gone")
        if time.monotonic() > end:
            raise TimeoutError("the reader of the pipe does not take what is in it")
