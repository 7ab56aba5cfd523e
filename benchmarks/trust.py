"""How often is the verdict of nica.diagnose wrong? Problems with a known truth, on fresh seeds.

    python -m benchmarks.trust [--each 60] [--seed N] [--quick] [--records FILE] [--out FILE] [--docs]

The limits in ``nica.diagnostics`` were set on problems of the seeds 11 to 14, and frozen. This draws
others, says which, and writes what it finds as JSON and, with --docs, as the tables of docs/trust.md.
A run of an hour or more: with --records it goes on where it was cut short.
Truth: the worst source's squared error per variance, after best scale and order; up to
.1 the separation is OK, up to .3 doubtful, above it has failed. Overall rates are of the first problems
of each kind, as many of one as of another; kinds with bad ones go on until there are 20 of them.
"""

from __future__ import annotations

import argparse
import json
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nica
from benchmarks.pages import put
from benchmarks.problems import KINDS, UNSEEN, Problem, rank_problem, truth
from nica.datasets import mixing, natural_scenes, sparse_uniform
from nica.datasets.images import _patch
from nica.datasets.mixtures import MIXING_IMAGES

LEVELS = ("OK", "doubtful", "failed")
SOME, BAD = 2, 20  #: kinds with so many bad results are drawn on until there are so many,
MOST = 8  #: for so many times the problems of the others at most
DOCS = Path(__file__).parent.parent / "docs" / "trust.md"
README = DOCS.parent.parent / "README.md"
SETS = {
    "coins, brick, cell, retina": True,
    "coins, brick, cell, moon": False,
    "cell, retina, moon": False,
    "brick, grass, gravel": False,
    "coins, brick, grass, gravel": False,
}


def level(error: float) -> str:
    return LEVELS[int(error > 0.1) + int(error > 0.3)]


def verdicts(
    kinds: dict[str, Callable[[Any], Problem]], each: int, seed: int, records: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Problem after problem, but for those on record, so that a run that is cut short has all kinds."""
    done = {(r["kind"], r["seed"][2]): r["truth"] != "OK" for r in records}
    for i in range(MOST * each):
        for j, (kind, make) in enumerate(kinds.items()):
            bad = sum(done.get((kind, before), False) for before in range(i))
            if (kind, i) in done or (i >= each and not SOME <= bad < BAD):
                continue
            p = make(np.random.default_rng([seed, j, i]))
            start = time.perf_counter()
            d = nica.diagnose(p.X, p.n_components)
            seconds = time.perf_counter() - start
            error = 1.0 if d.model is None else truth(p.S, d.model.transform(p.X))
            done[kind, i] = error > 0.1
            yield {
                "kind": kind, "seed": [seed, j, i], "error": error, "truth": level(error),
                "said": d.verdict, "shape": list(p.X.shape), "n_components": p.n_components,
                "seconds": seconds, "troubles": [s.name for s in d.troubles], "facts": p.facts,
                "signals": {s.name: s.value for s in d.signals},
            }  # fmt: skip


def images(seed: int, each: int = 5) -> Iterator[dict[str, Any]]:
    """Sets of images: the paper's matrix if there are four, and drawn ones."""
    from skimage import data

    four = natural_scenes()
    known = dict(zip(four.names, four.S.T, strict=True))
    for names, good in SETS.items():
        pixels = [
            known.get(name) if name in known else _patch(getattr(data, name)(), name)
            for name in names.split(", ")
        ]
        S = np.column_stack(pixels)
        d = S.shape[1]
        for i in range(each):
            rng = np.random.default_rng([seed, 99, i])
            A = MIXING_IMAGES if d == 4 and i == 0 else mixing(d, d, condition=3, random_state=rng)
            found = nica.diagnose(S @ A.T, d)
            error = truth(S, found.model.transform(S @ A.T))
            yield {
                "set": names, "good": good, "said": found.verdict, "error": error,
                "printed matrix": A is MIXING_IMAGES,
            }  # fmt: skip


def ranks(number: int, seed: int) -> list[dict[str, Any]]:
    found = []
    for i in range(number):
        X, d = rank_problem(np.random.default_rng([seed, 7, i]))
        r = nica.estimate_n_components(X)
        found.append(
            {"true": d, "said": r.n_components, "certain": r.certain, "low": r.low, "high": r.high}
        )
    return found


def speed(rows: int) -> dict[str, float]:
    """Seconds for 1e5 x 10 in memory, and for a file of many rows, which is removed again."""
    rng = np.random.default_rng(0)
    S = sparse_uniform(100_000, 5, random_state=rng)
    X = S @ mixing(10, 5, condition=4, random_state=rng).T + 0.02 * rng.standard_normal(
        (100_000, 10)
    )
    nica.diagnose(X[:1000], 5)
    times, busy = [], []
    for _ in range(9):
        start, used = time.perf_counter(), time.process_time()
        nica.diagnose(X, 5)
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - used)
    found = {"1e5 x 10, d = 5": min(times), "the same, processor time of all cores": min(busy)}
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        big = np.lib.format.open_memmap(file.name, "w+", np.float64, (rows, 3))
        part = (
            sparse_uniform(1_000_000, 3, random_state=rng)
            @ mixing(3, condition=3, random_state=rng).T
        )
        for first in range(0, rows, len(part)):
            big[first : first + len(part)] = part[: rows - first]
        big.flush()
        del big
        start = time.perf_counter()
        d = nica.diagnose(np.load(file.name, mmap_mode="r"))
        found[f"{rows:.0e} x 3 from a memmap"] = time.perf_counter() - start
        found["its verdict"] = d.verdict
    return found


def summary(records: list[dict[str, Any]], each: int) -> dict[str, Any]:
    """The confusion of truth and verdict by kind, of all; its rates, of the first of each kind."""

    def count(rows: list[dict[str, Any]], truths: tuple[str, ...], said: tuple[str, ...]) -> int:
        return sum(r["truth"] in truths and r["said"] in said for r in rows)

    by_kind = {}
    for kind in dict.fromkeys(r["kind"] for r in records):
        rows = [r for r in records if r["kind"] == kind]
        by_kind[kind] = [[count(rows, (t,), (s,)) for s in (*LEVELS, "cannot say")] for t in LEVELS]
    drawn = len(records)
    records = [r for r in records if r["seed"][2] < each]
    bad, good = ("doubtful", "failed"), ("OK",)
    every = (*LEVELS, "cannot say")
    return {
        "drawn": drawn,
        "problems": len(records),
        "false OK": [count(records, bad, ("OK",)), count(records, bad, every)],
        "OK said of good": [count(records, good, ("OK",)), count(records, good, every)],
        "failed said of good": [count(records, good, ("failed",)), count(records, good, every)],
        "by kind": by_kind,
    }


def table(found: dict[str, Any]) -> str:
    """Markdown: a row for each kind."""
    lines = [
        "| kind | good: OK / doubtful / failed | bad: OK / doubtful / failed | false OK |",
        "|---|---:|---:|---:|",
    ]
    total = np.zeros((3, 4), dtype=int)
    for kind, counts in found["by kind"].items():
        lines.append(_row(kind, np.array(counts)))
        total += counts
    lines.append(_row("**all**", total))
    return "\n".join(lines)


def _row(kind: str, counts: np.ndarray) -> str:
    good, bad = counts[0], counts[1] + counts[2]

    def cell(c: np.ndarray) -> str:
        return f"{c[0]} / {c[1]} / {c[2]}" + (f" (+{c[3]} cannot say)" if c[3] else "")

    share = f"{100 * bad[0] / bad.sum():.1f} %" if bad.sum() else "–"
    return f"| {kind} | {cell(good)} | {cell(bad)} | {share} |"


def report(found: dict[str, Any]) -> str:
    """Markdown of all that was measured."""
    parts = [f"Seed {found['seed']}; the limits were set on the seeds 11 to 14.", ""]
    for name in ("seen", "unseen"):
        if name in found:
            s = found[name]
            bad, good = s["false OK"], s["OK said of good"]
            failed = s["failed said of good"]
            title = (
                "Kinds that the limits were set on"
                if name == "seen"
                else "Kinds never looked at before"
            )
            false, said = 100 * bad[0] / max(bad[1], 1), 100 * good[0] / max(good[1], 1)
            parts += [
                f"**{title}** ({s['problems']} problems, as many of each): OK is said of {bad[0]} of "
                f"{bad[1]} bad results ({false:.1f} %), of {good[0]} of {good[1]} good ones ({said:.0f} "
                f"%); failed is said of {failed[0]} good ones "
                f"({100 * failed[0] / max(good[1], 1):.1f} %). In the table are all {s['drawn']} "
                f"that were drawn: kinds with bad results went on until they had {BAD} of them{cut(s)}.",
                "", table(s), "",
            ]  # fmt: skip
    if "ranks" in found:
        r = found["ranks"]
        own = f" of seed {r['seed']}" if r["seed"] != found["seed"] else ""
        parts += [
            f"**Number of sources** ({r['problems']} problems{own}): certain in "
            f"{100 * r['certain']:.0f} %, and then right in {100 * r['right when certain']:.1f} %; "
            f"the range holds the truth in {100 * r['in range']:.0f} %, the best guess is right in "
            f"{100 * r['right']:.0f} %.",
            "",
        ]
    if "images" in found:
        parts += ["| images | verdicts, the error of each |", "|---|---|"]
        for names in SETS:
            rows = [r for r in found["images"] if r["set"] == names]
            parts.append(
                f"| {names} | " + ", ".join(f"{r['said']} ({r['error']:.2g})" for r in rows) + " |"
            )
        parts.append("")
    if "speed" in found:
        parts.append(
            "Time: " + ", ".join(
                f"{k}: {v:.2g} s" for k, v in found["speed"].items() if not isinstance(v, str)
            ) + "."
        )  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def cut(s: dict[str, Any]) -> str:
    """Kinds with bad results that hold fewer of them than they should, if the run was cut short."""
    bad = {kind: sum(sum(row) for row in counts[1:]) for kind, counts in s["by kind"].items()}
    few = [f"{kind} ({n})" for kind, n in bad.items() if SOME <= n < BAD]
    return f"; cut short for {', '.join(few)}" if few else ""


def short(found: dict[str, Any]) -> str:
    """The two rates, for the README."""
    s = found["seen"]
    bad, good = s["false OK"], s["OK said of good"]
    return (
        f"  In {s['problems']} problems of known truth OK was said of {bad[0]} of {bad[1]} bad results,\n"
        f"  and of {good[0]} of {good[1]} good ones.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=60, help="problems of each kind")
    parser.add_argument("--seed", type=int, help="fresh unless given")
    parser.add_argument("--quick", action="store_true", help="few problems, no large file")
    parser.add_argument(
        "--records", type=Path, help="file of a line of JSON for each problem; goes on from there"
    )
    parser.add_argument("--only", default="verdicts,unseen,ranks,images,speed")
    parser.add_argument("--out", type=Path, help="JSON of the summary; an older one is added to")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/trust.md")
    a = parser.parse_args()
    parts = a.only.split(",")
    each = 3 if a.quick else a.each
    found: dict[str, Any] = {}
    if a.out and a.out.exists():
        found = json.loads(a.out.read_text())
    earlier = []
    if a.records and a.records.exists():
        earlier = [json.loads(line) for line in a.records.read_text().splitlines()]
    seeds = {r["seed"][0] for r in earlier} | ({a.seed} if a.seed is not None else set())
    if len(seeds) > 1:
        parser.error(f"{a.records} is of seed {earlier[0]['seed'][0]}: leave --seed out")
    seed = seeds.pop() if seeds else found.get("seed", secrets.randbelow(2**31))
    found["seed"] = seed
    for name, kinds, part in (("seen", KINDS, "verdicts"), ("unseen", UNSEEN, "unseen")):
        records = [r for r in earlier if r["kind"] in kinds]
        if part in parts:
            for record in verdicts(kinds, each, seed, records[:]):
                records.append(record)
                if a.records:
                    with a.records.open("a") as file:
                        file.write(json.dumps(record) + "\n")
        if records:
            found[name] = summary(records, each)
    if "ranks" in parts:
        all_ranks = ranks(100 if a.quick else 1500, seed)
        certain = [r for r in all_ranks if r["certain"]]
        found["ranks"] = {
            "seed": seed,
            "problems": len(all_ranks),
            "certain": len(certain) / len(all_ranks),
            "right when certain": np.mean([r["said"] == r["true"] for r in certain]),
            "right": np.mean([r["said"] == r["true"] for r in all_ranks]),
            "in range": np.mean([r["low"] <= r["true"] <= r["high"] for r in all_ranks]),
        }
    if "images" in parts:
        found["images"] = list(images(seed))
    if "speed" in parts:
        found["speed"] = speed(10**6 if a.quick else 10**8)
    text = report(found)
    print(text)
    if a.out:
        a.out.write_text(json.dumps(found, indent=1))
    if a.docs:
        put(DOCS, "measured", text.rstrip())
        put(README, "trust", short(found).rstrip("\n"))


if __name__ == "__main__":
    main()
