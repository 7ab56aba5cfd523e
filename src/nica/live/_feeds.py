"""Where samples come from: a stream of chunks, a generator that can be turned, images by pixels."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nica.datasets import mixing, natural_scenes, paper_mixing, sparse_uniform
from nica.datasets.mixtures import PUBLISHED_SEEDS

Array = NDArray[np.float64]

POOL = 1 << 18  #: samples of the sources that the generator draws once, and goes round in
AHEAD = 4  #: chunks that are read ahead
LONGEST = 1 << 16  #: rows of a piece of a chunk


class Batch(NamedTuple):
    """Some samples, the true sources if known, and their places in an image."""

    X: Array
    S: Array | None = None
    pixels: NDArray[np.intp] | None = None


class Feed:
    """Base of all inputs.

    Attributes
    ----------
    name : str
    columns : list of str or None
        Names of the channels.
    shape : tuple of int or None
        Height and width, if each channel is an image.
    ended : bool
    turns : bool
        Whether its mixing can be changed.
    """

    name = ""
    columns: list[str] | None = None
    shape: tuple[int, int] | None = None
    ended = False
    turns = False

    def take(self, n: int, patience: float) -> Batch | None:
        """Give at most n samples; None if none came within so many seconds, or all are taken."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of files."""


class Stream(Feed):
    """An array, an iterable of chunks or what `nica.streams.open_chunks` gave, read by a thread.

    A pipe may wait for ever; who takes from here does not.
    """

    def __init__(self, source: Any, name: str = "") -> None:
        self.name = name or str(getattr(source, "name", "") or "stream")
        self.columns = getattr(source, "columns", None)
        if self.columns is not None:
            self.columns = [str(column) for column in self.columns]
        shape = getattr(source, "image_shape", None)
        self.shape = tuple(shape) if shape is not None and len(shape) == 2 else None
        self._rest: Array | None = None
        self._row = 0
        self._queue: queue.Queue[Array | BaseException | None] = queue.Queue(AHEAD)
        self._closed = threading.Event()
        self._source = source
        threading.Thread(target=self._read, name="nica-live-reader", daemon=True).start()

    def take(self, n: int, patience: float) -> Batch | None:
        """Give at most n samples; None if none came within so many seconds, or all are taken."""
        if self._rest is None and not self.ended:
            try:
                found = self._queue.get(timeout=patience)
            except queue.Empty:
                return None
            if found is None:
                self.ended = True
            elif isinstance(found, BaseException):
                self.ended = True
                raise found
            self._rest = found if isinstance(found, np.ndarray) else None
        if self._rest is None:
            return None
        X, rest = self._rest[:n], self._rest[n:]
        self._rest = rest if len(rest) else None
        pixels = None
        if self.shape is not None:
            pixels = (self._row + np.arange(len(X))) % int(np.prod(self.shape))
        self._row += len(X)
        return Batch(X, None, pixels)

    def close(self) -> None:
        """Let go of the file; a thread that waits for a pipe ends with the process."""
        self._closed.set()

    def _read(self) -> None:
        try:
            for chunk in _chunks(self._source):
                self._put(chunk)
                if self._closed.is_set():
                    return
            self._put(None)
        except BaseException as error:  # told by whoever takes
            self._put(error)

    def _put(self, item: Array | BaseException | None) -> None:
        while not self._closed.is_set():
            try:
                self._queue.put(item, timeout=0.2)
            except queue.Full:
                continue
            break


def _chunks(source: Any) -> Iterator[Array]:
    """Pieces of any stream, as rows of numbers."""
    pieces: Iterable[Any] = [source] if hasattr(source, "__array__") else source
    for piece in pieces:
        X = np.ascontiguousarray(piece, dtype=np.float64)
        X = X[np.newaxis] if X.ndim == 1 else X
        for start in range(0, len(X), LONGEST):
            yield X[start : start + LONGEST]


class Generator(Feed):
    """Sparse uniform sources for ever, mixed by a matrix that can be turned, drift, or jump."""

    turns = True

    def __init__(self, n_sources: int = 3, seed: int = 0) -> None:
        self.name = f"{n_sources} sparse sources, generated"
        self._rng = np.random.default_rng(seed)
        self._pool = sparse_uniform(POOL, n_sources, random_state=self._rng)
        known = n_sources == 3 or n_sources in PUBLISHED_SEEDS
        self.A = paper_mixing(n_sources) if known else self._draw()
        self.angle = 0.0  #: degrees by which the first two channels are turned
        self.drift = 0.0  #: degrees that a million samples add

    def take(self, n: int, patience: float) -> Batch | None:
        """Give n samples."""
        start = int(self._rng.integers(POOL - n + 1)) if n < POOL else 0
        S = self._pool[start : start + n]
        self.angle += self.drift * len(S) / 1e6
        return Batch(S @ self.mixing.T, S)

    @property
    def mixing(self) -> Array:
        """The matrix as it is now."""
        A = self.A.copy()
        if len(A) > 1:
            c, s = np.cos(np.radians(self.angle)), np.sin(np.radians(self.angle))
            A[:2] = np.array([[c, -s], [s, c]]) @ A[:2]
        return A

    def jump(self) -> None:
        """Take another matrix, from one sample to the next."""
        self.A = self._draw()

    def _draw(self) -> Array:
        d = self._pool.shape[1]
        return mixing(d, condition=3.0 if d > 1 else 1.0, random_state=self._rng)


class Images(Feed):
    """Four images mixed, their pixels in another order each time over, for ever."""

    turns = True

    def __init__(self, seed: int = 0) -> None:
        scenes = natural_scenes()
        self.name = "four images"
        self.S: Array = scenes.S
        self.A: Array = scenes.A
        self.shape = (int(scenes.shape[0]), int(scenes.shape[1]))
        self._rng = np.random.default_rng(seed)
        self._order = self._rng.permutation(len(self.S))
        self._at = 0

    def take(self, n: int, patience: float) -> Batch | None:
        """Give at most n pixels."""
        if self._at == len(self._order):
            self._order, self._at = self._rng.permutation(len(self.S)), 0
        pixels = self._order[self._at : self._at + n]
        self._at += len(pixels)
        return Batch(self.S[pixels] @ self.A.T, self.S[pixels], pixels)

    def jump(self) -> None:
        """Take another matrix."""
        self.A = mixing(4, condition=3.0, random_state=self._rng)


class Ring:
    """The last rows of a stream."""

    def __init__(self, size: int, width: int) -> None:
        self._rows = np.zeros((size, width))
        self.count = 0  #: rows ever put in

    def put(self, rows: Array) -> None:
        """Add some rows."""
        size = len(self._rows)
        kept = rows[-size:]
        at = (self.count + len(rows) - len(kept)) % size
        first = min(len(kept), size - at)
        self._rows[at : at + first] = kept[:first]
        self._rows[: len(kept) - first] = kept[first:]
        self.count += len(rows)

    def last(self, n: int) -> Array:
        """Give a copy of the last n rows, or of as many as there are."""
        size = len(self._rows)
        n = min(n, self.count, size)
        index = (self.count - n + np.arange(n)) % size
        return np.asarray(self._rows[index])
