"""Run many networks side by side, each as it would run alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.networks._auto import first_rows
from nica.networks._samples import BLOCK, check_finite
from nica.networks._settings import cores

Array = NDArray[np.float64]
#: What is told of outputs as they come: number of the replica, first row, the outputs.
Watch = Callable[[int, int, Array], None]

METHODS = ("separate", "fit")


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

    def one(i: int) -> FloatingPointError | None:
        try:
            _alone(models[i], inputs[i], method, i, watch)
        except FloatingPointError as overflow:
            return overflow
        return None

    with ThreadPoolExecutor(cores(n_jobs)) as pool:
        return list(pool.map(one, range(len(models))))


def _is_list_of_arrays(X: list[Any]) -> bool:
    return bool(X) and getattr(X[0], "ndim", 0) == 2


def _alone(model: Any, X: Any, method: str, i: int, watch: Watch | None) -> None:
    if method == "fit":
        model.fit(X)
        return
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        Y = model.separate(X)
        if watch is not None:
            watch(i, 0, Y)
        return
    step = max(BLOCK // X.shape[1], first_rows(X.shape[1]))
    for start in range(0, len(X), step):
        if getattr(model, "on_bad", "skip") == "raise":  # the message must name the row of X
            check_finite(model, np.asarray(X[start : start + step], dtype=np.float64), start)
        Y = model.separate(X[start : start + step])
        if watch is not None:
            watch(i, start, Y)
