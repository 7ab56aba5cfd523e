"""What is looked at of X: all samples, or an even selection of them in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica._core import find_bad
from nica.networks._samples import LIMIT, blocks, is_chunks

Array = NDArray[np.float64]
Fill = Callable[[Array], Array]

MOST = 20_000  #: samples that are looked at
LEAST = 30  #: samples below which nothing is said, and
LEAST_PER_SOURCE = 6  #: so many for each source


@dataclass
class Intake:
    """Samples that are looked at, and what stands in the way of a verdict."""

    X: Array
    n_samples: int
    names: list[str]
    obstacles: list[str]


def take(X: Any, fill: Fill | None = None) -> Intake:
    """Gather at most `MOST` samples of an array or of chunks, in order, and look for obstacles.

    ``fill`` fills the gaps of samples.
    """
    names = [str(name) for name in getattr(X, "columns", None) or []]
    streamed = isinstance(X, Selection) or is_chunks(X)
    if streamed:
        selection = X if isinstance(X, Selection) else _of_chunks(X, fill)
        rows, n, bad = selection.rows(), selection.n_samples, selection.bad
    else:
        source = X if isinstance(X, np.ndarray) else np.asarray(X)
        if source.ndim != 2 or source.dtype.kind not in "fiub":
            raise ValueError(
                f"X has shape {source.shape} and type {source.dtype}: "
                "give real numbers as (n_samples, n_channels)"
            )
        n = len(source)
        bad = None if fill or isinstance(source, np.memmap) else _first_bad(source)
        step = _step(n)
        rows = np.ascontiguousarray(source[_chosen(0, n // step, step)], dtype=np.float64)
        rows = fill(rows) if fill else rows
    if len(names) != rows.shape[1]:
        names = [str(j) for j in range(rows.shape[1])]
    intake = Intake(rows, n, names, [])
    if bad is None and (row := find_bad(rows, LIMIT)) >= 0:
        bad = _chosen(0, len(rows), _step(n))[row] if not streamed else row, rows[row]
    if bad is not None:
        intake.obstacles.append(_about_bad(*bad, names))
    else:
        intake.obstacles.extend(_about_channels(rows, names))
    return intake


def enough(intake: Intake, d: int) -> bool:
    """Whether there are samples enough for d sources; says so if not."""
    distinct, needed = len(np.unique(intake.X, axis=0)), max(LEAST, LEAST_PER_SOURCE * d)
    if distinct < needed:
        intake.obstacles.append(
            f"{distinct} distinct samples are too few for {d} sources: give at least {needed}"
        )
    return distinct >= needed


def _step(n: int) -> int:
    return max(1, -(-n // MOST))


def _chosen(first: int, last: int, step: int) -> NDArray[np.int64]:
    """One row, apparently at random, of each block of ``step`` rows from block first to last."""
    b = np.arange(first, last, dtype=np.int64)
    if step == 1:
        return b
    mixed = (b.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    chosen: NDArray[np.int64] = b * step + (mixed % np.uint64(step)).astype(np.int64)
    return chosen


def _first_bad(source: NDArray[Any]) -> tuple[int, Array] | None:
    for start, block in blocks(source) if source.size else ():
        row = find_bad(block, LIMIT)
        if row >= 0:
            return start + row, block[row]
    return None


class Selection:
    """Selection from a stream of unknown length: when it grows too long, each second row goes.

    Give `take` one to diagnose what went by.
    """

    def __init__(self, columns: Sequence[str] | None = None) -> None:
        self.columns = columns
        self.n_samples = 0
        self.bad: tuple[int, Array] | None = None
        self._kept: list[Array] = []
        self._held = 0
        self._step = 1

    def add(self, chunk: Array) -> None:
        """Look at the next samples."""
        n = self.n_samples
        if self.bad is None and (row := find_bad(chunk, LIMIT)) >= 0:
            self.bad = n + int(row), np.array(chunk[row])
        here = _chosen(n // self._step, (n + len(chunk)) // self._step + 1, self._step)
        here = here[(here >= n) & (here < n + len(chunk))] - n
        self.n_samples += len(chunk)
        if len(here):
            self._kept.append(chunk[here])
            self._held += len(here)
        while self._held > 2 * MOST:
            together = np.concatenate(self._kept)
            together = together[_chosen(0, len(together) // 2, 2)]
            self._kept, self._held, self._step = [together], len(together), 2 * self._step

    def rows(self) -> Array:
        """What is selected by now, at most `MOST` rows."""
        if not self._kept:
            raise ValueError("X is an iterable without chunks: give at least one")
        rows = np.concatenate(self._kept)
        step = _step(len(rows))
        return rows[_chosen(0, len(rows) // step, step)]


def _of_chunks(chunks: Iterable[Any], fill: Fill | None) -> Selection:
    selection = Selection()
    for chunk in _as_arrays(chunks):
        selection.add(fill(chunk) if fill else chunk)
    return selection


def _as_arrays(chunks: Iterable[Any]) -> Iterator[Array]:
    width = None
    for chunk in chunks:
        array = np.ascontiguousarray(chunk, dtype=np.float64)
        if array.ndim != 2 or (width is not None and array.shape[1] != width):
            wanted = "n_channels" if width is None else width
            raise ValueError(f"a chunk has shape {array.shape}: give (n_samples, {wanted})")
        width = array.shape[1]
        yield array


def _about_bad(row: int, x: Array, names: list[str]) -> str:
    channel = int(np.flatnonzero(~(np.abs(x) <= LIMIT))[0])
    gap = bool(np.isnan(x[channel]))
    value = "NaN" if gap else f"{x[channel]:g}"
    return (
        f"sample {row} has {value} in channel {names[channel]}: leave such samples out (one of them "
        "makes every weight useless)"
        + (", or infer what is missing (missing='infer')" if gap else "")
    )


def _about_channels(X: Array, names: list[str]) -> Iterator[str]:
    if not len(X):
        yield "there are no samples"
        return
    if not np.any(X):
        yield "all values are zero"
        return
    size = np.max(np.abs(X), axis=0)
    still = np.ptp(X, axis=0) <= 1e-12 * size
    if np.any(still):
        listed = ", ".join(names[j] for j in np.flatnonzero(still)[:10])
        yield f"constant channels ({listed}) carry nothing: leave them out"
        return
    Z = (X - X.mean(axis=0)) / size
    Z /= np.sqrt(np.sum(Z**2, axis=0))
    R = np.abs(Z.T @ Z)
    same = np.argwhere(np.triu(R > 1 - 1e-12, 1))
    if len(same):
        i, j = same[0]
        yield f"channels {names[i]} and {names[j]} are copies of each other: leave one out"
