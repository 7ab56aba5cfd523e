"""Runs as independent jobs: on all cores, kept on disk as they come, never run twice.

A job is a function of this package and its parameters. Its result, plain JSON, is kept in a file whose
name is a digest of both, of the sources that decide the numbers and of the versions below them. Whoever
asks for the same job again, after Ctrl-C or in another figure, gets the file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import nica
from nica import _core
from nica._config import kernels

Result = dict[str, Any]
DECIDES = ("datasets", "equations", "metrics.py", "networks", "offline", "rates.py")


@dataclass(frozen=True)
class Job:
    """A function that gives a result, and what it is called with."""

    run: Callable[..., Result]
    parameters: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Name of the job's file: the same for the same numbers only."""
        what = [self.run.__module__, self.run.__name__, self.parameters, _decisive(), versions()]
        text = json.dumps(what, sort_keys=True, default=list)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        return f"{self.run.__name__}-{digest}"


class Store:
    """A folder of results, one file each, whole or absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, job: Job) -> Result | None:
        """Result of a job that has been run, else None; a damaged file counts as absent."""
        try:
            kept = json.loads(self._path(job).read_text(encoding="utf-8"))
            return dict(kept["result"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, job: Job, result: Result) -> None:
        """Write a result beside what made it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        whole = {
            "run": job.run.__name__,
            "parameters": dict(job.parameters),
            "versions": versions(),
            "result": result,
        }
        text = json.dumps(plain(whole), allow_nan=False, separators=(",", ":"))
        write_whole(self._path(job), text.encode())

    def _path(self, job: Job) -> Path:
        return self.folder / f"{job.key}.json"


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    *,
    n_jobs: int | None = None,
    advance: Callable[[int, int], object] | None = None,
) -> list[Result]:
    """Results of all jobs, those kept first; each is kept as soon as it is there.

    Parameters
    ----------
    jobs : sequence of Job
    store : Store
    n_jobs : int, default=None
        Processes, as joblib counts them (-1: all cores). None leaves it to ``joblib.parallel_config``,
        so that any of its backends will do.
    advance : callable, default=None
        Called as ``advance(done, total)``.

    Returns
    -------
    list of dict
        In the order of the jobs.
    """
    by_key = {job.key: job for job in jobs}  # figures share runs
    results = {key: store.load(job) for key, job in by_key.items()}
    missing = [(key, job) for key, job in by_key.items() if results[key] is None]
    done = len(by_key) - len(missing)
    if advance is not None:
        advance(done, len(by_key))
    if missing:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        calls = (joblib.delayed(_run)(key, job.run, dict(job.parameters)) for key, job in missing)
        for key, result in parallel(calls):
            store.keep(by_key[key], result)
            results[key] = json.loads(json.dumps(plain(result)))  # as if it had been kept before
            done += 1
            if advance is not None:
                advance(done, len(by_key))
    return [results[job.key] or {} for job in jobs]


def _run(key: str, run: Callable[..., Result], parameters: dict[str, Any]) -> tuple[str, Result]:
    """One job, in whatever process: its result, how long it took, what it warned of."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = run(**parameters)
    result["seconds"] = time.perf_counter() - began
    result["warnings"] = sorted({str(warning.message) for warning in said})
    return key, result


def versions() -> dict[str, str]:
    """What decides the last digits: nica and the libraries and kernels below it."""
    below = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    python = ".".join(platform.python_version_tuple()[:2])
    return {"nica": nica.__version__, "python": python, "kernels": kernels(), **below}


@cache
def _decisive() -> str:
    """Digest of the modules that decide the numbers: older results of other code are not taken."""
    root, here = Path(nica.__file__).parent, Path(__file__).parent
    paths = [Path(str(_core.__file__)), here / "_algorithms.py", *sorted(here.glob("_runs*.py"))]
    for name in DECIDES:
        found = root / name
        paths += sorted(found.rglob("*.py")) if found.is_dir() else [found]
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Numbers and lists as JSON has them: six digits, null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def write_whole(path: Path, content: bytes) -> None:
    """Put a file under its name whole, or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
