"""Both layers stacked: the paper's network to the letter (sections 3 and 4), one sample at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nica.equations.nsm import (
    activity,
    activity_as_printed,
    flip_silent,
    nsm_fixed_point,
    time_activity,
    update_nsm_weights,
)
from nica.equations.whitening import (
    prewhitening_fixed_point,
    prewhitening_matrix,
    running_mean,
    time_rate,
    update_whitening_weights,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PaperState:
    """All that the network remembers between two samples."""

    t: int  #: samples seen
    x_bar: Array  #: (k,) mean of the input, kept by each synapse
    h_bar: Array  #: (l,) mean activity, kept by each principal neuron
    g_bar: Array  #: (m,) mean activity, kept by each interneuron
    W_hx: Array  #: (l, k)
    W_hg: Array  #: (l, m); W_gh is its transpose
    W_yh: Array  #: (d, l)
    W_yy: Array  #: (d, d), zero diagonal
    D: Array  #: (d,) running activity
    fired: NDArray[np.bool_]  #: (d,) whether each output has fired yet


def orthonormal(rows: int, columns: int, rng: np.random.Generator) -> Array:
    """Random matrix with orthonormal rows or columns, whichever are fewer."""
    gaussian = rng.standard_normal((max(rows, columns), min(rows, columns)))
    Q, R = np.linalg.qr(gaussian)
    Q = Q * np.where(np.diag(R) < 0, -1.0, 1.0)  # uniform over rotations, not LAPACK's choice
    return np.ascontiguousarray(Q if rows >= columns else Q.T)


def paper_start(
    k: int, l: int, m: int, d: int, rng: np.random.Generator, floor: float = 10.0
) -> PaperState:
    """State before the first sample (section 4): random orthonormal weights, no lateral inhibition.

    Examples
    --------
    >>> import numpy as np
    >>> state = paper_start(k=4, l=3, m=3, d=3, rng=np.random.default_rng(0))
    >>> bool(np.allclose(state.W_hx @ state.W_hx.T, np.eye(3)))
    True
    """
    return PaperState(
        t=0,
        x_bar=np.zeros(k),
        h_bar=np.zeros(l),
        g_bar=np.zeros(m),
        W_hx=orthonormal(l, k, rng),
        W_hg=orthonormal(l, m, rng),
        W_yh=orthonormal(d, l, rng),
        W_yy=np.zeros((d, d)),
        D=np.full(d, floor),
        fired=np.zeros(d, dtype=bool),
    )


def paper_step(
    state: PaperState,
    x: Array,
    *,
    alpha: float = 0.0,
    whitening: tuple[float, float] = (100.0, 1.0),
    separation: tuple[float, float] = (10.0, 0.8),
    separation_in_time: bool = False,
    as_printed: bool = False,
    flip: bool = True,
    tol: float = 1e-10,
    max_sweeps: int = 10_000,
) -> tuple[Array, PaperState]:
    """One sample through the two-layer network: outputs first, then learning.

    Parameters
    ----------
    state : PaperState
    x : array (k,)
    alpha : float
        See :func:`prewhitening_matrix`.
    whitening : (a, b)
        Rate 1 / (a + b t) of layer 1, eq. ``timedep``.
    separation : (a, b)
        Layer 2: (a~, b~) of eq. ``activitydep``; with ``separation_in_time`` (a, b) of eq. ``timedep``.
    as_printed : bool
        Take :func:`activity_as_printed`, the minimum, where :func:`activity` is meant.
    flip : bool
        Whether to flip the inputs of neurons that have never fired.
    tol, max_sweeps
        Of the coordinate descent, see :func:`nsm_fixed_point`.

    Returns
    -------
    y : array (d,)
        Output of this sample, with the weights from before it.
    state : PaperState
        A new one; the old is untouched.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> state = paper_start(k=3, l=3, m=3, d=3, rng=rng)
    >>> y, state = paper_step(state, rng.standard_normal(3))
    >>> bool((y >= 0).all()), state.t
    (True, 1)
    """
    # The networks settle: layer 1, then layer 2 on top of it.
    h, g = prewhitening_fixed_point(x, state.W_hx, state.W_hg, alpha)  # fullFirst
    y = nsm_fixed_point(h, state.W_yh, state.W_yy, tol=tol, max_sweeps=max_sweeps)  # NSMdynamics

    # Each neuron and each synapse updates its mean: fullFirstbar.
    t = state.t + 1
    x_bar = running_mean(state.x_bar, x, t)
    h_bar = running_mean(state.h_bar, h, t)
    g_bar = running_mean(state.g_bar, g, t)

    # Layer 1 learns from activities less their means: fullFirstW.
    W_hx, W_hg = update_whitening_weights(
        state.W_hx, state.W_hg, x - x_bar, h - h_bar, g - g_bar, time_rate(t, *whitening)
    )

    # Layer 2 learns from the activities themselves: fullNSMW.
    d = len(y)
    if separation_in_time:
        D = time_activity(t, d, *separation)
    else:
        D = (activity_as_printed if as_printed else activity)(state.D, y, *separation)
    W_yh, W_yy = update_nsm_weights(state.W_yh, state.W_yy, y, h, D)

    fired = state.fired | (y > 0)
    if flip and np.any(x != 0):
        W_yh = flip_silent(W_yh, fired)

    state = replace(
        state,
        t=t, x_bar=x_bar, h_bar=h_bar, g_bar=g_bar,
        W_hx=W_hx, W_hg=W_hg, W_yh=W_yh, W_yy=W_yy, D=D, fired=fired,
    )  # fmt: skip
    return y, state


def unmixing(W_yh: Array, W_yy: Array, F: Array) -> Array:
    r"""Linear map from channels to sources that the weights hold at stationarity.

    .. math:: U = (I + W^{YY})^{-1}\, W^{YH} F

    At the solution no output is ever cut off, so the fixed point of eq. ``NSMdynamics`` is linear in x.
    Its pseudoinverse estimates the mixing matrix A.

    Parameters
    ----------
    W_yh : array (d, l)
    W_yy : array (d, d)
    F : array (l, k)
        From :func:`prewhitening_matrix`.

    Examples
    --------
    >>> import numpy as np
    >>> unmixing(np.eye(2), np.zeros((2, 2)), 2 * np.eye(2))
    array([[2., 0.],
           [0., 2.]])
    """
    return np.asarray(np.linalg.solve(np.eye(len(W_yy)) + W_yy, W_yh @ F), np.float64)


__all__ = [
    "PaperState",
    "orthonormal",
    "paper_start",
    "paper_step",
    "prewhitening_matrix",
    "unmixing",
]
