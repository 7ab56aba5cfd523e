"""The table of formats, and how a source's own is recognised: by content, then by extension."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
COMPRESSED = (".gz", ".zst")
HEAD = 4096  #: bytes at the beginning that tell the format


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : str
        What ``format=`` and ``--format`` call it.
    about : str
    extensions : tuple of str
    module : str
        Where its ``Reader`` and ``Writer`` are.
    magic : tuple of bytes
        How a file of this format begins; empty if that does not tell.
    libraries : tuple of str
        Modules that must be installed.
    pipe : bool
        Whether it can come from standard input or go to standard output.
    folder : bool
        Whether it is a folder rather than a file.
    """

    name: str
    about: str
    extensions: tuple[str, ...]
    module: str
    magic: tuple[bytes, ...] = ()
    libraries: tuple[str, ...] = ()
    pipe: bool = False
    folder: bool = False

    def load(self) -> Any:
        """Its module; tells what to install if a library is missing."""
        for library in self.libraries:
            need(library, f"{self.name} files need")
        return import_module(self.module)


def need(library: str, what: str) -> Any:
    """A library that is not always installed, or an error that names the extra."""
    try:
        return import_module(library)
    except ImportError as error:
        name = library.partition(".")[0].replace("PIL", "pillow")
        raise ImportError(f"{what} {name}: pip install 'nica[files]' ({error})") from None


#: All formats, by name.
FORMATS = {
    format.name: format
    for format in (
        Format("npy", "NumPy array, mapped into memory", (".npy",), "nica.streams.npy",
               (b"\x93NUMPY",)),
        Format("csv", "comma-separated text, or any other delimiter; also .gz and .zst",
               (".csv", ".txt", ".dat"), "nica.streams.text", pipe=True),
        Format("tsv", "tab-separated text; also .gz and .zst", (".tsv", ".tab"),
               "nica.streams.text", pipe=True),
        Format("ndjson", "a JSON array or object per line; also .gz and .zst",
               (".ndjson", ".jsonl"), "nica.streams.ndjson", pipe=True),
        Format("npz", "archive of NumPy arrays, one of which is read", (".npz",),
               "nica.streams.npz", (b"PK\x03\x04",)),
        Format("parquet", "columns by name", (".parquet", ".pq"), "nica.streams.parquet",
               (b"PAR1",), ("pyarrow.parquet",)),
        Format("hdf5", "one dataset of an HDF5 file", (".h5", ".hdf5", ".hdf"),
               "nica.streams.hdf5", (b"\x89HDF\r\n\x1a\n",), ("h5py",)),
        Format("zarr", "one array of a zarr store, version 2 or 3, in a folder", (".zarr",),
               "nica.streams.zarr", (), ("zarr",), folder=True),
        Format("mat", "one matrix of a MATLAB file, version 5 to 7.3", (".mat",),
               "nica.streams.mat", (b"MATLAB 5.0", b"MATLAB 7.3"), ("h5py",)),
        Format("tiff", "a stack of images, each page a channel, each pixel a sample",
               (".tif", ".tiff"), "nica.streams.tiff",
               (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), ("tifffile",)),
        Format("images", "a folder or list of images, each a channel; outputs are TIFF images",
               (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".pgm", ".ppm", ".pnm"),
               "nica.streams.images", (b"\x89PNG", b"\xff\xd8\xff"), ("tifffile", "PIL.Image"),
               folder=True),
    )
}  # fmt: skip


def of_name(path: str) -> str | None:
    """Format by extension, None if it tells nothing."""
    low = path.lower()
    for ending in COMPRESSED:
        low = low.removesuffix(ending)
    for format in FORMATS.values():
        if low.endswith(format.extensions):
            return format.name
    return None


def of_content(head: bytes) -> str | None:
    """Format by the first bytes, None if they tell nothing but text."""
    for format in FORMATS.values():
        if any(head.startswith(magic) for magic in format.magic):
            return format.name
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"["):
        return "ndjson"
    return None


def named(name: str) -> Format:
    """The format called `name`."""
    if name not in FORMATS:
        raise ValueError(f"there is no format {name!r}: give one of {', '.join(FORMATS)}")
    return FORMATS[name]
