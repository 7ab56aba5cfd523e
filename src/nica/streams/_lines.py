"""Bytes as blocks of whole lines, from a file or a pipe, compressed or not, in constant memory."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nica.streams._chunks import Array, Chunks, Reading
from nica.streams._overlap import ahead
from nica.streams._registry import GZIP, HEAD, ZSTD, need

SIZE = 1 << 21  #: bytes of a file read at once
PIPE = 1 << 16  #: bytes of a pipe read at once: what a pipe of Linux holds
MAX_LINE = 1 << 25  #: bytes of a line; a decompression bomb or binary data has longer ones


class Source:
    """A byte stream whose first bytes can be looked at; it never waits for more than it needs."""

    def __init__(self, stream: Any, name: str, waits: bool) -> None:
        self.name = name
        self.waits = (
            waits  #: whether the other end may be waiting for us: give what is there at once
        )
        self._stream = stream
        self._read1 = getattr(stream, "read1", stream.read)
        self._head = b""

    @classmethod
    def of_path(cls, path: Path) -> Source:
        """A file or named pipe, opened."""
        return cls(open(path, "rb"), str(path), waits=not path.is_file())

    def peek(self) -> bytes:
        """The first line or the first few thousand bytes, whatever ends first."""
        while len(self._head) < HEAD and b"\n" not in self._head:
            data = self._take(HEAD)
            if not data:
                break
            self._head += data
        return self._head[:HEAD]

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, at least one unless the end is reached."""
        if self._head:
            size = len(self._head) if size < 0 else size
            data, self._head = self._head[:size], self._head[size:]
            return data
        return self._take(size)

    def _take(self, size: int) -> bytes:
        data = self._read1(size) if self.waits else self._stream.read(size)
        if not isinstance(data, bytes):
            raise TypeError(f"{self.name} gives {type(data).__name__}: open it in binary mode")
        return data

    def plain(self) -> Source:
        """The same, decompressed if it is gzip or zstd."""
        head = self.peek()
        file: Any = _File(self)
        if head.startswith(GZIP):
            return Source(gzip.GzipFile(mode="rb", fileobj=file), self.name, self.waits)
        if head.startswith(ZSTD):
            pyarrow = need("pyarrow", "zstd files need")
            stream = _Zstd(pyarrow.CompressedInputStream(file, "zstd"))
            return Source(stream, self.name, self.waits)
        return self

    def place(self) -> int:
        """Bytes taken from a file."""
        return int(self._stream.tell())

    def close(self) -> None:
        """Close what is below."""
        self._stream.close()


class _File:
    """A source as the file object that the decompressors want."""

    closed = False

    def __init__(self, source: Source) -> None:
        self._source = source

    def read(self, size: int = -1) -> bytes:
        return self._source.read(size)

    def close(self) -> None:
        self._source.close()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


class _Zstd:
    """What pyarrow decompresses, by buffers: its `read` would lose the memory asked for at an error."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read_buffer(size).to_pybytes()
        return data

    def close(self) -> None:
        self._stream.close()


def blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, as many as are there; a line ends where its quotes are closed."""
    plain = source.plain()
    size = PIPE if source.waits else SIZE
    rest = b""
    while True:
        try:
            data = plain.read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise OSError(f"cannot read {source.name!r} to its end: {error}") from None
        if not data:
            break
        rest += data
        cut = _end_of_line(rest)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
        if len(rest) > MAX_LINE:
            raise ValueError(
                f"{source.name!r} has a line of more than {MAX_LINE >> 20} MiB (or a quote that is "
                "never closed): it is not text in lines"
            )
    if rest:
        yield rest + b"\n"


def _end_of_line(text: bytes) -> int:
    """Where the last whole line ends, 0 if none does."""
    cut = text.rfind(b"\n") + 1
    if cut and b'"' in text:
        while cut and text.count(b'"', 0, cut) % 2:
            cut = text.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _lines_in(text: bytes) -> int:
    """How many lines end in some text; `bytes.count` takes a sixth of the time of parsing numbers."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))


class TextReader(Chunks):
    """A source of lines; the formats say what the first line means and how a block becomes rows."""

    def __init__(self, source: Path | Source, reading: Reading) -> None:
        self._path = source if isinstance(source, Path) else None
        self._source = Source.of_path(source) if isinstance(source, Path) else source
        super().__init__(self._source.name, reading)
        self._comment = (reading.comment or "").encode()
        self._blocks = blocks(self._source)
        self._head = b""
        self._fresh = True
        self._parsed = self._taken = 0  # rows, and bytes of the file that they took
        first: bytes | None = None
        try:
            for block in self._blocks:
                self._head += block
                first = self._split(self._head)[1]
                if first:
                    break
            if not first:
                raise ValueError(f"{self.name!r} is empty: there is no line to read")
            if first.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in first:
                raise ValueError(f"{self.name!r} is not text in UTF-8: convert it, or say format=")
            self._begin(first)
        except BaseException:
            self.close()
            raise

    def _begin(self, first: bytes) -> None:
        """Learn from the first line what the columns are."""
        raise NotImplementedError

    def _parse(self, block: bytes, line: int) -> Array:
        """Rows of some whole lines, the first of which is number `line` of the source."""
        raise NotImplementedError

    def _array(self, rows: list[list[float]]) -> Array:
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.n_channels)

    def _body(self, block: bytes) -> bytes:
        """The first block without what is not data."""
        return block

    def _chunks(self) -> Iterator[Array]:
        skip = self.start
        for rows in ahead(self._rows()) if self._large() else self._rows():
            skipped = min(skip, len(rows))
            skip -= skipped
            for row in range(skipped, len(rows), self.step):
                yield rows[row : row + self.step]

    def _large(self) -> bool:
        """Whether to read ahead: another thread takes longer to begin than a small file to read."""
        return self._path is not None and self._path.is_file() and self._path.stat().st_size > SIZE

    def _rows(self) -> Iterator[Array]:
        """The rows of each block."""
        line, first = 1, True
        self._parsed = self._taken = 0
        for block in self._all_blocks():
            body = self._body(block) if first else block
            if first:
                line += _lines_in(block[: len(block) - len(body)])
            try:
                rows = self._parse(body, line)
            except BadValue as error:
                yield error.before
                raise
            self._parsed += len(rows)
            self._taken = self._source.place() if self._path is not None else 0
            yield rows
            line += _lines_in(body)
            first = False

    def _all_blocks(self) -> Iterator[bytes]:
        """All blocks from the beginning; the first has the first line of data, or the header, in it."""
        if self._fresh:
            self._fresh = False
        elif self._path is None:
            raise ValueError(f"{self.name} can be read once only: save it in a file first")
        else:
            self._source.close()
            self._source = Source.of_path(self._path)
            self._blocks = blocks(self._source)
            self._head, head = b"", self._head
            while len(self._head) < len(head):
                self._head += next(self._blocks, head)
        yield self._head
        yield from self._blocks

    def _split(self, text: bytes) -> tuple[int, bytes]:
        """Where the first line that is neither blank nor a comment ends, and that line."""
        begin = 0
        while begin < len(text):
            end = text.find(b"\n", begin) + 1 or len(text)
            while text.count(b'"', begin, end) % 2 and end < len(text):
                end = text.find(b"\n", end) + 1 or len(text)
            line = text[begin:end].removeprefix(b"\xef\xbb\xbf").strip()
            if line and not (self._comment and line.startswith(self._comment)):
                return end, text[begin:end].removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
            begin = end
        return len(text), b""

    def expected(self) -> int | None:
        """Rows by the share of the file that the first of them took; packed ones too."""
        if self._path is None or not self._path.is_file() or not self._taken:
            return None
        return round(self._parsed / self._taken * self._path.stat().st_size)

    def close(self) -> None:
        """Close the file; standard input stays as it is."""
        if self._path is not None:
            self._source.close()


EMPTY = "it is empty"  #: what is wrong with a gap


class BadValue(ValueError):  # noqa: N818 -- it is the value that is bad
    """A cell that is not a number, or a line that is not a row: which, where, and what to do.

    Attributes
    ----------
    line : int
        Line of the source, from 1.
    column : str
        Name of the column, or its number from 0; empty if the whole line is at fault.
    what : str
        What is wrong, without the place and the remedy.
    before : ndarray (n, n_channels)
        Rows before it that were read together with it: they are given out first, so that what comes
        before the error does not hang on how much of a pipe was there at a time.
    """

    before: Array = np.empty((0, 1))

    def __init__(self, name: str, line: int, column: str, what: str) -> None:
        self.line, self.column, self.what = line, column, what
        where = f"line {line}, column {column!r}" if column else f"line {line}"
        remedy = "on_bad='skip' leaves such rows out"
        if what == EMPTY:
            remedy += ", missing='infer' fills gaps"
        super().__init__(f"{name}: {where}: {what}; {remedy}")
