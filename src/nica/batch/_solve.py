"""From samples to both layers: moments, whitening, search, rest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from nica.batch._moments import look, moments
from nica.batch._rounds import Report, inlying, search, settle
from nica.batch.sources import Source
from nica.equations.warmup import stationary_layer
from nica.equations.whitening import prewhitening_matrix

Array = NDArray[np.float64]

LOOKED_AT = 1 << 20  #: entries of the selection that the first look takes
LOOKED_AT_ROWS = 20_000
SEARCHED = 20_000  #: samples on which starts search
LEAST = 1e-6  #: standard deviation of a direction, as a part of the largest, that counts


@dataclass(frozen=True)
class Solution:
    """Both layers, as the network keeps them, and how they were found."""

    gain: Array
    x_bar: Array  #: in the scale of the gain
    W_hx: Array
    W_hg: Array
    C: Array  #: mean of y yᵀ
    K: Array  #: mean of y hᵀ
    held: Array  #: mean squares of net inputs below zero
    n_samples: int
    n_bad: int
    n_outliers: int
    rank: int  #: directions in which the samples vary
    n_passes: int
    change: float  #: of the outputs in the last pass
    energies: Array  #: negative energy of each start, the kept one is the smallest


def solve(
    source: Source, d: int, l: int, m: int, *,
    alpha: float = 0.0, scaled: bool = True, n_starts: int = 4, tol: float = 1e-3,
    max_passes: int = 1000, seed: int = 0, threads: int = 1, report: Report = lambda text: None,
) -> Solution:  # fmt: skip
    """Separate all samples of a source.

    Parameters
    ----------
    source : Source
    d, l, m : int
        Sources, principal neurons, interneurons.
    alpha : float
        Appendix B, in the unit of the scaled input.
    scaled : bool
        Whether the network is to scale its input (``start="warm"``).
    n_starts, tol, max_passes : int, float, int
    seed : int
    threads : int
        For the starts; a source has its own.
    report : callable
        Gets a line of progress now and then.
    """
    with threadpool_limits(1, user_api="blas"):  # one thread per block or start is enough
        k = source.n_channels
        R = source.sample(max(min(LOOKED_AT_ROWS, LOOKED_AT // k), 4 * k))
        distinct = len(np.unique(R, axis=0))
        if distinct <= d:
            raise ValueError(
                f"X has {distinct} distinct {'sample' if distinct == 1 else 'samples'} "
                f"(n_samples={len(R)}): give at least {d + 1} for n_components={d}"
            )
        now = moments(source, look(R, d))
        report(f"{now.n_samples} samples, {now.n_bad} bad, {now.n_outliers} outliers")
        gain = now.gain if scaled else np.ones(k)
        covariance = now.covariance * np.outer(gain / now.gain, gain / now.gain)
        x_bar = now.mean * gain
        spread, axes = _modes(covariance)
        rng = np.random.default_rng([seed, 0])
        W_hx, W_hg = stationary_layer(spread, axes, l, m, alpha, rng)
        F = prewhitening_matrix(W_hx, W_hg, alpha)
        h_bar = F @ x_bar
        second = F @ covariance @ F.T + np.outer(h_bar, h_bar)
        F = F * gain

        del R
        H = inlying(source.sample(max(SEARCHED, 40 * d), F), h_bar, d)
        with ThreadPoolExecutor(min(threads, n_starts)) as pool:
            found = list(pool.map(lambda i: search(H, d, [seed, i + 1], tol), range(n_starts)))
        energies = np.array([energy for energy, _ in found])
        best = int(np.argmin(energies))
        report(
            f"{n_starts} starts on {len(H)} samples, negative energy "
            + ", ".join(f"{energy:.2g}" for energy in energies)
        )
        weights, last, passes, moved = settle(
            source, F, h_bar, second, found[best][1], tol=tol, max_passes=max_passes, report=report
        )
    return Solution(
        gain=gain, x_bar=x_bar, W_hx=W_hx, W_hg=W_hg, C=weights.C, K=weights.K,
        held=last.held / last.count / np.diag(weights.C) ** 2,
        n_samples=now.n_samples, n_bad=now.n_bad, n_outliers=now.n_outliers,
        rank=int(np.sum(spread > LEAST * spread[0])), n_passes=passes, change=moved, energies=energies,
    )  # fmt: skip


def _modes(covariance: Array) -> tuple[Array, Array]:
    """Standard deviations and axes of the covariance, largest first, the sign of each axis settled."""
    variances, axes = np.linalg.eigh(covariance)
    axes = axes[:, ::-1].T
    sign = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    return np.sqrt(np.maximum(variances[::-1], 0)), axes * sign[:, None]
