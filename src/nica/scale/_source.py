"""The sums of the batch solver on Dask, and outputs chunk by chunk."""

from __future__ import annotations

import contextlib
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.batch import Total, Work
from nica.batch.sources import add, fold, measure, spread, unpack

try:
    import dask.array as da
    from dask import config
    from dask.base import compute
    from dask.delayed import Delayed, delayed
except ImportError as missing:
    raise ImportError("Dask is missing: pip install nica[dask]") from missing

Array = NDArray[np.float64]


class DaskSource:
    """Samples of a Dask array: what `NICA.fit` makes of it.

    Parameters
    ----------
    X : dask.array.Array (n_samples, n_channels)
        Real numbers, all channels of a sample in one chunk, the sizes of the chunks known.
    skip : bool
        Leave out samples that are not finite, instead of refusing them.

    Examples
    --------
    >>> import dask.array
    >>> source = DaskSource(dask.array.ones((100, 3), chunks=(30, 3)))
    >>> total = source.total(lambda rows: (rows.sum(axis=0),))
    >>> total.sums[0].tolist(), total.n_samples
    ([100.0, 100.0, 100.0], 100)
    """

    def __init__(self, X: Any, skip: bool = False) -> None:
        X = checked(X)
        self.n_samples, self.n_channels = map(int, X.shape)
        self.skip = skip
        self._firsts = np.r_[0, np.cumsum(X.chunks[0])[:-1]].astype(int).tolist()
        self._chunks = X.to_delayed().ravel().tolist()

    def total(self, work: Work) -> Total:
        """Sum of ``work(part)`` over all parts, as a tree over the chunks."""
        with still_there():
            sent = _send(work)
            parts = (
                delayed(measure)(sent, chunk, first, self.skip, i)
                for i, (chunk, first) in enumerate(zip(self._chunks, self._firsts, strict=True))
            )
            whole: Delayed = fold(parts, delayed(add))
            return unpack(*compute(whole))

    def sample(self, most: int, F: Array | None = None) -> Array:
        """At most so many good samples, evenly spread; each multiplied by F, if given."""
        with still_there():
            sent = None if F is None else _send(F)
            parts = [
                delayed(spread)(chunk, most, first, self.n_samples, sent)
                for chunk, first in zip(self._chunks, self._firsts, strict=True)
            ]
            return np.concatenate(compute(*parts))


def transform(model: Any, X: Any, n_channels: int, n_outputs: int) -> Any:
    """Outputs of a model for a Dask array: one too, computed when it is asked for.

    Each chunk meets the weights as they are now, whatever the model learns before the outputs are
    computed.
    """
    X = checked(X)
    if X.shape[1] != n_channels:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting {n_channels} "
            "features as input"
        )
    return da.map_blocks(
        _transform_chunk, X, pickle.dumps(model), dtype=np.float64,
        chunks=(X.chunks[0], (n_outputs,)), meta=np.empty((0, n_outputs)),
    )  # fmt: skip


def _transform_chunk(chunk: NDArray[Any], model: bytes, block_info: Any = None) -> Array:
    copy = pickle.loads(model)  # made by `transform`; a network of its own for each thread
    copy.n_jobs = 1
    with contextlib.suppress(AttributeError):
        del copy.feature_names_in_
    try:
        outputs: Array = copy.transform(chunk)
    except ValueError as error:
        where = block_info[0]
        raise ValueError(
            f"chunk {where['chunk-location'][0]} of the Dask array, which begins at its row "
            f"{where['array-location'][0][0]}: {error}"
        ) from None
    return outputs


def checked(X: Any) -> Any:
    """X as a Dask array whose chunks are whole samples of real numbers."""
    if hasattr(X, "to_dask_array"):
        raise TypeError("X is a Dask data frame: give X.to_dask_array(lengths=True)")
    if X.ndim != 2:
        raise ValueError(f"the Dask array has shape {X.shape}: give (samples, channels)")
    if X.dtype.kind not in "fiub":
        raise ValueError(
            f"the Dask array holds {X.dtype} values: give real numbers, such as X.astype(float)"
        )
    if np.isnan(X.shape[1]) or len(X.chunks[1]) > 1:
        raise ValueError(
            f"each sample is cut into {len(X.chunks[1])} chunks, {tuple(X.chunks[1])} channels wide: "
            "give X.rechunk({1: -1}), so that all channels of a sample are in one"
        )
    unknown = np.flatnonzero(np.isnan(np.asarray(X.chunks[0], dtype=np.float64)))
    if len(unknown):
        raise ValueError(
            f"the number of samples in chunk {unknown[0]} of the Dask array is unknown: give "
            "X.compute_chunk_sizes()"
        )
    if not (X.shape[0] and X.shape[1]):
        raise ValueError(f"the Dask array has shape {X.shape}: give at least one sample")
    return X


def _client() -> Any:
    """The client of a cluster that Dask would use, if there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None or config.get("scheduler", None) not in (
        None,
        "dask.distributed",
        "distributed",
    ):
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _send(value: Any) -> Any:
    """Put what all tasks of a round need where they are: once to each worker, not with each task."""
    client = _client()
    if client is None:
        return delayed(value, pure=False, traverse=False)
    return client.scatter(value, broadcast=True, hash=False)


@contextlib.contextmanager
def still_there() -> Iterator[None]:
    """Say so, if the cluster is lost on the way."""
    try:
        yield
    except Exception as error:
        kind = type(error)
        if kind.__name__ == "KilledWorker":
            raise ConnectionError(
                f"Dask gave up, its workers died several times at the same task ({error}); the model is "
                "as it was. Often the chunks are too large for the workers' memory: X.rechunk"
            ) from error
        if kind.__module__.partition(".")[0] != "distributed":
            raise  # the chunks' own errors, as they are
        raise ConnectionError(
            f"the Dask cluster was lost ({kind.__name__}: {error}); the model is as it was. Connect to "
            "a cluster again, dask.distributed.Client(...), and repeat the call"
        ) from error
