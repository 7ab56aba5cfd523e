"""All that is measured of speed and accuracy, in one run; one table, one JSON, plots.

    python -m benchmarks.run [--quick] [--only PART ...] [--folder DIR] [--pages]

Speed is measured by pytest-benchmark (bench_speed.py); the smallest of several repeats counts. The unit
is the latency of a multiply-add, measured beside each case, so that figures of different machines and
moments can be compared. Without --only everything is measured anew; with it the other parts stay as they
were in benchmarks/results.json. --pages writes the README's table and docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nica
from benchmarks.accuracy import accuracy
from benchmarks.bench_speed import CORES, data
from benchmarks.cores import cores
from benchmarks.large import memmap, million
from nica import _config, _core

RESULTS = Path("benchmarks/results.json")


def machine() -> dict[str, Any]:
    """What it ran on, and the two units: latency of a multiply-add, and most of them per time."""
    name = _config.kernels()
    return {
        "kernels": name, "width": _core.width(name), "cores": CORES,
        "python": platform.python_version(), "processor": platform.machine(),
        "unit_ns": _core.multiply_add_latency(name), "peak_gflops": _core.peak(name),
    }  # fmt: skip


def speed(quick: bool = False, processor_time: bool = False) -> list[dict[str, Any]]:
    """A row for each case of bench_speed.py."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speed.json"
        arguments = ["benchmarks/bench_speed.py", "-q", "--no-header", "--benchmark-disable-gc",
                     "--benchmark-columns=min,rounds", "-p", "no:cacheprovider", "-p", "no:randomly",
                     f"--benchmark-json={path}"]  # fmt: skip
        if processor_time:
            arguments += ["--benchmark-timer=time.process_time"]
        if quick:
            arguments += ["-k", "not long and not 100-100 and not 50-200 and not NMF"]
        if pytest.main(arguments) != 0:
            raise SystemExit("a benchmark failed: see above")
        cases = json.loads(path.read_text())["benchmarks"]
    rows = []
    for case in cases:
        row = case["extra_info"]
        row["seconds"] = case["stats"]["min"]
        row["ns"] = 1e9 * row["seconds"] / row["T"]
        row["latencies"] = row["ns"] / row["unit_ns"]
        rows.append(row)
    return rows


def start_up(quick: bool = False) -> dict[str, float]:
    """Seconds that ``import nica`` and its first network take beyond NumPy."""

    def run(code: str) -> float:
        times = []
        for _ in range(3 if quick else 7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    numpy = run("import numpy")
    return {
        "import_s": run("import numpy, nica") - numpy,
        "first_network_s": run("import numpy, nica; nica.NICA(2).partial_fit(numpy.eye(2))")
        - numpy,
    }


def memory(quick: bool = False) -> dict[str, float]:
    """Megabytes that the process grows by over a long stream."""
    model, X = nica.NICA(3, random_state=0), data(3, 3, 10_000)
    for _ in range(20):
        model.partial_fit(X)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    passes = 20 if quick else 200
    for _ in range(passes):
        model.partial_fit(X)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return {"samples": passes * len(X), "grown_mb": grown}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller and fewer; not for the pages")
    parser.add_argument("--only", nargs="*", help="parts to measure anew")
    parser.add_argument("--folder", type=Path, default=None, help="where 4 GB may be written")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--pages", action="store_true", help="write README and docs/benchmarks.md")
    parser.add_argument(
        "--processor-time", action="store_true",
        help="where other programs run too: time of the processor instead of the clock's; on one core",
    )  # fmt: skip
    arguments = parser.parse_args()
    quick = arguments.quick
    parts: dict[str, Callable[[], Any]] = {
        "machine": machine,
        "start_up": lambda: start_up(quick),
        "memory": lambda: memory(quick),
        "accuracy": lambda: accuracy(quick),
        "million": lambda: million(quick),
        "memmap": lambda: memmap(arguments.folder, quick),
        "cores": lambda: cores(quick),
        "speed": lambda: speed(quick, arguments.processor_time),
    }
    unknown = set(arguments.only or ()) - set(parts)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(parts)}")
    results = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    results["processor_time"] = arguments.processor_time
    for name in parts if arguments.only is None else arguments.only:
        print(f"{name} ...", flush=True)
        results[name] = parts[name]()
        arguments.out.write_text(json.dumps(results, indent=1))
    from benchmarks.tables import report, write_pages

    print(report(results))
    if arguments.pages:
        write_pages(results)


if __name__ == "__main__":
    main()
