"""Networks side by side in the lanes of the processor's vector registers, as far as they are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica._core import find_bad, run_together
from nica.networks._apply import new_core
from nica.networks._auto import is_auto
from nica.networks._layers import LayeredNetwork
from nica.networks._lessons import Lesson, Lessons
from nica.networks._samples import LIMIT
from nica.networks._stream import DONE, OVERFLOW, _overflow

Array = NDArray[np.float64]

FEWEST = 256  #: rows of a round while networks come and go: at their start, after a jump
ALIKE = ("k", "l", "m", "d", "whiten", "separate", "robust", "in_time", "dynamics", "rule")


class Run:
    """A network and what it has still to learn."""

    def __init__(self, model: Any, lessons: Lessons) -> None:
        self.model, self._lessons = model, lessons
        self.failure: FloatingPointError | None = None
        self.lesson: Lesson | None = None
        self._go_on()

    def learned(self, rows: int) -> None:
        """So many rows of the lesson have been learned."""
        assert self.lesson is not None
        block, start, Y = self.lesson
        if rows == len(block):
            self._go_on()
        else:
            self.lesson = block[rows:], start + rows, None if Y is None else Y[rows:]

    def failed(self, error: BaseException) -> None:
        """Undo the lessons; the weights may overflow, all other errors are raised."""
        self.lesson = None
        try:
            self._lessons.throw(error)
        except FloatingPointError as overflow:
            self.failure = overflow

    def _go_on(self) -> None:
        self.lesson = next(self._lessons, None)


def kind(model: Any, X: Any) -> tuple[Any, ...] | None:
    """What models must have in common to learn together; None for those that learn alone."""
    if not isinstance(model, LayeredNetwork) or np.ndim(X) != 2:
        return None
    if model._core is None and is_auto(model):
        return None
    settings: Any = model._settings if model._core is not None else model._options(np.shape(X)[1])
    return (new_core(settings).lanes, np.shape(X), *(settings[name] for name in ALIKE))


def learn(runs: Sequence[Run]) -> None:
    """Let networks of one kind learn all their lessons."""
    size = FEWEST
    while at_work := [run for run in runs if run.lesson is not None]:
        rows = min(len(block) for block, _, _ in _lessons(at_work))
        if len(at_work) > 1:
            rows = min(rows, size)
        size = 2 * size if _round(at_work, rows) else FEWEST


def _round(runs: list[Run], rows: int) -> bool:
    """Learn so many rows of each lesson; whether all could do so together."""
    lessons = [(b[:rows], s, None if Y is None else Y[:rows]) for b, s, Y in _lessons(runs)]
    together = len(runs) > 1 and all(find_bad(block, LIMIT) < 0 for block, _, _ in lessons)
    outcomes = [(0, DONE)] * len(runs)
    if together:
        outcomes = run_together(
            [run.model._core for run in runs],
            [b for b, _, _ in lessons],
            [Y for _, _, Y in lessons],
        )
    for run, (block, start, Y), (done, event) in zip(runs, lessons, outcomes, strict=True):
        try:
            if event == OVERFLOW:
                raise _overflow(type(run.model).__name__)
            if done < rows:
                run.model._learn_block(block[done:], start + done, None if Y is None else Y[done:])
            run.learned(rows)
        except FloatingPointError as error:
            run.failed(error)
    return together and all(done == rows for done, _ in outcomes)


def _lessons(runs: list[Run]) -> list[Lesson]:
    return [run.lesson for run in runs if run.lesson is not None]
