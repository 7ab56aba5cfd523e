"""What the command line says, and the counts."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import tools.fuzz
from benchmarks.pages import put
from tools.fuzz._changes import make
from tools.fuzz._files import seeds
from tools.fuzz._judge import check
from tools.fuzz._work import late, run, work

DOCS = Path(__file__).parents[2] / "docs" / "files.md"
COLUMNS = ("cases", "read", "refused", "findings")


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=tools.fuzz.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000, help="of each kind")
    parser.add_argument("--seconds", type=float, default=1e9, help="of each kind")
    parser.add_argument("--kinds", default="", help="some of them, with commas")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="where counts are added up")
    parser.add_argument("--write", action="store_true", help="put the counts into docs/files.md")
    parser.add_argument("--case", default="", help="KIND:NUMBER, this one only")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        kind, first, last = options.work
        work(kind, int(first), int(last), options.seed)
        return 0
    with tempfile.TemporaryDirectory() as name:
        files = seeds(Path(name))
        if options.case:
            kind, _, number = options.case.partition(":")
            data = make(kind, int(number), options.seed, files)
            print("read" if check(kind, data, Path(name)) else "refused")
            return 0
    counts: dict[str, dict[str, int]] = {}
    if options.record and options.record.exists():
        counts = json.loads(options.record.read_text())
    signal.signal(signal.SIGALRM, late)
    for kind in options.kinds.split(",") if options.kinds else files:
        before = counts.get(kind, {})
        first, start = before.get("cases", 0), time.monotonic()
        found = run(kind, first, first + options.cases, options.seed, start + options.seconds)
        show(kind, found, time.monotonic() - start)
        now = {**found, "findings": len(found["findings"])}
        counts[kind] = {name: now[name] + before.get(name, 0) for name in COLUMNS}
        if options.record:
            options.record.write_text(json.dumps(counts, indent=1))
    print(f"{total(counts, 'cases')} cases, {total(counts, 'findings')} findings")
    if options.write:
        put(DOCS, "fuzz", table({kind: counts[kind] for kind in files if kind in counts}))
    return bool(total(counts, "findings"))


def show(kind: str, found: dict[str, Any], seconds: float) -> None:
    """A line about a kind, and one for each finding."""
    results = f"{found['read']} read, {found['refused']} refused, {len(found['findings'])} findings"
    print(f"{kind:12s}{found['cases']:8d} cases: {results}, {seconds:.0f} s", flush=True)
    for kind, number, what in found["findings"][:20]:
        print(f"    {kind}:{number}  {what}", flush=True)


def total(counts: dict[str, dict[str, int]], name: str) -> int:
    """Of all kinds together."""
    return sum(count[name] for count in counts.values())


def table(counts: dict[str, dict[str, int]]) -> str:
    """The counts for the documentation."""
    lines = ["| kind of file | changed files | read all the same | refused | findings |"]
    lines += ["|---|---|---|---|---|"]
    sums = {name: total(counts, name) for name in COLUMNS}
    for kind, count in [*counts.items(), ("all", sums)]:
        lines.append(f"| {kind} | {' | '.join(f'{count[name]:,}' for name in COLUMNS)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
