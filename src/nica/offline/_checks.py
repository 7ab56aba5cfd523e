"""What the offline methods ask of their arguments."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

FloatArray = NDArray[np.float64]
Random = int | np.random.RandomState | np.random.Generator | None


def samples(name: str, values: ArrayLike) -> FloatArray:
    """Return finite numbers in two dimensions, or raise scikit-learn's error with our name."""
    return np.asarray(check_array(values, dtype=np.float64, input_name=name, ensure_min_samples=2))


def at_least_one(name: str, value: int) -> int:
    """Return a count as an int, or say what is wrong with it."""
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name}={value} must be at least 1")
    return number


def generator(random_state: Random) -> Any:
    """Return a generator: both kinds of NumPy have the one method that is used here."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)
