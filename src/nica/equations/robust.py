"""What ``start="warm"`` adds to the paper's network: none of this is in the paper.

The paper starts from random weights of unit size and averages everything it sees with equal weight.
That fails when the input is a hundred times too large or small, badly conditioned, or begins with an
accident. The rules here make the network right from almost any beginning, and they leave its equations
alone: at the solution, with clean data, every rule is silent.

Warm-up
    Hold the first samples; read the scale, the mean and the covariance off them robustly; start layer 1
    in the *stationary* state for that covariance (:func:`warm_start`).
Exact means
    h̄ = F x̄ and ḡ = Wgh h̄ with the weights as they are, instead of the running averages of eq.
    ``upd8``, which lag behind the weights.
Outlier weight
    A sample far outside the cloud teaches little (:func:`outlier_weight`).
Bounded outputs
    Layer 2 learns nothing that is far longer than its input (:func:`bounded`).
Growing memory
    Layer 2 averages over few samples first, over 15 d in the end (:func:`memory`).
Revival
    A neuron that sits on the negative of a source, or has never fired, has its inputs flipped.
Restart
    When most samples have become outliers, the world has changed: hold new samples, start again; if
    that happens again soon, from more of them (:func:`hold_more`).
Idle
    A sensor that repeats one value for long says nothing: nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nica.equations.network import orthonormal
from nica.equations.nsm import activity, flip_silent, nsm_fixed_point, update_nsm_weights
from nica.equations.warmup import warm_start, warm_start_rank
from nica.equations.whitening import (
    prewhitening_fixed_point,
    running_mean,
    time_rate,
    update_whitening_weights,
)

Array = NDArray[np.float64]

REVIVAL_INTERVAL = 16  #: samples between two looks for neurons on the negative of a source
SLOW = 10  #: times as many samples as it was made from, that a start should last for
MOST_HELD = 256  #: times the warm-up, that are held at most
STRAY = 1.6  #: running average of the bounded squared distance beyond which the mixture has jumped
FARTHEST = 16.0  #: squared distance that a sample counts for at most there


@dataclass(frozen=True)
class RobustParameters:
    """Constants of the robust step; the defaults were measured, see the documentation.

    Examples
    --------
    >>> RobustParameters(k=3, d=3).hold
    30
    """

    k: int  #: channels
    d: int  #: sources
    l: int = 0  #: principal neurons (0: d)
    m: int = 0  #: interneurons (0: l)
    alpha: float = 0.0
    rate: tuple[float, float] = (0.0, 2.0)  #: (a, b) of the whitening rate
    half_life: float = np.inf  #: samples after which half of the past is forgotten
    flip: bool = True
    kappa: float = 10.0  #: beyond so many standard deviations a sample is an outlier, in the end
    kappa_first: float = 5.0  #: and at first, see :func:`outlier_limit`
    idle: int = 20  #: identical samples after which nothing is learned

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", self.l or self.d)
        object.__setattr__(self, "m", self.m or self.l)

    @property
    def hold(self) -> int:
        """Samples that the warm-up holds."""
        return max(30, 10 * self.d, 5 * self.k if self.k > self.d else 0)

    @property
    def memory(self) -> tuple[float, float, float]:
        """Memory of layer 2, in samples: at the start, growth per sample, at most."""
        first = max(10.0, 1.5 * self.d)
        return first, 0.001, max(first, min(15.0 * self.d, self.half_life / (4 * np.log(2))))

    @property
    def rate_minimum(self) -> float:
        """Floor under the rates of layer 1 and the means."""
        return float(-np.expm1(-np.log(2) / self.half_life))

    @property
    def revival(self) -> int:
        """Samples over which the revival rule averages."""
        return max(100, 10 * self.d)

    @property
    def renewal(self) -> float:
        """Samples that count as seen after a jump; infinite without a half-life."""
        return max(float(self.hold), self.half_life / 8)


def _nothing() -> Array:
    return np.empty(0)


def _never() -> NDArray[np.bool_]:
    return np.empty(0, dtype=bool)


@dataclass(frozen=True)
class RobustState:
    """All that the robust network remembers between two samples."""

    held: Array  #: (n, k) samples of the warm-up, or of a suspension
    target: int  #: samples to hold before the next (re)start
    basis: int = 0  #: samples of the last start
    starts: int = 0  #: warm starts so far; during the first warm-up all that follows is empty
    t: int = 0  #: samples learned
    gain: Array = field(default_factory=_nothing)  #: (k,) scale of the channels, frozen at a start
    x_bar: Array = field(default_factory=_nothing)  #: (k,)
    W_hx: Array = field(default_factory=_nothing)  #: (l, k)
    W_hg: Array = field(default_factory=_nothing)  #: (l, m)
    W_yh: Array = field(default_factory=_nothing)  #: (d, l)
    W_yy: Array = field(default_factory=_nothing)  #: (d, d)
    D: Array = field(default_factory=_nothing)  #: (d,)
    fired: NDArray[np.bool_] = field(default_factory=_never)
    positive: Array = field(default_factory=_nothing)  #: (d,) running average of y²
    negative: Array = field(
        default_factory=_nothing
    )  #: (d,) running average of the net input's negative part, squared
    flipped: Array = field(default_factory=_nothing)  #: (d,) time of the last flip
    stray: float = 1.0  #: running average of s², by which a jump is noticed
    renewed: float = 0.0  #: time from which the rates count
    outlying: float = 0.0  #: q, share of recent samples far outside
    suspended: bool = False
    far: int = 0  #: outlying samples among the held ones of a suspension
    repeats: int = 0  #: identical samples in a row
    last: Array = field(default_factory=_nothing)  #: last sample seen


def robust_start(p: RobustParameters) -> RobustState:
    """State before the first sample: nothing known, nothing held.

    Examples
    --------
    >>> robust_start(RobustParameters(k=3, d=3)).target
    30
    """
    return RobustState(held=np.empty((0, p.k)), target=p.hold)


def outlier_limit(t: float, d: int, first: float = 5.0, most: float = 10.0) -> float:
    r"""Distance, in standard deviations, beyond which a sample is an outlier at time ``t``.

    .. math:: \kappa_t^2 = \min\big(\kappa^2,\ 1 + \kappa_1 \sqrt{3 t / d}\big)

    ``t`` is in units of the warm-up. Early on little is known, and starting again costs little. The mean
    of s² is one, and it scatters by about the root of 1/d.

    Examples
    --------
    >>> outlier_limit(0, d=3), round(outlier_limit(1, d=3) ** 2, 12), outlier_limit(1e6, d=3)
    (1.0, 6.0, 10.0)
    """
    return float(np.sqrt(min(1 + first * np.sqrt(3 * t / d), most**2)))


def outlier_weight(distance: float, limit: float = 10.0) -> float:
    r"""Weight w of a sample that lies ``distance`` standard deviations from the mean.

    .. math:: w = 1 \ (s \le \kappa_t), \qquad w = (\kappa_t / s)^4 \ (s > \kappa_t)

    The sample counts as the fraction w of a sample: every rate is multiplied by w. What it teaches the
    covariance, w s², falls with its distance.

    Examples
    --------
    >>> outlier_weight(2.0), outlier_weight(20.0)
    (1.0, 0.0625)
    """
    return 1.0 if distance <= limit else (limit / distance) ** 4


def bounded(y: Array, h: Array) -> Array:
    """Outputs as layer 2 learns them: at most twice as long as its input.

    At the solution y is h rotated, and as long. What is far longer comes from weights that are nearly
    singular, as they become when all samples lie in one direction.

    Examples
    --------
    >>> import numpy as np
    >>> bounded(np.array([300.0]), np.array([1.0]))
    array([2.])
    """
    longest = 2 * float(np.linalg.norm(h))
    length = float(np.linalg.norm(y))
    return y if length <= longest else y * (longest / length)


def memory(t: float, first: float, growth: float, most: float) -> float:
    """Samples over which layer 2 averages at time ``t``; its forgetting is 1 - 1/memory.

    Examples
    --------
    >>> memory(0, 10, 0.001, 30), memory(5000, 10, 0.001, 30), memory(10**6, 10, 0.001, 30)
    (10.0, 15.0, 30.0)
    """
    return float(min(first + growth * t, most))


def robust_step(
    state: RobustState, x: Array, p: RobustParameters, seed: int, *, tol: float = 1e-12
) -> tuple[Array, RobustState]:
    """One sample through the network with all the rules of this module.

    Parameters
    ----------
    state : RobustState
    x : array (k,)
    p : RobustParameters
    seed : int
        Random weights are drawn from ``(seed, number of the start)`` at each warm start.
    tol : float
        Of the coordinate descent.

    Returns
    -------
    y : array (d,)
        Zeros during the warm-up.
    state : RobustState

    Examples
    --------
    >>> import numpy as np
    >>> p = RobustParameters(k=2, d=2)
    >>> state = robust_start(p)
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(100):
    ...     y, state = robust_step(state, rng.exponential(size=2), p, seed=0)
    >>> state.t
    100
    """
    same = np.array_equal(x, state.last)
    state = replace(state, last=x, repeats=state.repeats + 1 if same else 0)
    if not state.starts:
        return np.zeros(p.d), _hold(state, x, same, p, seed)

    # The networks settle as in the paper, on the input in the scale that was frozen at the start.
    z = state.gain * x
    h, g = prewhitening_fixed_point(z, state.W_hx, state.W_hg, p.alpha)
    y = nsm_fixed_point(h, state.W_yh, state.W_yy, tol=tol)

    # How far outside is this sample? Exact means: h_bar = F x_bar.
    h_bar, g_bar = prewhitening_fixed_point(state.x_bar, state.W_hx, state.W_hg, p.alpha)
    s = float(np.linalg.norm(h - h_bar) / np.sqrt(p.d))
    limit = outlier_limit(state.t / p.hold, p.d, p.kappa_first, p.kappa)
    w = outlier_weight(s, limit)

    if state.repeats >= p.idle:
        return y, state
    if not state.suspended:
        q = state.outlying + (float(s > limit) - state.outlying) / 10
        state = replace(state, outlying=q, suspended=q > 0.5)
    if state.suspended:
        far = state.far + int(not same and s > limit)
        return y, _hold(replace(state, far=far), x, same, p, seed)

    # After a jump the rates start over.
    stray = state.stray + (min(s**2, FARTHEST) - state.stray) / p.renewal
    if stray > STRAY and state.t - state.renewed > 2 * p.renewal:
        state = replace(state, renewed=state.t - p.renewal)
        stray = 1.0

    # Means, layer 1 and layer 2 learn as in the paper, from the fraction w of a sample.
    t = state.t + 1
    age = t - state.renewed
    x_bar = state.x_bar + w * (running_mean(state.x_bar, z, age, p.rate_minimum) - state.x_bar)
    h_bar, g_bar = prewhitening_fixed_point(x_bar, state.W_hx, state.W_hg, p.alpha)
    rate = w * time_rate(age, *p.rate, minimum=p.rate_minimum)
    W_hx, W_hg = update_whitening_weights(
        state.W_hx, state.W_hg, z - x_bar, h - h_bar, g - g_bar, rate
    )
    root = np.sqrt(w)
    learned = bounded(y, h)
    D = activity(state.D, root * learned, p.memory[0], 1 - w / memory(age, *p.memory))
    W_yh, W_yy = update_nsm_weights(state.W_yh, state.W_yy, root * learned, root * h, D)

    # Revival: flip a neuron that sits on the negative of a source, or has never fired.
    net = state.W_yh @ h - state.W_yy @ y
    positive = state.positive + w * (learned**2 - state.positive) / p.revival
    negative = state.negative + w * (np.minimum(net, 0) ** 2 - state.negative) / p.revival
    flipped = state.flipped
    fired = state.fired | ((y > 0) & bool(np.any(x != 0)))
    if p.flip:
        turn = ~fired & np.any(x != 0)
        if t % REVIVAL_INTERVAL == 0:
            turn |= (negative > 4 * positive) & (negative > 0.1) & (t - flipped >= p.revival)
        W_yh = flip_silent(W_yh, ~turn)
        positive, negative = np.where(turn, 0.0, positive), np.where(turn, 0.0, negative)
        flipped = np.where(turn, t, flipped)

    state = replace(
        state,
        t=t, stray=stray, x_bar=x_bar, W_hx=W_hx, W_hg=W_hg, W_yh=W_yh, W_yy=W_yy, D=D, fired=fired,
        positive=positive, negative=negative, flipped=flipped,
    )  # fmt: skip
    return y, state


def _hold(state: RobustState, x: Array, same: bool, p: RobustParameters, seed: int) -> RobustState:
    """Hold a sample that differs from the one before; (re)start when enough are held."""
    if same:
        return state
    state = replace(state, held=np.vstack([state.held, x]))
    n = len(state.held)
    if n < state.target:
        return state
    if state.suspended and state.far <= n / 2:  # a burst that has passed: go on
        return replace(
            state, held=state.held[:0], target=p.hold, suspended=False, outlying=0.0, far=0
        )
    if hold_more(state.held, min(p.d, p.k), p.hold, state.t, state.basis):
        return replace(state, target=2 * state.target)
    return start(state, p, seed)


def hold_more(held: Array, d: int, hold: int, t: int, basis: int) -> bool:
    """Tell whether a start should wait for twice as many samples.

    Either some source has not shown itself yet. Or the last start, from ``basis`` samples, did not
    last for ten times as many: then the world has hardly changed again so soon, but is slow (an
    appliance that runs for an hour), and the start saw too little of it. The next one sees twice as
    much.

    Parameters
    ----------
    held : array (n, k)
    d, hold : int
        Sources, and samples that the warm-up holds.
    t, basis : int
        Samples learned up to now, and held by the last start; 0 before the first.

    Examples
    --------
    >>> import numpy as np
    >>> held = np.random.default_rng(0).exponential(size=(30, 3))
    >>> hold_more(held, 3, 30, 0, 0), hold_more(held, 3, 30, 50, 30), hold_more(held, 3, 30, 500, 30)
    (False, True, False)
    """
    n = len(held)
    if n >= MOST_HELD * hold:
        return False
    unseen = n < 16 * hold and warm_start_rank(held) < d
    return unseen or (t < SLOW * basis and n < 2 * basis)


def start(state: RobustState, p: RobustParameters, seed: int) -> RobustState:
    """Start the network from the held samples."""
    rng = np.random.default_rng([seed, state.starts])
    gain, x_bar, W_hx, W_hg = warm_start(state.held, p.d, p.l, p.m, p.alpha, rng)
    return replace(
        state,
        held=state.held[:0], target=p.hold, starts=state.starts + 1,
        t=max(len(state.held), p.hold), basis=len(state.held),
        gain=gain, x_bar=x_bar, W_hx=W_hx, W_hg=W_hg,
        W_yh=orthonormal(p.d, p.l, rng), W_yy=np.zeros((p.d, p.d)), D=np.full(p.d, p.memory[0]),
        fired=np.zeros(p.d, dtype=bool), positive=np.zeros(p.d), negative=np.zeros(p.d),
        flipped=np.zeros(p.d), stray=1.0, renewed=0.0, outlying=0.0, suspended=False, far=0,
    )  # fmt: skip


__all__ = [
    "RobustParameters",
    "RobustState",
    "hold_more",
    "memory",
    "outlier_weight",
    "robust_start",
    "robust_step",
    "start",
    "warm_start",
]
