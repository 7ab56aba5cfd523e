"""Changed files are read or refused; `python -m tools.fuzz` is the same by the million."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "fuzz.py"
SPEC = importlib.util.spec_from_file_location("fuzz", PATH)
fuzz = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz)

KINDS = {
    "npy": 300, "npz": 200, "parquet": 200, "h5": 100, "mat": 200, "csv": 300, "tsv": 200, "ndjson": 300,
    "csv.gz": 200, "csv.zst": 100, "tif": 200, "png": 100, "jpg": 50, "bmp": 50, "webp": 50, "pgm": 100,
    "zarr": 60, "safetensors": 300,
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return fuzz.seeds(tmp_path_factory.mktemp("seeds"))


def test_every_kind_is_changed(files):
    assert set(files) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_files_are_read_or_refused(tmp_path, files, kind):
    for data in files[kind]:
        assert fuzz.check(kind, data, tmp_path)
    read = [
        fuzz.check(kind, fuzz.make(kind, number, 99, files), tmp_path)
        for number in range(KINDS[kind])
    ]
    assert 0 < sum(read) < len(read)  # some changes do no harm, others must be seen
