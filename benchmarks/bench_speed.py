"""Seconds of every algorithm and size, by pytest-benchmark; ``python -m benchmarks.run`` calls it.

    pytest benchmarks/bench_speed.py --benchmark-json speed.json

What a case is stands in its ``extra_info``: algorithm, d, k, T, threads, and calls (samples per call).
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nica
from nica import _core, networks
from nica.datasets import mixing, sparse_uniform
from nica.equations import network as equations

#: (d, k) of the streams
SIZES = [(3, 3), (5, 5), (7, 7), (10, 10), (20, 20), (50, 50), (100, 100), (10, 50), (50, 200)]
BATCH_SIZES = [(3, 3), (5, 5), (10, 10), (20, 20), (50, 50), (10, 50), (10, 200)]
LONG = 1_000_000
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def data(d: int, k: int, T: int, *, nonnegative: bool = False) -> np.ndarray:
    rng = np.random.default_rng(0)
    S = sparse_uniform(T, d, random_state=rng)
    A = mixing(k, d, condition=3, random_state=rng)
    return S @ (np.abs(A) if nonnegative else A).T


def length(d: int) -> int:
    return 100_000 if d <= 10 else 20_000 if d <= 20 else 4000


def rate(start: str, d: int) -> Any:
    """The paper's forgetting is for few sources; with many the memory must be longer."""
    return (
        nica.rates.Activity(10.0 * d, 1 - 1 / (10.0 * d)) if start == "paper" and d > 10 else None
    )


#: Of one thread the processor's time counts: it does not contain what other processes took.
one_thread = pytest.mark.benchmark(timer=time.process_time)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def measure(benchmark: Any, call: Callable[[], Any], rounds: int, **what: Any) -> None:
    """Time a call; the unit is measured beside, so that a slow moment does not shift the ratios."""
    benchmark.extra_info.update(what)
    benchmark.pedantic(call, rounds=rounds, warmup_rounds=0)
    benchmark.extra_info["unit_ns"] = _core.multiply_add_latency(_core.kernels()[0])


@one_thread
@pytest.mark.parametrize("start", ["paper", "warm"])
@pytest.mark.parametrize(("d", "k"), SIZES)
def test_stream(benchmark, d, k, start):
    """One stream, learning, outputs kept; the network has settled before the clock starts."""
    T = length(d)
    X = data(d, k, T)
    X = X / X.std() if start == "paper" else X
    model = nica.NICA(d, start=start, separation_rate=rate(start, d), random_state=0)
    Y = np.empty((T, d))
    for _ in range(1 if d <= 10 else 3):
        model.separate(X, out=Y)
    measure(
        benchmark, lambda: model.separate(X, out=Y), 10,
        algorithm=f"NICA stream, start={start}", d=d, k=k, T=T, threads=1,
    )  # fmt: skip


def others() -> list[str]:
    """Networks beside the paper's own."""
    return [n for n in networks.__all__ if n[0].isupper() and n != "NICA" and n != "NSM"]


@one_thread
@pytest.mark.parametrize("name", others())
@pytest.mark.parametrize(("d", "k"), [(3, 3), (10, 10), (50, 50)])
def test_other_networks(benchmark, name, d, k):
    T = length(d)
    X = data(d, k, T)
    model = getattr(networks, name)(random_state=0).partial_fit(X)  # as many outputs as channels
    measure(
        benchmark, lambda: model.separate(X), 5, algorithm=name, d=d, k=k, T=T, threads=1
    )  # fmt: skip


@pytest.mark.parametrize("threads", sorted({1, CORES}))
@pytest.mark.parametrize("d", [3, 5, 7, 10, 20])
def test_replicas(benchmark, d, threads):
    """Sixteen seeds over the same samples; a sample of one replica counts as one."""
    from nica.replicas import run_replicas

    T, replicas = 20_000, 16
    X = data(d, d, T)
    models = [nica.NICA(d, random_state=seed).partial_fit(X) for seed in range(replicas)]
    measure(
        benchmark, lambda: run_replicas(models, X, n_jobs=threads), 5,
        algorithm=f"{replicas} replicas", d=d, k=d, T=T * replicas, threads=threads,
    )  # fmt: skip


def batch(d: int, k: int, T: int, threads: int) -> Callable[[], Any]:
    X = data(d, k, T)
    return lambda: nica.NICA(d, solver="batch", n_jobs=threads, random_state=0).fit(X)


@pytest.mark.parametrize(("d", "k"), BATCH_SIZES)
def test_batch(benchmark, d, k):
    measure(
        benchmark, batch(d, k, 100_000, CORES), 2,
        algorithm="NICA batch", d=d, k=k, T=100_000, threads=CORES,
    )  # fmt: skip


@pytest.mark.parametrize("threads", sorted({1, CORES}))
@pytest.mark.parametrize("T", [30_000, 300_000, LONG])
def test_batch_long(benchmark, T, threads):
    measure(
        benchmark, batch(10, 10, T, threads), 3,
        algorithm="NICA batch", d=10, k=10, T=T, threads=threads,
    )  # fmt: skip


@pytest.mark.parametrize("threads", sorted({1, CORES}))
@pytest.mark.parametrize("d", [3, 10, 50])
def test_transform(benchmark, d, threads):
    T = LONG if d <= 10 else 100_000
    X = data(d, d, T)
    model = nica.NICA(d, solver="batch", random_state=0).fit(X[:50_000])
    model.n_jobs = threads
    measure(
        benchmark, lambda: model.transform(X), 5,
        algorithm="NICA transform", d=d, k=d, T=T, threads=threads,
    )  # fmt: skip


def peers() -> dict[str, Callable[[int], Any]]:
    from sklearn.decomposition import NMF, FastICA, MiniBatchNMF

    class Picard:
        def __init__(self, d: int) -> None:
            self.d = d

        def fit(self, X: np.ndarray) -> None:
            import picard

            picard.picard(X.T, n_components=self.d, random_state=0)

    return {
        "FastICA": lambda d: FastICA(d, whiten="unit-variance", random_state=0),
        "Picard": Picard,
        "NMF": lambda d: NMF(d, init="random", random_state=0, max_iter=200),
        "MiniBatchNMF": lambda d: MiniBatchNMF(d, random_state=0),
    }


@pytest.mark.parametrize("name", ["FastICA", "Picard", "NMF", "MiniBatchNMF"])
@pytest.mark.parametrize(("d", "k"), [(3, 3), (10, 10), (10, 50)])
def test_peers(benchmark, name, d, k):
    X = data(d, k, 100_000, nonnegative="NMF" in name)
    measure(
        benchmark, lambda: peers()[name](d).fit(X), 2,
        algorithm=name, d=d, k=k, T=100_000, threads=CORES,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["FastICA", "Picard"])
def test_peers_long(benchmark, name):
    X = data(10, 10, LONG)
    measure(
        benchmark, lambda: peers()[name](10).fit(X), 2,
        algorithm=name, d=10, k=10, T=LONG, threads=CORES,
    )  # fmt: skip


@one_thread
@pytest.mark.parametrize(
    "how", ["separate_one", "partial_fit of a row", "river, learn and transform"]
)
def test_one_sample_at_a_time(benchmark, how):
    X = data(3, 3, 2000)
    model = nica.NICA(3, random_state=0).partial_fit(data(3, 3, 20_000))
    if how == "separate_one":
        rows = [np.ascontiguousarray(x) for x in X]

        def call() -> None:
            for x in rows:
                model.separate_one(x)

    elif how == "river, learn and transform":
        from nica.compat.river import Separator

        samples = [dict(zip("abc", x.tolist(), strict=True)) for x in X]
        river = Separator(nica.NICA(3, random_state=0))
        river.learn_one(samples[0])

        def call() -> None:
            for sample in samples:
                river.learn_one(sample)
                river.transform_one(sample)

    else:
        chunks = [X[i : i + 1] for i in range(len(X))]

        def call() -> None:
            for chunk in chunks:
                model.partial_fit(chunk)

    measure(benchmark, call, 5, algorithm=how, d=3, k=3, T=len(X), threads=1)


@one_thread
@pytest.mark.parametrize("d", [3, 10])
def test_equations(benchmark, d):
    X = data(d, d, 1000)

    def call() -> None:
        state = equations.paper_start(d, d, d, d, np.random.default_rng(0))
        for x in X:
            _, state = equations.paper_step(state, x)

    measure(benchmark, call, 1, algorithm="nica.equations", d=d, k=d, T=len(X), threads=1)
