"""One stream, however it is cut, stored, typed or scaled: the same bits."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from helpers import assert_same, mixture, white
from hypothesis import given, settings
from hypothesis import strategies as st

import nica
from nica import NICA, NSM, OnlineWhitening

MODELS = {
    "NICA": lambda: NICA(random_state=0),
    "NICA, d=2 of 3": lambda: NICA(2, random_state=0),
    "NICA, half_life": lambda: NICA(half_life=100, random_state=0),
    "NICA, alpha": lambda: NICA(2, n_whitened=3, alpha=0.05, random_state=0),
    "NICA, sweeps": lambda: NICA(dynamics="sweeps", max_sweeps=10, random_state=0),
    "NICA, ode": lambda: NICA(dynamics="ode", max_sweeps=20, random_state=0),
    "NICA, paper": lambda: NICA(start="paper", random_state=0),
    "NICA, paper, sweeps": lambda: NICA(start="paper", dynamics="sweeps", random_state=0),
    "NICA, paper, ode": lambda: NICA(start="paper", dynamics="ode", max_sweeps=20, random_state=0),
    "OnlineWhitening": lambda: OnlineWhitening(random_state=0),
    "OnlineWhitening, paper": lambda: OnlineWhitening(start="paper", random_state=0),
    "NSM": lambda: NSM(random_state=0),
    "NSM, paper": lambda: NSM(start="paper", random_state=0),
}  # fmt: skip
seeds = st.integers(0, 2**31)


@pytest.fixture(params=MODELS.values(), ids=MODELS, scope="module")
def make(request):
    return request.param


def eventful(seed=0):
    """A stream with repeats, outliers, a burst (a suspension) and a jump (a restart)."""
    _, X = mixture(seed, 520, 3)
    X[100:103] = X[99]
    X[150] *= 500
    X[200:208] *= 1000  # suspends, and goes on
    X[350:] = 1000 * X[350:, ::-1]  # starts again
    return X


def pieces(X, cuts):
    return [part for part in np.split(X, sorted(set(cuts))) if len(part)]


@settings(max_examples=12)
@given(st.lists(st.integers(1, 519), max_size=8))
def test_chunks_never_change_a_result(make, cuts):
    X = eventful()
    whole = make()
    Y = whole.separate(X)

    chunks = pieces(X, cuts)
    fed, separated, iterated, alone = make(), make(), make(), make()
    for chunk in chunks:
        fed.partial_fit(chunk)
    assert_same(fed, whole)

    assert np.vstack([separated.separate(chunk) for chunk in chunks]).tobytes() == Y.tobytes()
    assert_same(separated, whole)

    assert np.vstack(list(iterated.separate(chunk for chunk in chunks))).tobytes() == Y.tobytes()
    assert_same(iterated, whole)

    assert np.array([alone.separate_one(x) for x in X]).tobytes() == Y.tobytes()
    assert_same(alone, whole)


def test_the_stream_is_eventful():
    """Otherwise the tests of this file show little."""
    model, started = NICA(random_state=0), []
    suspended = False
    for x in eventful():
        model.separate_one(x)
        suspended |= bool(model._scalars()["suspended"])
        started.append(model._starts)
    assert suspended
    assert started[-1] >= 2


@settings(max_examples=10)
@given(
    st.sets(st.integers(0, 149), max_size=20),
    st.lists(st.integers(1, 149), max_size=5),
    st.sampled_from([np.nan, np.inf, -1e200]),
)
def test_chunks_never_change_what_is_skipped(rows, cuts, bad):
    _, X = mixture(1, 150, 3)
    X[sorted(rows), 1] = bad
    whole, chunked, alone = (NICA(on_bad="skip", random_state=0) for _ in range(3))
    Y = whole.separate(X)
    assert np.array_equal(np.flatnonzero(np.isnan(Y).all(axis=1)), sorted(rows))
    parts = [chunked.separate(chunk) for chunk in pieces(X, cuts)]
    assert np.vstack(parts).tobytes() == Y.tobytes()
    assert np.array([alone.separate_one(x) for x in X]).tobytes() == Y.tobytes()
    assert_same(chunked, whole)
    assert_same(alone, whole)


def by_file(model, folder):
    model.save(folder / "model.safetensors")
    return nica.load(folder / "model.safetensors")


def by_joblib(model, folder):
    joblib.dump(model, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


COPIES = {
    "save": by_file,
    "joblib": by_joblib,
    "pickle": lambda model, _: pickle.load(io.BytesIO(pickle.dumps(model))),
    "deepcopy": lambda model, _: copy.deepcopy(model),
}


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_a_copy_goes_on_as_if_it_had_never_stopped(make, duplicate, tmp_path):
    """Stopped in the warm-up, within a suspension, amid repeats, and after."""
    X = eventful()
    for stop in (1, 17, 101, 160, 206, 365, 500):
        model = make().partial_fit(X[:stop])
        twin = duplicate(model, tmp_path)
        assert_same(twin, model)
        assert twin.separate(X[stop:]).tobytes() == model.separate(X[stop:]).tobytes()
        assert_same(twin, model)


@pytest.mark.parametrize("max_rows", [20, 520])
def test_fit_in_one_pass_as_it_comes_is_partial_fit(make, max_rows):
    X = eventful()[:max_rows]
    one = make().set_params(shuffle=False, max_passes=1).fit(X)
    other = make().set_params(shuffle=False, max_passes=1).partial_fit(X)
    assert_same(one, other)


@pytest.mark.parametrize("power", [-30, -1, 1, 30])
@pytest.mark.parametrize("name", [n for n in MODELS if "paper" not in n and "NSM" not in n])
def test_powers_of_two_change_no_bit(name, power):
    X = eventful()
    expected, got = MODELS[name]().separate(X), MODELS[name]().separate(2.0**power * X)
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("factor", [1e-9, 1e9])
@pytest.mark.parametrize(("d", "k"), [(3, 3), (2, 5), (10, 10)])
def test_any_unit_will_do(d, k, factor):
    _, X = mixture(4, 1000, d, k)
    expected = NICA(d, random_state=0).separate(X)
    got = NICA(d, random_state=0).separate(factor * X)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.max(expected))


def test_powers_of_two_in_fit():
    _, X = mixture(5, 300, 3)
    expected = NICA(random_state=0).fit(X)
    got = NICA(random_state=0).fit(2.0**30 * X)
    assert got.n_iter_ == expected.n_iter_
    assert got.transform(2.0**30 * X).tobytes() == expected.transform(X).tobytes()


def laid_out(X, tmp_path):
    """The same numbers in other types and layouts."""
    yield "float32", X.astype(np.float32)
    yield "int", X.astype(np.int32)
    yield "big-endian", X.astype(">f8")
    yield "Fortran", np.asfortranarray(X)
    wide = np.zeros((2 * len(X), 3 * X.shape[1]))
    wide[::2, 1::3] = X
    yield "strided", wide[::2, 1::3]
    yield "backwards", np.ascontiguousarray(X[::-1])[::-1]
    stored = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    stored[:] = X
    stored.flush()
    yield "memmap", np.memmap(tmp_path / "X", dtype=np.float64, mode="r", shape=X.shape)
    yield "list", X.tolist()
    frozen = X.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


def test_type_and_layout_do_not_matter(make, tmp_path):
    X = np.round(100 * white(6, 200, 3)[1])  # whole numbers: exact in all types
    if isinstance(make(), NSM):
        X = np.sign(X)
    expected = make()
    Y, Z = expected.separate(X), expected.transform(X)
    for name, same_numbers in laid_out(X, tmp_path):
        model = make()
        assert model.separate(same_numbers).tobytes() == Y.tobytes(), name
        assert model.transform(same_numbers).tobytes() == Z.tobytes(), name
        one = make()
        rows = np.array([one.separate_one(x) for x in same_numbers])
        assert rows.tobytes() == Y.tobytes(), name
        assert_same(model, expected)


def test_outputs_go_where_they_are_wanted(make, tmp_path):
    X = eventful()
    Y = make().separate(X)
    out = np.full(Y.shape, -1.0)
    assert np.shares_memory(make().separate(X, out=out), out)
    assert out.tobytes() == Y.tobytes()
    stored = np.memmap(tmp_path / "Y", dtype=np.float64, mode="w+", shape=Y.shape)
    make().separate(X, out=stored)
    stored.flush()
    assert np.fromfile(tmp_path / "Y").tobytes() == Y.tobytes()


def test_input_is_never_modified(make):
    X = eventful()
    original = X.copy()
    model = make()
    model.partial_fit(X)
    model.separate(X)
    model.transform(X)
    model.score(X)
    model.separate_one(X[0])
    make().set_params(max_passes=1).fit(X)
    assert X.tobytes() == original.tobytes()


def test_blocks_inside_do_not_show():
    """More entries than are converted at once, in a type that needs conversion."""
    _, X = mixture(7, 30_000, 3)
    X = X.astype(np.float32)
    whole, chunked = NICA(random_state=0), NICA(random_state=0)
    Y = whole.separate(X)
    assert np.vstack(
        [chunked.separate(X[i : i + 7919]) for i in range(0, 30_000, 7919)]
    ).tobytes() == (Y.tobytes())
    assert_same(chunked, whole)
