"""The smallest cone, or simplex, around samples: for sources that are correlated or sum to one."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from nica.equations.facets_start import NEAR
from nica.facets._cones import TAU, hard_cone, soft_cone
from nica.offline._checks import at_least_one
from nica.offline._cone import MinimumVolume, Problem


def successive_projection(
    X: ArrayLike, n_components: int, *, sum_to_one: bool = False, near: float = NEAR
) -> MinimumVolume:
    r"""Take as edges of the cone the samples farthest out, one after another, robustly.

    On the plane :math:`\bar z^\top p = 1` with :math:`p = z / \bar z^\top z`, where z are the samples
    reduced to d dimensions, the next vertex is in the direction u of the sample that is farthest from
    the span of those before it; more precisely

    .. math:: v_i = \operatorname{median} \{ p_t : u^\top p_t \text{ is among the largest} \}

    It is exact if each source is alone at times, without noise and with ``near=0``. It takes a
    hundredth of a second, and the other methods start with it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture, not centred.
    n_components : int
        Number of sources d.
    sum_to_one : bool, default=False
        Whether sources are known to sum to one in each sample.
    near : float, default=0.01
        Share of the samples that count as near a vertex. At 0 a single sample does, which is
        successive projection to the letter.

    Returns
    -------
    MinimumVolume
        Its objective is :math:`-\log |\det B|`.

    References
    ----------
    Araújo et al., Chemometrics and Intelligent Laboratory Systems 57, 2001. Gillis and Vavasis, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 36, 2014. Nadisic, Gillis and Kervazo,
    Linear Algebra and its Applications 676, 2023 (several samples for a vertex).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 500)])  # they sum to one: correlated
    >>> A = rng.normal(size=(5, 3))
    >>> found = successive_projection(S @ A.T, 3, sum_to_one=True, near=0)
    >>> order = found.Y[:3].argmax(axis=1)
    >>> np.allclose(found.Y[:, order], S), np.allclose(found.mixing[:, order], A)
    (True, True)
    """
    if not 0 <= near < 0.5:
        raise ValueError(f"near={near!r} is not a share of the samples: give 0 <= near < 0.5")
    problem = Problem.of(X, n_components, sum_to_one)
    B = problem.start(None, near)
    return problem.solved("projection", B, -float(np.linalg.slogdet(B)[1]), len(B), True)


def soft_hinge(
    X: ArrayLike,
    n_components: int,
    *,
    tau: float = TAU,
    sum_to_one: bool = False,
    start: ArrayLike | None = None,
    tol: float = 1e-9,
    max_iter: int = 500,
) -> MinimumVolume:
    r"""Find the smallest cone that leaves few samples outside, and these not by much.

    .. math:: \min_B\; -\log |\det B| + \tau \sum_i \langle \max(-b_i^\top z, 0) \rangle,
        \qquad b_i^\top \bar z = 1

    where z are the samples reduced to d dimensions, not centred. If sources are known to sum
    to one, the reduction is affine and the constraint is :math:`\sum_i b_i^\top z = d` for all samples,
    which is SISAL (Bioucas-Dias 2009). Sources may be correlated in any way, as long as there are samples
    near all facets of the cone in enough places.

    A facet rests where samples behind it, weighted by the other sources, are :math:`1 / \tau` of all,
    or less if samples lie on it. So tau says how often a source is so near zero that noise can make it
    negative, and neither the units of X nor those of the noise matter. Where few samples are near
    facets and noise is small, `minimum_volume` is better.

    The hinge is blurred less and less, and followed by Newton steps of O(T d^3), mostly on samples
    near a facet. The problem is not convex; successive projection is the start.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture, not centred.
    n_components : int
        Number of sources d.
    tau : float, default=3.0
        Price of samples outside. Below 2 too many are left there; far above 10 noise is taken for
        sources. Between these it hardly matters: a table is with the documentation of this module.
    sum_to_one : bool, default=False
        Whether sources are known to sum to one in each sample.
    start : array-like of shape (n_components, n_channels), default=None
        Unmixing matrix to begin with; None for `successive_projection`.
    tol : float, default=1e-9
        Stop when the blur raises the objective by less than this.
    max_iter : int, default=500
        Most Newton steps.

    Returns
    -------
    MinimumVolume
        Sources, unmixing, mixing, objective, iterations, whether converged.

    Warns
    -----
    ConvergenceWarning
        If there is still blur after `max_iter` iterations.

    References
    ----------
    Craig, IEEE Transactions on Geoscience and Remote Sensing 32, 1994. Bioucas-Dias, WHISPERS 2009.
    Chen and Mangasarian, Computational Optimization and Applications 5, 1996 (the blur).

    Examples
    --------
    >>> import numpy as np
    >>> from nica.metrics import match_sources
    >>> rng = np.random.default_rng(0)
    >>> common = rng.exponential(size=(2000, 1))  # sources that are active together
    >>> S = common * np.where(rng.random((2000, 3)) < 0.5, 0, rng.exponential(size=(2000, 3)))
    >>> found = soft_hinge(S @ rng.normal(size=(5, 3)).T, 3)
    >>> found.converged, match_sources(S, found.Y, scale=True).error < 1e-12
    (True, True)
    """
    _positive("tau", tau)
    _positive("tol", tol)
    at_least_one("max_iter", max_iter)
    problem = Problem.of(X, n_components, sum_to_one)
    B, objective, n_iter, converged = soft_cone(
        problem.Z, problem.start(start), problem.mean,
        tau=tau, affine=sum_to_one, tol=tol, max_iter=max_iter,
    )  # fmt: skip
    if not converged:
        _warn(f"still blurred after {n_iter} iterations: raise max_iter or tol, now {tol:.3g}")
    return problem.solved("hinge", B, objective, n_iter, converged)


def minimum_volume(
    X: ArrayLike,
    n_components: int,
    *,
    slack: float = 0.0,
    outliers: float = 0.0,
    sum_to_one: bool = False,
    start: ArrayLike | None = None,
    tol: float = 1e-9,
    max_iter: int = 1000,
) -> MinimumVolume:
    r"""Find the smallest cone around all samples, or all but a stated share.

    .. math:: \max_B\; \log |\det B| \quad \text{subject to} \quad b_i^\top z_t \ge -\text{slack}, \qquad
        b_i^\top \bar z = 1

    where z are the samples reduced to d dimensions, not centred; if sources are known to sum to one,
    the reduction is affine and the second constraint is :math:`\sum_i b_i^\top z_t = d`, which is
    minimum-volume simplex analysis (Chan et al. 2009, Li et al. 2015). It is for samples almost without
    noise. There it is exact wherever sources are determined at all, even if only a handful of samples
    touch each facet, as in dense images. With noise it breaks down, the sooner the more samples there
    are: around zero they point anywhere. `soft_hinge` is for these.

    Solved as an exact penalty, :math:`2 \sum_{it} \max(-(b_i^\top z_t + \text{slack}) / m_t, 0)` with the
    size m of samples, so that all multipliers are below 2 and no sample stays outside at the minimum, by
    the steps of `soft_hinge` and starting with its solution.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_channels)
        Mixture, not centred.
    n_components : int
        Number of sources d.
    slack : float, default=0.0
        How far outputs may be below zero, where one is their average (over all of them, if they sum to
        one). A few times the noise in them.
    outliers : float, default=0.0
        Share of samples that may lie outside: the farthest of the solution without them.
    sum_to_one : bool, default=False
        Whether sources are known to sum to one in each sample.
    start : array-like of shape (n_components, n_channels), default=None
        Unmixing matrix to begin with; None for `successive_projection` and `soft_hinge`.
    tol : float, default=1e-9
        Stop when the blur raises the penalty by less than this.
    max_iter : int, default=1000
        Most Newton steps, of all rounds together.

    Returns
    -------
    MinimumVolume
        Its objective is :math:`-\log |\det B|`.

    Warns
    -----
    ConvergenceWarning
        If samples stay outside because no cone holds them, or `max_iter` is too small.

    References
    ----------
    Chan, Chi, Huang and Ma, IEEE Transactions on Signal Processing 57, 2009. Li, Agathos, Zaharie,
    Bioucas-Dias, Plaza and Li, IEEE Transactions on Geoscience and Remote Sensing 53, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from nica.metrics import match_sources
    >>> rng = np.random.default_rng(0)
    >>> S = rng.uniform(size=(5000, 3)) ** 2  # near zero at times, seldom exactly
    >>> found = minimum_volume(S @ rng.normal(size=(5, 3)).T, 3)
    >>> found.converged, match_sources(S, found.Y, scale=True).error < 1e-3
    (True, True)
    """
    if not 0 <= slack < np.inf:
        raise ValueError(f"slack={slack!r} must be a number of at least 0")
    if not 0 <= outliers < 0.5:
        raise ValueError(
            f"outliers={outliers!r} is not a share of the samples: give 0 <= outliers < 0.5"
        )
    _positive("tol", tol)
    at_least_one("max_iter", max_iter)
    problem = Problem.of(X, n_components, sum_to_one)
    (B, objective, n_iter, converged), outside, farthest = hard_cone(
        problem.Z, problem.start(start), problem.mean,
        slack=slack, outliers=outliers, affine=sum_to_one, tol=tol, max_iter=max_iter,
    )  # fmt: skip
    if outside:
        what = "raise max_iter" if n_iter >= max_iter else "no cone holds all samples"
        _warn(
            f"{outside} samples are outside after {n_iter} iterations, by up to {farthest:.2g} times the "
            f"average output: {what}; raise slack or outliers, or use soft_hinge"
        )
    elif not converged:
        _warn(f"still blurred after {n_iter} iterations: raise max_iter or tol, now {tol:.3g}")
    return problem.solved("volume", B, objective, n_iter, converged and not outside)


def _positive(name: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a number above 0")


def _warn(what: str) -> None:
    warnings.warn(what, ConvergenceWarning, stacklevel=3)
