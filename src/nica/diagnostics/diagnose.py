"""`diagnose`: fit several times, measure, compare with limits, say it in words."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nica._signals import CANNOT_SAY, FAILED, OK, worst
from nica.diagnostics._facets import doubts_of_facets, is_facets, judge_facets, would_do
from nica.diagnostics._fits import refit
from nica.diagnostics._intake import Intake, enough, take
from nica.diagnostics._measure import measure
from nica.diagnostics._verdict import doubts, judge
from nica.diagnostics.diagnosis import MEANINGS, Diagnosis
from nica.networks import NICA
from nica.networks._missing import filled
from nica.networks._samples import infers
from nica.networks._settings import whole
from nica.rank import Rank, estimate_n_components


def diagnose(
    X: Any, n_components: int | str | None = None, model: Any = None, *, random_state: int = 0
) -> Diagnosis:
    """Say whether a separation of X can be believed, and if not, why and what to do.

    The samples are separated nine times: from three seeds, on each contiguous half, and on two pairs of
    random halves. The fits must agree; the outputs must stay nonnegative when seen linearly; another
    principle, independence, must find the same sources; and the spectrum of the channels must fit their
    number. Every signal has limits that were frozen before they were tested on problems with a known
    truth; `docs/trust.md` tells how often the verdict is wrong.

    Parameters
    ----------
    X : array-like (n_samples, n_channels), memmap, or iterable of such chunks
        Samples in the order in which they were taken. Of more than 20,000 an even selection is looked
        at, and the result says so.
    n_components : int, "auto" or None
        Number of sources; None takes that of the model, or the number of channels. "auto" takes the
        estimate of `nica.estimate_n_components`.
    model : fitted estimator, default=None
        Diagnose the solution of this model, with copies of it for the other fits; None fits `nica.NICA`,
        and says so if `nica.FacetNICA` would do where NICA does not. With
        ``missing="infer"`` a model fills the gaps of X first.
    random_state : int, default=0
        Seed of the fits and of the random halves.

    Returns
    -------
    Diagnosis
        Verdict "OK", "doubtful", "failed" or "cannot say", the signals, each source. Data that allow
        no verdict (NaN, constant or copied channels, too few samples) are no error here.

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> nica.diagnose(mixture.X).verdict
    'OK'
    >>> few = nica.diagnose(mixture.X[:20])
    >>> few.verdict, few.obstacles[0]
    ('cannot say', '18 distinct samples are too few for 3 sources: give at least 30')
    """
    if model is not None and not hasattr(model, "unmixing_"):
        raise ValueError(
            f"model={type(model).__name__} has no unmixing_: give a fitted network of nica"
        )
    with threadpool_limits(
        1, user_api="blas"
    ):  # the fits share the cores: theirs are not worth waiting for
        return _diagnose(X, n_components, model, random_state)


def _diagnose(X: Any, n_components: int | str | None, model: Any, random_state: int) -> Diagnosis:
    fill = None
    if model is not None and infers(model):
        fill = partial(filled, model, model._ready())
    intake = take(X, fill)
    k = intake.X.shape[1]
    rank = None if intake.obstacles else estimate_n_components(intake.X)
    d = _number(n_components, model, k, rank, intake)
    if intake.obstacles or rank is None or not enough(intake, d):
        return _cannot_say(intake, d, rank)
    if is_facets(model):
        return _of_facets(intake, d, rank, model, random_state)
    covariance = np.cov(intake.X.T, bias=True).reshape(k, k)
    directions = _directions(intake.X)
    if directions < d:
        return _too_many(intake, d, rank, directions, random_state)
    try:
        fits = refit(intake.X, covariance, d, model, random_state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            measures = measure(intake.X, covariance, fits)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        intake.obstacles.append(f"these samples cannot be separated: {error}")
        return _cannot_say(intake, d, rank)
    signals, sources = judge(measures, rank, d, k)
    verdict = worst(signals)
    assumptions = doubts(signals)
    if verdict != OK and (model is None or isinstance(model, NICA)):
        assumptions |= _other_method(intake, d, random_state)
    return Diagnosis(
        verdict, MEANINGS[verdict], d, intake.n_samples, len(intake.X), k, signals, sources,
        assumptions, (), rank, fits.model, measures.outputs,
    )  # fmt: skip


def _of_facets(intake: Intake, d: int, rank: Rank, model: Any, seed: int) -> Diagnosis:
    """Verdict on a solution of FacetNICA, which decorrelates nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            signals, sources, outputs = judge_facets(intake.X, model, seed)
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        intake.obstacles.append(f"these samples cannot be separated: {error}")
        return _cannot_say(intake, d, rank)
    verdict = worst(signals)
    return Diagnosis(
        verdict, MEANINGS[verdict], d, intake.n_samples, len(intake.X), intake.X.shape[1], signals,
        sources, doubts_of_facets(signals), (), rank, model, outputs,
    )  # fmt: skip


def _other_method(intake: Intake, d: int, seed: int) -> dict[str, str]:
    """FacetNICA instead of NICA, if it can be believed."""
    why = would_do(intake.X, d, seed)
    return {} if why is None else {"uncorrelated sources": why}


def _number(value: Any, model: Any, k: int, rank: Rank | None, intake: Intake) -> int:
    """Number of sources to diagnose."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"n_components={value!r}: give a number, 'auto' or None")
        return max(rank.n_components, 1) if rank is not None else 1
    own = None if model is None else len(model.unmixing_)
    if model is not None and model.unmixing_.shape[1] != k:
        raise ValueError(f"X has {k} channels, but the model {model.unmixing_.shape[1]}")
    d = whole(value, "n_components", minimum=1) if value is not None else own or k
    if own is not None and d != own:
        raise ValueError(f"n_components={d}, but the model has {own} sources: leave it out")
    if d > k:
        raise ValueError(
            f"X has {k} {'channel' if k == 1 else 'channels'} but n_components={d}: give at most {k}"
        )
    return d


def _directions(X: np.ndarray) -> int:
    """Directions in which the samples vary beyond rounding."""
    s = np.linalg.svd((X - X.mean(axis=0)) / np.max(np.abs(X), axis=0), compute_uv=False)
    return int(np.sum(s > 1e-7 * s[0]))


def _cannot_say(intake: Intake, d: int, rank: Rank | None) -> Diagnosis:
    return Diagnosis(
        CANNOT_SAY, MEANINGS[CANNOT_SAY], d, intake.n_samples, len(intake.X), intake.X.shape[1],
        obstacles=tuple(intake.obstacles), rank=rank,
    )  # fmt: skip


def _too_many(intake: Intake, d: int, rank: Rank, directions: int, seed: int) -> Diagnosis:
    why = (
        f"the channels vary in {directions} {'direction' if directions == 1 else 'directions'} only, "
        f"and n_components={d}: give at most {directions}, or look for sources that sum to one"
    )
    return Diagnosis(
        FAILED, MEANINGS[FAILED], d, intake.n_samples, len(intake.X), intake.X.shape[1],
        assumptions={"the number of sources": why} | _other_method(intake, d, seed),
        obstacles=(why,), rank=rank,
    )  # fmt: skip
