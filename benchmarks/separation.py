"""How often is the default network right? Cells of problems, and every stress of the start.

    python -m benchmarks.separation [--seeds 50] [--quick] [--out FILE]

Floor: batch whitening and the best rotation given the true sources, error over the last 10 %.
Separated: at most max(3 floors, .02 d).
The floors of single draws scatter, so the ratio is of means over the seeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import nica
from nica.datasets import mixing, sparse_uniform
from nica.metrics import match_sources, separation_floor


def problem(
    d: int, k: int, condition: float, seed: int, T: int, noise: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, d, k, int(condition)])
    S = sparse_uniform(T, d, random_state=rng)
    A = mixing(k, d, condition=condition, random_state=rng)
    X = S @ A.T
    if noise:
        X += noise * X.std(axis=0) * rng.standard_normal(X.shape)
    return S, X


def cell(d: int, k: int, condition: float, scale: float, seed: int, T: int) -> dict[str, float]:
    S, X = problem(d, k, condition, seed, T)
    floor = separation_floor(S, X)
    error = run(S, X * scale, seed)
    return {"error": error, "floor": floor}


def run(
    S: np.ndarray, X: np.ndarray, seed: int, good: np.ndarray | None = None, **parameters: Any
) -> float:
    """Error over the last 10 %, of the samples that were not tampered with."""
    T, d = S.shape
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Y = nica.NICA(d, random_state=seed, **parameters).separate(X)
    tail = np.arange(T) >= T - T // 10
    if good is not None:
        tail &= good
    return float(match_sources(S[tail], Y[tail]).error)


def separated(error: float, floor: float, d: int) -> bool:
    return error <= max(3 * floor, 0.02 * d)


# ---- stresses: each takes the mixtures and changes them, as a sensor might

Stress = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _unequal_channels(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X * 10 ** rng.uniform(-1.5, 1.5, X.shape[1])


def _constant_first(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.vstack([np.repeat(X[:1], 1000, axis=0), X[1000:]])


def _outlier(at: int) -> Stress:
    def stress(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X = X.copy()
        X[at] = 1e4 * X.std(axis=0) * rng.choice([-1, 1], X.shape[1])
        return X

    return stress


def _outliers(share: float, size: float) -> Stress:
    def stress(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X = X.copy()
        hit = rng.random(len(X)) < share
        X[hit] += size * X.std(axis=0) * rng.standard_normal((hit.sum(), X.shape[1]))
        return X

    return stress


def _shifted_first(size: float) -> Stress:
    def stress(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        X = X.copy()
        X[:200] += size * X.std(axis=0)
        return X

    return stress


def _gain_jump(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = X.copy()
    X[5000:] *= 1000
    return X


def _zeros_mid(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    X = X.copy()
    X[20_000:30_000] = 0
    return X


def _scaled(factor: float) -> Stress:
    return lambda X, rng: X * factor


STRESSES: dict[str, Stress] = {
    "none": _scaled(1.0),
    "scale 1e-9": _scaled(1e-9),
    "scale 1e9": _scaled(1e9),
    "channels times 10^(-1.5..1.5)": _unequal_channels,
    "1000 constant samples first": _constant_first,
    "outlier of 1e4 sd, sample 0": _outlier(0),
    "outlier of 1e4 sd, sample 5": _outlier(5),
    "outlier of 1e4 sd, sample 500": _outlier(500),
    ".1 % outliers of 100 sd": _outliers(0.001, 100),
    "first 200 samples + 100 sd": _shifted_first(100),
    "first 200 samples + 10 sd": _shifted_first(10),
    "gain times 1000 at 5000": _gain_jump,
    "10000 zeros mid-stream": _zeros_mid,
}


def stress(name: str, d: int, seed: int, T: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, 77])
    S, X = problem(d, d, 10, seed, T)
    hurt = STRESSES[name](X, rng)
    good = np.all(hurt == X, axis=1) if "outliers" in name else None
    return {"error": run(S, hurt, seed, good), "floor": separation_floor(S, X)}


def offset_stress(d: int, seed: int, T: int) -> dict[str, float]:
    """Sources 100 standard deviations above zero: only the whitening can be judged, through F."""
    rng = np.random.default_rng([seed, d])
    S = sparse_uniform(T, d, random_state=rng)
    A = mixing(d, d, condition=10, random_state=rng)
    X = (S + 100) @ A.T
    model = nica.OnlineWhitening(d, random_state=seed).partial_fit(X)
    return {
        "error": float(np.abs(np.cov(model.transform(X).T) - np.eye(d)).max()),
        "floor": 0.02 / 3,
    }


def noisy_unequal(seed: int, T: int, d: int = 3, k: int = 15) -> dict[str, float]:
    """d = 3, condition 100, channels with unequal noise: judged against batch whitening."""
    rng = np.random.default_rng([seed, 5])
    S = sparse_uniform(T, d, random_state=rng)
    A = mixing(k, d, condition=100, random_state=rng)
    X = S @ A.T
    level = 10 ** rng.uniform(-3, -1, k)
    X += level * X.std() * rng.standard_normal(X.shape)
    W = 1 / level
    return {"error": run(S, X, seed), "floor": separation_floor(S, X * W)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="5 seeds, 20 000 samples")
    parser.add_argument("--only", choices=["cells", "stresses"])
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seeds, T = (5, 20_000) if arguments.quick else (arguments.seeds, arguments.samples)
    rows: list[dict[str, Any]] = []

    def collect(name: str, d: int, results: list[dict[str, float]]) -> None:
        e = np.array([r["error"] for r in results])
        f = np.array([r["floor"] for r in results])
        good = [separated(a, b, d) for a, b in zip(e, f, strict=True)]
        row = {
            "problem": name, "d": d, "separated": float(np.mean(good)),
            "ratio": float(e.mean() / f.mean()), "worst": float(np.max(e / f)),
        }  # fmt: skip
        rows.append(row)
        print(
            f"{name:48s} {row['separated']:6.0%} {row['ratio']:8.2f} {row['worst']:8.2f}",
            flush=True,
        )

    print(f"{seeds} seeds, {T} samples\n{'problem':48s} {'separated':>6} {'ratio':>7} {'worst':>8}")
    with Parallel(n_jobs=2) as parallel:
        if arguments.only != "stresses":
            for d, many, condition in itertools.product(
                (3, 5, 10), (False, True), (1, 10, 100, 1000)
            ):
                k = 5 * d if many else d
                for scale in (1e-6, 1.0, 1e6):
                    collect(
                        f"d={d} k={k} condition {condition} scale {scale:g}",
                        d,
                        parallel(delayed(cell)(d, k, condition, scale, s, T) for s in range(seeds)),
                    )
        if arguments.only != "cells":
            for name in STRESSES:
                for d in (3, 5, 10):
                    collect(
                        f"{name}, d={d}",
                        d,
                        parallel(delayed(stress)(name, d, s, T) for s in range(seeds)),
                    )
            for d in (3, 5, 10):
                collect(
                    f"mean 100 sd above zero, d={d}",
                    1,
                    parallel(delayed(offset_stress)(d, s, T) for s in range(seeds)),
                )
            collect(
                "unequal noise, condition 100, d=3 k=15",
                3,
                parallel(delayed(noisy_unequal)(s, T) for s in range(seeds)),
            )
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
