"""From the figures of ``benchmarks.run``: README's table, docs/benchmarks.md, plots, the cost model."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import put

Row = dict[str, Any]
STREAM, WARM = "NICA stream, start=paper", "NICA stream, start=warm"
PICTURE = Path("docs/_static/benchmarks.png")


def step_flops(d: int, k: int) -> float:
    """Operations of one step, start="paper", n_whitened = d; pivots left out.

    Products W_hx x, P u, Pᵀ g and their updates in layer 1, P by Sherman-Morrison; W_yh h, N c, the
    updates of W_yh and B, and of N by a scaling and rank one in layer 2.
    """
    return 5.0 * k * d + 20.0 * d * d + 13.0 * d * d


def batch_flops(d: int, k: int, T: int, starts: int = 4) -> float:
    """Operations of a batch fit with one round: moments and outlier weights, the search, the round.

    A fixed point takes the products C⁻¹K h, Y Yᵀ, Y Hᵀ and elimination among the silent outputs, about
    a quarter, in two rounds. The search makes about 9 passes over 20 000 samples.
    """
    point = 2 * 3 * d * d + 2 * (2 / 3) * (d / 4) ** 3
    moments = 2 * k * k + (4 * k * d if k > d else 2 * k * d)
    return T * (moments + 2 * k * d + point) + starts * 9 * min(T, 20_000) * point


def select(rows: list[Row], **what: Any) -> list[Row]:
    return [row for row in rows if all(row.get(name) == value for name, value in what.items())]


def slope(rows: list[Row], by: str, value: Callable[[Row], float]) -> float:
    """Exponent: slope of the logarithms."""
    x = np.log([row[by] for row in rows])
    return float(np.polyfit(x, np.log([value(row) for row in rows]), 1)[0])


def sample_flops(row: Row) -> float:
    return step_flops(row["d"], row["k"])


def solve_flops(row: Row) -> float:
    return batch_flops(row["d"], row["k"], row["T"])


def exponents(rows: list[Row], cores: int) -> list[tuple[str, str, float, float]]:
    """What, range, measured exponent of time, exponent of the operations over the same range."""
    square = [row for row in select(rows, algorithm=STREAM) if row["d"] == row["k"]]
    batch = select(rows, algorithm="NICA batch", T=100_000, threads=cores)
    million = select(rows, algorithm="NICA batch", d=10, k=10, threads=cores)
    square_batch = [row for row in batch if row["d"] == row["k"] and row["d"] >= 5]
    wide = select(rows, algorithm=STREAM, d=50)
    cases: list[tuple[str, list[Row], str, str, Callable[[Row], float]]] = [
        ("stream, d = k", [r for r in square if r["d"] <= 10], "d", "ns", sample_flops),
        ("stream, d = k", [r for r in square if r["d"] >= 20], "d", "ns", sample_flops),
        ("stream, d = 50", wide, "k", "ns", sample_flops),
        ("batch, d = k", square_batch, "d", "seconds", solve_flops),
        ("batch, d = 10", [r for r in batch if r["d"] == 10], "k", "seconds", solve_flops),
        ("batch, d = k = 10", million, "T", "seconds", solve_flops),
    ]
    out = []
    for name, chosen, by, time, operations in cases:
        chosen = list({row[by]: row for row in sorted(chosen, key=lambda r: r[by])}.values())
        if len(chosen) > 1:
            span = f"{by} = {chosen[0][by]:,} to {chosen[-1][by]:,}"
            out.append(
                (name, span, slope(chosen, by, itemgetter(time)), slope(chosen, by, operations))
            )
    return out


def table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def streams(results: Row) -> str:
    rows, peak = results["speed"], results["machine"]["peak_gflops"]
    lines = []
    for row in select(rows, algorithm=STREAM):
        d, k = row["d"], row["k"]
        (warm,) = select(rows, algorithm=WARM, d=d, k=k)
        share = step_flops(d, k) / row["ns"] / peak
        lines.append(
            f"| {d}, {k} | {row['ns']:.0f} | {row['latencies']:.0f} | {100 * share:.0f} % | "
            f"{warm['ns']:.0f} |"
        )
    return table(
        '| d sources, k channels | `start="paper"` ns per sample | in multiply-add latencies | of peak | '
        '`start="warm"` ns per sample |',
        lines,
    )


def right(rows: list[Row]) -> str:
    lines = [
        f"| {row['algorithm']} | {row['d']} | {row['T']:,} | {row['right']} of {row['starts']} | "
        f"{row['error']:.2g} | {row['seconds']:.3f} | {row['cpu_seconds']:.3f} |"
        for row in rows
    ]
    return table(
        "| algorithm | d | samples | right | median error | median seconds | of processors |", lines
    )


def others(results: Row) -> str:
    lines = []
    for row in results["speed"]:
        if row["algorithm"] in (STREAM, WARM):
            continue
        lines.append(
            f"| {row['algorithm']} | {row['d']}, {row['k']} | {row['T']:,} | {row['threads']} | "
            f"{row['seconds']:.3g} | {row['ns']:.0f} | {row['latencies']:.0f} |"
        )
    return table("| what | d, k | samples | threads | seconds | ns per sample | latencies |", lines)


def cores(results: Row) -> str:
    """How much faster two cores are than one: from processor time, and by the clock where it is quiet."""
    most = results["machine"]["cores"]
    parts = []
    if "cores" in results:
        lines = [
            f"| {row['what']} | {1e3 * row['one']:.1f} | {1e3 * row['own']:.1f} | "
            f"{1e3 * row['pools']:.1f} | {row['ratio']:.2f} |"
            for row in results["cores"]
        ]
        parts.append(
            "From processor time (`benchmarks/cores.py` says how), since other programs ran beside it: "
            "what one thread takes, what the calling thread of two does alone, and how long their tasks "
            "take dealt out to two cores.\n\n"
            + table("| what | one, ms | alone, ms | tasks, ms | two against one |", lines)
        )
    lines = [
        f"| {row['algorithm']}, d = {row['d']}, {row['T']:,} samples | "
        f"{row['seconds'] / other['seconds']:.2f} |"
        for row in select(results["speed"], threads=1)
        for other in select(
            results["speed"], algorithm=row["algorithm"], d=row["d"], k=row["k"], T=row["T"],
            threads=most,
        )
    ]  # fmt: skip
    if most > 1 and not results.get("processor_time"):
        parts.append("By the clock:\n\n" + table(f"| what | {most} threads against one |", lines))
    if not parts:
        raise KeyError("several cores")
    return "\n\n".join(parts)


def costs(results: Row) -> str:
    threads = 1 if results.get("processor_time") else results["machine"]["cores"]
    lines = [
        f"| {name} | {span} | {measured:.2f} | {derived:.2f} |"
        for name, span, measured, derived in exponents(results["speed"], threads)
    ]
    return table("| time of | over | measured exponent | exponent of the operations |", lines)


def million(results: Row) -> str:
    one = results["million"]
    usual = one["default"]
    return (
        "A million samples, d = k = 10: the batch solver, with its four starts, takes "
        f"{usual['cpu_seconds']:.2f} s of processor time to an error of "
        f"{usual['error_unscaled'] / usual['floor']:.2f} times the floor; below, a single start each.\n\n"
        + right([one["single_starts"], *one["peers"]])
    )


def memmap(results: Row) -> str:
    m = results["memmap"]
    peers = "".join(
        f" {p['algorithm']} on the first {p['T']:,} samples alone: "
        + (
            f"stopped after {p['stopped_after']} s."
            if "stopped_after" in p
            else f"{p['seconds']:.0f} s, {p['cpu_seconds']:.0f} s of processors, "
            f"{p['sources_found']} of {m['d']} sources found."
        )
        for p in m["peers"]
    )
    return (
        f"{m['T']:,} samples of {m['k']} channels, {m['d']} sources, a memmap of "
        f"{m['file_mib']:.0f} MiB: {m['seconds']:.0f} s, {m['cpu_seconds']:.0f} s of processors, "
        f"{m['memory_mib']:.0f} MiB of memory beside the "
        f"file's own pages (blocks of {m['block_mib']:.0f} MiB; twice that on each core would be "
        f"{m['limit_mib']:.0f} MiB), the worst correlation of a source {m['worst_correlation']:.4f}."
        f"{peers}"
    )


def about(results: Row) -> str:
    m = results["machine"]
    return (
        f"Measured with the {m['kernels']} kernels on {m['cores']} cores; one multiply-add takes "
        f"{m['unit_ns']:.2f} ns, and {m['peak_gflops']:.0f} GFLOP/s is the most that one core reaches."
        + (
            " Times of this run are processor time of one thread, since other programs ran beside it."
            if results.get("processor_time")
            else ""
        )
    )


def readme(results: Row) -> str:
    names = ("NICA batch", "NICA stream", "FastICA", "Picard")
    chosen = [row for row in results["accuracy"] if row["algorithm"] in names]
    single = {r["algorithm"]: r for r in results["speed"] if r["d"] == 3}
    (naive,) = select(results["speed"], algorithm="nica.equations", d=3)
    (paper,) = select(results["speed"], algorithm=STREAM, d=3)
    return "\n\n".join([
        about(results) + " More in [docs/benchmarks.md](docs/benchmarks.md).",
        streams(results),
        f"`separate_one` takes {single['separate_one']['ns'] / 1e3:.1f} µs, `partial_fit` of one row "
        f"{single['partial_fit of a row']['ns'] / 1e3:.1f} µs. The NumPy equations take "
        f"{naive['ns'] / 1e3:.0f} µs per sample, {naive['ns'] / paper['ns']:.0f} times the core's time.",
        "How often is it right, from 20 random starts on the same mixture?",
        right(chosen),
        some(million, results),
        some(memmap, results),
    ])  # fmt: skip


def document(results: Row) -> str:
    return "\n\n".join([
        about(results),
        "## How often right, and how fast", right(results["accuracy"]),
        "## Streams", streams(results),
        "## Large", some(million, results), some(memmap, results),
        "## All cores", some(cores, results),
        "## What time depends on",
        "Operations are counted from the algorithm (`benchmarks/tables.py`); over the same range their "
        "exponent is what time would follow if every operation took as long.",
        costs(results),
        "![Nanoseconds per sample over the number of sources, and right starts over seconds.]"
        "(_static/benchmarks.png)",
        "## Everything else", others(results),
        some(start, results),
    ])  # fmt: skip


def start(results: Row) -> str:
    return (
        f"`import nica` takes {results['start_up']['import_s']:.2f} s beyond NumPy, with a network "
        f"{results['start_up']['first_network_s']:.2f} s. Over {results['memory']['samples']:,} samples "
        f"a stream grows by {results['memory']['grown_mb']:.1f} MB."
    )


def some(make: Callable[[Row], str], results: Row) -> str:
    """A section, or that it was not measured yet."""
    try:
        return make(results)
    except KeyError as missing:
        return f"Not measured in this run: {missing.args[0]}."


def draw(results: Row) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, other = figure.subplots(1, 2)
    most = results["machine"]["cores"]
    for label, what in (
        ("stream, one core", {"algorithm": STREAM}),
        ("16 replicas, all cores", {"algorithm": "16 replicas", "threads": most}),
        ("batch fit", {"algorithm": "NICA batch", "T": 100_000}),
        ("FastICA", {"algorithm": "FastICA", "T": 100_000}),
        ("NumPy equations", {"algorithm": "nica.equations"}),
    ):
        rows = sorted(
            (r["d"], r["ns"]) for r in select(results["speed"], **what) if r["d"] == r["k"]
        )
        if rows:
            left.loglog(*zip(*rows, strict=True), marker="o", label=label)
    left.set(xlabel="sources d (k = d)", ylabel="ns per sample")
    left.legend(frameon=False)
    for row in results["accuracy"]:
        if row["d"] == 10:
            other.plot(row["cpu_seconds"], row["right"], "o")
            other.annotate(
                row["algorithm"], (row["cpu_seconds"], row["right"]), textcoords="offset points",
                xytext=(6, 4), fontsize=8,
            )  # fmt: skip
    other.set(
        xscale="log", xlabel="processor seconds, 50,000 samples, d = 10", ylabel="right, of 20 starts",
        ylim=(-1, 22),
    )  # fmt: skip
    other.margins(x=0.35)
    other.xaxis.set_minor_formatter(NullFormatter())
    figure.savefig(PICTURE, dpi=110)


def report(results: Row) -> str:
    """What there is of it, as one text."""
    parts = []
    for make in (streams, others, cores, costs, million, memmap):
        parts.append(some(make, results))
    if "accuracy" in results:
        parts.insert(0, right(results["accuracy"]))
    return "\n\n".join(parts)


def write_pages(results: Row) -> None:
    draw(results)
    put(Path("README.md"), "benchmarks", readme(results))
    put(Path("docs/benchmarks.md"), "benchmarks", document(results))
