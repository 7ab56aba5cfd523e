"""Nonnegative independent components by rotating whitened samples (section 2.1, Theorem 1)."""

from __future__ import annotations

import warnings
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm, qr
from sklearn.exceptions import ConvergenceWarning

from nica.networks._containers import tensor
from nica.offline._checks import FloatArray, Random, as_given, at_least_one, generator, samples

LONGEST_TURN = 0.5  # radians that a pair of outputs may turn at a time
MEMORY = 7  # past turns that L-BFGS looks at


class Rotation(NamedTuple):
    """Outcome of `plumbley`.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_sources)
        ``H @ Q.T``, of which a little is negative: ``np.maximum(Y, 0)`` are the sources. A tensor, a data
        frame or a DataArray if H was one.
    Q : ndarray of shape (n_sources, n_sources)
        Orthonormal matrix of the best start.
    objective : float
        Half the mean square of the negative part of Y, summed over outputs.
    objectives : ndarray of shape (n_starts,)
        Those of all starts: if they disagree, there are local minima.
    n_iter : int
        Iterations of the best start.
    converged : bool
        Whether it stopped by itself.
    """

    Y: FloatArray
    Q: FloatArray
    objective: float
    objectives: FloatArray
    n_iter: int
    converged: bool


def plumbley(
    H: ArrayLike,
    *,
    n_starts: int = 3,
    tol: float = 1e-6,
    max_iter: int = 500,
    random_state: Random = None,
) -> Rotation:
    r"""Rotate whitened samples until they are nonnegative (Theorem 1, Plumbley 2003).

    .. math:: \min_{Q^\top Q = I} J, \qquad
        J = \tfrac12 \sum_i \langle \min(y_i, 0)^2 \rangle, \qquad y = Q h

    By geodesic steps :math:`Q \leftarrow \exp(\Theta)\, Q` with a skew-symmetric :math:`\Theta`,
    an angle for each pair of outputs. Alone, the Givens rotation of the pair (i, j) has the torque
    :math:`\langle y_i^- y_j - y_j^- y_i \rangle` and the curvature
    :math:`\langle [y_i \le 0]\, y_j^2 + [y_j \le 0]\, y_i^2 - {y_i^-}^2 - {y_j^-}^2 \rangle`,
    whose ratio is its Newton step; L-BFGS adds how the pairs act on each other, and the step is
    halved until J falls. Each iteration is O(T d^2), and a few dozen do.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_sources)
        Whitened, not centred samples, with one channel for each source (`whiten`).
    n_starts : int, default=3
        Random orthonormal starts, of which the one with the lowest J is kept.
    tol : float, default=1e-6
        Stop when no pair of outputs turns by more than this many radians.
    max_iter : int, default=500
        Most iterations for a start.
    random_state : None, int, RandomState or Generator
        Draws the starts.

    Returns
    -------
    Rotation
        Outputs, rotation, objective, iterations, whether converged.

    Warns
    -----
    ConvergenceWarning
        If the best start was still turning after `max_iter` iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from nica.offline import whiten
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((2000, 2)) < 0.5, 0, rng.exponential(size=(2000, 2)))
    >>> H, F = whiten(S @ rng.normal(size=(2, 2)).T, 2)
    >>> rotation = plumbley(H, random_state=0)
    >>> rotation.converged, rotation.objective < 1e-3
    (True, True)
    """
    given, H = H, samples("H", H)
    at_least_one("n_starts", n_starts)
    at_least_one("max_iter", max_iter)
    if not tol >= 0:
        raise ValueError(f"tol={tol!r} must not be below 0")
    rng = generator(random_state)
    d = H.shape[1]
    outcomes = []
    for _ in range(n_starts):
        Q, _ = qr(rng.normal(size=(d, d)))
        Q *= np.where(Q @ H.mean(axis=0) < 0, -1.0, 1.0)[:, None]  # outputs positive on average
        outcomes.append(_turn(H, Q, tol, max_iter))
    Q, objective, n_iter, converged = min(outcomes, key=lambda outcome: outcome[1])
    if not converged:
        warnings.warn(
            f"outputs still turn by more than tol={tol:.3g} after {max_iter} iterations: "
            "raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    objectives = np.array([outcome[1] for outcome in outcomes])
    Y = as_given(given, H @ Q.T, "plumbley")
    return Rotation(Y, tensor(given, Q), objective, objectives, n_iter, converged)


def _turn(
    H: FloatArray, Q: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, float, int, bool]:
    n_samples, d = H.shape
    pairs = np.triu_indices(d, 1)
    history: deque[tuple[FloatArray, FloatArray]] = deque(maxlen=MEMORY)
    before: tuple[FloatArray, FloatArray] | None = None  # the last turn, the torque before it
    Y = H @ Q.T
    negative = np.minimum(Y, 0.0)
    objective = float(np.vdot(negative, negative)) / (2 * n_samples)
    for t in range(max_iter):
        moment = negative.T @ Y / n_samples
        torque = (moment - moment.T)[pairs]
        pull = (Y <= 0).astype(np.float64).T @ (Y * Y) / n_samples
        push = np.diag(moment)  # <y^-^2>
        # Where hardly any sample is negative the curvature says nothing; the line search does.
        curvature = np.maximum((pull + pull.T - push[:, None] - push)[pairs], 1e-3)
        if before is not None:
            change = torque - before[1]
            if before[0] @ change > 1e-12 * np.linalg.norm(before[0]) * np.linalg.norm(change):
                history.append((before[0], change))
        turn = _newton_step(torque, curvature, history)
        turn *= min(1.0, LONGEST_TURN / np.abs(turn).max(initial=LONGEST_TURN))
        while True:
            if np.abs(turn).max(initial=0.0) <= tol:
                return Q, objective, t, True
            skew = np.zeros((d, d))
            skew[pairs] = turn
            rotation = expm(skew - skew.T)
            moved = Y @ rotation.T
            below = np.minimum(moved, 0.0)
            value = float(np.vdot(below, below)) / (2 * n_samples)
            if value <= objective + 1e-4 * float(torque @ turn):
                break
            turn = turn / 2
        before = turn, torque
        Q, Y, negative, objective = rotation @ Q, moved, below, value
    return Q, objective, max_iter, False


def _newton_step(
    torque: FloatArray, curvature: FloatArray, history: deque[tuple[FloatArray, FloatArray]]
) -> FloatArray:
    """Return the L-BFGS step (Nocedal 1980): what past turns say over what each pair says alone."""
    rest = torque.copy()
    shares = []
    for turn, change in reversed(history):
        shares.append(turn @ rest / (turn @ change))
        rest -= shares[-1] * change
    step = rest / curvature
    for (turn, change), share in zip(history, reversed(shares), strict=True):
        step += (share - change @ step / (turn @ change)) * turn
    if step @ torque <= 0:  # only by rounding: every pair kept in the history has turn @ change > 0
        history.clear()
        step = torque / curvature
    return -step
