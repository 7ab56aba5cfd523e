"""HDF5, zarr and MATLAB: what people have is read; what is damaged or hostile is refused."""

import json
import os

import h5py
import numpy as np
import pytest
import zarr
from scipy import io

from nica.streams import open_chunks, open_sink

DTYPES = ["f8", "f4", "f2", ">f8", "i8", "i2", "u2", "u1", "?"]


def whole(source, **options):
    with open_chunks(source, **options) as chunks:
        return np.concatenate([np.empty((0, chunks.n_channels)), *chunks])


def sample(n=53, k=3, dtype="f8"):
    return np.random.default_rng(0).uniform(0, 100, (n, k)).astype(dtype)


def agree(source, X, **options):
    """Chunks of any size from any row are those rows."""
    X = X.astype(float)
    np.testing.assert_array_equal(whole(source, chunk_rows=7, **options), X)
    np.testing.assert_array_equal(whole(source, start=20, **options), X[20:])
    np.testing.assert_array_equal(
        whole(source, columns=[2, 0], start=11, **options), X[11:, [2, 0]]
    )


# ------------------------------------------------------------------------------ HDF5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "how", [{}, {"chunks": (10, 2)}, {"chunks": (50, 3), "compression": "gzip"}]
)
def test_hdf5_of_any_real_type(tmp_path, dtype, how):
    X = sample(dtype=dtype)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("run/signals", data=X, **how)
        file["run/notes"] = "text"
        file["run/cube"] = np.zeros((2, 2, 2))
    agree(tmp_path / "x.h5", X)
    agree(tmp_path / "x.h5", X, path="/run/signals")


def test_hdf5_with_several_datasets(tmp_path):
    path = tmp_path / "x.h5"
    X = sample()
    with h5py.File(path, "w") as file:
        file["a/x"] = X
        file["y"] = X[:, 0]
        file["alias"] = h5py.SoftLink("/a/./x")
        file["a/back"] = h5py.SoftLink("../y")
        file["a/root"] = file["/"]  # a cycle
        file["a/again"] = file["a/x"]  # the same dataset
    agree(path, X, path="alias")
    np.testing.assert_array_equal(whole(path, path="a/root/y"), X[:, :1])
    with pytest.raises(ValueError, match=r"several datasets: 'y' \(53,\) <f8, 'a/\w+' \(53, 3\)"):
        open_chunks(path)
    for absent in ("z", "a/back", "a", "../y"):
        with pytest.raises(ValueError, match="no dataset"):
            open_chunks(path, path=absent)


def test_hdf5_reads_nothing_but_its_file(tmp_path):
    path, other = tmp_path / "x.h5", tmp_path / "secret.h5"
    with h5py.File(other, "w") as file:
        file["x"] = sample()
    (tmp_path / "raw").write_bytes(bytes(800))
    layout = h5py.VirtualLayout((53, 3), "f8")
    layout[:] = h5py.VirtualSource(str(other), "x", (53, 3))
    with h5py.File(path, "w") as file:
        file["link"] = h5py.ExternalLink(str(other), "/x")
        file["soft"] = h5py.SoftLink("/link")
        file["group"] = h5py.ExternalLink(str(other), "/")
        file.create_virtual_dataset("virtual", layout)
        file.create_dataset("raw", (50, 2), "f8", external=[(str(tmp_path / "raw"), 0, 800)])
    for name in ("link", "soft", "group/x"):
        with pytest.raises(ValueError, match="another file, which is not opened"):
            open_chunks(path, path=name)
    for name in ("virtual", "raw"):
        with pytest.raises(ValueError, match="kept in other files"):
            open_chunks(path, path=name)


def test_hdf5_that_is_refused(tmp_path):
    path = tmp_path / "x.h5"

    def refuse(message, name=None, **data):
        with h5py.File(path, "w") as file:
            for key, value in data.items():
                value(file, key) if callable(value) else file.create_dataset(key, data=value)
        with pytest.raises(ValueError, match=message):
            whole(path, path=name)

    def made(*args, **options):
        return lambda file, key: file.create_dataset(key, *args, **options)

    def deep(file, key):
        for _ in range(3000):
            file = file.create_group(key)

    def loop(file, key):
        file[key] = h5py.SoftLink(key)

    refuse("no dataset of real numbers.*'x'", x=["a"])
    refuse("no dataset of real numbers", x=np.zeros(3, [("a", "f8")]))
    refuse("structured", x=np.zeros(3, [("a", "f8")]))
    refuse("no dataset of real numbers", x=np.zeros(3, complex))
    refuse("no dataset of real numbers.*it has none", x=lambda file, key: file.create_group(key))
    refuse("no dataset of real numbers", x=h5py.Empty("f8"))
    refuse("give real numbers", "x", x=np.zeros((2, 2, 2)))
    refuse(r"unpacks .* to 2.91 TiB", x=made((10**11, 4), "f8", chunks=(1000, 4)))
    refuse(
        "chunks of 100000000 rows, of which 1 with 762.9 MiB have",
        x=made((10**8, 1), "f8", chunks=(10**8, 1)),
    )
    refuse("2097152 columns: the limit is 1048576", x=made((1, 1 << 21), "f8", chunks=(1, 1000)))
    refuse("groups more than 32 deep", x=deep)
    refuse("more than 32 links", "x", x=loop)


def test_hdf5_that_is_cut(tmp_path):
    path = tmp_path / "x.h5"
    with open_sink(path) as sink:
        sink.write(sample(5000))
    data = path.read_bytes()
    for size in (8, 600, 3000, 50_000):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match="no whole HDF5 file"):
            whole(path)


def test_names_in_hdf5(tmp_path):
    path = tmp_path / "x.h5"
    with open_sink(path, columns=["a", "", "µV"]) as sink:
        sink.write(sample())
    with open_chunks(path, columns=["µV", 0]) as chunks:
        assert chunks.columns == ["µV", "a"]
    with h5py.File(path, "w") as file:
        data = file.create_dataset("x", data=sample())
        for names, wanted in [
            (np.array([b"a", b"b", b"c"]), ["a", "b", "c"]),
            (["a", "b", "c"], None),  # texts in a heap are not read
            (np.array([b"a", b"b"]), None),
            (7, None),
        ]:
            data.attrs["columns"] = names
            file.flush()
            with open_chunks(path) as chunks:
                assert chunks.columns == wanted


# ------------------------------------------------------------------------------ zarr


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("chunks", [(10, 2), (100, 3)])
def test_zarr_of_any_real_type(tmp_path, version, dtype, chunks):
    X = sample(dtype=dtype)
    group = zarr.open_group(tmp_path / "x", mode="w", zarr_format=version)
    array = group.create_array(
        "run/signals", shape=X.shape, chunks=chunks, dtype=X.dtype, fill_value=0
    )
    array[:] = X
    agree(tmp_path / "x", X)
    agree(tmp_path / "x", X, path="run/signals")
    agree(tmp_path / "x" / "run" / "signals", X)


def test_zarr_in_shards_and_with_filters(tmp_path):
    X = sample()
    array = zarr.create_array(
        tmp_path / "x", shape=X.shape, chunks=(5, 3), shards=(20, 3), dtype="f8",
        compressors=[zarr.codecs.BloscCodec()],
    )  # fmt: skip
    array[:] = X
    agree(tmp_path / "x", X)


def test_zarr_with_several_arrays(tmp_path):
    X = sample()
    group = zarr.open_group(tmp_path / "x", mode="w")
    group["a"] = X
    group["b/c"] = X[:, 0]
    np.testing.assert_array_equal(whole(tmp_path / "x", path="b/c"), X[:, :1])
    with pytest.raises(ValueError, match=r"several arrays: 'a' \(53, 3\) float64, 'b/c'"):
        open_chunks(tmp_path / "x")
    for absent in ("../x/a", "/etc", "b", "b/../a"):
        with pytest.raises(ValueError, match="no array"):
            open_chunks(tmp_path / "x", path=absent)


def test_zarr_unpickles_nothing(tmp_path):
    """A compressor named pickle would run code from the store; it is refused before it is used."""
    import numcodecs

    store = tmp_path / "x"
    zarr.open_array(
        store, mode="w", shape=(1,), chunks=(1,), dtype="f8", zarr_format=2, compressor=None
    )  # fmt: skip
    about = json.loads((store / ".zarray").read_text())
    about["compressor"] = {"id": "pickle", "protocol": 5}
    (store / ".zarray").write_text(json.dumps(about))

    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    (store / "0").write_bytes(numcodecs.Pickle().encode(np.array([Bomb()], dtype=object)))
    with pytest.raises(ValueError, match="pickle"):
        whole(store)
    assert not (tmp_path / "ran").exists()
    (store / ".zarray").write_text(json.dumps({**about, "compressor": {"id": "base64"}}))
    with pytest.raises(ValueError, match="packed with 'base64', which is not unpacked"):
        whole(store)


def lie(store, **changes):
    about = json.loads((store / "zarr.json").read_text())
    (store / "zarr.json").write_text(json.dumps({**about, **changes}))


def grid(*shape):
    return {"name": "regular", "configuration": {"chunk_shape": shape}}


def test_zarr_that_is_refused(tmp_path):
    X = sample()

    def refuse(message, change):
        store = tmp_path / f"x{len(os.listdir(tmp_path))}"
        zarr.create_array(store, data=X, chunks=(10, 3))
        change(store)
        with pytest.raises((ValueError, IsADirectoryError), match=message):
            whole(store)

    def link(store):
        (store / "c/1/0").unlink()
        (store / "c/1/0").symlink_to("/dev/zero")

    def endless(store):
        (store / "zarr.json").unlink()
        (store / "zarr.json").symlink_to("/dev/zero")

    def pipe(store):
        os.mkfifo(store / "c/0/0x")

    refuse("'0' is no plain file", link)
    refuse("'zarr.json' is no plain file", endless)
    refuse("'0x' is no plain file", pipe)
    refuse("no whole zarr", lambda store: (store / "zarr.json").write_text("[" * 100_000))
    refuse("limit is 1 MiB", lambda store: (store / "zarr.json").write_text(" " * (1 << 21)))
    refuse("no whole zarr", lambda store: (store / "c/2/0").write_bytes(b"\x28\xb5\x2f\xfd" * 9))
    refuse("no whole zarr", lambda store: (store / "c/2/0").write_bytes(b""))
    refuse("to 72.76 TiB", lambda store: lie(store, shape=[10**12, 10]))
    refuse(
        "limits are 4096 and 256 MiB",
        lambda store: lie(store, shape=[10**8, 1], chunk_grid=grid(10**8, 1)),
    )
    refuse(
        "of which 30000 with 2.289 MiB have to be unpacked together: the limits are 4096 and",
        lambda store: lie(store, shape=[40, 30000], chunk_grid=grid(10, 1)),
    )
    refuse("no whole zarr|no array", lambda store: lie(store, shape=[-5, 3]))
    refuse("no whole zarr|no array", lambda store: lie(store, data_type="object"))
    refuse("no whole zarr", lambda store: lie(store, codecs=[{"name": "unheard-of"}]))


@pytest.mark.parametrize("version", [2, 3])
def test_a_cut_blosc_chunk_is_refused(tmp_path, version):
    """The library would read behind its end, and may crash."""
    import numcodecs

    packing = numcodecs.Blosc() if version == 2 else zarr.codecs.BloscCodec()
    array = zarr.create_array(
        tmp_path / "x", shape=(53, 3), chunks=(10, 2), dtype="f8", compressors=packing,
        zarr_format=version,
    )  # fmt: skip
    array[:] = sample()
    agree(tmp_path / "x", sample())
    chunk = tmp_path / "x" / ("2.1" if version == 2 else "c/2/1")
    chunk.write_bytes(chunk.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"damaged: chunk '(c/)?2[./]1' has 40 bytes, and claims"):
        whole(tmp_path / "x")


def test_a_folder_with_other_things_is_not_replaced(tmp_path):
    out = tmp_path / "x.zarr"
    for _ in range(2):  # an earlier output is
        with open_sink(out) as sink:
            sink.write(sample())
    (tmp_path / "y.zarr").mkdir()
    (tmp_path / "y.zarr" / "thesis.tex").write_text("")
    with pytest.raises(FileExistsError, match="would be lost"):
        open_sink(tmp_path / "y.zarr")
    (tmp_path / "z.zarr").write_text("")
    with pytest.raises(FileExistsError, match="no folder"):
        open_sink(tmp_path / "z.zarr")
    (tmp_path / "z.h5").mkdir()
    with pytest.raises(OSError, match="is a folder"):
        open_sink(tmp_path / "z.h5")
    assert sorted(os.listdir(tmp_path)) == ["x.zarr", "y.zarr", "z.h5", "z.zarr"]


# ------------------------------------------------------------------------------ MATLAB


def save73(path, X, kind="double", **attributes):
    """As MATLAB's -v7.3 does it: HDF5 behind 512 bytes, columns first."""
    with h5py.File(path, "w", userblock_size=512) as file:
        data = file.create_dataset("x", data=X.T, chunks=(X.shape[1], 10), compression="gzip")
        data.attrs["MATLAB_class"] = np.bytes_(kind)
        for key, value in attributes.items():
            data.attrs[key] = value
        file.create_group("#refs#")["a"] = X
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u2", "u1", "?"])
def test_mat_of_any_real_type(tmp_path, dtype):
    path = tmp_path / "x.mat"
    X = sample(dtype=dtype)
    for packed in (True, False):
        io.savemat(path, {"x": X, "name": "text", "c": {"a": 1.0}}, do_compression=packed)
        agree(path, X)
    kinds = {
        "f8": "double",
        "f4": "single",
        "i8": "int64",
        "i2": "int16",
        "u2": "uint16",
        "u1": "uint8",
    }
    save73(path, X.astype("u1") if dtype == "?" else X, kinds.get(dtype, "logical"))
    agree(path, X)


def test_mat_with_several_variables(tmp_path):
    path = tmp_path / "x.mat"
    io.savemat(path, {"x": sample(), "y": sample(9)})
    assert len(whole(path, path="y")) == 9
    with pytest.raises(ValueError, match=r"several variables: 'x' \(53, 3\) f8, 'y'"):
        open_chunks(path)
    with pytest.raises(ValueError, match="no variable 'z'"):
        open_chunks(path, path="z")


def test_a_large_mat_is_written_as_hdf5(tmp_path, monkeypatch):
    monkeypatch.setattr("nica.streams.mat.WHOLE", 1000)
    path = tmp_path / "x.mat"
    with open_sink(path) as sink:
        sink.write(sample())
    assert path.read_bytes().startswith(b"MATLAB 7.3")
    agree(path, sample())


def test_mat_that_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "x.mat"
    X = sample()

    def refuse(message, **options):
        with pytest.raises(ValueError, match=message):
            whole(path, **options)

    other = {"c": {"a": X}, "s": "text", "o": np.array([X, 1], dtype=object)}
    io.savemat(path, other)
    refuse(r"no variable of real numbers.*'c' \(1, 1\) struct")
    for name in other:
        refuse("give a matrix of real numbers", path=name)
    io.savemat(path, {"z": X + 1j})
    refuse("holds complex128 values: give real numbers")
    io.savemat(path, {"x": X}, format="4")
    refuse("no MATLAB file of version 5 to 7.3: save it in MATLAB with '-v7'")
    io.savemat(path, {"x": X})
    data = path.read_bytes()
    for size in (20, 130, 150, 190, 1000):
        path.write_bytes(data[:size])
        refuse("no whole MATLAB|no MATLAB")
    at = data.index(np.array([53, 3], "<i4").tobytes())
    for shape in ([53, 400], [-53, 3], [1 << 30, 1 << 30]):
        path.write_bytes(data[:at] + np.array(shape, "<i4").tobytes() + data[at + 8 :])
        refuse("no whole|the limit is 1 GiB|give a matrix|1272 bytes of type 9 for 21200 numbers")
    at = data.index(np.array([9, 1272], "<i4").tobytes())
    path.write_bytes(data[:at] + np.array([777, 1272], "<i4").tobytes() + data[at + 8 :])
    refuse("1272 bytes of type 777 for 159 numbers")  # SciPy would crash here
    save73(path, X, "char")
    refuse("is a char")
    save73(path, X, "double", MATLAB_empty=1)
    refuse("is empty")
