"""Numbers as text bring back their bits, and threads that read ahead and write behind lose nothing."""

import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nica._core import lines
from nica.streams import open_chunks, open_sink
from nica.streams._overlap import Behind, ahead
from nica.streams.pipe import STEP

ANY = arrays(np.float64, st.tuples(st.integers(0, 5), st.integers(1, 4)))


@given(ANY)
def test_each_number_has_the_fewest_digits_that_bring_back_its_bits(X):
    text = lines(X, ["", *[","] * (X.shape[1] - 1)], "\n", "").decode()
    rows = [line.split(",") for line in text.splitlines()]
    cells = [cell for row in rows for cell in row]
    assert [len(row) for row in rows] == [X.shape[1]] * len(X)
    for cell, x in zip(cells, X.ravel().tolist(), strict=True):
        if np.isnan(x):
            assert cell == "nan"
        else:
            assert np.float64(cell).tobytes() == np.float64(x).tobytes()
            assert len(cell) <= len(repr(x))


@given(ANY)
def test_json_has_null_for_what_is_not_finite(X):
    keys = [f"ä{j}" for j in range(X.shape[1])]
    before = [f"{', ' if j else '{'}{json.dumps(key)}: " for j, key in enumerate(keys)]
    found = [json.loads(one) for one in lines(X, before, "}\n", "null").decode().splitlines()]
    wanted = [[x if np.isfinite(x) else None for x in row] for row in X.tolist()]
    assert [list(row.values()) for row in found] == wanted
    assert all(list(row) == keys for row in found)


def test_a_mark_for_each_column():
    with pytest.raises(ValueError, match="a mark for each column"):
        lines(np.zeros((2, 3)), [",", ","], "\n", "")


@pytest.mark.parametrize("ending", ["csv", "tsv", "ndjson", "npy", "parquet", "h5"])
def test_rows_of_another_width_are_refused(tmp_path, ending):
    with open_sink(tmp_path / f"x.{ending}", columns=["a", "b"]) as sink:
        sink.write(np.ones((3, 2)))
        with pytest.raises(ValueError, match="rows have 3 columns, but there are 2"):
            sink.write(np.ones((3, 3)))
    with open_chunks(tmp_path / f"x.{ending}") as chunks:
        np.testing.assert_array_equal(np.concatenate(list(chunks)), np.ones((3, 2)))


def test_rows_may_change_as_soon_as_they_are_written(tmp_path):
    """They go to the file later, in another thread."""
    rows, n = np.empty((STEP + 1, 2)), 20
    with open_sink(tmp_path / "x.csv") as sink:
        for i in range(n):
            rows[:] = i
            sink.write(rows)
        sink.write(rows[:1])
    with open_chunks(tmp_path / "x.csv") as chunks:
        X = np.concatenate(list(chunks))
    wanted = np.append(np.repeat(np.arange(n), STEP + 1), n - 1)
    np.testing.assert_array_equal(X, np.column_stack([wanted, wanted]))


def test_what_cannot_be_written_is_told_and_never_forgotten(tmp_path):
    """A full disk is met in another thread; a checkpoint behind it would promise what is not there."""
    sink = open_sink(tmp_path / "x.csv")
    sink.checkpoint()
    sink._file.close()
    sink.write(np.ones((STEP + 1, 2)))
    for again in (
        sink.checkpoint,
        sink.checkpoint,
        lambda: sink.write(np.ones((1, 2))),
        sink.commit,
    ):
        with pytest.raises(ValueError, match="closed"):
            again()
    sink.close()
    assert not (tmp_path / "x.csv").exists()


def test_reading_ahead_keeps_the_order_and_the_error():
    def items():
        yield from range(3)
        raise OSError("the cable is out")

    found = []
    with pytest.raises(OSError, match="cable"):
        found.extend(ahead(items()))
    assert found == [0, 1, 2]
    found = []
    for item in (stream := ahead(iter(range(5)))):
        found.append(item)
        if item == 2:
            break
    stream.close()
    assert found == [0, 1, 2]


def test_a_file_that_is_left_midway_leaves_no_thread(tmp_path):
    with open_sink(tmp_path / "x.csv") as sink:
        sink.write(np.ones((3 * STEP, 2)))
    threads = threading.active_count()
    with open_chunks(tmp_path / "x.csv", chunk_rows=10) as chunks:
        for _ in chunks:
            break
    assert threading.active_count() == threads


def test_one_task_at_a_time():
    done, behind = [], Behind()
    for i in range(100):
        behind.do(done.append, i)
    behind.wait()
    behind.end()
    assert done == list(range(100))
