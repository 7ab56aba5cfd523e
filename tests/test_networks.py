"""What the networks are for: they whiten, they separate, they follow, and they say when they do not."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers import mixture, white
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from nica import NICA, NSM, LinskerICA, OnlineFastICA, OnlineWhitening
from nica.datasets import MIXING_3, make_mixture, mixing, sparse_uniform
from nica.metrics import match_sources, separation_floor


def late_error(S, Y, share=0.1):
    """Error of the last samples, with the best permutation."""
    n = int(share * len(S))
    return match_sources(S[-n:], Y[-n:]).error


def separated(S, Y):
    return late_error(S, Y) <= max(3 * separation_floor(S), 0.02 * S.shape[1])


# ----------------------------------------------------------------------------------- whitening


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 3), st.floats(-6, 6))
def test_whitening_whitens(seed, d, more, magnitude):
    _, X = mixture(seed, 5000, d, d + more, condition=30, scale=10**magnitude)
    model = OnlineWhitening(d, random_state=seed).partial_fit(X)
    H = model.transform(X)
    np.testing.assert_allclose(np.cov(H.T).reshape(d, d), np.eye(d), atol=0.15)
    np.testing.assert_allclose(H, X @ model.whitening_.T, atol=1e-8)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), atol=0.05 * np.max(np.abs(X)))
    assert model.score(X) > 0.8


@pytest.mark.parametrize("start", ["warm", "paper"])
def test_alpha_drops_the_modes_below_it(start):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    X = rng.standard_normal((40_000, 5)) * np.sqrt([2, 1.2, 0.9, 0.1, 0.05]) @ axes.T
    model = OnlineWhitening(3, n_whitened=5, alpha=0.3, start=start, random_state=0)
    H = model.partial_fit(X).transform(X)
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(H.T)), [0, 0, 1, 1, 1], atol=0.05)
    assert model.score(X) > 0.9


def test_more_principal_neurons_than_sources():
    """Theorem 2, l > d: d unit eigenvalues, the others zero; and the sources come out."""
    S, X = mixture(1, 30_000, 3, 6)
    model = NICA(3, n_whitened=5, n_interneurons=4, alpha=1e-3, random_state=0)
    Y = model.separate(X)
    H = X @ model.whitening_.T
    np.testing.assert_allclose(np.linalg.eigvalsh(np.cov(H.T)), [0, 0, 1, 1, 1], atol=0.05)
    assert separated(S, Y)


@pytest.mark.parametrize("d", [3, 10])
def test_the_inverses_stay_inverses(d):
    _, X = mixture(2, 100_000, d, condition=1e4)
    model = NICA(random_state=0)
    for _ in range(10):  # a million samples
        model.partial_fit(X)
        assert model._core.residual() <= 1e-10


# ---------------------------------------------------------------------------------- separation


@pytest.mark.parametrize("seed", range(6))
def test_the_paper_s_mixture_is_separated(seed):
    data = make_mixture(n_samples=100_000, random_state=seed)
    Y = NICA(random_state=seed).separate(data.X)
    n = len(Y) // 10
    assert late_error(data.S, Y) < 3 * max(separation_floor(data.S), 3.4e-5)
    assert np.all(Y[-n:] >= 0)


@pytest.mark.parametrize("scale", [1e-9, 1, 1e9])
@pytest.mark.parametrize(("d", "k", "condition"), [(3, 3, 1000), (5, 25, 100), (10, 10, 30)])
def test_any_scale_and_condition(d, k, condition, scale):
    S, X = mixture(3, 40_000, d, k, condition=condition, scale=scale)
    assert separated(S, NICA(d, random_state=0).separate(X))


@pytest.mark.parametrize("seed", range(3))
def test_mixing_and_unmixing_are_the_true_ones(seed):
    S = sparse_uniform(50_000, 3, random_state=seed)
    model = NICA(random_state=seed).partial_fit(S @ MIXING_3.T)
    order = match_sources(S, model.transform(S @ MIXING_3.T)).permutation
    np.testing.assert_allclose(model.mixing_[:, order], MIXING_3, atol=0.02)
    np.testing.assert_allclose((model.unmixing_ @ MIXING_3)[order], np.eye(3), atol=0.02)
    np.testing.assert_allclose(model.unmixing_ @ model.mixing_, np.eye(3), atol=1e-9)


def test_fit_needs_few_samples():
    S, X = mixture(5, 500, 3)
    model = NICA(random_state=0).fit(X)
    assert model.n_iter_ > 1
    assert match_sources(S, model.transform(X)).error < 0.1
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=0.2)
    assert model.score(X) > 0.95


def test_fit_of_many_samples_is_one_pass_or_few():
    _, X = mixture(6, 200_000, 3)
    assert NICA(random_state=0).fit(X).n_iter_ <= 3


@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening, NSM])
def test_transform_is_separate_without_learning(estimator):
    """On weights that no longer move, both give the same fixed point."""
    _, X = white(7, 3000, 3)
    model = estimator(random_state=0).partial_fit(X)
    expected = model.transform(X[:50])
    before = model.__getstate__()["_core"]
    got = np.array([model.separate_one(x) for x in X[:1]])
    np.testing.assert_allclose(got, expected[:1], atol=1e-12)
    idle = estimator(random_state=0).partial_fit(np.vstack([X, np.repeat(X[:1], 60, axis=0)]))
    twice = idle.transform(X[:1]), idle.separate(X[:1])
    np.testing.assert_allclose(twice[0], twice[1], atol=1e-12)
    assert before.keys() == model.__getstate__()["_core"].keys()


@pytest.mark.parametrize("estimator", [NICA, OnlineWhitening])
def test_transform_before_the_warm_up_is_over(estimator):
    _, X = mixture(8, 200, 3)
    model = estimator(random_state=0).partial_fit(X[:12])
    Y = model.transform(X)
    assert np.all(np.isfinite(Y))
    assert np.any(Y)
    assert model.n_samples_seen_ == 12
    whole = estimator(random_state=0).partial_fit(X[:12]).partial_fit(X[12:])
    assert model.partial_fit(X[12:]).transform(X).tobytes() == whole.transform(X).tobytes()


# ---------------------------------------------------------------------------- what goes wrong


def rotating(n, turn, seed):
    """A mixture of two sources that turns by one radian in ``turn`` samples."""
    S = sparse_uniform(n, 2, random_state=seed)
    angle = np.arange(n) / turn
    c, s = np.cos(angle), np.sin(angle)
    return S, np.stack([c * S[:, 0] - s * S[:, 1], s * S[:, 0] + c * S[:, 1]], axis=1)


def test_half_life_follows_a_mixture_that_turns():
    S, X = rotating(40_000, 20_000, 0)
    following = NICA(half_life=2000, random_state=0).separate(X)
    assert late_error(S, following) < 0.02
    remembering = NICA(random_state=0).separate(X)
    assert late_error(S, remembering) > 3 * late_error(S, following)


def test_half_life_recovers_from_a_jump():
    S, X = mixture(9, 40_000, 3)
    X[20_000:] = X[20_000:, ::-1] * [1.0, -1.5, 0.7]
    assert late_error(S, NICA(half_life=1000, random_state=0).separate(X)) < 0.06


@pytest.mark.parametrize("size", [30, 1000])
def test_a_gain_that_jumps_is_survived(size):
    S, X = mixture(10, 20_000, 3)
    X[5000:] *= size
    assert separated(S, NICA(random_state=0).separate(X))


@pytest.mark.parametrize("where", [0, 5, 500])
def test_a_wild_sample_is_survived(where):
    S, X = mixture(11, 20_000, 5)
    X[where] *= 1e4
    assert separated(S, NICA(random_state=0).separate(X))


def test_rare_outliers_are_survived():
    S, X = mixture(12, 20_000, 3)
    rng = np.random.default_rng(0)
    rows = rng.random(len(X)) < 0.001
    X[rows] += 100 * X.std() * rng.standard_normal((rows.sum(), 3))
    Y = NICA(random_state=0).separate(X)
    assert separated(S[~rows], Y[~rows])


@pytest.mark.parametrize("where", [0, 5000])
def test_a_sensor_that_is_stuck_teaches_nothing(where):
    S, X = mixture(13, 20_000, 3)
    X[where : where + 3000] = X[where]
    Y = NICA(random_state=0).separate(X)
    assert separated(S, Y)


def test_a_stuck_sensor_changes_no_weight():
    _, X = mixture(14, 1000, 3)
    model = NICA(random_state=0).partial_fit(X).partial_fit(np.repeat(X[-1:], 60, axis=0))
    before = model._state()
    model.partial_fit(np.repeat(X[-1:], 1000, axis=0))
    after = model._state()
    for name in before.keys() - {"scalars"}:
        assert before[name].tobytes() == after[name].tobytes(), name


def test_a_lost_neuron_is_revived():
    """A neuron on the negative of a source is flipped; without flips it stays there."""
    S, X = mixture(15, 20_000, 3)
    model = NICA(random_state=0).partial_fit(X[:5000])
    state = model.__getstate__()
    state["_core"]["w_yh"][1] *= -1
    model.__setstate__(state)
    assert separated(S[5000:], model.separate(X[5000:]))
    assert model._scalars()["revived"] >= 1


@pytest.mark.parametrize("start", ["warm", "paper"])
@pytest.mark.parametrize("scale", [0.2, 4])
def test_nonwhite_input_of_the_second_layer_is_told(start, scale):
    _, X = white(16, 10_000, 3)
    with pytest.warns(ConvergenceWarning, match="NSM works on input that is not white.*nica.NICA"):
        NSM(start=start, random_state=0).partial_fit(scale * X)


@pytest.mark.parametrize("start", ["warm", "paper"])
@pytest.mark.parametrize("seed", range(4))
def test_a_silent_neuron_is_told_once(start, seed):
    """A single neuron fires for ever or never: its one weight is 1 or -1."""
    _, H = white(17, 10_000, 1)
    model = NSM(start=start, flip_silent=False, random_state=seed).partial_fit(H[:100])
    if model.w_yh_[0, 0] > 0:
        assert np.any(model.separate(H))
        return
    with pytest.warns(ConvergenceWarning, match="silent output at sample .* neuron 0") as told:
        Y = model.partial_fit(H).separate(H)
    assert not np.any(Y)
    assert len(told) == 1


def test_a_fit_that_does_not_settle_is_told():
    _, X = mixture(18, 300, 3)
    with pytest.warns(ConvergenceWarning, match="did not settle in 2 passes over 300 samples"):
        NICA(max_passes=2, tol=1e-9, random_state=0).fit(X)


def test_a_suspension_is_told():
    _, X = mixture(19, 5000, 3)
    X[-20:] *= 1000
    with pytest.warns(ConvergenceWarning, match="suspended learning"):
        NICA(random_state=0).partial_fit(X)


@pytest.mark.parametrize("make", [NICA, OnlineWhitening, NSM])
def test_good_input_gives_no_warning(make):
    """Warnings are errors here."""
    _, X = white(20, 20_000, 3)
    model = make(random_state=0)
    assert model.fit(X).partial_fit(X).n_samples_seen_ >= 40_000


@pytest.mark.parametrize("start", ["warm", "paper"])
def test_the_second_layer_separates_what_is_white(start):
    S, X = white(21, 20_000, 3)
    model = NSM(start=start, random_state=0)
    assert separated(S, model.separate(X))
    assert np.array_equal(model._state()["gain"].ravel(), np.ones(3))


def test_a_burst_does_not_change_the_scale_of_the_second_layer():
    """Its input is white by contract: no gain is its own, before or after a restart."""
    S, X = white(22, 20_000, 3)
    X[3000:3040] *= 100
    model = NSM(random_state=0)
    assert separated(S, model.separate(X))


def test_views_are_read_only():
    _, X = white(23, 200, 3)
    model = NICA(random_state=0).partial_fit(X)
    for name in ("w_hx_", "w_hg_", "w_yh_", "w_yy_", "activity_"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(model, name)[...] = 0
    assert not np.any(np.diag(model.w_yy_))
    assert model.n_samples_seen_ == 200


def slow_world(seed, n=20_000):
    """Sources that are on and off for hundreds of samples, in four noisy channels."""
    rng = np.random.default_rng(seed)
    S = np.column_stack([np.repeat(rng.random(n // 100 * 2) < 0.3, 50)[:n] for _ in range(3)])
    A = mixing(4, 3, condition=3, random_state=rng)
    return 100 * S @ A.T + rng.normal(0, 0.5, (n, 4))


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_world_is_soon_seen_whole(seed):
    """A start that sees one state of the world only is followed by one that sees more."""
    X = slow_world(seed)
    model = OnlineWhitening(3, random_state=0).partial_fit(X)
    assert model._starts <= 8
    assert np.cov(model.whitening_ @ X.T) == pytest.approx(np.eye(3), abs=0.1)


@pytest.mark.parametrize("network", [NICA, OnlineWhitening, OnlineFastICA, LinskerICA])
def test_threads_may_share_a_model_to_transform(network):
    """As a server would: each has small inputs of its own, and learns nothing."""
    _, X = mixture(0, 12_000, 5)
    model = network(random_state=0).partial_fit(X)
    parts = [X[i : i + 1500] for i in range(0, len(X), 1500)]
    alone = [model.transform(part).tobytes() for part in parts]
    with ThreadPoolExecutor(len(parts)) as pool:
        for _ in range(20):
            together = pool.map(model.transform, parts)
            assert [Y.tobytes() for Y in together] == alone
