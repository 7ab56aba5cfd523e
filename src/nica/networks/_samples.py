"""What goes in and out of a network: checks of X, blocks of it, places for the outputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from nica._core import find_bad
from nica.networks._containers import to_numpy

Array = NDArray[np.float64]

BLOCK = 1 << 16  #: entries of X that are converted at once
LIMIT = 1e100  #: largest size of an input value; its square must be finite


def checked(
    estimator: Any, X: Any, channels: int | None, names: Sequence[str] | None = None
) -> NDArray[Any]:
    """Check type, shape and names of X without copying it; entries are checked block by block.

    ``channels`` is what the estimator already has, None if it begins afresh; ``names`` are those of
    the columns of an array that comes with names.
    """
    reset = channels is None
    if not isinstance(X, np.ndarray):
        X, own = to_numpy(X)
        names = own if names is None else names
    if names is not None and np.shape(X)[1:] == (len(names),):
        return _named(estimator, np.asarray(X), channels, names)
    if (
        type(X) is np.ndarray
        and not reset
        and X.ndim == 2
        and X.shape[1] == channels
        and X.shape[0] > 0
        and X.dtype.kind in "fiub"
        and not hasattr(estimator, "feature_names_in_")
    ):
        return X
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.ndim == 2 and X.size
    if plain:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return np.asarray(X)
    try:
        checked: NDArray[Any] = validate_data(
            estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
        )
    except ValueError as error:
        _check_numbers(X, error)
        raise
    return checked


def _check_numbers(X: Any, error: ValueError) -> None:
    """Say which entry is text."""
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "OSU":
        return
    for (row, channel), value in np.ndenumerate(array):
        try:
            float(value)
        except ValueError:
            raise ValueError(
                f"X has {value!r} at row {row}, channel {channel}, which is not a number: give numbers, "
                "and NaN for what is missing"
            ) from error


def _named(
    estimator: Any, X: NDArray[Any], channels: int | None, names: Sequence[str]
) -> NDArray[Any]:
    """Check an array whose columns have names, or give the channels these names."""
    if channels is None:
        validate_data(estimator, X, reset=True, skip_check_array=True)
        estimator.feature_names_in_ = np.array(names, dtype=object)
        return X
    known = list(getattr(estimator, "feature_names_in_", names))
    if known != list(names):
        raise ValueError(
            f"the columns are {list(names)}, but this {type(estimator).__name__} began with "
            f"{known}: choose these, in this order"
        )
    if channels == X.shape[1]:
        return X
    return checked(estimator, X, channels)


def infers(network: Any) -> bool:
    """Whether gaps are filled."""
    return getattr(network, "missing", "refuse") == "infer"


def only_gaps(block: Array) -> NDArray[np.bool_]:
    """Rows without anything worse than a gap, and with something to see."""
    gap = np.isnan(block)
    fine: NDArray[np.bool_] = np.all((np.abs(block) <= LIMIT) | gap, axis=1) & ~np.all(gap, axis=1)
    return fine


def check_finite(estimator: Any, block: Array, start: int) -> None:
    """Refuse the first bad row of a block that begins at row ``start`` of X."""
    row = find_bad(block, LIMIT)
    if row < 0:
        return
    if infers(estimator):
        fine = only_gaps(block)
        if np.all(fine):
            return
        row = int(np.argmin(fine))
    refuse(estimator, block[row], start + row)


def refuse(estimator: Any, x: Array, row: int) -> NoReturn:
    """Say which value of a bad row is at fault."""
    channel = int(np.flatnonzero(~(np.abs(x) <= LIMIT))[0])
    name = (
        f"'{estimator.feature_names_in_[channel]}'"
        if hasattr(estimator, "feature_names_in_")
        else str(channel)
    )
    value = x[channel]
    what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
    size = "" if not np.isfinite(value) else f" (the limit is {LIMIT:g})"
    raise ValueError(
        f"Input X contains {what}{size} at row {row}, channel {name}: remove such rows, "
        "or leave them out with on_bad='skip'"
        + (", or infer what is missing with missing='infer'" if _may_infer(estimator, x) else "")
    )


def _may_infer(estimator: Any, x: Array) -> bool:
    return hasattr(estimator, "missing") and not infers(estimator) and bool(only_gaps(x[None])[0])


def is_chunks(X: Any) -> bool:
    """Whether X is an iterable of chunks rather than an array."""
    if hasattr(X, "__array__") or hasattr(X, "shape") or hasattr(X, "__dataframe__"):
        return False
    if isinstance(X, (list, tuple)):
        return bool(X) and getattr(X[0], "ndim", 0) == 2
    return isinstance(X, Iterable)


def check_out(out: Any, shape: tuple[int, int]) -> Array:
    """Check an array that is to receive the outputs."""
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.c_contiguous):
        raise TypeError("out must be a C-contiguous float64 array")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}: give {shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only: give a writeable array")
    return out.view(np.ndarray)


def blocks(
    source: NDArray[Any], rows: NDArray[np.int64] | None = None
) -> Iterator[tuple[int, Array]]:
    """Rows of the source in order, or those named, as contiguous float64 blocks of bounded size."""
    n = source.shape[0] if rows is None else len(rows)
    step = max(1, BLOCK // source.shape[1])
    for start in range(0, n, step):
        part = source[start : start + step] if rows is None else source[rows[start : start + step]]
        yield start, np.ascontiguousarray(part, dtype=np.float64)
