"""Learning as lessons dealt out one by one, so that whoever holds the networks decides how they learn."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from nica.networks._samples import Array

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

#: What a network is to learn: a block of samples, the number of its first row, a place for the outputs.
Lesson = tuple[Array, int, Array | None]
#: Lessons, the next one dealt out when the last is learned; an error that is thrown in undoes them.
Lessons = Generator[Lesson, None, Any]


def follow(network: StreamNetwork, lessons: Lessons) -> Any:
    """Learn all lessons, and return what they return."""
    try:
        lesson = next(lessons)
        while True:
            try:
                network._learn_block(*lesson)
            except BaseException as error:
                lessons.throw(error)
            lesson = next(lessons)
    except StopIteration as end:
        return end.value
