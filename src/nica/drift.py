"""How fast does the mixture change? Fits on windows of the record, and what moves between them.

Each window is fitted twice, on its even and on its odd samples. What two neighbouring windows differ by
is then known from two fits whose errors have nothing in common: the product of the two differences has no
bias from the noise of the fits, and may be below zero where nothing moves.
"""

from __future__ import annotations

import itertools
import math
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

from nica.networks import NICA
from nica.networks._samples import LIMIT
from nica.networks._settings import cores, whole
from nica.rank import estimate_n_components

Array = NDArray[np.float64]

WINDOWS = (4, 8, 16, 32, 64)
LEAST, LEAST_PER_SOURCE = 200, 40  #: samples of a window
FAR = 0.3  #: squared radians between windows beyond which they are too long
SURE = 3.0  #: standard errors from which a drift counts
JUMP = 8.0  #: times the median step between windows, and
JUMP_LEAST = 0.03  #: squared radians, from which one step is a jump
PASSES = 20


@dataclass(frozen=True)
class Drift:
    """How fast a mixture changes, as `estimate_drift` found.

    Attributes
    ----------
    rate, error : float
        Radians per sample by which the sources' directions turn (root mean square over the sources), and
        its standard error; 0 if no drift was seen.
    most : float
        Rate that would hardly have been missed: two standard errors above ``rate``.
    half_life : float or None
        Proposal for ``NICA(half_life=...)``; None if nothing needs to be forgotten.
    jump : int or None
        Sample near which the mixture changed abruptly.
    n_windows : int
        Windows of the record that were compared; 0 if it is too short.
    reason : str
        All that in a sentence.
    """

    rate: float
    error: float
    most: float
    half_life: float | None
    jump: int | None
    n_windows: int
    reason: str

    @property
    def turn(self) -> float:
        """Samples in which the sources' directions turn by a radian."""
        return 1 / self.rate if self.rate > 0 else math.inf

    def __str__(self) -> str:
        return self.reason


def estimate_drift(
    X: Any, n_components: int | str | None = None, *, random_state: int = 0
) -> Drift:
    r"""Estimate how fast the mixing changes, and propose a half-life that follows it.

    The record is cut into windows, and each of them fitted twice, on its even and on its odd samples.
    With :math:`\Delta` the change of a source's row of the unmixing from one window to the next, in
    standard deviations of its output,

    .. math:: (\mathrm{rate} \cdot \mathrm{window})^2
        = \langle \Delta_\mathrm{even} \cdot \Delta_\mathrm{odd} \rangle .

    Parameters
    ----------
    X : array-like (n_samples, n_channels)
        Finite samples in the order in which they were taken.
    n_components : int, "auto" or None
        Number of sources; None takes the number of channels, "auto" what `nica.estimate_n_components`
        says.
    random_state : int, default=0
        Seed of the fits.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=20000, random_state=0)
    >>> drift = nica.estimate_drift(mixture.X)
    >>> drift.rate, drift.half_life
    (0.0, None)
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X has shape {X.shape}: give samples as (n_samples, n_channels)")
    if not np.all(np.abs(X) <= LIMIT):
        row = int(np.argmin(np.all(np.abs(X) <= LIMIT, axis=1)))
        raise ValueError(f"X contains NaN or infinity, first in sample {row}: remove such rows")
    n, k = X.shape
    d = number_of_sources(X, n_components)
    if d > k:
        raise ValueError(f"X has {k} channels but n_components={d}: give at most {k}")
    least = max(LEAST, LEAST_PER_SOURCE * d)
    numbers = [number for number in WINDOWS if n // number >= least]
    if not numbers:
        why = f"{n} samples are too few to see a drift: give at least {WINDOWS[0] * least}"
        return Drift(0.0, math.inf, math.inf, None, None, 0, why)
    covariance = np.cov(X.T, bias=True).reshape(k, k)
    found = {number: _steps(X, covariance, d, number, random_state) for number in numbers}
    seen = {number: steps for number, steps in found.items() if steps is not None}
    if not seen:
        why = "the windows of this record cannot be separated: see nica.diagnose"
        return Drift(0.0, math.inf, math.inf, None, None, 0, why)
    number = _sharpest(seen)
    # Longer windows blur a fast drift.
    fine = sorted((m for m in seen if m >= number), reverse=True)
    jumps = [jump for m in fine if (jump := _jump(seen[m], n / m))]
    stretch = _stretch(X, covariance, number)
    return _conclude(seen[number], n, d, number, jumps[0] if jumps else None, stretch)


def number_of_sources(X: Array, n_components: int | str | None) -> int:
    """What is asked for; None is the number of channels, "auto" what they show.

    Examples
    --------
    >>> number_of_sources(np.ones((10, 4)), None)
    4
    """
    if n_components is None:
        return len(X.T)
    if n_components == "auto":
        return max(estimate_n_components(X).n_components, 1)
    return whole(n_components, "n_components", minimum=1)


def _sharpest(seen: dict[int, Array]) -> int:
    """Number of windows that tells most: that sees a drift best, or else would have seen the least."""
    near = {m: _mean(steps) for m, steps in seen.items() if _mean(steps)[0] < FAR}
    if not near:
        return max(seen)
    sure = {m: mean / max(error, 1e-300) for m, (mean, error) in near.items()}
    if max(sure.values()) >= SURE:
        return max(sure, key=lambda m: sure[m])
    return min(near, key=lambda m: m**2 * max(near[m][0] + 2 * near[m][1], 0.0))


def _jump(steps: Array, window: float) -> int | None:
    """Sample near which one step is far larger than the others."""
    largest = int(np.argmax(steps))
    limit = max(JUMP * float(np.median(np.abs(steps))), JUMP_LEAST)
    return int((largest + 1) * window) if steps[largest] > limit else None


def _mean(steps: Array) -> tuple[float, float]:
    """Mean step and its standard error; a step that jumps out does not count."""
    quiet = steps[steps <= max(JUMP * float(np.median(np.abs(steps))), JUMP_LEAST)]
    if len(quiet) < 2:
        quiet = steps
    return float(np.mean(quiet)), float(np.std(quiet, ddof=1) / math.sqrt(len(quiet)))


def _stretch(X: Array, covariance: Array, number: int) -> float:
    """Change of the covariance per sample, where the whole record is white: rms row of its matrix.

    As with the turns, even and odd samples measure it twice, and their product has no bias.
    """
    values, axes = np.linalg.eigh(covariance)
    kept = values > 1e-9 * values[-1]
    white = (axes[:, kept] / np.sqrt(values[kept])).T
    edges = np.linspace(0, len(X), number + 1).astype(int)
    even, odd = (
        np.array([np.cov(white @ X[a + i : b : 2].T) for a, b in itertools.pairwise(edges)])
        for i in (0, 1)
    )
    steps = np.diff(even.reshape(number, -1), axis=0) * np.diff(odd.reshape(number, -1), axis=0)
    squares, error = _mean(steps.sum(axis=1) / len(white))
    return math.sqrt(squares) / (len(X) / number) if squares > SURE * error else 0.0


def _conclude(steps: Array, n: int, d: int, number: int, jump: int | None, stretch: float) -> Drift:
    window = n / number
    squares, error = _mean(steps)
    most = math.sqrt(max(squares + 2 * error, 0.0)) / window
    said = f" It jumps near sample {jump}." if jump is not None else ""
    if squares < SURE * error or squares * (number - 1) ** 2 < 1e-4:
        follow = None if jump is None else max(window / 4, 10.0 * d)
        why = f"no drift above {most:.2g} radians per sample.{said}"
        if follow is not None:
            why += f" Cut the record there, or follow it with half_life={follow:.0f}"
        return Drift(0.0, most / 2, most, follow, jump, number, why)
    rate = math.sqrt(squares) / window
    spread = error / (2 * math.sqrt(squares)) / window
    follow = max(_followed(1 / rate, stretch, d), 10.0 * d)
    why = (
        f"the mixture turns by {rate:.2g} ± {spread:.1g} radians per sample (a radian in "
        f"{1 / rate:,.0f}): follow it with half_life={follow:.0f}.{said}"
    )
    return Drift(rate, spread, most, follow, jump, number, why)


def _followed(turn: float, stretch: float, d: int) -> float:
    """The best half-life, measured (benchmarks/drift.py): longer ones lag, shorter ones forget.

    Layer 2 follows a turn quickly, and forgetting may be slow. Layer 1 lags behind a covariance that
    changes by ``stretch`` in a sample: per source, forgetting costs .27 d/h and the lag .83 (h stretch)²,
    whose sum is least at h = (.163 d / stretch²)^(1/3).
    """
    turned = max(0.1 * turn, 4.0 * math.exp(0.6 * math.log(turn)))
    return min(turned, (0.163 * d / stretch**2) ** (1 / 3)) if stretch else turned


def _steps(X: Array, covariance: Array, d: int, number: int, seed: int) -> Array | None:
    """Squared radians from each window to the next, mean over the sources."""
    edges = np.linspace(0, len(X), number + 1).astype(int)
    parts = [X[a + i : b : 2] for a, b in itertools.pairwise(edges) for i in (0, 1)]

    def fit(part: Array) -> Array | None:
        try:
            U = NICA(d, max_passes=PASSES, random_state=seed).fit(part).unmixing_
        except (ValueError, FloatingPointError):
            return None
        size = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", U, covariance, U), 1e-300))
        unit: Array = U / size[:, np.newaxis]
        return unit

    with (
        warnings.catch_warnings(), threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(cores(-1)) as pool,
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        fits = list(pool.map(fit, parts))
    steps = []
    before: tuple[Array, Array] | None = None
    for even, odd in zip(fits[::2], fits[1::2], strict=True):
        if even is None or odd is None:
            return None
        reference = even if before is None else before[0]
        now = _aligned(even, reference, covariance), _aligned(odd, reference, covariance)
        if before is not None:
            change = (now[0] - before[0]) @ covariance * (now[1] - before[1])
            steps.append(float(np.mean(np.sum(change, axis=1))))
        before = now
    return np.array(steps)


def _aligned(U: Array, reference: Array, covariance: Array) -> Array:
    """Rows in the order and with the signs of the reference."""
    R = reference @ covariance @ U.T
    rows, columns = linear_sum_assignment(-np.abs(R))
    aligned: Array = U[columns] * np.sign(R[rows, columns])[:, np.newaxis]
    return aligned
