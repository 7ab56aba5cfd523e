"""Where text goes: a file, compressed at the end if its name says so, or a pipe, at once."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from nica.streams._chunks import Array
from nica.streams._registry import need
from nica.streams._sink import FileSink, Sink


class Encoder(Protocol):
    """How rows look as text."""

    def head(self) -> bytes:
        """What comes before the first row."""

    def rows(self, rows: Array) -> bytes:
        """Lines of some rows."""


class TextSink(FileSink):
    """A file of lines."""

    def __init__(
        self, path: Path, resume_at: dict[str, Any] | None, encoder: Encoder, format: str
    ) -> None:
        self.format = format
        self._encoder = encoder
        super().__init__(path, resume_at)
        if resume_at is None:
            self._file.write(encoder.head())

    def encode(self, rows: Array) -> bytes:
        """Lines of some rows."""
        return self._encoder.rows(rows)

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

    What went through a pipe cannot be taken back: `discard` only stops, and ``resume_at`` goes on
    behind the row of the checkpoint.
    """

    def __init__(
        self,
        stream: BinaryIO,
        name: str,
        resume_at: dict[str, Any] | None,
        encoder: Encoder,
        format: str,
    ) -> None:
        super().__init__(name)
        self._ours = name != "-"
        self.format = format
        self._stream = stream
        self._encoder = encoder
        self._bytes = 0
        if resume_at is None:
            self._send(encoder.head())
        else:
            self.rows_written, self._bytes = int(resume_at["rows"]), int(resume_at["bytes"])

    def _send(self, data: bytes) -> None:
        self._stream.write(data)
        self._stream.flush()
        self._bytes += len(data)

    def _write(self, rows: Array) -> None:
        self._send(self._encoder.rows(rows))

    def _position(self) -> dict[str, Any]:
        return {"bytes": self._bytes}

    def _commit(self) -> None:
        self._stream.flush()
        self._close()

    def _discard(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._ours:
            self._stream.close()
