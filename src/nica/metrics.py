"""How good is a separation, when the truth is known.

One idea: outputs come in any order, so every comparison first finds the permutation P of section 4
(an assignment problem on mean squared errors, never a search over d! orders) and then measures.
Carries the error E_t of Fig. 3B (section 4), the weight error of Fig. 4B, the Amari distance, and
the error that no rotation of whitened data can beat.

Samples are rows: sources S and outputs Y are (n_samples, n_sources), as everywhere in nica.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, svd
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array

__all__ = [
    "Match",
    "align_weights",
    "amari_distance",
    "match_sources",
    "online_error",
    "separation_floor",
    "weight_error",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class Match(NamedTuple):
    """Which output recovers which source, and how well.

    Attributes
    ----------
    permutation : ndarray of shape (n_sources,)
        Column of Y that belongs to each source: ``Y[:, permutation]`` is in the order of S.
    scale : ndarray of shape (n_sources,)
        Factor applied to each matched output before it was compared; 1 unless asked for.
    error : float
        Squared error summed over sources, averaged over samples.
    errors : ndarray of shape (n_sources,)
        The share of each source in `error`.
    correlation : ndarray of shape (n_sources,)
        Pearson correlation of each source with its output; 0 where one of them is constant.
    """

    permutation: IntArray
    scale: FloatArray
    error: float
    errors: FloatArray
    correlation: FloatArray


def match_sources(S: ArrayLike, Y: ArrayLike, scale: bool = False) -> Match:
    r"""Find the permutation P that minimises the mean squared error (section 4, before E_t).

    .. math:: \min_P \frac1T \sum_t \lVert s_t - P y_t \rVert_2^2

    The error is a sum over (source, output) pairs, so the best P is a linear assignment: the cost
    is O(T d^2), exact at any d.

    Parameters
    ----------
    S : array-like of shape (n_samples, n_sources)
        True sources.
    Y : array-like of shape (n_samples, n_outputs)
        Outputs, at least as many as sources; those that match no source are left out.
    scale : bool, default=False
        Multiply each output by its own least-squares factor first, of either sign, for methods
        that leave scale or sign open.

    Returns
    -------
    Match
        Permutation, scale, error, error and correlation of each source.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 3.0]])
    >>> match = match_sources(S, S[:, ::-1])
    >>> match.permutation.tolist(), match.error
    ([1, 0], 0.0)
    >>> match_sources(S, 4 * S, scale=True).scale.tolist()
    [0.25, 0.25]
    """
    S, Y = _sources_and_outputs(S, Y)
    cross = S.T @ Y
    power = np.einsum("ti,ti->i", Y, Y)
    # <s^2> is the same for every output: it does not change which assignment is best.
    gain = cross / np.where(power > 0, power, 1.0) if scale else np.ones_like(cross)
    _, permutation = linear_sum_assignment(gain * (gain * power - 2 * cross))
    factor = gain[np.arange(S.shape[1]), permutation]

    matched = Y[:, permutation] * factor
    errors = np.mean((S - matched) ** 2, axis=0)
    return Match(permutation, factor, float(errors.sum()), errors, _correlation(S, matched))


def online_error(S: ArrayLike, Y: ArrayLike) -> FloatArray:
    r"""Error of all outputs so far, at each sample: the curves of Figs. 3B and 6B (section 4).

    .. math:: E_t = \frac1t \sum_{t'=1}^t \lVert s_{t'} - P y_{t'} \rVert_2^2

    with one permutation P for all t, the best one at the last sample. O(T d^2).

    Parameters
    ----------
    S : array-like of shape (n_samples, n_sources)
        True sources, in the order in which they were presented.
    Y : array-like of shape (n_samples, n_outputs)
        Outputs as the network emitted them.

    Returns
    -------
    ndarray of shape (n_samples,)
        E_1, ..., E_T.

    Examples
    --------
    >>> online_error([[0.0, 1.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 0.5]
    """
    S, Y = _sources_and_outputs(S, Y)
    residual = S - Y[:, match_sources(S, Y).permutation]
    squared = np.einsum("ti,ti->t", residual, residual)
    error: FloatArray = np.cumsum(squared) / np.arange(1, len(S) + 1)
    return error


def align_weights(
    w_yh: ArrayLike, w_yy: ArrayLike, permutation: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Put the neurons of the second layer in the order of the sources (section 4, Fig. 4).

    Relabelling the outputs permutes the rows of W_YH, and both the rows and the columns of W_YY.

    Parameters
    ----------
    w_yh : array-like of shape (n_outputs, n_whitened)
        Feedforward weights.
    w_yy : array-like of shape (n_outputs, n_outputs)
        Lateral weights.
    permutation : array-like of int, shape (n_outputs,)
        As in `Match`: the output that belongs to each source.

    Returns
    -------
    w_yh, w_yy : ndarray
        The weights of the same network with its outputs relabelled.

    Examples
    --------
    >>> w_yh, w_yy = align_weights([[1.0, 2.0], [3.0, 4.0]], [[0.0, 5.0], [6.0, 0.0]], [1, 0])
    >>> w_yh.tolist(), w_yy.tolist()
    ([[3.0, 4.0], [1.0, 2.0]], [[0.0, 6.0], [5.0, 0.0]])
    """
    w_yh = _matrix("w_yh", w_yh)
    w_yy = _matrix("w_yy", w_yy)
    order = np.asarray(permutation)
    d = len(w_yh)
    if w_yy.shape != (d, d):
        raise ValueError(
            f"w_yy has shape {w_yy.shape} but w_yh has {d} rows: give both of one network"
        )
    if order.shape != (d,) or not np.array_equal(np.sort(order), np.arange(d)):
        raise ValueError(f"permutation must hold each of 0..{d - 1} once, not {permutation!r}")
    return w_yh[order], w_yy[np.ix_(order, order)]


def weight_error(W: ArrayLike, W_theory: ArrayLike) -> float:
    r"""Distance of learned weights from the predicted ones (section 4, Fig. 4B).

    .. math:: \lVert W - W_{theory} \rVert_F^2 / \lVert W_{theory} \rVert_F^2

    Parameters
    ----------
    W : array-like of shape (m, n)
        Learned weights, their outputs already in the order of the sources (`align_weights`).
    W_theory : array-like of shape (m, n)
        Predicted weights (`nica.theory.stationary_weights`); not all zero.

    Returns
    -------
    float
        0 for a perfect match, 1 for W = 0.

    Examples
    --------
    >>> weight_error([[0.0, 3.0], [3.0, 0.0]], [[0.0, 2.0], [2.0, 0.0]])
    0.25
    """
    W = _matrix("W", W)
    W_theory = _matrix("W_theory", W_theory)
    if W.shape != W_theory.shape:
        raise ValueError(f"W has shape {W.shape} but W_theory has {W_theory.shape}")
    norm = np.linalg.norm(W_theory)
    if norm == 0:
        raise ValueError("W_theory is zero everywhere: an error relative to it has no meaning")
    return float((np.linalg.norm(W - W_theory) / norm) ** 2)


def amari_distance(unmixing: ArrayLike, mixing: ArrayLike) -> float:
    r"""Distance of U A from a scaled permutation: how right a linear unmixing is.

    With :math:`p = |U A|`,

    .. math:: \frac{1}{2 d (d - 1)} \Bigl[ \sum_i \Bigl( \frac{\sum_j p_{ij}}{\max_j p_{ij}} - 1
        \Bigr) + \sum_j \Bigl( \frac{\sum_i p_{ij}}{\max_i p_{ij}} - 1 \Bigr) \Bigr]

    Parameters
    ----------
    unmixing : array-like of shape (n_sources, n_channels)
        Outputs are ``X @ unmixing.T``.
    mixing : array-like of shape (n_channels, n_sources)
        The matrix A of ``X = S @ A.T``.

    Returns
    -------
    float
        In [0, 1]: 0 if U A is a permutation times a scale for each output, 1 if all its entries
        are equal in magnitude. A row or column of zeros (a silent output) counts as equal ones.

    Examples
    --------
    >>> amari_distance([[0.0, 2.0], [-3.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]])
    0.0
    >>> amari_distance([[1.0, 1.0], [1.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]])
    1.0
    """
    U = _matrix("unmixing", unmixing)
    A = _matrix("mixing", mixing)
    if U.shape != A.shape[::-1]:
        raise ValueError(
            f"unmixing has shape {U.shape}, so mixing must have {U.shape[::-1]}, not {A.shape}"
        )
    p = np.abs(U @ A)
    d = len(p)
    if d == 1:
        return 0.0
    excess = sum(
        float(np.sum(np.where(top > 0, p.sum(axis) / np.where(top > 0, top, 1.0), d) - 1))
        for axis, top in ((0, p.max(0)), (1, p.max(1)))
    )
    return excess / (2 * d * (d - 1))


def separation_floor(S: ArrayLike, X: ArrayLike | None = None, last: float = 0.1) -> float:
    r"""Error of batch whitening followed by the best rotation, chosen with the true sources.

    What is left when everything but the whitening is known. The sample covariance of n
    independent samples is not exactly the identity, so whitening by it errs by an amount of the
    order of :math:`d^2 / n`, and noise adds its part. With H the whitened, not centred samples
    (unit sample covariance over *all* samples, first d principal axes),

    .. math:: Q = \arg\min_{Q^\top Q = I} \lVert S - H Q^\top \rVert_F^2, \qquad
        \text{floor} = \langle \lVert s_t - Q h_t \rVert_2^2 \rangle_{\text{last samples}}

    Q is the orthogonal Procrustes solution over all samples. Outputs are not rectified, so a
    network, whose outputs are nonnegative, can end slightly below the floor on noisy mixtures.
    The paper's uniform sources at n = 1e5 have a mean floor of 3.4e-5, 8.7e-5, 1.6e-4 and 3.1e-4
    at d = 3, 5, 7 and 10; single runs scatter by a factor of two.

    Parameters
    ----------
    S : array-like of shape (n_samples, n_sources)
        True sources; of unit variance for the figure to mean anything, as the paper assumes.
    X : array-like of shape (n_samples, n_channels), default=None
        The mixture. Needed only if it holds more than S, that is noise: without noise any
        full-rank mixing of S has the floor of S itself, which is what None gives.
    last : float, default=0.1
        Share of the samples, at the end, over which the error is averaged.

    Returns
    -------
    float
        Squared error summed over sources, averaged over the last samples.

    Examples
    --------
    >>> import numpy as np
    >>> s = np.sqrt([0.0, 4.0, 0.0, 4.0]), np.sqrt([0.0, 0.0, 4.0, 4.0])
    >>> S = np.transpose(s)  # exactly white: nothing stands in the way of a perfect rotation
    >>> round(separation_floor(S, last=1.0), 12)
    0.0
    """
    S = _matrix("S", S, min_rows=2)
    X = S if X is None else _matrix("X", X)
    n_samples, d = S.shape
    if len(X) != n_samples:
        raise ValueError(f"X has {len(X)} samples but S has {n_samples}: give both of one run")
    if not 0 < last <= 1:
        raise ValueError(f"last={last!r} is not a share of the samples: give 0 < last <= 1")
    (triangle,) = qr(X - X.mean(axis=0), mode="r")
    _, spread, axes = svd(triangle[: X.shape[1]], full_matrices=False)
    if len(spread) < d or spread[d - 1] <= spread[0] * n_samples * np.finfo(float).eps:
        raise ValueError(
            f"X varies in fewer than {d} directions, the number of sources: "
            "give more channels or samples, or drop constant and duplicate sources"
        )
    H = X @ (axes[:d] * (np.sqrt(n_samples) / spread[:d, None])).T
    left, _, right = svd(S.T @ H)
    tail = slice(n_samples - max(1, round(last * n_samples)), None)
    residual = S[tail] - H[tail] @ (left @ right).T
    return float(np.mean(np.einsum("ti,ti->t", residual, residual)))


def _matrix(name: str, values: ArrayLike, min_rows: int = 1) -> FloatArray:
    """Finite numbers in two dimensions; scikit-learn's message, with our name, if not."""
    return np.asarray(
        check_array(values, dtype=np.float64, input_name=name, ensure_min_samples=min_rows)
    )


def _sources_and_outputs(S: ArrayLike, Y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    S = _matrix("S", S)
    Y = _matrix("Y", Y)
    if len(S) != len(Y):
        raise ValueError(f"S has {len(S)} samples but Y has {len(Y)}: give both of one run")
    if Y.shape[1] < S.shape[1]:
        raise ValueError(
            f"Y has {Y.shape[1]} outputs for {S.shape[1]} sources: give at least one for each"
        )
    return S, Y


def _correlation(S: FloatArray, Y: FloatArray) -> FloatArray:
    S = S - S.mean(axis=0)
    Y = Y - Y.mean(axis=0)
    norm = np.linalg.norm(S, axis=0) * np.linalg.norm(Y, axis=0)
    return np.asarray(np.einsum("ti,ti->i", S, Y) / np.where(norm > 0, norm, 1.0))
