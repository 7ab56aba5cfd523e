"""Bad input is refused by name, row, limit and remedy, and leaves no trace in the network."""

import copy

import numpy as np
import pytest
from helpers import assert_same, mixture, same
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import NotFittedError

from nica import NICA, NSM, OnlineWhitening
from nica.rates import Activity, Time

_, GOOD = mixture(0, 100, 3)
MAKE = {
    "NICA": lambda **o: NICA(random_state=0, **o),
    "NICA, paper": lambda **o: NICA(start="paper", random_state=0, **o),
    "OnlineWhitening": lambda **o: OnlineWhitening(random_state=0, **o),
    "NSM": lambda **o: NSM(random_state=0, **o),
}


@pytest.fixture(params=MAKE.values(), ids=MAKE, scope="module")
def make(request):
    return request.param


def refuse(model, call, error, match):
    """The call fails so, and the model is what it was, to the bit."""
    before = copy.deepcopy(model.__getstate__())
    with pytest.raises(error, match=match):
        call(model)
    assert same(model.__getstate__(), before)


def refuse_everywhere(make, X, error, match, *, one=False):
    """New, in the warm-up and after it; by every verb that learns, and by transform."""
    for rows in (0, 12, 100):
        model = make()
        if rows:
            model.partial_fit(GOOD[:rows])
            refuse(model, lambda m: m.transform(X), error, match)
            refuse(model, lambda m: m.score(X), error, match)
        refuse(model, lambda m: m.fit(X), error, match)
        refuse(model, lambda m: m.partial_fit(X), error, match)
        refuse(model, lambda m: m.separate(X), error, match)
        if one:
            for x in X:
                if not np.all(np.abs(x) <= 1e100):
                    refuse(model, lambda m, x=x: m.separate_one(x), error, "remove such rows")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (np.nan, "NaN"),
        (np.inf, "infinity"),
        (-np.inf, "infinity"),
        (1e101, r"1e\+101.*limit is 1e\+100"),
    ],
)
def test_bad_values_are_named_with_row_and_channel(make, value, what):
    for row, channel in ((0, 0), (41, 2), (99, 1)):
        X = GOOD.copy()
        X[row, channel] = value
        refuse_everywhere(
            make,
            X,
            ValueError,
            f"{what}.* at row {row}, channel {channel}.*on_bad='skip'",
            one=True,
        )


@settings(max_examples=20)
@given(st.integers(0, 29_999), st.sampled_from([np.nan, np.inf, -1e300]))
def test_bad_values_at_any_row_of_a_long_array_leave_no_trace(row, value):
    """Whatever was learned from the rows before it is forgotten again."""
    X = np.tile(GOOD, (300, 1))
    X[row, 1] = value
    model = NICA(random_state=0).partial_fit(GOOD)
    refuse(model, lambda m: m.partial_fit(X), ValueError, f"at row {row}, channel 1")
    refuse(NICA(), lambda m: m.separate(X), ValueError, f"at row {row}, channel 1")


def test_names_of_channels_are_used():
    import pandas

    X = pandas.DataFrame(GOOD, columns=["red", "green", "blue"])
    model = NICA(random_state=0).partial_fit(X)
    X.loc[7, "green"] = np.nan
    refuse(model, lambda m: m.partial_fit(X), ValueError, "row 7, channel 'green'")


def test_channels_must_be_as_many_as_before(make):
    for model in (make().partial_fit(GOOD[:12]), make().partial_fit(GOOD)):
        for columns in (1, 2, 4):
            X = np.ones((5, columns))
            match = f"{columns} features?.*expecting 3"
            for verb in ("partial_fit", "separate", "transform"):
                refuse(model, lambda m, v=verb, X=X: getattr(m, v)(X), ValueError, match)
            refuse(model, lambda m, X=X: m.separate_one(X[0]), ValueError, "3")


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (np.empty((0, 3)), ValueError, "0 sample"),
        (np.empty((4, 0)), ValueError, "0 feature"),
        (GOOD[0], ValueError, "1D array"),
        (GOOD[np.newaxis], ValueError, "dim 3"),
        (np.float64(3), ValueError, "2D array"),
        (GOOD + 1j, ValueError, "[Cc]omplex"),
        (np.array([["1", "2", "3"], ["4", "b", "c"]]), ValueError, "'b'.* at row 1, channel 1"),
        (np.array([[1.0, None, object()]] * 4, dtype=object), TypeError, "float"),
        (sparse.csr_matrix(GOOD), TypeError, "[Ss]parse"),
    ],
    ids=["no rows", "no columns", "1d", "3d", "0d", "complex", "text", "object", "sparse"],
)
def test_what_is_no_matrix_of_numbers(make, X, error, match):
    refuse_everywhere(make, X, error, match)


def test_objects_that_are_numbers_are_numbers(make):
    assert_same(make().partial_fit(GOOD.astype(object)), make().partial_fit(GOOD))


def test_text_that_is_no_chunk():
    for X in ("text", 3, None, {"a": 1}):
        model = NICA(random_state=0)
        with pytest.raises((ValueError, TypeError)):
            list(model.separate(X))
        assert not hasattr(model, "n_features_in_")


def test_more_sources_than_channels(make):
    for verb in ("fit", "partial_fit", "separate"):
        refuse(
            make(n_components=4), lambda m, v=verb: getattr(m, v)(GOOD), ValueError,
            "X has 3 channels but n_components=4: give at most 3",
        )  # fmt: skip


BAD_PARAMETERS = [
    ("n_components", 0, ValueError), ("n_components", -1, ValueError),
    ("n_components", 1.5, TypeError), ("n_components", "two", TypeError),
    ("n_components", True, TypeError), ("n_components", np.nan, TypeError),
    ("start", "cold", ValueError), ("start", None, ValueError),
    ("dynamics", "fast", ValueError), ("dynamics", 0, ValueError),
    ("max_sweeps", 0, ValueError), ("max_sweeps", 2.5, TypeError), ("max_sweeps", None, TypeError),
    ("dynamics_tol", -1e-3, ValueError), ("dynamics_tol", "x", TypeError),
    ("dynamics_tol", np.nan, ValueError),
    ("half_life", 0, ValueError), ("half_life", -3, ValueError), ("half_life", "long", TypeError),
    ("half_life", np.nan, ValueError),
    ("on_bad", "ignore", ValueError), ("on_bad", None, ValueError),
    ("tol", -1, ValueError), ("tol", "x", (TypeError, ValueError)), ("tol", np.nan, ValueError),
    ("max_passes", 0, ValueError), ("max_passes", 1.5, TypeError), ("max_passes", None, TypeError),
    ("random_state", "seed", ValueError), ("random_state", -1, ValueError),
    ("n_whitened", 0, ValueError), ("n_whitened", 2, ValueError), ("n_whitened", 4, ValueError),
    ("n_interneurons", 0, ValueError), ("n_interneurons", 2, ValueError),
    ("alpha", -0.1, ValueError), ("alpha", np.inf, ValueError), ("alpha", "x", TypeError),
    ("whitening_rate", 0.1, TypeError), ("whitening_rate", Activity(10, 0.9), TypeError),
    ("separation_rate", 0.1, TypeError), ("separation_rate", "fast", TypeError),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "error"), BAD_PARAMETERS)
@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
def test_bad_parameters_are_named(estimator, name, value, error):
    if name not in estimator().get_params():
        with pytest.raises(TypeError, match=name):
            estimator(**{name: value})
        return
    model = estimator(**{name: value})
    shown = name if name != "random_state" else "[Ss]eed"
    refuse(model, lambda m: m.fit(GOOD), error, shown)
    if name != "max_passes":
        refuse(model, lambda m: m.partial_fit(GOOD), error, shown)


@pytest.mark.parametrize(
    ("rate", "match"),
    [
        (lambda: Time(-1, 1), "a=-1"), (lambda: Time(1, np.nan), "b=nan"),
        (lambda: Time("1", 1), "a='1'"), (lambda: Time(0.5, 0.5), "larger than 1"),
        (lambda: Time(0, 0), "larger than 1"), (lambda: Time(True, 1), "a=True"),
        (lambda: Activity(0, 0.8), "floor=0"), (lambda: Activity(-3, 0.8), "floor=-3"),
        (lambda: Activity(np.inf, 0.8), "floor=inf"), (lambda: Activity(10, 0), "forgetting=0"),
        (lambda: Activity(10, 1.1), "forgetting=1.1"), (lambda: Activity(10, None), "forgetting=None"),
    ],
)  # fmt: skip
def test_bad_rates_are_named(rate, match):
    with pytest.raises(ValueError, match=match):
        rate()


def test_too_few_distinct_samples(make):
    model = make()
    if model.start == "paper" or isinstance(model, NSM):
        assert np.all(np.isfinite(model.separate(GOOD[:3])))  # they wait for nothing
        return
    X = GOOD[:3]
    refuse(
        model, lambda m: m.fit(X), ValueError, r"3 distinct samples.*at least 4 for n_components=3"
    )
    model.partial_fit(GOOD[:1])
    refuse(model, lambda m: m.transform(GOOD), NotFittedError, r"1 distinct sample: *4 are needed")


def test_nothing_is_known_before_the_first_sample(make):
    model = make()
    for name in ("unmixing_", "mean_", "n_samples_seen_"):
        if isinstance(model, OnlineWhitening) and name == "unmixing_":
            name = "whitening_"
        with pytest.raises(NotFittedError, match="call fit, partial_fit or separate first"):
            getattr(model, name)
    with pytest.raises(NotFittedError):
        model.transform(GOOD)


def test_out_must_fit(make):
    model = make().partial_fit(GOOD)
    Y = np.zeros((100, 3))
    frozen = Y.copy()
    frozen.flags.writeable = False
    for out, error, match in (
        (Y[:50], ValueError, r"\(50, 3\): give \(100, 3\)"),
        (Y.astype(np.float32), TypeError, "float64"),
        (np.asfortranarray(Y), TypeError, "contiguous"),
        (Y.tolist(), TypeError, "array"),
        (frozen, ValueError, "read-only"),
    ):
        refuse(model, lambda m, out=out: m.separate(GOOD, out=out), error, match)
    refuse(model, lambda m: m.separate([GOOD, GOOD], out=Y), ValueError, "one array")


@settings(max_examples=20)
@given(st.sets(st.integers(0, 99)), st.sampled_from([np.nan, np.inf, 1e200]))
def test_skipped_samples_teach_nothing(make, rows, value):
    """NaN where they were; everything else as if they had never been."""
    X = GOOD.copy()
    X[sorted(rows), 2] = value
    bad = ~np.isfinite(X).all(axis=1) | (np.abs(X).max(axis=1) > 1e100)
    model, expected = make(on_bad="skip"), make(on_bad="skip")
    Y = model.separate(X)
    assert np.isnan(Y[bad]).all()
    assert model.n_bad_samples_ == len(rows)
    if len(rows) < 100:
        assert Y[~bad].tobytes() == expected.separate(X[~bad]).tobytes()
        expected.n_bad_samples_ = len(rows)
        assert_same(model, expected)


@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening])
@pytest.mark.parametrize("scale", [1e60, 1e95, 1e100])
@pytest.mark.parametrize("d", [2, 3, 5, 11])
def test_overflow_is_an_error_and_undone(estimator, scale, d):
    """start="paper" does not know the scale: what it cannot hold it refuses, and goes on as before."""
    _, good = mixture(0, 100, d)
    X = np.clip(scale * good, -1e100, 1e100)
    match = "gone back.*start='warm'"
    new = estimator(start="paper", random_state=0)
    refuse(new, lambda m: m.partial_fit(X), FloatingPointError, match)

    model = estimator(start="paper", random_state=0).partial_fit(good)
    untouched = copy.deepcopy(model)
    refuse(model, lambda m: m.separate(X), FloatingPointError, match)
    assert model.separate(good).tobytes() == untouched.separate(good).tobytes()
    assert_same(model, untouched)


@pytest.mark.parametrize("d", [2, 3, 5, 11])
def test_overflow_at_a_single_sample_is_undone(d):
    _, good = mixture(0, 100, d)
    model = NICA(start="paper", random_state=0).partial_fit(good)
    for x in 1e60 * good:
        before = copy.deepcopy(model)
        try:
            model.separate_one(x)
        except FloatingPointError:
            break
    assert_same(model, before)
    with pytest.raises(FloatingPointError):
        before.separate_one(x)
    assert model.transform(good).tobytes() == before.transform(good).tobytes()


@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
def test_a_refusal_does_not_undo_what_was_learned_before(estimator):
    """Whatever was the last call, and also for a model fresh from a copy."""
    model = estimator(random_state=0).partial_fit(GOOD[:50]).partial_fit(GOOD[50:])
    for m in (model, copy.deepcopy(model)):
        refuse(m, lambda m: m.partial_fit(GOOD[:, :2]), ValueError, "features")
        refuse(m, lambda m: m.separate(GOOD, out=np.zeros((1, 1))), ValueError, "out has shape")
        assert m.n_samples_seen_ == 100


@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-150, 1e99])
def test_no_scale_breaks_the_warm_start(estimator, scale):
    Y = estimator(random_state=0).separate(scale * GOOD)
    assert np.all(np.isfinite(Y))
