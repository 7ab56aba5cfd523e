"""Learning rates, by the paper's names for their parameters.

>>> from nica import rates
>>> rates.Time(a=100, b=1)(t=100)
0.005
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Time:
    """Rate that falls with time, 1 / (a + b t), eq. ``timedep``.

    Parameters
    ----------
    a : float
        Delay, >= 0: the rate stays near 1 / a for about a / b samples.
    b : float
        Decay, >= 0; 0 keeps the rate at 1 / a for ever. ``a + b`` must exceed 1, so that no sample
        overwrites all before it.

    Examples
    --------
    >>> Time(10, 0.1)
    Time(a=10, b=0.1)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = getattr(self, name)
            if not (_is_number(value) and math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}={value!r} of rates.Time: give a finite number >= 0")
        if not self.a + self.b > 1:
            raise ValueError(
                f"rates.Time(a={self.a}, b={self.b}) begins at a rate of 1 or more, so that its first "
                "sample overwrites the weights: make a + b larger than 1"
            )

    def __call__(self, t: int) -> float:
        """Rate of sample ``t``, counted from 1."""
        return 1.0 / (self.a + self.b * t)


@dataclass(frozen=True)
class Activity:
    """Rate 1 / D that falls with a neuron's own activity, eq. ``activitydep`` (with the maximum).

    D ← max(floor, forgetting · D + y²), and starts at ``floor``.

    Parameters
    ----------
    floor : float
        The paper's a~, > 0.
    forgetting : float
        The paper's b~, in (0, 1]; 1 forgets nothing.

    Examples
    --------
    >>> Activity(10, 0.8)
    Activity(floor=10, forgetting=0.8)
    """

    floor: float
    forgetting: float

    def __post_init__(self) -> None:
        if not (_is_number(self.floor) and math.isfinite(self.floor) and self.floor > 0):
            raise ValueError(f"floor={self.floor!r} of rates.Activity: give a finite number > 0")
        if not (_is_number(self.forgetting) and 0 < self.forgetting <= 1):
            raise ValueError(
                f"forgetting={self.forgetting!r} of rates.Activity: give a number in (0, 1]"
            )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
