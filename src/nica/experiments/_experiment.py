"""What an experiment is: jobs, what the paper claims of them and what came out, and a figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nica.experiments._jobs import Job, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOLDS, DIFFERS, NOT_JUDGED = "holds", "differs", "not judged"


@dataclass(frozen=True)
class Setup:
    """How large an experiment is run.

    Attributes
    ----------
    runs : int
        Independent runs, each with its own samples and its own start.
    samples : int
        Samples that each run presents.
    images : str or None
        Folder of photographs to use in place of the default images.
    full : bool
        Whether this is at least the size of the paper, so that its claims can be judged.
    """

    runs: int
    samples: int
    images: str | None = None
    full: bool = True


@dataclass(frozen=True)
class Verdict:
    """A claim of the paper and what was measured.

    Attributes
    ----------
    claim : str
        What the paper says.
    measured : str
        What came out, with numbers.
    holds : bool
        Whether the one agrees with the other.
    why : str
        If not, the reason, as far as it is known.
    judged : bool
        Whether the size of the experiment allows a judgement.
    """

    claim: str
    measured: str
    holds: bool
    why: str = ""
    judged: bool = True

    @property
    def word(self) -> str:
        """holds, differs, or not judged."""
        return (HOLDS if self.holds else DIFFERS) if self.judged else NOT_JUDGED

    def text(self) -> str:
        """Give claim and measurement in one line."""
        return f"{self.claim} Measured: {self.measured}"


class Results:
    """Results of jobs, to be asked for by the parameters of the job."""

    def __init__(self, jobs: Iterable[Job], results: Iterable[Result]) -> None:
        self._rows = [
            (dict(job.parameters), result) for job, result in zip(jobs, results, strict=True)
        ]

    def of(self, **parameters: Any) -> list[Result]:
        """Results of the jobs with these parameters, in the order of their runs."""
        return [
            result
            for row, result in self._rows
            if all(row.get(name) == value for name, value in parameters.items())
        ]

    def converged(self, **parameters: Any) -> list[Result]:
        """Those of them that did not diverge."""
        return [result for result in self.of(**parameters) if not result.get("diverged")]

    def diverged(self, **parameters: Any) -> int:
        """How many of them diverged."""
        return sum(bool(result.get("diverged")) for result in self.of(**parameters))

    def values(self, key: str, **parameters: Any) -> NDArray[np.float64]:
        """One entry of the results of all runs that did not diverge, a row for each."""
        rows = [result[key] for result in self.converged(**parameters)]
        return np.array(rows, dtype=np.float64)

    def table(self) -> list[dict[str, Any]]:
        """Parameters and results of every job, as rows."""
        return [{"parameters": row, "result": result} for row, result in self._rows]


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, or one of its claims.

    Attributes
    ----------
    name : str
        As on the command line, and of its files.
    title, caption : str
        What it is; what it shows.
    runs, samples : int
        The paper's size.
    quick : tuple of int
        Runs and samples for a first look.
    least : int
        Fewest samples that give a figure at all.
    plan : callable
        ``plan(setup)`` gives the jobs.
    judge : callable
        ``judge(results, setup)`` gives verdicts.
    draw : callable
        ``draw(results, setup)`` gives the figure.
    needs_images : bool
        Whether it reads images.
    table : callable or None
        ``table(results, setup)`` gives headings and rows of the figures behind the curves.
    """

    name: str
    title: str
    caption: str
    runs: int
    samples: int
    quick: tuple[int, int]
    least: int
    plan: Callable[[Setup], list[Job]]
    judge: Callable[[Results, Setup], list[Verdict]]
    draw: Callable[[Results, Setup], Figure]
    needs_images: bool = False
    table: Callable[[Results, Setup], tuple[list[str], list[list[str]]]] | None = field(
        default=None
    )

    def setup(
        self, runs: int | None, samples: int | None, quick: bool, images: str | None
    ) -> Setup:
        """Sizes that were asked for, else the paper's, or small ones; too small ones are refused."""
        usual_runs, usual_samples = self.quick if quick else (self.runs, self.samples)
        runs = usual_runs if runs is None else runs
        samples = usual_samples if samples is None else samples
        if samples < self.least:
            raise ValueError(
                f"{samples} samples are too few for {self.name}: give at least {self.least}"
            )
        if runs < 1:
            raise ValueError(f"{runs} runs: give at least 1")
        full = runs >= self.runs and samples >= self.samples
        return Setup(runs, samples, images if self.needs_images else None, full)

    def verdicts(self, results: Results, setup: Setup) -> list[Verdict]:
        """Verdicts, not judged where the experiment was smaller than the paper's."""
        found = self.judge(results, setup)
        return found if setup.full else [replace(verdict, judged=False) for verdict in found]


def mean_and_error(curves: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of the runs and its standard error, 0 of a single run."""
    mean = curves.mean(axis=0)
    if len(curves) < 2:
        return mean, np.zeros_like(mean)
    return mean, curves.std(axis=0, ddof=1) / np.sqrt(len(curves))


def figure_of(value: float) -> str:
    """Give a number in two significant digits, as a person would write it."""
    if not np.isfinite(value):
        return "–"
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    mantissa, power = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(power)}"


def plus_minus(values: NDArray[np.float64]) -> str:
    """Mean and standard error of some runs."""
    if not len(values):
        return "–"
    mean, error = mean_and_error(values)
    return f"{figure_of(float(mean))} ± {figure_of(float(error))}"
