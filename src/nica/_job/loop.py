"""The loop of a run: chunks in, outputs out, and between two chunks a place to stop and to go on from."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from nica._core import find_bad
from nica._interrupts import Signals
from nica._job.checkpoint import (
    COMMIT,
    LEARN,
    WRITE,
    Checkpoint,
    Position,
    write_checkpoint,
)
from nica._job.job import Job
from nica._job.outcome import Outcome, Settling
from nica._job.parallel import in_order
from nica.diagnostics._intake import Selection
from nica.networks import _auto
from nica.networks._missing import filled
from nica.networks._samples import LIMIT, infers, only_gaps
from nica.streams import Chunks, Sink
from nica.streams._guard import WHOLE, size_of

Array = NDArray[np.float64]
FIRST = 1024  #: samples of the first piece of a stream
Watch = Callable[["Run", Array], None]


class Run:
    """A job under way.

    Attributes
    ----------
    job : Job
    network : StreamNetwork
    position : Position
    note : str
        What was decided on the way, for the summary.
    """

    def __init__(
        self,
        job: Job,
        checkpoint: str | None,
        every: float,
        resume: Checkpoint | None,
        watch: Watch | None,
        select: bool,
        record: Any = None,
        signals: Signals | None = None,
    ) -> None:
        job.check()
        self.job = job
        self.checkpoint = checkpoint
        self._chunks: Chunks | None = None
        self.note = ""
        self.columns: list[str] | None = None
        self.outcome: Outcome | None = None
        self._every = every
        self._watch = watch
        self._select = select
        self._record = record
        self._sink: Sink | None = None
        self._level = True  # network, output and position stand at the same row
        self._signals = signals or Signals()
        self._settling = Settling()
        self._start = self._saved = time.monotonic()
        self.selection: Selection | None = None
        if resume is None:
            self.network = job.network()
            self.position = Position(LEARN if job.mode == "frozen" else WRITE)
            self._mark = job.mark()
        else:
            job.check_mark(resume.mark)
            self.network, self.position, self._mark = (
                resume.network, resume.position, resume.mark,
            )  # fmt: skip
        self._first_row = self.position.rows

    @property
    def total(self) -> int | None:
        """Rows that the present stage will go through, if that can be told."""
        return None if self._chunks is None else self._chunks.expected()

    def go(self) -> Outcome:
        """Do what is left; at any end that is not the good one, leave a checkpoint if one is wanted."""
        with self._signals, warnings.catch_warnings():
            # Names of channels are checked in `_input`, for all modes alike.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            self._signals.running = True
            try:
                if self.position.stage == LEARN:
                    self._learn()
                    self._save_checkpoint()
                if self.position.stage == WRITE:
                    self._write()
                self._commit()
            except BaseException as error:
                self._leave(error)
                raise
            finally:
                self._signals.running = False
        return self._outcome()

    # --------------------------------------------------------------------------------- stages

    def _learn(self) -> None:
        """Learn for frozen outputs: as ``fit`` does, or in passes over the source in its order."""
        passes = self.job.passes
        if passes is None and self.job.model is None and self.position.learned == 0 and self._fit():
            done = _times(self.network.n_iter_)
            self.note = f"learned by fit, {done} over all samples"
            self.position = Position(WRITE, learned=self.network.n_samples_seen_)
            return
        for turn in range(self.position.turn, passes or 1):
            self.position.turn = turn
            with self.job.open(self.position.rows) as chunks:
                for X in self._input(chunks, learns=True):
                    self._level = False
                    self.network._learn(X, None, chunks.columns)
                    self._done(X, learned=True)
            self.position.rows = 0
        self.note = self.note or f"learned in {_times(passes or 1)} over the samples in their order"
        self.position = Position(WRITE, learned=self.position.learned)

    def _fit(self) -> bool:
        """Learn by ``fit``, unless that would have to hold more samples than are reasonable."""
        if getattr(self.network, "solver", "stream") == "batch":
            with self.job.open() as chunks, self._signals.waiting():
                self.network.fit(chunks)
            return True
        X, names = self._whole()
        if X is None:
            return False
        with self._signals.waiting():
            self.network.fit(X)
        if names is not None:
            self.network.feature_names_in_ = np.array(names, dtype=object)
        return True

    def _whole(self) -> tuple[Array | None, list[str] | None]:
        """All samples and the names of their channels, or None if they are too many to be held."""
        held: list[Array] = []
        size = 0
        with self.job.open() as chunks:
            if (chunks.n_rows or 0) * chunks.n_channels * 8 <= WHOLE:
                for chunk in self._waited(chunks):
                    size += chunk.nbytes
                    if size > WHOLE:
                        break
                    held.append(np.array(chunk))
                else:
                    return np.concatenate(held) if held else None, chunks.columns
        self.note = (
            f"learned in 1 pass: there are more than {size_of(WHOLE)} of samples (--passes makes more, "
            "--solver batch has no such limit)"
        )
        return None, None

    def _write(self) -> None:
        """Write the outputs: as emitted, or of the weights as they stand."""
        with self.job.open(self.position.rows) as chunks:
            self.columns = chunks.columns
            if self._select:
                self.selection = Selection(chunks.columns)
            if self.position.rows:
                self._open_sink(chunks)
            elif self.job.out != "-" and not _special(self.job.out):
                self.job.sink(chunks, None, None).discard()  # whether it can be written, told now
            inputs = self._input(chunks, learns=self.job.mode == "stream")
            for X, Y in self._pairs(inputs, chunks):
                self._level = False
                if self._sink is None:
                    self._open_sink(chunks)
                assert self._sink is not None
                self._sink.write(self._flagged(X, Y))
                if self._record is not None:
                    self._record.add(X, Y, self.network)
                self._done(X, learned=self.job.mode == "stream")
            if self._sink is None:
                raise ValueError(f"{chunks.name!r} holds no samples")

    def _pairs(self, inputs: Iterator[Array], chunks: Chunks) -> Iterator[tuple[Array, Array]]:
        if self.job.mode == "stream":
            return ((X, self.network._learn(X, True, chunks.columns)) for X in inputs)
        self._check_names(chunks)
        return in_order(self._transformed, inputs, self.job.jobs or 1)

    def _flagged(self, X: Array, Y: Array) -> Array:
        """Outputs, with a column that tells inferred samples if they can be."""
        if not infers(self.network):
            return Y
        flags: Any = self.network
        return np.column_stack([Y, flags.flag_inferred(X)])

    def _good(self, X: Array) -> NDArray[np.bool_]:
        """Which samples are of use."""
        good: NDArray[np.bool_] = (
            only_gaps(X) if infers(self.network) else np.all(np.abs(X) <= LIMIT, axis=1)
        )
        return good

    def _transformed(self, X: Array) -> Array:
        """Outputs of the weights as they stand; NaN for samples that are left out."""
        good = None
        if self.network.on_bad == "skip" and find_bad(X, LIMIT) >= 0:
            good = self._good(X)
        if good is None:
            return self.network.transform(X)
        Y = np.full((len(X), self.network._n_features_out), np.nan)
        if good.any():
            Y[good] = self.network.transform(X[good])
        return Y

    def _commit(self) -> None:
        """Put the output under its name, then the model; a kill anywhere here can be gone on from."""
        if self.position.stage != COMMIT:
            assert self._sink is not None
            with contextlib.suppress(TimeoutError):  # what is in a pipe is on its way
                self.position.sink = self._sink.checkpoint() if self.checkpoint else {}
                self.position.stage = COMMIT
                self._save_checkpoint()
            self._sink.commit()
        else:
            with self.job.open() as chunks, contextlib.suppress(FileNotFoundError):
                self.columns = chunks.columns
                self._open_sink(chunks)  # not there: it has its final name already
                assert self._sink is not None
                self._sink.commit()
        if self.job.save:
            self.network.save(self.job.save)
        if self.checkpoint:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.checkpoint)

    # ------------------------------------------------------------------------- between chunks

    def _input(self, chunks: Chunks, *, learns: bool) -> Iterator[Array]:
        """Chunks, good up to the first bad sample; signals end the wait for the next."""
        self._chunks = chunks
        self._first_row = self.position.rows
        undecided = learns and self.network._core is None and _auto.is_auto(self.network)
        stream = _auto.gathered(self._waited(chunks)) if undecided else self._waited(chunks)
        for X in stream:
            bad = -1 if self.network.on_bad == "skip" else find_bad(X, LIMIT)
            if bad >= 0 and infers(self.network):
                fine = self._good(X)
                bad = -1 if np.all(fine) else int(np.argmin(fine))
            yield from self._pieces(X if bad < 0 else X[:bad], learns and not undecided)
            if bad >= 0:
                raise ValueError(_about(X[bad], self.position.rows, chunks))

    def _pieces(self, X: Array, cut: bool) -> Iterator[Array]:
        """A chunk, cut where the number of samples doubles, so that settling can be looked at."""
        done = 0
        while done < len(X):
            size = max(FIRST, self.position.learned) if cut else len(X)
            yield X[done : done + size]
            done += size

    def _waited(self, chunks: Chunks) -> Iterator[Array]:
        stream = iter(chunks)
        while True:
            with self._signals.waiting():
                X = next(stream, None)
            if X is None:
                return
            yield X

    def _check_names(self, chunks: Chunks) -> None:
        """The columns must be those that the model knows, in its order."""
        known = list(getattr(self.network, "feature_names_in_", ()))
        if known and chunks.columns is not None and known != chunks.columns:
            raise ValueError(
                f"the columns are {chunks.columns}, but the model began with {known}: "
                "choose these, in this order, with columns="
            )

    def _done(self, X: Array, *, learned: bool) -> None:
        """Count a chunk; then it is safe to stop, and perhaps time to save."""
        self.position.rows += len(X)
        self._level = True
        if learned:
            self.position.learned += len(X)
            self._settling.look(self.network, self.position.learned)
        if self.selection is not None:
            self._choose(X)
        if self._watch is not None:
            self._watch(self, X)
        self._signals.check()
        if time.monotonic() - self._saved >= self._every:
            with contextlib.suppress(TimeoutError):  # a slow reader: next time
                self._save_checkpoint()

    def _choose(self, X: Array) -> None:
        """Keep an even selection of the good samples, for a verdict at the end."""
        assert self.selection is not None
        if self.network.on_bad == "skip" and find_bad(X, LIMIT) >= 0:
            good = self._good(X)
            self.position.bad += int(np.sum(~good))
            X = X[good]
        if infers(self.network) and len(X):
            try:
                X = filled(self.network, self.network._ready(), X)
            except NotFittedError:  # the warm-up holds too few: as if they had not come yet
                return
        if len(X):
            self.selection.add(X)

    def _save_checkpoint(self) -> None:
        if self.checkpoint is None or self.network._core is None:
            return
        if self._sink is not None and self.position.stage == WRITE:
            self.position.sink = self._sink.checkpoint()
        write_checkpoint(self.checkpoint, self.job, self.position, self.network, self._mark)
        self._saved = time.monotonic()

    def _leave(self, error: BaseException) -> None:
        """After an error or a signal: save where it can go on, and keep or drop what was written."""
        if self._level and self.position.stage != COMMIT:
            with contextlib.suppress(Exception):  # the first error is the one to tell
                self._save_checkpoint()
        if self._sink is not None:
            self._sink._leave()

    def _open_sink(self, chunks: Chunks) -> None:
        names = [str(name) for name in self.network.get_feature_names_out()]
        names += ["inferred"] if infers(self.network) else []
        self._sink = self.job.sink(chunks, names, self.position.sink or None)

    def _outcome(self) -> Outcome:
        seconds = time.monotonic() - self._start
        rows = self.position.rows - self._first_row
        return Outcome.of(self, rows, seconds, self._settling.change(self.network))


def run(
    job: Job,
    *,
    checkpoint: str | None = None,
    every: float = 10.0,
    resume: Checkpoint | None = None,
    watch: Watch | None = None,
    select: bool = False,
    record: Any = None,
    signals: Signals | None = None,
) -> tuple[Outcome, Run]:
    """Do a job, from its beginning or from a checkpoint.

    Parameters
    ----------
    job : Job
    checkpoint : str, optional
        Where to save model and position, every so many seconds and when the run ends early.
    every : float
    resume : Checkpoint, optional
    watch : callable, optional
        Called after each chunk with the run and the chunk.
    select : bool
        Keep an even selection of the samples, for a diagnosis.
    record : nica.report.Record, optional
        Is given all samples with their outputs, for a page.
    signals : Signals, optional
        Those of a program that watches for them since its beginning.
    """
    under_way = Run(job, checkpoint, every, resume, watch, select, record, signals)
    return under_way.go(), under_way


def _about(x: Array, row: int, chunks: Chunks) -> str:
    channel = int(np.flatnonzero(~(np.abs(x) <= LIMIT))[0])
    name = chunks.columns[channel] if chunks.columns else str(channel)
    value = "NaN" if np.isnan(x[channel]) else f"{x[channel]:g}"
    size = f" (the limit is {LIMIT:g})" if np.isfinite(x[channel]) else ""
    return (
        f"{chunks.name}: row {row} (from 0), column {name!r}: {value} cannot be learned from{size}; "
        "on_bad='skip' leaves such rows out"
        + (", missing='infer' fills gaps" if np.isnan(x[channel]) else "")
    )


def _times(n: int) -> str:
    return f"{n} pass" if n == 1 else f"{n} passes"


def _special(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)
