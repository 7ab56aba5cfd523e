"""Speed and memory of files and pipes: reading each format, and separating a file of any size.

    python -m benchmarks.files [--quick] [--folder DIR] [--out FILE] [--only NAME,...]

Files are made in a temporary folder (2.4 GB for the largest, twice that with its output) and deleted.
Each figure comes from a process of its own, so that memory is that of the one task: "resident" is all
that the process ever held, Python and its libraries included; mapped pages of the file count too. Files
are in the system's cache: it is the program that is measured, not the disk.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nica
from nica.streams import open_chunks, open_sink

#: name → (what must be reached, of which figure)
TARGETS = {
    "read csv": ("million_rows_per_s", 1.0),
    "read parquet": ("million_rows_per_s", 4.0),
    "separate npy": ("million_rows_per_s", 5.0),
    "separate npy to npy": ("million_rows_per_s", 5.0),
}
MEMORY = 250  #: MiB that separating may take
LATENCY = 1.0  #: milliseconds from a line in to a line out, at the median


def mixture(n: int, k: int, seed: int) -> np.ndarray:
    """Samples of mixed sparse sources."""
    rng = np.random.default_rng(seed)
    S = rng.uniform(0, 2 * np.sqrt(3), (n, k)) * (rng.random((n, k)) < 0.5)
    A = np.random.default_rng(0).standard_normal((k, k)) + 2 * np.eye(k)
    return S @ A.T


def write_npy(path: Path, n: int, k: int) -> None:
    """A large array, a million rows at a time."""
    array = np.lib.format.open_memmap(path, "w+", "<f8", (n, k))
    for first in range(0, n, 1_000_000):
        last = min(first + 1_000_000, n)
        array[first:last] = mixture(last - first, k, first)
    array.flush()


def write(path: Path, n: int, k: int) -> None:
    """A file of any format."""
    with open_sink(path, columns=[f"c{j}" for j in range(k)]) as sink:
        for first in range(0, n, 500_000):
            sink.write(mixture(min(500_000, n - first), k, first))


# ---------------------------------------------------------------------- each in its own process


def read(path: str) -> dict[str, float]:
    """Go over a file."""
    start = time.perf_counter()
    rows = 0
    with open_chunks(path) as chunks:
        for chunk in chunks:
            rows += len(chunk)
    return speed(rows, start)


def separate(path: str, out: str = "") -> dict[str, float]:
    """Separate a file, as the README says; the sources go to another file, or nowhere."""
    start = time.perf_counter()
    model, rows = nica.NICA(random_state=0), 0
    with open_chunks(path) as chunks:
        if out:
            with open_sink(out) as sink:
                for Y in model.separate(chunks):
                    sink.write(Y)
                    rows += len(Y)
        else:
            for Y in model.separate(chunks):
                rows += len(Y)
    return speed(rows, start)


def speed(rows: int, start: float) -> dict[str, float]:
    """Figures of a task that began at `start`."""
    seconds = time.perf_counter() - start
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "rows": rows,
        "seconds": seconds,
        "million_rows_per_s": 1e-6 * rows / seconds,
        "resident_MiB": resident,
    }


def pipe(format: str, lines: str) -> dict[str, float]:
    """A sender that waits for each answer: time from a line in to the line out."""
    n = int(lines)
    rows = mixture(n, 3, 0)
    texts = [f"{json.dumps(row)}\n".encode() for row in rows.tolist()]
    if format == "csv":
        texts = [text.translate(None, b"[] ") for text in texts]
    command = [sys.executable, "-m", "benchmarks.files", "--echo", format]
    times = np.empty(n)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for i, text in enumerate(texts):
            start = time.perf_counter()
            process.stdin.write(text)
            while not process.stdout.read(1 << 16).endswith(b"\n"):
                pass
            times[i] = time.perf_counter() - start
        process.stdin.close()
    middle, late = 1e3 * np.quantile(times, [0.5, 0.999])
    return {"lines": n, "median_ms": middle, "p99.9_ms": late, "most_ms": 1e3 * times.max()}


def echo(format: str) -> None:
    """The other end: separates what comes, line by line."""
    model = nica.NICA(random_state=0)
    with open_chunks("-", format=format) as chunks, open_sink("-", format=format) as sink:
        for Y in model.separate(chunks):
            sink.write(Y)


# ------------------------------------------------------------------------------------------ all


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="files a hundred times smaller")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--only", default="", help="names of some of the tasks, with commas")
    parser.add_argument("--prefix", default="", help="command put before each measured process")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--echo", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.echo:
        echo(options.echo)
    elif options.task:
        tasks = {"read": read, "separate": separate, "pipe": pipe}
        print(json.dumps(tasks[options.task[0]](*options.task[1:])))
    else:
        run(options)


def run(options: Any) -> None:
    """Make the files, measure, delete."""
    scale = 100 if options.quick else 1
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="nica-files-", dir=options.folder) as name:
        folder = Path(name)

        def task(label: str, make: Callable[[], Any], *args: str) -> None:
            if options.only and label not in options.only.split(","):
                return
            make()
            command = [
                *options.prefix.split(),
                sys.executable,
                "-m",
                "benchmarks.files",
                "--task",
                *args,
            ]
            runs = []
            for _ in range(1 if args[0] == "pipe" else 3):
                runs.append(
                    json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
                )
            key = "median_ms" if args[0] == "pipe" else "seconds"
            figures[label] = sorted(runs, key=lambda r: r[key])[len(runs) // 2]
            show(label, figures[label])

        for ending in (
            "npy",
            "npz",
            "parquet",
            "h5",
            "zarr",
            "mat",
            "csv",
            "tsv",
            "ndjson",
            "csv.gz",
        ):
            path = folder / f"x.{ending}"
            few = 4 if ending in ("csv", "tsv", "ndjson", "csv.gz") else 1
            n = 8_000_000 // few // scale
            task(f"read {ending}", lambda p=path, n=n: write(p, n, 4), "read", str(path))  # type: ignore[misc]
            remove(path)
        big, out = folder / "big.npy", folder / "sources.npy"
        made = lambda: None if big.exists() else write_npy(big, 100_000_000 // scale, 3)  # noqa: E731
        task("separate npy", made, "separate", str(big))
        task("separate npy to npy", made, "separate", str(big), str(out))
        remove(big)
        remove(out)
        for format in ("csv", "ndjson"):
            task(f"pipe {format}", lambda: None, "pipe", format, str(1_000_000 // scale))
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1))


def show(label: str, figure: dict[str, float]) -> None:
    """A line for a figure, and whether it is what it must be."""
    if "median_ms" in figure:
        good = figure["median_ms"] <= LATENCY
        text = f"median {figure['median_ms']:.3f} ms, 99.9 % within {figure['p99.9_ms']:.3f} ms"
    else:
        key, least = TARGETS.get(label, ("million_rows_per_s", 0.0))
        good = figure[key] >= least
        good = good and (label.startswith("read") or figure["resident_MiB"] <= MEMORY)
        rows, memory = figure["million_rows_per_s"], figure["resident_MiB"]
        text = f"{rows:7.2f} million rows/s, {memory:4.0f} MiB resident"
    print(f"{label:22s}{text}{'' if good else '   MISSED'}", flush=True)


def remove(path: Path) -> None:
    """Delete a file or store that may not be there."""
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
