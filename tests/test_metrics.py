"""Identities of the measures: a permuted, scaled or mixed truth must be recognised as such."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from nica.metrics import (
    align_weights,
    amari_distance,
    match_sources,
    online_error,
    separation_floor,
    weight_error,
)

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 6)


def sources(rng, n_samples, d):
    """Zero with probability one half, else uniform: unit variance, as in section 4.1."""
    S = rng.uniform(0, np.sqrt(48 / 5), (n_samples, d))
    return np.where(rng.random(S.shape) < 0.5, S, 0.0)


@given(seeds, sizes)
def test_a_permutation_is_found_and_leaves_no_error(seed, d):
    rng = np.random.default_rng(seed)
    S = rng.random((20, d))
    order = rng.permutation(d)
    match = match_sources(S, S[:, order])
    assert np.array_equal(order[match.permutation], np.arange(d))
    assert match.error == 0
    assert np.array_equal(match.scale, np.ones(d))
    np.testing.assert_allclose(match.correlation, 1)


@given(seeds, st.integers(1, 5))
def test_no_other_permutation_is_better(seed, d):
    rng = np.random.default_rng(seed)
    S, Y = rng.random((2, 15, d))
    best = min(
        np.mean(np.sum((S - Y[:, p]) ** 2, axis=1)) for p in itertools.permutations(range(d))
    )
    match = match_sources(S, Y)
    assert match.error == pytest.approx(best, rel=1e-12)
    assert match.error == pytest.approx(match.errors.sum())
    assert np.mean(np.sum((S - Y[:, match.permutation]) ** 2, axis=1)) == pytest.approx(match.error)


@given(seeds, sizes)
def test_scale_undoes_any_factor_of_either_sign(seed, d):
    rng = np.random.default_rng(seed)
    S = rng.random((20, d))
    order = rng.permutation(d)
    factor = rng.choice([-1, 1], d) * rng.uniform(0.1, 10, d)
    match = match_sources(S, S[:, order] / factor, scale=True)
    assert np.array_equal(order[match.permutation], np.arange(d))
    np.testing.assert_allclose(match.scale, factor[match.permutation], rtol=1e-10)
    assert match.error < 1e-24


@given(seeds, sizes)
def test_scaling_never_makes_the_error_larger(seed, d):
    S, Y = np.random.default_rng(seed).random((2, 15, d))
    assert match_sources(S, Y, scale=True).error <= match_sources(S, Y).error + 1e-12


@given(seeds, sizes, st.integers(1, 3))
def test_outputs_that_match_nothing_are_left_out(seed, d, extra):
    rng = np.random.default_rng(seed)
    S = 1 + rng.random((20, d))
    Y = np.hstack([S, rng.random((20, extra)) - 1])
    match = match_sources(S, Y)
    assert np.array_equal(match.permutation, np.arange(d))
    assert match.error == 0


def test_a_silent_output_has_no_correlation_and_no_scale():
    S = np.random.default_rng(0).random((20, 2))
    Y = np.column_stack([np.zeros(20), S[:, 0]])
    for scale in (False, True):
        match = match_sources(S, Y, scale=scale)
        assert match.permutation.tolist() == [1, 0]
        assert match.correlation[0] == pytest.approx(1)
        assert match.correlation[1] == 0
        assert match.errors[1] == pytest.approx(np.mean(S[:, 1] ** 2))


@given(seeds, sizes, st.integers(1, 40))
def test_online_error_is_the_mean_error_of_every_prefix(seed, d, n_samples):
    S, Y = np.random.default_rng(seed).random((2, n_samples, d))
    error = online_error(S, Y)
    match = match_sources(S, Y)
    squared = np.sum((S - Y[:, match.permutation]) ** 2, axis=1)
    expected = [squared[:t].mean() for t in range(1, n_samples + 1)]
    np.testing.assert_allclose(error, expected, rtol=1e-12)
    assert error[-1] == pytest.approx(match.error)


def test_online_error_of_silence_is_the_power_of_the_sources():
    """Outputting 0 gives 1.6 for each source of section 4.1: 4.8 at d = 3, 16 at d = 10."""
    for d, power in ((3, 4.8), (10, 16.0)):
        S = sources(np.random.default_rng(d), 100_000, d)
        assert online_error(S, np.zeros_like(S))[-1] == pytest.approx(power, rel=0.02)


@given(seeds, sizes, sizes)
def test_aligned_weights_are_those_of_the_relabelled_outputs(seed, d, n_whitened):
    rng = np.random.default_rng(seed)
    Y, H = rng.random((30, d)), rng.random((30, n_whitened))
    order = rng.permutation(d)

    def hebbian(outputs):
        w_yy = outputs.T @ outputs
        return outputs.T @ H, w_yy - np.diag(np.diag(w_yy))

    for got, expected in zip(align_weights(*hebbian(Y), order), hebbian(Y[:, order]), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@given(seeds, st.floats(-3, 3))
def test_weight_error_is_the_square_of_a_relative_change(seed, factor):
    W = np.random.default_rng(seed).random((3, 4)) + 0.1
    assert weight_error((1 + factor) * W, W) == pytest.approx(factor**2, abs=1e-14)
    assert weight_error(W, W) == 0


@given(seeds, sizes, st.integers(0, 3))
def test_amari_distance_of_a_scaled_permutation_is_zero(seed, d, more_channels):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d + more_channels, d))
    U = np.linalg.pinv(A)[rng.permutation(d)] * rng.uniform(0.1, 10, (d, 1))
    assert amari_distance(U, A) == pytest.approx(0, abs=1e-6)


@given(seeds, st.integers(2, 6))
def test_amari_distance_stays_in_its_bounds(seed, d):
    U, A = np.random.default_rng(seed).standard_normal((2, d, d))
    assert 0 <= amari_distance(U, A) <= 1
    assert amari_distance(np.ones((d, d)), np.eye(d)) == pytest.approx(1)
    assert amari_distance(np.zeros((d, d)), np.eye(d)) == pytest.approx(1)


def test_amari_distance_of_one_source_is_zero():
    assert amari_distance([[2.0]], [[3.0]]) == 0


@given(seeds, st.integers(1, 5))
def test_floor_does_not_depend_on_a_noiseless_mixing(seed, d):
    rng = np.random.default_rng(seed)
    S = sources(rng, 500, d)
    A = ortho_group.rvs(d + 2, random_state=rng)[:, :d] if d > 1 else np.ones((3, 1))
    A = A * rng.uniform(0.1, 10, d)
    assert separation_floor(S, S @ A.T) == pytest.approx(separation_floor(S), rel=1e-6)


@given(seeds, st.integers(1, 4))
def test_no_rotation_goes_below_the_floor(seed, d):
    rng = np.random.default_rng(seed)
    S = sources(rng, 300, d)
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(S.T, bias=True)))
    H = S @ (vectors / np.sqrt(values))
    left, _, right = np.linalg.svd(rng.standard_normal((d, d)))
    error = np.mean(np.sum((S - H @ (left @ right)) ** 2, axis=1))
    assert separation_floor(S, last=1) <= error + 1e-12


def test_floor_is_what_the_sample_covariance_costs():
    """Means of 20 other runs at T = 1e5 (uniform sources of section 4.1)."""
    for d, expected in ((3, 3.4e-5), (10, 3.1e-4)):
        floors = [separation_floor(sources(np.random.default_rng(i), 100_000, d)) for i in range(6)]
        assert np.mean(floors) == pytest.approx(expected, rel=0.25)


def test_floor_counts_noise():
    rng = np.random.default_rng(0)
    S = sources(rng, 5000, 3)
    X = S @ rng.standard_normal((10, 3)).T
    floors = [separation_floor(S, X + sd * rng.standard_normal(X.shape)) for sd in (0.0, 0.1, 0.3)]
    assert floors[0] < floors[1] < floors[2]


@pytest.mark.parametrize("function", [match_sources, online_error])
def test_bad_sources_and_outputs_are_refused(function):
    S = np.ones((4, 2))
    with pytest.raises(ValueError, match="S has 4 samples but Y has 3"):
        function(S, S[:3])
    with pytest.raises(ValueError, match="Y has 1 outputs for 2 sources"):
        function(S, S[:, :1])
    with pytest.raises(ValueError, match="Input Y contains NaN"):
        function(S, np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match="Input S contains infinity"):
        function(np.full((4, 2), np.inf), S)


def test_bad_weights_are_refused():
    with pytest.raises(ValueError, match=r"W has shape \(2, 2\) but W_theory has \(3, 3\)"):
        weight_error(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="zero everywhere"):
        weight_error(np.eye(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="w_yh has 2 rows"):
        align_weights(np.eye(2), np.eye(3), [0, 1])
    with pytest.raises(ValueError, match=r"each of 0..1 once"):
        align_weights(np.eye(2), np.eye(2), [0, 0])
    with pytest.raises(ValueError, match=r"mixing must have \(3, 2\)"):
        amari_distance(np.ones((2, 3)), np.ones((2, 3)))


def test_bad_floors_are_refused():
    S = sources(np.random.default_rng(0), 50, 3)
    with pytest.raises(ValueError, match="X has 10 samples but S has 50"):
        separation_floor(S, S[:10])
    with pytest.raises(ValueError, match="last=0 "):
        separation_floor(S, last=0)
    with pytest.raises(ValueError, match="fewer than 3 directions"):
        separation_floor(S, S[:, :2])
    with pytest.raises(ValueError, match="fewer than 3 directions"):
        separation_floor(S, S[:, [0, 1, 1]])
