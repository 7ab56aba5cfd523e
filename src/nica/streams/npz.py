"""``.npz``: one array of a zip archive of NumPy's, unpacked as it is read; nothing is unpickled."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from nica.streams._bare import BareSink
from nica.streams._chunks import Array, Chunks, Reading, as_float64
from nica.streams._guard import OBJECTS, check_packing, check_whole, choose, guard

MEMBER = "data"  #: name of the array that is written


class Reader(Chunks):
    """Rows of the array `path`, or of the only one that can hold samples."""

    format = "npz"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        with guard(self.name, "npz"):
            self._zip = zipfile.ZipFile(path)
            infos = [info for info in self._zip.infolist() if info.filename.endswith(".npy")]
        if len(infos) > OBJECTS:
            raise ValueError(f"{self.name!r} holds {len(infos)} arrays: the limit is {OBJECTS}")
        members = {info.filename.removesuffix(".npy"): info for info in infos}
        found = {}
        with guard(self.name, "npz"):
            for name, info in members.items():
                with self._zip.open(info) as file:
                    shape, _, dtype = _header(file)
                found[name] = (shape, dtype.str if dtype.fields is None else "structured")
        chosen = choose(self.name, "array", reading.path, found)
        self._info = members[chosen]
        label = f"{self.name}: {chosen}"
        with guard(self.name, "npz"), self._zip.open(self._info) as file:
            shape, self._fortran, self._dtype = _header(file)
            size = self._dtype.itemsize * int(np.prod(shape, dtype=object))
            begin = file.tell()
        if self._dtype.kind not in "fiub" or not 1 <= len(shape) <= 2:
            raise ValueError(
                f"{label!r} holds {self._dtype} values of shape {shape}: give real numbers as "
                "(n_samples, n_channels)"
            )
        if begin + size != self._info.file_size:
            raise ValueError(
                f"{label!r} has {self._info.file_size} bytes, its shape {shape} asks for {begin + size}"
            )
        check_packing(label, size, self._info.compress_size)
        n_rows, width = shape[0], shape[1] if len(shape) == 2 else 1
        self.n_rows = n_rows
        if self._fortran and width > 1:
            check_whole(label, size, "save it in C order, or as .npy")
        self._width = width
        self._chosen = self._choose(width, None)

    def _chunks(self) -> Iterator[Array]:
        n = self.n_rows or 0
        all_columns = self._chosen == list(range(self._width))
        row = self._width * self._dtype.itemsize
        with guard(self.name, "npz"):
            file = self._zip.open(self._info)
            _header(file)
        with file:
            if self._fortran and self._width > 1:
                array = self._take(file, n).reshape(self._width, n).T
                for first in self._rest(n):
                    yield as_float64(array[first : first + self.step, self._chosen], self.name)
                return
            with guard(self.name, "npz"):
                _skip(file, min(self.start, n) * row)
            for first in self._rest(n):
                rows = self._take(file, min(self.step, n - first)).reshape(-1, self._width)
                yield as_float64(rows if all_columns else rows[:, self._chosen], self.name)

    def _take(self, file: IO[bytes], rows: int) -> NDArray[Any]:
        """The next numbers; at the end of the array `zipfile` compares the checksum."""
        size = rows * self._width * self._dtype.itemsize
        with guard(self.name, "npz"):
            data = file.read(size)
            if len(data) < size:
                raise EOFError("it was cut off")
            return np.frombuffer(data, self._dtype)

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()


class Writer(BareSink):
    """One array, named ``data``, not compressed, as `numpy.savez` writes it."""

    format = "npz"

    def finish(self, final: Path) -> Path:
        """Put the rows into an archive."""
        about: dict[str, Any] = {"descr": "<f8", "fortran_order": False, "shape": self.shape}
        info = zipfile.ZipInfo(f"{MEMBER}.npy")  # its date is always the same
        info.external_attr = 0o644 << 16
        with (
            zipfile.ZipFile(final, "w", zipfile.ZIP_STORED) as archive,
            archive.open(info, "w", force_zip64=True) as file,
        ):
            npy_format.write_array_header_1_0(file, about)
            self._file.seek(0)
            shutil.copyfileobj(self._file, file, 1 << 20)
        return final


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and type; NumPy limits the length of what it parses."""
    version = npy_format.read_magic(file)
    read = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version} of .npy is for arrays with named fields")
    shape, fortran, dtype = read(file)
    if any(size < 0 for size in shape):
        raise ValueError(f"shape {shape} is negative")
    return shape, fortran, dtype


def _skip(file: IO[bytes], size: int) -> None:
    while size:
        done = len(file.read(min(size, 1 << 20)))
        if not done:
            raise EOFError("it was cut off")
        size -= done
