"""Speed of every path, in one run: nanoseconds, and latencies of a multiply-add, which carry over.

    python -m benchmarks.run [--quick] [--out FILE] [--readme]

The unit is measured between the cases, so that a busy or throttled machine does not shift the ratios.
Each figure is the smallest of several repeats. --readme writes the table into README.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nica
from nica import _config, _core
from nica.datasets import mixing, sparse_uniform
from nica.equations import network as equations

#: (d, k) → latencies per sample that a stream may take with start="paper"
TARGETS = {
    (3, 3): 45, (5, 5): 140, (7, 7): 210, (10, 10): 340, (20, 20): 700, (50, 50): 5000,
    (100, 100): 19000, (50, 200): 6500,
}  # fmt: skip


def best(call: Callable[[], Any], repeats: int) -> float:
    """Smallest time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def data(d: int, k: int, T: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    S = sparse_uniform(T, d, random_state=rng)
    return S, S @ mixing(k, d, condition=3, random_state=rng).T


def stream(d: int, k: int, start: str, repeats: int) -> dict[str, float]:
    """One stream, learning, outputs kept; the network has settled before the clock starts."""
    T = 100_000 if d <= 10 else 20_000 if d <= 20 else 4000
    _, X = data(d, k, T)
    rate = (
        nica.rates.Activity(10.0 * d, 1 - 1 / (10.0 * d)) if start == "paper" and d > 10 else None
    )
    parameters: dict[str, Any] = {"start": start, "separation_rate": rate, "random_state": 0}
    if start == "paper":
        X = X / X.std()
    model = nica.NICA(d, **parameters)
    Y = np.empty((T, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(1 if d <= 10 else 3):
            model.separate(X, out=Y)
        ns = 1e9 * best(lambda: model.separate(X, out=Y), repeats) / T
    unit = _core.multiply_add_latency(_core.kernels()[0])
    return {"d": d, "k": k, "ns": ns, "latencies": ns / unit, "unit_ns": unit}


def single(repeats: int) -> dict[str, float]:
    """Calls with one sample, and transform, at d = 3."""
    _, X = data(3, 3, 200_000)
    model = nica.NICA(3, random_state=0).partial_fit(X[:20_000])
    rows = [np.ascontiguousarray(x) for x in X[:2000]]
    chunks = [X[i : i + 1] for i in range(2000)]

    def ones() -> None:
        for x in rows:
            model.separate_one(x)

    def partial() -> None:
        for chunk in chunks:
            model.partial_fit(chunk)

    Y = np.empty_like(X)
    assert model._core is not None
    core = model._core
    naive = equations_speed(X)
    return {
        "separate_one_us": 1e6 * best(ones, repeats) / len(rows),
        "partial_fit_one_row_us": 1e6 * best(partial, repeats) / len(chunks),
        "transform_millions_per_s": 1e-6 * len(X) / best(lambda: model.transform(X), repeats),
        "core_apply_millions_per_s": 1e-6 * len(X) / best(lambda: core.apply(X, Y), repeats),
        "equations_us": naive,
    }


def equations_speed(X: np.ndarray) -> float:
    """The NumPy twin: microseconds per sample at d = 3."""
    state = equations.paper_start(3, 3, 3, 3, np.random.default_rng(0))
    start = time.perf_counter()
    for x in X[:3000]:
        _, state = equations.paper_step(state, x)
    return 1e6 * (time.perf_counter() - start) / 3000


def start_up(repeats: int) -> float:
    """Seconds that ``import nica`` and its first network take beyond NumPy."""

    def run(code: str) -> float:
        command = [sys.executable, "-c", code]
        return best(lambda: subprocess.run(command, check=True), max(repeats, 5))

    return run("import numpy, nica") - run("import numpy")


def memory_growth() -> float:
    """Megabytes that the process grows by over a stream of ten times the samples."""
    import resource

    model = nica.NICA(3, random_state=0)
    _, X = data(3, 3, 10_000)
    for _ in range(20):
        model.partial_fit(X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        model.partial_fit(X)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def fast_ica(d: int, seeds: int = 20) -> dict[str, float]:
    """Seconds of scikit-learn's FastICA, and how often it is right, beside NICA on the same data."""
    from sklearn.decomposition import FastICA

    from nica.metrics import match_sources

    S, X = data(d, d, 100_000)
    centred = S - S.mean(axis=0)
    right = {"FastICA": 0, "NICA": 0}
    seconds = {"FastICA": np.inf, "NICA": np.inf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(seeds):
            start = time.perf_counter()
            Z = FastICA(whiten="unit-variance", random_state=seed).fit_transform(X)
            seconds["FastICA"] = min(seconds["FastICA"], time.perf_counter() - start)
            Z = np.hstack([Z, -Z])
            r = np.abs(np.corrcoef(centred.T, Z[:, :d].T)[:d, d:])
            right["FastICA"] += bool(np.min(r.max(axis=1)) > 0.99)
            start = time.perf_counter()
            Y = nica.NICA(random_state=seed).separate(X)
            seconds["NICA"] = min(seconds["NICA"], time.perf_counter() - start)
            match = match_sources(S[-10_000:], Y[-10_000:])
            right["NICA"] += bool(match.error < 0.01 * d)
    return {
        "d": d, "seeds": seeds,
        "fastica_s": seconds["FastICA"], "fastica_right": right["FastICA"],
        "nica_s": seconds["NICA"], "nica_right": right["NICA"],
    }  # fmt: skip


def table(results: dict[str, Any]) -> str:
    """The README's table."""
    lines = [
        f"Measured with the {results['kernels']} kernels; one multiply-add took "
        f"{results['streams'][0]['paper']['unit_ns']:.2f} ns. `python -m benchmarks.run --readme` writes "
        "this table.",
        "",
        '| d sources, k channels | `start="paper"` ns per sample | in multiply-add latencies | '
        '`start="warm"` ns per sample |',
        "|---|---|---|---|",
    ]
    for row in results["streams"]:
        paper, warm = row["paper"], row["warm"]
        lines.append(
            f"| {paper['d']}, {paper['k']} | {paper['ns']:.0f} | {paper['latencies']:.0f} | "
            f"{warm['ns']:.0f} |"
        )
    single = results["single"]
    ratio = 1e3 * single["equations_us"] / results["streams"][0]["paper"]["ns"]
    lines += [
        "",
        f"`separate_one` takes {single['separate_one_us']:.1f} µs, `partial_fit` of one row "
        f"{single['partial_fit_one_row_us']:.1f} µs; `transform` runs at "
        f"{single['transform_millions_per_s']:.0f} million samples per second (d = 3, one core). The "
        f"NumPy equations take {single['equations_us']:.0f} µs per sample, {ratio:.0f} times as long as "
        "the core.",
        "",
        "| 100 000 samples, 20 seeds | seconds | right |",
        "|---|---|---|",
    ]
    for row in results["peers"]:
        lines.append(
            f"| scikit-learn FastICA, d = {row['d']} | {row['fastica_s']:.3f} | "
            f"{row['fastica_right']} of {row['seeds']} |"
        )
        lines.append(
            f"| nica, one pass, d = {row['d']} | {row['nica_s']:.3f} | "
            f"{row['nica_right']} of {row['seeds']} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results.json"))
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    repeats = 3 if arguments.quick else 15
    results: dict[str, Any] = {"kernels": _config.kernels(), "streams": []}
    print(f"{'d':>4} {'k':>4} {'paper':>9} {'target':>7} {'warm':>9} {'1.25 x':>7}  (latencies)")
    for (d, k), target in TARGETS.items():
        row = {s: stream(d, k, s, repeats) for s in ("paper", "warm")}
        results["streams"].append(row)
        print(
            f"{d:4d} {k:4d} {row['paper']['latencies']:9.1f} {target:7d} {row['warm']['latencies']:9.1f} "
            f"{1.25 * target:7.0f}",
            flush=True,
        )
    results["single"] = single(repeats)
    results["start_up_s"] = start_up(repeats)
    results["memory_growth_mb"] = memory_growth()
    results["peers"] = [fast_ica(d, 5 if arguments.quick else 20) for d in (3, 10)]
    for name in ("single", "start_up_s", "memory_growth_mb", "peers"):
        print(name, results[name])
    arguments.out.write_text(json.dumps(results, indent=1))
    if arguments.readme:
        readme = Path("README.md")
        text = readme.read_text()
        begin, end = "<!-- benchmarks -->", "<!-- /benchmarks -->"
        head, rest = text.split(begin)
        readme.write_text(head + begin + "\n" + table(results) + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
