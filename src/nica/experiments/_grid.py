"""Grid searches of section 4: every algorithm's rates, best ones beside those of appendix D."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nica.experiments import _parameters, fig6b
from nica.experiments._algorithms import ALGORITHMS
from nica.experiments._experiment import mean_and_error, plus_minus
from nica.experiments._jobs import Job, Store, plain, run_jobs, versions, write_whole
from nica.experiments._parameters import Rates
from nica.experiments._reproduce import RUNS, writable
from nica.experiments._runs_grid import errors
from nica.experiments.fig6a import PIXELS

IMAGES = "images"
SEARCHES = ("fig3b", "fig6b")
#: Runs and samples of a search, and of a quick one.
SIZES = {"fig3b": ((3, 100_000), (1, 2_000)), "fig6b": ((3, 200 * PIXELS), (1, 2 * PIXELS))}
HEADINGS = [
    "problem", "algorithm", "points", "diverged", "best rates", "their E_T", "appendix D", "its E_T",
]  # fmt: skip


@dataclass(frozen=True)
class Best:
    """What a search found for one algorithm on one problem.

    Attributes
    ----------
    algorithm, problem : str
        The problem is ``d3`` to ``d10`` or ``images``.
    n_points, n_diverged : int
        Combinations of rates tried; those with which at least one run diverged.
    rates : tuple of float or None
        The combination with the lowest mean E_T of all whose runs all converged.
    errors : list of float
        E_T of its runs.
    published : tuple of float or None
        Appendix D's.
    published_errors : list of float
        E_T of its runs; empty if one diverged.
    """

    algorithm: str
    problem: str
    n_points: int
    n_diverged: int
    rates: Rates | None
    errors: list[float]
    published: Rates | None
    published_errors: list[float]

    def row(self) -> list[str]:
        """Cells under `HEADINGS`."""
        return [
            self.problem, ALGORITHMS[self.algorithm].label, str(self.n_points), str(self.n_diverged),
            _show(self.rates), plus_minus(np.array(self.errors)), _show(self.published),
            plus_minus(np.array(self.published_errors)),
        ]  # fmt: skip


def search(
    figure: str,
    folder: str | Path,
    *,
    algorithms: Iterable[str] | None = None,
    runs: int | None = None,
    samples: int | None = None,
    quick: bool = False,
    n_jobs: int | None = None,
    advance: Callable[[str, int, int], object] | None = None,
) -> list[Best]:
    """Search the grids of section 4 for the rates of a figure, by E_T as the paper does.

    Results are kept in the folder ``runs`` as they come, and the outcome in ``tune-FIGURE.json``.

    Parameters
    ----------
    figure : {"fig3b", "fig6b"}
        Random sources of all dimensions, or images.
    folder : path-like
        Where the files go.
    algorithms : iterable of str, default=None
        Some of `nica.experiments.ALGORITHMS`; None for all of the figure.
    runs, samples : int, default=None
        Of each combination; by default 3 runs of 100,000 samples, or of 200 presentations of all pixels.
    quick : bool, default=False
        One short run, d = 3 only, to see how it works.
    n_jobs : int, default=None
        As joblib has it; None leaves it to ``joblib.parallel_config``.
    advance : callable, default=None
        Called as ``advance(figure, done, total)``.

    Returns
    -------
    list of Best

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = search(
    ...         "fig3b", folder, algorithms=["nsm_activity"], runs=1, samples=1000, quick=True, n_jobs=1
    ...     )
    >>> found[0].algorithm
    'nsm_activity'
    """
    if figure not in SEARCHES:
        raise ValueError(f"no grid for {figure!r}: give {' or '.join(SEARCHES)}")
    names = _names(figure, algorithms)
    usual_runs, usual_samples = SIZES[figure][quick]
    runs = usual_runs if runs is None else runs
    samples = usual_samples if samples is None else samples
    least = 1000 if figure == "fig3b" else PIXELS
    if samples < least:
        raise ValueError(f"{samples} samples are too few for {figure}: give at least {least}")
    problems = [IMAGES]
    if figure == "fig3b":
        problems = [f"d{d}" for d in _parameters.dimensions()][: 1 if quick else None]
    place = writable(folder)
    jobs = [
        Job(
            errors,
            {
                "algorithm": name,
                "problem": problem,
                "rates": rates,
                "runs": runs,
                "samples": samples,
            },
        )
        for problem in reversed(problems)
        for name in names
        for rates in _points(name, problem)
    ]
    tell = None if advance is None else (lambda done, total: advance(figure, done, total))
    results = run_jobs(jobs, Store(place / RUNS), n_jobs=n_jobs, advance=tell)
    by_point = {
        (job.parameters["algorithm"], job.parameters["problem"], job.parameters["rates"]): result[
            "errors"
        ]
        for job, result in zip(jobs, results, strict=True)
    }
    found = [_best(name, problem, by_point) for problem in problems for name in names]
    outcome = {
        "search": figure, "runs": runs, "samples": samples, "versions": versions(),
        "headings": HEADINGS, "best": [best.row() for best in found],
        "points": [[*point, errors] for point, errors in by_point.items()],
    }  # fmt: skip
    text = json.dumps(plain(outcome), allow_nan=False, separators=(",", ":"))
    write_whole(place / f"tune-{figure}.json", text.encode())
    return found


def _names(figure: str, wanted: Iterable[str] | None) -> list[str]:
    usual = list(ALGORITHMS) if figure == "fig3b" else fig6b.NAMES
    names = usual if wanted is None else list(wanted)
    for name in names:
        if name not in usual:
            raise ValueError(f"no algorithm {name!r} in {figure}: give some of {', '.join(usual)}")
    return names


def _points(name: str, problem: str) -> list[Rates]:
    """Search the grid, and the published point if that is not on it."""
    points = _parameters.grid(name)
    published = _parameters.published(name, problem)
    return points if published is None or published in points else [*points, published]


def _best(name: str, problem: str, by_point: dict[Any, list[float | None]]) -> Best:
    points = _points(name, problem)
    finals = {rates: by_point[name, problem, rates] for rates in points}
    whole = {
        rates: [float(error) for error in errors if error is not None]
        for rates, errors in finals.items()
        if None not in errors
    }
    best = min(whole, key=lambda rates: mean_and_error(np.array(whole[rates]))[0], default=None)
    published = _parameters.published(name, problem)
    return Best(
        name, problem, len(points), len(points) - len(whole), best,
        [] if best is None else whole[best],
        published, [] if published is None else whole.get(published, []),
    )  # fmt: skip


def _show(rates: Rates | None) -> str:
    return "–" if rates is None else ", ".join(f"{rate:g}" for rate in rates)
