"""Random sources of the paper (sections 4.1 and 4.2): nonnegative, independent, well grounded."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

FloatArray = NDArray[np.float64]
Random = int | np.random.RandomState | np.random.Generator | None


def sparse_uniform(
    n_samples: int, n_sources: int, *, zeros: float = 0.5, random_state: Random = None
) -> FloatArray:
    r"""Draw sources that are often zero, else uniform (section 4.1).

    Zero with probability z, else uniform on [0, b], of unit variance:
    :math:`b^2 = 12 / ((1 - z) (1 + 3 z))`, which is the paper's 48/5 at z = 1/2.

    Parameters
    ----------
    n_samples, n_sources : int
        Shape of the result.
    zeros : float, default=0.5
        Probability z of a zero, at least 0 and below 1.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_sources)
        Independent sources of unit variance.

    Examples
    --------
    >>> S = sparse_uniform(100_000, 2, random_state=0)
    >>> S.shape, bool(S.min() == 0.0), bool(S.max() < (48 / 5) ** 0.5)
    ((100000, 2), True, True)
    """
    rng, shape = as_generator(random_state), as_shape(n_samples, n_sources)
    top = np.sqrt(12 / ((1 - _share(zeros)) * (1 + 3 * zeros)))
    values = rng.uniform(0.0, top, shape)
    return np.where(rng.uniform(size=shape) < zeros, 0.0, values)


def sparse_exponential(
    n_samples: int, n_sources: int, *, zeros: float = 0.5, random_state: Random = None
) -> FloatArray:
    r"""Draw sources that are often zero, else exponential (section 4.2).

    Zero with probability z, else exponential of mean m, of unit variance:
    :math:`m^2 = 1 / (1 - z^2)`, which is 4/3 at the paper's z = 1/2.

    Parameters
    ----------
    n_samples, n_sources : int
        Shape of the result.
    zeros : float, default=0.5
        Probability z of a zero, at least 0 and below 1.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_sources)
        Independent sources of unit variance.

    Examples
    --------
    >>> S = sparse_exponential(100_000, 3, random_state=0)
    >>> S.var(axis=0).round(1).tolist()
    [1.0, 1.0, 1.0]
    """
    rng, shape = as_generator(random_state), as_shape(n_samples, n_sources)
    values = rng.exponential(1 / np.sqrt(1 - _share(zeros) ** 2), shape)
    return np.where(rng.uniform(size=shape) < zeros, 0.0, values)


def background_noise(
    n_samples: int, n_sources: int, *, variance: float = 0.1, random_state: Random = None
) -> FloatArray:
    """Weak channels behind the sources (section 4.2, Fig. 5B): `sparse_uniform`, scaled down.

    Parameters
    ----------
    n_samples, n_sources : int
        Shape of the result.
    variance : float, default=0.1
        Variance of each channel, above 0.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_sources)
        Independent channels of the given variance.

    Examples
    --------
    >>> background_noise(100_000, 2, random_state=0).var(axis=0).round(2).tolist()
    [0.1, 0.1]
    """
    if not variance > 0:
        raise ValueError(f"variance={variance!r} must be above 0")
    S = sparse_uniform(n_samples, n_sources, random_state=random_state)
    return np.asarray(np.sqrt(variance) * S)


def as_generator(random_state: Random) -> Any:
    """Return a generator: both kinds of NumPy have the few methods that are used here."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(random_state)


def as_shape(n_rows: int, n_columns: int) -> tuple[int, int]:
    """Return the shape as ints, or say what is wrong with it."""
    rows, columns = operator.index(n_rows), operator.index(n_columns)
    if min(rows, columns) < 1:
        raise ValueError(f"a {rows} x {columns} array was asked for: give at least 1 of each")
    return rows, columns


def _share(zeros: float) -> float:
    if not 0 <= zeros < 1:
        raise ValueError(f"zeros={zeros!r} is not a probability below 1")
    return zeros
