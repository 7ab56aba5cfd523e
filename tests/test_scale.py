"""Dask arrays: the same bits as the same blocks here, on threads and on a cluster; what it refuses."""

import os
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from helpers import mixture
from typer.testing import CliRunner

from nica import NICA
from nica.cli import app
from nica.datasets import MIXING_3
from nica.scale import _source, open_dask
from nica.streams import open_chunks, open_sink

CHUNKS = ((2000, 500, 3000, 1500), (3,))


def chunk(block_info=None, marks=None, slow=0.0):
    """Samples of a chunk; chunk 1 leaves a mark each time, and the third time its worker dies."""
    time.sleep(slow)
    (i, _), shape = (block_info[None][key] for key in ("chunk-location", "chunk-shape"))
    if marks is not None and i == 1:
        number = len(os.listdir(marks))
        open(os.path.join(marks, str(number)), "w").close()
        if number == 2:
            os._exit(1)
    rng = np.random.default_rng(i)
    return np.where(rng.random(shape) < 0.5, 0, rng.random(shape)) @ MIXING_3.T


def array(**options):
    return da.map_blocks(chunk, chunks=CHUNKS, dtype=float, meta=np.empty((0, 3)), **options)


def listed():
    """The same chunks as a list of arrays."""
    return [dask.compute(part)[0] for part in array().to_delayed().ravel()]


@pytest.fixture(scope="module")
def local():
    return NICA(solver="batch", random_state=0).fit(listed())


def test_a_dask_array_gives_the_bits_of_its_chunks(local):
    model = NICA(random_state=0).fit(array())
    assert model.unmixing_.tobytes() == local.unmixing_.tobytes()
    assert model.n_samples_seen_ == 7000
    Y = model.transform(array())
    assert isinstance(Y, da.Array)
    assert Y.chunks == (CHUNKS[0], (3,))
    expected = local.transform(np.concatenate(listed()))
    model.partial_fit(expected[:100] @ MIXING_3.T)  # too late to change what Y will be
    np.testing.assert_array_equal(Y.compute(), expected)


def test_a_cluster_gives_the_same_though_a_worker_dies_and_says_when_it_is_lost(
    local, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)  # its processes import this file
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    with cluster, Client(cluster) as client:
        before = set(client.run(os.getpid).values())
        model = NICA(random_state=0).fit(array(marks=str(tmp_path)))
        assert len(list(tmp_path.iterdir())) > 3
        client.wait_for_workers(2)
        assert set(client.run(os.getpid).values()) != before
        assert model.unmixing_.tobytes() == local.unmixing_.tobytes()
        Y = model.transform(array()).compute()
        np.testing.assert_array_equal(Y, local.transform(np.concatenate(listed())))
        threading.Timer(0.3, cluster.close).start()
        with pytest.raises(ConnectionError, match=r"cluster was lost .* the model is as it was"):
            model.fit(array(slow=0.5))
        assert model.unmixing_.tobytes() == local.unmixing_.tobytes()


def test_nothing_that_is_gathered_grows_with_the_samples(monkeypatch, local):
    sizes = []
    compute = _source.compute

    def watched(*parts, **options):
        results = compute(*parts, **options)
        sizes.append(
            sum(np.size(a) for r in results for a in (r if isinstance(r, tuple) else (r,)))
        )
        return results

    monkeypatch.setattr(_source, "compute", watched)
    for repeats in (3, 9):
        NICA(random_state=0).fit(da.concatenate([array()] * repeats))
    assert max(sizes) <= 3 * 20_000


def refused(X, message, error=ValueError, **parameters):
    model = NICA(random_state=0, **parameters)
    with pytest.raises(error, match=message):
        model.fit(X)
    assert not hasattr(model, "n_features_in_")


def test_bad_input():
    X = mixture(0, 900, 3)[1]
    D = da.from_array(X, chunks=(300, 3))
    refused(D.rechunk((300, 2)), r"cut into 2 chunks, \(2, 1\) channels wide: give X.rechunk")
    refused(D[D[:, 0] > 0], "samples in chunk 0 of the Dask array is unknown: give X.compute_chunk")
    refused(D.astype(object), "holds object values: give real numbers")
    refused(D[:, 0], "give .samples, channels.")
    refused(D[:0], "give at least one sample")
    refused(D, "X has 3 channels but n_components=4: give at most 3", n_components=4)
    X[417, 1] = np.nan
    D = da.from_array(X, chunks=(300, 3))
    refused(D, "NaN at row 417, channel 1.* in chunk 1 of the Dask array, row 117 there")
    model = NICA(on_bad="skip", random_state=0).fit(D)
    assert model.n_bad_samples_ == 1
    with pytest.raises(ValueError, match="chunk 1 of the Dask array, which begins at its row 300"):
        model.transform(D).compute()
    with pytest.raises(ValueError, match="X has 2 features, but NICA is expecting 3"):
        model.transform(D[:, :2])


def test_errors_of_the_chunks_are_their_own():
    def broken(block_info=None):
        raise FileNotFoundError("no such chunk")

    X = da.map_blocks(broken, chunks=CHUNKS, dtype=float, meta=np.empty((0, 3)))
    refused(X, "no such chunk", FileNotFoundError)


# --------------------------------------------------------------------------------- files


def store(path, X):
    with open_sink(path, columns=["a", "b", "c"]) as sink:
        sink.write(X)


@pytest.mark.parametrize("kind", ["zarr", "parquet"])
def test_a_file_is_a_dask_array(kind, tmp_path):
    X = mixture(0, 1000, 3)[1]
    store(tmp_path / f"x.{kind}", X)
    D, names = open_dask(tmp_path / f"x.{kind}", chunk_rows=300, columns=["c", "a"])
    assert names == ["c", "a"]
    assert D.chunks == ((300, 300, 300, 100), (2,))
    np.testing.assert_array_equal(D.compute(), X[:, [2, 0]])


def run(*arguments):
    return CliRunner().invoke(app, ["separate", *map(str, arguments)])


def test_a_file_to_its_sources(tmp_path):
    X = mixture(0, 5000, 3)[1]
    store(tmp_path / "x.zarr", X)
    result = run(
        tmp_path / "x.zarr", "-o", tmp_path / "y.zarr", "--scheduler", "threads", "-n", 3, "--json"
    )
    assert result.exit_code == 0, result.output
    assert '"samples": 5000' in result.output
    with open_chunks(tmp_path / "y.zarr") as chunks:
        Y = np.concatenate(list(chunks))
    model = NICA(3, solver="batch", random_state=0).fit(X)
    np.testing.assert_allclose(Y, model.transform(X), atol=1e-9)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.zarr", "y.zarr"]


def test_what_a_cluster_cannot_do_is_said(tmp_path):
    X = mixture(0, 500, 3)[1]
    np.save(tmp_path / "x.npy", X)
    X[77] = np.nan
    store(tmp_path / "bad.zarr", X)
    for arguments, code, message in (
        (["x.npy", "-o", "y.zarr"], 1, "is npy, of which a cluster cannot read any part alone"),
        (["x.npy", "-o", "y.csv"], 1, "workers write side by side into zarr only"),
        (["bad.zarr", "-o", "y.zarr"], 1, "NaN at row 77, channel 0"),
        (["x.npy"], 2, "needs one file IN and -o OUT.zarr"),
        (["x.npy", "-o", "y.zarr", "--checkpoint", "c"], 2, "not with --scheduler"),
    ):
        paths = [tmp_path / a if "." in a else a for a in arguments]
        result = run(*paths, "--scheduler", "threads")
        assert result.exit_code == code, result.output
        assert message in " ".join(result.output.replace("│", " ").split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.zarr", "x.npy"]
