"""From an estimator's parameters to the options of the native core; every check of a parameter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypedDict

import joblib

from nica.equations.robust import RobustParameters
from nica.rates import Activity, Time

DYNAMICS = {"exact": 0, "sweeps": 1, "ode": 2}
STARTS = ("warm", "paper")


class Options(TypedDict):
    """What the native core is told; names as in core/api.hpp."""

    k: int
    l: int
    m: int
    d: int
    whiten: bool
    separate: bool
    robust: bool
    dynamics: int
    rule: int
    offset: bool
    share_minimum: float
    alpha: float
    rate_a: float
    rate_b: float
    rate_minimum: float
    in_time: bool
    separation_a: float
    separation_b: float
    memory_first: float
    memory_growth: float
    memory_most: float
    renewal: float
    kappa: float
    kappa_first: float
    hold: int
    idle: int
    revival: int
    flip: bool
    max_sweeps: int
    tol: float


def options(
    estimator: Any,
    k: int,
    *,
    whiten: bool,
    separate: bool,
    dynamics: Mapping[str, int] = DYNAMICS,
) -> tuple[Options, RobustParameters]:
    """Options for ``k`` channels, or an error that says value, limit and remedy."""
    get = estimator.get_params(deep=False).get
    wanted = get("n_components")
    if isinstance(wanted, str) and wanted == "auto":
        wanted = estimator._chosen
    d = _size(wanted, "n_components", k)
    if d > k:
        raise ValueError(
            f"X has {k} {'channel' if k == 1 else 'channels'} but n_components={d}: give at most {k}"
        )
    l = _size(get("n_whitened"), "n_whitened", d if whiten else k)
    m = _size(get("n_interneurons"), "n_interneurons", l)
    alpha = _number(get("alpha", 0.0), "alpha", minimum=0.0)
    if l < d:
        raise ValueError(f"n_whitened={l} is below n_components={d}: give at least {d}")
    if m < d:
        raise ValueError(f"n_interneurons={m} is below n_components={d}: give at least {d}")
    if whiten and alpha == 0 and l > d:
        raise ValueError(
            f"n_whitened={l} exceeds n_components={d} while alpha=0: give an alpha > 0, below the "
            f"variance of the weakest source direction (appendix B of the paper), or n_whitened={d}"
        )
    if whiten and alpha == 0 and m < l:
        raise ValueError(
            f"n_interneurons={m} is below n_whitened={l} while alpha=0: give at least {l}"
        )
    start = choice(get("start"), "start", STARTS)
    settling = choice(get("dynamics", "exact"), "dynamics", tuple(dynamics))
    half_life = get("half_life")
    half_life = math.inf if half_life is None else _number(half_life, "half_life", minimum=1.0)

    warm = start == "warm"
    whitening_rate = get("whitening_rate") or (Time(0, 2) if warm else Time(100, 1))
    if not isinstance(whitening_rate, Time):
        raise TypeError(f"whitening_rate={whitening_rate!r}: give rates.Time(a, b) or None")
    p = RobustParameters(
        k=k, d=d, l=l, m=m, alpha=alpha, half_life=half_life,
        rate=(whitening_rate.a, whitening_rate.b),
    )  # fmt: skip
    separation_rate = get("separation_rate")
    growing = warm and separation_rate is None
    if separation_rate is None:
        separation_rate = Activity(p.memory[0] if warm else 10.0, 0.8 if d <= 3 else 0.9)
    in_time = isinstance(separation_rate, Time)
    if isinstance(separation_rate, Time):
        separation = separation_rate.a, separation_rate.b
    elif isinstance(separation_rate, Activity):
        separation = separation_rate.floor, separation_rate.forgetting
    else:
        raise TypeError(
            f"separation_rate={separation_rate!r}: give rates.Activity(floor, forgetting), "
            "rates.Time(a, b) or None"
        )
    return {
        "k": k, "l": l, "m": m, "d": d,
        "whiten": whiten, "separate": separate, "robust": warm,
        "dynamics": dynamics[settling], "rule": 0, "alpha": alpha, "offset": False, "share_minimum": 0.0,
        "rate_a": p.rate[0], "rate_b": p.rate[1], "rate_minimum": p.rate_minimum,
        "in_time": in_time, "separation_a": separation[0], "separation_b": separation[1],
        "memory_first": p.memory[0], "memory_growth": p.memory[1] if growing else 0.0,
        "memory_most": p.memory[2],
        "renewal": p.renewal if math.isfinite(p.renewal) else 0.0,
        "kappa": p.kappa, "kappa_first": p.kappa_first,
        "hold": p.hold, "idle": p.idle, "revival": p.revival,
        "flip": bool(get("flip_silent", True)),
        "max_sweeps": whole(get("max_sweeps", 10_000), "max_sweeps", minimum=1),
        "tol": _number(get("dynamics_tol", 1e-10), "dynamics_tol", minimum=0.0),
    }, p  # fmt: skip


def cores(n_jobs: int | None = None) -> int:
    """Threads to use: as many as asked for; None or -1 is all cores, -2 all but one.

    Examples
    --------
    >>> cores(2)
    2
    """
    most = int(joblib.cpu_count())
    if n_jobs is None:
        return most
    if whole(abs(n_jobs), "n_jobs", minimum=0) == 0:
        raise ValueError("n_jobs=0: give the number of threads, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, most + 1 + n_jobs)


def whole(value: Any, name: str, minimum: int) -> int:
    """Check that a parameter is a whole number, at least ``minimum``."""
    try:
        number = int(value)
        exact = number == value and not isinstance(value, bool)
    except (TypeError, ValueError, OverflowError):
        exact = False
    if not exact:
        raise TypeError(f"{name}={value!r}: give a whole number >= {minimum}")
    if number < minimum:
        raise ValueError(f"{name}={value!r}: give a whole number >= {minimum}")
    return number


def _size(value: Any, name: str, default: int) -> int:
    return default if value is None else whole(value, name, minimum=1)


def _number(value: Any, name: str, minimum: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r}: give a number >= {minimum:g}") from None
    if not (math.isfinite(number) and number >= minimum):
        raise ValueError(f"{name}={value!r}: give a finite number >= {minimum:g}")
    return number


def choice(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name}={value!r}: give one of {', '.join(map(repr, allowed))}")
    return str(value)
