"""Ctrl-C and its like end a run between two chunks, where it can go on; never inside an import."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal asked for the end.

    Attributes
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """While it is entered, a signal waits for `check`, but interrupts what `waiting` encloses.

    A second signal interrupts anything that is under way (`running`): whatever hangs then is given up.
    Before, while libraries load, it ends the process at once.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._open = False
        self.running = False
        self._depth = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._depth += 1
        if self._depth == 1 and threading.current_thread() is threading.main_thread():
            wanted = [
                n for n in CAUGHT if signal.getsignal(n) is not signal.SIG_IGN
            ]  # nohup's stay
            self._before = {number: signal.signal(number, self._note) for number in wanted}
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again = self._came is not None
        self._came = number
        if again and not self.running:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        if self._open or again:
            raise Stopped(number)

    def check(self) -> None:
        """End here if a signal came."""
        if self._came is not None:
            raise Stopped(self._came)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Around what may take long and can be interrupted anywhere."""
        self._open = True
        try:
            self.check()
            yield
        finally:
            self._open = False
