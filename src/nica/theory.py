"""What the paper predicts, before any sample is seen.

The weights at which the network stops learning (eq. stationaryWeights), how fast its activities
settle (eq. dynamicsdef, appendices A and B; eq. NSMdynamics), which directions of the input
the first layer keeps (appendix B), and whether a learning rule is local (section 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from sklearn.utils import check_array

__all__ = [
    "Locality",
    "Modes",
    "StationaryWeights",
    "alpha_threshold",
    "locality",
    "nsm_fixed_point_rate",
    "stationary_weights",
    "whitening_convergence_rate",
    "whitening_dynamics_eigenvalues",
]

FloatArray = NDArray[np.float64]


class StationaryWeights(NamedTuple):
    """Weights of the second layer, outputs in the order of the sources.

    Attributes
    ----------
    w_yh : ndarray of shape (n_sources, n_whitened)
        Feedforward weights.
    w_yy : ndarray of shape (n_sources, n_sources)
        Lateral weights, zero on the diagonal.
    """

    w_yh: FloatArray
    w_yy: FloatArray


class Modes(NamedTuple):
    """Principal directions of the input, and what the first layer makes of them.

    Attributes
    ----------
    input_variance : ndarray of shape (n_channels,)
        Eigenvalues of the input covariance, largest first.
    output_variance : ndarray of shape (n_channels,)
        Variance of each direction after whitening: 1 if it is kept, else 0.
    n_kept : int
        Number of directions kept: the number of sources, if alpha lies below all of them and
        above the noise.
    """

    input_variance: FloatArray
    output_variance: FloatArray
    n_kept: int


def stationary_weights(
    A: ArrayLike, F: ArrayLike, source_mean: ArrayLike, source_second_moment: ArrayLike
) -> StationaryWeights:
    r"""Predict the weights of the second layer at the solution (eq. stationaryWeights).

    .. math:: W^{YY}_{ij} = \frac{\langle s_i \rangle \langle s_j \rangle}{\langle s_i^2 \rangle},
        \qquad W^{YH}_{ij} = \frac{\langle s_i h_j \rangle}{\langle s_i^2 \rangle}
        = \sum_{k \ne i} (FA)_{jk} \frac{\langle s_k \rangle \langle s_i \rangle}
        {\langle s_i^2 \rangle} + (FA)_{ji}

    for uncorrelated sources. With these weights the outputs are the sources if F whitens the
    mixture, that is, if the sources have unit variance and FA has orthonormal columns.

    Parameters
    ----------
    A : array-like of shape (n_channels, n_sources)
        Mixing matrix.
    F : array-like of shape (n_whitened, n_channels)
        Whitening matrix (`nica.offline.whiten`).
    source_mean, source_second_moment : array-like of shape (n_sources,)
        Mean and mean square of each source.

    Returns
    -------
    StationaryWeights
        w_yh and w_yy, for outputs in the order of the sources; for a network with another order
        see `nica.metrics.align_weights`.

    Examples
    --------
    >>> import numpy as np
    >>> w_yh, w_yy = stationary_weights(np.eye(2), np.eye(2), [1.0, 1.0], [2.0, 2.0])
    >>> w_yh.tolist(), w_yy.tolist()
    ([[1.0, 0.5], [0.5, 1.0]], [[0.0, 0.5], [0.5, 0.0]])
    """
    A, F = _matrix("A", A), _matrix("F", F)
    if F.shape[1] != A.shape[0]:
        raise ValueError(
            f"F has {F.shape[1]} columns but A has {A.shape[0]} rows: both count channels"
        )
    mean, power = (
        _per_source("source_mean", source_mean, A),
        _per_source("source_second_moment", source_second_moment, A),
    )
    if np.any(power <= mean**2):
        raise ValueError("source_second_moment must exceed source_mean ** 2 for each source")
    w_yy = np.outer(mean, mean) / power[:, None]
    np.fill_diagonal(w_yy, 0.0)
    w_yh = (w_yy + np.eye(len(mean))) @ (F @ A).T
    return StationaryWeights(w_yh, w_yy)


def whitening_dynamics_eigenvalues(w_hg: ArrayLike, alpha: float = 0.0) -> NDArray[np.complex128]:
    r"""Eigenvalues of the two-population dynamics of the first layer (appendices A and B).

    Of the matrix

    .. math:: \begin{pmatrix} -\alpha I & -W^{HG} \\ W^{GH} & -I \end{pmatrix}, \qquad
        \lambda = -\tfrac{1 + \alpha}{2} \pm
        \sqrt{\tfrac{(1 + \alpha)^2}{4} - \alpha - \lambda_w}

    one pair for each of the min(l, m) largest eigenvalues :math:`\lambda_w` of
    :math:`W^{HG} W^{GH}`, zero ones included (their pair is :math:`-\alpha, -1`); the rest, l - m
    times :math:`-\alpha` or m - l times -1. This counts as the paper does, who takes
    :math:`\lambda_w > 0` apart: with rank r, it is r pairs, l - r times :math:`-\alpha` and m - r
    times -1. (Appendix A finds the m - d eigenvalues -1 in the null space of W_GH; it is that of
    W_HG. The count is right.)

    Parameters
    ----------
    w_hg : array-like of shape (n_whitened, n_interneurons)
        Weights from interneurons to principal neurons; W_GH is its transpose.
    alpha : float, default=0.0
        Leak of the principal neurons, not negative.

    Returns
    -------
    ndarray of complex, shape (n_whitened + n_interneurons,)
        Each as often as it occurs, sorted by real part, then imaginary part.

    Examples
    --------
    >>> whitening_dynamics_eigenvalues([[0.5, 0.0]]).real.tolist()
    [-1.0, -0.5, -0.5]
    """
    W = _matrix("w_hg", w_hg)
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha={alpha!r} must be finite and not negative")
    n_principal, n_inter = W.shape
    squared = np.linalg.svd(W, compute_uv=False) ** 2
    middle = -(1 + alpha) / 2
    # (1 + alpha)^2 / 4 - alpha is a square: written so, equal roots come out equal.
    root = np.sqrt(((1 - alpha) / 2) ** 2 - squared + 0j)
    fast = middle - root
    # The product of a pair is alpha + lambda_w: no cancellation in the slow one of a real pair.
    slow = np.where(root.real > 0, (alpha + squared) / fast, middle + root)
    rest = np.full(abs(n_principal - n_inter), -alpha if n_principal > n_inter else -1.0)
    return np.sort_complex(np.concatenate([slow, fast, rest]))


def whitening_convergence_rate(w_hg: ArrayLike, alpha: float = 0.0) -> float:
    r"""Rate at which the dynamics of the first layer settle (appendices A and B).

    The distance from the fixed point shrinks like :math:`e^{-r \gamma}` with
    :math:`r = -\max \mathrm{Re}\, \lambda`. Any :math:`\lambda_w \ge (1 - \alpha)^2 / 4` makes
    its pair oscillate and gives the most there is, :math:`r = (1 + \alpha) / 2`; smaller ones
    settle at :math:`r \approx \alpha + \lambda_w`: an ill-conditioned W_HG is slow, not unstable.

    Parameters
    ----------
    w_hg : array-like of shape (n_whitened, n_interneurons)
        Weights from interneurons to principal neurons.
    alpha : float, default=0.0
        Leak of the principal neurons, not negative.

    Returns
    -------
    float
        r; 0 if some direction never settles, which takes alpha = 0 and a W_HG of rank below
        `n_whitened`.

    Examples
    --------
    >>> whitening_convergence_rate([[2.0]]), whitening_convergence_rate([[0.0]])
    (0.5, 0.0)
    """
    return float(-whitening_dynamics_eigenvalues(w_hg, alpha).real.max()) + 0.0


def nsm_fixed_point_rate(w_yy: ArrayLike, active: ArrayLike | None = None) -> float:
    r"""Factor by which a sweep over the second layer shrinks the error (eq. NSMdynamics).

    Once the set of firing neurons no longer changes, a cyclic sweep is a Gauss-Seidel step on
    their :math:`B = I + W^{YY} = I + L + U`, and the error after n sweeps goes like
    :math:`\rho^n`, with the spectral radius

    .. math:: \rho = \rho\bigl( (I + L)^{-1} U \bigr)

    With weights of eq. WNSMdef, D B is a matrix of second moments, so the factor is below 1. With
    the stationary weights of the paper's uniform sources and all neurons firing it is 0.23, 0.40,
    0.53 and 0.66 at d = 3, 5, 7 and 10: sweeps to 1e-8 number 13, 20, 29 and 44, so that about
    ten are enough for small d only.

    Parameters
    ----------
    w_yy : array-like of shape (n_sources, n_sources)
        Lateral weights; the diagonal is zero.
    active : array-like of bool, shape (n_sources,), default=None
        Which neurons fire; None for all.

    Returns
    -------
    float
        The factor: ``log(tol) / log(factor)`` sweeps reach the relative accuracy `tol`.

    Examples
    --------
    >>> nsm_fixed_point_rate([[0.0, 0.5], [0.5, 0.0]])
    0.25
    >>> nsm_fixed_point_rate([[0.0, 0.5], [0.5, 0.0]], active=[True, False])
    0.0
    """
    W = _matrix("w_yy", w_yy)
    d = len(W)
    if W.shape != (d, d) or np.any(np.diag(W) != 0):
        raise ValueError(f"w_yy of shape {W.shape} must be square with a zero diagonal")
    fires = np.ones(d, dtype=bool) if active is None else np.asarray(active)
    if fires.shape != (d,) or fires.dtype != bool:
        raise ValueError(f"active must hold a bool for each of {d} neurons, not {active!r}")
    W = W[np.ix_(fires, fires)]
    if W.size == 0:
        return 0.0
    sweep = solve_triangular(np.tril(W), np.triu(W), lower=True, unit_diagonal=True)
    return float(np.abs(np.linalg.eigvals(sweep)).max())


def alpha_threshold(covariance: ArrayLike, alpha: float) -> Modes:
    r"""Say which directions of the input the first layer keeps (eq. NIPS3_2, appendix B).

    In the eigenvectors of the input covariance the objective splits into modes; one of input
    variance :math:`\lambda_x` is given the output variance

    .. math:: \lambda_h = \begin{cases} 1 & \lambda_x > \alpha \\ 0 & \lambda_x \le \alpha
        \end{cases}

    so alpha is a hard threshold. For the d sources to be kept it has to lie below the d-th
    eigenvalue (the paper says the lowest, which is 0 when there are more channels than sources),
    and above the noise for nothing else to be. At most `n_whitened` directions can be kept, the
    largest ones; here that number is taken to be large enough.

    Parameters
    ----------
    covariance : array-like of shape (n_channels, n_channels)
        Covariance of the input, symmetric and positive semidefinite.
    alpha : float
        Threshold, not negative. At 0, eigenvalues that are zero to rounding are not kept.

    Returns
    -------
    Modes
        Variances before and after, and the number of directions kept.

    Examples
    --------
    >>> alpha_threshold([[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.1]], alpha=0.5).n_kept
    2
    """
    C = _matrix("covariance", covariance)
    if C.shape[0] != C.shape[1] or not np.allclose(C, C.T, atol=1e-10 * np.abs(C).max()):
        raise ValueError(f"covariance of shape {C.shape} must be symmetric")
    if not 0 <= alpha < np.inf:
        raise ValueError(f"alpha={alpha!r} must be finite and not negative")
    variance = np.linalg.eigvalsh(C)[::-1]
    rounding = len(C) * np.finfo(float).eps * np.abs(variance).max()
    if variance[-1] < -1e3 * rounding:
        raise ValueError(f"covariance has the negative eigenvalue {variance[-1]:.3g}")
    kept = variance > max(alpha, rounding)
    return Modes(np.maximum(variance, 0.0), kept.astype(np.float64), int(kept.sum()))


class Locality(NamedTuple):
    """Whether a learning rule is local, and what stands in the way.

    Attributes
    ----------
    local : bool
        Whether no synapse is moved by anything but its own two neurons and itself.
    foreign : tuple of str
        Quantities of other neurons or synapses that reach a synapse.
    n_synapses : int
        Synapses that were looked at.
    """

    local: bool
    foreign: tuple[str, ...]
    n_synapses: int


def locality(
    update: Callable[..., ArrayLike],
    quantities: Mapping[str, ArrayLike],
    owners: Mapping[str, str],
) -> Locality:
    """Find out whether a learning rule is local, by changing what a synapse must not know.

    The paper's third requirement (section 1) is that the weight of a synapse is updated from the
    activities of its two neurons, and its own value, alone. Here every other entry of every
    quantity is changed at random, one quantity after another, for each synapse: if its new weight
    differs in any bit, the rule is not local. What passes has been tried at this one point, which
    random quantities make a point like any other.

    Parameters
    ----------
    update : callable
        ``update(**quantities)`` gives the new weights (n_post, n_pre), such as the functions
        ``update_...`` of `nica.equations`; rates are to be bound before.
    quantities : dict of arrays
        Arguments of the rule.
    owners : dict of str
        Whose each argument is, by its axes: "ij" for a quantity of the synapse from neuron j to
        neuron i (its weight), "i" for one of the postsynaptic neuron (its activity, its learning
        rate), "j" of the presynaptic, "i|j" where one population is both. All else is foreign.

    Returns
    -------
    Locality
        Whether it is local, and through which quantities it is not.

    Examples
    --------
    >>> import numpy as np
    >>> from nica.equations import update_infomax
    >>> hebb = lambda W, y, x: W + 0.1 * np.outer(y, x)
    >>> some = {"W": np.eye(2), "y": np.array([1.0, 2.0]), "x": np.array([3.0, 4.0])}
    >>> locality(hebb, some, {"W": "ij", "y": "i", "x": "j"}).local
    True
    >>> infomax = lambda W, u: update_infomax(W, u, rate=0.1)
    >>> locality(infomax, {"W": np.eye(2), "u": np.ones(2)}, {"W": "ij", "u": "i"}).foreign
    ('W', 'u')
    """
    given = {name: np.array(value, dtype=np.float64) for name, value in quantities.items()}
    if given.keys() != owners.keys():
        raise ValueError(
            f"owners names {sorted(owners)}, quantities {sorted(given)}: give both alike"
        )
    rng = np.random.default_rng(0)
    before = np.asarray(update(**given))
    foreign = set()
    for i, j in np.ndindex(*before.shape):
        for name, value in given.items():
            other = value + rng.uniform(1.0, 2.0, value.shape)
            for own in owners[name].split("|"):
                spot = {"ij": (i, j), "i": (i,), "j": (j,)}.get(own)
                if spot is None or len(spot) != value.ndim:
                    raise ValueError(
                        f"owners[{name!r}]={owners[name]!r} does not fit an array of {value.ndim} "
                        "axes: give 'ij', 'i', 'j' or 'i|j'"
                    )
                other[spot] = value[spot]
            if np.asarray(update(**(given | {name: other})))[i, j] != before[i, j]:
                foreign.add(name)
    return Locality(not foreign, tuple(sorted(foreign)), before.size)


def _matrix(name: str, values: ArrayLike) -> FloatArray:
    """Finite numbers in two dimensions; scikit-learn's message, with our name, if not."""
    return np.asarray(check_array(values, dtype=np.float64, input_name=name))


def _per_source(name: str, values: ArrayLike, A: FloatArray) -> FloatArray:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != A.shape[1:] or not np.all(np.isfinite(vector)):
        raise ValueError(f"{name} must hold a finite number for each of {A.shape[1]} sources")
    return vector
