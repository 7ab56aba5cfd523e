"""What the offline methods ask of their arguments."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state

from nica.networks._containers import framed, to_numpy

FloatArray = NDArray[np.float64]
Random = int | np.random.RandomState | np.random.Generator | None


def samples(name: str, values: ArrayLike) -> FloatArray:
    """Return finite numbers in two dimensions, or raise scikit-learn's error with our name."""
    inside, _ = to_numpy(values)
    return np.asarray(
        check_array(inside, dtype=np.float64, order="C", input_name=name, ensure_min_samples=2)
    )


def as_given(values: ArrayLike, Y: FloatArray, prefix: str) -> FloatArray:
    """Return Y as the library of the samples has it, its columns named after what made them."""
    given: FloatArray = framed(values, Y, lambda: [f"{prefix}{i}" for i in range(Y.shape[1])])
    return given


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
