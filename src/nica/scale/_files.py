"""Files as Dask arrays, and a file to its sources on a cluster: ``nica separate --scheduler``."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask import config
from dask.delayed import delayed
from numpy.typing import NDArray

from nica.scale._source import still_there
from nica.streams import open_chunks
from nica.streams._sink import replace_folder

Array = NDArray[np.float64]

ENTRIES = 1 << 21  #: numbers in a chunk unless told: 16 MiB
FORMATS = ("zarr", "parquet")  #: of which any rows can be read without those before them
WAIT = "10s"  #: for a scheduler that does not answer


def open_dask(
    source: Any, *, chunk_rows: int | None = None, **reading: Any
) -> tuple[Any, list[str] | None]:
    """Open a zarr store or a Parquet file as a Dask array, and give the names of its columns.

    Each chunk is read by the worker that needs it, which must find the file under the same path, with
    the checks of `nica.streams.open_chunks`.

    Parameters
    ----------
    source : str or path
    chunk_rows : int, optional
        Rows of a chunk; otherwise as many as make 16 MiB.
    **reading
        ``path`` and ``columns``, as for `nica.streams.open_chunks`.
    """
    name = os.path.abspath(os.fspath(source))
    with open_chunks(name, **reading) as chunks:
        if chunks.format not in FORMATS or chunks.n_rows is None:
            raise ValueError(
                f"{os.fspath(source)!r} is {chunks.format}, of which a cluster cannot read any part "
                f"alone: give {' or '.join(FORMATS)}, or leave out the scheduler"
            )
        n, k, names = int(chunks.n_rows), chunks.n_channels, chunks.columns
    if not n:
        raise ValueError(f"{os.fspath(source)!r} holds no samples")
    step = chunk_rows or max(1, ENTRIES // k)
    parts = [
        da.from_delayed(
            delayed(_rows)(name, start, min(step, n - start), reading),
            shape=(min(step, n - start), k), dtype=np.float64, meta=np.empty((0, k)),
        )
        for start in range(0, n, step)
    ]  # fmt: skip
    return da.concatenate(parts), names


def _rows(name: str, start: int, n: int, reading: dict[str, Any]) -> Array:
    """So many rows of a file from one on."""
    found: list[Array] = []
    with open_chunks(name, start=start, chunk_rows=n, **reading) as chunks:
        for rows in chunks:
            found.append(rows[: n - sum(map(len, found))])
            if sum(map(len, found)) == n:
                break
    rows = np.concatenate(found) if found else np.empty((0, 0))
    if len(rows) != n:
        raise ValueError(f"{name!r} has become shorter: rows {start} to {start + n} are not there")
    return rows


def separate_store(
    model: Any, source: Any, out: Any, *, scheduler: str = "threads", **reading: Any
) -> dict[str, Any]:
    """Fit a model on a zarr store or a Parquet file and write its outputs to a zarr store, on Dask.

    Parameters
    ----------
    model : NICA
        It is fitted.
    source : str or path
    out : str or path
        A folder that ends in ``.zarr``; it appears whole or not at all, and replaces what was there.
    scheduler : str
        Address of a Dask scheduler, such as ``tcp://host:8786``; or ``"threads"``, those of this machine.
    **reading
        As for `open_dask`.

    Returns
    -------
    facts : dict
        Samples, channels, components, rounds.
    """
    out = Path(out).absolute()
    if out.suffix != ".zarr":
        raise ValueError(f"{str(out)!r}: workers write side by side into zarr only, OUT.zarr")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{str(out)!r} is a file: give the name of a folder, OUT.zarr")
    with _connected(scheduler):
        X, names = open_dask(source, **reading)
        model.fit(X)
        Y = model.transform(X)
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
        try:
            new = folder / out.name
            with still_there():
                Y.to_zarr(str(new))
            replace_folder(new, out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return {
        "samples": int(X.shape[0]), "channels": int(X.shape[1]), "columns": names,
        "components": int(Y.shape[1]), "rounds": int(model.n_iter_),
    }  # fmt: skip


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[None]:
    """Dask on threads here, or on the cluster with this address."""
    if scheduler == "threads":
        with config.set(scheduler="threads"):
            yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("a cluster needs dask.distributed: pip install nica[dask]") from None
    try:
        client = Client(scheduler, timeout=WAIT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {scheduler!r} ({error}): start one with `dask scheduler`, or "
            "give 'threads' for those of this machine"
        ) from None
    with client:
        yield
