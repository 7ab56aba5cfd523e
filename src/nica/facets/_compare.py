"""How alike the outputs of two solutions are, whatever their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]


def agreement(Y: Array, other: Array) -> Array:
    """Correlation of each output with the one of the other solution that it is matched with.

    Examples
    --------
    >>> Y = np.random.default_rng(0).random((50, 2))
    >>> agreement(Y, Y[:, ::-1]).round(6).tolist()
    [1.0, 1.0]
    """
    d = Y.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.nan_to_num(np.corrcoef(Y.T, other.T)[:d, d:])
    rows, columns = linear_sum_assignment(-np.abs(r))
    return np.asarray(np.abs(r[rows, columns]), np.float64)
