"""A model file is whole or refused; reading one runs no code."""

import hashlib
import json
import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from helpers import assert_same, mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

import nica
from nica import NICA, NSM, OnlineWhitening
from nica.rates import Activity, Time


@pytest.fixture(scope="module")
def data():
    """Bytes of a model that has started."""
    return saved(started())


def started():
    return NICA(random_state=0).partial_fit(mixture(0, 100, 2)[1])


def saved(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()


def parts(path):
    with safe_open(path, framework="numpy") as file:
        names = file.keys()
        return {name: file.get_tensor(name) for name in names}, file.metadata()


def forge(path, arrays, metadata):
    """Write a file whose checksum is right, whatever it holds."""
    digest = hashlib.sha256(metadata["model"].encode())
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    save_file(arrays, path, metadata | {"sha256": digest.hexdigest()})


@pytest.fixture
def forged(data, tmp_path):
    """Return a function that changes arrays and description, then writes them with a valid checksum."""
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)

    def change(arrays=lambda a: None, model=lambda m: None):
        held, metadata = parts(path)
        arrays(held)
        description = json.loads(metadata["model"])
        model(description)
        forge(path, held, metadata | {"model": json.dumps(description)})
        return path

    return change


def test_an_unchanged_forgery_loads(forged):
    """So that the refusals below have the reason they say."""
    assert nica.load(forged()).n_samples_seen_ == 100


def test_every_truncation_is_refused(data, tmp_path):
    path = tmp_path / "model"
    for size in range(0, len(data), 16):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match="model"):
            nica.load(path)


@settings(max_examples=200)
@given(st.data())
def test_flipped_bits_are_refused(data, tmp_path_factory, draw):
    path = tmp_path_factory.getbasetemp() / "flipped"
    changed = bytearray(data)
    position = draw.draw(st.integers(0, len(data) - 1))
    changed[position] ^= 1 << draw.draw(st.integers(0, 7))
    path.write_bytes(changed)
    try:
        model = nica.load(path)
    except (ValueError, OSError) as error:
        assert str(path) in str(error)  # noqa: PT017
    else:  # a bit that means nothing, such as a space in the header: the model must be the same
        assert_same(model, started())


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("harmed",)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 64, b"hello", b"\x93NUMPY", pickle.dumps(Harmful()), b"\xff" * 4096],
    ids=["empty", "zeros", "text", "numpy", "pickle", "ones"],
)
def test_other_files_are_refused_and_never_run(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ValueError, match="no whole model file"):
        nica.load("model")
    assert not (tmp_path / "harmed").exists()


def test_foreign_safetensors_are_refused(tmp_path):
    path = tmp_path / "foreign.safetensors"
    save_file({"weight": np.ones(3)}, path)
    with pytest.raises(ValueError, match="not a model of nica"):
        nica.load(path)
    save_file({"weight": np.ones(3)}, path, {"format": "pt"})
    with pytest.raises(ValueError, match="'pt'"):
        nica.load(path)


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file"):
        nica.load(tmp_path / "absent")
    with pytest.raises(OSError, match=str(tmp_path)):
        nica.load(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["Pipeline", "os.system", "load", "__builtins__", "StreamNetwork", "", 3, None, ["NICA"]],
)
def test_classes_outside_the_list_are_refused(forged, name):
    path = forged(model=lambda m: m.update({"class": name}))
    with pytest.raises(ValueError, match="does not fit"):
        nica.load(path)


def test_another_class_of_the_list_is_refused(forged):
    path = forged(model=lambda m: m.update({"class": "NSM"}))
    with pytest.raises(ValueError, match="does not fit"):
        nica.load(path)


BROKEN = {
    "no class": lambda m: m.pop("class"),
    "no notes": lambda m: m.pop("notes"),
    "no parameters": lambda m: m.pop("parameters"),
    "unknown parameter": lambda m: m["parameters"].update(unknown=1),
    "unknown rate": lambda m: m["parameters"].update(
        whitening_rate={"rate": "eval", "values": [1]}
    ),
    "bad rate": lambda m: m["parameters"].update(
        whitening_rate={"rate": "Time", "values": [-1, 0]}
    ),
    "bad value": lambda m: m["parameters"].update(alpha="much"),
    "too many sources": lambda m: m["parameters"].update(n_components=7),
    "no channels": lambda m: m["notes"].update(n_features_in_=0),
    "channels are text": lambda m: m["notes"].update(n_features_in_="two"),
    "channels are many": lambda m: m["notes"].update(n_features_in_=3),
    "channels are missing": lambda m: m["notes"].pop("n_features_in_"),
    "seed is text": lambda m: m["notes"].update(_seed="x"),
    "counts are text": lambda m: m["notes"].update(n_bad_samples_="many"),
    "names are few": lambda m: m["notes"].update(feature_names_in_=["a"]),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_descriptions_that_do_not_fit_are_refused(forged, change):
    path = forged(model=change)
    with pytest.raises(ValueError, match="does not fit"):
        nica.load(path)


def one_nan(arrays, name):
    arrays[name] = np.full(arrays[name].shape, np.nan)


def test_wrong_shapes_with_a_valid_checksum_are_refused(data, forged):
    names = sorted(parts(forged())[0])
    assert "w_hx" in names
    for name in names:
        for shape in [(7, 7), (5, 1), (1, 5), (2,), (), (2, 2, 1)]:
            path = forged(arrays=lambda a, n=name, s=shape: a.update({n: np.ones(s)}))
            with pytest.raises(ValueError, match="does not fit"):
                nica.load(path)
            path.write_bytes(data)


def test_arrays_that_are_no_numbers_are_refused(data, forged):
    for name in parts(forged())[0]:
        for change in (
            lambda a, n=name: a.update({n: np.full(a[n].shape, np.nan)}) if a[n].size else a.pop(n),
            lambda a, n=name: a.update({n: a[n].astype(np.float32)}),
            lambda a, n=name: a.pop(n),
            lambda a, n=name: a.update({n + "_": a[n]}),
        ):
            path = forged(arrays=change)
            with pytest.raises(ValueError, match="does not fit"):
                nica.load(path)
            path.write_bytes(data)


def test_counters_that_cannot_be_are_refused(data, forged):
    """They say how much memory is read and written: a forged one must not lead outside it."""
    for value in (-1.0, 1e18, 0.5):
        for position in range(parts(forged())[0]["scalars"].size):

            def change(arrays, position=position, value=value):
                arrays["scalars"][position] = value

            path = forged(arrays=change)
            try:
                model = nica.load(path)
            except ValueError as error:
                assert "does not fit" in str(error)  # noqa: PT017
            else:
                assert np.all(np.isfinite(model.separate(mixture(1, 50, 2)[1])))
            path.write_bytes(data)


def test_a_fresh_model_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not seen any sample"):
        NICA().save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_behind_when_saving_fails(tmp_path, monkeypatch):
    model = started()
    with pytest.raises(OSError, match="absent"):
        model.save(tmp_path / "absent" / "model")

    def fail(*_):
        raise OSError("the disk is full")

    (tmp_path / "model").write_bytes(b"as before")
    for step in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk is full"):
                model.save(tmp_path / "model")
        assert [p.name for p in tmp_path.iterdir()] == ["model"]
        assert (tmp_path / "model").read_bytes() == b"as before"
    model.save(tmp_path / "model")
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_is_a_file_or_takes_no_file(tmp_path):
    model = NICA(random_state=0).partial_fit(mixture(0, 100, 2)[1])
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        model.save(tmp_path / "file" / "model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        model.save(tmp_path / "folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize(
    "model",
    [
        NICA(2, n_whitened=3, alpha=0.01, whitening_rate=Time(3, 1.5), half_life=50, tol=None),
        NICA(np.int64(2), separation_rate=Activity(12, 0.9), alpha=np.float64(0), start="paper"),
        NICA(random_state=np.random.RandomState(3), on_bad="skip", shuffle=np.bool_(False)),
        OnlineWhitening(2, random_state=np.random.default_rng(3), dynamics="ode"),
        NSM(2, separation_rate=Time(10, 0.1), start="paper", max_sweeps=7, flip_silent=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_parameter_comes_back(model, tmp_path):
    X = mixture(0, 100, 3)[1]
    model.partial_fit(X).save(tmp_path / "model")
    twin = nica.load(tmp_path / "model")
    assert type(twin) is type(model)
    before, after = model.get_params(), twin.get_params()
    if not isinstance(model.random_state, (int, type(None))):
        del before["random_state"], after["random_state"]
    assert after == before
    assert twin.transform(X).tobytes() == model.transform(X).tobytes()


def test_names_of_channels_come_back(tmp_path):
    import pandas

    X = pandas.DataFrame(mixture(0, 100, 2)[1], columns=["left", "right ⟶"])
    model = NICA(random_state=0).partial_fit(X)
    model.save(tmp_path / "model")
    twin = nica.load(tmp_path / "model")
    assert twin.feature_names_in_.tolist() == ["left", "right ⟶"]
    with pytest.raises(ValueError, match="feature names"):
        twin.transform(X.rename(columns={"left": "up"}))
