"""``.tif``: a stack whose pages are channels, pixel by pixel, and outputs as pages of floats.

Values are those of the file: 16-bit counts stay counts, nothing is scaled, stretched or corrected for
gamma. Each colour of an RGB page is a channel of its own; transparency is left out.
"""

from __future__ import annotations

import logging
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from nica.streams._bare import BareSink
from nica.streams._chunks import Array, Chunks, Reading
from nica.streams._guard import OBJECTS, WHOLE, Refused, guard, size_of

COLOURS = ("red", "green", "blue")


@dataclass(frozen=True)
class Page:
    """An image that was found, not yet decoded."""

    names: tuple[str, ...]  #: of its channels
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    load: Callable[[], NDArray[Any]]  #: its channels (len(names), height, width)
    where: tuple[Path, int] | None = None  #: file and offset of numbers that can be mapped

    @property
    def size(self) -> int:
        """Bytes when decoded."""
        return len(self.names) * self.shape[0] * self.shape[1] * self.dtype.itemsize


class PixelReader(Chunks):
    """Samples are pixels, row by row of the image; channels are images of one shape."""

    kind = "image"

    def __init__(self, name: str, reading: Reading) -> None:
        super().__init__(name, reading)
        self._maps: list[mmap.mmap] = []
        self._channels: list[NDArray[Any]] = []
        self.dtype: np.dtype[Any] = np.dtype(np.float64)

    def _take(self, pages: list[Page]) -> None:
        """Decode, or map, the pages that hold the chosen columns."""
        if not pages:
            raise ValueError(f"{self.name!r} holds no images")
        first = pages[0].shape
        for page in pages:
            if page.shape != first:
                raise ValueError(
                    f"{self.name!r}: image {page.names[0]!r} has {page.shape[0]} x {page.shape[1]} "
                    f"pixels, {pages[0].names[0]!r} has {first[0]} x {first[1]}: give images of one size"
                )
            if page.dtype.kind not in "fiub":
                raise ValueError(
                    f"{self.name!r}: image {page.names[0]!r} holds {page.dtype} values: give real numbers"
                )
        names = [name for page in pages for name in page.names]
        wanted = self._choose(len(names), names)
        self.image_shape, self.n_rows = first, first[0] * first[1]
        owner = [(i, j) for i, page in enumerate(pages) for j in range(len(page.names))]
        used = sorted({owner[column][0] for column in wanted})
        held = sum(pages[i].size for i in used)
        mapped = held > WHOLE // 8 and all(pages[i].where for i in used)
        if held > WHOLE and not mapped:
            raise ValueError(
                f"{self.name!r} would take {size_of(held)} of memory: the limit is {size_of(WHOLE)} "
                "unless it is an uncompressed TIFF; take fewer images with columns="
            )
        with guard(self.name, self.kind), quiet():
            loaded = {i: (self._map if mapped else _decoded)(pages[i]) for i in used}
        self._channels = [loaded[owner[c][0]][owner[c][1]].reshape(-1) for c in wanted]
        self.dtype = np.result_type(np.float32, *(pages[i].dtype for i in used))

    def _map(self, page: Page) -> NDArray[Any]:
        assert page.where is not None
        path, offset = page.where
        shape = (len(page.names), *page.shape)
        array = np.memmap(path, page.dtype, "r", offset, shape)
        self._maps.append(array._mmap)  # type: ignore[attr-defined]
        return array

    def _chunks(self) -> Iterator[Array]:
        for first in self._rest(self.n_rows or 0):
            last = min(first + self.step, self.n_rows or 0)
            rows = np.empty((last - first, self.n_channels))
            for j, channel in enumerate(self._channels):
                rows[:, j] = channel[first:last]
            yield rows
            for pages in self._maps:
                pages.madvise(mmap.MADV_DONTNEED)


class Reader(PixelReader):
    """Every page of a stack."""

    format = "tiff"

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(str(path), reading)
        self._take(stack(path, self.name))


class Writer(BareSink):
    """Each output as a page of floats, in single precision if the images had no more."""

    format = "tiff"

    def __init__(self, *args: Any, **options: Any) -> None:
        self._shape, self._dtype = image_like(options.get("like"), options.get("n_rows"))
        super().__init__(*args, **options)

    def finish(self, final: Path) -> Path:
        """Write the pages."""
        images = self.images(self._shape, self._dtype)
        big = (
            self.shape[1] * (self._shape[0] * self._shape[1] * self._dtype.itemsize + 4096) > 2**32
        )
        with tifffile.TiffWriter(final, bigtiff=big) as writer:
            for name, image in images:
                writer.write(image, photometric="minisblack", metadata=None, description=name)
        return final

    def images(
        self, shape: tuple[int, int], dtype: np.dtype[Any]
    ) -> Iterator[tuple[str, NDArray[Any]]]:
        """Each output as an image, and its name."""
        return pictures(self, shape, dtype)


def pictures(
    sink: BareSink, shape: tuple[int, int], dtype: np.dtype[Any]
) -> Iterator[tuple[str, NDArray[Any]]]:
    """Each output of a sink as an image, and its name in plain letters."""
    n, k = sink.shape
    if n != shape[0] * shape[1]:
        raise ValueError(
            f"{n} rows make no images of {shape[0]} x {shape[1]} pixels: {sink.name!r} cannot be written"
        )
    rows = np.memmap(sink.part, "<f8", "r", 0, (n, k)) if n * k else np.empty((n, k))
    for name, column in zip(sink.names, rows.T, strict=True):
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_ .") else "_" for c in name)
        yield plain, column.reshape(shape).astype(dtype)


def image_like(like: Any, n_rows: int | None) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Shape and precision of the images to write."""
    shape = getattr(like, "image_shape", None)
    if shape is None:
        raise ValueError(
            "only outputs for images can be written as images: say where they come from (like=), or "
            "write .npy"
        )
    if n_rows is not None and n_rows != shape[0] * shape[1]:
        raise ValueError(f"{n_rows} rows make no images of {shape[0]} x {shape[1]} pixels")
    return shape, np.dtype(getattr(like, "dtype", np.float64))


# --------------------------------------------------------------------------------------- reading


def stack(path: Path, name: str) -> list[Page]:
    """All pages of a TIFF file; other files that it may name are not opened."""
    with guard(name, "TIFF"), quiet(), tifffile.TiffFile(path, is_ome=False) as file:
        if len(file.pages) > OBJECTS:
            raise Refused(f"{name!r} has {len(file.pages)} pages: the limit is {OBJECTS}")
        pages = [page.aspage() for page in file.pages]
        if len(pages) == 1 and file.is_imagej:
            planes = _imagej(file, path, name)
            if planes is not None:
                return planes
        single = len(pages) == 1
        return [
            _page(path, i, p, path.stem if single else f"page{i}", name)
            for i, p in enumerate(pages)
        ]


def _page(path: Path, number: int, page: Any, label: str, name: str) -> Page:
    axes, shape = str(page.axes), tuple(map(int, page.shape))
    if page.photometric == tifffile.PHOTOMETRIC.PALETTE:
        raise Refused(
            f"{name!r}: page {number} has colours by palette, which are no measured values: convert it "
            "to grey or RGB"
        )
    if page.photometric == tifffile.PHOTOMETRIC.MINISWHITE:
        raise Refused(f"{name!r}: page {number} stores white as zero: invert it")
    if len(page.dataoffsets) != int(np.prod(page.chunked, dtype=object)):
        raise Refused(f"{name!r}: page {number} lacks some of its strips or tiles")
    if "Y" not in axes or "X" not in axes or page.dtype is None:
        raise Refused(f"{name!r}: page {number} is no image (its axes are {axes!r})")
    colours = shape[axes.index("S")] if "S" in axes else 1
    count = int(np.prod([n for n, axis in zip(shape, axes, strict=True) if axis not in "YX"]))
    alpha = sum(int(kind) in (1, 2) for kind in page.extrasamples)
    kept = colours - alpha if colours > alpha else colours
    if "S" not in axes:
        names = [label] if count == 1 else [f"{label} {j}" for j in range(count)]
    elif kept == 3 and page.photometric != tifffile.PHOTOMETRIC.MINISBLACK:
        names = [f"{label} {colour}" for colour in COLOURS]
    else:
        names = [f"{label} {j}" for j in range(kept)] if kept > 1 else [label]
    if "S" in axes and count != colours:
        raise Refused(f"{name!r}: page {number} has axes {axes!r}: give images of two dimensions")
    size = (shape[axes.index("Y")], shape[axes.index("X")])
    if min(size) < 1 or max(size) > 1 << 24:
        raise Refused(f"{name!r}: page {number} claims {size[0]} x {size[1]} pixels")
    plain = page.is_memmappable and kept == 1 and count == 1
    offset = int(page.dataoffsets[0]) if plain else 0
    dtype = page.dtype.newbyteorder(page.parent.byteorder)

    def load() -> NDArray[Any]:
        with tifffile.TiffFile(path, is_ome=False) as file:
            image = np.asarray(file.pages[number].asarray())
        if "S" in axes:
            image = np.moveaxis(image, axes.index("S"), 0)
        return image.reshape(-1, *size)[: len(names)]

    return Page(tuple(names), size, dtype, load, (path, offset) if plain else None)


def _imagej(file: Any, path: Path, name: str) -> list[Page] | None:
    """ImageJ writes a large stack as one page, with the others behind it; None if it is none."""
    series = file.series[0]
    shape, axes = tuple(map(int, series.shape)), str(series.axes)
    count = int(np.prod(shape[:-2], dtype=object))
    if not axes.endswith("YX") or count <= 1 or series.dataoffset is None:
        return None
    size, dtype = (shape[-2], shape[-1]), series.dtype.newbyteorder(file.byteorder)
    one = size[0] * size[1] * dtype.itemsize
    if count > OBJECTS or series.dataoffset + count * one > path.stat().st_size:
        raise Refused(f"{name!r} claims {count} images of {size_of(one)}, which it does not hold")
    pages = []
    for i in range(count):
        offset = int(series.dataoffset) + i * one

        def load(offset: int = offset) -> NDArray[Any]:
            return np.fromfile(path, dtype, size[0] * size[1], offset=offset).reshape(1, *size)

        pages.append(Page((f"page{i}",), size, dtype, load, (path, offset)))
    return pages


def _decoded(page: Page) -> NDArray[Any]:
    image = page.load()
    if image.shape != (len(page.names), *page.shape) or image.dtype.kind not in "fiub":
        raise ValueError(f"image {page.names[0]!r} is not of the shape and type that it claims")
    return np.ascontiguousarray(image)


@contextmanager
def quiet() -> Iterator[None]:
    """What tifffile would log about a damaged file, the error says."""
    log = logging.getLogger("tifffile")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
