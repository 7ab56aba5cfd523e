"""Files are not trusted: the limits, and one clear error for whatever a library raises."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

T = TypeVar("T")

WHOLE = 1 << 30  #: bytes of an array that has to be held as a whole
BAND = 1 << 28  #: bytes of the chunks that have to be unpacked together to give one row
CHUNKS = 4096  #: chunks of a store that are unpacked together
UNPACKED = 1 << 30  #: bytes below which any compression is believed
RATIO = 200  #: times that an array above that may be larger than what is stored of it
OBJECTS = 10_000  #: arrays, groups or images in a file or folder
DEPTH = 32  #: groups inside groups

_END = object()


class Refused(ValueError):  # noqa: N818 -- as in "the file was refused"
    """What `guard` lets through: its message is already the one to show."""


@contextmanager
def guard(name: str, kind: str) -> Iterator[None]:
    """Around calls of a library: what it raises becomes one `ValueError`; the system's errors stay."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Refused:
        raise
    except MemoryError as error:
        raise ValueError(f"{name!r} asks for more memory than there is ({error})") from None
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None and error.errno:
            raise
        text = " ".join(str(error).split())
        about = f"{text[:200]}..." if len(text) > 200 else text or type(error).__name__
        raise ValueError(f"{name!r} is no whole {kind} file ({about})") from None


def guarded(name: str, kind: str, items: Iterable[T]) -> Iterator[T]:
    """The items of a library's iterator, each made under `guard`."""
    iterator = iter(items)
    while True:
        with guard(name, kind):
            item = next(iterator, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]


def check_whole(name: str, size: int, remedy: str) -> None:
    """Refuse what would have to be held as a whole and is too large for it."""
    if size > WHOLE:
        raise ValueError(
            f"{name!r} would take {size_of(size)} of memory: the limit is {size_of(WHOLE)}; {remedy}"
        )


def check_packing(name: str, size: int, stored: int) -> None:
    """Refuse an array that claims far more than what is stored of it: a bomb, or damage."""
    if size > UNPACKED and size > RATIO * stored:
        raise ValueError(
            f"{name!r} unpacks {size_of(stored)} to {size_of(size)}: above {size_of(UNPACKED)} the "
            f"limit is {RATIO} times; if you trust it, save it as .npy with the library that made it"
        )


def choose(
    name: str, what: str, path: str | None, found: dict[str, tuple[tuple[int, ...], str]]
) -> str:
    """Path of the array to read: the one asked for, or the only one that can hold samples.

    `found` has shape and type of each array.
    """
    if path is not None:
        plain = path.strip("/")
        for key in found:
            if plain == key.strip("/"):
                return key
        raise ValueError(f"{name!r} has no {what} {path!r}: it has {_list(found)}")
    suitable = [key for key, (shape, kind) in found.items() if 1 <= len(shape) <= 2 and real(kind)]
    if len(suitable) == 1:
        return suitable[0]
    if not suitable:
        raise ValueError(
            f"{name!r} has no {what} of real numbers with one or two dimensions: it has {_list(found)}"
        )
    chosen = {key: found[key] for key in suitable}
    raise ValueError(
        f"{name!r} has several {what}s: {_list(chosen)}; say which, as path={suitable[0]!r}"
    )


def real(kind: str) -> bool:
    """Whether a type, by its name, is one of real numbers."""
    try:
        return np.dtype(kind).kind in "fiub"
    except TypeError:
        return False


def size_of(size: float) -> str:
    """Bytes as people say them."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.4g} {unit}"
        size /= 1024
    return f"{size:.4g} TiB"


def _list(found: dict[str, tuple[tuple[int, ...], str]]) -> str:
    shown = [f"{key!r} {shape} {kind}" for key, (shape, kind) in list(found.items())[:20]]
    return ", ".join(shown) + (", ..." if len(found) > 20 else "") if shown else "none"
