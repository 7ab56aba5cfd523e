"""`nica separate`: a file, or a pipe that never ends, to its sources."""

from __future__ import annotations

import os
from typing import Any

import typer

from nica._interrupts import Signals
from nica.cli import _options as o
from nica.cli._words import number, rate

HELP = """
Separate mixed nonnegative sources: a column of outputs for each, in any file or pipe.

\b
  nica separate mix.csv -n 3 -o sources.csv
  nica separate mix.parquet -n auto -o sources.h5 --save model.st
  nica separate photos/ -n 4 -o sources/ --frozen
  sensor | nica separate - -n 3 | plot
  nica separate big.npy -n 3 -o out.npy --checkpoint run.st
  nica separate --resume run.st
  nica separate new.csv --model model.st --apply -o out.csv
  nica separate spectra.csv -n 4 --facets --sum-to-one --frozen -o shares.csv
  nica separate big.zarr -n 10 -o sources.zarr --scheduler tcp://host:8786

Each output is, by default, the one that the network emitted before it learned from that sample: the \
first ones are zeros, early ones are rough. --frozen learns first, and then separates everything with \
the weights that came of it.

Formats are told by content and name: npy, npz, csv, tsv, ndjson (also .gz, .zst), parquet, hdf5, zarr, \
mat, TIFF stacks, folders of images. OUT appears whole or not at all. At the end a verdict says whether \
the sources can be believed (nica diagnose).

Exit codes: 0 done, 1 error, 2 usage, 3 with --strict and a bad verdict; 130, 143, 141 ended by \
Ctrl-C, SIGTERM, a closed pipe.
"""


def separate(
    source: o.Source = None,
    to_file: o.Out = "-",
    n_components: o.Components = None,
    format: o.FormatIn = None,
    to: o.FormatOut = None,
    columns: o.Columns = None,
    path: o.InPath = None,
    header: o.Header = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    comment: o.Comment = None,
    skip_bad: o.SkipBad = False,
    missing: o.Missing = None,
    frozen: o.Frozen = False,
    passes: o.Passes = None,
    model: o.ModelIn = None,
    apply: o.Apply = False,
    save: o.Save = None,
    half_life: o.HalfLife = None,
    seed: o.Seed = None,
    jobs: o.Jobs = None,
    scheduler: o.Scheduler = None,
    checkpoint: o.Checkpoint = None,
    every: o.Every = 10.0,
    resume: o.Resume = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    report: o.Report = None,
    no_diagnose: o.NoDiagnose = False,
    strict: o.Strict = False,
    n_whitened: o.Whitened = None,
    n_interneurons: o.Interneurons = None,
    alpha: o.Alpha = None,
    whitening_rate: o.WhiteningRate = None,
    separation_rate: o.SeparationRate = None,
    dynamics: o.Dynamics = None,
    max_sweeps: o.MaxSweeps = None,
    dynamics_tol: o.DynamicsTol = None,
    start: o.Start = None,
    flip_silent: o.FlipSilent = None,
    tol: o.Tol = None,
    max_passes: o.MaxPasses = None,
    shuffle: o.Shuffle = None,
    solver: o.Solver = None,
    n_starts: o.Starts = None,
    refine: o.Refine = None,
    facets: o.Facets = False,
    offset: o.Offset = False,
    sum_to_one: o.SumToOne = False,
    method: o.Method = None,
) -> None:
    """Separate a file or pipe (see HELP)."""
    if frozen and apply:
        raise typer.BadParameter("--apply learns nothing, --frozen learns first: give one of them")
    if passes is not None and not frozen:
        raise typer.BadParameter("--passes needs --frozen")
    if apply and model is None and resume is None:
        raise typer.BadParameter("--apply needs --model FILE")
    if not facets and (offset or sum_to_one or method is not None):
        raise typer.BadParameter("--offset, --sum-to-one and --method need --facets")
    if not source and resume is None:
        raise typer.BadParameter("say what to separate: nica separate IN -n 3 -o OUT")
    try:
        network = {
            "n_components": number(n_components), "n_whitened": n_whitened,
            "n_interneurons": n_interneurons, "alpha": alpha,
            "whitening_rate": rate(whitening_rate, "--whitening-rate"),
            "separation_rate": rate(separation_rate, "--separation-rate"),
            "dynamics": dynamics, "max_sweeps": max_sweeps, "dynamics_tol": dynamics_tol,
            "start": start, "flip_silent": flip_silent, "half_life": half_life,
            "on_bad": "skip" if skip_bad else None, "missing": missing, "tol": tol,
            "max_passes": max_passes, "shuffle": shuffle, "solver": solver, "n_starts": n_starts,
            "n_jobs": jobs if solver == "batch" else None, "random_state": seed, "refine": refine,
            "offset": offset or None, "sum_to_one": sum_to_one or None, "method": method,
        }  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    reading = {
        "format": format, "columns": None if columns is None else columns.split(","), "path": path,
        "header": header, "delimiter": delimiter, "decimal": decimal, "comment": comment,
    }  # fmt: skip
    if scheduler is not None:
        others = {
            "--apply": apply, "--model": model, "--checkpoint": checkpoint, "--resume": resume,
            "--passes": passes, "--report": report, "--to": to, "--format": format,
        }  # fmt: skip
        from nica.cli._cluster import separate_on

        separate_on(
            scheduler, source or [], to_file, facets, _given(network), _given(reading), save,
            [name for name, value in others.items() if value], quiet, as_json,
        )  # fmt: skip
        return
    wish: dict[str, Any] = {
        "source": _absolute(source) if source else None,
        "out": None if to_file == "-" else os.path.abspath(to_file),
        "mode": "frozen" if frozen else "apply" if apply else None,
        "passes": passes,
        "kind": "FacetNICA" if facets else None,
        "parameters": _given(network),
        "reading": _given(reading),
        "to": to,
        "model": None if model is None else os.path.abspath(model),
        "save": None if save is None else os.path.abspath(save),
        "jobs": jobs,
    }
    with Signals() as signals:  # from now on: the next line loads for a second
        from nica.cli._separate import Session

        Session(
            _given(wish), checkpoint, every, resume, quiet, as_json, not no_diagnose, strict, report,
            signals,
        ).go()  # fmt: skip


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _absolute(source: list[str]) -> tuple[str, ...]:
    return tuple(one if one == "-" else os.path.abspath(one) for one in source)
