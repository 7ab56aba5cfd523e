"""Files and pipes give back what was put in, and say what is wrong with what is wrong."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nica
from nica.streams import FORMATS, open_chunks, open_sink

TEXT = ("csv", "tsv", "ndjson", "csv.gz", "csv.zst", "ndjson.gz")
BINARY = ("npy", "npz", "parquet", "h5", "zarr", "mat")
ENDINGS = (*BINARY, *TEXT)
NAMELESS = ("npy", "npz", "mat")
NAMES = ["a", "b", "c"]


def sample(n=5000, k=3, seed=0):
    X = np.random.default_rng(seed).exponential(size=(n, k)) * 10.0 ** np.arange(k)
    X[: n // 8] = np.round(X[: n // 8])
    return X


def whole(source, **options):
    with open_chunks(source, **options) as chunks:
        return np.concatenate([np.empty((0, chunks.n_channels)), *chunks])


def contents(path):
    """All bytes of a file or folder."""
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def text(content, **options):
    return whole(io.BytesIO(content), **options)


# ------------------------------------------------------------------------------ there and back


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, ending):
    X = sample()
    out = tmp_path / f"x.{ending}"
    with open_sink(out, columns=NAMES) as sink:
        sink.write(X[:7])
        sink.write(X[7:])
        assert not out.exists()
    assert [p.name for p in tmp_path.iterdir()] == [out.name]
    with open_chunks(out, chunk_rows=1000) as chunks:
        for _ in range(2):  # a file can be gone over again
            np.testing.assert_array_equal(np.concatenate(list(chunks)), X)
        assert chunks.rows_read == len(X)
        assert chunks.n_rows in (None, len(X))
        assert chunks.columns == (None if ending in NAMELESS else NAMES)
        assert chunks.format == ending.partition(".")[0].replace("h5", "hdf5")
    np.testing.assert_array_equal(whole(out, start=1234), X[1234:])
    np.testing.assert_array_equal(whole(out, start=len(X) + 9), X[:0])
    np.testing.assert_array_equal(whole(out, columns=[2, 0]), X[:, [2, 0]])


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_resumed_file_is_the_uninterrupted_one(tmp_path, ending):
    X = sample(500)
    with open_sink(tmp_path / f"whole.{ending}", columns=NAMES) as sink:
        sink.write(X)
    out = tmp_path / f"x.{ending}"
    sink = open_sink(out, columns=NAMES)
    for cut in (0, 200, 200, 450):
        sink.write(X[sink.rows_written : cut])
        position = sink.checkpoint()
        sink.write(X[:30])  # what came behind the checkpoint is lost
        sink.close()
        assert not out.exists()
        sink = open_sink(out, columns=NAMES, resume_at=position)
        assert sink.rows_written == cut
    with sink:
        sink.write(X[450:])
    assert contents(out) == contents(tmp_path / f"whole.{ending}")


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson"])
@given(X=arrays(np.float64, (3, 2), elements=st.floats(allow_nan=False, allow_infinity=False)))
def test_text_keeps_every_bit(tmp_path_factory, ending, X):
    out = tmp_path_factory.mktemp("bits") / f"x.{ending}"
    with open_sink(out) as sink:
        sink.write(X)
    assert whole(out).tobytes() == X.tobytes()


def test_separate_takes_chunks(tmp_path):
    X = sample(3000, 2)
    np.save(tmp_path / "x.npy", X)
    with open_sink(tmp_path / "x.csv") as sink:
        sink.write(X)
    wanted = nica.NICA(random_state=0).separate(X)
    for ending in ("npy", "csv"):
        Y = list(nica.NICA(random_state=0).separate(open_chunks(tmp_path / f"x.{ending}")))
        np.testing.assert_array_equal(np.concatenate(Y), wanted)


# ------------------------------------------------------------------------------ whole or absent


def test_an_error_leaves_what_was_there(tmp_path):
    out = tmp_path / "x.csv"
    out.write_text("before")
    with pytest.raises(ValueError, match="3 dimensions"), open_sink(out) as sink:
        sink.write(np.zeros((1, 1, 1)))
    assert out.read_text() == "before"
    assert os.listdir(tmp_path) == ["x.csv"]


def test_an_error_after_a_checkpoint_leaves_the_part(tmp_path):
    sink = open_sink(tmp_path / "x.csv")
    sink.write(sample(5))
    sink.checkpoint()
    with pytest.raises(ValueError, match="3 dimensions"), sink:
        sink.write(np.zeros((1, 1, 1)))
    assert os.listdir(tmp_path) == [".x.csv.part"]


def test_two_writers_of_a_file(tmp_path):
    with open_sink(tmp_path / "x.csv"), pytest.raises(OSError, match="another process"):
        open_sink(tmp_path / "x.csv")


def test_resuming_without_the_part(tmp_path):
    with pytest.raises(FileNotFoundError, match="start again"):
        open_sink(tmp_path / "x.npy", resume_at={"rows": 1, "bytes": 152})
    (tmp_path / ".x.npy.part").write_bytes(b"")
    with pytest.raises(ValueError, match="fewer than the 152 of the checkpoint"):
        open_sink(tmp_path / "x.npy", resume_at={"rows": 1, "bytes": 152})


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "x.csv").symlink_to(tmp_path / "real" / "y.csv")
    with open_sink(tmp_path / "x.csv") as sink:
        sink.write([[1.5]])
    assert (tmp_path / "x.csv").is_symlink()
    assert (tmp_path / "real" / "y.csv").read_text() == "1.5\n"


# ------------------------------------------------------------------------------ text as people write it


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        (b"1,2\n3,4", None, [[1, 2], [3, 4]]),
        (b"a,b\r\n1,2\r\n", ["a", "b"], [[1, 2]]),
        (b"\xef\xbb\xbfa\tb\n1\t2\n", ["a", "b"], [[1, 2]]),
        (b"a;b\n1,5;2\n", ["a", "b"], [[1.5, 2]]),
        (b"1,5;1,123\n", None, [[1.5, 1.123]]),
        (b"1|2\n", None, [[1, 2]]),
        (b" 1  2\n3 4 \n", None, [[1, 2], [3, 4]]),
        (b"5\n\n6\n", None, [[5], [6]]),
        (b"# note\n\nx\n#1\n2\n", ["x"], [[2]]),
        (b'"a,b","c\nd"\n"1.5",+2e3\n', ["a,b", "c\nd"], [[1.5, 2000]]),
        (b"a,b\n", ["a", "b"], []),
        (b"[1, 2.5]\n\n[3, 4]\n", None, [[1, 2.5], [3, 4]]),
        (b'{"a": 1, "at": "noon"}\n{"at": "one", "a": 2}\n', ["a"], [[1], [2]]),
    ],
)
@pytest.mark.parametrize("times", [1, 2000])
def test_text(content, columns, rows, times):
    """Small blocks go through Python, large ones through pyarrow: the same rows."""
    head, body = content, b""
    if times > 1:
        cut = content.rstrip(b"\r\n").rfind(b"\n") + 1
        head, body = content[:cut], (content[cut:].rstrip(b"\r\n") + b"\n") * times
        rows = rows[:-1] + rows[-1:] * times
        if not head and not rows:
            return
    with open_chunks(io.BytesIO(head + body)) as chunks:
        assert chunks.columns == columns or not rows
        got = np.concatenate([np.empty((0, chunks.n_channels)), *chunks])
    if rows:
        np.testing.assert_array_equal(got, np.array(rows, float))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"# only a note\n", "empty"),
        (b"a,b\n1,x\n", "line 2, column 'b': 'x' is not a number"),
        (b"a,b\n# note\n\n1,\n", "line 4, column 'b': it is empty"),
        (b"1,2\n1_0,2\n", "line 2, column '0': '1_0' is not a number"),
        (b"1,2\n1,2,3\n", "line 2: it has 3 columns, the first line has 2"),
        (b'"a\nb",c\n1,2\n\n"3","x"\n', "line 5, column 'c'"),
        (b"a;b\n1,500;2\n", "may have a decimal comma"),
        (b"[1,2]\n[3]\n", "line 2: it has 1 values"),
        (b'{"a":1}\n\n{"b":1}\n', "line 3, column 'a': it is missing"),
        (b'[1]\n["1"]\n', "line 2, column '0': '1' is not a number"),
        (b"[1]\n1],[2\n", "line 2: it is not JSON"),
        (b"[1]\n" + b"[" * 100000 + b"\n", "line 2: it is not JSON"),
        (b"\xff\xfe1\0,\0\n\0", "not text in UTF-8"),
        (b"\x1f\x8b\x08\0garbage", "cannot read"),
        (b"\x28\xb5\x2f\xfdgarbage", "cannot read"),
    ],
)
def test_what_is_wrong_with_text(content, message):
    with pytest.raises((ValueError, OSError), match=message):
        text(content)


@pytest.mark.parametrize("rows", [1, 3000])
@pytest.mark.parametrize(
    ("head", "row", "bad"),
    [(b"a,b\n", b"1,2\n", b"1,n/a\n"), (b"", b"[1,2]\n", b"[1,null]\n")],
)
def test_bad_rows_are_found_or_skipped(head, row, bad, rows):
    content = head + row * rows + bad + row
    line = rows + 1 + bool(head)
    with pytest.raises(ValueError, match=f"line {line}, column '[1b]'.* on_bad='skip'"):
        text(content)
    X = text(content, on_bad="skip")
    assert X.shape == (rows + 2, 2)
    assert np.flatnonzero(np.isnan(X).any(axis=1)).tolist() == [rows]


def test_a_decompression_bomb_is_no_line(tmp_path):
    import gzip

    bomb = tmp_path / "bomb.csv.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    assert bomb.stat().st_size < 1 << 17
    with pytest.raises(ValueError, match="a line of more than 32 MiB"):
        open_chunks(bomb)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    try:
        X = text(content)
    except (ValueError, OSError):
        return
    assert X.dtype == np.float64
    assert X.ndim == 2


# ------------------------------------------------------------------------------ npy


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "u1", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_of_any_real_type(tmp_path, dtype, order):
    X = np.asarray(sample(100), dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_array_equal(whole(tmp_path / "x.npy", chunk_rows=7), X.astype(float))


def test_npy_that_is_refused(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, sample(100))
    data = path.read_bytes()
    lies = [data[:n] for n in (7, 9, 60, 500)]
    lies += [data.replace(b"(100, 3)", shape) for shape in (b"(900, 3)", b"(-1, 3) ", b"100     ")]
    lies += [data.replace(b"'<f8'", b"'|O' "), data.replace(b"(100, 3)", b"((((((3,")]
    for lie in lies:
        path.write_bytes(lie)
        with pytest.raises(ValueError, match="no whole"):
            open_chunks(path)
    np.save(path, np.array(["a"]))
    with pytest.raises(ValueError, match="give real numbers"):
        open_chunks(path)
    np.save(path, np.zeros((2, 2, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 2, 2\)"):
        open_chunks(path)


# ------------------------------------------------------------------------------ pipes

ECHO = """
from nica.streams import open_chunks, open_sink
with open_chunks("-") as chunks, open_sink("-", format=chunks.format, columns=chunks.columns) as sink:
    for chunk in chunks:
        sink.write(2 * chunk)
"""


@pytest.mark.parametrize(
    ("head", "line", "answer"),
    [(b"a,b\n", b"1.25,2.125\n", b"2.5,4.25\n"), (b"", b"[1, 2]\n", b"[2, 4]\n")],
)
def test_a_line_in_gives_a_line_out_before_the_next(head, line, answer):
    command = [sys.executable, "-c", ECHO]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(head)
        for i in range(20):
            process.stdin.write(line)
            process.stdin.flush()
            if i == 0 and head:
                assert process.stdout.readline() == head
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_a_pipe_is_read_once():
    chunks = open_chunks(io.BytesIO(b"1\n2\n"))
    assert sum(map(len, chunks)) == 2
    with pytest.raises(ValueError, match="once only"):
        next(iter(chunks))


def test_a_device_is_written_directly():
    with open_sink("/dev/null", format="csv") as sink:
        sink.write(sample(3))
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


# ------------------------------------------------------------------------------ words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": ["z"]}, "no column 'z': it has 'a', 'b'"),
        ({"columns": [7]}, "no column 7"),
        ({"columns": [0, "a"]}, "twice"),
        ({"columns": []}, "at least one"),
        ({"delimiter": ",,"}, "one character"),
        ({"delimiter": ",", "decimal": ","}, "must differ"),
        ({"start": -1}, "start=-1"),
        ({"chunk_rows": 0}, "chunk_rows=0"),
        ({"on_bad": "x"}, "on_bad='x'"),
        ({"format": "xls"}, f"give one of {', '.join(FORMATS)}"),
    ],
)
def test_what_is_wrong_with_the_options(options, message):
    with pytest.raises(ValueError, match=message):
        text(b"a,b\n1,2\n", **options)


def test_what_is_wrong_with_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        open_chunks(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError, match="no folder"):
        open_sink(tmp_path / "none" / "x.csv")
    with pytest.raises(ValueError, match="names no format"):
        open_sink(tmp_path / "x")
    with pytest.raises(ValueError, match="pipe"):
        open_sink("-", format="npy")
    with pytest.raises(TypeError, match="source is int"):
        open_chunks(3)


def test_columns_by_name_or_number():
    content = b"1,0,x\n5,6,7\n"  # names that look like numbers: a name goes first
    np.testing.assert_array_equal(text(content, columns=["0"]), [[6.0]])
    np.testing.assert_array_equal(text(content, columns=[0]), [[5.0]])
    np.testing.assert_array_equal(text(content, columns=["2"]), [[7.0]])


@pytest.mark.parametrize("ending", ["csv", "ndjson.gz", "npy"])
def test_the_number_of_rows_can_be_told_from_some(tmp_path, ending):
    out = tmp_path / f"x.{ending}"
    with open_sink(out) as sink:
        sink.write(np.random.default_rng(0).random((400_000, 2)))
    with open_chunks(out) as chunks:
        for _ in chunks:
            assert 0.8 < chunks.expected() / 400_000 < 1.5 or chunks.rows_read < 5000
    assert open_chunks(io.BytesIO(b"1,2\n")).expected() is None
