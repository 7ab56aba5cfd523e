"""Arrays of other libraries: what goes in as one of theirs comes out as one of theirs.

Torch tensors, arrays of the array API standard, and xarray's with names. Data frames that an estimator
gives are scikit-learn's business (``set_output``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def _standard(X: Any) -> bool:
    return hasattr(X, "__array_namespace__") and not isinstance(X, (np.ndarray, np.generic))


def to_numpy(X: Any) -> tuple[Any, Sequence[str] | None]:
    """X as NumPy has it, and the names of its columns if it brings any; other things as they are."""
    if _library(X) == "torch":
        return X.detach().cpu().numpy(), None
    if _library(X) == "xarray":
        names = X.coords[X.dims[1]].values.tolist() if X.dims[1:] and X.dims[1] in X.coords else []
        return X.values, names if names and all(isinstance(name, str) for name in names) else None
    if _standard(X):
        return np.from_dlpack(X), None
    return X, None


def tensor(X: Any, Y: Any) -> Any:
    """Y as the library of X has it, if that is one of arrays without names."""
    if _library(X) == "torch":
        return sys.modules["torch"].from_numpy(Y).to(X.device)
    if _standard(X):
        return X.__array_namespace__().asarray(Y)
    return Y


def like(X: Any, Y: Any, names: Callable[[], Any], dimension: str = "component") -> Any:
    """What came out for the samples X, as their library has it; ``names`` gives those of the columns."""
    if _library(X) != "xarray":
        return tensor(X, Y)
    rows = X.dims[0]
    along = {name: c for name, c in X.coords.items() if c.dims == (rows,)}
    columns = {dimension: list(names())}
    return type(X)(Y, dims=(rows, dimension), coords=along | columns, attrs=X.attrs)


def framed(X: Any, Y: Any, names: Callable[[], Any]) -> Any:
    """The same from a function, which has no ``set_output``: a data frame comes out as one."""
    if _library(X) == "pandas":
        return sys.modules["pandas"].DataFrame(Y, index=X.index, columns=list(names()))
    if _library(X) == "polars":
        return sys.modules["polars"].DataFrame(Y, schema=list(names()))
    return like(X, Y, names)
