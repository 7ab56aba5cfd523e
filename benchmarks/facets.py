"""How well nica.FacetNICA separates sources that depend on each other, beside all that else might.

    python -m benchmarks.facets [--quick] [--seed N] [--minutes M] [--only PART,...]
                               [--methods NAME;...] [--records F] [--docs]

Problems of known truth (benchmarks.facet_problems), on seeds that nothing was developed on: drawn from
the clock unless given, and printed. Round after round, each with a problem of every cell, so that a run
that ends early (--minutes) has all of them. With --records each figure is kept as a line of JSON as soon
as it is known, and the same command goes on where it was. --docs writes the tables of docs/facets.md.

A result is right if its worst correlation with a source is at most .05 below that of least squares with
the true matrix. Times are processor seconds.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import facet_tables
from benchmarks.facet_methods import METHODS
from benchmarks.facet_problems import (
    FAMILIES,
    HARD,
    SUM_TO_ONE,
    Mixture,
    figures,
    generator,
    make,
    oracle,
    oracle_nnls,
    shortfall,
)
from benchmarks.problems import KINDS, UNSEEN

ROUNDS, NOISES, SIZES = 10, (0.0, 0.01, 0.1), (3, 5, 10, 16)
LARGE, LARGE_ROUNDS = (
    10,
    3,
)  # more sources than these, which take most of the time, in so many rounds
MIXED = ((3, 3), (3, 8), (5, 5), (5, 10), (10, 10), (10, 15))  # (d, k) of one round after another
TRUST_KINDS = KINDS | UNSEEN

Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A problem of a cell and the methods that try it."""

    part: str
    cell: tuple[Any, ...]
    round: int
    methods: tuple[str, ...]
    run: Callable[[int, str], Record]

    def key(self, method: str) -> str:
        return json.dumps([self.part, self.cell, self.round, method])


def of(family: str, d: int, k: int, **options: Any) -> Callable[[np.random.Generator], Mixture]:
    """A problem of a family, to be drawn."""
    return lambda rng: make(family, rng, d, k, **options)


def judged(build: Callable[[np.random.Generator], Mixture], *words: Any) -> Callable[..., Record]:
    """What a method makes of a problem; the problem is the same for all methods."""
    kept: dict[int, Mixture] = {}

    def run(seed: int, method: str) -> Record:
        if seed not in kept:
            kept[seed] = build(generator(seed, *words))
        mixture = kept[seed]
        d = mixture.S.shape[1]
        start = time.process_time()
        if method in ("least squares", "NNLS"):
            Y, facts = (oracle if method == "least squares" else oracle_nnls)(mixture), {}
        else:
            Y, facts = METHODS[method](mixture.X, d)
        seconds = time.process_time() - start
        return {**figures(mixture, Y), "seconds": seconds, "d": d, "k": mixture.A.shape[0], **facts}

    return run


def families(i: int, quick: bool) -> Iterator[Task]:
    """Every family at every size and noise: FacetNICA against NICA and the oracle."""
    sizes = [d for d in SIZES if d <= (5 if quick else LARGE if i >= LARGE_ROUNDS else np.inf)]
    for d, more, family, noise in product(sizes, (0, 5), FAMILIES, NOISES):
        cell = (family, noise, d, d + more)
        rival = () if family in SUM_TO_ONE else ("NICA",)  # which takes long over these, in vain
        methods = ("least squares", "FacetNICA", *rival)
        build = of(family, d, d + more, noise=noise)
        yield Task("families", cell, i, methods, judged(build, "families", cell, i))


def rivals(i: int, quick: bool) -> Iterator[Task]:
    """Every kind, hard ones too, at every noise: every method."""
    for kind, noise in product(FAMILIES | HARD, NOISES):
        d, k = MIXED[i % len(MIXED)]
        if kind == "images":
            d = min(d, 4)
        cell = (kind, noise)
        methods = ["least squares", "NNLS", *RIVALS]
        if kind in SUM_TO_ONE:
            methods.append("FacetNICA, sum_to_one")
        build = of(kind, d, k, noise=noise)
        yield Task("rivals", cell, i, tuple(methods), judged(build, "rivals", cell, i))


RIVALS = (
    "NICA", "FacetNICA", "FacetNICA, auto", "NICA, refined",
    "soft hinge", "minimum volume", "minimum-volume NMF", "FastICA logcosh", "FastICA exp",
    "FastICA cube",
)  # fmt: skip


def positive(i: int, quick: bool) -> Iterator[Task]:
    """Mixing without a minus, so that NMF applies."""
    methods = ("least squares", "NICA", "FacetNICA", "minimum-volume NMF", "NMF")
    kinds = ("sparse", "exponential", "rectified Gaussian", *SUM_TO_ONE)
    for kind, noise in product(kinds, NOISES[:2]):
        cell = (kind, noise)
        build = of(kind, 4, 12, noise=noise, positive=True)
        yield Task("positive", cell, i, methods, judged(build, "positive", cell, i))


def exact(i: int, quick: bool) -> Iterator[Task]:
    """Noise-free sources with zeros: how many digits are right."""
    for kind, d in product(("sparse", "rectified Gaussian"), (3, 5, 10)):
        cell = (kind, d)
        build = of(kind, d, d)
        yield Task("exact", cell, i, ("NICA", "FacetNICA"), judged(build, "exact", cell, i))


def harm(i: int, quick: bool) -> Iterator[Task]:
    """The same problem as it is, with outliers, and with an offset of each detector."""
    for kind, (d, k) in product(("sparse", "rectified Gaussian"), ((3, 3), (5, 10))):
        for what in ("nothing", "outliers", "offsets"):
            cell = (kind, d, k, what)
            methods = ("least squares", "NICA", "FacetNICA", "FacetNICA, offset")
            shaken = {"outliers": what == "outliers", "offsets": what == "offsets"}
            build = of(kind, d, k, noise=0.01, **shaken)
            yield Task("harm", cell, i, methods, judged(build, "harm", cell[:3], i))


def trust(i: int, quick: bool) -> Iterator[Task]:
    """All kinds, and the problems of benchmarks.trust, where all goes wrong that can: is it known?"""
    for kind in FAMILIES | HARD | TRUST_KINDS:
        run = diagnosis(kind, i)
        yield Task("trust", (kind,), i, ("FacetNICA, diagnosed",), run)


def diagnosis(kind: str, i: int) -> Callable[..., Record]:
    """By how much a result falls short, and whether it is believed."""

    def run(seed: int, method: str) -> Record:
        rng = generator(seed, "trust", kind, i)
        if kind in TRUST_KINDS:
            p = TRUST_KINDS[kind](rng)
            X, S, d = p.X, p.S, p.n_components
        else:
            (d, k), noise = MIXED[rng.integers(4)], NOISES[rng.integers(3)]
            m = make(kind, rng, min(d, 4) if kind == "images" else d, k, noise=noise)
            X, S, d = m.X, m.S, m.S.shape[1]
        start = time.process_time()
        try:
            Y, facts = METHODS[method](X, d)
        except ValueError as error:  # such as too many sources asked for: nothing is claimed
            return {"shortfall": 1.0, "trusted": False, "refused": str(error)}
        seconds = time.process_time() - start
        return {"shortfall": shortfall(X, S, Y), "seconds": seconds, **facts}

    return run


def speed(i: int, quick: bool) -> Iterator[Task]:
    """Seconds of a fit of many samples, on the clock and of processors."""
    n, d = 20_000 if quick else 100_000, 10

    def run(seed: int, method: str) -> Record:
        X = make("sparse", generator(seed, "speed", i), d, d, n, noise=0.01).X
        wall, cpu = time.perf_counter(), time.process_time()
        METHODS[method](X, d)
        return {"wall": time.perf_counter() - wall, "seconds": time.process_time() - cpu}

    yield Task("speed", (n, d), i, ("NICA", "FacetNICA"), run)


PARTS: dict[str, Callable[[int, bool], Iterator[Task]]] = {
    "exact": exact, "harm": harm, "speed": speed, "families": families,
    "rivals": rivals, "positive": positive, "trust": trust,
}  # fmt: skip


def earlier(path: Path | None) -> tuple[int | None, list[Record]]:
    """The seed and the figures of a run that was cut off; a last line that is half written is dropped."""
    if path is None or not path.exists():
        return None, []
    lines = path.read_text().split("\n")
    if lines.pop():  # what stands behind the last end of a line
        path.write_text("\n".join([*lines, ""]))
    records = [json.loads(line) for line in lines]
    return (records[0]["seed"], records[1:]) if records else (None, [])


def measure(
    seed: int, parts: list[str], methods: list[str], quick: bool, until: float, done: set[str]
) -> Iterator[Record]:
    """Figures that are not yet known, as they come."""
    for i in range(2 if quick else ROUNDS):
        for task in (task for part in parts for task in PARTS[part](i, quick)):
            for method in task.methods:
                key = task.key(method)
                if key in done or (methods and method not in methods):
                    continue
                if time.monotonic() > until:
                    return
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # problems are meant to be hard
                    found = task.run(seed, method)
                yield {"key": key, "part": task.part, "cell": list(task.cell), "round": i,
                       "method": method, **found}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two rounds, small sizes")
    parser.add_argument("--seed", type=int, help="fresh from the clock unless given")
    parser.add_argument("--minutes", type=float, default=np.inf, help="end after so long")
    parser.add_argument("--only", default=",".join(PARTS), help="some of these parts")
    parser.add_argument("--methods", default="", help="some of the methods, with semicolons")
    parser.add_argument(
        "--records", type=Path, help="file of the figures; an older one is gone on with"
    )
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/facets.md")
    a = parser.parse_args()
    until = time.monotonic() + 60 * a.minutes
    known, records = earlier(a.records)
    seed = known if known is not None else a.seed if a.seed is not None else time.time_ns() % 2**31
    if a.seed not in (None, seed):
        parser.error(f"{a.records} is of seed {seed}, not {a.seed}: give another file")
    print(f"seed {seed}, {len(records)} figures are known", flush=True)
    file = a.records.open("a") if a.records else None
    if file and known is None:
        file.write(json.dumps({"seed": seed}) + "\n")
    done = {record["key"] for record in records}
    methods = [name for name in a.methods.split(";") if name]
    for record in measure(seed, a.only.split(","), methods, a.quick, until, done):
        records.append(record)
        if file:
            file.write(json.dumps(record) + "\n")
            file.flush()
    tables = facet_tables.tables(records, seed)
    for name, text in tables.items():
        print(f"\n## {name}\n\n{text}")
    if a.docs:
        facet_tables.write(tables)


if __name__ == "__main__":
    main()
