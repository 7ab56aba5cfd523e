"""What the stream of FacetNICA does: how exact, how soon it tells a change, how often falsely, how fast.

    python -m benchmarks.facet_stream [--seeds N] [--samples N] [--docs]

--docs writes the tables of docs/facet-network.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import nica
from benchmarks.facet_problems import Array, figures, generator, jump, make, oracle
from benchmarks.pages import put

PAGE = Path(__file__).parents[1] / "docs" / "facet-network.md"
CHANGES = ("sparse", "exponential", "gain-modulated", "rectified Gaussian", "Dirichlet .3")
LONG = ("sparse", "gain-modulated", "rectified Gaussian")


def zeros(rng: np.random.Generator, kind: str, n: int, d: int) -> Array:
    """Sources with zeros: independent, sharing a gain, or what is positive of a correlated Gaussian."""
    if kind == "correlated":
        return nica.datasets.rectified_gaussian(n, d, correlation=0.6, random_state=rng)
    S = nica.datasets.sparse_exponential(n, d, random_state=rng)
    return S if kind == "independent" else S * rng.lognormal(0, 0.7, (n, 1))


def exact(seeds: int) -> list[str]:
    lines = [
        "| d | k | sources | median | largest |",
        "|---:|---:|---|---:|---:|",
    ]
    for d in (3, 5, 10):
        for k in (d, d + 5):
            for kind in ("independent", "shared gain", "correlated"):
                found = []
                for seed in range(seeds):
                    rng = generator(seed, "exact", d, k, kind)
                    S = zeros(rng, kind, 100_000, d)
                    A = nica.datasets.mixing(k, d, condition=5.0, random_state=rng)
                    Y = nica.FacetNICA(d, random_state=0).separate(S @ A.T)[-10_000:]
                    match = nica.metrics.match_sources(S[-10_000:], Y, scale=True)
                    found.append(float(np.max(match.errors / S[-10_000:].var(axis=0))))
                lines.append(f"| {d} | {k} | {kind} | {np.median(found):.1e} | {max(found):.1e} |")
                print(lines[-1], flush=True)
    return lines


def changes(seeds: int) -> list[str]:
    """A mixture that changes after 10,000 samples: when it is told, and what is found 2000 later."""
    at, after = 10_000, 6_000
    lines = [
        "| sources | d | noise, sd | alarm after, median | within 50 | found again by 2000 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for family in CHANGES:
        for d in (3, 5, 10):
            for noise in (0.0, 0.05):
                delays, found = [], 0
                for seed in range(seeds):
                    rng = generator(seed, "change", family, d, noise)
                    m = jump(rng, d, d, at, after, family)
                    m.X += noise * m.X.std() * rng.standard_normal(m.X.shape)
                    delay, Y = run_through(m.X, d, at)
                    m.S, m.X, m.good = m.S[at + 2000 :], m.X[at + 2000 :], m.good[at + 2000 :]
                    best = figures(m, oracle(m))["worst"]
                    delays.append(delay)
                    found += figures(m, Y[at + 2000 :])["worst"] >= best - 0.05
                soon = sum(delay <= 50 for delay in delays)
                lines.append(
                    f"| {family} | {d} | {noise:g} | {np.median(delays):.0f} | {soon}/{seeds} | "
                    f"{found}/{seeds} |"
                )
                print(lines[-1], sorted(delays), flush=True)
    return lines


def run_through(X: Array, d: int, at: int) -> tuple[float, Array]:
    """Outputs, and samples from the change to the alarm."""
    model = nica.FacetNICA(d, random_state=0)
    Y = [model.separate(X[:at])]
    delay, row = np.inf, at
    while row < len(X) and np.isinf(delay):
        Y.append(model.separate(X[row : row + 1]))
        row += 1
        if model._scalars()["suspended"]:
            delay = row - at
    if row < len(X):
        Y.append(model.separate(X[row:]))
    return delay, np.vstack(Y)


def alarms(samples: int) -> list[str]:
    """Alarms in a long stream whose mixture does not change."""
    lines = [
        f"| sources | d | outliers | alarms in {samples:.0e} samples | highest sum |",
        "|---|---:|---:|---:|---:|",
    ]
    for family in LONG:
        for d in (3, 10):
            for outliers in (False, True):
                rng = generator(0, "alarms", family, d, outliers)
                number, highest, seen = 0, 0.0, 0
                m = make(family, rng, d, d, 200_000, 0.05, outliers)
                model = nica.FacetNICA(d, random_state=0).partial_fit(m.X[:5000])
                core = model._core
                assert core is not None
                order = np.arange(len(m.X))
                while seen < samples:
                    if seen % len(m.X) == 0:
                        order = rng.permutation(len(m.X))
                    X = np.ascontiguousarray(m.X[order[seen % len(m.X) :][:100]])
                    core.run(X, None)
                    seen += len(X)
                    now = model._scalars()
                    highest = max(highest, now["outlying"])
                    if now["suspended"]:
                        number += 1
                        model = nica.FacetNICA(d, random_state=0).partial_fit(m.X[:5000])
                        core = model._core
                        assert core is not None
                lines.append(
                    f"| {family} | {d} | {'5 %' if outliers else 'none'} | {number} | {highest:.1f} |"
                )
                print(lines[-1], flush=True)
    return lines


def speed() -> list[str]:
    """Processor time per sample, of the native network alone, beside NICA's in the same run."""
    lines = ["| d | FacetNICA, ns | NICA, ns | ratio |", "|---:|---:|---:|---:|"]
    for d in (3, 5, 10, 20):
        m = make("sparse", generator(0, "speed", d), d, d, 20_000, 0.01)
        X, Y = np.ascontiguousarray(m.X), np.empty((20_000, d))
        models = [kind(random_state=0).partial_fit(X) for kind in (nica.FacetNICA, nica.NICA)]
        taken = [np.inf, np.inf]
        for _ in range(20):
            for i, model in enumerate(models):
                assert model._core is not None
                before = time.process_time()
                model._core.run(X, Y)
                taken[i] = min(taken[i], (time.process_time() - before) / len(X))
        one, other = (1e9 * t for t in taken)
        lines.append(f"| {d} | {one:.0f} | {other:.0f} | {one / other:.2f} |")
        print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--only", choices=("exact", "changes", "alarms", "speed"))
    parser.add_argument("--docs", action="store_true", help="write the tables of the page")
    a = parser.parse_args()
    parts = {
        "exact": lambda: exact(a.seeds),
        "changes": lambda: changes(a.seeds),
        "alarms": lambda: alarms(a.samples),
        "speed": speed,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in parts.items():
            if a.only in (None, name):
                lines = part()
                if a.docs:
                    put(PAGE, name, "\n".join(lines))


if __name__ == "__main__":
    main()
