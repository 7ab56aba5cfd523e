"""A run in the terminal: begun or resumed, watched, ended, judged and summed up."""

from __future__ import annotations

import json
import os
import signal
import warnings
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from sklearn.exceptions import NotFittedError

from nica._interrupts import Signals, Stopped
from nica._job import Job, Outcome, Run, read_checkpoint, run
from nica._job.checkpoint import Checkpoint
from nica.cli._console import end_by, err, fail, out
from nica.cli._watch import Watcher
from nica.cli._words import as_options

STRICT = ("failed", "cannot say")
ENOUGH = 30  #: samples of which a measured channel would not all be larger than the one before


@dataclass
class Session:
    """What was asked for; `go` does it and ends the process as Unix expects."""

    wish: dict[str, Any]
    checkpoint: str | None
    every: float
    resume: str | None
    quiet: bool
    as_json: bool
    diagnose: bool
    strict: bool
    report: str | None = None
    signals: Signals | None = None
    _begun: bool = False

    def go(self) -> None:
        """Run, then tell."""
        number = 0
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = self._warn
                job, found = self._begin()
                self._check_folder(self.report)
                self._begun = True
                record = self._record()
                with Watcher(not self.quiet, found is not None) as watch:
                    outcome, done = run(
                        job,
                        checkpoint=self._file,
                        every=self.every,
                        resume=found,
                        watch=watch if watch.shown else None,
                        select=self.diagnose,
                        record=record,
                        signals=self.signals,
                    )
                verdict = self._verdict(done)
                self._write(record, done, outcome, verdict)
        except Stopped as stop:
            number = stop.number
        except BrokenPipeError:
            number = signal.SIGPIPE
        except OSError as error:
            fail(self._about(error) + self._remedy())
        except MemoryError:
            fail("there is not memory enough for this")
        except (ValueError, TypeError, ImportError, FloatingPointError) as error:
            fail(as_options(str(error)) + self._remedy())
        if number:
            self._end(number)
        self._tell(outcome, verdict)
        if self.strict and (self.diagnose if verdict is None else verdict.verdict in STRICT):
            raise typer.Exit(3)

    # ---------------------------------------------------------------------------------- begin

    @property
    def _file(self) -> str | None:
        """Where checkpoints go: a resumed run goes on with its own."""
        return self.checkpoint or self.resume

    def _begin(self) -> tuple[Job, Checkpoint | None]:
        if self.resume is None:
            if self.checkpoint and os.path.exists(self.checkpoint):
                raise FileExistsError(
                    f"{self.checkpoint!r} is there already: go on with --resume {self.checkpoint}, or "
                    "delete it"
                )
            self._check_folder(self.checkpoint, self.wish.get("save"))
            parameters = self.wish["parameters"]
            if "model" in self.wish:
                own = [name for name in parameters if name not in ("on_bad", "missing")]
                if own:
                    raise ValueError(
                        f"{own[0]}= cannot be given with model=: the model has its own"
                    )
            else:
                parameters.setdefault("random_state", 0)
            return Job(**self.wish), None
        if not os.path.exists(self.resume):
            raise FileNotFoundError(
                f"no checkpoint {self.resume!r}: the run has ended, or had not begun to save; start it "
                "with --checkpoint"
            )
        found = read_checkpoint(self.resume)
        stored = found.job.plain() | {"source": found.job.source}
        for name, value in self.wish.items():
            other = stored[name]
            if isinstance(value, dict):
                changed = [key for key in value if other.get(key) != value[key]]
                if changed:
                    raise ValueError(
                        f"{changed[0]}= is not as in the checkpoint ({other.get(changed[0])!r}): "
                        "leave it out, or start again without --resume"
                    )
            elif other != value:
                raise ValueError(
                    f"the checkpoint is of a run with {name} {other!r}, not {value!r}: leave it "
                    "out, or start again without --resume"
                )
        return found.job, found

    def _check_folder(self, *files: str | None) -> None:
        for file in files:
            folder = os.path.dirname(os.path.abspath(file)) if file else None
            if folder and not os.path.isdir(folder):
                raise FileNotFoundError(f"no folder {folder!r} to write {file!r} in")
            if folder and not os.access(folder, os.W_OK):
                raise PermissionError(f"cannot write {file!r}: the folder does not allow it")

    # ------------------------------------------------------------------------------------ end

    def _end(self, number: int) -> NoReturn:
        """End by the signal itself, as the shell wants to see it; a closed pipe says nothing."""
        if number != signal.SIGPIPE:
            name = signal.Signals(number).name
            err.print(f"nica: stopped by {name}{self._remedy()}", markup=False, soft_wrap=True)
        end_by(number)

    def _remedy(self) -> str:
        """How to go on, if that is possible."""
        if not self._begun:
            return ""
        if self._file and os.path.exists(self._file):
            return f"; go on with: nica separate --resume {self._file}"
        if self._file is None and "source" in self.wish:
            return ""
        return "; nothing was saved yet"

    def _about(self, error: OSError) -> str:
        if error.strerror is None or (error.filename is None and not error.errno):
            return as_options(str(error))
        where = error.filename or self.wish.get("out")
        return f"{error.strerror}: {where!r}" if where else f"{error.strerror}: standard output"

    def _warn(self, message: Any, *_: Any, always: bool = False, **__: Any) -> None:
        if always or not self.quiet:
            text = as_options(str(message))
            err.print(f"nica: warning: {text}", markup=False, soft_wrap=True, style="yellow")

    # ----------------------------------------------------------------------------------- tell

    def _verdict(self, done: Run) -> Any:
        """What `nica.diagnose` says of the samples that went by; None if it was not asked."""
        try:
            done.network._ready()
        except NotFittedError as error:
            self._warn(f"all outputs are zeros: {error}", always=True)
            return None
        if not self.diagnose or done.selection is None or not done.selection.n_samples:
            return None
        from nica.diagnostics import diagnose

        self._doubt_clocks(done)
        return diagnose(done.selection, model=done.network, random_state=0)

    def _doubt_clocks(self, done: Run) -> None:
        """A column that only ever rises is a time or a row number, and spoils all sources."""
        assert done.selection is not None
        rows = done.selection.rows()
        names = done.columns or [str(j) for j in range(rows.shape[1])]
        rising = np.all(np.diff(rows, axis=0) > 0, axis=0) & (len(rows) >= ENOUGH)
        if np.any(rising) and not np.all(rising):
            clocks = ", ".join(repr(names[j]) for j in np.flatnonzero(rising))
            others = ",".join(names[j] for j in np.flatnonzero(~rising))
            left = f": --columns {others}" if len(others) <= 60 else ""
            self._warn(
                f"column {clocks} only rises, as a time or a row number does; leave it out{left}"
            )

    def _record(self) -> Any:
        """What a page will need, if one is wanted."""
        if self.report is None:
            return None
        from nica.report import Record

        return Record()

    def _write(self, record: Any, done: Run, outcome: Outcome, verdict: Any) -> None:
        """Write the page, if one is wanted."""
        if self.report is None:
            return
        from nica import report

        source = ", ".join(os.path.basename(one.rstrip("/")) for one in done.job.source)
        told = {"outputs": outcome.out, "model": outcome.model, "how": outcome.note} | {
            "seconds": f"{outcome.seconds:.3g}", "samples per second": f"{outcome.speed:,.0f}",
            "samples left out": outcome.bad or None,
            "before the resumption": (outcome.samples - record.n_samples) or None,
        }  # fmt: skip
        page = report.separation(
            record, done.network, diagnosis=verdict, names=done.columns,
            source="standard input" if source == "-" else source,
            run={name: value for name, value in told.items() if value},
        )  # fmt: skip
        report.save(page, self.report)

    def _tell(self, outcome: Outcome, verdict: Any) -> None:
        place: Console = err if outcome.out == "-" else out
        if self.as_json:
            found = outcome.to_dict()
            found["verdict"] = None if verdict is None else verdict.to_dict()
            typer.echo(json.dumps(found), err=outcome.out == "-")
        elif not self.quiet:
            for line in outcome.lines():
                place.print(line, markup=False, soft_wrap=True)
            if self.report is not None:
                where = os.path.abspath(self.report)
                place.print(f"Report: {where}", markup=False, soft_wrap=True)
        if verdict is None or self.as_json:
            return
        if verdict.verdict != "OK":
            self._warn(verdict, always=True)
        elif not self.quiet:
            place.print(f"Verdict: {verdict.verdict}: {verdict.reason}", soft_wrap=True)
