"""The paper's rivals as estimators: what they separate, how a stream is cut, what goes wrong."""

import copy
import io
import pickle

import numpy as np
import pytest
from helpers import assert_same, mixture, same, white
from hypothesis import given, settings
from hypothesis import strategies as st
from picard import picard
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import nica
from nica import LinskerICA, NonnegativePCA, OnlineFastICA, OnlineInfomax
from nica.datasets import MIXING_3, sparse_exponential, sparse_uniform
from nica.metrics import amari_distance, match_sources, separation_floor
from nica.offline import plumbley, whiten
from nica.rates import Activity, Time

MODELS = {
    "NonnegativePCA": lambda: NonnegativePCA(2, random_state=0),
    "NonnegativePCA, paper": lambda: NonnegativePCA(start="paper", random_state=0),
    "NonnegativePCA, white": lambda: NonnegativePCA(whiten=False, random_state=0),
    "OnlineFastICA": lambda: OnlineFastICA(2, random_state=0),
    "OnlineFastICA, white": lambda: OnlineFastICA(whiten=False, random_state=0),
    "OnlineInfomax": lambda: OnlineInfomax(random_state=0),
    "OnlineInfomax, paper": lambda: OnlineInfomax(start="paper", random_state=0),
    "LinskerICA": lambda: LinskerICA(random_state=0),
    "LinskerICA, relaxation": lambda: LinskerICA(
        dynamics="relaxation", max_sweeps=9, random_state=0
    ),
}
N = 40_000


@pytest.fixture(params=MODELS.values(), ids=MODELS, scope="module")
def make(request):
    return request.param


def stream():
    """Some repeats, and one outlier that layer 1 keeps from the rule."""
    _, X = mixture(0, 240, 3)
    X[60:62] = X[59]
    X[90] *= 3
    return X


# ------------------------------------------------------------------------- what they are made for


@pytest.mark.parametrize("seed", range(2))
def test_nonnegative_pca_finds_plumbleys_rotation(seed):
    """The paper's sources: online, at the error of the best rotation of the same samples."""
    S = sparse_uniform(N, 3, random_state=seed)
    H, F = whiten(S @ MIXING_3.T, 3)
    model = NonnegativePCA(whiten=False, random_state=seed)
    Y = model.separate(H)
    assert match_sources(S[-4000:], Y[-4000:]).error < 2 * separation_floor(S) + 1e-4
    best = plumbley(H, n_starts=1, random_state=0).Q
    assert amari_distance(model.unmixing_, np.linalg.inv(best)) < 0.003
    assert amari_distance(model.unmixing_ @ F, MIXING_3) < 0.005


@pytest.mark.parametrize("seed", range(2))
def test_online_fastica_finds_what_fastica_finds(seed):
    """Sources with heavy tails and flat ones together: the sign of each is learned online."""
    flat = sparse_uniform(N, 2, zeros=0.0, random_state=seed)
    S = np.hstack([flat, sparse_exponential(N, 1, random_state=seed + 100)])
    X = S @ MIXING_3.T
    model = OnlineFastICA(rate=Time(100, 1), random_state=seed).partial_fit(X)
    batch = FastICA(fun="cube", whiten="unit-variance", random_state=seed, max_iter=1000).fit(X)
    assert amari_distance(batch.components_, MIXING_3) < 0.01
    assert amari_distance(model.unmixing_, MIXING_3) < 0.025
    match = match_sources(S[-4000:], model.transform(X[-4000:]))
    assert match.error < 0.02
    assert model.nonlinearity_sign_[match.permutation].tolist() == [-1, -1, 1]


@pytest.mark.parametrize("rival", [OnlineInfomax, LinskerICA])
@pytest.mark.parametrize("seed", range(2))
def test_infomax_and_linsker_find_what_picard_finds(rival, seed):
    """Sub-Gaussian sources, centred, not whitened; decoded with their mean, at unit variance."""
    S = sparse_uniform(N, 3, zeros=0.0, random_state=seed)
    X = S @ MIXING_3.T
    K, W, _ = picard(X.T, ortho=False, extended=True, random_state=seed)
    assert amari_distance(W @ K, MIXING_3) < 0.01
    model = rival(rate=Time(100, 0.1), random_state=seed).partial_fit(X)
    assert amari_distance(model.unmixing_, MIXING_3) < 0.015
    Y = model.transform(X)
    assert match_sources(S, Y).error < 0.01
    np.testing.assert_allclose(Y.var(axis=0), 1, atol=0.05)
    assert np.all(Y.mean(axis=0) > 1.5)


@pytest.mark.parametrize("rival", [NonnegativePCA, OnlineFastICA, OnlineInfomax, LinskerICA])
def test_fit_settles_and_any_unit_will_do(rival):
    S = sparse_uniform(4000, 2, zeros=0.0, random_state=1)
    X = S @ [[0.9, -0.3], [0.4, 0.7]]
    rate = None if rival in (NonnegativePCA, OnlineFastICA) else Time(100, 0.1)
    model = rival(rate=rate, random_state=1).fit(X)
    assert 1 < model.n_iter_ < 1000
    most = 0.05 if rival is not NonnegativePCA else 0.4  # it is for sources that are often zero
    assert match_sources(S, model.transform(X)).error < most
    twin = rival(rate=rate, random_state=1).fit(2.0**30 * X)
    assert twin.transform(2.0**30 * X).tobytes() == model.transform(X).tobytes()


# ----------------------------------------------------------------------------- streams and copies


@settings(max_examples=8)
@given(st.lists(st.integers(1, 239), max_size=6))
def test_chunks_never_change_a_result(make, cuts):
    X = stream()
    whole, fed, alone = make(), make(), make()
    Y = whole.separate(X)
    chunks = [part for part in np.split(X, sorted(set(cuts))) if len(part)]
    assert np.vstack(list(fed.separate(chunk for chunk in chunks))).tobytes() == Y.tobytes()
    assert np.array([alone.separate_one(x) for x in X]).tobytes() == Y.tobytes()
    assert_same(fed, whole)
    assert_same(alone, whole)
    again = make()
    for chunk in chunks:
        again.partial_fit(chunk)
    assert_same(again, whole)


def test_a_copy_goes_on_as_if_it_had_never_stopped(make, tmp_path):
    X = stream()
    for stop in (1, 17, 61, 200):
        model = make().partial_fit(X[:stop])
        model.save(tmp_path / "model.safetensors")
        twins = [
            nica.load(tmp_path / "model.safetensors"),
            pickle.load(io.BytesIO(pickle.dumps(model))),
            copy.deepcopy(model),
        ]
        Y = model.separate(X[stop:])
        for twin in twins:
            assert twin.separate(X[stop:]).tobytes() == Y.tobytes()
            assert_same(twin, model)


def test_zeros_until_the_scale_is_known_and_attributes_after(make):
    X = stream()
    model = make()
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert not np.any(model.separate(X[:5])) or not model._settings["robust"]
    model.partial_fit(X)
    d = model.n_components_
    assert model.unmixing_.shape == model.mixing_.T.shape == (d, 3)
    assert model.w_.shape[0] == model.whitening_.shape[0] or not model._settings["whiten"]
    assert model.mean_.shape == (3,)
    assert model.n_samples_seen_ == 245
    assert model.inverse_transform(np.ones((4, d))).shape == (4, 3)
    assert model.score(X) <= 1
    with pytest.raises(ValueError, match="read-only"):
        model.w_[...] = 0
    assert model.health_.verdict


# -------------------------------------------------------------------------------- what goes wrong


def test_bad_samples_are_refused_or_skipped(make):
    X = stream()
    model = make().partial_fit(X[:100])
    before = copy.deepcopy(model.__getstate__())
    bad = X[100:].copy()
    bad[30, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN at row 30, channel 1.*on_bad='skip'"):
        model.partial_fit(bad)
    with pytest.raises(ValueError, match="NaN"):
        model.separate_one(bad[30])
    assert same(model.__getstate__(), before)
    skipping, clean = make().set_params(on_bad="skip"), make().set_params(on_bad="skip")
    Y = skipping.separate(np.vstack([X[:100], bad]))
    assert np.flatnonzero(np.isnan(Y).any(axis=1)).tolist() == [130]
    clean.partial_fit(np.delete(np.vstack([X[:100], bad]), 130, axis=0))
    assert skipping.unmixing_.tobytes() == clean.unmixing_.tobytes()


@pytest.mark.parametrize("name", [n for n in MODELS if "FastICA" not in n])
def test_weights_that_overflow_are_told_and_forgotten(name):
    """FastICA cannot: its rows have length one."""
    X = stream()
    model = MODELS[name]().set_params(rate=Time(1.5, 0), start="paper").partial_fit(X[:3])
    before = copy.deepcopy(model.__getstate__())
    huge = 1e60 * X
    for call in (model.partial_fit, model.separate):
        with pytest.raises(FloatingPointError, match="gone back to its state"):
            call(huge)
        assert same(model.__getstate__(), before)
    with pytest.raises(FloatingPointError, match="gone back"):
        list(map(model.separate_one, huge))


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"rate": 0.1}, TypeError, r"rate=0.1: give rates.Time"),
        ({"rate": Activity(10, 0.8)}, TypeError, "give rates.Time"),
        ({"start": "cold"}, ValueError, "start='cold': give one of 'warm', 'paper'"),
        ({"on_bad": "keep"}, ValueError, "on_bad='keep'"),
        ({"max_passes": 0}, ValueError, "max_passes=0"),
    ],
)
def test_bad_parameters_say_what_to_give(make, options, error, match):
    with pytest.raises(error, match=match):
        make().set_params(**options).fit(stream())


def test_more_particular_bad_parameters():
    with pytest.raises(ValueError, match="X has 3 channels but n_components=4: give at most 3"):
        NonnegativePCA(4).fit(stream())
    with pytest.raises(ValueError, match="dynamics='sweeps': give one of 'exact', 'relaxation'"):
        LinskerICA(dynamics="sweeps").fit(stream())


def test_input_that_is_not_white_is_told():
    _, X = white(1, 10_000, 3)
    for rival in (NonnegativePCA, OnlineFastICA):
        with pytest.warns(ConvergenceWarning, match="input that is not white.*whiten=True"):
            rival(whiten=False, rate=Time(1e4, 0), random_state=0).partial_fit(4 * X)


def test_a_neuron_that_never_fires_is_told():
    """A single one, whose weight points away from all samples."""
    rng = np.random.default_rng(0)
    model = NonnegativePCA(whiten=False, flip_silent=False, random_state=0)
    weight = model.partial_fit(np.zeros((1, 1))).w_[0, 0]
    X = -weight * (rng.exponential(size=(10_000, 1)) + 0.1)
    with pytest.warns(ConvergenceWarning, match="silent output at sample .* neuron 0"):
        model.partial_fit(X)
