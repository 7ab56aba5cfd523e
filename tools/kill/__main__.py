"""What the command line says, and the counts."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import tools.kill
from benchmarks.pages import put
from tools.kill._case import SIGNALS, Case
from tools.kill._disk import full_disk

DOCS = Path(__file__).parents[2] / "docs" / "files.md"
COLUMNS = ("runs", *(number.name for number in SIGNALS), "before a checkpoint")
DISK = "disk"
KINDS = ("npy", "csv", "parquet", "frozen", "pipe", DISK)


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=tools.kill.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50, help="of each kind, at least")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--out", type=Path, help="where figures are kept and joined, as JSON")
    parser.add_argument("--write", action="store_true", help="put them into docs/files.md")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    figures: dict[str, Any] = {}
    if options.out and options.out.exists():
        figures = json.loads(options.out.read_text())
    with tempfile.TemporaryDirectory(prefix="kill-", dir=options.folder) as name:
        for kind in options.kinds.split(","):
            if kind == DISK:
                figures[kind] = full_disk(Path(name))
                print(figures[kind], flush=True)
                save(options.out, figures)
                continue
            case = Case(kind, Path(name), options.rows)
            count: Counter[str] = Counter(dict.fromkeys(COLUMNS, 0))
            while sum(count[number.name] for number in SIGNALS) < options.kills:
                count.update(case.once(rng))
                print(f"{kind:8s} {dict(count)}, {case.working:.2f} s", file=sys.stderr, flush=True)
            figures[kind] = dict(count)
            told = ", ".join(f"{name} {n}" for name, n in count.items())
            print(f"{kind:8s} {told}: every output the same, bit for bit", flush=True)
            save(options.out, figures)
    if options.write:
        put(DOCS, "kills", table(figures))
    return 0


def save(path: Path | None, figures: dict[str, Any]) -> None:
    """Keep what is known by now."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=1))


def table(figures: dict[str, Any]) -> str:
    """The figures for the documentation."""
    lines = [f"| kind of run | {' | '.join(COLUMNS)} | outputs that differ |"]
    lines += ["|---" * (len(COLUMNS) + 2) + "|"]
    for kind, figure in figures.items():
        if isinstance(figure, dict):
            lines.append(f"| {kind} | {' | '.join(str(figure[c]) for c in COLUMNS)} | 0 |")
    return "\n".join(
        [
            *lines,
            "",
            str(figures.get(DISK, "full disk: not tried")),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
