"""Nonnegative sources times any mixing whose volume is small: semi-NMF with a log-determinant."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from nica.facets._factors import factorise
from nica.offline._checks import at_least_one
from nica.offline._cone import MinimumVolume, Problem


def minimum_volume_nmf(
    X: ArrayLike,
    n_components: int,
    *,
    penalty: float | None = None,
    start: ArrayLike | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
) -> MinimumVolume:
    r"""Factorise samples into nonnegative sources and a mixing of small volume and any sign.

    .. math:: \min_{W,\; H \ge 0}\; \tfrac12 \langle \lVert x - W h \rVert^2 \rangle
        + \tfrac{\lambda}{2} \log\det(W^\top W + \delta I), \qquad \bar h = 1

    with samples reduced to d dimensions, of unit mean square each. If sources fill a cone evenly, the
    likelihood of a mixing goes with its inverse volume for each sample, so :math:`\lambda` should be
    the variance of the noise. It is a rival of `soft_hinge` and `minimum_volume` that knows noise
    within the samples' dimensions, but has to be told how much there is unless there are channels to
    spare; and it is slower.

    Rows of H are updated in turn, as in hierarchical alternating least squares, with :math:`\lambda /
    \bar h_i` for what the volume costs; W is a ridge regression under the bound :math:`\log\det M \le
    \mathrm{tr}(M_0^{-1} M) + \text{const}`. Both are extrapolated, and go back to the last iteration
    without momentum when the objective rises. An iteration is O(T d^2).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture, not centred.
    n_components : int
        Number of sources d.
    penalty : float, default=None
        :math:`\lambda`: variance of the noise as a share of the mean square of samples in each of d
        dimensions. None takes what the other k - d dimensions hold, at least 1e-5, or 1e-3 if there are
        none, and at most a tenth of the weakest source's share at the start, or that source may vanish.
    start : array-like of shape (n_components, n_channels), default=None
        Unmixing matrix to begin with; None for `successive_projection`.
    tol : float, default=1e-4
        Plateau: stop when twenty iterations lower the objective by less than this times the penalty.
    max_iter : int, default=1000
        Most iterations.

    Returns
    -------
    MinimumVolume
        Y is H. The objective is that above.

    Warns
    -----
    ConvergenceWarning
        If the objective still fell after `max_iter` iterations, or an output became zero.

    References
    ----------
    Miao and Qi, IEEE Transactions on Geoscience and Remote Sensing 45, 2007. Fu, Huang, Yang, Ma and
    Sidiropoulos, IEEE Transactions on Signal Processing 64, 2016 (log-determinant). Leplat, Ang and
    Gillis, ICASSP 2019. Ang and Gillis, Neural Computation 31, 2019 (extrapolation).

    Examples
    --------
    >>> import numpy as np
    >>> from nica.metrics import match_sources
    >>> rng = np.random.default_rng(0)
    >>> S = rng.exponential(size=(2000, 3)) * rng.exponential(size=(2000, 1))
    >>> A = rng.normal(size=(6, 3))
    >>> X = S @ A.T + 0.1 * rng.normal(size=(2000, 6))
    >>> found = minimum_volume_nmf(X, 3)
    >>> found.converged, match_sources(S, found.Y, scale=True).error < 0.1
    (True, True)
    """
    if penalty is not None and not 0 < penalty < np.inf:
        raise ValueError(f"penalty={penalty!r} must be a number above 0, or None")
    if not 0 < tol < np.inf:
        raise ValueError(f"tol={tol!r} must be a number above 0")
    at_least_one("max_iter", max_iter)
    problem = Problem.of(X, n_components, affine=False)
    F, _, G, residual = problem.way
    Y, B, mixing, objective, n_iter, converged, penalty = factorise(
        problem.Z, problem.start(start), G, residual, penalty=penalty, tol=tol, max_iter=max_iter
    )
    alive = bool(Y.any(axis=0).all())
    if not (alive and converged):
        what = f"the objective still fell after {n_iter} iterations: raise max_iter or tol"
        lost = f"an output became zero: lower penalty={penalty:.3g} or n_components={len(B)}"
        warnings.warn(what if alive else lost, ConvergenceWarning, stacklevel=2)
    parts = Y, B @ F, np.zeros(len(B)), mixing, objective, n_iter, alive and converged
    return problem.as_given("nmf", MinimumVolume(*parts))
