"""Does `nica.tune` help, and does it ever harm? Errors with its choice and with the defaults.

    python -m benchmarks.tuning [--seed N] [--each 25] [--docs]

A quarter of the problems each: still and long, still and short, drifting, jumping.
"""

from __future__ import annotations

import argparse
import secrets
import warnings
from pathlib import Path

import numpy as np

import nica
from benchmarks.drift import drifting
from benchmarks.pages import put
from nica.datasets import mixing, sparse_uniform

DOCS = Path(__file__).parent.parent / "docs" / "drift.md"


def _jumping(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    S = sparse_uniform(n, d, random_state=rng)
    at = int(n * rng.uniform(0.2, 0.45))
    A, B = (mixing(d, d, condition=3, random_state=rng) for _ in range(2))
    return S, np.vstack([S[:at] @ A.T, S[at:] @ B.T])


def problem(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    d = int(rng.integers(2, 7))
    if kind == "short":
        return drifting(rng, int(rng.integers(800, 2500)), d, 1e12)
    n = int(rng.integers(5000, 12_000))
    if kind == "jump":
        return _jumping(rng, n, d)
    return drifting(rng, n, d, float(10 ** rng.uniform(3, 4.5)) if kind == "drift" else 1e12)


def error(S: np.ndarray, X: np.ndarray, parameters: dict[str, object]) -> float:
    """Of what is emitted in the second half, matched anew piece by piece."""
    n = len(X)
    Y = nica.NICA(random_state=0, **parameters).separate(X)
    step = max(200, n // 20)
    rows = [slice(i, i + step) for i in range(n // 2, n - step + 1, step)]
    return float(np.mean([nica.metrics.match_sources(S[r], Y[r]).error for r in rows]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="fresh unless given")
    parser.add_argument("--each", type=int, default=25, help="problems of each kind")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/drift.md")
    a = parser.parse_args()
    seed = a.seed if a.seed is not None else secrets.randbelow(2**31)
    warnings.simplefilter("ignore")
    lines = [
        "| problems | changed by tune | median ratio where changed | worst ratio of all "
        "| best candidate, median ratio of all |",
        "|---|---:|---:|---:|---:|",
    ]
    everything = []
    for j, kind in enumerate(("still", "short", "drift", "jump")):
        ratios, changed, best = [], [], []
        for i in range(a.each):
            S, X = problem(kind, np.random.default_rng([seed, j, i]))
            tuning = nica.tune(X)
            defaults = error(S, X, {})
            tried = [error(S, X, parameters) / defaults for parameters, *_ in tuning.candidates]
            best.append(min(tried, default=1.0))
            if tuning.parameters:
                changed.append(error(S, X, tuning.parameters) / defaults)
            ratios.append(changed[-1] if tuning.parameters else 1.0)
        everything += ratios
        middle = f"{np.median(changed):.2g}" if changed else "–"
        lines.append(
            f"| {kind} | {len(changed)} of {a.each} | {middle} | {max(ratios):.2g} "
            f"| {np.median(best):.2g} |"
        )
    worse = int(np.sum(np.array(everything) > 1.1))
    text = "\n".join([
        f"Seed {seed}. Error with what `tune` proposes over that with the defaults; {worse} of "
        f"{len(everything)} problems are more than 10 % worse. The last column is what could be gained "
        "by whoever knows the sources.", "", *lines, "",
    ])  # fmt: skip
    print(text)
    if a.docs:
        put(DOCS, "tuned", text.rstrip())


if __name__ == "__main__":
    main()
