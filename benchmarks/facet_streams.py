"""Streams for benchmarks.facets: their last tenth, changes of the mixture, speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import nica
from benchmarks.facet_problems import Array, Mixture, Rng, figures, generator, jump_mixture, make

BEFORE, AFTER, STEP = 20_000, 10_000, 10
WINDOW, RECOVERED = 500, 0.01  # samples; squared error per variance that counts as recovered

Record = dict[str, Any]
NAMES = ("NICA", "FacetNICA")


def tail(build: Callable[[Rng], Mixture], *words: Any) -> Callable[..., Record]:
    """Squared error of the last tenth of a stream."""

    def run(seed: int, method: str) -> Record:
        mixture = build(generator(seed, "stream", *words))
        start = time.process_time()
        Y = getattr(nica, method)(mixture.S.shape[1], random_state=0).separate(mixture.X)
        seconds = time.process_time() - start
        last = slice(-(len(Y) // 10), None)
        end = Mixture(
            mixture.X[last], mixture.S[last], mixture.A, mixture.offset, mixture.good[last]
        )
        return {**figures(end, Y[last]), "seconds": seconds}

    return run


def separated(model: Any, X: Array, step: int) -> tuple[Array, list[int]]:
    """Outputs, and the samples behind which an alarm had been raised, to within a step.

    An alarm lasts as long as samples are held, which is longer than a step.
    """
    Y, when, was = [], [], False
    for first in range(0, len(X), step):
        Y.append(model.separate(X[first : first + step]))
        now = bool(model._scalars()["suspended"])
        if now and not was:
            when.append(min(first + step, len(X)))
        was = now
    return np.vstack(Y), when


def jump(family: str, d: int, k: int, i: int) -> Callable[..., Record]:
    """Samples from a change to the alarm, and to the last window that is not yet good again."""

    def run(seed: int, method: str) -> Record:
        rng = generator(seed, "jump", family, d, k, i)
        mixture = jump_mixture(rng, d, k, BEFORE, AFTER, family)
        Y, when = separated(nica.FacetNICA(d, random_state=0), mixture.X, STEP)
        delays = [at - BEFORE for at in when if at > BEFORE]
        bad = BEFORE
        for first in range(BEFORE, BEFORE + AFTER - WINDOW + 1, WINDOW // 10):
            rows = slice(first, first + WINDOW)
            seen = Mixture(
                mixture.X[rows], mixture.S[rows], mixture.A, mixture.offset, mixture.good[rows]
            )
            if figures(seen, Y[rows])["nmse"] > RECOVERED:
                bad = first + WINDOW // 10
        recovered = bad <= BEFORE + AFTER - WINDOW
        return {
            "delay": delays[0] if delays else None,
            "recovery": bad - BEFORE if recovered else None,
            "early": sum(at <= BEFORE for at in when),
        }

    return run


def quiet(family: str, d: int, n: int) -> Callable[..., Record]:
    """Alarms of a mixture that does not change."""

    def run(seed: int, method: str) -> Record:
        mixture = make(family, generator(seed, "quiet", family, d), d, d, n, noise=0.01)
        _, when = separated(nica.FacetNICA(d, random_state=0), mixture.X, 50 * STEP)
        return {"alarms": len(when), "samples": n}

    return run


def stream_speed(d: int, quick: bool) -> Callable[..., Record]:
    """Nanoseconds of a sample, in turns with NICA's, so that both see the same machine."""

    def run(seed: int, method: str) -> Record:
        n = 50_000 if quick else 200_000
        X = make("sparse", generator(seed, "speed", d), d, d, n, noise=0.01).X
        best = dict.fromkeys(NAMES, np.inf)
        for _ in range(3):
            for name in NAMES:
                model = getattr(nica, name)(d, random_state=0).partial_fit(X[: n // 4])
                start = time.process_time()
                model.partial_fit(X[n // 4 :])
                took = (time.process_time() - start) / (n - n // 4)
                best[name] = min(best[name], 1e9 * took)
        return {"facet_ns": best["FacetNICA"], "nica_ns": best["NICA"]}

    return run


def batch_speed(d: int, quick: bool) -> Callable[..., Record]:
    """Seconds of a fit, on the clock and of processors."""

    def run(seed: int, method: str) -> Record:
        n = 20_000 if quick else 100_000
        X = make("sparse", generator(seed, "speed", d), d, d, n, noise=0.01).X
        found: Record = {"samples": n}
        builds = {
            "nica_": partial(nica.NICA, solver="batch"),
            "": nica.FacetNICA,
        }
        for prefix, build in builds.items():
            wall, cpu = time.perf_counter(), time.process_time()
            build(d, random_state=0).fit(X)
            found[f"{prefix}wall"] = time.perf_counter() - wall
            found[f"{prefix}cpu"] = time.process_time() - cpu
        return found

    return run
