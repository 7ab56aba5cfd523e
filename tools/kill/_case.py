"""A kind of run, killed and gone on with until it ends."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from nica.__main__ import main as main_of_nica
from nica.networks._save import read
from nica.streams import open_sink

SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
QUICK = ["--checkpoint-every", "0.05", "--no-diagnose", "-q"]
LATE = 0.8  #: share of the kills that wait for the first checkpoint
#: children of a process that has the libraries already: loading them takes longer than all else
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["nica.cli._separate", "pyarrow.csv", "tools.kill._case"])


def samples(rows: int, seed: int) -> np.ndarray:
    """Mixed sparse sources."""
    rng = np.random.default_rng(seed)
    S = rng.exponential(size=(rows, 3)) * (rng.random((rows, 3)) < 0.5)
    return S @ rng.standard_normal((3, 3)).T


def digest(data: bytes) -> str:
    """By which outputs are compared."""
    return hashlib.sha256(data).hexdigest()


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
        self.command = ["-" if self.pipe else str(self.source), "--seed", "1"]
        if not self.pipe:
            self.command += ["-o", str(self.out)]
        if kind == "frozen":
            self.command += ["--frozen", "--passes", "2"]
        start = time.monotonic()
        code, received = self.go([*self.command, *QUICK])
        assert code == 0, code
        self.working = (time.monotonic() - start) / 8
        self.expected = digest(received if self.pipe else self.out.read_bytes())

    def go(
        self,
        arguments: list[str],
        wait: float | None = None,
        number: signal.Signals | None = None,
        late: bool = False,
    ) -> tuple[int, bytes]:
        """Run, kill after a while if asked to; exit code, and what came through the pipe.

        The while begins with the process, or late, when it has saved for the first time.
        """
        given, lines = CONTEXT.Pipe(False) if self.pipe else (None, None)
        received, told = (CONTEXT.Pipe(False) if self.pipe else (None, None)), CONTEXT.Pipe(False)
        ends = (given, received[1], told[1])
        process = CONTEXT.Process(target=run, args=(arguments, ends))
        process.start()
        for end in ends:
            if end is not None:
                end.close()
        came: tuple[list[bytes], list[bytes]] = [], []
        readers = [
            threading.Thread(target=take, args=(end, into))
            for end, into in zip((received[0], told[0]), came, strict=True)
            if end is not None
        ]
        if lines is not None:
            threading.Thread(target=feed, args=(lines, self.source), daemon=True).start()
        for reader in readers:
            reader.start()
        if late:
            before = self.written()
            while process.is_alive() and self.written() == before:
                time.sleep(0.002)
        process.join(wait)
        if process.exitcode is None and number is not None:
            assert process.pid is not None
            os.kill(process.pid, number)
        process.join()
        for reader in readers:
            reader.join()
        said = b"".join(came[1]).decode()
        if "Traceback" in said:
            raise AssertionError(said)
        assert process.exitcode is not None
        return process.exitcode, b"".join(came[0])

    def written(self) -> float:
        """When the checkpoint was written; 0 if there is none."""
        try:
            return self.saved.stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def once(self, rng: random.Random) -> Counter[str]:
        """A run to its end, however often it is killed; counts of what happened."""
        count = Counter({"runs": 1})
        self.out.unlink(missing_ok=True)
        self.saved.unlink(missing_ok=True)
        kept = b""
        while True:
            resumed = self.saved.exists()
            if resumed:
                command = ["--resume", str(self.saved), *QUICK]
                where = json.loads(read(self.saved)[1]["run"])["position"]
                kept = kept[: where["sink"].get("bytes", 0)]
            else:
                command = [*self.command, "--checkpoint", str(self.saved), *QUICK]
                kept = b""
            kills = sum(count[number.name] for number in SIGNALS)
            number = rng.choice(SIGNALS) if kills < 3 else None
            late = rng.random() < LATE
            wait = rng.uniform(0, self.working) if number else None
            code, received = self.go(command, wait, number, late and number is not None)
            kept += received
            if number is not None:  # others make a machine faster or slower by and by
                self.working *= 0.8 if code == 0 else 1.1
            if code == 0 or (self.out.exists() and not self.saved.exists()):
                break
            assert number is not None, f"exit code {code}"
            assert code in (-number, 128 + number), f"exit code {code} after {number.name}"
            count[number.name] += 1
            count["before a checkpoint"] += not self.saved.exists()
            if self.out.exists():  # killed between the rename and the end: little is left to do
                code, _ = self.go(["--resume", str(self.saved), *QUICK])
                assert code == 0, code
                break
        got = digest(kept if self.pipe else self.out.read_bytes())
        assert got == self.expected, "the output differs"
        left = [p for p in self.out.parent.iterdir() if p.name.startswith(f".{self.out.name}")]
        assert not left, left
        return count


def run(arguments: list[str], ends: tuple[Connection | None, ...]) -> None:
    """`nica separate`, with pipes as standard input, output and error."""
    for handle, end in enumerate(ends):
        if end is not None:
            os.dup2(end.fileno(), handle)
            end.close()
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["nica", "separate", *arguments]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background ignores
    main_of_nica()


def feed(lines: Connection, source: Path) -> None:
    """Send the lines."""
    with contextlib.suppress(OSError), open(source, "rb") as file:
        while data := file.read(1 << 20):
            while data:
                data = data[os.write(lines.fileno(), data) :]
    lines.close()


def take(end: Connection, into: list[bytes]) -> None:
    """Receive whatever comes, to the end."""
    while data := os.read(end.fileno(), 1 << 16):
        into.append(data)
    end.close()
