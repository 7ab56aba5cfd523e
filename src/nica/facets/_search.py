"""Starts, sweeps, sharpening, and the bulk for sources that hardly come near zero; on a selection."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nica import _core
from nica._config import kernels
from nica.batch._rounds import search as similarity_search
from nica.equations.facets import first_row
from nica.equations.facets_start import cone_unmixing, extreme_points
from nica.equations.network import orthonormal

Array = NDArray[np.float64]

BLUR, RECEDES = 0.3, 0.6  #: least noise in the first sweep, and its factor from sweep to sweep
SWEEPS = 30
RESTS = 1e-7  #: largest change of an entry, as a part of the largest entry, at which sweeps end
SHARPENED = 6  #: sweeps after the noise of the worst row has been halved
GAIN = 1e-3  #: by which the loss must fall for that to be kept
COMPARED = (
    1e-4  #: least noise where losses are compared: below, they say nothing but how exact it is
)
CONDITION = 1e4  #: of a start by NICA, at most


class Found(NamedTuple):
    """An unmixing matrix of reduced samples, with intercepts in one more column if there are any."""

    B: Array
    rows: Array  #: (d, 7), as `nica.equations.facets.Row`
    loss: float


def descend(
    Z: Array, B: Array, rows: Array, *, blur: float, sweeps: int, cap: float = np.inf
) -> Found:
    """Sweeps from a start until nothing moves; the blur recedes from sweep to sweep."""
    name = kernels()
    d = len(B)
    U = Z @ B.T
    side = np.sign(U.mean(axis=0))
    B = B * (np.where(side == 0, 1, side) / np.maximum(np.abs(U).mean(axis=0), 1e-300))[:, None]
    B, rows = np.ascontiguousarray(B), rows.copy()
    Y = np.ascontiguousarray((Z @ B.T).T)
    for number in range(sweeps):
        floor = max(blur * RECEDES**number, 1e-9)
        before = B.copy()
        _core.facet_sweep(Y, B, rows, floor, cap, name)
        if not np.all(np.isfinite(B)):
            return Found(before, rows, np.inf)
        rests = np.abs(B - before).max() < RESTS * np.abs(B).max()
        if rests and np.all(rows[:, 0] > 1.01 * floor):
            break
    return Found(B, rows, loss_of(Y, B[:, :d], rows))


def loss_of(Y: Array, B: Array, rows: Array) -> float:
    """Negative log-likelihood per sample, with at least so much noise that losses can be compared."""
    d, n = Y.shape
    rows = rows.copy()
    rows[:, 0] = np.maximum(rows[:, 0], COMPARED)
    sums = np.empty((d, 10 + d - 1 + (d - 1) ** 2))
    _core.facet_sums(Y, False, rows, sums, kernels())
    return float(-np.linalg.slogdet(B)[1] - sums[:, 8].sum() / n)


def first_rows(d: int, bulk: float = 0.0) -> Array:
    """What is assumed of each row before anything is known."""
    return np.array([first_row()._replace(bulk=bulk)] * d)


def starts(
    Z: Array, d: int, n_starts: int, seed: int, *, offset: bool, flat: bool
) -> list[Callable[[], Array]]:
    """Makers of first unmixing matrices: successive projection, similarity matching, random ones.

    With offsets (Z is centred) nobody knows where the cone has its tip, so extreme points say nothing;
    on a plane (``flat``) the covariance is singular, and nothing can be whitened.
    """

    def projection() -> Array:
        return cone_unmixing(extreme_points(Z), Z.mean(axis=0))

    def similarity() -> Array:
        # Offsets are guessed for similarity matching: the least of each output of a rotation.
        mean = Z.mean(axis=0)
        variances, axes = np.linalg.eigh(Z.T @ Z / len(Z) - np.outer(mean, mean))
        F = (axes / np.sqrt(np.maximum(variances, 1e-12 * variances[-1]))).T
        _, weights = similarity_search(Z @ F.T, d, [seed, 0], 1e-3)
        B: Array = weights.unmixing @ F
        usable = np.all(np.isfinite(B)) and np.linalg.cond(B) < CONDITION
        return B if usable else np.full((d, d), np.nan)

    def random(i: int) -> Callable[[], Array]:
        return lambda: orthonormal(d, d, np.random.default_rng([seed, i]))

    found: list[Callable[[], Array]] = []
    if not offset:
        found.append(projection)
    if not flat:
        found.append(similarity)
    return (found + [random(i) for i in range(1, n_starts + 1)])[:n_starts]


def search(
    Z: Array, d: int, *, n_starts: int, seed: int, threads: int, offset: bool = False, flat: bool = False,
    start: Array | None = None,
) -> tuple[Found, Array]:  # fmt: skip
    """The best of several starts, or of the one that is given, sharpened, and the losses of all."""
    ones = np.column_stack([Z, np.ones(len(Z))]) if offset else Z

    def run(start: Callable[[], Array]) -> Found:
        try:
            B = start()
        except np.linalg.LinAlgError:  # the edges that were found do not span the space
            B = np.full((d, d), np.nan)
        if not np.all(np.isfinite(B)):
            return Found(B, first_rows(d), np.inf)
        if offset:
            B = B * np.where((Z @ B.T).mean(axis=0) ** 3 < 0, -1.0, 1.0)[:, None]
            B = np.column_stack([B, -np.quantile(Z @ B.T, 0.01, axis=0)])
        return descend(ones, B, first_rows(d), blur=BLUR, sweeps=SWEEPS)

    makers = starts(Z, d, n_starts, seed, offset=offset, flat=flat)
    if start is not None:
        makers = [lambda: start]
    with ThreadPoolExecutor(max(1, min(threads, len(makers)))) as pool:
        found = list(pool.map(run, makers))
    losses = np.array([one.loss for one in found])
    best = found[int(np.argmin(losses))]
    if not np.isfinite(best.loss):
        raise ValueError(
            "no start led anywhere: X may have fewer sources than n_components, or too few samples"
        )
    if offset:
        best = turned(ones, best)
    return sharpened(ones, best), losses


def turned(Z: Array, found: Found) -> Found:
    """Turn rows round where the likelihood likes it: with an offset, s and 1 - s look alike."""
    d = len(found.B)
    for i in range(d):
        B, rows = found.B.copy(), found.rows.copy()
        B[i] *= -1
        B[i, d] -= np.quantile(Z @ B[i], 0.01)
        rows[i] = first_rows(1)[0]
        other = descend(Z, B, rows, blur=BLUR, sweeps=SWEEPS)
        if other.loss < found.loss - GAIN:
            found = other
    return found


def sharpened(Z: Array, found: Found) -> Found:
    """Halve the noise of the worst row, and keep it while that makes the likelihood better."""
    while True:
        cap = float(found.rows[:, 0].max()) / 2
        again = descend(Z, found.B, found.rows, blur=1e-9, sweeps=SHARPENED, cap=cap)
        if not again.loss < found.loss - GAIN:
            return found
        found = again


def with_bulk(Z: Array, found: Found) -> Found:
    """The same with a bulk in each row: for sources that hardly ever come near zero."""
    rows = found.rows.copy()
    rows[:, 4], rows[:, 5], rows[:, 6] = 0.3, 1.0, 0.4
    rows[:, 2] *= 0.7
    rows[:, 0] = np.maximum(rows[:, 0], 0.1)
    return descend(Z, found.B, rows, blur=BLUR, sweeps=SWEEPS)


def outputs(Z: Array, found: Found) -> Array:
    """Linear outputs of reduced samples."""
    d = Z.shape[1]
    Y: Array = Z @ found.B[:, :d].T
    return Y + found.B[:, d] if found.B.shape[1] > d else Y
