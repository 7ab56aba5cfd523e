"""Runs of `nica separate` killed at random moments, and gone on with: the output must be the same bits.

    python -m tools.kill [--kills 50] [--rows 10000000] [--kinds npy,csv,parquet,frozen,pipe] [--write]

An uninterrupted run of each kind is made first. Then runs are killed by SIGKILL, SIGINT or SIGTERM at a
moment drawn at random, and resumed, and killed again, until one ends; its output is compared byte by
byte. A pipe gets its lines again from the first one; of what came out before, as much is kept as the
checkpoint says. At last, if this may mount one, a disk of 8 MiB fills: the run must end with one clear
line, and go on to the same bits when there is room again.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.pages import put
from nica.networks._save import read
from nica.streams import open_sink

DOCS = Path(__file__).parent.parent / "docs" / "files.md"
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
COLUMNS = ("runs", *(number.name for number in SIGNALS), "before a checkpoint")
KINDS = ("npy", "csv", "parquet", "frozen", "pipe")
NICA = [sys.executable, "-m", "nica", "separate"]
QUICK = ["--checkpoint-every", "0.05", "--no-diagnose", "-q"]


def samples(rows: int, seed: int) -> np.ndarray:
    """Mixed sparse sources."""
    rng = np.random.default_rng(seed)
    S = rng.exponential(size=(rows, 3)) * (rng.random((rows, 3)) < 0.5)
    return S @ rng.standard_normal((3, 3)).T


class Case:
    """A kind of run: its command, how long it takes, and what comes out."""

    def __init__(self, kind: str, folder: Path, rows: int) -> None:
        self.kind = kind
        self.pipe = kind == "pipe"
        ending = {"frozen": "npy", "pipe": "csv"}.get(kind, kind)
        few = rows // 5 if ending == "csv" else rows
        self.source = folder / f"mix.{ending}"
        self.out = folder / f"out-{kind}.{ending}"
        self.saved = folder / f"run-{kind}.st"
        with open_sink(self.source) as sink:
            sink.write(samples(few, 0))
        self.command = [*NICA, "-" if self.pipe else str(self.source), "--seed", "1"]
        if not self.pipe:
            self.command += ["-o", str(self.out)]
        if kind == "frozen":
            self.command += ["--frozen", "--passes", "2"]
        start = time.monotonic()
        code, received = self.go([*self.command, *QUICK], None, None)
        assert code == 0, code
        self.seconds = time.monotonic() - start
        self.expected = digest(received if self.pipe else self.out.read_bytes())

    def go(
        self, command: list[str], wait: float | None, number: signal.Signals | None
    ) -> tuple[int, bytes]:
        """Run, kill after a while if asked to; exit code, and what came through the pipe."""
        stream = subprocess.PIPE if self.pipe else None
        with subprocess.Popen(
            command, stdin=stream, stdout=stream, stderr=subprocess.PIPE
        ) as process:
            if self.pipe:
                threading.Thread(target=feed, args=(process, self.source), daemon=True).start()
            received: list[bytes] = []
            reader = threading.Thread(target=take, args=(process, received))
            reader.start()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait)
            if process.returncode is None and number is not None:
                process.send_signal(number)
            process.wait()
            reader.join()
            assert process.stderr is not None
            said = process.stderr.read().decode()
        if "Traceback" in said:
            raise AssertionError(said)
        return process.returncode, b"".join(received)

    def once(self, rng: random.Random) -> Counter[str]:
        """A run to its end, however often it is killed; counts of what happened."""
        count = Counter({"runs": 1})
        self.out.unlink(missing_ok=True)
        self.saved.unlink(missing_ok=True)
        kept = b""
        while True:
            resumed = self.saved.exists()
            if resumed:
                command = [*NICA, "--resume", str(self.saved), *QUICK]
                where = json.loads(read(self.saved)[1]["run"])["position"]
                kept = kept[: where["sink"].get("bytes", 0)]
            else:
                command = [*self.command, "--checkpoint", str(self.saved), *QUICK]
                kept = b""
            kills = sum(count[number.name] for number in SIGNALS)
            number = rng.choice(SIGNALS) if kills < 3 else None
            wait = rng.uniform(0.4, 1.1) * self.seconds if number else None
            code, received = self.go(command, wait, number)
            kept += received
            if code == 0 or (self.out.exists() and not self.saved.exists()):
                break
            assert number is not None, f"exit code {code}"
            assert code in (-number, 128 + number), f"exit code {code} after {number.name}"
            count[number.name] += 1
            count["before a checkpoint"] += not self.saved.exists()
            if self.out.exists():  # killed between the rename and the end: little is left to do
                code, _ = self.go([*NICA, "--resume", str(self.saved), *QUICK], None, None)
                assert code == 0, code
                break
        got = digest(kept if self.pipe else self.out.read_bytes())
        assert got == self.expected, "the output differs"
        left = [p for p in self.out.parent.iterdir() if p.name.startswith(f".{self.out.name}")]
        assert not left, left
        return count


def feed(process: subprocess.Popen[bytes], source: Path) -> None:
    """Send the lines."""
    assert process.stdin is not None
    with contextlib.suppress(OSError, ValueError), open(source, "rb") as file:
        shutil.copyfileobj(file, process.stdin)
        process.stdin.close()


def take(process: subprocess.Popen[bytes], received: list[bytes]) -> None:
    """Receive whatever comes, to the end."""
    if process.stdout is not None:
        while data := process.stdout.read(1 << 16):
            received.append(data)


def digest(data: bytes) -> str:
    """By which outputs are compared."""
    return hashlib.sha256(data).hexdigest()


def full_disk(folder: Path) -> str:
    """A disk that fills: one clear line, nothing lost, and the run goes on when there is room."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        return "full disk: not tried, for want of the right to mount one"
    try:
        np.save(folder / "mix.npy", samples(1_000_000, 0))
        np.save(disk / "precious.npy", np.arange(10))
        command = [*NICA, str(folder / "mix.npy"), "--seed", "1", *QUICK]
        subprocess.run([*command, "-o", str(folder / "whole.npy")], check=True)
        saved = folder / "full.st"
        command += ["--checkpoint", str(saved), "--checkpoint-every", "0"]  # it is full at once
        full = subprocess.run(
            [*command, "-o", str(disk / "out.npy")], capture_output=True, text=True
        )
        assert full.returncode == 1, full
        assert full.stderr.startswith("nica: No space left on device"), full.stderr
        assert full.stderr.count("\n") == 1, full.stderr
        assert f"--resume {saved}" in full.stderr
        assert not (disk / "out.npy").exists()
        assert np.array_equal(np.load(disk / "precious.npy"), np.arange(10))
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        subprocess.run([*NICA, "--resume", str(saved), *QUICK], check=True)
        assert digest((disk / "out.npy").read_bytes()) == digest(
            (folder / "whole.npy").read_bytes()
        )
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    said = full.stderr.strip().replace(str(folder), "")
    return f"full disk: `{said}`; with room again, it was resumed to the same bits"


def main() -> int:
    """Run what the command line says; 1 if anything was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50, help="of each kind, at least")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--folder", type=Path, help="where to make the temporary folder")
    parser.add_argument("--out", type=Path, help="where to write the figures as JSON")
    parser.add_argument("--write", action="store_true", help="put them into docs/files.md")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="kill-", dir=options.folder) as name:
        for kind in options.kinds.split(","):
            case = Case(kind, Path(name), options.rows)
            count: Counter[str] = Counter(dict.fromkeys(COLUMNS, 0))
            while sum(count[number.name] for number in SIGNALS) < options.kills:
                count.update(case.once(rng))
            figures[kind] = dict(count)
            told = ", ".join(f"{name} {n}" for name, n in count.items())
            print(f"{kind:8s} {told}: every output the same, bit for bit", flush=True)
        figures["full disk"] = full_disk(Path(name))
        print(figures["full disk"])
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1))
    if options.write:
        put(DOCS, "kills", table(figures))
    return 0


def table(figures: dict[str, object]) -> str:
    """The figures for the documentation."""
    lines = [f"| kind of run | {' | '.join(COLUMNS)} | outputs that differ |"]
    lines += ["|---" * (len(COLUMNS) + 2) + "|"]
    for kind, figure in figures.items():
        if isinstance(figure, dict):
            lines.append(f"| {kind} | {' | '.join(str(figure[c]) for c in COLUMNS)} | 0 |")
    return "\n".join([*lines, "", str(figures["full disk"])])


if __name__ == "__main__":
    sys.exit(main())
