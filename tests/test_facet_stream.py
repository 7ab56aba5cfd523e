"""FacetNICA as a stream: the native network is its equations; what it finds, and when it starts again."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from helpers import assert_close, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import nica
from nica import FacetNICA, _core
from nica.datasets import mixing
from nica.equations.facets_stream import (
    UPKEEP,
    FacetParameters,
    FacetState,
    facet_step,
    passed,
)
from nica.metrics import match_sources
from nica.networks.facet_nica import ARRAYS

seeds = st.integers(0, 2**31)
WATCH = ("usual", "gained", "lost", "residue", "rate", "share", "slow")


def correlated(seed, n, d, k=None, *, noise=0.0, condition=3.0):
    """Rectified normal sources, every pair correlated, and a mixture of them."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    S = np.maximum(0.8 * common + 0.6 * rng.normal(size=(n, d)), 0)
    A = mixing(k or d, d, condition=condition if d > 1 else 1.0, random_state=rng)
    X = S @ A.T
    return S, X + noise * np.sqrt(np.mean(X**2)) * rng.normal(size=X.shape)


def state_of(model):
    """The state of the equations that is that of a started model."""
    arrays, now = model._state(), model._scalars()
    F = arrays["w_hx"]
    arrays = {"mixing": np.linalg.pinv(F), "gram": F @ F.T, "precision": np.eye(len(F))} | arrays
    fields = {
        name: arrays[core] if name in ("F", "K", "G", "gram", "precision") else arrays[core].ravel()
        for core, name in ARRAYS.items()
    }
    watch = dict(zip(WATCH, arrays["watch"].ravel().tolist(), strict=True))
    return FacetState(
        t=now["t"], N=arrays["inverse"], by_power=arrays["presynaptic"].ravel(),
        bend=arrays["postsynaptic"].ravel(), alarm=now["outlying"], **fields, **watch,
    )  # fmt: skip


def follow(state, X, gain, p):
    """Outputs of the equations for each row of X, not yet cut off, until the alarm; the last state."""
    Y = []
    for x in X:
        y, state, _, alarmed = facet_step(state, gain * x, p)
        Y.append(y)
        if alarmed:
            break
    return np.array(Y), state


def assert_state(model, state, tolerance=1e-9):
    """All that the equations remember, the core remembers too."""
    got = state_of(model)
    for name, value in vars(state).items():
        if model._settings["whiten"] or name not in ("G", "gram", "precision", "residue"):
            assert_close(getattr(got, name), value, tolerance, floor=1e-6)


@pytest.fixture(scope="module", params=_core.kernels())
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NICA_KERNELS", request.param)
        yield request.param


# ------------------------------------------------------------------------------ core and equations


@settings(max_examples=8)
@given(
    st.integers(1, 9), st.integers(0, 4), seeds, st.sampled_from([0.01, 0.05, 0.2]), st.booleans(),
    st.sampled_from([None, 300.0]),
)  # fmt: skip
def test_the_core_computes_the_equations(kernels, d, more, seed, noise, offset, half_life):
    """Outputs and all that is remembered, through outliers, for any size."""
    _, X = correlated(seed, 400, d, d + more, noise=noise)
    X[[310, 340]] *= -30
    X += offset * X.std(axis=0)
    model = FacetNICA(d, offset=offset, half_life=half_life, hold=150, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # what the start found is not the matter
        first = next(
            i for i, x in enumerate(X) if model.separate_one(x) is not None and model._starts
        )
        start = state_of(model)
        p = FacetParameters(d + more, d, offset, half_life or np.inf)
        gain, scale = (model._state()[name].ravel() for name in ("gain", "scale"))
        expected, state = follow(start, X[first + 1 :], gain, p)
        Y = model.separate(X[first + 1 : first + 1 + len(expected)])
    assert_close(Y, np.maximum(expected, 0) * scale)
    assert_state(model, state)


def test_the_core_computes_the_equations_with_a_bulk(kernels):
    """Sources that hardly come near zero keep the bulk that the start found."""
    rng = np.random.default_rng(3)
    S = rng.gamma(5.0, size=(900, 3))
    X = S @ mixing(3, 3, condition=3.0, random_state=rng).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = FacetNICA(hold=600, random_state=0).partial_fit(X[:600])
        arrays = model._state()
        arrays["bulk"] = np.array([[0.6], [0.0], [0.3]])
        arrays["centre"], arrays["spread"] = 1.2 * arrays["mu"], 0.4 * arrays["mu"]
        model._core.set_state(arrays, True)
        expected, state = follow(
            state_of(model), X[600:], arrays["gain"].ravel(), FacetParameters(3, 3)
        )
        Y = model.separate(X[600 : 600 + len(expected)])
    assert_close(Y, np.maximum(expected, 0) * arrays["scale"].ravel())
    assert_state(model, state)


def test_a_restored_state_without_what_follows_from_it_is_the_same(kernels):
    """The inverse and the rates are computed again from the rest."""
    _, X = correlated(1, 1200, 4, 6, noise=0.05)
    model = FacetNICA(4, random_state=0).partial_fit(X[:1100])
    for x in X[1100:]:
        if model._scalars()["t"] % UPKEEP == 0:
            break
        model.separate_one(x)
    before = model._state()
    rest = {n: a for n, a in before.items() if n not in ("inverse", "presynaptic", "postsynaptic")}
    model._core.set_state(rest, False)
    for name, array in model._state().items():
        assert_close(array, before[name], 1e-10)


@pytest.mark.parametrize(("d", "k"), [(3, 3), (4, 7), (12, 12)])
def test_inverses_stay_inverses(kernels, d, k):
    _, X = correlated(2, 60_000, d, k, noise=0.05)
    model = FacetNICA(d, random_state=0).partial_fit(X)
    assert model._core.residual() < 1e-10
    arrays = model._state()
    F = arrays["w_hx"]
    assert_close(model.unmixing_ @ model.mixing_, np.eye(d))
    if k > d:
        assert_close(F @ arrays["mixing"], np.eye(d), 1e-10)
        assert_close(arrays["gram"], F @ F.T, 1e-9)
    linear = X @ model.unmixing_.T + model.intercept_
    assert_close(model.transform(X), np.maximum(linear, 0))


# ---------------------------------------------------------------------------------- what it finds


@pytest.mark.parametrize(("d", "k"), [(3, 3), (3, 6), (5, 5), (10, 10)])
@pytest.mark.parametrize("sources", ["correlated", "independent"])
def test_without_noise_sources_are_found_exactly(d, k, sources):
    """Squared error below 1e-25 of the variance, over the last tenth of 1e5 samples."""
    S, X = correlated(d, 100_000, d, k)
    if sources == "independent":
        S = nica.datasets.sparse_uniform(100_000, d, random_state=d)
        X = S @ mixing(k, d, condition=3.0, random_state=d).T
    Y = FacetNICA(d, random_state=0).separate(X)
    assert worst_error(S[-10_000:], Y[-10_000:]) < 1e-25


def worst_error(S, Y):
    """Mean squared error of the worst source, per unit of variance, at the best scale of each output."""
    Y = Y[:, match_sources(S, Y).permutation]
    scale = np.sum(S * Y, axis=0) / np.sum(Y * Y, axis=0)
    return float(np.max(np.mean((S - scale * Y) ** 2, axis=0) / S.var(axis=0)))


@pytest.mark.parametrize("d", [3, 5])
def test_offsets_and_noise_and_outliers(d):
    """One standard deviation of offset; outliers of ten, five in a hundred; channels to spare."""
    S, X = correlated(d, 30_000, d, noise=0.01)
    offset = X.std(axis=0) * np.random.default_rng(1).choice([-1, 1], d)
    Y = FacetNICA(offset=True, random_state=0).separate(X + offset)
    assert worst_error(S[-5000:], Y[-5000:]) < 2e-3

    S, X = correlated(d, 30_000, d, d + 3, noise=0.01)
    rng = np.random.default_rng(2)
    wild = rng.random(len(X)) < 0.05
    X[wild] += 10 * X.std() * rng.normal(size=(int(wild.sum()), d + 3))
    model = FacetNICA(d, random_state=0)
    Y = model.separate(X)
    assert model.n_restarts_ == 0
    good = ~wild[-5000:]
    assert worst_error(S[-5000:][good], Y[-5000:][good]) < 2e-3


def test_layer_1_follows_the_subspace():
    """From the rough one of the first samples, towards that of all samples."""
    _, X = correlated(4, 40_000, 3, 8, noise=0.2)
    A = np.linalg.qr(mixing(8, 3, condition=3.0, random_state=np.random.default_rng(0)))[0]
    S = np.abs(np.random.default_rng(5).normal(size=(40_000, 3)))
    X = S @ A.T + 0.2 * np.random.default_rng(6).normal(size=(40_000, 8))
    model = FacetNICA(3, random_state=0).partial_fit(X[:1000])

    def angle():
        G = np.linalg.qr(model._state()["mixing"])[0]
        return float(np.linalg.norm(G - A @ (A.T @ G)))

    before = angle()
    model.partial_fit(X[1000:])
    assert angle() < before / 3


# ------------------------------------------------------------------------------ it starts again


def changing(seed, d, when, noise=0.02):
    first, second = (correlated(seed + i, when, d, noise=noise) for i in range(2))
    return np.vstack([first[0], second[0]]), np.vstack([first[1], second[1]])


@pytest.mark.parametrize("seed", range(4))
def test_a_mixture_that_changes_is_told_and_found_again(seed):
    S, X = changing(seed, 5, 6000)
    model = FacetNICA(random_state=0).partial_fit(X[:6000])
    assert not model._scalars()["suspended"]
    model.partial_fit(X[6000:6050])
    assert model._scalars()["suspended"] == 1
    with pytest.warns(ConvergenceWarning, match="mixture had changed, and started again at sample"):
        Y = model.separate(X[6050:])
    assert model.n_restarts_ == 1
    assert worst_error(S[8000:], Y[1950:]) < 0.02


def test_a_burst_that_passes_starts_nothing():
    _, X = correlated(7, 8000, 3, noise=0.02)
    X[3000:3040] *= -20
    model = FacetNICA(random_state=0).partial_fit(X[:3040])
    assert model._scalars()["suspended"] == 1
    before = model.unmixing_
    model.partial_fit(X[3040:3900])
    assert model.unmixing_.tobytes() == before.tobytes()
    model.partial_fit(X[3900:])
    assert model.n_restarts_ == model._scalars()["suspended"] == 0


def test_outliers_at_any_steady_rate_are_no_change():
    rng = np.random.default_rng(8)
    _, X = correlated(8, 200_000, 3, noise=0.02)
    wild = rng.random(len(X)) < 0.05
    X[wild] += 10 * X.std() * rng.normal(size=(int(wild.sum()), 3))
    model = FacetNICA(random_state=0)
    for start in range(0, len(X), 50):
        model.partial_fit(X[start : start + 50])
        assert not model._starts or model._scalars()["suspended"] == 0
    assert passed(60, 1000, 0.05)


def test_a_sensor_that_is_stuck_teaches_nothing():
    _, X = correlated(9, 3000, 3, noise=0.02)
    model = FacetNICA(random_state=0).partial_fit(X)
    model.partial_fit(np.repeat(X[-1:], 100, axis=0))
    before = model.unmixing_
    model.partial_fit(np.repeat(X[-1:], 5000, axis=0))
    assert model.unmixing_.tobytes() == before.tobytes()


# ---------------------------------------------------------------------------------- the contract

MODELS = {
    "square": lambda: FacetNICA(hold=60, random_state=0),
    "more channels": lambda: FacetNICA(2, hold=60, random_state=0),
    "offset": lambda: FacetNICA(offset=True, hold=60, random_state=0),
    "sums": lambda: FacetNICA(2, sum_to_one=True, hold=60, random_state=0),
    "half_life": lambda: FacetNICA(half_life=100, hold=60, random_state=0),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS, scope="module")
def make(request):
    return request.param


def stream():
    """Repeats, an outlier, and a change: it starts twice."""
    X = np.vstack([correlated(seed, 300, 3, noise=0.02)[1] for seed in (0, 5)])
    X[100:103] = X[99]
    X[150] *= 500
    return X


def quietly(learn, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learn(*args)


def test_the_stream_is_eventful():
    model = MODELS["square"]()
    quietly(model.partial_fit, stream())
    assert model.n_restarts_ == 1


@settings(max_examples=8)
@given(st.lists(st.integers(1, 599), max_size=6))
def test_chunks_never_change_a_result(make, cuts):
    X = stream()
    whole, fed, alone = make(), make(), make()
    Y = quietly(whole.separate, X)
    chunks = [part for part in np.split(X, sorted(set(cuts))) if len(part)]
    got = quietly(lambda: list(fed.separate(chunk for chunk in chunks)))
    assert np.vstack(got).tobytes() == Y.tobytes()
    got = quietly(lambda: [alone.separate_one(x) for x in X])
    assert np.array(got).tobytes() == Y.tobytes()
    for other in (fed, alone):
        other._warned, other._next_look = whole._warned, whole._next_look
        assert_same(other, whole)


def test_a_copy_goes_on_as_if_it_had_never_stopped(make, tmp_path):
    X = stream()
    for stop in (1, 17, 101, 340, 500):
        model = make()
        quietly(model.partial_fit, X[:stop])
        model.save(tmp_path / "model.safetensors")
        twins = [
            nica.load(tmp_path / "model.safetensors"),
            pickle.loads(pickle.dumps(model)),
            copy.deepcopy(model),
        ]
        for twin in twins:
            assert_same(twin, model)
        Y = quietly(model.separate, X[stop:])
        for twin in twins:
            assert quietly(twin.separate, X[stop:]).tobytes() == Y.tobytes()
            assert_same(twin, model)


@pytest.mark.parametrize("power", [-30, 30])
def test_powers_of_two_change_no_bit(make, power):
    X = stream()
    expected = quietly(make().separate, X)
    assert quietly(make().separate, 2.0**power * X).tobytes() == expected.tobytes()
    fitted, scaled = quietly(make().fit, X), quietly(make().fit, 2.0**power * X)
    assert scaled.transform(2.0**power * X).tobytes() == fitted.transform(X).tobytes()


def test_attributes_and_the_way_back(make):
    X = stream()[:300]
    model = make()
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.partial_fit(X[:2])
    with pytest.raises(NotFittedError, match=r"2 distinct samples: [34] are needed"):
        model.transform(X)
    assert not np.any(model.separate(X[2:40]))
    assert model.transform(X).shape == (300, model.n_components_)  # from what is held
    assert model._starts == 0
    quietly(model.partial_fit, X[40:])
    d = model.n_components_
    assert model.unmixing_.shape == model.mixing_.T.shape == (d, 3)
    for name in ("intercept_", "sigma_", "tail_", "spike_", "outlier_", "identified_"):
        assert getattr(model, name).shape == (d,)
    assert np.all(np.diag(model.w_yy_) == 0)
    with pytest.raises(ValueError, match="read-only"):
        model.w_yy_[...] = 0
    assert model.n_samples_seen_ == 300
    linear = X @ model.unmixing_.T + model.intercept_
    assert_close(np.maximum(linear, 0), model.transform(X))
    np.testing.assert_allclose(model.mean_, X[:100].mean(axis=0), atol=10 * X.std())
    assert model.health_.verdict
    assert model.get_feature_names_out().tolist() == [f"facetnica{i}" for i in range(d)]
    if d == 3:
        assert_close(model.inverse_transform(linear), X, 1e-8)


def test_the_way_back_where_sources_sum_to_one():
    """Samples lie on a plane beside the origin, and come back there; its corners are the mixing."""
    rng = np.random.default_rng(2)
    S, A = rng.dirichlet([0.4] * 3, 4000), rng.normal(size=(5, 3))
    X = S @ A.T
    for learn in ("fit", "partial_fit"):
        model = getattr(FacetNICA(3, sum_to_one=True, random_state=0), learn)(X)
        Y = X @ model.unmixing_.T + model.intercept_
        assert_close(model.inverse_transform(Y), X, 1e-8)
        corners = np.abs(np.corrcoef(model.mixing_.T, A.T)[:3, 3:])
        assert np.max(corners, axis=1).min() > 0.999
        assert match_sources(S, model.transform(X)).correlation.min() > 0.99


def test_bad_samples_are_refused_or_skipped(make):
    X = stream()[:300]
    bad = X.copy()
    bad[130, 1] = np.nan
    model = quietly(make().partial_fit, X[:100])
    before = copy.deepcopy(model.__getstate__())
    with pytest.raises(ValueError, match=r"NaN at row 30, channel 1"):
        model.partial_fit(bad[100:])
    with pytest.raises(ValueError, match="NaN"):
        model.separate_one(bad[130])
    assert str(model.__getstate__()) == str(before)
    skipping, clean = make().set_params(on_bad="skip"), make()
    Y = quietly(skipping.separate, bad)
    assert np.flatnonzero(np.isnan(Y).any(axis=1)).tolist() == [130]
    quietly(clean.partial_fit, np.delete(bad, 130, axis=0))
    assert skipping.unmixing_.tobytes() == clean.unmixing_.tobytes()
    with pytest.raises(ValueError, match="NaN at row 130, channel 1"):
        make().fit(bad)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"n_components": 4}, ValueError, "X has 3 channels but n_components=4: give at most 3"),
        ({"method": "best"}, ValueError, "method='best': give one of 'facets'"),
        ({"hold": 3}, ValueError, "hold=3: give a whole number >= 4"),
        ({"half_life": 0.1}, ValueError, "half_life=0.1"),
        ({"offset": True, "sum_to_one": True}, ValueError, "offset=True and sum_to_one=True"),
        ({"on_bad": "keep"}, ValueError, "on_bad='keep'"),
        ({"n_starts": 0}, ValueError, "n_starts=0"),
        ({"max_passes": 1.5}, TypeError, "max_passes=1.5"),
    ],
)
def test_bad_parameters_say_what_to_give(options, error, match):
    X = stream()[:300]
    with pytest.raises(error, match=match):
        FacetNICA(**({"hold": 60} | options)).fit(X)
    model = FacetNICA(**({"hold": 60} | options))
    with pytest.raises(error, match=match):
        model.partial_fit(X)
    assert not hasattr(model, "n_features_in_")


def test_channels_that_repeat_each_other_are_told():
    X = stream()[:300] @ np.array([[1.0, 0, 1], [0, 1, 0], [0, 0, 0]])
    with pytest.raises(
        ValueError, match="spans 2 directions only but n_components=3: give at most 2"
    ):
        FacetNICA(hold=16).partial_fit(X)
    assert FacetNICA(2, hold=60, random_state=0).fit(X).transform(X).shape == (300, 2)


def test_an_output_without_a_facet_is_named():
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(3000, 3)) * (rng.random((3000, 3)) < 0.5)
    S[:, 1] = rng.uniform(2, 3, 3000)
    X = S @ mixing(3, 3, condition=2.0, random_state=rng).T
    with pytest.warns(ConvergenceWarning, match="cannot identify output"):
        model = FacetNICA(random_state=0).fit(X)
    assert np.sum(~model.identified_) >= 1
