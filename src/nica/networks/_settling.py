"""``fit``: passes over the samples, in permuted order, until the outputs no longer change."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nica.networks import _auto
from nica.networks._lessons import Lessons
from nica.networks._missing import SOME as FEW_WITH_GAPS
from nica.networks._missing import complete
from nica.networks._samples import (
    LIMIT,
    Array,
    blocks,
    check_finite,
    checked,
    infers,
    only_gaps,
)
from nica.networks._settings import whole

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

FEW = 200  #: rows below which ``fit`` cannot tell a lost neuron from a rare source
PATIENCE = 5  #: passes of fit without progress before it slows down
PLENTY = 100  #: times its patience: so many samples have been searched well in one pass
NEGLIGIBLE = 1e-4  #: negative energy, per unit of variance, that is no reason to search on
SOME = 20_000  #: samples, evenly spread, on which outputs are compared between passes


def fitting(network: StreamNetwork, X: Any) -> Lessons:
    """Deal out what ``fit`` learns, afresh."""
    max_passes = whole(network.max_passes, "max_passes", minimum=1)
    before = network.__dict__.copy()
    try:
        source = checked(network, X, None)
        _auto.choose(network, source, stream=False)
        network._begin(source.shape[1])
        yield from settle(network, source, max_passes)
        if source.shape[0] >= FEW:
            network._look_after(5, always=network.n_iter_ > 1)
    except BaseException:
        network.__dict__.clear()
        network.__dict__.update(before)
        raise


def settle(network: StreamNetwork, source: NDArray[Any], max_passes: int) -> Lessons:
    """Deal out pass after pass over the samples until the outputs no longer change between passes."""
    n = source.shape[0]
    if network.on_bad == "raise":  # before rows are permuted: the message must name the right one
        for start, block in blocks(source):
            check_finite(network, block, start)
    rng = np.random.default_rng([network._seed, 1 << 31])
    some = _some(network, source)
    settled = before = None
    slow, wrong = False, np.inf
    patience = enough = PATIENCE + network._patience // n  # in passes
    for number in range(max_passes):
        order = rng.permutation(n) if network.shuffle else None
        for part in (slice(0, n // 2), slice(n // 2, n)) if number == 0 else (slice(0, n),):
            rows = np.arange(n)[part] if order is None else order[part]
            for start, block in blocks(source, rows):
                yield block, start, None
            if number == 0 and part.start == 0:
                before = network._map()
        network.n_iter_ = number + 1
        now = network._map()
        settled = _change(before, now, some)
        if settled is not None and settled <= (network.tol or 0.0) and (slow or number == 0):
            break
        before = now
        if number == 0 and max_passes > 1:
            network._all_seen()
        if number + 1 < max_passes and not slow:
            # First quickly to the right place, with the short memory of the start, for as long as
            # the outputs come nearer to being nonnegative; then slowly to rest.
            still = _wrong(network, some, now)
            patience = enough if still < 0.98 * wrong - NEGLIGIBLE else patience - 1
            wrong = min(wrong, still)
            plenty = n >= PLENTY * network._patience
            slow = plenty or patience == 0 or number + 1 >= max_passes // 2
            network._set_memory(slow)
    network._settled(n)
    if max_passes > 1 and (settled is None or (network.tol is not None and settled > network.tol)):
        changed = "has not started" if settled is None else f"still changes by {settled:.2g}"
        warnings.warn(
            f"{type(network).__name__} did not settle in {max_passes} passes over {n} samples: its "
            f"unmixing {changed} (tol={network.tol:g}). Give more samples, or raise max_passes or tol",
            ConvergenceWarning,
            stacklevel=5,
        )


def _some(network: StreamNetwork, source: NDArray[Any]) -> Array:
    """Evenly spread samples, the good ones of them."""
    if infers(network):
        few = np.asarray(source[:: max(1, source.shape[0] // FEW_WITH_GAPS)], dtype=np.float64)
        return complete(few[only_gaps(few)], network._settings["d"])
    some = np.asarray(source[:: max(1, source.shape[0] // SOME)], dtype=np.float64)
    return some[np.all(np.abs(some) <= LIMIT, axis=1)]


def _wrong(network: StreamNetwork, some: Array, unmixing: Array | None) -> float:
    """Energy of what the outputs would be below zero, were they linear, per unit of variance."""
    if unmixing is None or not network._nonnegative:
        return np.inf
    U = some @ unmixing.T
    return float(np.sum(np.mean(np.minimum(U, 0) ** 2, axis=0) / np.maximum(U.var(axis=0), 1e-300)))


def _change(before: Array | None, now: Array | None, some: Array) -> float | None:
    """Largest change of an output between two unmixing matrices, per unit of its size."""
    if before is None or now is None:
        return None
    size = np.sqrt(np.mean((some @ now.T) ** 2, axis=0))
    change = np.sqrt(np.mean((some @ (now - before).T) ** 2, axis=0))
    return float(np.max(change / np.maximum(size, np.max(size) * 1e-6 + 1e-300)))
