"""Batch solver of FacetNICA: sources that are correlated, noisy, offset or sum to one."""

import numpy as np
import pytest

from nica.batch import ArraySource, ChunkSource
from nica.facets import solve, trust
from nica.facets._compare import agreement
from nica.metrics import match_sources


def correlated(n, d, rng):
    """Active together, and silent now and then."""
    common = rng.normal(size=(n, 1))
    return np.maximum(0.8 * common + 0.6 * rng.normal(size=(n, d)), 0)


def mixed(S, k, rng, noise=0.0):
    d = S.shape[1]
    U, _, V = np.linalg.svd(rng.normal(size=(k, d)), full_matrices=False)
    X = (S / S.std(axis=0)) @ (U @ np.diag(np.linspace(1, 0.3, d)) @ V).T
    return X + noise * X.std() * rng.normal(size=X.shape)


def separated(X, d, **options):
    solution = solve(ArraySource(X, 1), d, **options)
    return np.maximum(X @ solution.unmixing.T + solution.intercept, 0), solution


def worst(S, Y):
    return float(match_sources(S, Y, scale=True).correlation.min())


@pytest.mark.parametrize(("d", "k"), [(3, 3), (5, 8), (10, 10)])
def test_correlated_sources_with_zeros_are_found_exactly(d, k):
    rng = np.random.default_rng(d)
    S = correlated(4000, d, rng)
    Y, solution = separated(mixed(S, k, rng), d)
    errors = match_sources(S, Y, scale=True).errors
    assert np.all(errors <= 1e-14 * np.var(S, axis=0))
    assert np.all(solution.identified)


def test_noise_outliers_and_offsets_do_no_harm():
    rng = np.random.default_rng(0)
    S = correlated(4000, 4, rng)
    X = mixed(S, 8, rng, noise=0.05)
    assert worst(S, separated(X, 4)[0]) > 0.97
    far = X.copy()
    hit = rng.random(len(X)) < 0.05
    far[hit] += 10 * X.std() * rng.normal(size=(hit.sum(), 8))
    Y, _ = separated(far, 4)
    assert worst(S[~hit], Y[~hit]) > 0.97
    Y, solution = separated(X + X.std() * rng.normal(size=8), 4, offset=True)
    assert worst(S, Y) > 0.97
    assert np.any(solution.intercept != 0)


def test_sources_that_sum_to_one():
    rng = np.random.default_rng(1)
    S = rng.dirichlet(np.full(4, 0.5), 4000)
    X = mixed(S, 6, rng, noise=0.02)
    Y, solution = separated(X, 4, sum_to_one=True)
    assert worst(S, Y) > 0.99
    np.testing.assert_allclose(Y @ solution.mixing.T, X, atol=0.5 * X.std())
    assert worst(S, separated(X, 4)[0]) > 0.99


def test_the_unit_of_the_input_and_the_cut_of_the_samples_do_not_matter():
    rng = np.random.default_rng(2)
    X = mixed(correlated(3000, 3, rng), 5, rng, noise=0.02)
    one = solve(ArraySource(X, 1), 3, seed=5)
    large = solve(ArraySource(X * 2.0**30, 2), 3, seed=5, threads=2)
    np.testing.assert_array_equal(large.unmixing * 2.0**30, one.unmixing)
    cut = solve(ChunkSource([X[:100], X[100:2999], X[2999:]], 1), 3, seed=5)
    np.testing.assert_allclose(cut.unmixing, one.unmixing, rtol=1e-6)


def test_all_samples_count_when_there_are_more_than_the_starts_look_at():
    rng = np.random.default_rng(3)
    S = correlated(60_000, 3, rng)
    X = mixed(S, 3, rng, noise=0.02)
    told = []
    _, solution = separated(X, 3, report=told.append)
    assert solution.n_passes > 1
    assert solution.change <= 1e-6
    assert any("pass 2" in line for line in told)
    B = solution.unmixing @ np.linalg.lstsq(S, X, rcond=None)[0].T
    off = np.abs(B) / np.abs(B).max(axis=1, keepdims=True)
    assert np.sort(off, axis=1)[:, -2].max() < 0.02  # what 20,000 samples leave is .03


def test_mixing_is_the_inverse_of_unmixing():
    rng = np.random.default_rng(4)
    X = mixed(correlated(2000, 3, rng), 6, rng, noise=0.01)
    _, solution = separated(X, 3)
    np.testing.assert_allclose(solution.unmixing @ solution.mixing, np.eye(3), atol=1e-9)


def test_fits_of_parts_tell_a_good_solution_from_a_bad_one():
    rng = np.random.default_rng(5)
    good = mixed(correlated(4000, 3, rng), 6, rng, noise=0.02)
    said = trust(good, solve(ArraySource(good, 1), 3))
    assert said.fits.min() > 0.97
    assert said.unexplained.max() < 0.1
    np.testing.assert_allclose(said.noise, said.expected, rtol=0.5)
    bad = mixed(5 + rng.normal(size=(4000, 3)), 6, rng, noise=0.1)  # never near zero
    said = trust(bad, solve(ArraySource(bad, 1), 3))
    assert said.fits.min() < 0.9
    assert said.noise.max() > 0.3


def test_rows_without_samples_near_their_facet_are_not_identified():
    rng = np.random.default_rng(6)
    S = correlated(2000, 3, rng)
    S[:, 0] = 2 + rng.random(2000)
    assert not np.all(separated(mixed(S, 3, rng), 3, bulk=False)[1].identified)


@pytest.mark.parametrize(
    ("X", "d", "message"),
    [
        (np.ones((50, 3)), 2, "1 distinct sample"),
        (np.outer(np.arange(1.0, 51), [1, 2, 3]), 2, "spans 1 direction only but n_components=2"),
        (np.random.default_rng(0).random((3, 4)), 4, "give at least 5"),
    ],
)
def test_too_little_to_separate_is_refused(X, d, message):
    with pytest.raises(ValueError, match=message):
        solve(ArraySource(X, 1), d)


def test_an_offset_cannot_be_told_from_sources_that_sum_to_one():
    X = np.random.default_rng(0).random((50, 3))
    with pytest.raises(ValueError, match="offset"):
        solve(ArraySource(X, 1), 3, offset=True, sum_to_one=True)


def test_agreement_forgives_order_and_sign():
    Y = np.random.default_rng(0).random((100, 3))
    np.testing.assert_allclose(agreement(Y, -Y[:, [2, 0, 1]]), 1)
