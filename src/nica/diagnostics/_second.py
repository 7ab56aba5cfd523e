"""A second opinion: another principle, independence, starts from the outputs and should stay there.

Nonnegativity and independence are different reasons to prefer a rotation of whitened samples. Where
both hold, the rotation that makes the outputs nonnegative is also a fixed point of FastICA
(Hyvärinen 1999) for at least one contrast; one that is wrong is a fixed point of none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ITERATIONS = 60


def _tanh(y: Array) -> tuple[Array, Array]:
    g = np.tanh(y)
    return g, np.mean(1 - g**2, axis=0)


def _cube(y: Array) -> tuple[Array, Array]:
    square = y**2
    return square * y, 3 * np.mean(square, axis=0)


def _square(y: Array) -> tuple[Array, Array]:
    return y**2, 2 * np.mean(y, axis=0)


CONTRASTS: tuple[Callable[[Array], tuple[Array, Array]], ...] = (_tanh, _cube, _square)


def second_opinion(u: Array) -> Array:
    """Absolute correlation of each output with what FastICA makes of it, for the kindest contrast.

    Symmetric FastICA on the whitened, centred outputs:
    W ← (W Wᵀ)^(−1/2) W after w_i ← ⟨g(w_i z) z⟩ − ⟨g′(w_i z)⟩ w_i.
    """
    d = u.shape[1]
    centred = u - u.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(u))
    if values[0] <= 1e-9 * values[-1]:
        return np.zeros(d)
    z = centred @ (vectors / np.sqrt(values)) @ vectors.T
    found = [_stay(z, contrast) for contrast in CONTRASTS]
    return max(found, key=lambda stay: float(np.min(stay)))


def _stay(z: Array, contrast: Callable[[Array], tuple[Array, Array]]) -> Array:
    W = np.eye(z.shape[1])
    for _ in range(ITERATIONS):
        g, slope = contrast(z @ W.T)
        left, _, right = np.linalg.svd(g.T @ z / len(z) - slope[:, None] * W)
        before, W = W, left @ right
        if np.max(np.abs(np.abs(np.sum(W * before, axis=1)) - 1)) < 1e-5:
            break
    stay: Array = np.abs(np.diag(W))
    return stay
