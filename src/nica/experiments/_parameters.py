"""Sizes, appendix D and the grids of section 4, all from parameters.toml."""

from __future__ import annotations

import itertools
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

Rates = tuple[float, ...]


@cache
def _table() -> dict[str, Any]:
    text = files("nica.experiments").joinpath("parameters.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def dimensions() -> list[int]:
    """Numbers of sources of Fig. 3B."""
    return list(_table()["sizes"]["dimensions"])


def full_size() -> tuple[int, int]:
    """Runs and samples of the paper's random sources."""
    sizes = _table()["sizes"]
    return sizes["runs"], sizes["samples"]


def published(algorithm: str, problem: str) -> Rates | None:
    """Rates that appendix D gives an algorithm for ``d3`` to ``d10`` or ``images``; None for NA."""
    rates = _table()["appendix_d"][algorithm].get(problem)
    return None if rates is None else tuple(map(float, rates))


def grid(algorithm: str) -> list[Rates]:
    """All combinations of rates that section 4 searches for an algorithm."""
    return [tuple(map(float, rates)) for rates in itertools.product(*_table()["grid"][algorithm])]
