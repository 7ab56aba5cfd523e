"""Large inputs: a million samples beside FastICA and Picard, and 4 GB in a bounded memory.

python -m benchmarks.large [--folder DIR] [--quick]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import nica
from benchmarks.accuracy import correlations, count
from nica.batch.sources import ENTRIES, ROWS
from nica.datasets import mixing, sparse_uniform

D, K = 50, 500
STEP = 20_000  #: samples that are written at once
NOISE = 0.02
MIB = 1 << 20
PATIENCE = 600  #: seconds that a rival may take; then it is stopped


def million(quick: bool = False) -> dict[str, Any]:
    """A million samples, d = 10: single starts of the batch solver, default FastICA, Picard."""
    T, starts = (100_000, 4) if quick else (1_000_000, 20)
    single = count(10, T, starts, ["NICA batch"])
    usual = count(10, T, 3, ["NICA batch"], n_starts=4)
    peers = count(10, T, starts, ["FastICA"]) + count(10, T, 3, ["Picard"])
    return {"single_starts": single[0], "default": usual[0], "peers": peers}


def sources(i: int) -> np.ndarray:
    return sparse_uniform(STEP, D, random_state=np.random.default_rng([1, i]))


def write(path: Path, T: int) -> None:
    A = mixing(K, D, condition=5, random_state=2)
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(T, K))
    for i in range(T // STEP):
        rng = np.random.default_rng([3, i])
        out[i * STEP : (i + 1) * STEP] = sources(i) @ A.T
        out[i * STEP : (i + 1) * STEP] += NOISE * rng.standard_normal((STEP, K), dtype=np.float32)
    out.flush()


def anonymous() -> int:
    """Bytes of memory of this process that are not pages of files."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return 1024 * int(line.split()[1])
    raise OSError("no RssAnon in /proc/self/status: this needs Linux")


def fit_memmap(path: Path) -> dict[str, Any]:
    """Time and memory of one fit, in this process."""
    X = np.load(path, mmap_mode="r")
    nica.NICA(2, solver="batch").fit(np.random.default_rng(0).random((1000, 2)))  # imports
    before, most, done = anonymous(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    start, spent = time.perf_counter(), time.process_time()
    model = nica.NICA(D, solver="batch", random_state=0).fit(X)
    seconds, cpu = time.perf_counter() - start, time.process_time() - spent
    done.set()
    watcher.join()
    r = correlations(sources(0), model.transform(X[:STEP]))
    return {
        "seconds": seconds, "cpu_seconds": cpu, "memory_mib": (most[0] - before) / MIB,
        "passes": model.n_iter_, "worst_correlation": float(r.min()),
    }  # fmt: skip


def peer(name: str, path: Path, T: int) -> dict[str, Any]:
    """FastICA or Picard on the first T samples of the file: all of it would not fit beside its copies."""
    X = np.load(path, mmap_mode="r")[:T]
    X = np.array(X)
    start, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "FastICA":
            from sklearn.decomposition import FastICA

            Y = FastICA(D, whiten="unit-variance", random_state=0).fit_transform(X)
        else:
            from picard import picard

            Y = picard(X.T, n_components=D, random_state=0)[2].T
    seconds, cpu = time.perf_counter() - start, time.process_time() - spent
    r = correlations(sources(0), Y[:STEP])
    return {
        "algorithm": name, "T": T, "seconds": seconds, "cpu_seconds": cpu,
        "sources_found": int(np.sum(r > 0.99)),
    }  # fmt: skip


def memmap(folder: Path | None = None, quick: bool = False) -> dict[str, Any]:
    """d = 50, k = 500, T = 1e6: 4 GB on disk; each fit in a process of its own."""
    T = 60_000 if quick else 1_000_000
    block = 8 * K * max(ROWS, ENTRIES // K)
    from benchmarks.bench_speed import CORES

    with tempfile.TemporaryDirectory(dir=folder) as name:
        path = Path(name) / "x.npy"
        write(path, T)
        result = _apart("fit", path)
        result |= {
            "d": D, "k": K, "T": T, "file_mib": 8 * T * K / MIB, "block_mib": block / MIB,
            "limit_mib": 2 * block * CORES / MIB,
        }  # fmt: skip
        result["peers"] = [_rival(which, path, min(T, 100_000)) for which in ("FastICA", "Picard")]
    print("  ", result, flush=True)
    return result


def _rival(which: str, path: Path, T: int) -> dict[str, Any]:
    try:
        return _apart(which, path, T, PATIENCE)
    except subprocess.TimeoutExpired:
        return {"algorithm": which, "T": T, "stopped_after": PATIENCE}


def _apart(what: str, path: Path, T: int = 0, patience: float | None = None) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.large", "--run", what, str(path), str(T)]
    out = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=patience
    ).stdout
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        what, path, T = arguments.run
        print(
            json.dumps(fit_memmap(Path(path)) if what == "fit" else peer(what, Path(path), int(T)))
        )
        return
    memmap(arguments.folder, arguments.quick)
    million(arguments.quick)


if __name__ == "__main__":
    main()
