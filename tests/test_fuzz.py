"""Changed files are read or refused; `python -m tools.fuzz` is the same by the million."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
from tools.fuzz._changes import make
from tools.fuzz._files import seeds
from tools.fuzz._judge import check

KINDS = {
    "npy": 300, "npz": 200, "parquet": 200, "h5": 100, "mat": 200, "csv": 300, "tsv": 200, "ndjson": 300,
    "csv.gz": 200, "csv.zst": 100, "tif": 200, "png": 100, "jpg": 50, "bmp": 50, "webp": 50, "pgm": 100,
    "zarr": 60, "safetensors": 300, "checkpoint": 200,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("seeds"))


def test_every_kind_is_changed(files):
    assert set(files) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_read_or_refused(tmp_path, files, kind):
    for data in files[kind]:
        assert check(kind, data, tmp_path)
    read = [check(kind, make(kind, number, 99, files), tmp_path) for number in range(KINDS[kind])]
    assert 0 < sum(read) < len(read)  # some changes do no harm, others must be seen
