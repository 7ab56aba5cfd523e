"""A look at a MATLAB file before SciPy reads it, which believes the type and size of numbers it finds.

A wrong type would crash the process, a wrong size could ask for any memory. Only the tags of the elements
are looked at (MATLAB's "MAT-File Format", chapter 1); reading the numbers is SciPy's.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from nica.streams._guard import Refused

MATRIX, COMPRESSED = 14, 15
#: bytes of a number, by the type that its tag names
WIDTHS = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
LONGEST = 1 << 16  #: bytes of flags, dimensions or name


class _Bytes:
    """The first bytes of an element, decompressed no further than is asked for."""

    def __init__(self, file: BinaryIO, size: int, compressed: bool) -> None:
        self._file, self._left = file, size
        self._unzip = zlib.decompressobj() if compressed else None

    def take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if self._unzip is None:
                more = given = self._file.read(min(size - len(data), self._left))
                self._left -= len(more)
            else:
                given = self._packed()
                more = self._unzip.decompress(given, size - len(data))
            if not more and not given:
                raise EOFError("it was cut off")
            data += more
        return data

    def _packed(self) -> bytes:
        assert self._unzip is not None
        rest = self._unzip.unconsumed_tail
        if rest or self._unzip.eof:
            return rest
        rest = self._file.read(min(1024, self._left))
        self._left -= len(rest)
        return rest


def check_numbers(path: Path, name: str, count: int, label: str) -> None:
    """Refuse the matrix `name` unless its `count` numbers are as many, and of a type there is."""
    with open(path, "rb") as file:
        order = "<" if file.read(128)[126:] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            end = file.tell() + size
            if kind in (MATRIX, COMPRESSED):
                element = _Bytes(file, size, kind == COMPRESSED)
                if kind == COMPRESSED:
                    element.take(8)
                _part(element, order)  # flags
                _part(element, order)  # dimensions
                if _part(element, order).decode("latin1") == name:
                    kind, size, _ = _tag(element, order)
                    if kind in WIDTHS and size == count * WIDTHS[kind]:
                        return
                    what = f"it has {size} bytes of type {kind} for {count} numbers"
                    raise Refused(f"{label!r} is damaged: {what}")
            file.seek(end)
    raise Refused(f"{label!r} is damaged: its numbers are missing")


def _tag(element: _Bytes, order: str) -> tuple[int, int, bytes]:
    """Type and size of a part, and its content if that is so short that it stands in the tag."""
    tag = element.take(8)
    kind, size = struct.unpack(f"{order}II", tag)
    if kind >> 16:
        kind, size = kind & 0xFFFF, kind >> 16
        return kind, size, tag[4 : 4 + size]
    return kind, size, b""


def _part(element: _Bytes, order: str) -> bytes:
    _, size, short = _tag(element, order)
    if short or not size:
        return short
    if size > LONGEST:
        raise Refused(f"a part of the head has {size} bytes: the limit is {LONGEST}")
    return element.take(-(-size // 8) * 8)[:size]
