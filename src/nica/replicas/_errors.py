"""The error E_T of section 4 from sums that are made as outputs come, so that no output is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]


class Errors:
    """Squared error of outputs against the truth, over all rows from ``first`` on."""

    def __init__(self, S: Array, first: int) -> None:
        self.S, self.first = S, first
        self.rows, self.energy = 0, 0.0
        self.cross = self.power = np.zeros(0)

    def add(self, start: int, Y: Array) -> None:
        """Take outputs that begin at row ``start``; rows of bad samples are NaN and left out."""
        skip = max(self.first - start, 0)
        S, Y = self.S[start + skip : start + len(Y)], Y[skip:]
        if not len(Y):
            return
        if not np.isfinite(Y).all():
            good = np.isfinite(Y).all(axis=1)
            S, Y = S[good], Y[good]
        if not self.rows:
            self.cross, self.power = np.zeros((S.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
        self.rows += len(Y)
        self.cross += S.T @ Y
        self.power += np.diagonal(Y.T @ Y)  # far quicker than a sum over narrow rows
        self.energy += float(np.vdot(S, S))

    def value(self) -> float:
        """Error per sample with the best order of outputs; a source without an output counts whole."""
        if not self.rows:
            return float("nan")
        gain = 2 * self.cross - self.power
        sources, outputs = linear_sum_assignment(-gain)
        total = self.energy - gain[sources, outputs].sum()
        return float(max(total, 0.0) / self.rows)
