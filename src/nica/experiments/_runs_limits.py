"""Runs beyond the figures: a limited number of sweeps, and the rate as the paper prints it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica import equations as eq
from nica.datasets import make_mixture
from nica.experiments._algorithms import network
from nica.experiments._parameters import Rates
from nica.experiments._runs import LAST, NETWORK_SEED, times
from nica.metrics import match_sources, online_error

HOPELESS = 1e3  # an output as large: sources have unit variance


def sweeps(d: int, rates: Rates, run: int, samples: int, sweeps: int | None) -> dict[str, Any]:
    """The two-layer network with at most so many updates per neuron; None for the fixed point."""
    data = make_mixture(n_samples=samples, n_sources=d, random_state=run)
    options = {} if sweeps is None else {"dynamics": "sweeps", "max_sweeps": sweeps}
    model = network("two_layer", d, rates, NETWORK_SEED + run, **options)
    try:
        Y = model.separate(data.X)
    except FloatingPointError as error:
        return {"diverged": True, "why": str(error)}
    tail = slice(samples - max(1, round(LAST * samples)), None)
    return {
        "diverged": False,
        "final": online_error(data.S, Y)[-1],
        "late": match_sources(data.S[tail], Y[tail]).error,
    }


def erratum(as_printed: bool, d: int, rates: Rates, run: int, samples: int) -> dict[str, Any]:
    """The equations to the letter, in NumPy, with eq. activitydep as printed or as meant."""
    a, b, floor, forgetting = rates
    data = make_mixture(n_samples=samples, n_sources=d, random_state=run)
    state = eq.paper_start(d, d, d, d, np.random.default_rng(NETWORK_SEED + run), floor=floor)
    Y = np.zeros((samples, d))
    longest = 0.0
    with np.errstate(all="ignore"):  # diverging is what this is about
        for t, x in enumerate(data.X):
            y, state = eq.paper_step(
                state, x, whitening=(a, b), separation=(floor, forgetting), as_printed=as_printed,
                tol=1e-6, max_sweeps=500,
            )  # fmt: skip
            step = y**2 / state.D
            longest = max(longest, float(np.max(step, initial=0.0, where=np.isfinite(step))))
            if not np.max(y) < HOPELESS:
                return {"diverged": True, "at": t + 1, "longest_step": longest}
            Y[t] = y
    tail = slice(samples - max(1, round(LAST * samples)), None)
    error, when, late = (
        online_error(data.S, Y),
        times(samples),
        match_sources(data.S[tail], Y[tail]),
    )
    return {
        "diverged": False, "t": when, "error": error[np.array(when) - 1],
        "late": late.error, "correlation": late.correlation, "longest_step": longest,
    }  # fmt: skip
