"""A disk that fills."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from tools.kill._case import QUICK, digest, samples

NICA = [sys.executable, "-m", "nica", "separate"]


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
