"""``.zarr``: one array of a folder that zarr keeps, of version 2 or 3.

Only plain files inside the folder are read, and only through compressors that give back bytes: a
filter that would unpickle is refused.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zarr

from nica.streams._bands import BandReader
from nica.streams._bare import BareSink
from nica.streams._chunks import Array, Reading
from nica.streams._guard import DEPTH, OBJECTS, Refused, choose, guard, size_of

MARKS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")  #: descriptions
META = 1 << 20  #: bytes of a description
FILES = 1_000_000  #: files of an array
CHUNK = 1 << 17  #: numbers in a chunk that is written
CODECS = {
    "bytes", "endian", "transpose", "sharding_indexed", "blosc", "zlib", "gzip", "bz2", "lzma", "lz4",
    "zstd", "shuffle", "delta", "bitround", "fixedscaleoffset", "quantize", "packbits", "astype",
    "crc32", "crc32c", "adler32", "fletcher32", "jenkins_lookup3", "cast_value", "scale_offset",
}  # fmt: skip


class Reader(BandReader):
    """Rows of the array `path`, or of the only one that can hold samples."""

    format = "zarr"
    kind = "zarr"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, reading)
        if not path.is_dir():
            raise ValueError(f"{self.name!r} is a file: a zarr store is a folder")
        with guard(self.name, self.kind):
            arrays = dict(arrays_in(path, self.name))
        found = {
            key: (tuple(map(int, array.shape)), str(array.dtype)) for key, array in arrays.items()
        }
        key = choose(self.name, "array", reading.path, found)
        array, label = arrays[key], f"{self.name}: {key}" if key else self.name
        with guard(self.name, self.kind):
            about = array.metadata.to_dict()
            _check_codecs(about, label)
            last = about.get("compressor") or (about.get("codecs") or [{}])[-1]
            self._blosc = "blosc" in (last.get("id"), last.get("name"))
            self._folder = path / key
            stored = _stored(path / key, label)
            chunks = array.shards or array.chunks
            names = array.attrs.asdict().get("columns")
        self._take(array, label, stored, names, chunks, array.chunks)

    def _rows(self, first: int, last: int) -> Array:
        if self._blosc:
            with guard(self.name, self.kind):
                self._check_blosc(first, last)
        return super()._rows(first, last)

    def _check_blosc(self, first: int, last: int) -> None:
        """Blosc reads on behind the end of a chunk that was cut off: compare the size it claims."""
        tall, *wide = self._array.chunks
        columns = range(-(-self._array.shape[1] // wide[0])) if wide else range(1)
        for i in range(first // tall, -(-last // tall)):
            for j in columns:
                key = self._array.metadata.encode_chunk_key((i, j) if wide else (i,))
                file = self._folder / key
                if file.exists():
                    with open(file, "rb") as chunk:
                        claimed = int.from_bytes(chunk.read(16)[12:], "little")
                    if claimed != file.stat().st_size:
                        raise Refused(
                            f"{self.name!r} is damaged: chunk {key!r} has {file.stat().st_size} bytes, "
                            f"and claims {claimed}"
                        )


class Writer(BareSink):
    """An array of version 3 in the root of the store; its attribute ``columns`` has the names."""

    format = "zarr"
    folder = True

    def replaces(self, folder: Path) -> bool:
        """An array in the root of a store."""
        with guard(str(folder), self.format):
            return [key for key, _ in arrays_in(folder, str(folder))] == [""]

    def finish(self, final: Path) -> Path:
        """Put the rows into an array."""
        n, k = self.shape
        tall = max(1, min(n, CHUNK // max(1, k)))
        array = zarr.create_array(
            str(final), shape=(n, k), chunks=(tall, max(1, k)), dtype="float64", fill_value=0.0,
            attributes=None if self.columns is None else {"columns": list(self.columns)},
            config={"write_empty_chunks": True},
        )  # fmt: skip
        first = 0
        for rows in self.bare(tall):
            array[first : first + len(rows)] = rows
            first += len(rows)
        return final


def arrays_in(root: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Arrays of a store by path; zarr sees only folders with plain descriptions of moderate size."""
    folders, seen = [("", root, 0)], 0
    while folders:
        key, folder, depth = folders.pop(0)
        found = [mark for mark in MARKS if os.path.lexists(folder / mark)]
        for mark in found:
            _check_plain(folder / mark, name)
        if not set(found) & {"zarr.json", ".zarray", ".zgroup"}:
            continue
        seen += 1
        if seen > OBJECTS:
            raise Refused(f"{name!r} holds more than {OBJECTS} groups and arrays")
        node = zarr.open(str(folder), mode="r")
        if isinstance(node, zarr.Array):
            yield key, node
            continue
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                if depth == DEPTH:
                    raise Refused(f"{name!r} has groups more than {DEPTH} deep, below {key[:60]!r}")
                folders.append((f"{key}/{entry.name}".lstrip("/"), folder / entry.name, depth + 1))


def _check_plain(path: Path, name: str) -> None:
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise Refused(
            f"{name!r}: {path.name!r} is no plain file; links out of a store are not followed"
        )
    if about.st_size > META:
        raise Refused(
            f"{name!r}: {path.name!r} has {size_of(about.st_size)}: the limit is {size_of(META)}"
        )


def _stored(folder: Path, name: str) -> int:
    """Bytes of all files of an array; refuses links, pipes and devices among them."""
    size = count = 0
    folders = [folder]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    size += entry.stat(follow_symlinks=False).st_size
                else:
                    raise Refused(
                        f"{name!r}: {entry.name!r} is no plain file; links out of a store are not "
                        "followed"
                    )
                count += 1
                if count > FILES:
                    raise Refused(f"{name!r} is kept in more than {FILES} files: use larger chunks")
    return size


def _check_codecs(about: Any, name: str) -> None:
    """Refuse every filter and compressor but those that are known to give back bytes."""
    steps = [*(about.get("codecs") or ()), *(about.get("filters") or ()), about.get("compressor")]
    for step in steps:
        if step is None:
            continue
        codec = str(step.get("name", step.get("id"))).removeprefix("numcodecs.")
        if codec not in CODECS:
            raise Refused(f"{name!r} is packed with {codec!r}, which is not unpacked here")
        inner = step.get("configuration") or {}
        for key in ("codecs", "index_codecs"):
            _check_codecs({"codecs": inner.get(key)}, name)
