"""Run many networks side by side, each as it would run alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.networks._auto import first_rows
from nica.networks._batch import is_dask
from nica.networks._lessons import Lessons
from nica.networks._samples import BLOCK, check_finite
from nica.networks._settings import cores
from nica.networks._settling import fitting
from nica.networks._stream import StreamNetwork
from nica.replicas._together import Run, kind, learn

Array = NDArray[np.float64]
#: What is told of outputs as they come: number of the replica, first row, the outputs.
Watch = Callable[[int, int, Array], None]

METHODS = ("separate", "fit")
WORTH = 3 / 8  #: part of the lanes that must be in use for lockstep to be faster than threads alone


def run_replicas(
    models: Sequence[Any],
    X: Any,
    *,
    method: str = "separate",
    n_jobs: int | None = None,
    watch: Watch | None = None,
) -> list[FloatingPointError | None]:
    """Let many networks learn side by side; each ends as it would have ended alone.

    Parameters
    ----------
    models : sequence of estimators
        `nica.NICA` or any network with the same methods; each is changed.
    X : array-like (n_samples, n_channels), or a list of such arrays
        The same samples for all, or a list with those of each.
    method : {"separate", "fit"}
        One pass in the order given, going on from where each is; or afresh until each settles.
    n_jobs : int or None
        Number of threads; None takes all cores.
    watch : callable(replica, first_row, outputs), optional
        Told of all outputs of "separate", block by block, from several threads.

    Returns
    -------
    failures : list of FloatingPointError or None
        Those whose weights overflowed, which may happen with start="paper"; None for the others. All
        other errors are raised.

    Examples
    --------
    >>> import nica
    >>> X = nica.datasets.make_mixture(n_samples=5000, random_state=0).X
    >>> models = [nica.NICA(random_state=seed) for seed in range(3)]
    >>> run_replicas(models, X)
    [None, None, None]
    >>> alone = nica.NICA(random_state=2).partial_fit(X)
    >>> bool(abs(alone.unmixing_ - models[2].unmixing_).max() < 1e-9)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r}: give one of {', '.join(map(repr, METHODS))}")
    inputs = list(X) if isinstance(X, list) and _is_list_of_arrays(X) else [X] * len(models)
    if len(inputs) != len(models):
        raise ValueError(f"X has {len(inputs)} arrays for {len(models)} models: give one for each")

    failures: list[FloatingPointError | None] = [None] * len(models)

    def run(members: list[int]) -> None:
        for i, failure in zip(members, _learn(models, inputs, method, members, watch), strict=True):
            failures[i] = failure

    threads = cores(n_jobs)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(run, _groups(models, inputs, method)))
    return failures


def _is_list_of_arrays(X: list[Any]) -> bool:
    return bool(X) and getattr(X[0], "ndim", 0) == 2


def _groups(models: Sequence[Any], inputs: Sequence[Any], method: str) -> list[list[int]]:
    """Models that learn together: as many as there are lanes, and single ones."""
    kinds: dict[Any, list[int]] = {}
    for i, (model, X) in enumerate(zip(models, inputs, strict=True)):
        alike = None if _goes_alone(model, X, method) else kind(model, X)
        kinds.setdefault(alike or (0, i), []).append(i)
    groups: list[list[int]] = []
    for (lanes, *_), members in kinds.items():
        parts = (
            -(-len(members) // lanes) if lanes and len(members) >= WORTH * lanes else len(members)
        )
        groups += [part.tolist() for part in np.array_split(members, parts)]
    return groups


def _learn(
    models: Sequence[Any],
    inputs: Sequence[Any],
    method: str,
    members: list[int],
    watch: Watch | None,
) -> list[FloatingPointError | None]:
    """Let a group learn."""
    if _goes_alone(models[members[0]], inputs[members[0]], method):
        (i,) = members
        return [_alone(models[i], inputs[i], method, i, watch)]
    runs = []
    for i in members:
        lessons = (
            fitting(models[i], inputs[i])
            if method == "fit"
            else _once(models[i], inputs[i], i, watch)
        )
        runs.append(Run(models[i], lessons))
    learn(runs)
    return [run.failure for run in runs]


def _once(model: Any, X: Any, i: int, watch: Watch | None) -> Lessons:
    """Deal out X once, in pieces of bounded size: no more outputs are kept at any time."""
    out = None if watch is None else True
    for start, piece in _pieces(X):
        if model.on_bad == "raise" and isinstance(piece, np.ndarray):  # to name the row of X
            check_finite(model, np.asarray(piece, dtype=np.float64), start)
        Y = yield from model._learning(piece, out)
        if watch is not None:
            watch(i, start, Y)
    model._look_after(2)


def _pieces(X: Any) -> Iterator[tuple[int, Any]]:
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        yield 0, X
        return
    step = max(BLOCK // max(X.shape[1], 1), first_rows(X.shape[1]))
    for start in range(0, max(len(X), 1), step):
        yield start, X[start : start + step]


def _goes_alone(model: Any, X: Any, method: str) -> bool:
    """Whether the model is no network, or not to be fitted as one."""
    if not isinstance(model, StreamNetwork):
        return True
    return method == "fit" and (getattr(model, "solver", "stream") != "stream" or is_dask(X))


def _alone(
    model: Any, X: Any, method: str, i: int, watch: Watch | None
) -> FloatingPointError | None:
    """Any other estimator with the same methods."""
    try:
        if method == "fit":
            model.fit(X)
            return None
        for start, piece in _pieces(X):
            Y = model.separate(piece)
            if watch is not None:
                watch(i, start, Y)
    except FloatingPointError as overflow:
        return overflow
    return None
