"""Cases in a process of their own: if one crashes or hangs, it is a finding, and the next begins."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.fuzz._changes import make
from tools.fuzz._files import seeds
from tools.fuzz._judge import Finding, check

SECONDS = 20  #: of the processor that a case may take
WAIT = 200  #: seconds in which it must be done, on a busy machine
MEMORY = (2 << 30) + (1 << 27)  #: bytes that a case may need


def work(kind: str, first: int, last: int, seed: int) -> None:
    """Cases of a kind, one after another; tells each before it begins, so that a crash has a number."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        files = seeds(folder)
        tell(f"ready {memory}")
        for number in range(first, last):
            tell(f"at {number}")
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # SIGPROF ends what takes longer
            try:
                read = check(kind, make(kind, number, seed, files), folder)
                tell("read" if read else "refused")
            except Finding as finding:
                cause = finding.__cause__.__traceback__ if finding.__cause__ else None
                while cause is not None and cause.tb_next is not None:
                    cause = cause.tb_next
                where = f" [{cause.tb_frame.f_code.co_filename}:{cause.tb_lineno}]" if cause else ""
                tell(f"finding {number} {' '.join(str(finding).split())}{where}")
            now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if now - memory > MEMORY:
                tell(f"finding {number} it took {(now - memory) >> 20} MiB")
                memory = now


def tell(text: str) -> None:
    """A line to whoever started this."""
    os.write(1, f"{text}\n".encode())


def run(kind: str, first: int, last: int, seed: int, deadline: float) -> dict[str, Any]:
    """Cases of a kind in a process of its own, begun again behind each crash."""
    result: dict[str, Any] = {"read": 0, "refused": 0, "findings": []}
    at = first
    while at < last and time.monotonic() < deadline:
        command = [sys.executable, "-m", "tools.fuzz", "--work", kind, str(at), str(last)]
        command += ["--seed", str(seed)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert process.stdout is not None
        ended = False
        while True:
            signal.alarm(WAIT)
            try:
                line = process.stdout.readline()
            except TimeoutError:
                result["findings"].append((kind, at, f"it took more than {WAIT} s"))
                break
            finally:
                signal.alarm(0)
            word, _, rest = line.strip().partition(" ")
            if word == "at":
                at = int(rest)
                if time.monotonic() > deadline:
                    ended = True
                    break
            elif word in ("read", "refused"):
                result[word] += 1
            elif word == "finding":
                number, _, what = rest.partition(" ")
                result["findings"].append((kind, int(number), what))
            elif not line:
                code = process.wait()
                ended = code == 0
                if ended:
                    at = last
                else:
                    result["findings"].append((kind, at, f"it ended with code {code}"))
                break
        process.kill()
        process.wait()
        if ended:
            break
        at += 1
    result["cases"] = at - first
    return result


def late(*_: Any) -> None:
    """The handler of SIGALRM that `run` needs."""
    raise TimeoutError
