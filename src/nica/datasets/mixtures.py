"""Mixing matrices (appendix C) and the mixtures made with them (Figs. 1, 3 and 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch, check_array

from nica.datasets.sources import (
    FloatArray,
    Random,
    as_generator,
    as_shape,
    background_noise,
    sparse_exponential,
    sparse_uniform,
)

#: The mixing matrix of the random sources at d = 3, as printed in appendix C.
MIXING_3: FloatArray = np.array(
    [
        [0.031518, 0.38793, 0.061132],
        [-0.78502, 0.16561, 0.12458],
        [0.34782, 0.27295, 0.67793],
    ]
)
#: The mixing matrix of the natural scenes, as printed in appendix C.
MIXING_IMAGES: FloatArray = np.array(
    [
        [0.33931, 0.3282, 0.41516, -0.1638],
        [-0.077079, -0.29768, 0.076562, -0.28153],
        [-0.14119, -0.41709, 0.14842, 0.57009],
        [-0.40483, 0.21922, 0.082336, 0.18027],
    ]
)
MIXING_3.flags.writeable = MIXING_IMAGES.flags.writeable = False

#: Seeds of the matrices that the paper used but did not print, by dimension (see `paper_mixing`).
PUBLISHED_SEEDS: dict[int, int] = {5: 5, 7: 7, 10: 10}


class Mixture(Bunch):
    """A mixture and its truth: scikit-learn's Bunch, with types.

    ``X = S @ A.T``, unless the function that made it says otherwise; some add more.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_channels)
        The mixture.
    S : ndarray of shape (n_samples, n_sources)
        Its sources.
    A : ndarray of shape (n_channels, n_sources)
        The mixing matrix.
    """

    X: FloatArray
    S: FloatArray
    A: FloatArray


def mixing(
    n_channels: int,
    n_sources: int | None = None,
    *,
    condition: float | None = None,
    random_state: Random = None,
) -> FloatArray:
    """Draw a mixing matrix of full rank, of a given condition number if asked.

    Parameters
    ----------
    n_channels : int
        Rows k.
    n_sources : int, default=n_channels
        Columns d, at most `n_channels`.
    condition : float, default=None
        Ratio of the largest to the smallest singular value. They are spaced geometrically from 1
        down, between random orthonormal directions. None draws independent Gaussian entries of
        variance 1 / k instead, and takes the condition as it comes.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_channels, n_sources)
        A, for ``X = S @ A.T``.

    Examples
    --------
    >>> import numpy as np
    >>> A = mixing(6, 3, condition=100.0, random_state=0)
    >>> A.shape, round(float(np.linalg.cond(A)), 6)
    ((6, 3), 100.0)
    """
    k, d = as_shape(n_channels, n_channels if n_sources is None else n_sources)
    if d > k:
        raise ValueError(f"{k} channels cannot hold {d} sources: give n_sources of at most {k}")
    rng = as_generator(random_state)
    if condition is None:
        return np.asarray(rng.normal(0.0, 1 / np.sqrt(k), (k, d)))
    if not 1 <= condition < np.inf or (d == 1 and condition != 1):
        least = "1, for a single source" if d == 1 else "at least 1"
        raise ValueError(f"condition={condition!r} of a {k} x {d} matrix must be {least}")
    left, right = _orthonormal(rng.normal(size=(k, d))), _orthonormal(rng.normal(size=(d, d)))
    return np.asarray(left * np.geomspace(1.0, 1 / condition, d) @ right.T)


def paper_mixing(n_sources: int) -> FloatArray:
    """Return the square mixing matrix of the random sources: printed at d = 3, else drawn.

    Those for d = 5, 7 and 10 were never published. They are drawn here from `PUBLISHED_SEEDS` with
    condition number 3 and largest singular value 1, since the printed ones have conditions 2.9 and
    2.6 and largest singular values 0.90 and 0.85. NumPy's legacy generator, whose stream is
    frozen, keeps them the same in all versions.

    Parameters
    ----------
    n_sources : {3, 5, 7, 10}
        The dimensions d of section 4.1.

    Returns
    -------
    ndarray of shape (n_sources, n_sources)
        A, for ``X = S @ A.T``.

    Examples
    --------
    >>> paper_mixing(3)[0].tolist()
    [0.031518, 0.38793, 0.061132]
    """
    if n_sources == len(MIXING_3):
        return MIXING_3.copy()
    if n_sources not in PUBLISHED_SEEDS:
        raise ValueError(
            f"the paper has no {n_sources} random sources, only 3, 5, 7 or 10: "
            "draw a matrix with mixing()"
        )
    return mixing(n_sources, condition=3.0, random_state=PUBLISHED_SEEDS[n_sources])


def make_mixture(
    kind: str = "uniform",
    n_samples: int = 100_000,
    n_sources: int | None = None,
    *,
    A: ArrayLike | None = None,
    noise: float = 0.0,
    random_state: Random = None,
) -> Mixture:
    """Draw sources and mix them: the random datasets of sections 4.1 and 4.2.

    Parameters
    ----------
    kind : {"uniform", "exponential", "mixed", "background"}
        - "uniform": `sparse_uniform` (Fig. 3; 3 sources by default).
        - "exponential": `sparse_exponential` (3 by default).
        - "mixed": uniform sources first, then exponential ones, as many or one more (Fig. 5A:
          2 and 3, 5 in all by default).
        - "background": exponential sources and, behind them, two channels of `background_noise`
          (Fig. 5B: 3 sources by default, so a 5-dimensional mixture).
    n_samples : int, default=100_000
        Samples.
    n_sources : int, default=None
        Sources to be recovered; None for the paper's number.
    A : array-like of shape (n_channels, n_sources), default=None
        Mixing matrix, with two more columns for "background". None takes `paper_mixing` where the
        paper has one of this size, else draws a square `mixing` of condition 3.
    noise : float, default=0.0
        Standard deviation of Gaussian noise added to each channel.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    Mixture
        X (n_samples, n_channels), S (n_samples, n_sources), A (n_channels, n_sources); for
        "background" also `background` and `A_background`, which hold the rest:
        ``X = S @ A.T + background @ A_background.T``.

    Examples
    --------
    >>> mixture = make_mixture("background", 1000, random_state=0)
    >>> mixture.X.shape, mixture.S.shape, mixture.background.shape
    ((1000, 5), (1000, 3), (1000, 2))
    """
    usual = {"uniform": 3, "exponential": 3, "mixed": 5, "background": 3}
    if kind not in usual:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(usual)}")
    rng = as_generator(random_state)
    _, d = as_shape(n_samples, usual[kind] if n_sources is None else n_sources)
    n_uniform = {"uniform": d, "mixed": d // 2}.get(kind, 0)
    parts = []
    if n_uniform:
        parts.append(sparse_uniform(n_samples, n_uniform, random_state=rng))
    if d > n_uniform:
        parts.append(sparse_exponential(n_samples, d - n_uniform, random_state=rng))
    if kind == "background":
        parts.append(background_noise(n_samples, 2, random_state=rng))
    drawn = np.hstack(parts)

    n_all = drawn.shape[1]
    if A is not None:
        matrix = np.asarray(check_array(A, dtype=np.float64, input_name="A"))
    elif n_all == len(MIXING_3) or n_all in PUBLISHED_SEEDS:
        matrix = paper_mixing(n_all)
    else:
        matrix = mixing(n_all, condition=3.0 if n_all > 1 else 1.0, random_state=rng)
    if matrix.shape[1] != n_all:
        raise ValueError(f"A has {matrix.shape[1]} columns for {n_all} sources: give {n_all}")
    X = drawn @ matrix.T
    if noise:
        X += rng.normal(0.0, noise, X.shape)
    mixture = Mixture(X=X, S=drawn[:, :d], A=matrix[:, :d])
    if kind == "background":
        mixture.update(background=drawn[:, d:], A_background=matrix[:, d:])
    return mixture


def two_sources(n_samples: int = 1000, *, random_state: Random = None) -> Mixture:
    """Two uniform sources and their mixture, with two samples to follow by eye (Fig. 1).

    The sources fill a square; mixing makes it a parallelogram, and whitening a square again, but
    turned.

    Parameters
    ----------
    n_samples : int, default=1000
        Samples.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    Mixture
        X (n_samples, 2), S (n_samples, 2), A (2, 2) and `tracked`, the indices of two samples.

    Examples
    --------
    >>> data = two_sources(random_state=0)
    >>> data.X.shape, len(data.tracked)
    ((1000, 2), 2)
    """
    S = sparse_uniform(n_samples, 2, zeros=0.0, random_state=random_state)
    A = np.array([[0.9, 0.4], [-0.3, 0.7]])
    spots = np.array([[0.8, 0.3], [0.3, 0.8]]) * np.sqrt(12)
    tracked = np.argmin(np.sum((S[None] - spots[:, None]) ** 2, axis=2), axis=1)
    return Mixture(X=S @ A.T, S=S, A=A, tracked=tracked)


def _orthonormal(gaussian: FloatArray) -> FloatArray:
    """QR with the signs fixed, so that it is one matrix on every platform."""
    q, r = np.linalg.qr(gaussian)
    return np.asarray(q * np.sign(np.diag(r)))
