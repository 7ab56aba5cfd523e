"""Predictions against the equations that they solve, with exact moments instead of samples."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from nica.theory import (
    alpha_threshold,
    locality,
    nsm_fixed_point_rate,
    stationary_weights,
    whitening_convergence_rate,
    whitening_dynamics_eigenvalues,
)

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)


def orthonormal(rng, n, d):
    return np.linalg.qr(rng.standard_normal((n, d)))[0]


def problem(rng, d, k, n_whitened):
    """Independent sources of two values each: all joint values, their probabilities, A and F."""
    p = rng.uniform(0.1, 0.9, d)
    step = 1 / np.sqrt(p * (1 - p))  # unit variance
    low = rng.uniform(0, 1, d)
    which = np.array(list(itertools.product([0, 1], repeat=d)))
    probability = np.prod(np.where(which, p, 1 - p), axis=1)
    A = rng.standard_normal((k, d))
    F = orthonormal(rng, n_whitened, d) @ np.linalg.pinv(A)
    return low + which * step, probability, A, F


@given(seeds, sizes, st.integers(0, 3), st.integers(0, 3))
def test_stationary_weights_are_the_averages_of_the_paper(seed, d, more_channels, more_whitened):
    rng = np.random.default_rng(seed)
    S, p, A, F = problem(rng, d, d + more_channels, d + more_whitened)
    w_yh, w_yy = stationary_weights(A, F, p @ S, p @ S**2)
    H = S @ A.T @ F.T
    power = (p @ S**2)[:, None]
    np.testing.assert_allclose(w_yh, (S.T * p) @ H / power, atol=1e-8)
    expected = (S.T * p) @ S / power
    np.testing.assert_allclose(w_yy, expected - np.diag(np.diag(expected)), atol=1e-8)


@given(seeds, sizes, st.integers(0, 3), st.integers(0, 3))
def test_nica_is_a_stationary_state(seed, d, more_channels, more_whitened):
    """Section 3.2.1: the sources are the outputs, and the expected updates are zero."""
    rng = np.random.default_rng(seed)
    S, p, A, F = problem(rng, d, d + more_channels, d + more_whitened)
    w_yh, w_yy = stationary_weights(A, F, p @ S, p @ S**2)
    H = S @ A.T @ F.T
    np.testing.assert_allclose(H @ w_yh.T - S @ w_yy.T, S, atol=1e-8)
    update_yh = np.einsum("t,ti,tj->ij", p, S, H) - (p @ S**2)[:, None] * w_yh
    update_yy = np.einsum("t,ti,tj->ij", p, S, S) - (p @ S**2)[:, None] * w_yy
    np.testing.assert_allclose(update_yh, 0, atol=1e-8)
    np.testing.assert_allclose(update_yy - np.diag(np.diag(update_yy)), 0, atol=1e-8)


@given(seeds, sizes)
def test_relabelled_sources_relabel_the_weights(seed, d):
    rng = np.random.default_rng(seed)
    S, p, A, F = problem(rng, d, d, d)
    order = rng.permutation(d)
    w_yh, w_yy = stationary_weights(A, F, p @ S, p @ S**2)
    relabelled = stationary_weights(A[:, order], F, (p @ S)[order], (p @ S**2)[order])
    np.testing.assert_allclose(relabelled.w_yh, w_yh[order], atol=1e-12)
    np.testing.assert_allclose(relabelled.w_yy, w_yy[np.ix_(order, order)], atol=1e-12)


def block_matrix(W, alpha):
    n_principal, n_inter = W.shape
    return np.block([[-alpha * np.eye(n_principal), -W], [W.T, -np.eye(n_inter)]])


@given(seeds, sizes, sizes, st.integers(0, 5), st.sampled_from([0.0, 0.1, 1.0, 3.0]))
def test_eigenvalues_are_those_of_the_block_matrix(seed, n_principal, n_inter, rank, alpha):
    rng = np.random.default_rng(seed)
    rank = min(rank, n_principal, n_inter)
    W = rng.standard_normal((n_principal, rank)) @ rng.standard_normal((rank, n_inter))
    got = whitening_dynamics_eigenvalues(W, alpha)
    expected = np.linalg.eigvals(block_matrix(W, alpha))
    cost = np.abs(got[:, None] - expected)
    rows, columns = linear_sum_assignment(cost)
    # A pair that meets is a double root, which rounding moves by its square root.
    assert cost[rows, columns].max() < 1e-6
    at_rest = np.isclose(got, -1, atol=1e-7).sum() + np.isclose(got, -alpha, atol=1e-7).sum()
    assert at_rest >= (n_principal - rank) + (n_inter - rank)


@given(seeds, sizes, st.integers(0, 3), st.floats(0, 2))
def test_dynamics_settle_whenever_they_should(seed, n_principal, more, alpha):
    """Appendix A for alpha = 0 with full rank; appendix B for any weights with alpha > 0."""
    W = np.random.default_rng(seed).standard_normal((n_principal, n_principal + more))
    assert whitening_convergence_rate(W, alpha) > 0
    assert whitening_convergence_rate(np.zeros_like(W), alpha) == pytest.approx(
        min(alpha, 1), rel=1e-12, abs=1e-300
    )


def test_conditioned_weights_settle_slowly():
    """Small weights w settle at w^2; beyond (1 - alpha) / 2 nothing is gained."""
    assert whitening_convergence_rate([[1e-2]]) == pytest.approx(1e-4, rel=1e-3)
    assert whitening_convergence_rate([[1e-9]]) == pytest.approx(1e-18)
    rates = [whitening_convergence_rate([[w]], alpha=0.2) for w in (0.4, 0.5, 5.0)]
    np.testing.assert_allclose(rates, 0.6)


def second_moments(rng, d):
    S = np.maximum(rng.standard_normal((50, d)), 0) + 0.1
    return S.T @ S / 50


@given(seeds, st.integers(2, 6))
def test_sweeps_shrink_the_error_at_the_predicted_rate(seed, d):
    C = second_moments(np.random.default_rng(seed), d)
    B = C / np.diag(C)[:, None]
    W = B - np.eye(d)
    rate = nsm_fixed_point_rate(W)
    assert 0 < rate < 1

    y = np.ones(d)
    n_sweeps, size = 60, 1.0
    for _ in range(n_sweeps):
        for i in range(d):
            y[i] = -W[i] @ y
        size *= np.linalg.norm(y)
        y /= np.linalg.norm(y)
    # The n-th root of the size goes to the rate from either side, like 1 / n.
    assert np.log(size) / n_sweeps == pytest.approx(np.log(rate), abs=0.2)


@given(seeds, st.integers(1, 6))
def test_only_firing_neurons_matter(seed, d):
    rng = np.random.default_rng(seed)
    C = second_moments(rng, d)
    W = C / np.diag(C)[:, None] - np.eye(d)
    np.fill_diagonal(W, 0)
    active = rng.random(d) < 0.5
    some = W[np.ix_(active, active)]
    expected = nsm_fixed_point_rate(some) if active.any() else 0.0
    assert nsm_fixed_point_rate(W, active) == pytest.approx(expected)
    assert nsm_fixed_point_rate(W, np.ones(d, bool)) == nsm_fixed_point_rate(W)


def test_two_neurons_settle_at_the_product_of_their_weights():
    assert nsm_fixed_point_rate([[0.0, 0.3], [0.7, 0.0]]) == pytest.approx(0.21)


def test_ten_updates_suffice_for_few_sources_only():
    sweeps = []
    for d in (3, 5, 7, 10):
        mean, power = np.full(d, np.sqrt(0.6)), np.full(d, 1.6)
        w_yy = stationary_weights(np.eye(d), np.eye(d), mean, power).w_yy
        sweeps.append(np.log(1e-8) / np.log(nsm_fixed_point_rate(w_yy)))
    np.testing.assert_allclose(sweeps, [12.5, 20.1, 28.8, 44.4], atol=0.1)


@given(seeds, st.integers(1, 6), st.floats(0, 5))
def test_threshold_keeps_what_exceeds_alpha(seed, k, alpha):
    rng = np.random.default_rng(seed)
    variance = np.sort(rng.uniform(0, 5, k))[::-1]
    axes = orthonormal(rng, k, k)
    modes = alpha_threshold((axes * variance) @ axes.T, alpha)
    np.testing.assert_allclose(modes.input_variance, variance, atol=1e-12)
    assert np.array_equal(modes.output_variance, variance > alpha)
    assert modes.n_kept == np.sum(variance > alpha)


@given(seeds, st.integers(1, 6), st.floats(0.01, 5))
def test_threshold_is_the_stationary_state_of_the_first_layer(seed, k, alpha):
    """With W_HG W_GH = max(C - alpha, 0) the layer's outputs reproduce its own weights."""
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0, 10, k)
    modes = alpha_threshold(np.diag(variance), alpha)
    kept = modes.input_variance[: modes.n_kept]
    w_hg = np.sqrt(kept - alpha)  # each kept mode on its own interneuron
    w_hx = np.sqrt(kept)  # <h x> = sqrt(variance), as <h^2> = 1
    f = w_hx / (alpha + w_hg**2)
    np.testing.assert_allclose(f**2 * kept, modes.output_variance[: modes.n_kept])
    np.testing.assert_allclose(f * kept, w_hx)
    np.testing.assert_allclose(w_hg * f**2 * kept, w_hg)


def test_threshold_finds_the_number_of_sources():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 4))
    assert alpha_threshold(A @ A.T, 0).n_kept == 4
    assert alpha_threshold(A @ A.T + 0.1 * np.eye(20), 0.5).n_kept == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stationary_weights(np.eye(2), np.eye(3), [1, 1], [2, 2]), "F has 3 columns"),
        (lambda: stationary_weights(np.eye(2), np.eye(2), [1], [2, 2]), "each of 2 sources"),
        (lambda: stationary_weights(np.eye(2), np.eye(2), [1, 1], [2, np.nan]), "finite number"),
        (lambda: stationary_weights(np.eye(2), np.eye(2), [1, 1], [2, 1]), "must exceed"),
        (lambda: whitening_dynamics_eigenvalues(np.eye(2), -1), "alpha=-1 "),
        (lambda: whitening_dynamics_eigenvalues([[np.nan]]), "Input w_hg contains NaN"),
        (lambda: nsm_fixed_point_rate(np.eye(2)), "zero diagonal"),
        (lambda: nsm_fixed_point_rate(np.zeros((2, 3))), "must be square"),
        (lambda: nsm_fixed_point_rate(np.zeros((2, 2)), [0, 1]), "a bool for each of 2"),
        (lambda: alpha_threshold([[1.0, 2.0], [0.0, 1.0]], 0), "symmetric"),
        (lambda: alpha_threshold(np.ones((2, 3)), 0), "symmetric"),
        (lambda: alpha_threshold(np.diag([1.0, -1.0]), 0), "negative eigenvalue -1"),
        (lambda: alpha_threshold(np.eye(2), np.nan), "alpha=nan "),
    ],
)
def test_bad_requests_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_locality_wants_owners_that_fit():
    W, y = np.eye(2), np.ones(2)
    with pytest.raises(ValueError, match=r"owners names \['W'\], quantities \['W', 'y'\]"):
        locality(lambda W, y: W, {"W": W, "y": y}, {"W": "ij"})
    for owner in ("ij", "k", "i|k"):
        with pytest.raises(ValueError, match="does not fit an array of 1 axes"):
            locality(lambda W, y: W, {"W": W, "y": y}, {"W": "ij", "y": owner})


def test_locality_counts_synapses_and_finds_a_shared_learning_rate():
    """A rate set by the activity of all is foreign; one set by the neuron's own is not."""
    rng = np.random.default_rng(0)
    some = {"W": rng.random((3, 4)), "y": rng.random(3), "x": rng.random(4)}
    owners = {"W": "ij", "y": "i", "x": "j"}

    def own(W, y, x):
        return W + np.outer(y, x) / (1 + y**2)[:, None]

    def shared(W, y, x):
        return W + np.outer(y, x) / (1 + y @ y)

    assert locality(own, some, owners) == (True, (), 12)
    assert locality(shared, some, owners) == (False, ("y",), 12)
