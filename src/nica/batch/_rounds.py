r"""Mini-batch similarity matching: blocks of fixed points, and the sums that make the next weights.

Twin of ``nica.equations.minibatch``. The sums of separate blocks add, whoever makes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nica import _core
from nica._config import kernels
from nica.batch._moments import weights_of
from nica.batch.sources import Source, Sums
from nica.equations.network import orthonormal

Array = NDArray[np.float64]
Report = Callable[[str], None]

FORGETTING = (
    0.5  #: what is left of the sums of a block after the next one; without any they oscillate
)
ROUNDS = 30  #: rounds over the selection at most, once a block is all of it
GROWTH = 4  #: from pass to pass of the search blocks grow so many times
FIRST = 100  #: samples of the first blocks at least, and 10 per output
FLOOR = 1e-3  #: mean square of an output at least, so that a silent one divides by something
LOST = 0.1  #: mean square below zero from which an output may sit on the negative of a source


@dataclass(frozen=True)
class Weights:
    """Layer 2 as sums: C, mean of y yᵀ, and K, mean of y hᵀ."""

    C: Array
    K: Array

    def inverse(self) -> Array:
        """C⁻¹."""
        return np.ascontiguousarray(np.linalg.inv(self.C), dtype=np.float64)

    @property
    def unmixing(self) -> Array:
        """Linear map from h to outputs, C⁻¹ K."""
        return np.asarray(np.linalg.solve(self.C, self.K), dtype=np.float64)


@dataclass(frozen=True)
class Round:
    """Sums of fixed points over some samples, with the weights held still."""

    count: float
    C: Array
    K: Array
    below: Array  #: squares of what outputs would be below zero, were they linear
    held: Array  #: squares of net inputs below zero


@dataclass(frozen=True)
class Fixed:
    """Fixed points of a part: a class and not a closure, so that it can be sent to other machines."""

    weights: Weights
    kernels: str
    F: Array | None = None  #: (l, k) whitening; None where the samples are white already
    h_bar: Array | None = None  #: (l,)

    def __call__(self, X: Array) -> Sums:
        H = X if self.F is None else X @ self.F.T
        if self.h_bar is not None:
            H = inlying(H, self.h_bar, len(self.weights.C))
        N = self.weights.inverse()
        Y = H @ (N @ self.weights.K).T
        below, held = np.zeros(len(N)), np.zeros(len(N))
        _core.rectify(self.weights.C, N, Y, below, held, self.kernels)
        return np.array([float(len(X))]), Y.T @ Y, Y.T @ H, below, held


def inlying(H: Array, h_bar: Array, d: int) -> Array:
    """Whitened samples of which outliers are shortened: fixed points scale with their input."""
    D = H - h_bar
    weights = weights_of(np.einsum("ti,ti->t", D, D) / d)
    return H if weights is None else H * np.sqrt(weights)[:, None]


def round_of(sums: Sums) -> Round:
    """The sums of `Fixed`, by their names."""
    (count,), C, K, below, held = sums
    return Round(count, C, K, below, held)


def updated(old: Weights, new: Round) -> Weights:
    """Old sums fade, new ones come; both as means."""
    share = 1 / (new.count * (1 + FORGETTING))
    keep = FORGETTING / (1 + FORGETTING)
    C, K = keep * old.C + share * new.C, keep * old.K + share * new.K
    d = np.arange(len(C))
    C[d, d] = np.maximum(C[d, d], FLOOR)
    return Weights(C, K)


def revived(old: Weights, new: Round, now: Weights) -> Weights:
    """Turn round what is lost: an output that fell silent, or that is held down more than it fires."""
    positive = np.diag(new.C) / new.count
    negative = new.held / np.diag(old.C) ** 2 / new.count
    lost = (positive == 0) | ((negative > 4 * positive) & (negative > LOST))
    return Weights(now.C, np.where(lost[:, None], -now.K, now.K)) if np.any(lost) else now


def negative_energy(H: Array, weights: Weights) -> float:
    """Largest mean square of a linear output below zero, per unit of its variance."""
    Y = H @ weights.unmixing.T
    energy = np.mean(np.minimum(Y, 0) ** 2, axis=0) / np.maximum(Y.var(axis=0), 1e-300)
    return float(np.max(energy))


def change(before: Weights, now: Weights, second: Array) -> float:
    """Largest change of a linear output per unit of its size; ``second`` is the mean of h hᵀ."""
    U, V = before.unmixing, now.unmixing
    size = np.sqrt(np.einsum("ij,jk,ik->i", V, second, V))
    move = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", V - U, second, V - U), 0))
    return float(np.max(move / np.maximum(size, 1e-6 * np.max(size) + 1e-300)))


def search(H: Array, d: int, seed: list[int], tol: float) -> tuple[float, Weights]:
    """One start: passes over a selection with ever larger blocks; its negative energy, its weights."""
    rng = np.random.default_rng(seed)
    n, l = H.shape
    weights = Weights(np.eye(d), orthonormal(d, l, rng))
    name = kernels()
    second = H.T @ H / n
    block = max(FIRST, 10 * d)
    while block < n:
        order = rng.permutation(n)
        for start in range(0, n - block // 2, block):
            part = H[order[start : start + block]]
            new = round_of(Fixed(weights, name)(part))
            weights = revived(weights, new, updated(weights, new))
        block *= GROWTH
    for _ in range(ROUNDS):
        new = round_of(Fixed(weights, name)(H))
        before, weights = weights, revived(weights, new, updated(weights, new))
        if change(before, weights, second) <= tol:
            break
    return negative_energy(H, weights), weights


def settle(
    source: Source, F: Array, h_bar: Array, second: Array, weights: Weights, *,
    tol: float, max_passes: int, report: Report,
) -> tuple[Weights, Round, int, float]:  # fmt: skip
    """Rounds over all samples until the outputs rest: weights, last round, passes, last change."""
    name = kernels()
    moved = np.inf
    for number in range(1, max_passes + 1):
        new = round_of(source.total(Fixed(weights, name, F, h_bar)).sums)
        before, weights = weights, updated(weights, new)
        moved = change(before, weights, second)
        report(f"pass {number}: outputs change by {moved:.2g}")
        if moved <= tol:
            break
    return weights, new, number, moved
