"""The fits that are compared: other seeds, the first and second half, random halves."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from nica.replicas import run_replicas

Array = NDArray[np.float64]

SAMPLES = 200_000  #: that a fit may go over in all its passes, where 20 to 100 passes allow it


@dataclass
class Fits:
    """Unmixing matrices, each output with variance 1 over all samples."""

    restarts: list[Array]  # the first is the one that is diagnosed
    halves: list[Array]  # first and second half of the record
    random: list[Array]  # random halves, in pairs that make up all
    model: Any


def refit(X: Array, covariance: Array, d: int, model: Any, seed: int) -> Fits:
    """Fit all, side by side."""
    n = len(X)
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(2)]
    first = np.arange(n) < n // 2
    parts: list[Any] = [slice(None)] * (3 if model is None else 2)
    parts += [first, ~first]
    for order in orders:
        parts += [order[: n // 2], order[n // 2 :]]
    seeds = rng.integers(2**31 - 1, size=len(parts)).tolist()
    kind = _kind(model, d, max(20, min(100, SAMPLES // n)))

    models = [clone(kind).set_params(random_state=one) for one in seeds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failures = run_replicas(models, [X[part] for part in parts], method="fit")
    for failure in failures:
        if failure is not None:
            raise failure
    if model is not None:
        models.insert(0, model)
    maps = [unit(np.asarray(m.unmixing_, dtype=np.float64), covariance) for m in models]
    if model is None:
        best = int(np.argmin([np.max(negative(X @ U.T)) for U in maps[:3]]))
        maps[0], maps[best] = maps[best], maps[0]
        models[0], models[best] = models[best], models[0]
    return Fits(maps[:3], maps[3:5], maps[5:], models[0])


def _kind(model: Any, d: int, passes: int) -> Any:
    from nica.networks import NICA

    if model is None:
        return NICA(d, max_passes=passes)
    kind = clone(model)
    if "max_passes" in kind.get_params():
        kind.set_params(max_passes=min(kind.max_passes, passes))
    return kind


def unit(U: Array, covariance: Array) -> Array:
    """Rows scaled so that each output has variance 1."""
    spread = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", U, covariance, U), 1e-300))
    scaled: Array = U / spread[:, None]
    return scaled


def agreement(U: Array, V: Array, covariance: Array) -> Array:
    """Absolute correlation of each output of U with the one of V that it is matched with."""
    R = np.abs(U @ covariance @ V.T)
    rows, columns = linear_sum_assignment(-R)
    matched = np.zeros(len(U))
    matched[rows] = np.minimum(R[rows, columns], 1.0)
    return matched


def negative(u: Array) -> Array:
    """Mean square of what is below zero, of each output."""
    energy: Array = np.mean(np.minimum(u, 0.0) ** 2, axis=0)
    return energy
