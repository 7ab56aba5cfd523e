"""Runs on images (section 4.3): all pixels presented again and again, each time in another order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from nica.datasets import natural_scenes
from nica.experiments._algorithms import FloatArray, network, prepared
from nica.experiments._parameters import Rates
from nica.experiments._runs import NETWORK_SEED, times
from nica.metrics import match_sources, separation_floor


class ErrorCurve:
    r"""E_t of a stream that is too long to keep (section 4, Figs. 3B and 6B).

    :math:`\sum \lVert s - P y \rVert^2` splits into :math:`\sum \lVert s \rVert^2 + \lVert y \rVert^2`
    and entries of :math:`\sum s y^\top` that P selects. These sums are kept at the wanted samples, and P
    is chosen at the end, as the paper does.
    """

    def __init__(self, when: Iterable[int], d: int) -> None:
        self.when = frozenset(when)
        self.t = 0
        self._power, self._cross = 0.0, np.zeros((d, d))
        self._kept: list[tuple[int, float, FloatArray]] = []

    def add(self, S: FloatArray, Y: FloatArray) -> None:
        """Count some more samples in."""
        ends = sorted({t - self.t for t in self.when if 0 < t - self.t <= len(S)} | {len(S)})
        start = 0
        for end in ends:
            s, y = S[start:end], Y[start:end]
            self._power += float(np.vdot(s, s) + np.vdot(y, y))
            self._cross = self._cross + s.T @ y
            start = end
            if self.t + end in self.when:
                self._kept.append((self.t + end, self._power, self._cross))
        self.t += len(S)

    def curve(self) -> tuple[list[int], list[float]]:
        """Samples seen, and E_t there."""
        rows, columns = linear_sum_assignment(-self._cross)
        errors = [
            (power - 2 * float(cross[rows, columns].sum())) / t for t, power, cross in self._kept
        ]
        return [t for t, _, _ in self._kept], errors


def images(
    algorithm: str,
    rates: Rates,
    run: int,
    samples: int,
    folder: str | None = None,
    shown: bool = False,
    sweeps: int | None = None,
) -> dict[str, Any]:
    """One run of Fig. 6: E_t over all presentations; the images recovered at the end if `shown`."""
    scenes = natural_scenes(folder)
    n_pixels, d = scenes.S.shape
    given = prepared(algorithm, scenes.X, d)
    options = {} if sweeps is None else {"dynamics": "sweeps", "max_sweeps": sweeps}
    model = network(algorithm, d, rates, NETWORK_SEED + run, **options)
    rng = np.random.default_rng(run)
    presentations = -(-samples // n_pixels)
    curve = ErrorCurve(times(presentations * n_pixels), d)
    Y = np.empty((n_pixels, d))
    try:
        for _ in range(presentations):
            order = rng.permutation(n_pixels)
            Y[order] = model.separate(given[order])
            curve.add(scenes.S[order], Y[order])
            if not np.all(np.isfinite(Y)):
                return {"diverged": True, "why": "outputs are not finite"}
    except FloatingPointError as error:
        return {"diverged": True, "why": str(error)}
    t, errors = curve.curve()
    Y = model.transform(given)
    match = match_sources(scenes.S, Y)
    result = {
        "diverged": False, "t": t, "error": errors, "final": errors[-1],
        "late": match.error, "correlation": match.correlation,
        "floor": separation_floor(scenes.S, last=1.0), "presentations": presentations,
    }  # fmt: skip
    if shown:
        result |= {
            "names": list(scenes.names), "shape": list(scenes.shape), "sources": scenes.S.T,
            "mixture": scenes.X.T, "recovered": Y[:, match.permutation].T,
        }  # fmt: skip
    return result
