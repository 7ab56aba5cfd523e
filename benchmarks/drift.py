"""How well do the networks follow a mixture that changes, and is the proposed half-life a good one?

    python -m benchmarks.drift [--seed N] [--each 5] [--docs]

Three tables: the error of forgetting, where nothing changes; the half-life that `nica.estimate_drift`
proposes beside the best of a grid; and how soon a jump to another mixture is recovered.
"""

from __future__ import annotations

import argparse
import secrets
import warnings
from pathlib import Path

import numpy as np

import nica
from benchmarks.pages import put
from nica.datasets import mixing, sparse_uniform

DOCS = Path(__file__).parent.parent / "docs" / "drift.md"
GRID = [32, 62, 125, 250, 500, 1000, 2000, 4000, 8000, 16000]
PIECE = 50  #: samples with the same mixture


def drifting(
    rng: np.random.Generator, n: int, d: int, turn: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sources, and their mixtures by A R(t); columns of R turn by a radian in ``turn`` samples (rms)."""
    S = sparse_uniform(n, d, random_state=rng)
    A = mixing(d, d, condition=3, random_state=rng)
    K = rng.standard_normal((d, d))
    K -= K.T
    K /= np.sqrt(np.mean(np.sum(K**2, axis=0)))
    values, vectors = np.linalg.eig(K)
    inverse = np.linalg.inv(vectors)
    X = np.empty((n, d))
    for i in range(0, n, PIECE):
        R = ((vectors * np.exp(values * i / turn)) @ inverse).real
        X[i : i + PIECE] = S[i : i + PIECE] @ (A @ R).T
    return S, X


def followed(S: np.ndarray, X: np.ndarray, half_life: float | None) -> float:
    """Error per source of what is emitted in the second half, matched anew every 1000 samples."""
    n, d = X.shape
    Y = nica.NICA(d, random_state=0, half_life=half_life).separate(X)
    rows = [slice(i, i + 1000) for i in range(n // 2, n - 999, 1000)]
    return float(np.mean([nica.metrics.match_sources(S[r], Y[r]).error for r in rows])) / d


def forgetting(rng: np.random.Generator, each: int) -> list[str]:
    lines = [
        "| sources | half-life | error per source | of .27 d / half-life |",
        "|---:|---:|---:|---:|",
    ]
    for d in (3, 5, 10):
        for half in (100, 300, 1000, 3000):
            errors = [followed(*drifting(rng, 20_000, d, 1e12), half) for _ in range(each)]
            error = float(np.median(errors))
            lines.append(f"| {d} | {half} | {error:.2g} | {error * half / (0.27 * d):.2f} |")
    return lines


def proposals(rng: np.random.Generator, each: int) -> tuple[list[str], list[float]]:
    lines = [
        "| sources | samples per radian | estimated | proposed | best of the grid "
        "| error: proposed / best / none |", "|---:|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    factors = []
    for d in (3, 6):
        for turn in (1e3, 3e3, 1e4, 3e4, 1e5):
            n = int(min(max(20_000, turn), 60_000))
            found, errors, own, none = [], [], [], []
            for _ in range(each):
                S, X = drifting(rng, n, d, turn)
                drift = nica.estimate_drift(X)
                found.append((drift.turn, drift.half_life or np.inf))
                errors.append([followed(S, X, half) for half in GRID])
                own.append(followed(S, X, drift.half_life))
                none.append(followed(S, X, None))
            middle = np.median(errors, axis=0)
            best = GRID[int(np.argmin(middle))]
            proposed = float(np.median([half for _, half in found]))
            factors.append(max(proposed / best, best / proposed))
            estimate = float(np.median([t for t, _ in found]))
            lines.append(
                f"| {d} | {turn:,.0f} | {estimate:,.0f} | {proposed:,.0f} | {best:,} | "
                f"{np.median(own):.2g} / {middle.min():.2g} / {np.median(none):.2g} |"
            )
    return lines, factors


def jumps(rng: np.random.Generator, each: int) -> tuple[list[str], list[float]]:
    """Half-lives until the error per source stays below .02, or three times that before the jump."""
    lines = ["| sources | half-life | recovered within, median | worst |", "|---:|---:|---:|---:|"]
    all_times = []
    for d in (3, 5):
        for half in (500, 1000, 2000):
            times = []
            for _ in range(2 * each):
                n, at = 8000 + 12 * half, 8000
                S = sparse_uniform(n, d, random_state=rng)
                A, B = (mixing(d, d, condition=3, random_state=rng) for _ in range(2))
                X = np.vstack([S[:at] @ A.T, S[at:] @ B.T])
                Y = nica.NICA(d, random_state=0, half_life=half).separate(X)
                step = half // 4

                def error(i: int, S: np.ndarray = S, Y: np.ndarray = Y, step: int = step) -> float:
                    rows = slice(i, i + step)
                    return nica.metrics.match_sources(S[rows], Y[rows]).error / Y.shape[1]

                limit = max(0.02, 3 * np.mean([error(i) for i in range(at // 2, at - step, step)]))
                late = [i + step for i in range(at, n - step + 1, step) if error(i) > limit]
                times.append((max(late, default=at) - at) / half)
            all_times += times
            lines.append(f"| {d} | {half} | {np.median(times):.1f} | {max(times):.1f} |")
    return lines, all_times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="fresh unless given")
    parser.add_argument("--each", type=int, default=5, help="problems in each row")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/drift.md")
    a = parser.parse_args()
    seed = a.seed if a.seed is not None else secrets.randbelow(2**31)
    rng = np.random.default_rng(seed)
    warnings.simplefilter("ignore")
    still = forgetting(rng, a.each)
    table, factors = proposals(rng, a.each)
    recovered, times = jumps(rng, a.each)
    text = "\n".join([
        f"Seed {seed}, {a.each} problems in each row (jumps: {2 * a.each}).", "",
        "Nothing changes: what forgetting costs.", "", *still, "",
        "The mixture turns: the proposal is within a factor of "
        f"{max(factors):.1f} of the best in every row.",
        "", *table, "",
        f"The mixture jumps: {np.mean(np.array(times) <= 3):.0%} of {len(times)} jumps are recovered "
        "within three half-lives (counted in half-lives until the error stays low).", "", *recovered, "",
    ])  # fmt: skip
    print(text)
    if a.docs:
        put(DOCS, "measured", text.rstrip())


if __name__ == "__main__":
    main()
