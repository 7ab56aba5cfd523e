"""``.h5``: one dataset of an HDF5 file. Only what is in the file itself is read.

External links, virtual datasets and external storage could name any other file, so they are refused;
soft links are followed inside the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from nica.streams._bands import BandReader
from nica.streams._bare import BareSink
from nica.streams._chunks import Reading
from nica.streams._guard import DEPTH, OBJECTS, Refused, choose, guard

DATASET = "data"  #: name of the dataset that is written
COLUMNS = "columns"  #: attribute with the names
CHUNK = 1 << 17  #: numbers in a chunk that is written


class Reader(BandReader):
    """Rows of the dataset `path`, or of the only one that can hold samples."""

    format = "hdf5"
    kind = "HDF5"
    what = "dataset"
    hidden: tuple[str, ...] = ()  #: groups that are no data

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, reading)
        with guard(self.name, self.kind):
            self._file = h5py.File(path, "r")
        try:
            with guard(self.name, self.kind):
                found = datasets(self._file, self.name, self.hidden)
                wanted = reading.path
                if wanted is not None:
                    wanted, node = resolve(self._file, wanted, self.name)
                    if isinstance(node, h5py.Dataset):  # it may have several names
                        found[wanted] = _about(node)
            key = choose(self.name, self.what, wanted, found)
            self._open(self._file[key], f"{self.name}: {key}")
        except BaseException:
            self.close()
            raise

    def _open(self, dataset: Any, label: str) -> None:
        with guard(self.name, self.kind):
            elsewhere = dataset.is_virtual or dataset.external
            stored, chunks = dataset.id.get_storage_size(), dataset.chunks
            names = _names(dataset)
        if elsewhere:
            raise ValueError(
                f"{label!r} is kept in other files (virtual or external storage), which are not "
                "opened: copy it into one file"
            )
        self._take(dataset, label, stored, names, chunks)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Writer(BareSink):
    """A dataset ``data``, in chunks; its attribute ``columns`` has the names."""

    format = "hdf5"

    def finish(self, final: Path) -> Path:
        """Put the rows into a dataset."""
        with h5py.File(final, "w", track_order=False) as file:
            dataset = fill(file, DATASET, self)
            if self.columns is not None:
                texts = [name.encode() for name in self.columns]
                longest = max((len(text) for text in texts), default=0) or 1
                kind = h5py.string_dtype("utf-8", longest)
                dataset.attrs[COLUMNS] = np.array(texts, f"S{longest}").astype(kind)
        return final


def fill(file: Any, name: str, sink: BareSink, *, transposed: bool = False) -> Any:
    """The rows of a sink as a dataset."""
    n, k = sink.shape
    tall = max(1, min(n, CHUNK // max(1, k)))
    shape, chunk = ((k, n), (k, tall)) if transposed else ((n, k), (tall, k))
    options = {"chunks": chunk} if n and k else {}
    dataset = file.create_dataset(name, shape, "<f8", track_times=False, **options)
    first = 0
    for rows in sink.bare(tall):
        if transposed:
            dataset[:, first : first + len(rows)] = rows.T
        else:
            dataset[first : first + len(rows)] = rows
        first += len(rows)
    return dataset


# ---------------------------------------------------------------------------- inside the file only


def datasets(
    file: Any, name: str, hidden: tuple[str, ...]
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of every dataset that hard links lead to, each once."""
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    groups = [(file, "", 0)]
    seen = {h5py.h5o.get_info(file.id).addr}
    while groups:
        group, path, depth = groups.pop(0)
        for key in group:
            if "/" in key or key in (".", *hidden) or _link(group, key)[0] != h5py.h5l.TYPE_HARD:
                continue
            node = group[key]
            address = h5py.h5o.get_info(node.id).addr
            if address in seen:
                continue
            seen.add(address)
            if len(seen) > OBJECTS:
                raise Refused(f"{name!r} holds more than {OBJECTS} groups and datasets")
            if isinstance(node, h5py.Dataset):
                found[path + key] = _about(node)
            elif isinstance(node, h5py.Group):
                if depth == DEPTH:
                    raise Refused(
                        f"{name!r} has groups more than {DEPTH} deep, below {path[:60]!r}"
                    )
                groups.append((node, f"{path}{key}/", depth + 1))
    return found


def resolve(file: Any, path: str, name: str) -> tuple[str, Any]:
    """A path with its soft links followed inside the file, and what is there; None if nothing is."""
    parts, done, links = path.split("/"), list[str](), 0
    group = file
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        kind, target = _link(group, part)
        if kind == h5py.h5l.TYPE_SOFT:
            links += 1
            if links > DEPTH:
                raise Refused(f"{name!r}: path {path!r} leads through more than {DEPTH} links")
            if target.startswith("/"):
                group, done = file, []
            parts = target.split("/") + parts
        elif kind == h5py.h5l.TYPE_HARD:
            done.append(part)
            if not isinstance(group := group[part], h5py.Group):
                break
        elif kind is None:
            return path, None
        else:
            raise Refused(
                f"{name!r}: path {path!r} leads to another file, which is not opened: give that file"
            )
    return "/".join(done + parts), None if parts else group


def _about(dataset: Any) -> tuple[tuple[int, ...], str]:
    kind = dataset.dtype.str if dataset.dtype.names is None else "structured"
    return dataset.shape or (), kind


def _link(group: Any, key: str) -> tuple[int | None, str]:
    """Kind of a link, and where a soft one leads; asks the group alone, and follows nothing."""
    links, code = group.id.links, key.encode(errors="surrogateescape")
    if not links.exists(code):
        return None, ""
    kind = links.get_info(code).type
    target = (
        links.get_val(code).decode(errors="surrogateescape") if kind == h5py.h5l.TYPE_SOFT else ""
    )
    return kind, target


def _names(dataset: Any) -> list[str] | None:
    """Names of the columns, if an attribute has them, as texts of one length.

    Texts of any length are kept in a heap, where the library can go round in circles if it is damaged.
    """
    if not h5py.h5a.exists(dataset.id, COLUMNS.encode()):
        return None
    attribute = h5py.h5a.open(dataset.id, COLUMNS.encode())
    kind = attribute.get_type()
    if not isinstance(kind, h5py.h5t.TypeStringID) or kind.is_variable_str():
        return None
    if np.prod(attribute.shape) > OBJECTS:
        return None
    return [name.decode() for name in np.ravel(dataset.attrs[COLUMNS])]
