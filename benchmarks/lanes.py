"""Speed of networks side by side: in the lanes of vector registers, and sweeps through the cores.

    python -m benchmarks.lanes [--quick] [--out FILE]

The unit is the latency of a multiply-add, measured between the cases; each time is the smallest of many
short repeats, so that a busy machine does not shift the ratios. Outputs are kept, as in a single stream.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nica
from nica import _core
from nica.datasets import mixing, sparse_uniform
from nica.replicas import cores, run_replicas

#: d → latencies per sample and replica that AVX-512 may take; AVX2 may take SLACK times as many
TARGETS = {3: 18, 5: 50, 7: 115, 10: 270}
SLACK = {"avx512": 1.0, "avx2": 1.3}
SCALING = 1.8  #: times that two cores must be faster than one


def data(d: int, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Sources and a mixture of unit variance."""
    rng = np.random.default_rng(0)
    S = sparse_uniform(samples, d, random_state=rng)
    X = S @ mixing(d, d, condition=3, random_state=rng).T
    return S, X / X.std()


def best(call: Callable[[], Any], repeats: int) -> float:
    """Smallest time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def lanes(kernels: str, d: int, start: str, repeats: int) -> dict[str, Any]:
    """As many networks as there are lanes, settled, on the same samples; and one of them alone."""
    _, X = data(d, 20_000)
    models = [nica.NICA(start=start, random_state=seed) for seed in range(_core.width(kernels))]
    run_replicas(models, X)
    networks = [model._core for model in models]
    rows = max(200, 36_000 // d**2)
    X = np.ascontiguousarray(X[:rows])
    Y = [np.empty((rows, d)) for _ in models]
    unit = 1e-9 * min(_core.multiply_add_latency(kernels) for _ in range(3))
    together = best(lambda: _core.run_together(networks, [X] * len(Y), Y), repeats)
    alone = best(lambda: networks[0].run(X, Y[0]), repeats)
    return {
        "kernels": kernels, "d": d, "start": start, "replicas": len(models),
        "latencies": together / rows / len(models) / unit, "alone": alone / rows / unit,
        "target": TARGETS[d] * SLACK[kernels] if kernels in SLACK else None, "unit_ns": 1e9 * unit,
    }  # fmt: skip


def difference(d: int, start: str, samples: int) -> dict[str, Any]:
    """Largest difference of an output or of a weight between a network in a lane and alone."""
    _, X = data(d, samples)
    outputs: dict[int, list[np.ndarray]] = {}
    models = [nica.NICA(start=start, random_state=seed) for seed in range(8)]
    run_replicas(models, X, watch=lambda i, _, Y: outputs.setdefault(i, []).append(Y))
    worst = 0.0
    for seed, model in enumerate(models):
        alone = nica.NICA(start=start, random_state=seed)
        Y = alone.separate(X)
        worst = max(worst, np.max(np.abs(np.concatenate(outputs[seed]) - Y)))
        one, two = model._core.get_state(), alone._core.get_state()
        for name in one:
            size = np.max(np.abs(two[name]), initial=1.0)
            worst = max(worst, np.max(np.abs(one[name] - two[name]), initial=0.0) / size)
    return {"d": d, "start": start, "samples": samples, "difference": float(worst)}


def scaling(d: int, samples: int, repeats: int) -> dict[str, Any]:
    """The same sweep on one core and on all: 8 settings with 4 seeds, errors included."""
    S, X = data(d, samples)
    grid = {"half_life": [None, *np.geomspace(1e3, 1e6, 7).tolist()]}
    most = cores()
    seconds = {
        n: best(lambda n=n: nica.sweep(X, grid, S=S, seeds=4, n_jobs=n, progress=False), repeats)
        for n in (1, most)
    }
    run = best(lambda: nica.NICA(random_state=0).separate(X), repeats)
    return {
        "d": d, "samples": samples, "runs": 32, "cores": most, "seconds_one_core": seconds[1],
        "seconds": seconds[most], "ratio": seconds[1] / seconds[most],
        "single_runs_seconds": 32 * run,
    }  # fmt: skip


def measure(quick: bool = False) -> dict[str, Any]:
    """All figures."""
    before = os.environ.get("NICA_KERNELS")
    repeats = 20 if quick else 200
    results: dict[str, Any] = {"lanes": [], "difference": [], "scaling": []}
    try:
        for kernels in _core.kernels():
            os.environ["NICA_KERNELS"] = kernels
            for d in TARGETS:  # fewer sizes are specialised in some builds
                if kernels in SLACK and nica.NICA(start="paper").partial_fit(np.eye(d))._core.lanes:
                    for start in ("paper", "warm"):
                        results["lanes"].append(lanes(kernels, d, start, repeats))
    finally:
        if before is None:
            os.environ.pop("NICA_KERNELS", None)
        else:
            os.environ["NICA_KERNELS"] = before
    for d in TARGETS:
        for start in ("paper", "warm"):
            results["difference"].append(difference(d, start, 10_000 if quick else 100_000))
    for d, samples in ((3, 200_000), (10, 50_000), (20, 5_000)):
        results["scaling"].append(scaling(d, samples // (4 if quick else 1), 2 if quick else 5))
    return results


def table(results: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        "| kernels | d | start | replicas | latencies per sample and replica | target | one alone |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results["lanes"]:
        lines.append(
            f"| {row['kernels']} | {row['d']} | {row['start']} | {row['replicas']} | "
            f"{row['latencies']:.1f} | {row['target']:.1f} | {row['alone']:.1f} |"
        )
    worst = max(row["difference"] for row in results["difference"])
    samples = results["difference"][0]["samples"]
    lines += [
        "",
        f"A network in a lane differs from the same one alone by {worst:.0e} at most, in all outputs and "
        f"weights of {samples} samples.",
        "",
        "| sweep of 32 runs | one core | all cores | ratio | 32 single runs |",
        "|---|---|---|---|---|",
    ]
    for row in results["scaling"]:
        lines.append(
            f"| d = {row['d']}, {row['samples']} samples | {row['seconds_one_core']:.2f} s | "
            f"{row['seconds']:.2f} s on {row['cores']} | {row['ratio']:.2f} | "
            f"{row['single_runs_seconds']:.2f} s |"
        )
    return "\n".join(lines)


def failures(results: dict[str, Any]) -> list[str]:
    """Targets that were missed."""
    missed = [
        f"{row['kernels']} d={row['d']} {row['start']}: {row['latencies']:.1f} > {row['target']:.1f}"
        for row in results["lanes"]
        if row["latencies"] > row["target"]
    ]
    missed += [
        f"lane is not single run: {r}" for r in results["difference"] if r["difference"] > 1e-9
    ]
    missed += [
        f"sweep d={row['d']}: two cores give {row['ratio']:.2f} times one"
        for row in results["scaling"]
        if row["cores"] == 2 and row["ratio"] < SCALING
    ]
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results-lanes.json"))
    arguments = parser.parse_args()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = measure(arguments.quick)
    arguments.out.write_text(json.dumps(results, indent=1))
    print(table(results))
    print(f"\n{time.perf_counter() - start:.0f} s, written to {arguments.out}")
    for missed in failures(results):
        print("missed:", missed)


if __name__ == "__main__":
    main()
