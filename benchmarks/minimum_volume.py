"""How often is the smallest cone right, at which price, how fast, and when is it better than facets?

    python -m benchmarks.minimum_volume [--seed N] [--each 8] [--docs]

Problems of `benchmarks.facet_problems`, ``--each`` of every family and noise, with 3, 5 or 10 sources
and as many channels or five more; seconds are those of a processor. A method is right if its worst
correlation is at most .05 below that of least squares with the true mixture.
"""

from __future__ import annotations

import argparse
import secrets
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.facet_problems import FAMILIES, HARD, Mixture, figures, generator, make, oracle
from benchmarks.pages import put
from nica import facets, offline
from nica.batch.sources import ArraySource

Array = np.ndarray
DOCS = Path(__file__).parent.parent / "docs" / "api" / "offline.md"
NOISES = (0.0, 0.01, 0.1)
PRICES = (1.0, 2.0, 3.0, 5.0, 10.0, 30.0)
PLAIN: dict[str, Callable[..., Any]] = {
    "successive_projection": offline.successive_projection,
    "soft_hinge": offline.soft_hinge,
    "minimum_volume": offline.minimum_volume,
    "minimum_volume_nmf": offline.minimum_volume_nmf,
}
FACETS, CHOSEN = "facets", "facets, or what `choose` takes"


def outputs(mixture: Mixture, d: int) -> dict[str, tuple[Array, float]]:
    """Outputs and seconds of each method."""
    found = {}

    def clocked(name: str, run: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = run()
        found[name] = np.zeros(0), time.process_time() - start
        return result

    X = mixture.X
    for name, method in PLAIN.items():
        Y = clocked(name, partial(method, X, d)).Y
        found[name] = Y, found[name][1]
    for tau in PRICES:
        name = f"tau={tau:g}"
        Y = clocked(name, partial(offline.soft_hinge, X, d, tau=tau)).Y
        found[name] = Y, found[name][1]
    solution = clocked(FACETS, lambda: facets.solve(ArraySource(X, 1), d))
    choice = clocked(CHOSEN, lambda: facets.choose(X, solution, facets.trust(X, solution)))
    for name, one in ((FACETS, solution), (CHOSEN, choice)):
        found[name] = np.maximum(X @ one.unmixing.T + one.intercept, 0), found[name][1]
    found[CHOSEN] = found[CHOSEN][0], found[CHOSEN][1] + found[FACETS][1]
    return found


def measured(seed: int, number: int) -> list[dict[str, Any]]:
    """A problem of each family and noise."""
    rows = []
    for family in FAMILIES | HARD:
        for noise in NOISES:
            rng = generator(seed, family, noise, number)
            d = 3 if family == "images" else int(rng.choice([3, 5, 10]))
            k = d + int(rng.choice([0, 5]))
            mixture = make(family, rng, d, k, noise=noise)
            possible = figures(mixture, oracle(mixture))["worst"]
            for name, (Y, seconds) in outputs(mixture, d).items():
                worst = figures(mixture, Y)["worst"]
                rows.append(
                    {"family": family, "noise": noise, "d": d, "method": name, "worst": worst,
                     "right": worst >= possible - 0.05, "seconds": seconds}
                )  # fmt: skip
    return rows


def tables(rows: list[dict[str, Any]], seed: int, each: int) -> str:
    def share(families: dict[str, Any], **what: Any) -> str:
        chosen = [
            row["right"]
            for row in rows
            if row["family"] in families and all(row[key] == value for key, value in what.items())
        ]
        return f"{100 * np.mean(chosen):.0f}"

    def line(name: str, cells: list[str]) -> str:
        return f"| {' | '.join([name, *cells])} |"

    def seconds(method: str, d: int) -> str:
        chosen = [row["seconds"] for row in rows if row["method"] == method and row["d"] == d]
        return f"{np.median(chosen):.2f}"

    methods, every = [*PLAIN, FACETS, CHOSEN], FAMILIES | HARD
    head = [f"`{name}`" for name in PLAIN] + [FACETS, CHOSEN]
    prices = [f"tau={tau:g}" for tau in PRICES]
    lines = [f"Right in so many of 100 ({each} problems of each kind and noise, seed {seed}):", ""]
    lines += [line("sources", head), "|---|" + "---:|" * len(methods)]
    lines += [line(one, [share({one: 0}, method=m) for m in methods]) for one in every]
    for noise in NOISES:
        cells = [share(every, noise=noise, method=m) for m in methods]
        lines.append(line(f"all, noise {noise:g}", cells))
    lines.append(line("**all**", [f"**{share(every, method=m)}**" for m in methods]))
    both = [f"{seconds(m, 3)} / {seconds(m, 10)}" for m in methods]
    lines.append(line("seconds, 3 / 10 sources", both))
    lines += ["", f"The price of `soft_hinge`, without {', '.join(HARD)}:", ""]
    lines += [line("noise", prices), "|---|" + "---:|" * len(prices)]
    for noise in NOISES:
        cells = [share(FAMILIES, noise=noise, method=price) for price in prices]
        lines.append(line(f"{noise:g}", cells))
    return "\n".join(lines)


def speed() -> str:
    """Seconds for 100,000 samples."""
    lines = ["| 100,000 samples, noise .01 | 3 sources | 10 sources |", "|---|---:|---:|"]
    cells: dict[str, list[str]] = {name: [] for name in PLAIN}
    for d in (3, 10):
        X = make("gain-modulated", generator(0, d), d, d, n=100_000, noise=0.01).X
        for name, method in PLAIN.items():
            start = time.process_time()
            method(X, d)
            cells[name].append(f"{time.process_time() - start:.2f}")
    return "\n".join([*lines, *(f"| `{name}` | {' | '.join(c)} |" for name, c in cells.items())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--docs", action="store_true", help=f"write the tables into {DOCS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # the hard cone where there is noise
    fast, rows = speed(), []
    for number in range(options.each):  # the tables grow: it may be stopped at any time
        rows += measured(options.seed, number)
        text = f"{tables(rows, options.seed, number + 1)}\n\n{fast}"
        if options.docs:
            put(DOCS, "minimum volume", text)
        print(number + 1, flush=True)
    print(text)


if __name__ == "__main__":
    main()
