"""The online algorithms that the paper compares itself with (section 4), which it only cites.

Of each there is the learning rule (``update_...``) and one sample through it (``..._step``). All take the
rate 1 / (a + b t) of eq. ``timedep``. Two want white input with its mean kept, as the second layer of the
paper does; the other two take the mixture itself. Three learn from input less its mean, and decode the
input as it came, because sources are nonnegative only with their mean:

====================  ==========  ==========  ===========================================
rule                  white       centred     outputs
====================  ==========  ==========  ===========================================
nonnegative PCA       yes         no          max(W z, 0)
online FastICA        yes         yes         W z, signs by their means
Infomax               no          yes         W x, signs by their means, variances by an average
Linsker's network     no          yes         the same
====================  ==========  ==========  ===========================================

As everywhere, outputs are computed with the weights from before the sample; then means, then weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nica.equations.network import orthonormal
from nica.equations.nsm import flip_silent
from nica.equations.warmup import clean
from nica.equations.whitening import running_mean, time_rate

Array = NDArray[np.float64]

KURTOSIS_MEMORY = 1000  #: samples over which the sign of FastICA's nonlinearity is learned


@dataclass(frozen=True)
class RivalState:
    """All that a rival remembers between two samples."""

    t: int  #: samples seen
    z_bar: Array  #: (l,) mean of the input
    W: Array  #: (d, l) weights
    fired: NDArray[np.bool_]  #: (d,) nonnegative PCA: whether each output has fired yet
    kurtosis: Array  #: (d,) FastICA: running average of u⁴ - 3 u²
    Q: Array  #: (d, d) Linsker: lateral weights, average of u uᵀ; Infomax: its diagonal alone


def rival_start(l: int, d: int, rng: np.random.Generator) -> RivalState:
    """State before the first sample: random orthonormal weights, as for the paper's own networks.

    Examples
    --------
    >>> import numpy as np
    >>> state = rival_start(l=3, d=2, rng=np.random.default_rng(0))
    >>> bool(np.allclose(state.W @ state.W.T, np.eye(2)))
    True
    """
    return RivalState(
        t=0,
        z_bar=np.zeros(l),
        W=orthonormal(d, l, rng),
        fired=np.zeros(d, dtype=bool),
        kurtosis=np.zeros(d),
        Q=np.eye(d),
    )


def scaled_start(held: Array, rng: np.random.Generator) -> tuple[float, Array]:
    """What ``start="warm"`` reads off the first samples for a rule that gets no white input.

    The scale of the input; and weights whose outputs have unit variance on these samples, random but for
    that, so that no direction begins far too weak. A direction below a hundredth of the largest is noise,
    or empty.

    Parameters
    ----------
    held : array (n, k)
    rng : Generator

    Returns
    -------
    gain : float
    W : array (k, k), for the input times gain

    Examples
    --------
    >>> import numpy as np
    >>> held = np.random.default_rng(0).exponential(size=(30, 2)) * [1e6, 3e5]
    >>> gain, W = scaled_start(held, np.random.default_rng(1))
    >>> bool(np.allclose(np.cov(gain * W @ clean(held).T, bias=True), np.eye(2)))
    True
    """
    R = clean(held)
    R = R - R.mean(axis=0)
    gain = 1.0 / (float(np.sqrt(np.mean(R**2))) or 1.0)
    _, s, Vt = np.linalg.svd(gain * R / np.sqrt(len(R)), full_matrices=False)
    s, Vt = np.pad(s, (0, R.shape[1] - len(s))), np.pad(Vt, ((0, R.shape[1] - len(Vt)), (0, 0)))
    Q = orthonormal(R.shape[1], R.shape[1], rng)
    return gain, np.ascontiguousarray((Q / np.maximum(s, max(0.01 * s[0], 1e-300))) @ Vt)


# ----------------------------------------------------------------------------- nonnegative PCA


def update_nonnegative_pca(W: Array, y: Array, z: Array, rate: float) -> Array:
    r"""Learning rule of nonnegative PCA (Plumbley & Oja 2004).

    .. math:: W \leftarrow W + \eta\, (y z^\top - y y^\top W), \qquad y = \max(W z, 0)

    Not local: the synapse from j to i sees the outputs and the weights of all other neurons, in yᵀW.

    Parameters
    ----------
    W : array (d, l)
    y : array (d,), y >= 0
    z : array (l,), white, its mean kept
    rate : float

    Examples
    --------
    >>> import numpy as np
    >>> update_nonnegative_pca(np.eye(2), np.array([2.0, 0.0]), np.array([2.0, 1.0]), 0.1)
    array([[1. , 0.2],
           [0. , 1. ]])
    """
    return W + rate * (np.outer(y, z) - np.outer(y, y @ W))


def nonnegative_pca_step(
    state: RivalState, z: Array, a: float, b: float, *, flip: bool = True
) -> tuple[Array, RivalState]:
    """One sample through nonnegative PCA; neurons that have never fired are flipped.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, state = nonnegative_pca_step(rival_start(3, 3, rng), rng.exponential(size=3), 10, 0.1)
    >>> bool((y >= 0).all()), state.t
    (True, 1)
    """
    t = state.t + 1
    y = np.maximum(state.W @ z, 0.0)
    W = update_nonnegative_pca(state.W, y, z, time_rate(t, a, b))
    fired = state.fired | (y > 0)
    if flip and np.any(z != 0):
        W = flip_silent(W, fired)
    return y, replace(state, t=t, z_bar=running_mean(state.z_bar, z, t), W=W, fired=fired)


# ------------------------------------------------------------------------------ online FastICA


def symmetric_orthonormal(W: Array) -> Array:
    r"""Nearest matrix with orthonormal rows, :math:`(W W^\top)^{-1/2}\, W`.

    Examples
    --------
    >>> import numpy as np
    >>> symmetric_orthonormal(np.array([[0.0, 2.0], [-3.0, 0.0]]))
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    U, _, Vt = np.linalg.svd(W, full_matrices=False)
    return np.asarray(U @ Vt + 0.0, np.float64)


def update_fastica(W: Array, kurtosis: Array, u: Array, dz: Array, rate: float) -> Array:
    r"""Learning rule of online FastICA (Hyvärinen & Oja 1998), with the cubic nonlinearity.

    .. math:: W \leftarrow W + \eta\, \mathrm{diag}(\sigma)\, g(u)\, \delta z^\top, \qquad
              W \leftarrow (W W^\top)^{-1/2}\, W, \qquad g(u) = u^3, \quad u = W \delta z

    The sign σ of each neuron is that of the running mean of u g(u) - g'(u) = u⁴ - 3 u², the kurtosis of
    its output: negative for sub-Gaussian sources.

    Parameters
    ----------
    W : array (d, l), orthonormal rows
    kurtosis : array (d,)
    u : array (d,)
    dz : array (l,), white and centred
    rate : float

    Examples
    --------
    >>> import numpy as np
    >>> dz = np.array([1.0, 0.0])
    >>> update_fastica(np.eye(2), np.ones(2), dz, dz, 0.1)
    array([[1., 0.],
           [0., 1.]])
    """
    sign = np.where(kurtosis < 0, -1.0, 1.0)
    return symmetric_orthonormal(W + rate * np.outer(sign * u**3, dz))


def fastica_step(state: RivalState, z: Array, a: float, b: float) -> tuple[Array, RivalState]:
    """One sample through online FastICA.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, state = fastica_step(rival_start(3, 3, rng), rng.exponential(size=3), 100, 0.01)
    >>> bool(np.allclose(state.W @ state.W.T, np.eye(3)))
    True
    """
    y = positive_mean(state.W, state.z_bar) @ z
    t = state.t + 1
    z_bar = running_mean(state.z_bar, z, t)
    u = state.W @ (z - z_bar)
    kurtosis = running_mean(state.kurtosis, u**4 - 3 * u**2, t, 1 / KURTOSIS_MEMORY)
    W = update_fastica(state.W, kurtosis, u, z - z_bar, time_rate(t, a, b))
    return y, replace(state, t=t, z_bar=z_bar, kurtosis=kurtosis, W=W)


def positive_mean(W: Array, z_bar: Array) -> Array:
    """Rows of W with the sign that makes the mean output positive: sources are nonnegative.

    Examples
    --------
    >>> import numpy as np
    >>> positive_mean(np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([2.0, 3.0]))
    array([[ 1.,  0.],
           [-0.,  1.]])
    """
    return np.where(W @ z_bar < 0, -1.0, 1.0)[:, None] * W


# ------------------------------------------------------------------------------------- Infomax


def update_infomax(W: Array, u: Array, rate: float) -> Array:
    r"""Learning rule of Infomax by the natural gradient (Bell & Sejnowski 1995, Cichocki et al. 1996).

    .. math:: W \leftarrow W + \eta\, (I - f(u)\, u^\top)\, W, \qquad f(u) = u^3, \quad u = W \delta x

    The cube suits sub-Gaussian sources. Not local: a synapse sees, in uᵀW, all outputs and weights.

    Parameters
    ----------
    W : array (d, d)
    u : array (d,)
    rate : float

    Examples
    --------
    >>> import numpy as np
    >>> update_infomax(np.eye(2), np.array([1.0, 2.0]), 0.1)
    array([[ 1. , -0.2],
           [-0.8, -0.5]])
    """
    return W + rate * (W - np.outer(u**3, u @ W))


def infomax_step(state: RivalState, x: Array, a: float, b: float) -> tuple[Array, RivalState]:
    """One sample through Infomax; outputs are scaled to unit variance by a running average of u².

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, state = infomax_step(rival_start(3, 3, rng), rng.exponential(size=3), 1000, 0.2)
    >>> y.shape, state.t
    ((3,), 1)
    """
    y = (positive_mean(state.W, state.z_bar) @ x) / np.sqrt(np.diag(state.Q))
    t = state.t + 1
    x_bar, rate = running_mean(state.z_bar, x, t), time_rate(t, a, b)
    u = state.W @ (x - x_bar)
    Q = np.diag(running_mean(np.diag(state.Q), u**2, t + 1, rate))
    return y, replace(state, t=t, z_bar=x_bar, Q=Q, W=update_infomax(state.W, u, rate))


# --------------------------------------------------------------------------- Linsker's network


def linsker_relaxation(u: Array, Q: Array, *, tol: float = 1e-10, max_steps: int = 10_000) -> Array:
    r"""Lateral relaxation of Linsker's network (1997), which rests at :math:`v = Q^{-1} u`.

    .. math:: v \leftarrow v + \rho\, (u - Q v), \qquad \rho = 1 / \mathrm{tr}\, Q

    from v = 0. His v is ours divided by ρ: v ← v + u - ρ Q v. Any ρ below 2 / λ_max(Q) converges, and
    1 / tr Q is. It ends when no velocity exceeds ``tol`` times (1 + the largest u).

    Parameters
    ----------
    u : array (d,)
    Q : array (d, d), symmetric and positive definite
    tol : float
    max_steps : int

    Examples
    --------
    >>> import numpy as np
    >>> np.round(linsker_relaxation(np.array([1.0, 3.0]), np.diag([1.0, 2.0])), 6)
    array([1. , 1.5])
    """
    rho, limit = 1 / np.trace(Q), tol * (1.0 + np.max(np.abs(u)))
    v = np.zeros(len(u))
    for _ in range(max_steps):
        velocity = u - Q @ v
        v = v + rho * velocity
        if np.max(np.abs(velocity)) <= limit:
            break
    return v


def update_linsker(
    W: Array, Q: Array, u: Array, v: Array, dx: Array, rate: float, share: float
) -> tuple[Array, Array]:
    r"""Learning rules of Linsker's network: Infomax by the ordinary gradient, made local.

    .. math:: W \leftarrow W + \eta\, (v - u^3)\, \delta x^\top, \qquad
              Q \leftarrow Q + \mu\, (u u^\top - Q), \qquad v = Q^{-1} u

    because :math:`\langle Q^{-1} u\, \delta x^\top\rangle = W^{-\top}`, the gradient of
    :math:`\log |\det W|`.

    Parameters
    ----------
    W : array (d, d)
    Q : array (d, d)
    u, v : arrays (d,)
        Feedforward activity, and what it relaxes to.
    dx : array (d,)
    rate, share : float

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> update_linsker(np.eye(1), np.eye(1), one, 3 * one, 2 * one, rate=0.5, share=0.5)
    (array([[3.]]), array([[1.]]))
    """
    W = W + rate * np.outer(v - u**3, dx)
    Q = Q + share * (np.outer(u, u) - Q)
    return W, Q


def linsker_step(
    state: RivalState,
    x: Array,
    a: float,
    b: float,
    *,
    tol: float = 1e-10,
    max_steps: int | None = None,
) -> tuple[Array, RivalState]:
    """One sample through Linsker's network; outputs are scaled by the diagonal of Q.

    The relaxation is iterated if ``max_steps`` is given; else where it rests is solved for.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, state = linsker_step(rival_start(3, 3, rng), rng.exponential(size=3), 1000, 0.2)
    >>> y.shape, state.t
    ((3,), 1)
    """
    y = (positive_mean(state.W, state.z_bar) @ x) / np.sqrt(np.diag(state.Q))
    t = state.t + 1
    x_bar, rate = running_mean(state.z_bar, x, t), time_rate(t, a, b)
    u = state.W @ (x - x_bar)
    if max_steps is None:
        v = np.asarray(np.linalg.solve(state.Q, u), np.float64)
    else:
        v = linsker_relaxation(u, state.Q, tol=tol, max_steps=max_steps)
    W, Q = update_linsker(state.W, state.Q, u, v, x - x_bar, rate, max(1 / (t + 1), rate))
    return y, replace(state, t=t, z_bar=x_bar, W=W, Q=Q)
