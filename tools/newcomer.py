"""A newcomer's clock: from `git clone` to the first separated file, by the README and nothing else.

    python -m tools.newcomer           # --pages writes docs/start.md

The home folder is new and there are no caches, of pip or of compilers. The commands and the example are
those of the README, read out of the clone; the newcomer's own file is the example's mixture. What is
separated is compared with the truth. Needs Python 3.11, git, make's compiler, and an index of packages.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORDS_PER_MINUTE = 240  # of an adult who reads prose silently
OWN_FILE = """
import numpy as np
np.savetxt("mix.csv", mixture.X[:20_000], delimiter=",", header="a,b,c", comments="")
np.save("truth.npy", mixture.S[:20_000])
"""
COMPARE = """
import numpy as np, nica
S, Y = np.load("truth.npy"), np.loadtxt("sources.csv", delimiter=",", skiprows=1)
assert Y.shape == S.shape, Y.shape
match = nica.metrics.match_sources(S[-2000:], Y[-2000:])
assert match.correlation.min() > 0.99, match
"""


def first(pattern: str, text: str, what: str) -> str:
    """The first match of a pattern in the README."""
    found = re.search(pattern, text, re.S | re.M)
    if not found:
        raise SystemExit(f"the README no longer has {what}")
    return found[1]


def clean() -> dict[str, str]:
    """The environment without this one's: no virtual environment, caches or choices of compiler."""
    env = {n: v for n, v in os.environ.items() if not re.match("PYTHON|VIRTUAL|CMAKE|CXX|XDG", n)}
    here = str(Path(sys.executable).parent)
    env["PATH"] = os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if p != here)
    return env | {"CCACHE_DISABLE": "1", "PIP_NO_CACHE_DIR": "1"}


class Clock:
    """Runs commands, and keeps what they took: seconds on the wall, and of processors."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.taken: list[tuple[str, float, float]] = []

    def run(self, name: str, command: list[str | Path], folder: Path) -> None:
        """Run a command; if it fails, so does the newcomer."""
        begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, cwd=folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.taken.append((name, wall, busy))
        print(f"{name}: {wall:.0f} s, {busy:.0f} s of processors", flush=True)


def table(clock: Clock, words: int) -> str:
    """What is said of it in the documentation."""
    reading = 60 * words / WORDS_PER_MINUTE
    wall, busy = sum(row[1] for row in clock.taken), sum(row[2] for row in clock.taken)
    rows = [f"| reading {words} words of the README | {reading:.0f} | |"]
    rows += [f"| {name} | {wall:.0f} | {busy:.0f} |" for name, wall, busy in clock.taken]
    return "\n".join([
        "| | seconds | of processors |",
        "|---|---|---|",
        *rows,
        f"| **together** | **{reading + wall:.0f}** | {busy:.0f} |",
        "",
        f"On {os.cpu_count()} processors, with Python {platform.python_version()}; nothing was there",
        f"before or came from a cache. Beside it ran {os.getloadavg()[2]:.0f} other programs on average"
        + (", with a lower priority." if os.nice(0) < 0 else "."),
    ])  # fmt: skip


def main() -> None:
    """Take the time, print it, and fail if it is too long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", action="store_true", help="write docs/start.md")
    arguments = parser.parse_args()
    python = Path(sys.base_prefix, "bin", "python3")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clock = Clock(clean() | {"HOME": name})
        clock.run("`git clone`", ["git", "clone", "-q", ROOT, "nica"], folder)
        clone = folder / "nica"
        readme = (clone / "README.md").read_text(encoding="utf-8")
        install = first(r"^(pip install \.)(?: +#|$)", readme, "pip install .")
        example = first(r"```python\n(.*?)```", readme, "an example")
        separate = first(r"^(nica separate mix\.csv .*?)(?: +#|$)", readme, "nica separate")
        read = readme[: readme.index(separate) + len(separate)]

        clock.run("`python3 -m venv`", [python, "-m", "venv", folder / "v"], folder)
        bin = folder / "v" / "bin"
        clock.run(f"`{install}`", [bin / "python", "-m", *shlex.split(install)], clone)
        clock.run("the example", [bin / "python", "-W", "error", "-c", example + OWN_FILE], folder)
        clock.run(f"`{separate}`", [bin / "python", "-m", *shlex.split(separate)], folder)
        Clock(clock.env).run("comparing", [bin / "python", "-c", COMPARE], folder)
    text = table(clock, len(re.sub(r"!\[.*?\)|[^\w\s'-]", " ", read, flags=re.S).split()))
    print(f"\n{text}")
    if arguments.pages:
        from benchmarks.pages import put

        put(ROOT / "docs" / "start.md", "newcomer", text)


if __name__ == "__main__":
    main()
