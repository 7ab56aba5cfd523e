"""Every format gives back what was put in, and refuses what is damaged or hostile with a clear error."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nica
from nica.streams import open_chunks, open_sink

ENDINGS = ["npy", "npz", "parquet", "h5", "zarr", "mat", "csv", "tsv", "ndjson"]
DTYPES = ["f8", "f4", "f2", ">f8", "i8", "i4", "u2", "u1", "?"]


def whole(source, **options):
    with open_chunks(source, **options) as chunks:
        return np.concatenate([np.empty((0, chunks.n_channels)), *chunks])


def npy_bytes(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


# ------------------------------------------------------------------------------ there and back

FINITE = st.floats(-1e100, 1e100, allow_nan=False)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=25)
@given(
    X=st.tuples(st.integers(1, 9), st.integers(1, 5)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=FINITE)
    ),
    cut=st.integers(0, 9),
    step=st.integers(1, 4),
)
def test_any_rows_come_back(tmp_path_factory, ending, X, cut, step):
    out = tmp_path_factory.mktemp("x") / f"x.{ending}"
    with open_sink(out) as sink:
        sink.write(X[:cut])
        sink.write(X[cut:])
    assert whole(out, chunk_rows=step).tobytes() == X.tobytes()
    assert whole(out, chunk_rows=step, start=cut).tobytes() == X[cut:].tobytes()


def write_as(ending, path, X):
    """Samples of any real type, by the library that keeps the format."""
    if ending == "npz":
        np.savez(path, x=X)
    elif ending == "npz compressed":
        np.savez_compressed(path, x=X)
    elif ending == "parquet":
        table = pa.table({f"c{j}": np.ascontiguousarray(column) for j, column in enumerate(X.T)})
        pq.write_table(table, path, row_group_size=17)
    else:
        np.save(path, X)
    return path


@pytest.mark.parametrize("ending", ["npy", "npz", "npz compressed", "parquet"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_real_type_is_read(tmp_path, ending, dtype, order):
    X = np.random.default_rng(0).uniform(0, 100, (53, 3)).astype(dtype, order=order)
    if ending == "parquet":
        X = X.astype(X.dtype.newbyteorder("="))
    path = write_as(ending, tmp_path / f"x.{ending.split()[0]}", X)
    np.testing.assert_array_equal(whole(path, chunk_rows=7), X.astype(float))
    np.testing.assert_array_equal(whole(path, chunk_rows=7, start=20), X[20:].astype(float))
    np.testing.assert_array_equal(whole(path, columns=[2, 0]), X[:, [2, 0]].astype(float))


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_gives_the_same_sources(tmp_path, ending):
    X = nica.datasets.make_mixture(n_samples=2000, random_state=1).X
    wanted = nica.NICA(3, random_state=0).separate(X)
    path = tmp_path / f"x.{ending}"
    with open_sink(path) as sink:
        sink.write(X)
    Y = np.concatenate(list(nica.NICA(3, random_state=0).separate(open_chunks(path))))
    assert Y.tobytes() == wanted.tobytes()


def test_names_of_columns_become_names_of_channels(tmp_path):
    X = nica.datasets.make_mixture(n_samples=300, random_state=0).X
    path = tmp_path / "mix.parquet"
    with open_sink(path, columns=["red", "green", "blue"]) as sink:
        sink.write(X)
    model = nica.NICA(3, random_state=0)
    Y = np.concatenate(list(model.separate(open_chunks(path, chunk_rows=100))))
    assert model.feature_names_in_.tolist() == ["red", "green", "blue"]
    np.testing.assert_array_equal(Y, nica.NICA(3, random_state=0).separate(X))
    with pytest.raises(ValueError, match=r"began with \['red', 'green', 'blue'\]"):
        list(model.separate(open_chunks(path, columns=[2, 1, 0])))
    with pytest.raises(ValueError, match=r"columns are \['blue', 'green'\], but"):
        list(model.separate(open_chunks(path, columns=[2, 1])))
    assert model.n_samples_seen_ == 300


# ------------------------------------------------------------------------------ npz


def test_npz_with_several_arrays(tmp_path):
    path = tmp_path / "x.npz"
    X = np.arange(6.0).reshape(3, 2)
    np.savez(path, words=np.array(["a"]), cube=np.zeros((2, 2, 2)), x=X)
    np.testing.assert_array_equal(whole(path), X)  # the only one that can hold samples
    np.savez(path, x=X, y=X[:, 0])
    np.testing.assert_array_equal(whole(path, path="y"), X[:, :1])
    with pytest.raises(ValueError, match=r"several arrays: 'x' \(3, 2\) <f8, 'y'.*path='x'"):
        open_chunks(path)
    with pytest.raises(ValueError, match=r"no array 'z': it has 'x' \(3, 2\)"):
        open_chunks(path, path="z")


def zipped(path, method=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


def test_npz_that_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    X = np.random.default_rng(0).random((100, 3))
    good = npy_bytes(X)
    for lie, message in [
        (b"nothing", "no whole npz"),
        (good.replace(b"(100, 3)", b"(900, 3)"), "asks for 21728"),
        (good.replace(b"(100, 3)", b"(-10, 3)"), "negative"),
        (good.replace(b"(100, 3)", b"(9**9,3)"), "no whole npz"),
        (good.replace(b"'<f8'", b"'|O' "), "no array of real numbers"),
        (good[:500], "asks for 2528"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b"(" * 90000, "no whole npz"),
    ]:
        zipped(path, x=lie)
        with pytest.raises(ValueError, match=message):
            whole(path)
    whole_file = zipped(path, zipfile.ZIP_DEFLATED, x=good).read_bytes()
    path.write_bytes(whole_file.replace(whole_file[600:640], bytes(40)))
    with pytest.raises(ValueError, match="no whole npz"):
        whole(path)
    path.write_bytes(whole_file[:-100])
    with pytest.raises(ValueError, match="no whole npz"):
        whole(path)
    np.savez(path, x=np.array([None, 1], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"no array of real numbers.*'x'"):
        whole(path)


def test_a_zip_bomb_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, x=np.zeros((1_000_000, 2)))
    assert path.stat().st_size < 20_000
    assert len(whole(path)) == 1_000_000  # below 1 GiB any compression is believed
    monkeypatch.setattr("nica.streams._guard.UNPACKED", 1 << 20)
    with pytest.raises(ValueError, match=r"unpacks .* KiB to 15.26 MiB: .* the limit is 200 times"):
        open_chunks(path)


# ------------------------------------------------------------------------------ parquet


def test_parquet_as_pandas_writes_it(tmp_path):
    import pandas as pd

    path = tmp_path / "x.parquet"
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]}, index=[7, 5, 9])
    frame.to_parquet(path)
    with open_chunks(path) as chunks:
        assert chunks.columns == ["a", "b"]
        assert chunks.n_rows == 3
    np.testing.assert_array_equal(whole(path), frame.to_numpy(float))
    np.testing.assert_array_equal(whole(path, columns=["__index_level_0__", "b"])[:, 0], [7, 5, 9])


def test_parquet_that_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    table = {
        "x": [1.0, None, 3.0],
        "name": ["a", "b", "c"],
        "pair": [[1.0], [2.0], []],
        "deep": [{"x": 1.0}] * 3,
        "y": [1, 2, 3],
    }
    pq.write_table(pa.table(table), path)
    for name in ("name", "pair", "deep"):
        with pytest.raises(ValueError, match=rf"column '{name}' holds .*columns=\['x', 'y'\]"):
            open_chunks(path, columns=["y", name])
    with pytest.raises(ValueError, match="row 1, column 'x' is null; on_bad='skip'"):
        whole(path, columns=["x"])
    np.testing.assert_array_equal(whole(path, columns=["x"], on_bad="skip"), [[1], [np.nan], [3]])
    with pytest.raises(ValueError, match="no column 'z'"):
        open_chunks(path, columns=["z"])
    pq.write_table(pa.table([[1.0], [2.0]], names=["a", "a"]), path)
    with pytest.raises(ValueError, match="several columns 'a'"):
        open_chunks(path)
    with open_sink(path) as sink:
        sink.write(np.random.default_rng(0).random((5000, 2)))
    data = path.read_bytes()
    for lie in (
        data[:-100],
        data[:4] + data[-200:],
        b"PAR1",
        data[:5000] + bytes(200) + data[5200:],
    ):
        path.write_bytes(lie)
        with pytest.raises(ValueError, match="no whole Parquet"):
            whole(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    with open_sink(path, columns=["a", "b"]) as sink:
        sink.write(np.empty((0, 2)))
    if ending == "ndjson":
        with pytest.raises(ValueError, match="is empty"):
            open_chunks(path)
    else:
        assert whole(path).shape == (0, 2)
