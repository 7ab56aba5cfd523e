"""From the name of a figure to its files: run what is missing, judge, draw, write."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nica.experiments._experiment import Experiment, Results, Setup, Verdict
from nica.experiments._jobs import Store, plain, run_jobs, versions, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = (
    "fig1", "fig2", "fig3a", "fig3b", "fig4a", "fig4b", "fig5a", "fig5b", "fig6a", "fig6b", "sweeps",
    "erratum",
)  # fmt: skip
RUNS = "runs"  # folder of the results of jobs, in the folder of the figures
Advance = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Reproduction:
    """A figure that was redrawn.

    Attributes
    ----------
    experiment : Experiment
    setup : Setup
    verdicts : list of Verdict
    table : tuple or None
        Headings and rows of the figures behind the curves.
    paths : dict
        Of the files, by their endings: png, svg, json.
    seconds : float
        Processor time of its jobs, those kept from earlier included.
    """

    experiment: Experiment
    setup: Setup
    verdicts: list[Verdict]
    table: tuple[list[str], list[list[str]]] | None
    paths: dict[str, Path]
    seconds: float


def experiment(name: str) -> Experiment:
    """Experiment of this name.

    Parameters
    ----------
    name : str
        ``fig1`` to ``fig6b``, ``sweeps`` or ``erratum``.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> experiment("fig3b").title
    'Fig. 3B: the error while a stream is learned'
    """
    if name not in NAMES:
        raise ValueError(f"unknown figure {name!r}: give {', '.join(NAMES)} or all")
    found: Experiment = importlib.import_module(f"nica.experiments.{name}").EXPERIMENT
    return found


def reproduce(
    names: str | Iterable[str],
    folder: str | Path,
    *,
    runs: int | None = None,
    samples: int | None = None,
    quick: bool = False,
    images: str | Path | None = None,
    n_jobs: int | None = None,
    advance: Advance | None = None,
    finished: Callable[[Reproduction], object] | None = None,
) -> list[Reproduction]:
    """Redraw figures of the paper and judge its claims.

    Each figure gives NAME.png, NAME.svg and NAME.json (parameters, seeds, versions, results, verdicts),
    whole or not at all. Results of jobs are kept in the folder ``runs`` as they come: interrupted, the
    same call goes on where it stopped.

    Parameters
    ----------
    names : str or iterable of str
        Figures, or ``"all"``.
    folder : path-like
        Where the files go.
    runs, samples : int, default=None
        In place of the paper's numbers; below them, claims are not judged.
    quick : bool, default=False
        A small size, for a first look.
    images : path-like, default=None
        Folder with the photographs of Fig. 6 as TIFF files; None takes scikit-image's.
    n_jobs : int, default=None
        As joblib has it; None leaves it to ``joblib.parallel_config``.
    advance : callable, default=None
        Called as ``advance(name, done, total)``.
    finished : callable, default=None
        Called with each `Reproduction` as soon as its files are there.

    Returns
    -------
    list of Reproduction

    Examples
    --------
    >>> import tempfile
    >>> from nica.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (figure,) = reproduce("fig1", folder, runs=2, samples=500)
    >>> [verdict.word for verdict in figure.verdicts]
    ['not judged']
    """
    wanted = [names] if isinstance(names, str) else list(names)
    wanted = list(NAMES) if "all" in wanted else list(dict.fromkeys(wanted))
    chosen = [experiment(name) for name in wanted]
    photographs = None if images is None else str(Path(images).resolve())
    setups = [
        each.setup(runs, _fitting(each, samples, len(chosen)), quick, photographs)
        for each in chosen
    ]
    check_extras(chosen, photographs)
    place = writable(folder)
    done = []
    for each, setup in zip(chosen, setups, strict=True):
        tell = None if advance is None else (lambda i, n, name=each.name: advance(name, i, n))
        done.append(_reproduce(each, setup, place, n_jobs, tell))
        if finished is not None:
            finished(done[-1])
    return done


def _fitting(each: Experiment, samples: int | None, n_chosen: int) -> int | None:
    """Samples for one of several figures: those that need more, such as all pixels, get it."""
    return samples if samples is None or n_chosen == 1 else max(samples, each.least)


def _reproduce(
    each: Experiment, setup: Setup, place: Path, n_jobs: int | None, tell: Any
) -> Reproduction:
    from nica import plotting

    jobs = each.plan(setup)
    found = run_jobs(jobs, Store(place / RUNS), n_jobs=n_jobs, advance=tell)
    results = Results(jobs, found)
    verdicts = each.verdicts(results, setup)
    with plotting.style("paper"):
        figure = each.draw(results, setup)
        files = {"png": _image(figure, "png"), "svg": _image(figure, "svg")}
    numbers = {
        "figure": each.name,
        "title": each.title,
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "setup": asdict(setup),
        "versions": versions(),
        "verdicts": [{**asdict(verdict), "verdict": verdict.word} for verdict in verdicts],
        "results": results.table(),
    }
    text = json.dumps(plain(numbers), allow_nan=False, separators=(",", ":"))
    files["json"] = text.encode()
    paths = {}
    for ending, content in files.items():
        paths[ending] = place / f"{each.name}.{ending}"
        write_whole(paths[ending], content)
    table = None if each.table is None else each.table(results, setup)
    seconds = float(np.sum([result.get("seconds", 0.0) for result in found]))
    return Reproduction(each, setup, verdicts, table, paths, seconds)


def _image(figure: Figure, kind: str) -> bytes:
    """File of a figure, the same bytes for the same figure."""
    target = io.BytesIO()
    metadata: dict[str, Any] = (
        {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    )
    figure.savefig(target, format=kind, dpi=200, metadata=metadata)
    return target.getvalue()


def check_extras(chosen: Iterable[Experiment], images: str | None) -> None:
    """Say before anything runs what cannot be drawn or read here."""
    if importlib.util.find_spec("matplotlib") is None:
        raise ImportError("figures are drawn with Matplotlib: pip install nica[plot]")
    if any(each.needs_images for each in chosen):
        from nica.datasets import natural_scenes

        natural_scenes(images)


def writable(folder: str | Path) -> Path:
    """Make the folder, or say why it cannot be."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if not os.access(place, os.W_OK):
        raise PermissionError(13, "Permission denied", str(place))
    return place
