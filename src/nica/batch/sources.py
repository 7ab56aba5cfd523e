"""Where the samples are: sums over blocks of them, block by block, on threads, in a fixed order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from nica._core import find_bad

Array = NDArray[np.float64]
Sums = tuple[Array, ...]  #: what is added up over blocks
Work = Callable[[Array], Sums]
T = TypeVar("T")

LIMIT = 1e100  #: largest size of an input value; its square must be finite
ENTRIES = 1 << 18  #: entries of a block: what one thread works on, and one dtype conversion makes
ROWS = 8192  #: rows of a block at least, so that products of many channels are worth their start
PART = 1 << 17  #: entries that are worked on at once, so that they stay in the cache
PART_ROWS = 1024  #: rows of them at least


class BadSampleError(ValueError):
    """A sample that is not finite: its row in all samples, its values, and its chunk where it has one."""

    def __init__(self, row: int, x: Array, chunk: int | None = None, chunk_row: int = 0) -> None:
        super().__init__(row, x, chunk, chunk_row)
        self.row, self.x, self.chunk, self.chunk_row = row, x, chunk, chunk_row


@dataclass(frozen=True)
class Total:
    """Sums over all good samples, and how many samples there were."""

    sums: Sums
    n_samples: int
    n_bad: int


class Source(Protocol):
    """Samples as the solver sees them."""

    n_channels: int

    def total(self, work: Work) -> Total:
        """Sum of ``work(part)`` over all parts of the samples, added up in a fixed order."""

    def sample(self, most: int, F: Array | None = None) -> Array:
        """At most so many good samples, evenly spread; each multiplied by F, if given."""


def measure(
    work: Work, raw: NDArray[Any], first: int, skip: bool, chunk: int | None = None
) -> Sums:
    """Sums over one block, part by part; its good rows and its bad ones are counted in front."""
    step = max(PART_ROWS, PART // raw.shape[1])
    bad = 0

    def sums(start: int) -> Sums:
        nonlocal bad
        part = np.ascontiguousarray(raw[start : start + step], dtype=np.float64)
        row = find_bad(part, LIMIT)
        if row >= 0:
            if not skip:
                raise BadSampleError(first + start + row, part[row].copy(), chunk, start + row)
            good = np.all(np.abs(part) <= LIMIT, axis=1)
            bad += int(np.sum(~good))
            part = np.ascontiguousarray(part[good])
        return work(part)

    whole = fold(map(sums, range(0, len(raw), step)), add)  # never all parts' sums at once
    return (np.array([len(raw), bad], dtype=np.float64), *whole)


def add(one: Sums, other: Sums) -> Sums:
    """One and the other, entry by entry."""
    return tuple(a + b for a, b in zip(one, other, strict=True))


def fold(parts: Iterable[T], plus: Callable[[T, T], T]) -> T:
    """Sum of the parts as a balanced tree over their order: round-off grows with its depth only.

    Examples
    --------
    >>> fold("abcde", lambda one, other: f"({one}{other})")
    '(((ab)(cd))e)'
    """
    waiting: list[tuple[int, T]] = []  # level in the tree, sum
    for part in parts:
        level = 0
        while waiting and waiting[-1][0] == level:
            part = plus(waiting.pop()[1], part)
            level += 1
        waiting.append((level, part))
    _, whole = waiting.pop()
    while waiting:
        whole = plus(waiting.pop()[1], whole)
    return whole


def unpack(sums: Sums) -> Total:
    """Split what `measure` gave, added up."""
    n, bad = sums[0]
    return Total(sums[1:], int(n), int(bad))


class _Threaded:
    """Blocks on threads, a few of them at a time: the memory does not grow with the samples."""

    def __init__(self, n_samples: int, n_channels: int, threads: int, skip: bool) -> None:
        self.n_samples, self.n_channels = n_samples, n_channels
        self.threads, self.skip = threads, skip

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """First row, and rows."""
        raise NotImplementedError

    def total(self, work: Work) -> Total:
        return unpack(fold(self._sums(work), add))

    def _sums(self, work: Work) -> Iterator[Sums]:
        if self.threads == 1:
            for first, raw in self._blocks():
                yield measure(work, raw, first, self.skip)
            return
        with ThreadPoolExecutor(self.threads) as pool:
            running: deque[Future[Sums]] = deque()
            try:
                for first, raw in self._blocks():
                    running.append(pool.submit(measure, work, raw, first, self.skip))
                    if len(running) > self.threads:
                        yield running.popleft().result()
                while running:
                    yield running.popleft().result()
            finally:
                for late in running:
                    late.cancel()

    def sample(self, most: int, F: Array | None = None) -> Array:
        """At most so many good samples, evenly spread; each multiplied by F, if given."""
        return np.concatenate(
            [spread(raw, most, first, self.n_samples, F) for first, raw in self._blocks()]
        )


class ArraySource(_Threaded):
    """Samples of an array or a memmap."""

    def __init__(self, X: NDArray[Any], threads: int, skip: bool = False) -> None:
        super().__init__(X.shape[0], X.shape[1], threads, skip)
        self.X = X

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        step = max(ROWS, ENTRIES // self.n_channels)
        for first in range(0, len(self.X), step):
            yield first, self.X[first : first + step]


class ChunkSource(_Threaded):
    """Samples of chunks that can be gone over again: a list of arrays, `nica.streams.open_chunks`."""

    def __init__(self, chunks: Iterable[Any], threads: int, skip: bool = False) -> None:
        if iter(chunks) is chunks:
            raise TypeError(
                "the chunks are an iterator, which is gone after one pass, and solver='batch' goes over "
                "the samples several times: give a list, an array, a memmap or "
                "nica.streams.open_chunks(...), or use partial_fit or separate, which pass once"
            )
        self.chunks = chunks
        self.n_samples, channels = 0, None
        for chunk in chunks:
            array = self._checked(chunk, channels)
            channels = array.shape[1]
            self.n_samples += len(array)
        if channels is None or self.n_samples == 0:
            raise ValueError("the chunks hold no samples: give at least one chunk with rows")
        super().__init__(self.n_samples, channels, threads, skip)

    def _checked(self, values: Any, channels: int | None) -> NDArray[Any]:
        chunk: NDArray[Any] = np.asarray(values)
        if chunk.ndim != 2 or chunk.dtype.kind not in "fiub":
            raise ValueError(
                f"the chunk at row {self.n_samples} has shape {chunk.shape} and type {chunk.dtype}: "
                "give real numbers (samples, channels)"
            )
        if channels is not None and chunk.shape[1] != channels:
            raise ValueError(
                f"the chunk at row {self.n_samples} has {chunk.shape[1]} channels, and those before it "
                f"{channels}: give the same in all"
            )
        return chunk

    def _blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        step = max(ROWS, ENTRIES // self.n_channels)
        first = 0
        for chunk in self.chunks:
            chunk = np.asarray(chunk)
            for start in range(0, len(chunk), step):
                yield first + start, chunk[start : start + step]
            first += len(chunk)
        if first != self.n_samples:
            raise ValueError(
                f"the chunks held {self.n_samples} samples when they were counted and {first} now: they "
                "must be the same in each pass"
            )


def spread(
    chunk: NDArray[Any], most: int, first: int, n_samples: int, F: Array | None = None
) -> Array:
    """Those good rows of a chunk that belong to a selection of at most ``most`` of ``n_samples``.

    The chunk begins at row ``first``. How samples are cut does not change what is selected.

    Examples
    --------
    >>> rows = np.arange(10.0)[:, None]
    >>> spread(rows, 4, 0, 10).ravel(), spread(rows[:5], 4, 0, 10).ravel()
    (array([0., 3., 6., 9.]), array([0., 3.]))
    """
    step = -(-n_samples // most)
    rows: Array = np.ascontiguousarray(chunk[-first % step :: step], dtype=np.float64)
    rows = rows[np.all(np.abs(rows) <= LIMIT, axis=1)]
    return rows if F is None else rows @ F.T
