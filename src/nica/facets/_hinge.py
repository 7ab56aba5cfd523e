"""Facets of a small cone around samples: Newton steps on a hinge that is blurred less and less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Samples on a facet come to lie within w sqrt(tau) / 2; those this many times as far hardly curve it.
FAR = 10.0
SHARPER = 0.3  # each blur as a share of the last one
LONGEST_TILT = 0.5  # outputs that a facet may take up of another in one step
MOST_STEPS = 100  # at one blur
HOPELESS = 100.0  # logarithm of an edge: no cone that holds its samples is as wide


class Facets(NamedTuple):
    """Where the descent ended."""

    B: Array
    objective: float
    n_iter: int
    converged: bool


def blurred_hinge(
    Z: Array,
    B: Array,
    mean: Array,
    tau: float,
    *,
    affine: bool,
    slack: Array | float = 0.0,
    blur: float,
    tol: float,
    max_iter: int,
) -> Facets:
    r"""Minimise :math:`-\log|\det B| + \tau \sum_i \langle \max(-(b_i^\top z + s), 0) \rangle`.

    Steps are relative, :math:`B \leftarrow (I + E) B`, so that Y = Z B^T changes by Y E^T and
    :math:`-\log\det(I + E) \le -\mathrm{tr} E + \tfrac12 \lVert E \rVert_F^2` to second order. What
    outputs are on average is kept: by :math:`E \bar y = 0`, whence a facet moves alone, or, if they sum
    to a constant in each sample (`affine`), by :math:`1^\top E = 0`, which a d x d system sees to.

    The hinge is blurred to :math:`(\sqrt{y^2 + w^2} - y) / 2`. This is above it by at most w / 2, and
    from the solution at one w, Newton's steps lead quickly to that at the next. How far the two sums
    differ bounds how far the objective is from its minimum nearby; when this is below `tol` times tau,
    it is done.

    Parameters
    ----------
    Z : array (n, d)
        Samples, of any scale each.
    B : array (d, d)
        Start.
    mean : array (d,)
        What B is to keep the product with, unless `affine`.
    tau : float
    affine : bool
    slack : array (n,) or float
    blur : float
        The first w.
    tol : float
    max_iter : int

    Returns
    -------
    Facets
    """
    Y = Z @ B.T
    offset = np.reshape(slack, (-1, 1))
    n_iter = 0
    while True:
        value, excess, radius = _objective(Y + offset, B, tau, blur)
        settled = False
        last = min(max_iter, n_iter + MOST_STEPS)
        while not settled and n_iter < last:
            n_iter += 1
            E, slope = _newton_step(Y, Y + offset, radius, B @ mean, tau, blur, affine)
            settled = -slope <= 0.1 * excess
            step = min(1.0, LONGEST_TILT / max(np.abs(E).max(), LONGEST_TILT))
            turned, moved = E @ B, Y @ E.T
            while step > 1e-9:
                Y_next, B_next = Y + step * moved, B + step * turned
                value_next, excess_next, radius_next = _objective(
                    Y_next + offset, B_next, tau, blur
                )
                if value_next <= value + 1e-4 * step * slope:
                    break
                step *= 0.4
            else:
                settled = True  # nothing is left but rounding
                break
            Y, B, value, excess, radius = Y_next, B_next, value_next, excess_next, radius_next
        value -= excess
        if excess <= tol or n_iter >= max_iter or value > HOPELESS * len(B):
            return Facets(B, value, n_iter, bool(excess <= tol and settled))
        blur *= SHARPER


def _objective(margin: Array, B: Array, tau: float, blur: float) -> tuple[float, float, Array]:
    """The blurred objective, by how much it exceeds the sharp one, and sqrt(y^2 + w^2)."""
    radius = np.sqrt(margin * margin + blur * blur)
    half = 0.5 * tau / len(margin)
    excess = half * blur * blur * float(np.sum(1 / (radius + np.abs(margin))))
    behind = 2 * half * float(np.sum(np.minimum(margin, 0.0)))
    return -float(np.linalg.slogdet(B)[1]) - behind + excess, excess, radius


def _newton_step(
    Y: Array,
    margin: Array,
    radius: Array,
    level: Array,
    tau: float,
    blur: float,
    affine: bool,
) -> tuple[Array, float]:
    """Relative step of all facets, and the slope of the objective along it."""
    n, d = Y.shape
    half = 0.5 * tau / n
    downhill = np.eye(d) + half * ((1 - margin / radius).T @ Y)
    far = FAR * blur * np.sqrt(1.0 + tau)
    inverse = np.empty((d, d, d))
    for i in range(d):
        near = np.flatnonzero(np.abs(margin[:, i]) < far)
        weight = half * blur * blur / (radius[near, i] * radius[near, i] * radius[near, i])
        inverse[i] = np.linalg.inv(np.eye(d) + (Y[near] * weight[:, None]).T @ Y[near])
    E = np.einsum("ijk,ik->ij", inverse, downhill)
    if affine:
        price = np.linalg.solve(inverse.sum(axis=0), E.sum(axis=0))
        E -= np.einsum("ijk,k->ij", inverse, price)
    else:
        tied = np.einsum("ijk,k->ij", inverse, level)
        E -= (E @ level / (tied @ level))[:, None] * tied
    return E, -float(np.vdot(downhill, E))
