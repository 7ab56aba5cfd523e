"""``.mat``: one variable of a MATLAB file, samples in its rows as MATLAB shows them.

Version 7.3 is HDF5, which keeps MATLAB's arrays transposed, and is read some rows at a time. Versions 5
to 7 are read by SciPy as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy import io

from nica.streams._bare import BareSink
from nica.streams._chunks import Array, Chunks, Reading, as_float64
from nica.streams._guard import WHOLE, check_packing, check_whole, choose, guard
from nica.streams._mat5 import check_numbers
from nica.streams.hdf5 import Reader as HDF5Reader
from nica.streams.hdf5 import fill

VARIABLE = "data"  #: name of the variable that is written
HEAD = b"MATLAB 5.0 MAT-file, Platform: nica"
NUMBERS = {
    "double": "f8", "single": "f4", "logical": "?", "int8": "i1", "int16": "i2", "int32": "i4",
    "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
}  # fmt: skip


def Reader(path: Path, reading: Reading) -> Chunks:  # noqa: N802 -- it is called as the readers are
    """The reader of the version."""
    with open(path, "rb") as file:
        head = file.read(128)
    if head.startswith(b"MATLAB 7.3") or head.startswith(b"\x89HDF"):
        return New(path, reading)
    if head.startswith(b"MATLAB 5.0"):
        return Old(path, reading)
    raise ValueError(
        f"{str(path)!r} is no MATLAB file of version 5 to 7.3: save it in MATLAB with '-v7'"
    )


class Old(Chunks):
    """A variable of a file of version 5 to 7, as SciPy loads it."""

    format = "mat"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        with guard(self.name, "MATLAB"), open(path, "rb") as file:
            listed = io.whosmat(file)
        names = [name for name, _, _ in listed]
        found = {name: (tuple(shape), NUMBERS.get(kind, kind)) for name, shape, kind in listed}
        key = choose(self.name, "variable", reading.path, found)
        label = f"{self.name}: {key}"
        if names.count(key) > 1:
            raise ValueError(f"{self.name!r} has several variables {key!r}: it was damaged")
        shape, kind = found[key]
        if kind not in NUMBERS.values() or len(shape) != 2 or min(shape) < 0:
            raise ValueError(
                f"{label!r} is a {kind} of size {shape}: give a matrix of real numbers, "
                "(n_samples, n_channels)"
            )
        size = np.dtype(kind).itemsize * int(np.prod(shape, dtype=object))
        check_whole(label, size, "save it in MATLAB with '-v7.3', which is read in pieces")
        check_packing(label, size, path.stat().st_size)
        with guard(self.name, "MATLAB"):
            check_numbers(path, key, size // np.dtype(kind).itemsize, label)
        with guard(self.name, "MATLAB"), open(path, "rb") as file:
            loaded = io.loadmat(file, variable_names=[key], verify_compressed_data_integrity=True)
            array = loaded[key]
        if not isinstance(array, np.ndarray) or array.shape != shape:
            raise ValueError(f"{label!r} is no whole matrix of size {shape}")
        self._array = as_float64(array, label) if array.dtype.kind not in "fiub" else array
        self.n_rows, width = shape
        self._chosen = self._choose(width, None)

    def _chunks(self) -> Iterator[Array]:
        for first in self._rest(len(self._array)):
            yield as_float64(self._array[first : first + self.step, self._chosen], self.name)


class New(HDF5Reader):
    """A variable of a file of version 7.3."""

    format = "mat"
    kind = "MATLAB"
    what = "variable"
    transposed = True
    hidden = ("#refs#", "#subsystem#")

    def _open(self, dataset: Any, label: str) -> None:
        with guard(self.name, self.kind):
            made = dataset.attrs.get("MATLAB_class", b"double")
            made = made.decode() if isinstance(made, bytes) else str(made)
            empty = "MATLAB_empty" in dataset.attrs
        if made not in NUMBERS or empty:
            what = "is empty" if empty else f"is a {made[:40]}"
            raise ValueError(
                f"{label!r} {what}: give a matrix of real numbers, (n_samples, n_channels)"
            )
        super()._open(dataset, label)


class Writer(BareSink):
    """A matrix ``data``: version 5, or 7.3 if it is larger than version 5 is good for."""

    format = "mat"

    def finish(self, final: Path) -> Path:
        """Save the rows as a matrix."""
        if 8 * self.shape[0] * self.shape[1] <= WHOLE // 4:
            rows = np.concatenate([np.empty((0, self.shape[1])), *self.bare()])
            with open(final, "wb") as file:
                io.savemat(file, {VARIABLE: rows}, do_compression=False)
                file.seek(0)
                file.write(HEAD.ljust(116))  # SciPy writes the time there
            return final
        with h5py.File(final, "w", userblock_size=512) as file:
            matrix = fill(file, VARIABLE, self, transposed=True)
            matrix.attrs["MATLAB_class"] = np.bytes_("double")
        with open(final, "r+b") as head:
            text = b"MATLAB 7.3 MAT-file, Platform: nica, HDF5 schema 1.00 ."
            head.write(text.ljust(116) + bytes(8) + b"\x00\x02IM")
        return final
