"""The NSM objective by projected gradient descent (eqs. NSM and pgd)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from nica.offline._checks import FloatArray, Random, as_given, at_least_one, generator, samples

Callback = Callable[[int, int, FloatArray, float], object]

# Iterations between two looks for a plateau: odd, so that a step that is too large, which makes Y
# swing between two states, is not taken for one.
WINDOW = 11


class NSMSolution(NamedTuple):
    """Outcome of `nsm_pgd`.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_components)
        Outputs of the best start; a tensor, a data frame or a DataArray if H was one.
    objective : float
        Its value of eq. NSM, relative to that of Y = 0.
    objectives : ndarray of shape (n_starts,)
        Those of all starts, inf where one diverged: starts that disagree show local minima, or
        that they had too few iterations.
    n_iter : int
        Iterations of the best start.
    converged : bool
        Whether it reached the plateau with all outputs alive.
    """

    Y: FloatArray
    objective: float
    objectives: FloatArray
    n_iter: int
    converged: bool


def nsm_pgd(
    H: ArrayLike,
    n_components: int,
    *,
    a: float | None = None,
    b: float = 0.0,
    n_starts: int = 3,
    tol: float = 1e-4,
    max_iter: int = 5000,
    random_state: Random = None,
    callback: Callback | None = None,
) -> NSMSolution:
    r"""Minimise the NSM objective by projected gradient descent (eqs. NSM and pgd).

    .. math:: \min_{Y \ge 0} \lVert H^\top H - Y^\top Y \rVert_F^2, \qquad
        Y \leftarrow \max\bigl(Y + \eta\, (Y H^\top H - Y Y^\top Y), 0\bigr), \quad
        \eta = \frac{1}{a + b t}

    computed as :math:`(Y H^\top) H - (Y Y^\top) Y`, which is O(T d^2) an iteration. Each start is
    a Gaussian Y, rectified, as in section 4.

    It is slow where sources are seldom near zero (images), since there the objective is flat
    along rotations: check `converged`, or use `plumbley`.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_whitened)
        Whitened, not centred samples (`whiten`).
    n_components : int
        Number of outputs d.
    a, b : float
        The step; t counts iterations. By default b = 0 and a is 1.5 times the largest eigenvalue
        of the d x d matrix of H: a step that is stable at the solution needs a above 1 times it.
        The paper's a = 10^6 at T = 10^5 is 3.6 times it at d = 3, 1.4 times at d = 10.
    n_starts : int, default=3
        Starts, of which the one with the lowest objective is kept.
    tol : float, default=1e-4
        Plateau: stop when eleven iterations change the objective by less than this share of it.
    max_iter : int, default=5000
        Most iterations for a start.
    random_state : None, int, RandomState or Generator
        Draws the starts.
    callback : callable, default=None
        Called as ``callback(start, iteration, Y, objective)`` before each iteration; Y is a view
        that the next iteration overwrites.

    Returns
    -------
    NSMSolution
        Outputs, objective, iterations, whether converged.

    Warns
    -----
    ConvergenceWarning
        If the best start was still moving after `max_iter` iterations, or lost an output.

    Examples
    --------
    >>> import numpy as np
    >>> from nica.offline import whiten
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((2000, 2)) < 0.5, 0, rng.exponential(size=(2000, 2)))
    >>> H, F = whiten(S @ rng.normal(size=(2, 2)).T, 2)
    >>> solution = nsm_pgd(H, 2, random_state=0)
    >>> solution.Y.shape, solution.converged, solution.objective < 1e-3
    ((2000, 2), True, True)
    """
    given, H = H, samples("H", H)
    d = at_least_one("n_components", n_components)
    at_least_one("n_starts", n_starts)
    at_least_one("max_iter", max_iter)
    largest = float(np.linalg.eigvalsh(H.T @ H)[-1])
    if largest == 0:
        raise ValueError("H is zero everywhere: there is nothing to separate")
    a = 1.5 * largest if a is None else a
    if not (a > 0 and b >= 0 and tol >= 0):
        raise ValueError(f"a={a!r} must be above 0, b={b!r} and tol={tol!r} not below")
    rng = generator(random_state)
    best: tuple[FloatArray, float, int, bool] | None = None
    objectives = np.full(n_starts, np.inf)
    for start in range(n_starts):
        Y = np.maximum(rng.normal(size=(len(H), d)), 0.0)
        tell = None if callback is None else partial(callback, start)
        outcome = _descend(H, Y, a, b, tol, max_iter, tell)
        objectives[start] = outcome[1]
        if np.isfinite(outcome[1]) and (best is None or outcome[1] < best[1]):
            best = outcome
    if best is None:
        raise ValueError(f"a={a:.3g} makes every start diverge: give at least {largest:.3g}")
    Y, objective, n_iter, converged = best
    converged = converged and bool(Y.any(axis=0).all())
    if not converged:
        what = f"still moved after {n_iter} iterations" if Y.any(axis=0).all() else "fell silent"
        remedy = "max_iter or tol" if a >= largest else f"a, now {a:.3g}, to {1.5 * largest:.3g}"
        warnings.warn(
            f"an output {what}: raise {remedy}; if that does not help, raise n_starts or lower "
            "n_components",
            ConvergenceWarning,
            stacklevel=2,
        )
    Y = as_given(given, Y, "nsm")
    return NSMSolution(Y, objective, objectives, n_iter, converged)


def _descend(
    H: FloatArray,
    Y: FloatArray,
    a: float,
    b: float,
    tol: float,
    max_iter: int,
    tell: Callable[[int, FloatArray, float], object] | None,
) -> tuple[FloatArray, float, int, bool]:
    n_whitened = H.shape[1]
    both = np.hstack([H, Y])  # H and Y side by side: one product gives both moments, one the step
    Y = both[:, n_whitened:]
    power = float(np.sum((H.T @ H) ** 2))
    step, moved = np.empty((both.shape[1], Y.shape[1])), np.empty(Y.shape)
    before, objective, rounding = np.inf, np.inf, 1e-13
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(max_iter + 1):
            moments = both.T @ Y
            HY, YY = moments[:n_whitened], moments[n_whitened:]
            # ||H^T H - Y^T Y||^2 of eq. NSM, by traces of small matrices.
            objective = float(1 + (np.sum(YY**2) - 2 * np.sum(HY**2)) / power)
            if tell is not None:
                tell(t, Y, objective)
            if not np.isfinite(objective):
                return Y, np.inf, t, False
            if t % WINDOW == 0:
                if abs(before - objective) <= tol * objective + rounding and t > 0:
                    return Y.copy(), objective, t, True
                before = objective
            if t == max_iter:
                break
            rate = 1 / (a + b * t)
            step[:n_whitened] = rate * HY
            step[n_whitened:] = np.eye(len(YY)) - rate * YY
            np.matmul(both, step, out=moved)
            np.maximum(moved, 0.0, out=Y)
    return Y.copy(), objective, max_iter, False
