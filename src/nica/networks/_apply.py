"""``transform``: outputs with the weights as they stand, on several threads where it pays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from numpy.typing import NDArray

from nica import _config
from nica._core import Network
from nica.networks._missing import filled
from nica.networks._samples import Array, blocks, check_finite
from nica.networks._settings import Options, cores

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

THREADED = 1 << 18  #: entries from which a second thread pays


def new_core(settings: Options) -> Network:
    """Native network for these settings, with the kernels in use."""
    return Network(cast("dict[str, float]", settings), _config.kernels())


def apply(network: StreamNetwork, core: Network, source: NDArray[Any], Y: Array) -> None:
    """Put the outputs of a native network for the source into Y; each thread has a copy of it."""
    n = source.shape[0]
    threads = cores(getattr(network, "n_jobs", None)) if source.size >= THREADED else 1
    state = core.get_state() if threads > 1 else {}

    def part(i: int) -> None:
        mine = new_core(network._settings) if state else core
        if state:
            mine.set_state(state, True)
        first, last = n * i // threads, n * (i + 1) // threads
        for start, block in blocks(source[first:last]):
            check_finite(network, block, first + start)
            mine.apply(filled(network, mine, block), Y[first + start : first + start + len(block)])

    if threads == 1:
        part(0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(part, range(threads)))  # of several errors that of the first row is raised
