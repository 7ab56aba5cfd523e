"""Do the inverses that the core keeps stay inverses? |P W_hg - I| over ten million samples.

    python -m benchmarks.inverses [--samples N] [--quick] [--docs]

Layer 1 keeps P = W_hg^-1 and updates it with every sample; layer 2 keeps N = (I + W_yy)^-1. The largest
entry of |P W_hg - I| and |N (I + W_yy) - I| is looked at every 997 samples, out of step with the core's
own check. --docs writes the table of docs/separation.md.
"""

from __future__ import annotations

import argparse
import itertools
import warnings

import nica
from benchmarks.separation import problem, write_docs

LIMIT = 1e-10
EVERY = 997  #: samples between two looks


def worst_residual(d: int, k: int, condition: float, start: str, samples: int) -> float:
    """Largest residual on the way, over a stream that begins again after every 2e5 samples."""
    _, X = problem(d, k, condition, seed=1, T=min(samples, 200_000))
    if start == "paper":
        X /= X.std()
    model = nica.NICA(d, start=start, random_state=0).partial_fit(X[:EVERY])
    core = model._core
    assert core is not None
    rows = itertools.cycle(range(0, len(X), EVERY))
    worst, seen = 0.0, 0
    while seen < samples:
        first = next(rows)
        done, _ = core.run(X[first : first + EVERY], None)
        seen += done
        worst = max(worst, core.residual())
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the samples")
    parser.add_argument("--docs", action="store_true", help="write the table of docs/separation.md")
    a = parser.parse_args()
    samples = a.samples // 100 if a.quick else a.samples
    lines = [
        f"Largest residual over {samples:.0e} samples (the limit is {LIMIT:g}):",
        "",
        '| d | k | condition of A | `start="warm"` | `start="paper"` |',
        "|---:|---:|---:|---:|---:|",
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (d, k), condition in itertools.product(((3, 3), (5, 15), (10, 10)), (1, 100, 10_000)):
            found = [worst_residual(d, k, condition, s, samples) for s in ("warm", "paper")]
            missed = " MISSED" if max(found) > LIMIT else ""
            lines.append(f"| {d} | {k} | {condition} | {found[0]:.1e} | {found[1]:.1e} |")
            print(lines[-1] + missed, flush=True)
    if a.docs:
        write_docs("\n".join(lines) + "\n", "inverses")


if __name__ == "__main__":
    main()
