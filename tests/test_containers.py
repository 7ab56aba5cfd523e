"""Arrays of other libraries go in, and come out as what went in."""

from importlib import import_module
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pandas
import polars
import pytest
import xarray
from helpers import mixture, same

from nica import NICA, NSM, OnlineWhitening
from nica.offline import (
    Whitening,
    minimum_volume,
    minimum_volume_nmf,
    nsm_pgd,
    plumbley,
    soft_hinge,
    successive_projection,
    whiten,
)

every = pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
#: What separates a batch, and what it gives for the samples it is given.
OFFLINE = {
    "whiten": lambda X: whiten(X, 3),
    "plumbley": lambda X: plumbley(X, n_starts=1, max_iter=200, random_state=0),
    "nsm": lambda X: nsm_pgd(X, 3, n_starts=1, tol=1e-2, random_state=0),
    "projection": lambda X: successive_projection(X, 3),
    "hinge": lambda X: soft_hinge(X, 3),
    "volume": lambda X: minimum_volume(X, 3),
    "nmf": lambda X: minimum_volume_nmf(X, 3),
}
offline = pytest.mark.parametrize("name", OFFLINE)
# torch is large, so the tests do not ask for it; where it is installed it is tested, as in .ci/run
LIBRARIES = ["array_api_strict", *(["torch"] if find_spec("torch") else [])]
X = mixture(0, 400, 3)[1]
COORDS = {"time": np.arange(400) * 0.5, "channel": ["a", "b", "c"], "day": ("time", np.ones(400))}


def named(X=X):
    return xarray.DataArray(X, dims=("time", "channel"), coords=COORDS, attrs={"unit": "mV"})


@every
@pytest.mark.parametrize("library", LIBRARIES)
def test_array_libraries(estimator, library):
    inside = import_module(library).asarray(X)
    model = estimator(random_state=0).fit(inside)
    plain = estimator(random_state=0).fit(X)
    assert same(model.__getstate__(), plain.__getstate__())
    for method in ("transform", "separate", "fit_transform"):
        Y = getattr(model, method)(inside)
        assert isinstance(Y, type(inside))
        assert np.from_dlpack(Y).tolist() == getattr(plain, method)(X).tolist()


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_and_integers(library):
    xp = import_module(library)
    for dtype in ("float32", "int64"):
        inside = xp.asarray((10 * X).astype(dtype))
        Y = NICA(random_state=0).fit(inside).transform(inside)
        assert Y.dtype == xp.float64


@every
def test_xarray(estimator):
    model = estimator(random_state=0).fit(named())
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    plain = estimator(random_state=0).fit(X)
    for method in ("transform", "separate"):
        Y = getattr(model, method)(named())
        assert Y.dims == ("time", "component")
        assert Y.component.values.tolist() == model.get_feature_names_out().tolist()
        assert Y.time.values.tolist() == COORDS["time"].tolist()
        assert set(Y.coords) == {"time", "day", "component"}
        assert Y.attrs == {"unit": "mV"}
        assert Y.values.tolist() == getattr(plain, method)(X).tolist()


@every
@pytest.mark.parametrize("library", LIBRARIES)
def test_array_libraries_there_and_back(estimator, library):
    inside = import_module(library).asarray(X)
    model = estimator(random_state=0).fit(X)
    back = model.inverse_transform(model.transform(inside))
    assert isinstance(back, type(inside))
    assert np.from_dlpack(back).tolist() == model.inverse_transform(model.transform(X)).tolist()
    assert model.score(inside) == model.score(X)


@every
def test_xarray_there_and_back(estimator):
    model = estimator(random_state=0).fit(named())
    back = model.inverse_transform(model.transform(named()))
    assert back.dims == ("time", "channel")
    assert model.score(named()) == estimator(random_state=0).fit(X).score(X)
    assert back.channel.values.tolist() == ["a", "b", "c"]
    assert set(back.coords) == set(named().coords)
    plain = estimator(random_state=0).fit(X)
    assert back.values.tolist() == plain.inverse_transform(plain.transform(X)).tolist()


def test_xarray_without_names():
    model = NICA(random_state=0).fit(xarray.DataArray(X))
    assert not hasattr(model, "feature_names_in_")
    Y = model.transform(xarray.DataArray(X))
    assert Y.dims == ("dim_0", "component")
    assert model.inverse_transform(Y).channel.values.tolist() == ["x0", "x1", "x2"]


def test_xarray_with_other_names_is_refused():
    model = NICA(random_state=0).fit(named())
    before = model.__getstate__()
    other = named().assign_coords(channel=["a", "c", "b"])
    for method in (model.transform, model.separate, model.partial_fit):
        with pytest.raises(ValueError, match="began with"):
            method(other)
    assert same(model.__getstate__(), before)


def test_out_gets_the_outputs_of_any_of_them():
    out = np.empty_like(X)
    assert NICA(random_state=0).separate(named(), out=out) is not None
    assert out.tolist() == NICA(random_state=0).separate(X).tolist()


@pytest.mark.parametrize("wrong", [array_api_strict.zeros(4), xarray.DataArray(np.zeros(3))])
def test_one_dimension_is_refused(wrong):
    with pytest.raises(ValueError, match="2D array"):
        NICA().fit(wrong)


@offline
@pytest.mark.parametrize("library", LIBRARIES)
def test_offline_array_libraries(name, library):
    H = whiten(X, 3).H
    inside = import_module(library).asarray(H)
    given, plain = OFFLINE[name](inside), OFFLINE[name](H)
    for there, here in zip(given, plain, strict=True):
        if np.ndim(here) == 2:
            assert isinstance(there, type(inside))
            assert np.from_dlpack(there).tolist() == here.tolist()
        else:
            assert np.array_equal(there, here)


@offline
def test_offline_xarray(name):
    H = whiten(named(), 3).H
    Y = OFFLINE[name](H)[0]
    assert Y.dims == ("time", "component")
    assert Y.component.values.tolist() == [f"{name}{i}" for i in range(3)]
    assert set(Y.coords) == {"time", "day", "component"}
    assert Y.attrs == {"unit": "mV"}
    assert Y.values.tolist() == OFFLINE[name](H.values)[0].tolist()


@offline
def test_offline_data_frames(name):
    H = whiten(X, 3).H
    names = [f"{name}{i}" for i in range(3)]
    plain = OFFLINE[name](H)[0].tolist()
    Y = OFFLINE[name](pandas.DataFrame(H, index=np.arange(400) * 0.5))[0]
    assert Y.columns.tolist() == names
    assert Y.index.tolist() == COORDS["time"].tolist()
    assert Y.to_numpy().tolist() == plain
    Y = OFFLINE[name](polars.DataFrame(H, schema=["a", "b", "c"]))[0]
    assert Y.columns == names
    assert Y.to_numpy().tolist() == plain


@pytest.mark.parametrize("library", LIBRARIES)
def test_offline_transformer_array_libraries(library):
    inside = import_module(library).asarray(X)
    model, plain = Whitening().fit(inside), Whitening().fit(X)
    assert model.whitening_.tolist() == plain.whitening_.tolist()
    H = model.transform(inside)
    back = model.inverse_transform(H)
    assert isinstance(H, type(inside))
    assert isinstance(back, type(inside))
    assert np.from_dlpack(H).tolist() == plain.transform(X).tolist()
    np.testing.assert_allclose(np.from_dlpack(back), X, rtol=1e-9)


def test_offline_transformer_names():
    model = Whitening().fit(named())
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    H = model.transform(named())
    assert H.component.values.tolist() == ["whitening0", "whitening1", "whitening2"]
    assert model.inverse_transform(H).channel.values.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="began with"):
        model.transform(named().assign_coords(channel=["a", "c", "b"]))
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model.set_output(transform="polars")
    assert model.transform(frame).columns == H.component.values.tolist()


def test_offline_refuses_what_it_refused():
    wrong = named().copy()
    wrong[3, 1] = np.nan
    for use in (lambda: whiten(wrong, 2), lambda: Whitening().fit(wrong)):
        with pytest.raises(ValueError, match="NaN"):
            use()
    with pytest.raises(ValueError, match="2D array"):
        whiten(xarray.DataArray(np.zeros(3)), 1)
