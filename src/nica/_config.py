"""Which kernels run, and what the installation looks like."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from nica import _core
from nica._version import __version__

VARIABLE = "NICA_KERNELS"


def kernels() -> str:
    """Name of the kernels that new networks use: the best of this CPU, or what NICA_KERNELS says.

    Examples
    --------
    >>> kernels() in {"baseline", "avx2", "avx512"}
    True
    """
    usable = _core.kernels()
    wanted = os.environ.get(VARIABLE, "")
    if not wanted:
        return usable[0]
    if wanted not in usable:
        raise ValueError(f"{VARIABLE}={wanted!r}: this CPU and build have {', '.join(usable)}")
    return wanted


def show_config() -> None:
    """Print versions, and which kernels are in use.

    Examples
    --------
    >>> import nica
    >>> nica.show_config()  # doctest: +ELLIPSIS
    nica ...
    """
    chosen = kernels()
    print(f"nica {__version__}")
    print(f"kernels: {chosen} ({_core.width(chosen)} doubles per register)", end="")
    print(f", forced by {VARIABLE}" if os.environ.get(VARIABLE) else "")
    print(f"usable here: {', '.join(_core.kernels())} (set {VARIABLE} to force one)")
    print(f"Python {platform.python_version()}, {sys.platform} {platform.machine()}")
    for package in ("numpy", "scipy", "scikit-learn", "safetensors"):
        try:
            print(f"{package} {version(package)}")
        except PackageNotFoundError:
            print(f"{package} not found")
