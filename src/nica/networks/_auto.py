"""``n_components="auto"``: the number of sources, chosen once, before the first sample is learned."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nica.networks._samples import LIMIT, blocks, check_finite, infers
from nica.rank import estimate_n_components

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

AUTO = "auto"
FIRST, FIRST_PER_CHANNEL = 500, 25  #: samples that decide in a stream: at least, and per channel
SOME = 50_000  #: samples that decide in ``fit``, evenly spread


def is_auto(network: StreamNetwork) -> bool:
    """Whether the number of sources is to be chosen from the data."""
    value = network.get_params(deep=False).get("n_components")
    return isinstance(value, str) and value == AUTO


def first_rows(k: int) -> int:
    """Samples from which the number is chosen in a stream of k channels, however it is cut."""
    return max(FIRST, FIRST_PER_CHANNEL * k)


def choose(network: StreamNetwork, source: NDArray[Any], *, stream: bool) -> None:
    """Choose the number of sources for a network that has not begun, if that is asked for.

    A stream is cut as its user likes, and how must not change the result: always the same first
    samples decide, and they must come at once. ``fit`` has all samples.
    """
    if not is_auto(network):
        return
    n, k = source.shape
    if stream and n < first_rows(k):
        raise ValueError(
            f"n_components='auto' is chosen from the first {first_rows(k)} samples, and the first call "
            f"has {n}: give more samples first, use fit, or give a number"
        )
    rows = source[: first_rows(k)] if stream else source[:: max(1, n // SOME)]
    if network.on_bad == "skip" or infers(network):
        rows = rows[np.all(np.abs(np.asarray(rows, dtype=np.float64)) <= LIMIT, axis=1)]
    else:
        for start, block in blocks(rows):
            check_finite(network, block, start)
    if len(rows) < 2:
        raise ValueError(
            f"n_components='auto' needs more than {len(rows)} good samples: give a number"
        )
    rank = estimate_n_components(rows)
    if rank.n_components < 1:
        raise ValueError(f"n_components='auto' finds no source: {rank.reason}")
    network._chosen = rank.n_components
    if not rank.certain:
        warnings.warn(
            f"n_components='auto' is not certain of {rank.n_components}: it may be {rank.low} to "
            f"{rank.high} ({rank.reason})",
            UserWarning,
            stacklevel=6,
        )


def gathered(chunks: Iterable[Any]) -> Iterator[Any]:
    """Chunks of which the first has samples enough to choose the number of sources."""
    stream = iter(chunks)
    held: list[Any] = []
    for chunk in stream:
        held.append(np.asarray(chunk))
        if held[0].ndim != 2 or sum(map(len, held)) >= first_rows(held[0].shape[1]):
            break
    if held:
        yield np.concatenate(held) if len(held) > 1 else held[0]
    yield from stream
