"""How much faster two cores are than one, where other programs run too: from processor time.

    python -m benchmarks.cores [--quick]

One core: processor time of the call with one thread. Two cores: what the calling thread itself takes,
and for each pool of threads that it opens the tasks' processor times, dealt out in order to two workers.
That is the time of a machine with nothing else to do if tasks do not wait for each other: the calling
thread's work counts as if no task ran beside it; waits for Python's lock, and for memory that two cores
share, are not seen. ``python -m benchmarks.run`` measures by the clock too, for machines that are quiet.
"""

from __future__ import annotations

import argparse
import heapq
import json
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import nica
from benchmarks.bench_speed import data

WORKERS = 2
POOLS = (
    "nica.batch.sources", "nica.batch._solve", "nica.networks._apply", "nica.replicas._run",
    "nica.replicas._sweep",
)  # fmt: skip


def schedule(tasks: Iterable[float], workers: int) -> float:
    """When the last task ends, if each goes to the worker that is free first.

    >>> schedule([3, 2, 2], 2)
    4.0
    """
    free = [0.0] * workers
    for task in tasks:
        heapq.heappush(free, heapq.heappop(free) + task)
    return max(free)


class Watched(ThreadPoolExecutor):
    """A pool that notes the processor time of its tasks."""

    pools: list[list[float]]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.tasks: list[float] = []
        self.pools.append(self.tasks)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        number = len(self.tasks)
        self.tasks.append(0.0)

        def timed() -> Any:
            start = time.thread_time()
            try:
                return fn(*args, **options)
            finally:
                self.tasks[number] = time.thread_time() - start

        return super().submit(timed)


def spans(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of the calling thread, and of its pools on two workers."""
    Watched.pools = []
    with ExitStack() as patched:
        for module in POOLS:
            patched.enter_context(patch(f"{module}.ThreadPoolExecutor", Watched))
        start = time.thread_time()
        call()
        own = time.thread_time() - start
    return own, sum(schedule(tasks, WORKERS) for tasks in Watched.pools)


def compare(name: str, call: Callable[[int], Any], repeats: int) -> dict[str, Any]:
    """One thread against two; the smallest of several repeats, taken in turns."""
    one, two = [], []
    for _ in range(repeats):
        start = time.process_time()
        call(1)
        one.append(time.process_time() - start)
        two.append(spans(lambda: call(WORKERS)))
    own, pools = min(two, key=sum)
    row = {
        "what": name, "one": min(one), "own": own, "pools": pools, "ratio": min(one) / (own + pools),
    }  # fmt: skip
    print("  ", row, flush=True)
    return row


def cores(quick: bool = False) -> list[dict[str, Any]]:
    """Sweeps, batch and transform."""
    rows, repeats = [], 2 if quick else 5
    # threads of BLAS are none of the pools': their time would be seen on one side only
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for d, T in ((3, 100_000), (10, 20_000), (20, 4000)):
            X, grid = data(d, d, T), {"half_life": [None, *np.geomspace(1e3, 1e6, 7).tolist()]}
            rows.append(compare(
                f"sweep of 32 runs, d = {d}, {T:,} samples",
                lambda n, X=X, grid=grid: nica.sweep(X, grid, seeds=4, n_jobs=n, progress=False),
                repeats,
            ))  # fmt: skip
        for d, k, T in (
            (10, 10, 100_000),
            (10, 10, 1_000_000),
            (10, 200, 100_000),
            (50, 50, 100_000),
        ):
            X = data(d, k, T)
            rows.append(compare(
                f"batch fit, d = {d}, k = {k}, {T:,} samples",
                lambda n, X=X, d=d: nica.NICA(d, solver="batch", n_jobs=n, random_state=0).fit(X),
                repeats,
            ))  # fmt: skip
        for d, T in ((3, 1_000_000), (10, 1_000_000), (50, 100_000)):
            X = data(d, d, T)
            model = nica.NICA(d, random_state=0).partial_fit(X[:20_000])

            def transform(n: int, X: np.ndarray = X, model: nica.NICA = model) -> None:
                model.n_jobs = n
                model.transform(X)

            rows.append(compare(f"transform, d = {d}, {T:,} samples", transform, repeats))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    print(json.dumps(cores(parser.parse_args().quick), indent=1))


if __name__ == "__main__":
    main()
