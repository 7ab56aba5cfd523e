"""Between the words of Python and those of the command line."""

from __future__ import annotations

import re
from typing import Any

RATES = {"time": "Time", "activity": "Activity"}
NAMES = {
    "n_components": "-n", "random_state": "--seed",
}  # fmt: skip
OPTIONS = (
    "n_components", "n_whitened", "n_interneurons", "whitening_rate", "separation_rate",
    "dynamics", "max_sweeps", "dynamics_tol", "start", "flip_silent", "half_life", "tol", "max_passes",
    "shuffle", "random_state", "format", "columns", "path", "header", "delimiter", "decimal", "comment",
    "model", "passes", "solver", "n_starts", "refine", "method", "alpha", "missing",
)  # fmt: skip


def number(text: str | None) -> int | str | None:
    """Value of -n: a number, auto or nothing."""
    if text is None or text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"-n {text}: give a number or auto") from None


def rate(text: str | None, option: str) -> dict[str, Any] | None:
    """A rate, as ``time:100,1`` or ``activity:10,0.8``, in the plain form of a saved model."""
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    try:
        values = [float(part) for part in rest.split(",")]
    except ValueError:
        values = []
    if kind not in RATES or len(values) != 2:
        raise ValueError(f"{option} {text}: give time:A,B or activity:FLOOR,FORGETTING")
    return {"rate": RATES[kind], "values": values}


def as_options(message: str) -> str:
    """A message of the library in the words of its options."""
    message = message.replace("on_bad='skip'", "--skip-bad").replace("frozen=", "--frozen")
    message = message.replace("missing='infer'", "--missing infer")

    def option(found: re.Match[str]) -> str:
        name = NAMES.get(found["name"], "--" + found["name"].replace("_", "-"))
        value = found["value"] or ""
        return f"{name} {value}".rstrip() if value else name

    names = "|".join(OPTIONS)
    return re.sub(rf"(?<![\w.(])(?P<name>{names})=(?P<value>'[^']*'|[\w.+-]*\w)?", option, message)
