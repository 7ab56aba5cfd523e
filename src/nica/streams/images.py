"""A folder, list or pattern of images, each a channel; outputs are a folder of float TIFF images.

PNG, JPEG and other common images are read by Pillow, TIFF by tifffile. A 16-bit image that the library
would cut to 8 bits is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

from nica.streams._bare import BareSink
from nica.streams._chunks import Reading
from nica.streams._guard import OBJECTS, Refused, guard
from nica.streams.tiff import COLOURS, Page, PixelReader, image_like, pictures, stack

TIFF = (".tif", ".tiff")
OTHERS = {
    ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".bmp": "BMP", ".webp": "WEBP", ".pgm": "PPM",
    ".ppm": "PPM", ".pnm": "PPM",
}  # fmt: skip
MODES = {
    "1": (1, "?"), "L": (1, "u1"), "LA": (1, "u1"), "I;16": (1, "u2"), "I;16B": (1, "u2"),
    "I;16L": (1, "u2"), "I": (1, "i4"), "F": (1, "f4"), "RGB": (3, "u1"), "RGBA": (3, "u1"),
}  # fmt: skip


class Reader(PixelReader):
    """One or more image files; in a folder they are taken in the order of their names and numbers."""

    format = "images"

    def __init__(self, source: Path | Sequence[Path], reading: Reading) -> None:
        if isinstance(source, Path):
            super().__init__(str(source), reading)
            paths = in_folder(source) if source.is_dir() else [source]
        else:
            paths = list(source)
            super().__init__(f"{paths[0]} ...", reading)
        if not paths:
            raise ValueError(f"{self.name!r} holds no images ({', '.join((*TIFF, *OTHERS))})")
        if len(paths) > OBJECTS:
            raise ValueError(f"{self.name!r} holds {len(paths)} images: the limit is {OBJECTS}")
        pages: list[Page] = []
        for path in paths:
            pages += self._pages(path)
        self._take(pages)

    def _pages(self, path: Path) -> list[Page]:
        if not path.is_file():
            raise FileNotFoundError(f"no image file {str(path)!r}")
        with open(path, "rb") as file:
            head = file.read(4)
        if head in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            found = stack(path, str(path))
            if len(found) == 1:
                return found
            return [
                Page(tuple(f"{path.stem} {n}" for n in p.names), p.shape, p.dtype, p.load, p.where)
                for p in found
            ]
        with guard(str(path), "image"):
            return [_picture(path)]


class Writer(BareSink):
    """A float TIFF image for each output, named after it."""

    format = "images"
    folder = True

    def __init__(self, path: Path, *args: Any, **options: Any) -> None:
        if path.suffix.lower() in OTHERS:
            raise ValueError(
                f"{str(path)!r}: outputs are no whole numbers, which {path.suffix} needs: give .tif, for "
                "a stack, or the name of a folder"
            )
        self._shape, self._dtype = image_like(options.get("like"), options.get("n_rows"))
        super().__init__(path, *args, **options)

    def replaces(self, folder: Path) -> bool:
        """A folder of TIFF images and nothing else."""
        return all(path.is_file() and path.suffix == ".tif" for path in folder.iterdir())

    def finish(self, final: Path) -> Path:
        """Write the images."""
        final.mkdir()
        used: set[str] = set()
        for j, (name, image) in enumerate(pictures(self, self._shape, self._dtype)):
            stem = name.strip(" .") or f"x{j}"
            if stem.lower() in used:
                stem = f"{stem}-{j}"
            used.add(stem.lower())
            tifffile.imwrite(
                final / f"{stem}.tif",
                image,
                photometric="minisblack",
                metadata=None,
                description=name,
            )
        return final


def in_folder(folder: Path) -> list[Path]:
    """The images in a folder, hidden ones left out, in the order people count."""
    paths = [
        path for path in folder.iterdir()
        if path.suffix.lower() in (*TIFF, *OTHERS) and not path.name.startswith(".")
    ]  # fmt: skip
    root = folder.resolve()
    for path in paths:
        if path.is_symlink() and root not in path.resolve().parents:
            raise ValueError(
                f"{str(path)!r} leads out of its folder, and is not followed: give the images as a list"
            )
    return sorted(paths, key=natural)


def natural(path: Path) -> list[Any]:
    """Sorting key by which image 2 comes before image 10."""
    parts = re.split(r"(\d+)", os.fspath(path).lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _picture(path: Path) -> Page:
    """Size and kind of an image by Pillow, which is asked for the usual formats only."""
    with Image.open(path, formats=sorted(set(OTHERS.values()))) as image:
        width, height = image.size
        mode = image.mode
        deep = any("16" in str(tile[3]) for tile in image.tile if tile[0] == "zip")
        frames = getattr(image, "n_frames", 1)
    if mode not in MODES:
        raise Refused(
            f"{str(path)!r} stores its colours as {mode!r}, which are no measured values: convert it to "
            "grey or RGB"
        )
    if frames > 1:
        raise Refused(f"{str(path)!r} holds {frames} images: save them as a TIFF stack")
    count, kind = MODES[mode]
    if deep and kind == "u1":
        raise Refused(
            f"{str(path)!r} has colours of 16 bits, of which 8 would be lost here: save it as TIFF"
        )
    names = (path.stem,) if count == 1 else tuple(f"{path.stem} {colour}" for colour in COLOURS)

    def load() -> NDArray[Any]:
        with Image.open(path, formats=sorted(set(OTHERS.values()))) as image:
            array = np.asarray(image)
        if array.ndim == 3:
            array = np.moveaxis(array, -1, 0)
        return array.reshape(-1, height, width)[:count]

    return Page(names, (height, width), np.dtype(kind), load)
