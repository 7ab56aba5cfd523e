"""How often is it right? Every algorithm from 20 random starts on the same mixture, error beside speed.

A start is right if every source has a correlation above 0.99 with an output of its own. NMF is given
mixtures by nonnegative matrices, which it needs; all others get matrices of any sign.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

import nica
from nica.datasets import mixing, sparse_uniform
from nica.metrics import match_sources, separation_floor

RIGHT = 0.99
NICA = ("NICA batch", "NICA stream")


def problem(d: int, T: int, *, nonnegative: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([d, T])
    S = sparse_uniform(T, d, random_state=rng)
    A = mixing(d, d, condition=3, random_state=rng)
    return S, S @ (np.abs(A) if nonnegative else A).T


def correlations(S: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Absolute correlation of each source with the output matched to it."""
    d = S.shape[1]
    r = np.abs(np.nan_to_num(np.corrcoef(S.T, Y.T)[:d, d:]))
    rows, columns = linear_sum_assignment(-r)
    return r[rows, columns]


def algorithms(d: int, n_starts: int = 1) -> dict[str, Callable[[int, np.ndarray], np.ndarray]]:
    """Each takes a seed and X and gives outputs; NICA's batch solver tries so many starts."""
    from picard import picard
    from sklearn.decomposition import NMF, FastICA, MiniBatchNMF

    def picard_(seed: int, X: np.ndarray) -> np.ndarray:
        _, _, Y = picard(X.T, random_state=seed)
        return np.asarray(Y.T)

    def fast(**options: Any) -> Callable[[int, np.ndarray], np.ndarray]:
        return lambda seed, X: FastICA(
            d, whiten="unit-variance", random_state=seed, **options
        ).fit_transform(X)

    return {
        "NICA batch": lambda seed, X: nica.NICA(
            d, solver="batch", n_starts=n_starts, random_state=seed
        ).fit_transform(X),
        "NICA stream": lambda seed, X: nica.NICA(d, random_state=seed).partial_fit(X).transform(X),
        "FastICA": fast(),
        "FastICA, fun=cube": fast(fun="cube"),
        "Picard": picard_,
        "NMF": lambda seed, X: NMF(d, init="random", random_state=seed).fit_transform(X),
        "MiniBatchNMF": lambda seed, X: MiniBatchNMF(d, random_state=seed).fit_transform(X),
    }


def count(
    d: int, T: int, seeds: int, names: Iterable[str] | None = None, n_starts: int = 1
) -> list[dict[str, Any]]:
    """A row for each algorithm: how often right, error, seconds."""
    rows = []
    for name, run in algorithms(d, n_starts).items():
        if names is not None and name not in names:
            continue
        S, X = problem(d, T, nonnegative="NMF" in name)
        right, errors, seconds, cpu = 0, [], [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for seed in range(seeds):
                start, spent = time.perf_counter(), time.process_time()
                Y = run(seed, X)
                seconds.append(time.perf_counter() - start)
                cpu.append(time.process_time() - spent)
                r = correlations(S, Y)
                right += bool(np.min(r) > RIGHT)
                errors.append(float(np.sum(1 - r**2)))
        row: dict[str, Any] = {
            "algorithm": name, "d": d, "T": T, "starts": seeds, "right": right,
            "error": float(np.median(errors)), "seconds": float(np.median(seconds)),
            "cpu_seconds": float(np.median(cpu)),
        }  # fmt: skip
        if name in NICA:
            row["floor"] = separation_floor(S, X, last=1.0)
            row["error_unscaled"] = float(match_sources(S, Y).error)
        rows.append(row)
        print("  ", row, flush=True)
    return rows


def accuracy(quick: bool = False) -> list[dict[str, Any]]:
    """All algorithms at d = 3 and 10."""
    return [
        row for d in (3, 10) for row in count(d, 20_000 if quick else 50_000, 4 if quick else 20)
    ]
