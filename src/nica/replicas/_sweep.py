"""`sweep`: a grid of parameters and seeds over the same samples, through all cores."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nica.networks._settings import cores, whole
from nica.replicas._errors import Errors
from nica.replicas._run import METHODS, run_replicas
from nica.replicas._table import Sweep

Array = NDArray[np.float64]

BACKENDS = ("threads", "joblib")
LAST = 0.1  #: part of the samples, the last, over which "last_error" is taken


def sweep(
    X: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    *,
    S: Any = None,
    seeds: int | Sequence[int] = 3,
    estimator: Any = None,
    method: str = "separate",
    scoring: Callable[[Any, Any], float] | None = None,
    n_jobs: int | None = None,
    backend: str = "threads",
    progress: bool | None = None,
) -> Sweep:
    r"""Run a network over the same samples with every setting of a grid and several seeds.

    With true sources S, each run gets the error of section 4 of the paper over all samples, and over
    the last tenth of them; without, a score.

    .. math:: E_T = \frac1T \sum_{t=1}^T \lVert s_t - P y_t \rVert_2^2

    Runs of equal size learn in lockstep in the lanes of the processor's vector registers, several in
    little more than the time of one, and through all cores. Each ends as it would have ended alone.

    Parameters
    ----------
    X : array-like (n_samples, n_channels)
    grid : dict of lists, or list of such dicts
        Values to try for parameters of the estimator, every combination of them, as for
        `sklearn.model_selection.ParameterGrid`.
    S : array-like (n_samples, n_sources), optional
        True sources. A source for which a run has no output counts with all its energy.
    seeds : int or sequence of int
        Number of seeds, from 0 on, or the seeds: each is the ``random_state`` of a run of each setting.
    estimator : estimator, optional
        What is run; None takes `nica.NICA`. Parameters that are not in the grid are its own.
    method : {"separate", "fit"}
        One pass in the order given, with outputs as the network emitted them; or passes until each
        settles, with the outputs of ``transform``.
    scoring : callable(model, X) -> float, optional
        Score without S, larger is better; None takes the model's own ``score``.
    n_jobs : int or None
        Number of threads or of joblib's workers; None takes all cores.
    backend : {"threads", "joblib"}
        "joblib" spreads the runs as ``joblib.parallel_config`` says: over processes, or over the
        machines of a Dask cluster.
    progress : bool or None
        Show a bar; None does on a terminal.

    Returns
    -------
    Sweep
        Table of all runs, the models, and the best setting.

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> sweep = nica.sweep(mixture.X, {"half_life": [200, None]}, S=mixture.S, seeds=4)
    >>> len(sweep), sweep.best
    (8, {'half_life': None})
    >>> sweep["error"].shape, sweep.records[0]["random_state"]
    ((8,), 0)
    >>> sweep.best_model
    NICA(random_state=...)
    """
    start = time.perf_counter()
    estimator = _estimator(estimator)
    if method not in METHODS:
        raise ValueError(f"method={method!r}: give one of {', '.join(map(repr, METHODS))}")
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: give one of {', '.join(map(repr, BACKENDS))}")
    points, names = _points(grid, estimator)
    numbers = _seeds(seeds)
    truth = None if S is None else _truth(S, X)
    runs = [(point, seed) for point in points for seed in numbers]
    models = [clone(estimator).set_params(**point, random_state=seed) for point, seed in runs]
    with _Bar(progress, len(models)) as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # bad settings are what a sweep is for
        if backend == "threads":
            done = _share(models, X, truth, method, scoring, n_jobs, bar)
        else:
            done = _by_joblib(models, X, truth, method, scoring, n_jobs, bar)
    records = [
        {**point, "random_state": seed, **measures, "failure": failure}
        for (point, seed), (_, measures, failure) in zip(runs, done, strict=True)
    ]
    return Sweep(
        records=records,
        models=[model for model, _, _ in done],
        measure="score" if truth is None else "error",
        names=names,
        seconds=time.perf_counter() - start,
    )


#: A run: its model, what was measured, and why it has no figures.
Done = tuple[Any, dict[str, float], str]


def _share(
    models: list[Any],
    X: Any,
    S: Array | None,
    method: str,
    scoring: Callable[[Any, Any], float] | None,
    n_jobs: int | None,
    bar: _Bar | None,
) -> list[Done]:
    """Run these here, in threads."""
    n = len(X)
    truth = None if S is None else [_sums(S) for _ in models]

    def watch(i: int, first: int, Y: Array) -> None:
        if truth is not None:
            for part in truth[i]:
                part.add(first, Y)
        if bar is not None:
            bar.advance(len(Y) / n)

    failures = run_replicas(models, X, method=method, n_jobs=n_jobs, watch=watch)
    scores = _scores(models, failures, X, n_jobs) if S is None and scoring is None else {}
    done: list[Done] = []
    for i, (model, failure) in enumerate(zip(models, failures, strict=True)):
        if failure is not None:
            nothing = dict.fromkeys(("score",) if S is None else ("error", "last_error"), np.nan)
            done.append((model, nothing, str(failure)))
        elif truth is None:
            score = scores[i] if scoring is None else scoring(model, X)
            done.append((model, {"score": float(score)}, ""))
        else:
            if method == "fit":
                watch(i, 0, model.transform(X))
            over_all, last = truth[i]
            done.append((model, {"error": over_all.value(), "last_error": last.value()}, ""))
        if bar is not None and (method == "fit" and truth is None):
            bar.advance(1)
    return done


def _scores(
    models: list[Any], failures: Sequence[Exception | None], X: Any, n_jobs: int | None
) -> dict[int, float]:
    """Scores of the runs that ended, by their numbers; it takes about as long as the runs themselves."""
    ended = [i for i, failure in enumerate(failures) if failure is None]
    with ThreadPoolExecutor(cores(n_jobs)) as pool:
        found = pool.map(lambda i: float(models[i].score(_good(models[i], X))), ended)
        return dict(zip(ended, found, strict=True))


def _good(model: Any, X: Any) -> Any:
    """Rows that the model learned from."""
    if getattr(model, "on_bad", "raise") == "raise":
        return X
    rows = np.asarray(X, dtype=np.float64)
    return rows[np.isfinite(rows).all(axis=1)]


def _sums(S: Array) -> tuple[Errors, Errors]:
    """Of a run: over all samples, and over the last of them."""
    return Errors(S, 0), Errors(S, len(S) - max(1, int(len(S) * LAST)))


def _by_joblib(
    models: list[Any],
    X: Any,
    S: Array | None,
    method: str,
    scoring: Callable[[Any, Any], float] | None,
    n_jobs: int | None,
    bar: _Bar,
) -> list[Done]:
    """Shares of the runs by joblib, one for each of its workers, each on one thread."""
    import joblib

    workers = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    size = -(-len(models) // workers)
    shares = [models[i : i + size] for i in range(0, len(models), size)]
    parallel = joblib.Parallel(n_jobs=workers, return_as="generator")
    done: list[Done] = []
    for share in parallel(
        joblib.delayed(_share)(share, X, S, method, scoring, 1, None) for share in shares
    ):
        bar.advance(len(share))
        done += share
    return done


def _estimator(estimator: Any) -> Any:
    from nica.networks import NICA

    if estimator is None:
        return NICA()
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"estimator={estimator!r}: give a network of nica, such as nica.NICA(3)")
    return estimator


def _points(grid: Any, estimator: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Every combination of the grid, and the names of its parameters."""
    from sklearn.model_selection import ParameterGrid  # 120 ms that a diagnosis can do without

    points = list(ParameterGrid(grid))
    if not points:
        raise ValueError("grid is empty: give a list of values for some parameter, or {} for none")
    known = estimator.get_params()
    names = tuple(dict.fromkeys(name for point in points for name in point))
    for name in names:
        if name == "random_state":
            raise ValueError("random_state in grid: seeds= says which, for each setting")
        if name not in known:
            raise ValueError(
                f"{type(estimator).__name__} has no parameter {name!r}: it has "
                f"{', '.join(sorted(set(known) - {'random_state'}))}"
            )
    return points, names


def _seeds(seeds: Any) -> list[int]:
    if isinstance(seeds, (int, np.integer)):
        return list(range(whole(seeds, "seeds", minimum=1)))
    numbers = [whole(seed, "seeds", minimum=0) for seed in seeds]
    if not numbers:
        raise ValueError("seeds is empty: give a number of seeds, or the seeds")
    return numbers


def _truth(S: Any, X: Any) -> Array:
    S = np.asarray(S, dtype=np.float64)
    if S.ndim != 2 or len(S) != len(X):
        raise ValueError(f"S has shape {S.shape}: give ({len(X)}, n_sources), a row for each of X")
    if not np.isfinite(S).all():
        raise ValueError("S contains NaN or infinity: leave such rows out of S and of X")
    return np.ascontiguousarray(S)


class _Bar:
    """A bar on a terminal, or nothing."""

    def __init__(self, wanted: bool | None, runs: int) -> None:
        self._bar: Any = None
        if sys.stderr.isatty() if wanted is None else wanted:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(f"{runs} runs", total=runs)

    def advance(self, runs: float) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, runs)

    def __enter__(self) -> _Bar:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
