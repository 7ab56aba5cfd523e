"""Blind nonnegative source separation with online neural networks, exact and fast."""

from importlib import import_module
from typing import Any

from nica._version import __version__

_WHERE = {
    "NICA": "networks", "NSM": "networks", "OnlineWhitening": "networks", "load": "networks",
    "LinskerICA": "networks", "NonnegativePCA": "networks", "OnlineFastICA": "networks",
    "OnlineInfomax": "networks", "FacetNICA": "networks",
    "diagnose": "diagnostics", "estimate_drift": "drift",
    "estimate_n_components": "rank", "show_config": "_config",
    "sweep": "replicas", "tune": "tuning",
}  # fmt: skip
_MODULES = (
    "compat",
    "datasets",
    "equations",
    "experiments",
    "live",
    "metrics",
    "offline",
    "plotting",
    "rates",
    "report",
    "streams",
    "theory",
)

__all__ = [
    "__version__",
    *_WHERE,
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    """Import public names when they are first used, so that ``import nica`` is quick."""
    if name in _WHERE:
        value = getattr(import_module(f"nica.{_WHERE[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"nica.{name}")
    else:
        raise AttributeError(f"module 'nica' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
