"""Arrays of other libraries go in, and come out as what went in."""

from importlib import import_module
from importlib.util import find_spec

import array_api_strict
import numpy as np
import pytest
import xarray
from helpers import mixture, same

from nica import NICA, NSM, OnlineWhitening

every = pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
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


def test_xarray_without_names():
    model = NICA(random_state=0).fit(xarray.DataArray(X))
    assert not hasattr(model, "feature_names_in_")
    assert model.transform(xarray.DataArray(X)).dims == ("dim_0", "component")


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
