"""One machine or several? An array larger than the workers' memory, a killed worker, scaling, a model.

    python -m benchmarks.dask_cluster [--gigabytes 2] [--folder DIR] [--only PART ...] [--page]

Everything runs on this machine: clusters of 1 and 2 processes with one thread each. What 100 workers
would take is a model with stated assumptions, not a measurement. --page writes docs/scale.md's figures.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import zarr
from distributed import Client, LocalCluster

import nica
from nica.datasets import mixing, sparse_uniform
from nica.metrics import match_sources

D, K, ROWS = 10, 20, 62_500  #: sources, channels, samples of a chunk (10 MB)
A = mixing(K, D, condition=10, random_state=1)
MIB = 1 << 20


@cache
def different(number: int) -> np.ndarray:
    return sparse_uniform(ROWS, D, random_state=np.random.default_rng([0, number]))


def sources(chunk: int) -> np.ndarray:
    """Sources of a chunk; they repeat after 16 chunks, which costs the solver as much."""
    return different(chunk % 16)


def write(folder: Path, chunks: int) -> str:
    """Mixtures of these sources as one zarr array."""
    path = str(folder / f"big{chunks}.zarr")
    array = zarr.create_array(
        path,
        shape=(chunks * ROWS, K),
        chunks=(ROWS, K),
        dtype="f8",
        compressors=None,
        overwrite=True,
    )
    for i in range(chunks):
        array[i * ROWS : (i + 1) * ROWS] = sources(i) @ A.T
    return path


def cluster(workers: int, memory: int) -> LocalCluster:
    return LocalCluster(
        n_workers=workers, threads_per_worker=1, memory_limit=memory, dashboard_address=None,
        silence_logs=50,
    )  # fmt: skip


def fit(X: Any) -> tuple[nica.NICA, float]:
    start = time.perf_counter()
    model = nica.NICA(D, random_state=0).fit(X)
    return model, time.perf_counter() - start


def local(path: str, jobs: int) -> tuple[nica.NICA, float]:
    """The same chunks without Dask: the batch solver over chunks of the file."""
    start = time.perf_counter()
    with nica.streams.open_chunks(path, chunk_rows=ROWS) as chunks:
        model = nica.NICA(D, solver="batch", random_state=0, n_jobs=jobs).fit(chunks)
    return model, time.perf_counter() - start


def same(one: nica.NICA, other: nica.NICA) -> float:
    return float(np.abs(one.unmixing_ - other.unmixing_).max() / np.abs(one.unmixing_).max())


def larger_than_memory(path: str, size: int) -> dict[str, float]:
    """All workers together have a quarter of the array as memory."""
    memory = size // 8
    with cluster(2, memory) as machines, Client(machines):
        X = da.from_zarr(path)
        model, seconds = fit(X)
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(dir=Path(path).parent) as folder:
            model.transform(X).to_zarr(str(Path(folder) / "out.zarr"))
        return {
            "array_mib": size / MIB, "memory_of_both_workers_mib": 2 * memory / MIB,
            "fit_s": seconds, "transform_to_zarr_s": time.perf_counter() - begin,
            "difference_from_local": same(local(path, 1)[0], model),
        }  # fmt: skip


def killed(path: str) -> dict[str, float]:
    """A worker is killed in the middle of ``fit``."""
    import threading

    reference = local(path, 1)[0]
    with cluster(2, 1 << 31) as machines, Client(machines) as client:
        X = da.from_zarr(path)
        _, seconds = fit(X)
        before = client.run(os.getpid)
        victim = next(iter(before.values()))
        threading.Timer(seconds / 2, os.kill, (victim, 9)).start()
        model, slower = fit(X)
        with contextlib.suppress(TimeoutError):  # a machine with much else to do
            client.wait_for_workers(2, timeout=120)
        now = client.run(os.getpid).values()
        gone = victim not in now and len(now) == 2
    return {
        "undisturbed_s": seconds, "with_a_kill_s": slower, "worker_was_replaced": gone,
        "difference": same(reference, model),
    }  # fmt: skip


def scaling(folder: Path, chunks: int) -> list[dict[str, float]]:
    """Strong: the same samples for 1 and 2 workers. Weak: twice the samples for two."""
    rows = []
    path = write(folder, chunks)
    half = write(folder, chunks // 2)
    for workers, where, kind in ((1, path, "strong"), (2, path, "strong"), (1, half, "weak")):
        with cluster(workers, 4 << 30) as machines, Client(machines):
            X = da.from_zarr(where)
            fit(X[: 2 * ROWS])  # imports, first compilation of graphs
            seconds = min(fit(X)[1] for _ in range(2))
        rows.append({"kind": kind, "workers": workers, "samples": X.shape[0], "seconds": seconds})
    rows.append({**rows[1], "kind": "weak"})
    return rows


def crossing(folder: Path, sizes: list[int]) -> list[dict[str, float]]:
    """The same file by the batch solver on two threads, by Dask on threads, by two processes."""
    rows = []
    with cluster(2, 4 << 30) as machines, Client(machines) as client:
        fit(da.from_zarr(write(folder, 2)))
        for chunks in sizes:
            path = write(folder, chunks)
            row = {"samples": chunks * ROWS, "local_s": min(local(path, 2)[1] for _ in range(2))}
            row["processes_s"] = min(fit(da.from_zarr(path))[1] for _ in range(2))
            with dask.config.set(scheduler="threads"):
                row["threads_s"] = min(fit(da.from_zarr(path))[1] for _ in range(2))
            rows.append(row)
            shutil.rmtree(path)
        assert client.status == "running"
    return rows


def model_of(crossing: list[dict[str, float]]) -> dict[str, Any]:
    """Seconds for W workers: overhead of a round + T (work per sample) / W + tree of sums.

    Assumptions: chunks are read from storage that serves all workers as fast as it serves one; a round's
    overhead is that measured here, and each level of the tree of sums takes one task more (1 ms) and a
    transfer of 2 k² + 2 d² numbers at 1 GB/s; a round needs no other communication; the search on a
    selection, on the client, takes as long as here.
    """
    T = np.array([row["samples"] for row in crossing], dtype=float)
    seconds = np.array([row["processes_s"] for row in crossing])
    slope, fixed = np.polyfit(T, seconds, 1)  # with two workers
    alone, constant = np.polyfit(T, [row["local_s"] for row in crossing], 1)
    each = 2 * slope
    bytes_ = 8 * (2 * K * K + 2 * D * D)
    figures: dict[str, Any] = {
        "seconds_per_million_samples_and_worker": 1e6 * each, "fixed_seconds": max(fixed, 0.0),
        "one_machine_per_million": 1e6 * alone, "one_machine_fixed": max(constant, 0.0), "predicted": [],
    }  # fmt: skip
    for samples in (1e7, 1e8, 1e9, 1e10):
        entry: dict[str, float] = {
            "samples": samples,
            "one machine, 2 cores": constant + alone * samples,
        }
        for workers in (2, 10, 100):
            levels = np.log2(max(samples / ROWS, 2))
            tree = 3 * levels * (1e-3 + bytes_ / 1e9)
            dispatch = 3 * samples / ROWS * 1e-3  # the scheduler handles about 1000 tasks a second
            entry[f"{workers} workers"] = max(fixed, 0.0) + each * samples / workers + tree
            entry[f"{workers} workers"] = max(entry[f"{workers} workers"], dispatch)
        figures["predicted"].append(entry)
    return figures


def accuracy(path: str) -> float:
    """Error of Dask's result on the samples of the last chunk."""
    X = da.from_zarr(path)
    with dask.config.set(scheduler="threads"):
        model, _ = fit(X)
    last = X.shape[0] // ROWS - 1
    return float(match_sources(sources(last), model.transform(sources(last) @ A.T)).error)


def page(results: dict[str, Any]) -> str:
    """The measured part of docs/scale.md."""
    big, kill = results["larger_than_memory"], results["killed"]
    lines = [
        f"Measured on {results['cores']} cores, {D} sources in {K} channels, chunks of {ROWS:,} samples "
        "(`python -m benchmarks.dask_cluster --page` measures it anew)."
        + (
            f" Other programs ran beside it: {results['load']:.0f} wanted these cores when it began, so "
            "that seconds are upper bounds, and their ratios rough."
            if results["load"] > 1
            else ""
        ),
        "",
        f"- A zarr array of {big['array_mib']:.0f} MiB with two workers of "
        f"{big['memory_of_both_workers_mib'] / 2:.0f} MiB each: `fit` {big['fit_s']:.1f} s, `transform` "
        f"to zarr {big['transform_to_zarr_s']:.1f} s; the unmixing differs from that of one process by "
        f"{big['difference_from_local']:.1g}.",
        f"- A worker killed in the middle: {kill['with_a_kill_s']:.1f} s instead of "
        f"{kill['undisturbed_s']:.1f} s, and a difference of {kill['difference']:.1g}.",
        "",
        "| scaling | workers | samples | seconds |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['kind']} | {row['workers']} | {row['samples']:,} | {row['seconds']:.2f} |"
        for row in results["scaling"]
    ]
    lines += [
        "",
        "| samples in a zarr file | one process, 2 threads | Dask, threads | Dask, 2 processes |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['samples']:,} | {row['local_s']:.2f} s | {row['threads_s']:.2f} s | "
        f"{row['processes_s']:.2f} s |"
        for row in results["crossing"]
    ]
    model = results["model"]
    lines += [
        "",
        "A model, not a measurement: seconds with workers that each have one core, from the lines above. "
        "It assumes that the storage serves all workers as fast as it serves one, that a level of the "
        "tree of sums takes 1 ms, and that the scheduler hands out 1000 tasks a second.",
        "",
        "| samples | one machine, 2 cores | 2 workers | 10 workers | 100 workers |",
        "|---|---|---|---|---|",
    ]
    for row in model["predicted"]:
        cells = [f"{row[name]:,.0f} s" for name in list(row)[1:]]
        lines.append(f"| {row['samples']:.0e} | " + " | ".join(cells) + " |")
    meets = next(
        (row for row in model["predicted"] if row["100 workers"] < row[list(row)[1]]), None
    )
    lines += [
        "",
        "In this model 100 such workers are faster than this one machine from about "
        f"{meets['samples']:.0e} samples on." if meets else
        "In this model 100 such workers are never faster than this one machine.",
    ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/dask.json"))
    parser.add_argument("--only", nargs="*", help="parts to measure anew; the others stay in FILE")
    parser.add_argument("--page", action="store_true", help="write the figures into docs/scale.md")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    chunk = ROWS * K * 8
    chunks = max(8, round(arguments.gigabytes * (1 << 30) / chunk))
    results: dict[str, Any] = (
        json.loads(arguments.out.read_text()) if arguments.only and arguments.out.exists() else {}
    )
    results |= {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "d": D,
        "k": K,
        "chunk_rows": ROWS,
    }
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Any]] = {
            "error": lambda: accuracy(write(folder, 16)),
            "larger_than_memory": lambda: larger_than_memory(write(folder, chunks), chunks * chunk),
            "killed": lambda: killed(write(folder, 32)),
            "scaling": lambda: scaling(folder, 32),
            "crossing": lambda: crossing(folder, [4, 8, 16, 32]),
        }
        for part in arguments.only or parts:
            results[part] = parts[part]()
            arguments.out.write_text(json.dumps(results, indent=1))
            print(part, results[part], flush=True)
    if {"scaling", "crossing"} <= results.keys():
        results["model"] = model_of(results["crossing"])
    arguments.out.write_text(json.dumps(results, indent=1))
    if arguments.page:
        from benchmarks.pages import put

        put(Path("docs/scale.md"), "dask", page(results))


if __name__ == "__main__":
    main()
