"""A few valid files of each kind, small, as a user might have them."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nica
from nica._job.checkpoint import Position, write_checkpoint
from nica._job.job import Job
from nica.streams import open_sink


def seeds(folder: Path) -> dict[str, list[bytes]]:
    """A few valid files of each kind; a store of several files is a JSON object of them."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq
    import tifffile
    import zarr
    from PIL import Image
    from scipy import io as matlab

    rng = np.random.default_rng(0)
    X = rng.exponential(size=(40, 3)).round(3)
    whole = (9 * X).astype(np.int16)
    found: dict[str, list[bytes]] = {}

    def add(kind: str, write: Callable[[Path], Any]) -> None:
        path = folder / f"seed.{kind}"
        write(path)
        found.setdefault(kind, []).append(path.read_bytes())
        path.unlink()

    def sink(path: Path, columns: list[str] | None = None) -> None:
        with open_sink(path, columns=columns) as out:
            out.write(X)

    def h5(path: Path) -> None:
        with h5py.File(path, "w") as file:
            file.create_dataset("a/x", data=X, chunks=(10, 3), compression="gzip", shuffle=True)
            file["words"] = ["a", "b"]
            file["soft"] = h5py.SoftLink("/a/x")
            file["a"].attrs["unit"] = "V"

    for kind in ("npy", "npz", "parquet", "h5", "mat", "csv", "tsv", "ndjson", "csv.gz", "csv.zst"):
        add(kind, lambda path: sink(path, ["a", "b", "c"]))
    add("npy", lambda path: np.save(path, np.asfortranarray(whole)))
    add("npz", lambda path: np.savez_compressed(path, x=whole, y=np.array(["text"])))
    table = pa.table({"a": X[:, 0], "b": whole[:, 0], "n": [None, 1.0] * 20})
    add("parquet", lambda path: pq.write_table(table, path, row_group_size=15, compression="zstd"))
    numbers = pa.table({"a": X[:, 0], "b": whole[:, 0].astype("i8")})
    add("parquet", lambda path: pq.write_table(numbers, path, compression="snappy"))
    add("h5", h5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = {"x": X, "c": {"a": 1.0}, "s": "text"}
        add("mat", lambda path: matlab.savemat(path, more, do_compression=True))
        add("mat", lambda path: matlab.savemat(path, {"x": whole}))
    add("csv", lambda path: path.write_bytes(b'"a b";c;d\r\n' + b'1,5;2;"3"\r\n# note\n' * 20))
    add("csv", lambda path: np.savetxt(path, X))
    add("ndjson", lambda path: path.write_bytes(b"[1, 2.5, -3e4]\n\n" * 20))
    images = (1000 * X[:30]).astype(np.uint16).reshape(3, 5, 6)
    tiffs: list[dict[str, Any]] = [
        {}, {"compression": "zlib"}, {"imagej": True}, {"tile": (16, 16), "byteorder": ">"},
        {"photometric": "rgb", "planarconfig": "separate"},
    ]  # fmt: skip
    for options in tiffs:
        options = {"photometric": "minisblack", **options}
        add("tif", lambda path, o=options: tifffile.imwrite(path, images, **o))  # type: ignore[misc]
    byte = images.astype("u1")
    for array, kind in [(images[0], "png"), (byte.T, "png"), (byte[0], "jpg"), (byte[0], "bmp")]:
        add(kind, lambda path, a=array: Image.fromarray(np.ascontiguousarray(a)).save(path))  # type: ignore[misc]
    add("webp", lambda path: Image.fromarray(np.ascontiguousarray(byte.T)).save(path))
    add("pgm", lambda path: Image.fromarray(byte[0]).save(path))
    long = np.tile(X, (25, 1))  # pyarrow parses blocks of text from some size on, Python the others
    add("csv", lambda path: np.savetxt(path, long, fmt="%.3f", delimiter=","))
    add("csv", lambda path: path.write_bytes(b'"a";b\n' + b'1,25;"2"\n' * 500))
    add("tsv", lambda path: np.savetxt(path, long, fmt="%.3f", delimiter="\t", header="a\tb\tc"))
    for version in (2, 3):
        store = folder / "seed.zarr"
        group = zarr.open_group(store, mode="w", zarr_format=version)
        group.create_array("x", shape=X.shape, chunks=(15, 3), dtype="f8")[:] = X
        found.setdefault("zarr", []).append(packed(store))
        shutil.rmtree(store)
        zarr.create_array(store, data=whole, chunks=(10, 2), zarr_format=version)
        found["zarr"].append(packed(store))
        shutil.rmtree(store)
    for model in (
        nica.NICA(2, random_state=0),
        nica.OnlineWhitening(2, random_state=0),
        nica.NSM(3),
    ):
        add("safetensors", model.partial_fit(np.tile(X, (9, 1))).save)
    job = Job(("mix.csv",), "out.csv", parameters={"n_components": 2, "random_state": 0})
    position = Position("write", rows=360, learned=360, sink={"rows": 360, "bytes": 9000})
    network = nica.NICA(2, random_state=0).partial_fit(np.tile(X, (9, 1)))
    add(
        "checkpoint", lambda path: write_checkpoint(str(path), job, position, network, {"bytes": 9})
    )
    return found


def packed(store: Path) -> bytes:
    """A folder as JSON."""
    files = sorted(path for path in store.rglob("*") if path.is_file())
    return json.dumps({str(f.relative_to(store)): f.read_bytes().hex() for f in files}).encode()
