"""A function over a stream in several threads, its results in the order of the stream."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_order(function: Callable[[S], T], items: Iterator[S], jobs: int) -> Iterator[tuple[S, T]]:
    """Each item with what the function makes of it; at most `jobs` of them are under way."""
    if jobs == 1:
        for item in items:
            yield item, function(item)
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: deque[tuple[S, Future[T]]] = deque()
        for item in items:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) > jobs:
                first, made = waiting.popleft()
                yield first, made.result()
        while waiting:
            first, made = waiting.popleft()
            yield first, made.result()
