"""Tables of docs/facets.md, from the figures of ``benchmarks.facets``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.facet_problems import UNCORRELATED
from benchmarks.pages import put
from benchmarks.tables import table

DOCS = Path(__file__).parent.parent / "docs" / "facets.md"
SHORT = 0.05  #: by so much a worst correlation may fall short of least squares with the true matrix
WORSE = 0.01  #: by so much a mean correlation may be below NICA's

Record = dict[str, Any]
Problem = dict[str, Record]  # what each method made of it


def problems(records: list[Record], part: str) -> list[tuple[list[Any], Problem]]:
    """Cell and methods' figures of each problem that the oracle, if there is one, has seen."""
    found: dict[str, tuple[list[Any], Problem]] = {}
    for r in records:
        if r["part"] == part:
            name = repr((r["cell"], r["round"]))
            found.setdefault(name, (r["cell"], {}))[1][r["method"]] = r
    return list(found.values())


def right(problem: Problem, method: str) -> bool:
    return bool(problem[method]["worst"] >= problem["least squares"]["worst"] - SHORT)


def share(found: Iterable[bool]) -> str:
    counts = list(found)
    return f"{sum(counts)} of {len(counts)}" if counts else "–"


def percent(found: Iterable[bool]) -> str:
    counts = list(found)
    return f"{100 * np.mean(counts):.1f} %" if counts else "–"


def whole(
    chosen: list[tuple[list[Any], Problem]], *methods: str
) -> list[tuple[list[Any], Problem]]:
    """Those that all of these methods have finished."""
    needed = {"least squares", *methods}
    return [(cell, p) for cell, p in chosen if needed <= p.keys()]


def families(records: list[Record]) -> str:
    found = whole(problems(records, "families"), "FacetNICA")
    noises = sorted({cell[1] for cell, _ in found})

    def row(name: str, chosen: list[tuple[list[Any], Problem]]) -> str:
        cells = []
        for noise in noises:
            some = [p for cell, p in chosen if cell[1] == noise]
            for m in ("FacetNICA", "NICA"):
                cells.append(share(right(p, m) for p in some if m in p))
        return f"| {name} | {' | '.join(cells)} |"

    names = list(dict.fromkeys(cell[0] for cell, _ in found))
    sizes = sorted({(cell[2], cell[3]) for cell, _ in found})
    rows = [row(name, [f for f in found if f[0][0] == name]) for name in names]
    rows += [
        row(f"d = {d}, k = {k}", [f for f in found if (f[0][2], f[0][3]) == (d, k)])
        for d, k in sizes
    ]
    rows.append(row("**all**", found))
    head = "| right | " + " | ".join(f"noise {n:g}: FacetNICA | NICA" for n in noises) + " |"
    plain = [p for cell, p in found if cell[0] in UNCORRELATED and "NICA" in p]
    both = [p for _, p in found if "NICA" in p]
    loss = [p["NICA"]["mean"] - p["FacetNICA"]["mean"] for p in plain]
    text = (
        f"FacetNICA is right in {percent(right(p, 'FacetNICA') for _, p in found)} of {len(found)} "
        f"problems, NICA in {percent(right(p, 'NICA') for p in both)} of the {len(both)} whose sources "
        f"do not sum to one. Of the {len(plain)} with uncorrelated sources "
        f"({', '.join(UNCORRELATED)}) FacetNICA is worse than NICA by more than "
        f"{WORSE} in mean r in {sum(np.array(loss) > WORSE)}, by {max(loss, default=0):.3f} at most."
    )
    return f"{text}\n\n{table(head, rows)}"


def selection(records: list[Record]) -> str:
    """Every method on every kind, and how often each is right."""
    found = problems(records, "rivals")
    names = dict.fromkeys(m for _, p in found for m in p)
    methods = [m for m in names if m != "least squares"]
    single = [m for m in methods if m != "FacetNICA, sum_to_one"]
    full = whole(found, *single)
    kinds = list(dict.fromkeys(cell[0] for cell, _ in full))
    noises = sorted({cell[1] for cell, _ in full})

    def counts(name: str, keep: Callable[[list[Any]], bool]) -> str:
        chosen = [p for cell, p in full if keep(cell)]
        cells = [share(right(p, m) for p in chosen if m in p) for m in methods]
        return f"| {name} | {' | '.join(cells)} |"

    rows = [counts(kind, lambda cell, kind=kind: cell[0] == kind) for kind in kinds]
    rows += [counts(f"noise {n:g}", lambda cell, n=n: cell[1] == n) for n in noises]
    rows.append(counts("**all**", lambda cell: True))
    seconds = [
        f"{np.median([p[m]['seconds'] for _, p in full if m in p] or [np.nan]):.2g}"
        for m in methods
    ]
    rows.append(f"| median seconds | {' | '.join(seconds)} |")
    return table("| right | " + " | ".join(methods) + " |", rows)


def positive(records: list[Record]) -> str:
    methods = ("NICA", "FacetNICA", "minimum-volume NMF", "NMF")
    found = whole(problems(records, "positive"), *methods)
    rows = []
    for name in dict.fromkeys(cell[0] for cell, _ in found):
        some = [p for cell, p in found if cell[0] == name]
        cells = [
            f"{share(right(p, m) for p in some)} ({np.mean([p[m]['worst'] for p in some]):.3f})"
            for m in methods
        ]
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return table("| right (mean worst r) | " + " | ".join(methods) + " |", rows)


def exact(records: list[Record]) -> str:
    rows = []
    found = problems(records, "exact")
    for cell in dict.fromkeys(tuple(cell) for cell, _ in found):
        cells = []
        for method in ("FacetNICA", "NICA"):
            errors = [p[method]["nmse"] for c, p in found if tuple(c) == cell and method in p]
            cells.append(f"{np.median(errors):.0e}, {max(errors):.0e}" if errors else "–")
        rows.append(f"| {cell[0]}, d = {cell[1]} | {' | '.join(cells)} |")
    return table("| median and largest error | FacetNICA | NICA |", rows)


def harm(records: list[Record]) -> str:
    methods = ("NICA", "FacetNICA", "FacetNICA, offset")
    found: dict[str, dict[str, Problem]] = {}
    for r in records:
        if r["part"] == "harm":
            *cell, what = r["cell"]
            same = found.setdefault(repr((cell, r["round"])), {})
            same.setdefault(what, {})[r["method"]] = r
    rows = []
    for what in ("nothing", "outliers", "offsets"):
        cells = []
        for m in methods:
            pairs = [
                (one[what][m]["worst"], one["nothing"][m]["worst"])
                for one in found.values()
                if m in one.get(what, {}) and m in one.get("nothing", {})
            ]
            lost = max((b - a for a, b in pairs), default=np.nan)
            cells.append(f"{np.mean([a for a, _ in pairs] or [np.nan]):.3f}, {lost:.3f}")
        rows.append(f"| {what} | {' | '.join(cells)} |")
    return table(
        "| mean of worst r, most that one lost by it | " + " | ".join(methods) + " |", rows
    )


def speeds(records: list[Record]) -> str:
    rows = []
    found = [r for r in records if r["part"] == "speed"]
    for method in dict.fromkeys(r["method"] for r in found):
        some = [r for r in found if r["method"] == method]
        wall, cpu = (min(r[key] for r in some) for key in ("wall", "seconds"))
        n, d = some[0]["cell"]
        rows.append(f"| {method}, T = {n:,}, d = k = {d} | {wall:.2f} | {cpu:.2f} |")
    return table("| best time of a fit | seconds | of processors |", rows)


def trust(records: list[Record]) -> str:
    """Good are results that fall hardly short; trusted those of which the diagnosis says OK."""
    groups: dict[str, list[tuple[bool, bool]]] = {}
    for r in records:
        if r["part"] == "trust":
            pair = (r["shortfall"] <= SHORT, r["trusted"])
            groups.setdefault(r["cell"][0], []).append(pair)
    everything = [pair for pairs in groups.values() for pair in pairs]
    rows = []
    for name, pairs in {**groups, "**all**": everything}.items():
        trusted = [good for good, sure in pairs if sure]
        rows.append(
            f"| {name} | {share(sure for good, sure in pairs if good)} | "
            f"{share(sure for good, sure in pairs if not good)} | "
            f"{percent(not good for good in trusted)} |"
        )
    return table("| kind | trusted, of good | trusted, of bad | false, of trusted |", rows)


TABLES: dict[str, tuple[tuple[str, ...], Callable[[list[Record]], str]]] = {
    "families": (("families",), families),
    "selection": (("rivals",), selection),
    "positive": (("positive",), positive),
    "exact": (("exact",), exact),
    "harm": (("harm",), harm),
    "speeds": (("speed",), speeds),
    "facet trust": (("trust",), trust),
}


def tables(records: list[Record], seed: int) -> dict[str, str]:
    """The text of each table that there are figures for."""
    parts = {r["part"] for r in records}
    found = {name: make(records) for name, (of, make) in TABLES.items() if parts & set(of)}
    rounds = 1 + max((r["round"] for r in records), default=-1)
    found["measured"] = (
        f"Seed {seed}, {len(records):,} figures, up to {rounds} problems in each cell. Times are "
        "processor seconds of a machine on which other programs ran."
    )
    return found


def write(found: dict[str, str]) -> None:
    for name, text in found.items():
        put(DOCS, name, text)
