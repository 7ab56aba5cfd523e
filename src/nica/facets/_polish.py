r"""Newton steps of all rows at once, each from the sums of one pass over all samples.

With :math:`B \leftarrow (I + E) B`, E zero on the diagonal, the loss is to second order

.. math:: L(E) = L + \sum_{i \ne j} E_{ij} \langle \psi_i y_j \rangle
    + \tfrac12 \sum_i \sum_{j, k \ne i} E_{ij} E_{ik} \langle w_i y_j y_k \rangle
    + \sum_{i < j} E_{ij} E_{ji}

where the last sum comes from the determinant: the rows are improved together, not one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nica import _core
from nica.batch.sources import Source, Sums
from nica.equations.facets import Expected, Row, maximised
from nica.facets._prepare import Map
from nica.facets._search import Found

Array = NDArray[np.float64]

TOGETHER = 24  #: sources up to which the rows' steps are solved as one system
SHORTER = 0.4  #: a step that made the loss worse is shortened by this
LEAST_NOISE = 1e-7


@dataclass(frozen=True)
class Pass:
    """Sums for a step, of a part: a class, so that it can be sent to other machines."""

    map: Map
    found: Found
    kernels: str

    def __call__(self, X: Array) -> Sums:
        Z = self.map(X)
        B, d = self.found.B, len(self.found.B)
        Y = B[:, :d] @ Z.T
        ones = B.shape[1] > d
        if ones:
            Y += B[:, d:]
        Y = np.ascontiguousarray(Y)
        m = d - 1 + ones
        sums = np.empty((d, 10 + m + m * m))
        _core.facet_sums(Y, ones, np.ascontiguousarray(self.found.rows), sums, self.kernels)
        return np.array([float(len(X))]), sums


def polish(
    source: Source, map: Map, found: Found, *, kernels: str, tol: float, max_passes: int,
    report: Callable[[str], None],
) -> tuple[Found, int, float]:  # fmt: skip
    """Passes over all samples until the rows rest: what was found, passes, and the last change."""
    best, best_sums, before = found, None, np.inf
    step: Array | None = None
    moved = np.inf
    for number in range(1, max_passes + 1):
        (count,), sums = source.total(Pass(map, found, kernels)).sums
        sums = sums / count
        d = len(found.B)
        loss = float(-np.linalg.slogdet(found.B[:, :d])[1] - sums[:, 8].sum())
        if best_sums is None or loss <= before + 1e-9:
            best, best_sums, before = found._replace(loss=loss), sums, loss
            step = _step(best, sums)
        else:
            assert step is not None
            step = SHORTER * step
        moved = float(np.max(np.abs(step)))
        report(f"pass {number}: loss {loss:.6g}, a step of {moved:.2g}")
        if moved <= tol:
            break
        found = _moved(best, best_sums, step, count)
    return best, number, moved


def _step(found: Found, sums: Array) -> Array:
    """Newton's step: what to add of each output (and of one) to each row, per unit of its size."""
    d = len(found.B)
    m = d - 1 + (found.B.shape[1] > d)
    g = sums[:, 10 : 10 + m]
    H = sums[:, 10 + m :].reshape(d, m, m)
    H = H + 1e-10 * np.trace(H, axis1=1, axis2=2)[:, None, None] * np.eye(m)
    E = np.zeros((d, found.B.shape[1]))
    where = [np.append(np.delete(np.arange(d), i), np.arange(d, d + m - d + 1)) for i in range(d)]
    steps = None
    if d <= TOGETHER:
        whole = np.zeros((d * m, d * m))
        place = {(i, int(j)): i * m + q for i in range(d) for q, j in enumerate(where[i])}
        for i in range(d):
            whole[i * m : (i + 1) * m, i * m : (i + 1) * m] = H[i]
            for j in range(i):
                whole[place[i, j], place[j, i]] = whole[place[j, i], place[i, j]] = 1.0
        try:
            np.linalg.cholesky(whole)
            steps = -np.linalg.solve(whole, g.ravel()).reshape(d, m)
        except np.linalg.LinAlgError:  # far from rest: each row by itself
            steps = None
    if steps is None:
        steps = -np.linalg.solve(H, g[:, :, None])[:, :, 0]
    for i in range(d):
        E[i, where[i]] = steps[i]
    return E


def _moved(found: Found, sums: Array, step: Array, count: float) -> Found:
    """The rows moved by the step, each with mean |y| one (as it was), their parameters maximised."""
    d = len(found.B)
    B = found.B + step[:, :d] @ found.B
    if found.B.shape[1] > d:
        B[:, d] += step[:, d]
    rows = np.array([
        maximised(Expected(*(count * row_sums[:8])), count, Row(*row), LEAST_NOISE)
        for row_sums, row in zip(sums, found.rows, strict=True)
    ])  # fmt: skip
    size = sums[:, 9]
    rows[:, [0, 1, 5, 6]] /= size[:, None]
    return Found(B / size[:, None], rows, found.loss)
