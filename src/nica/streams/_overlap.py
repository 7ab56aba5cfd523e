"""Reading ahead and writing behind: threads take text apart and make it while another learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each made by a thread while the one before is used.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, items, None)
            yield item


class Behind:
    """One task at a time, done by a thread; its error comes with the next call, and with each after that.

    Examples
    --------
    >>> done = []
    >>> behind = Behind()
    >>> behind.do(done.append, 1)
    >>> behind.wait()
    >>> done
    [1]
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._task: Future[Any] | None = None

    def do(self, task: Callable[[Any], Any], what: Any) -> None:
        """Begin a task when the one before has ended."""
        self.wait()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
        self._task = self._pool.submit(task, what)

    def wait(self) -> None:
        """Wait for the task."""
        if self._task is not None:
            self._task.result()

    def end(self) -> None:
        """Wait, without asking how it went."""
        if self._pool is not None:
            self._pool.shutdown()
