"""``fit``: passes over the samples, in permuted order, until the outputs no longer change."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nica.networks._samples import Array, blocks, check_finite

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

PATIENCE = 5  #: passes of fit without progress before it slows down


def settle(network: StreamNetwork, source: NDArray[Any], max_passes: int) -> None:
    """Passes over the samples until the outputs no longer change between passes."""
    n = source.shape[0]
    if (
        network.on_bad == "raise"
    ):  # before rows are permuted, so that the message names the right one
        for start, block in blocks(source):
            check_finite(network, block, start)
    rng = np.random.default_rng([network._seed, 1 << 31])
    settled = before = None
    slow, wrong, patience = False, np.inf, PATIENCE
    for number in range(max_passes):
        order = rng.permutation(n) if network.shuffle else None
        for part in (slice(0, n // 2), slice(n // 2, n)) if number == 0 else (slice(0, n),):
            rows = np.arange(n)[part] if order is None else order[part]
            for start, block in blocks(source, rows):
                network._learn_block(block, start, None)
            if number == 0 and part.start == 0:
                before = network._map()
        network.n_iter_ = number + 1
        now = network._map()
        settled = _change(before, now)
        if settled is not None and settled <= (network.tol or 0.0) and (slow or number == 0):
            break
        before = now
        if number + 1 < max_passes and not slow:
            # First quickly to the right place, with the short memory of the start, for as long as
            # the outputs come nearer to being nonnegative; then slowly to rest.
            still = _wrong(network, source, now)
            patience = PATIENCE if still < 0.98 * wrong else patience - 1
            wrong = min(wrong, still)
            slow = patience == 0
            network._set_memory(slow)
    network._settled(n)
    if max_passes > 1 and (settled is None or (network.tol is not None and settled > network.tol)):
        changed = "has not started" if settled is None else f"still changes by {settled:.2g}"
        warnings.warn(
            f"{type(network).__name__} did not settle in {max_passes} passes over {n} samples: its "
            f"unmixing {changed} (tol={network.tol:g}). Give more samples, or raise max_passes or tol",
            ConvergenceWarning,
            stacklevel=3,
        )


def _wrong(network: StreamNetwork, source: NDArray[Any], unmixing: Array | None) -> float:
    """Energy of what the outputs would be below zero, were they linear; on some of the samples."""
    if unmixing is None or not network._nonnegative:
        return np.inf
    step = max(1, source.shape[0] // 20_000)
    U = np.asarray(source[::step], dtype=np.float64) @ unmixing.T
    U = U[np.all(np.isfinite(U), axis=1)]
    size = np.mean((U - U.mean(axis=0)) ** 2, axis=0)
    return float(np.sum(np.mean(np.minimum(U, 0) ** 2, axis=0) / np.maximum(size, 1e-300)))


def _change(before: Array | None, now: Array | None) -> float | None:
    """Largest change of an output per unit of a source, between two unmixing matrices."""
    if before is None or now is None:
        return None
    return float(np.max(np.abs(now @ np.linalg.pinv(before) - np.eye(len(now)))))
