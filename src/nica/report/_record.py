"""What a page keeps of a run, however long: its end, and the extremes of all of it."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

LAST = 200  #: samples that are kept as they are
BLOCKS = 600  #: at most twice as many stretches are kept, by their extremes
LOOKED_AT = 1000  #: samples on which the score is measured
PER_DECADE = 8  #: scores


class Record:
    """Watches a separation and keeps little of it, for `separation`.

    Attributes
    ----------
    n_samples : int
        Samples seen.
    last_X, last_Y : ndarray or None
        The last 200 samples and their outputs.
    t, unexplained : list
        Share of the variance that the sources left unexplained, and after how many samples.

    Examples
    --------
    >>> import nica
    >>> from nica import report
    >>> mixture = nica.datasets.make_mixture(n_samples=20000, random_state=0)
    >>> model, record = nica.NICA(3, random_state=0), report.Record()
    >>> for start in range(0, 20000, 1000):
    ...     X = mixture.X[start : start + 1000]
    ...     record.add(X, model.separate(X), model)
    >>> record.n_samples, len(record.last_Y)
    (20000, 200)
    >>> document = report.separation(record, model)
    >>> len(document) < 5_000_000
    True
    """

    def __init__(self) -> None:
        self.n_samples = 0
        self.last_X: FloatArray | None = None
        self.last_Y: FloatArray | None = None
        self.t: list[int] = []
        self.unexplained: list[float] = []
        self._extremes: Extremes | None = None
        self._next = 1.0

    @classmethod
    def of(cls, X: ArrayLike, Y: ArrayLike, model: Any = None) -> Self:
        """Give the record of a run that is over.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        Y : array-like (n_samples, n_components)
        model : estimator, default=None

        Returns
        -------
        Record
        """
        record = cls()
        record.add(X, Y, model)
        return record

    def add(self, X: ArrayLike, Y: ArrayLike, model: Any = None) -> None:
        """Take note of some more samples.

        Parameters
        ----------
        X : array-like (n, n_channels)
        Y : array-like (n, n_components)
            Their outputs.
        model : fitted estimator, default=None
            To measure how well it explains X, now and then.
        """
        X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
            raise ValueError(
                f"X has shape {X.shape} and Y {Y.shape}: give samples and their outputs, in rows"
            )
        self.n_samples += len(X)
        self.last_X, self.last_Y = _end(self.last_X, X), _end(self.last_Y, Y)
        if self._extremes is None:
            self._extremes = Extremes(Y.shape[1])
        self._extremes.add(Y)
        if model is not None and self.n_samples >= self._next:
            self._look(X[-LOOKED_AT:], model)

    def extremes(self) -> tuple[int, FloatArray, FloatArray]:
        """Give stretches of all outputs: samples of each, least and largest values (n_stretches, d)."""
        if self._extremes is None:
            return 1, np.empty((0, 0)), np.empty((0, 0))
        return self._extremes.get()

    def _look(self, X: FloatArray, model: Any) -> None:
        X = X[np.all(np.isfinite(X), axis=1)]
        try:
            score = float(model.score(X)) if len(X) > 1 else math.nan
        except (ValueError, AttributeError):  # still warming up, or no network of ours
            return
        if math.isfinite(score):
            self.t.append(self.n_samples)
            self.unexplained.append(max(1 - score, 1e-16))
            self._next = self.n_samples * 10 ** (1 / PER_DECADE)


class Extremes:
    """Least and largest values of stretches, whose length doubles when there are too many."""

    def __init__(self, n_columns: int) -> None:
        self.length = 1
        self._low = np.empty((2 * BLOCKS, n_columns))
        self._high = np.empty((2 * BLOCKS, n_columns))
        self._n = 0  # full stretches
        self._count = 0  # rows of the one that is not full yet, which stands behind them

    def add(self, Y: FloatArray) -> None:
        """Take note of some more rows; values that are not finite count for nothing."""
        Y = np.where(np.isfinite(Y), Y, np.nan)
        while len(Y):
            if self._count or len(Y) < self.length:
                rows, Y = np.split(Y, [self.length - self._count])
                self._open(rows)
            else:
                n = min(len(Y) // self.length, 2 * BLOCKS - self._n)
                rows, Y = np.split(Y, [n * self.length])
                blocks = rows.reshape(n, self.length, -1)
                here = slice(self._n, self._n + n)
                np.fmin.reduce(blocks, axis=1, out=self._low[here])
                np.fmax.reduce(blocks, axis=1, out=self._high[here])
                self._n += n
            if self._n == 2 * BLOCKS:
                self._halve()

    def get(self) -> tuple[int, FloatArray, FloatArray]:
        """Length of the stretches, least and largest values; the last one may be shorter."""
        n = self._n + (self._count > 0)
        return self.length, self._low[:n].copy(), self._high[:n].copy()

    def _open(self, rows: FloatArray) -> None:
        """Add rows to the stretch that is not full."""
        low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
        here = self._n
        self._low[here] = np.fmin(self._low[here], low) if self._count else low
        self._high[here] = np.fmax(self._high[here], high) if self._count else high
        self._count += len(rows)
        if self._count == self.length:
            self._n, self._count = here + 1, 0

    def _halve(self) -> None:
        pairs = (BLOCKS, 2, self._low.shape[1])
        self._low[:BLOCKS] = np.fmin.reduce(self._low.reshape(pairs), axis=1)
        self._high[:BLOCKS] = np.fmax.reduce(self._high.reshape(pairs), axis=1)
        self._n, self.length = BLOCKS, 2 * self.length


def _end(kept: FloatArray | None, new: FloatArray) -> FloatArray:
    if kept is None or len(new) >= LAST:
        return new[-LAST:].copy()
    return np.vstack([kept, new])[-LAST:]
