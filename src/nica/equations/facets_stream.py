r"""The network of `nica.FacetNICA`: facets found sample by sample, by two layers of local rules.

Layer 1 makes as many numbers as there are sources, z = F x; it does not whiten. Layer 2 is lateral, of
the kind of Hérault and Jutten, but each neuron has a score of its own (`nica.equations.facets.judge`):

.. math:: (I + L)\, y = z + b, \qquad
    \Delta L_{ij} = c_i\, y_j / m_j \ (i \ne j), \qquad \Delta b_i = -c_i, \qquad
    c_i = \frac{\eta\, \sigma_i^2 \psi_i}{\kappa_i + \eta\, s}, \quad s = \sum_j y_j^2 / m_j

It rests where :math:`\langle \psi_i y_j \rangle = 0`, the zero of the gradient of the likelihood along
the tilts. All is known at the synapse, but for s, one number for all neurons, which divides: the mean
square :math:`m_j` of the presynaptic neuron, curvature :math:`\kappa_i = \langle \sigma^2 w \rangle`
and noise :math:`\sigma_i` of the postsynaptic one. Noise, tail, shares of silence and of outliers are
running averages of a neuron's own responsibilities. With the intercept synapse there is one more
presynaptic unit, which is always 1.

Every `UPKEEP` samples the parameters are read off the averages, and what the learning rule has added to
the diagonal of I + L is taken off again: it is a change of scale. Until then the inverse is kept by
Sherman and Morrison.

With more channels than sources layer 1 follows their subspace. What it does not explain of a sample,
e = x - G z, tilts it: :math:`\Delta G = a\, e\, (R z)^\top` with R the inverse of
:math:`\langle z z^\top \rangle` at the start; F stays the pseudoinverse of G, exactly, because e is
orthogonal to G. Samples without noise have e = 0: nothing moves. (A layer that goes on whitening would
shake all that comes after it.)

A sum over outliers, in units of how much more likely they are after a change than before (CUSUM), raises
the alarm when the mixture has changed: learning stops, new samples are held, and the network starts anew
from them, unless it was a burst that has passed. Native twin: core/facet_network.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nica.equations.facets import OUTLIER_LEAST, OUTLIER_MOST, SPIKE_LEAST, SPIKE_MOST, Row, judge

Array = NDArray[np.float64]

UPKEEP = 16  #: learned samples from one upkeep to the next
FIRST_RATE, SLOWING = 0.03, 5000.0  #: of lateral learning: at first, and samples until it is half
BLUR_KEPT = 0.992027936  #: of the least noise from one upkeep to the next: .9995 per sample
BLUR_LEAST, BLUR_MOST = 1e-9, 0.3  #: noise, in units of the tail's mean
CURVATURE_LEAST, POWER_LEAST = 0.05, 0.01
USUAL_LEAST, USUAL_MOST = 0.01, 0.4  #: shares of outliers that are no news
CHANGED = 0.3  #: share of the other samples that are outliers after a change
ALARMING = 18.4  #: log 1e8
FAR_RESIDUAL, FAR_SAMPLE = 25.0, 100.0  #: mean squares from which a sample teaches layer 1 less


@dataclass(frozen=True)
class FacetParameters:
    """What does not change while the network runs.

    Examples
    --------
    >>> FacetParameters(k=3, d=3).hold, FacetParameters(k=50, d=50).hold
    (1000, 1500)
    """

    k: int  #: channels
    d: int  #: sources
    offset: bool = False  #: whether each neuron learns an intercept
    half_life: float = np.inf  #: samples after which half of the past is forgotten
    idle: int = 20  #: identical samples after which nothing is learned

    @property
    def hold(self) -> int:
        """Samples that the warm-up holds."""
        return max(1000, 30 * self.d)

    @property
    def rate_minimum(self) -> float:
        """Floor under the rate of layer 1."""
        return float(-np.expm1(-np.log(2) / self.half_life))

    @property
    def share_minimum(self) -> float:
        """How much of its averages a sample is, at least; twice the least rate of lateral learning."""
        return min(self.rate_minimum, 0.05) if self.rate_minimum else 1e-3


@dataclass(frozen=True)
class FacetState:
    """All that the network remembers between two samples, once it has started."""

    t: float  #: samples learned, those of the start among them
    F: Array  #: (d, k) layer 1
    G: Array  #: (k, d) what layer 1 predicts its input from
    gram: Array  #: (d, d) S, the inverse of GᵀG
    precision: Array  #: (d, d) R
    K: Array  #: (d, d) I + L
    N: Array  #: (d, d) its inverse
    b: Array  #: (d,) intercepts
    sigma: Array  #: (d,) noise
    mu: Array  #: (d,) mean of the tail
    spike: Array  #: (d,) share of silence, π
    outlier: Array  #: (d,) share of outliers, ε
    bulk: Array  #: (d,) share of the bulk, β: as at the start, like its
    centre: Array  #: (d,) mean, and
    spread: Array  #: (d,) standard deviation
    floor: Array  #: (d,) least noise, in units of μ
    n0: Array  #: (d,) running averages of the responsibilities: of silence,
    n1: Array  #: (d,) of the tail
    n2: Array  #: (d,) of outliers;
    noise: Array  #: (d,) of the squared noise
    arrived: Array  #: (d,) of the source, as far as it is the tail
    power: Array  #: (d,) of y², outliers left out
    curvature: Array  #: (d,) of σ² w
    by_power: Array  #: (d,) 1/m, as of the last upkeep
    bend: Array  #: (d,) κ, as of the last upkeep
    rate: float  #: η
    share: float  #: of the averages, that a sample is
    usual: float  #: running share of outliers
    gained: float  #: by the alarm from an outlier
    lost: float  #: by the alarm from any other sample
    residue: float  #: running mean of |e|²
    mean: Array  #: (k,) running mean of the samples
    slow: float  #: rate of layer 1 and of the mean
    alarm: float = 0.0


def facet_start(
    X: Array, unmixing: Array, intercept: Array, rows: list[Row], p: FacetParameters, t: float
) -> FacetState:
    """State of the network that has this solution for the samples X, in their unit.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).exponential(size=(500, 2))
    >>> rows = [Row(0.1, 1.0, 0.3, 1e-3)] * 2
    >>> state = facet_start(X, np.eye(2), np.zeros(2), rows, FacetParameters(2, 2), t=500)
    >>> round(state.rate, 4), bool(np.all(state.n0 + state.n1 + state.n2 > 0.999))
    (0.0273, True)
    """
    Y = X @ unmixing.T + intercept
    judged = [judge(y, row) for y, row in zip(Y.T, rows, strict=True)]
    sigma, mu = np.array([row.sigma for row in rows]), np.array([row.mu for row in rows])
    Z = X @ unmixing.T
    G = np.asarray(np.linalg.pinv(unmixing), np.float64)
    size = np.linalg.norm(Z, axis=1)
    near = np.minimum(1, 3 * np.median(size) / np.maximum(size, 1e-300))[:, np.newaxis]
    left = np.sum((X - Z @ G.T) ** 2, axis=1)
    state = FacetState(
        t=t, F=unmixing, G=G, gram=unmixing @ unmixing.T,
        precision=np.linalg.pinv((near * Z).T @ (near * Z) / len(X)),
        K=np.eye(p.d), N=np.eye(p.d), b=intercept,
        sigma=sigma, mu=mu, spike=np.array([row.spike for row in rows]),
        outlier=np.array([row.outlier for row in rows]), bulk=np.array([row.bulk for row in rows]),
        centre=np.array([row.centre for row in rows]), spread=np.array([row.width for row in rows]),
        floor=np.clip(3 * sigma / mu, BLUR_LEAST, BLUR_MOST),
        n0=np.array([j.spike.mean() for j in judged]),
        n1=np.array([j.tail.mean() for j in judged]),
        n2=np.array([j.outlier.mean() for j in judged]),
        noise=np.array(
            [np.mean(j.spike * y**2 + j.tail * j.residue) for y, j in zip(Y.T, judged, strict=True)]
        ),
        arrived=np.array([np.mean(j.tail * j.source) for j in judged]),
        power=np.array([np.mean((1 - j.outlier) * y**2) for y, j in zip(Y.T, judged, strict=True)]),
        curvature=np.array(
            [np.mean(j.curvature) * row.sigma**2 for row, j in zip(rows, judged, strict=True)]
        ),
        by_power=np.empty(0), bend=np.empty(0), rate=0.0, share=0.0,
        usual=float(np.mean(np.max([j.outlier for j in judged], axis=0))), gained=0.0, lost=0.0,
        residue=float(np.mean(np.minimum(left, 9 * np.median(left)))),
        mean=X.mean(axis=0), slow=0.0,
    )  # fmt: skip
    return _synapses(_rates(state, p))


def facet_step(
    state: FacetState, x: Array, p: FacetParameters
) -> tuple[Array, FacetState, bool, bool]:
    """One sample through the network.

    Returns
    -------
    y : array (d,)
        As it is before it is cut off at zero.
    state : FacetState
    outlying, alarmed : bool
        Whether it was an outlier, and whether learning stops.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).exponential(size=(500, 2))
    >>> p = FacetParameters(2, 2)
    >>> start = facet_start(X, np.eye(2), np.zeros(2), [Row(0.1, 1.0, 0.3, 1e-3)] * 2, p, t=500)
    >>> y, state, outlying, alarmed = facet_step(start, np.array([1.0, 0.0]), p)
    >>> y.tolist(), outlying, bool(state.K[1, 0] == 0), bool(state.K[0, 1] == 0)
    ([1.0, 0.0], False, False, True)
    """
    z = state.F @ x
    y = state.N @ (z + state.b)
    judged = [judge(v, row) for v, row in zip(y, _rows(state), strict=True)]
    r0, r1, r2 = (np.array([getattr(j, n) for j in judged]) for n in ("spike", "tail", "outlier"))
    score, bend, source, residue = (
        np.array([getattr(j, n) for j in judged])
        for n in ("score", "curvature", "source", "residue")
    )
    presynaptic = y * state.by_power
    s = float(y @ presynaptic) + p.offset
    c = state.rate * state.sigma**2 * score / (state.bend + state.rate * s)

    outlying = float(np.max(r2))
    e = x - state.G @ z
    v = state.precision @ z
    weight, kept = 1.0, 0.0
    if p.k > p.d:
        outlying, weight = _subspace_weight(state, x, z, e, v, outlying)
        kept = weight
    g = state.share
    learned = replace(
        state,
        n0=state.n0 + g * (r0 - state.n0), n1=state.n1 + g * (r1 - state.n1),
        n2=state.n2 + g * (r2 - state.n2),
        noise=state.noise + g * (r0 * y**2 + r1 * residue - state.noise),
        arrived=state.arrived + g * (r1 * source - state.arrived),
        power=state.power + g * ((1 - r2) * y**2 - state.power),
        curvature=state.curvature + g * (state.sigma**2 * bend - state.curvature),
        residue=state.residue + g * kept * (float(e @ e) - state.residue),
        usual=state.usual + g * (outlying - state.usual),
        alarm=max(state.alarm + outlying * state.gained + (1 - outlying) * state.lost, 0.0),
    )  # fmt: skip
    if learned.alarm > ALARMING:
        return y, learned, outlying > 0.5, True
    whole = state.slow * (1 - outlying)
    learned = replace(learned, t=state.t + 1, mean=state.mean + whole * (x - state.mean))
    learned = update_lateral(learned, c, presynaptic, p.offset)
    if p.k > p.d:
        learned = tilt_subspace(learned, e, v, weight * state.slow)
    if learned.t % UPKEEP == 0:
        learned = _upkeep(learned, p)
    return y, learned, outlying > 0.5, False


def update_lateral(state: FacetState, c: Array, presynaptic: Array, offset: bool) -> FacetState:
    r"""Let :math:`I + L \leftarrow I + L + c\, \tilde y^\top`, and its inverse follow.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).exponential(size=(500, 2))
    >>> p = FacetParameters(2, 2)
    >>> state = facet_start(X, np.eye(2), np.zeros(2), [Row(0.1, 1.0, 0.3, 1e-3)] * 2, p, t=500)
    >>> state = update_lateral(state, np.array([0.1, 0.2]), np.array([1.0, 0.5]), offset=False)
    >>> bool(np.allclose(state.K @ state.N, np.eye(2)))
    True
    """
    Nc, yN = state.N @ c, presynaptic @ state.N
    grown = 1 + float(presynaptic @ Nc)
    if not grown > 0.1:
        return state
    return replace(
        state,
        K=state.K + np.outer(c, presynaptic),
        N=state.N - np.outer(Nc, yN) / grown,
        b=state.b - c if offset else state.b,
    )


def tilt_subspace(state: FacetState, e: Array, v: Array, a: float) -> FacetState:
    r"""Let :math:`G \leftarrow G + a\, e\, v^\top`, with e orthogonal to G; F and S follow exactly.

    .. math:: \gamma = a^2 |e|^2\, v^\top S v, \qquad
        F \leftarrow F + S v\, \frac{a\, e^\top - a^2 |e|^2\, v^\top F}{1 + \gamma}, \qquad
        S \leftarrow S - \frac{a^2 |e|^2}{1 + \gamma}\, S v\, v^\top S

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).exponential(size=(500, 3))
    >>> p = FacetParameters(3, 2)
    >>> state = facet_start(X, np.eye(2, 3), np.zeros(2), [Row(0.1, 1.0, 0.3, 1e-3)] * 2, p, t=500)
    >>> state = tilt_subspace(state, np.array([0.0, 0.0, 1.0]), np.array([1.0, 2.0]), 0.1)
    >>> bool(np.allclose(state.F, np.linalg.pinv(state.G)))
    True
    """
    Sv = state.gram @ v
    grown = a * a * float(e @ e)
    by = 1 / (1 + grown * float(v @ Sv))
    return replace(
        state,
        G=state.G + a * np.outer(e, v),
        F=state.F + np.outer(Sv, by * (a * e - grown * (v @ state.F))),
        gram=state.gram - grown * by * np.outer(Sv, Sv),
    )


def passed(far: int, held: int, usual: float) -> bool:
    """Tell whether what raised the alarm is over: not enough of the held samples are outliers.

    Examples
    --------
    >>> passed(20, 1000, 0.01), passed(600, 1000, 0.01)
    (True, False)
    """
    return far <= (usual + 0.5 * CHANGED * (1 - usual)) * held


def _subspace_weight(
    state: FacetState, x: Array, z: Array, e: Array, v: Array, outlying: float
) -> tuple[float, float]:
    """Whether the sample is an outlier, and how much it may tilt layer 1."""
    squares, size = float(e @ e), float(z @ v) / len(z)
    limit = FAR_RESIDUAL * state.residue
    weight = 1.0
    if squares > limit:
        outlying = max(outlying, float(squares > 1e-24 * float(x @ x)))
        weight = limit / squares
    if size > FAR_SAMPLE:
        weight *= FAR_SAMPLE / size
    return outlying, weight**2


def _rows(state: FacetState) -> list[Row]:
    known = (
        state.sigma,
        state.mu,
        state.spike,
        state.outlier,
        state.bulk,
        state.centre,
        state.spread,
    )
    return [Row(*row) for row in np.transpose(known)]


def _upkeep(state: FacetState, p: FacetParameters) -> FacetState:
    """Parameters from their averages; the diagonal of I + L is one again, and N its inverse."""
    floor = np.maximum(state.floor * BLUR_KEPT, BLUR_LEAST)
    near = state.n0 + state.n1
    mu = np.where(state.n1 > 1e-6, state.arrived / state.n1, state.mu)
    sigma = np.minimum(np.sqrt(np.maximum(state.noise / near, 0.0)), BLUR_MOST * mu)
    known = np.where(state.bulk > 0, 1 - state.n2, near)  # the rest is the bulk's, if there is one
    K = state.K.copy()
    np.fill_diagonal(K, 1.0)
    state = replace(
        state,
        floor=floor, mu=mu, sigma=np.maximum(sigma, floor * mu),
        spike=np.clip(state.n0 / known, SPIKE_LEAST, SPIKE_MOST * (1 - state.bulk)),
        outlier=np.clip(state.n2, OUTLIER_LEAST, OUTLIER_MOST),
        K=K, N=np.asarray(np.linalg.inv(K), np.float64),
    )  # fmt: skip
    return _synapses(_rates(state, p))


def _synapses(state: FacetState) -> FacetState:
    return replace(
        state,
        by_power=1 / np.maximum(state.power, POWER_LEAST * state.mu**2),
        bend=np.maximum(state.curvature, CURVATURE_LEAST),
    )


def _rates(state: FacetState, p: FacetParameters) -> FacetState:
    usual = min(max(state.usual, USUAL_LEAST), USUAL_MOST)
    after = usual + CHANGED * (1 - usual)
    return replace(
        state,
        share=max(p.share_minimum, 1 / (state.t + 10)),
        slow=max(p.rate_minimum, 1 / state.t),
        rate=max(0.5 * p.share_minimum, FIRST_RATE / (1 + state.t / SLOWING)),
        gained=float(np.log(after / usual)),
        lost=float(np.log((1 - after) / (1 - usual))),
    )


__all__ = [
    "FacetParameters",
    "FacetState",
    "facet_start",
    "facet_step",
    "passed",
    "tilt_subspace",
    "update_lateral",
]
