"""The number of sources: found where it can be seen, in doubt where it cannot, and used by "auto"."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nica
from nica import estimate_n_components
from nica.datasets import mixing, sparse_exponential, sparse_uniform
from nica.networks._auto import first_rows


def noisy(seed, n, d, k, noise=0.05, condition=4.0):
    rng = np.random.default_rng(seed)
    X = (
        sparse_exponential(n, d, random_state=rng)
        @ mixing(k, d, condition=condition if d > 1 else 1.0, random_state=rng).T
    )
    return X + noise * np.sqrt(np.mean(X.var(axis=0))) * rng.standard_normal((n, k))


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 6), extra=st.integers(4, 9))
def test_a_clear_number_is_found(seed, d, extra):
    rank = estimate_n_components(noisy(seed, 3000, d, d + extra, noise=0.02))
    assert rank.n_components == d or not rank.certain
    assert rank.low <= d <= rank.high


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), power=st.integers(-30, 30))
def test_units_of_the_channels_do_not_matter(seed, power):
    X = noisy(seed, 1000, 3, 8)
    scale = 2.0 ** np.random.default_rng(seed).integers(-8, 9, size=8) * 2.0**power
    one, two = estimate_n_components(X), estimate_n_components(X * scale)
    assert (one.n_components, one.certain, one.reason) == (
        two.n_components,
        two.certain,
        two.reason,
    )
    np.testing.assert_allclose(one.spectrum, two.spectrum, rtol=1e-6)


def test_unequal_noise_is_not_a_source():
    X = noisy(0, 5000, 3, 12, noise=0.0)
    rng = np.random.default_rng(1)
    X = X + 0.3 * X.std() * rng.uniform(0.1, 2, 12) * rng.standard_normal(X.shape)
    rank = estimate_n_components(X)
    assert rank.n_components == 3
    assert rank.certain


def test_without_noise_the_number_is_that_of_directions():
    rank = estimate_n_components(noisy(0, 1000, 4, 9, noise=0.0))
    assert (rank.n_components, rank.certain) == (4, True)


def test_as_many_channels_as_sources_is_never_certain():
    rank = estimate_n_components(noisy(0, 5000, 4, 4, noise=0.0))
    assert not rank.certain
    assert rank.high == 4
    assert "as many sources as channels" in rank.reason


def test_a_source_below_the_noise_is_not_certain():
    X = noisy(0, 2000, 3, 8, noise=0.0)
    rng = np.random.default_rng(2)
    weak = 0.08 * X.std() * sparse_exponential(2000, 1, random_state=rng) * rng.standard_normal(8)
    rank = estimate_n_components(X + weak + 0.3 * X.std() * rng.standard_normal(X.shape))
    assert not rank.certain or rank.n_components == 4


@pytest.mark.parametrize(
    ("X", "n"),
    [
        (np.zeros((50, 3)), 0),
        (np.ones((1, 3)), 0),
        (np.arange(20.0)[:, None], 1),
        (np.eye(4), 3),
    ],
)
def test_degenerate_samples_get_an_answer(X, n):
    assert estimate_n_components(X).n_components == n


def test_bad_input_is_refused():
    X = noisy(0, 100, 2, 4)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="sample 7"):
        estimate_n_components(X)
    with pytest.raises(ValueError, match="n_samples, n_channels"):
        estimate_n_components(X[:, 0])


@pytest.mark.parametrize("kind", [nica.NICA, nica.OnlineWhitening])
def test_auto_takes_the_estimate(kind):
    X = noisy(0, 2000, 3, 8)
    model = kind("auto", random_state=0).fit(X)
    assert model.n_components_ == estimate_n_components(X).n_components == 3
    np.testing.assert_array_equal(kind(3, random_state=0).fit(X).transform(X), model.transform(X))


@settings(max_examples=10, deadline=None)
@given(step=st.integers(1, 900))
def test_auto_does_not_depend_on_how_the_stream_is_cut(step):
    X = noisy(0, 1500, 3, 8)
    whole = nica.NICA("auto", random_state=0).separate(X)
    chunks = (X[i : i + step] for i in range(0, len(X), step))
    cut = np.concatenate(list(nica.NICA("auto", random_state=0).separate(chunks)))
    np.testing.assert_array_equal(whole, cut)


def test_auto_travels_with_the_model(tmp_path):
    X = noisy(0, 1500, 3, 8)
    model = nica.NICA("auto", random_state=0).partial_fit(X)
    model.save(tmp_path / "model")
    copy = nica.load(tmp_path / "model")
    assert copy.n_components_ == 3
    np.testing.assert_array_equal(copy.separate(X), model.separate(X))


def test_auto_says_when_it_is_not_certain():
    X = noisy(0, 1000, 3, 3, noise=0.0)
    with pytest.warns(UserWarning, match="not certain of 3: it may be 1 to 3"):
        assert nica.NICA("auto", random_state=0).fit(X).n_components_ == 3


def test_auto_refuses_a_beginning_that_is_too_short():
    X = noisy(0, 400, 3, 8)
    model = nica.NICA("auto")
    for learn in (model.partial_fit, model.separate, lambda X: model.separate_one(X[0])):
        with pytest.raises(ValueError, match=f"the first {first_rows(8)} samples"):
            learn(X)
    with pytest.raises(ValueError, match="no source"):
        model.fit(np.ones((50, 3)))


def test_auto_leaves_bad_samples_out_if_told():
    X = noisy(0, 1500, 3, 8)
    X[5, 0] = np.nan
    with pytest.raises(ValueError, match="row 5"):
        nica.NICA("auto").partial_fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nica.NICA("auto", on_bad="skip", random_state=0).partial_fit(X)
    assert (model.n_components_, model.n_bad_samples_) == (3, 1)


@pytest.mark.parametrize("n", [2_000, 10_000, 50_000])
def test_more_samples_do_not_bring_doubt(n):
    """Where sources are strong, the noise that channels leave unexplained is not all of their noise."""
    rng = np.random.default_rng(0)
    S = sparse_uniform(n, 4, random_state=rng)
    X = S @ mixing(10, 4, condition=5, random_state=rng).T + 0.1 * rng.standard_normal((n, 10))
    rank = estimate_n_components(X)
    assert (rank.n_components, rank.certain) == (4, True)
