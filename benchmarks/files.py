"""Speed and memory of files and pipes: reading each format, and `nica separate` from end to end.

    python -m benchmarks.files [--quick] [--folder DIR] [--out FILE] [--only NAME,...] [--write]

Files are made in a temporary folder (2.4 GB for the largest, twice that with its output) and deleted.
Each figure comes from a process of its own, so that memory is that of the one task: "resident" is all
that the process ever held, Python and its libraries included; mapped pages of the file count too. Time is
that of the whole process for `nica separate`, from the start of Python to the verdict, and that of the
loop for reading. Files are in the system's cache: it is the program that is measured, not the disk.
--write puts the figures into docs/files.md; those of earlier runs with the same --out are joined.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import put
from nica.streams import open_chunks, open_sink

DOCS = Path(__file__).parent.parent / "docs" / "files.md"
#: name → million rows per second that must be reached
TARGETS = {
    "read csv": 1.0, "read parquet": 4.0, "separate npy to npy": 5.0, "separate csv to npy": 1.0,
    "separate csv to csv": 1.0, "separate parquet to npy": 4.0,
}  # fmt: skip
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


def separate(path: str, out: str) -> dict[str, float]:
    """`nica separate`, as a user calls it."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "nica", "separate", path, "-o", out, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.read())
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    figures = speed(told["samples"], start)
    return {
        **figures,
        "resident_MiB": usage.ru_maxrss / 1024,
        "cpu": usage.ru_utime + usage.ru_stime,
    }


def speed(rows: int, start: float) -> dict[str, float]:
    """Figures of a task that began at `start`."""
    seconds = time.perf_counter() - start
    # Not ru_maxrss, which a process takes over from the one that began it.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "rows": rows,
        "seconds": seconds,
        "million_rows_per_s": 1e-6 * rows / seconds,
        "resident_MiB": int(status["VmHWM"].split()[0]) / 1024,
    }


def pipe(format: str, lines: str) -> dict[str, float]:
    """A sender that waits for each answer: time from a line in to the line out."""
    n = int(lines)
    rows = mixture(n, 3, 0)
    texts = [f"{json.dumps(row)}\n".encode() for row in rows.tolist()]
    if format == "csv":
        texts = [text.translate(None, b"[] ") for text in texts]
    command = [sys.executable, "-m", "nica", "separate", "-", "--format", format, "-q"]
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


# ------------------------------------------------------------------------------------------ all


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="files a hundred times smaller")
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument(
        "--keep", action="store_true", help="keep the files in the folder, and use them"
    )
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--only", default="", help="names of some of the tasks, with commas")
    parser.add_argument("--prefix", default="", help="command put before each measured process")
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/files.md")
    options = parser.parse_args()
    if options.task:
        tasks = {"read": read, "separate": separate, "pipe": pipe}
        print(json.dumps(tasks[options.task[0]](*options.task[1:])))
    else:
        run(options)


def plan() -> Iterator[tuple[str, str, int, list[str]]]:
    """Tasks: label, file to make, its rows, and the task's arguments; {} stands for the folder."""
    text = ("csv", "tsv", "ndjson", "csv.gz")
    for ending in ("npy", "npz", "parquet", "h5", "zarr", "mat", *text):
        n = 4_000_000 if ending in text else 32_000_000 if ending == "parquet" else 8_000_000
        yield f"read {ending}", f"x.{ending}", n, ["read", "{}" + f"/x.{ending}"]
    big = ["separate", "{}/big.npy", "{}/out.npy"]
    yield "separate npy to npy", "big.npy", 100_000_000, big
    for ending, n, to in (
        ("csv", 4_000_000, "npy"), ("csv", 4_000_000, "csv"), ("parquet", 32_000_000, "npy"),
        ("parquet", 32_000_000, "parquet"),
    ):  # fmt: skip
        where = ["separate", "{}" + f"/x.{ending}", "{}" + f"/out.{to}"]
        yield f"separate {ending} to {to}", f"x.{ending}", n, where
    for format in ("csv", "ndjson"):
        yield f"pipe {format}", "", 1_000_000, ["pipe", format]


def run(options: Any) -> None:
    """Make the files, measure, delete."""
    scale = 100 if options.quick else 1
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="nica-files-", dir=options.folder) as name:
        folder = options.folder if options.keep else Path(name)
        for label, file, n, arguments in plan():
            if options.only and label not in options.only.split(","):
                continue
            n //= scale
            path = folder / file
            if file and not path.exists():
                write_npy(path, n, 3) if file == "big.npy" else write(path, n, 4)
            pipe = arguments[0] == "pipe"
            figures[label] = once(options.prefix, arguments, folder, n if pipe else None)
            show(label, figures[label])
            if arguments[0] == "separate":
                remove(folder / Path(arguments[-1]).name)
            if not options.keep and file == "big.npy":
                remove(path)
    if options.out:
        known = json.loads(options.out.read_text()) if options.out.exists() else {}
        figures = known | figures
        options.out.write_text(json.dumps(figures, indent=1))
    if options.write:
        order = {label: i for i, (label, *_) in enumerate(plan())}
        put(DOCS, "speed", table({k: figures[k] for k in sorted(figures, key=order.__getitem__)}))


def once(prefix: str, arguments: list[str], folder: Path, lines: int | None) -> dict[str, float]:
    """The middle one of three runs of a task, or one run through a pipe."""
    command = [*prefix.split(), sys.executable, "-m", "benchmarks.files", "--task"]
    command += [argument.format(folder) for argument in arguments]
    if lines is not None:
        command.append(str(lines))
    runs = []
    for _ in range(3 if lines is None else 1):
        runs.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
    return sorted(runs, key=lambda r: r.get("seconds", 0))[len(runs) // 2]


def missed(label: str, figure: dict[str, float]) -> bool:
    """Whether a figure is not what it must be."""
    if "median_ms" in figure:
        return figure["median_ms"] > LATENCY
    large = label == "separate npy to npy" and figure["resident_MiB"] > MEMORY
    return large or figure["million_rows_per_s"] < TARGETS.get(label, 0.0)


def show(label: str, figure: dict[str, float]) -> None:
    """A line for a figure, and whether it is what it must be."""
    text = ", ".join(cells(figure))
    print(f"{label:24s}{text}{'   MISSED' if missed(label, figure) else ''}", flush=True)


def cells(figure: dict[str, float]) -> tuple[str, str]:
    """Speed and memory, or latency at the median and late, in words."""
    if "median_ms" in figure:
        return f"{figure['median_ms']:.2f} ms", f"{figure['p99.9_ms']:.2f} ms for one in 1000"
    speed = f"{figure['million_rows_per_s']:.2f} million rows/s"
    if "cpu" in figure:
        speed += f" ({1e-6 * figure['rows'] / figure['cpu']:.2f} for each second of processor time)"
    return speed, f"{figure['resident_MiB']:.0f} MiB"


def table(figures: dict[str, dict[str, float]]) -> str:
    """The figures for the documentation."""
    lines = ["| task | rows | speed, or time from a line in to its line out | memory at most |"]
    lines += ["|---|---|---|---|"]
    for label, figure in figures.items():
        count = int(figure.get("rows", figure.get("lines", 0)))
        lines.append(f"| {label} | {count:,} | {' | '.join(cells(figure))} |")
    return "\n".join(lines)


def remove(path: Path) -> None:
    """Delete a file or store that may not be there."""
    import shutil

    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
