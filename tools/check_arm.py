"""The core on ARM: cross-compiled, run under qemu, it continues streams as it does here.

    python -m tools.check_arm

Needs Debian's g++-aarch64-linux-gnu and qemu-user (CROSS_CXX and EMULATOR name others). Streams of
several sizes and settings are begun with this CPU's baseline kernels, and gone on with here and there;
outputs and all of the state must agree to 1e-9. Only the order of roundings differs.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from nica import (
    NICA,
    NSM,
    FacetNICA,
    LinskerICA,
    NonnegativePCA,
    OnlineFastICA,
    OnlineInfomax,
    OnlineWhitening,
)
from nica._core import Network
from nica.datasets import mixing, sparse_uniform
from nica.rates import Activity, Time

CORE = Path(__file__).parent.parent / "core"
CXX = os.environ.get("CROSS_CXX", "aarch64-linux-gnu-g++")
EMULATOR = os.environ.get("EMULATOR", "qemu-aarch64")
FLAGS = ["-std=c++17", "-O2", "-static", "-fno-math-errno", "-fno-trapping-math",
         "-ffp-contract=fast", "-Wno-psabi", "-DNICA_VARIANT=baseline", "-DNICA_FEW_SIZES"]  # fmt: skip
BEGUN, ROWS = 2000, 3000  # samples before, and those that both go on with

CASES: list[tuple[Any, int]] = [  # networks and their numbers of channels
    (NICA(3), 3),
    (NICA(5), 5),
    (NICA(4), 6),
    (NICA(11), 11),
    (NICA(3, start="paper"), 3),
    (NICA(3, n_whitened=4, alpha=0.02), 6),
    (NICA(3, dynamics="sweeps", half_life=500), 3),
    (NICA(3, start="paper", dynamics="ode", whitening_rate=Time(200, 1)), 3),
    (NICA(5, separation_rate=Activity(20, 0.95)), 5),
    (OnlineWhitening(5), 8),
    (NSM(3), 3),
    (NonnegativePCA(3), 3),
    (OnlineFastICA(4), 4),
    (OnlineInfomax(), 3),
    (LinskerICA(), 3),
    (FacetNICA(3), 3),
]


def main() -> int:
    """Run all cases; give the exit code."""
    for tool in (CXX, EMULATOR):
        if shutil.which(tool) is None:
            print(f"no {tool}: apt-get install g++-aarch64-linux-gnu qemu-user", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "replay"
        sources = [
            str(path)
            for path in (*sorted(CORE.glob("*.cpp")), Path(__file__).with_name("replay.cpp"))
        ]
        sources.remove(str(CORE / "binding.cpp"))
        subprocess.run([CXX, *FLAGS, f"-I{CORE}", *sources, "-o", str(program)], check=True)
        worst = 0.0
        for number, (model, k) in enumerate(CASES):
            gap = difference(program, model, k, number)
            worst = max(worst, gap)
            print(f"{gap:.1e}  {model!r} of {k} channels".replace("\n", " "), flush=True)
    print(f"{len(CASES)} networks on ARM, worst difference {worst:.1e} (at most 1e-9)")
    return int(worst > 1e-9)


def difference(program: Path, model: Any, k: int, seed: int) -> float:
    """Largest difference of an output or of the state, relative to the largest entry of its kind."""
    rng = np.random.default_rng(seed)
    d = model.get_params().get("n_components", k)
    S = sparse_uniform(BEGUN + ROWS, d, random_state=rng)
    X = S @ mixing(k, d, condition=3, random_state=rng).T
    model.set_params(random_state=seed).partial_fit(X[:BEGUN])
    settings, state = model._settings, model._core.get_state()
    X = np.ascontiguousarray(X[BEGUN:])

    here = Network(settings, "baseline")
    here.set_state(state, True)
    Y = np.empty((ROWS, model._n_features_out))
    assert here.run(X, Y)[0] == ROWS
    expected = [Y, *here.get_state().values()]

    message = (
        "".join(f"{name} {float(value)!r} " for name, value in settings.items()).encode() + b".\n"
    )
    message += struct.pack("<d", len(state))
    for name, values in state.items():
        message += struct.pack("<32s2d", name.encode(), *values.shape) + values.tobytes()
    message += struct.pack("<d", ROWS) + X.tobytes()
    out = subprocess.run(
        [EMULATOR, str(program)], input=message, check=True, stdout=subprocess.PIPE
    )
    there = np.frombuffer(out.stdout)
    assert there.size == sum(values.size for values in expected)

    gap, start = 0.0, 0
    for values in expected:
        part = there[start : start + values.size]
        start += values.size
        if values.size:
            scale = max(float(np.max(np.abs(values))), 1e-300)
            gap = max(gap, float(np.max(np.abs(part - values.ravel()))) / scale)
    return gap


if __name__ == "__main__":
    sys.exit(main())
