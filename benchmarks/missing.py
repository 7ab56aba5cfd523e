"""What gaps cost: errors with missing="infer" beside those without gaps, and those of mean filling.

    python -m benchmarks.missing [--seed N] [--each 5]

Three channels for each source, a fifth of all values missing; squared error per variance of the worst
source, over the second half of a stream.
"""

from __future__ import annotations

import argparse
import secrets

import numpy as np

import nica
from benchmarks.problems import truth
from nica.datasets import mixing, sparse_uniform

N, SHARE = 10_000, 0.2


def one(rng: np.random.Generator, d: int, noise: float) -> list[float]:
    """Errors: whole rows, rows with gaps, without any gap, gaps filled by the mean."""
    S = sparse_uniform(N, d, random_state=rng)
    X = S @ mixing(3 * d, d, condition=3, random_state=rng).T
    X += noise * X.std() * rng.standard_normal(X.shape)
    gap = rng.random(X.shape) < SHARE
    gap[np.all(gap, axis=1), 0] = False
    Z = np.where(gap, np.nan, X)
    late = np.arange(N) >= N // 2
    whole = late & ~np.any(gap, axis=1)
    Y = nica.NICA(d, random_state=0, missing="infer").separate(Z)
    full = nica.NICA(d, random_state=0).separate(X)
    mean = nica.NICA(d, random_state=0).separate(np.where(gap, np.nanmean(Z, axis=0), X))
    rows = (Y, whole), (Y, late & ~whole), (full, late), (mean, late)
    return [truth(S[which], outputs[which]) for outputs, which in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="fresh unless given")
    parser.add_argument("--each", type=int, default=5, help="problems in each row")
    a = parser.parse_args()
    seed = a.seed if a.seed is not None else secrets.randbelow(2**31)
    print(f"Seed {seed}, mean of {a.each}; k = 3 d, {SHARE:.0%} missing.\n")
    print("| d | noise | whole rows | rows with gaps | no gaps | mean fill |")
    print("|---:|---:|---:|---:|---:|---:|")
    for d in (3, 5):
        for noise in (0.02, 0.1):
            rng = np.random.default_rng([seed, d, int(100 * noise)])
            errors = np.mean([one(rng, d, noise) for _ in range(a.each)], axis=0)
            print(f"| {d} | {noise} | " + " | ".join(f"{e:.2g}" for e in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
