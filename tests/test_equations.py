"""Identities of the equations: what each function must satisfy, whatever its arguments."""

import numpy as np
import pytest
from helpers import mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from nica import equations as eq
from nica.datasets import make_mixture
from nica.equations import network
from nica.equations.warmup import channel_gain, clean, warm_start_rank

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 5)


@st.composite
def layers(draw):
    """Weights of layer 1 of any size, and alpha."""
    rng = np.random.default_rng(draw(seeds))
    k, d = draw(sizes), draw(sizes)
    alpha = draw(st.sampled_from([0.0, 0.1, 1.0]))
    l = d + (draw(st.integers(0, 2)) if alpha else 0)
    m = d + draw(st.integers(0, 2))
    W_hg = network.orthonormal(l, m, rng) * rng.uniform(0.5, 2)
    if not alpha:
        W_hg = W_hg + 0.1 * rng.standard_normal(W_hg.shape)
    return rng, rng.standard_normal((l, k)), W_hg, alpha


def lateral(rng, d):
    """A W_yy as learning makes it: symmetric but for a scaling of the rows, zero on the diagonal."""
    Y = np.abs(rng.standard_normal((d, 3 * d)))
    C = Y @ Y.T
    W_yy = C / np.diag(C)[:, None]
    np.fill_diagonal(W_yy, 0)
    return W_yy


# ------------------------------------------------------------------------------------ layer 1


@given(layers())
def test_the_fixed_point_is_where_the_dynamics_rest(layer):
    rng, W_hx, W_hg, alpha = layer
    x = rng.standard_normal(W_hx.shape[1])
    h, g = eq.prewhitening_fixed_point(x, W_hx, W_hg, alpha)
    np.testing.assert_allclose(W_hx @ x - W_hg @ g - alpha * h, 0, atol=1e-8)
    np.testing.assert_allclose(g, W_hg.T @ h)
    np.testing.assert_allclose(h, eq.prewhitening_matrix(W_hx, W_hg, alpha) @ x, atol=1e-8)


@settings(max_examples=30)
@given(layers())
def test_the_dynamics_end_in_the_fixed_point(layer):
    rng, W_hx, W_hg, alpha = layer
    W_hg = network.orthonormal(*W_hg.shape, rng)
    x = rng.standard_normal(W_hx.shape[1])
    expected = eq.prewhitening_fixed_point(x, W_hx, W_hg, alpha)
    got = eq.prewhitening_dynamics(x, W_hx, W_hg, alpha, tol=1e-12)
    np.testing.assert_allclose(got[0], expected[0], atol=1e-9)
    np.testing.assert_allclose(got[1], expected[1], atol=1e-9)


def test_dynamics_of_nothing_end_at_once():
    h, g = eq.prewhitening_dynamics(np.zeros(2), np.eye(2), np.eye(2), max_steps=1)
    assert not h.any()
    assert not g.any()


@given(seeds, sizes, st.integers(1, 50))
def test_running_mean_is_the_mean(seed, k, n):
    X = np.random.default_rng(seed).standard_normal((n, k))
    mean = np.zeros(k)
    for t, x in enumerate(X, start=1):
        mean = eq.running_mean(mean, x, t)
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-12)


@given(st.floats(0, 1), st.integers(1, 1000))
def test_a_mean_that_forgets_keeps_a_constant(minimum, t):
    assert eq.running_mean(np.array([3.0]), np.array([3.0]), t, minimum) == 3
    assert eq.running_mean(np.array([0.0]), np.array([1.0]), t, minimum) >= minimum


@given(st.floats(0, 100), st.floats(0.1, 2), st.integers(1, 1000), st.floats(0, 1))
def test_time_rate_falls_to_its_floor(a, b, t, minimum):
    rate = eq.time_rate(t, a, b, minimum)
    assert rate >= eq.time_rate(t + 1, a, b, minimum) >= minimum
    assert rate in (minimum, pytest.approx(1 / (a + b * t)))


@given(layers())
def test_whitening_stands_still_where_its_input_is_white(layer):
    """Theorem 1: at W_hx = <h x>, W_hg = <h g>, h white, the expected update is zero."""
    rng, _, _, _ = layer
    d = int(rng.integers(1, 5))
    X = rng.standard_normal((d, 50)) * rng.uniform(0.5, 2, (d, 1))
    X -= X.mean(axis=1, keepdims=True)
    U, s, Vt = np.linalg.svd(X @ X.T / 50)
    root = U * np.sqrt(s) @ Vt
    W_hx, W_hg = root, root
    H = eq.prewhitening_matrix(W_hx, W_hg) @ X
    np.testing.assert_allclose(H @ H.T / 50, np.eye(d), atol=1e-8)
    total = [np.zeros((d, d)), np.zeros((d, d))]
    for x, h in zip(X.T, H.T, strict=True):
        new = eq.update_whitening_weights(W_hx, W_hg, x, h, W_hg.T @ h, 1.0)
        total = [total[0] + new[0] - W_hx, total[1] + new[1] - W_hg]
    np.testing.assert_allclose(total[0], 0, atol=1e-7)
    np.testing.assert_allclose(total[1], 0, atol=1e-7)


# ------------------------------------------------------------------------------------ layer 2


@given(seeds, st.integers(1, 8))
def test_outputs_solve_the_complementarity_problem(seed, d):
    """Nothing that fires could fire more; nothing silent would fire."""
    rng = np.random.default_rng(seed)
    W_yh, W_yy, h = rng.standard_normal((d, d)), lateral(rng, d), rng.standard_normal(d)
    y = eq.nsm_fixed_point(h, W_yh, W_yy, tol=1e-13)
    net = W_yh @ h - W_yy @ y
    assert np.all(y >= 0)
    np.testing.assert_allclose(y, np.maximum(net, 0), atol=1e-9)


@given(seeds, st.integers(1, 5), st.floats(1e-3, 1e3))
def test_outputs_scale_with_the_input(seed, d, c):
    rng = np.random.default_rng(seed)
    W_yh, W_yy, h = rng.standard_normal((d, d)), lateral(rng, d), rng.standard_normal(d)
    y = eq.nsm_fixed_point(h, W_yh, W_yy, tol=1e-15)
    np.testing.assert_allclose(
        eq.nsm_fixed_point(c * h, W_yh, W_yy, tol=1e-15), c * y, atol=1e-9 * c
    )


@given(seeds, sizes, st.floats(0.1, 50), st.floats(0.01, 1))
def test_no_sample_outweighs_the_past_but_with_the_printed_minimum_it_does(seed, d, floor, forget):
    """The erratum of eq. activitydep: y²/D <= 1 with max, and anything with min."""
    rng = np.random.default_rng(seed)
    D, y = floor * rng.uniform(1, 3, d), 3 * rng.standard_normal(d)
    new = eq.activity(D, y, floor, forget)
    assert np.all(new >= floor)
    assert np.all(y**2 <= new)
    loud = np.full(d, np.sqrt(2 * floor))
    assert np.all(loud**2 / eq.activity_as_printed(D, loud, floor, forget) >= 2 - 1e-9)


def test_a_neuron_silent_for_ever_keeps_a_rate():
    D = np.array([10.0])
    for _ in range(4000):
        D = eq.activity(D, np.zeros(1), 10.0, 0.8)
    assert D == 10


@settings(max_examples=30)
@given(seeds, sizes, sizes)
def test_weights_become_the_averages_of_the_paper(seed, d, k):
    """floor=0, forgetting=1 is eq. fullNSMW: W_yh = sum y h / sum y², W_yy likewise."""
    rng = np.random.default_rng(seed)
    H, Y = rng.standard_normal((40, k)), rng.exponential(size=(40, d))
    W_yh, W_yy, D = np.zeros((d, k)), np.zeros((d, d)), np.zeros(d)
    for h, y in zip(H, Y, strict=True):
        D = eq.activity(D, y, 0.0, 1.0)
        W_yh, W_yy = eq.update_nsm_weights(W_yh, W_yy, y, h, D)
    power = np.sum(Y**2, axis=0)[:, None]
    np.testing.assert_allclose(D, power.ravel())
    np.testing.assert_allclose(W_yh, Y.T @ H / power, atol=1e-10)
    expected = Y.T @ Y / power
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(W_yy, expected, atol=1e-10)


@given(seeds, sizes)
def test_flipping_twice_is_nothing_and_spares_those_that_fired(seed, d):
    rng = np.random.default_rng(seed)
    W, fired = rng.standard_normal((d, 3)), rng.random(d) < 0.5
    once = eq.flip_silent(W, fired)
    assert np.array_equal(once[fired], W[fired])
    assert np.array_equal(once[~fired], -W[~fired])
    assert np.array_equal(eq.flip_silent(once, fired), W)


@given(seeds, sizes, st.integers(2, 20), st.floats(1e-4, 1e-2))
def test_projected_gradient_descends(seed, d, T, rate):
    """On |HᵀH - YᵀY|², of which it is the gradient, and the solution is its fixed point."""
    rng = np.random.default_rng(seed)
    H, Y = rng.random((d, T)), rng.random((d, T))

    def cost(Y):
        return np.sum((H.T @ H - Y.T @ Y) ** 2)

    new = eq.projected_gradient(Y, H, rate / (1 + np.sum(H**2) + np.sum(Y**2)))
    assert np.all(new >= 0)
    assert cost(new) <= cost(Y) * (1 + 1e-12)
    np.testing.assert_allclose(eq.projected_gradient(H, H, rate), H, atol=1e-12)


# --------------------------------------------------------------------------------- the network


@given(seeds, sizes, sizes)
def test_random_weights_are_orthonormal(seed, rows, columns):
    W = network.orthonormal(rows, columns, np.random.default_rng(seed))
    gram = W @ W.T if rows <= columns else W.T @ W
    assert W.shape == (rows, columns)
    np.testing.assert_allclose(gram, np.eye(min(rows, columns)), atol=1e-12)


@given(seeds, sizes)
def test_unmixing_is_the_network_where_nothing_is_cut_off(seed, d):
    rng = np.random.default_rng(seed)
    W_yh, W_yy, F = rng.standard_normal((d, d)), lateral(rng, d), rng.standard_normal((d, d + 1))
    U = eq.unmixing(W_yh, W_yy, F)
    x = np.linalg.pinv(U) @ rng.exponential(size=d)
    if np.linalg.cond(U) < 1e4:
        y = eq.nsm_fixed_point(F @ x, W_yh, W_yy, tol=1e-14)
        np.testing.assert_allclose(y, U @ x, rtol=1e-4, atol=1e-6)
    assert U.shape == (d, d + 1)


def test_a_step_leaves_the_old_state_alone():
    state = eq.paper_start(3, 3, 3, 3, np.random.default_rng(0))
    before = [np.copy(v) for v in vars(state).values()]
    _, new = eq.paper_step(state, np.ones(3))
    assert all(np.array_equal(a, b) for a, b in zip(before, vars(state).values(), strict=True))
    assert new.t == 1


def largest_weight(seed):
    """After a run on the sources of Fig. 3B; infinite if it outgrew all bounds."""
    X = make_mixture(n_samples=6000, random_state=seed).X
    state = eq.paper_start(3, 3, 3, 3, np.random.default_rng(seed))
    for x in X[:1900]:
        _, state = eq.paper_step(state, x, tol=1e-8, max_sweeps=50)
        if not np.max(np.abs(state.W_yh)) < 1e3:
            return np.inf
    return np.max(np.abs(state.W_yh))


@pytest.mark.parametrize("seed", [2, 23, 26])
def test_the_printed_minimum_diverges_where_the_maximum_does_not(seed, monkeypatch):
    """The erratum of eq. activitydep in section 4.1's setting: d = 3, the paper's own parameters."""
    assert largest_weight(seed) < 5
    monkeypatch.setattr(network, "activity", eq.activity_as_printed)
    assert largest_weight(seed) == np.inf


# ------------------------------------------------------------------------- the warm start's rules


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_an_outlier_teaches_less_the_farther_it_is(a, b):
    near, far = sorted((a, b))
    weights = eq.outlier_weight(near), eq.outlier_weight(far)
    assert 1 >= weights[0] >= weights[1] > 0
    taught = weights[0] * near**2, weights[1] * far**2
    if near > 10:
        assert taught[0] >= taught[1] * (1 - 1e-9)


@given(seeds, sizes, st.integers(0, 3), st.integers(-40, 40))
def test_the_warm_start_does_not_know_the_unit(seed, d, more, power):
    _, X = mixture(seed, 60, d, d + more)
    one = eq.warm_start(X, d, d, d, 0.0, np.random.default_rng(seed))
    other = eq.warm_start(2.0**power * X, d, d, d, 0.0, np.random.default_rng(seed))
    assert np.array_equal(other[0], one[0] / 2.0**power)
    assert all(np.array_equal(a, b) for a, b in zip(one[1:], other[1:], strict=True))


@given(seeds, sizes, st.integers(0, 3))
def test_the_warm_start_whitens_what_it_holds(seed, d, more):
    _, X = mixture(seed, 80, d, d + more)
    gain, x_bar, W_hx, W_hg = eq.warm_start(X, d, d, d, 0.0, np.random.default_rng(seed))
    R = clean(X) * gain
    H = R @ eq.prewhitening_matrix(W_hx, W_hg).T
    np.testing.assert_allclose(np.cov(H.T, bias=True).reshape(d, d), np.eye(d), atol=1e-6)
    np.testing.assert_allclose(x_bar, R.mean(axis=0), atol=1e-12)


@given(seeds, sizes, st.integers(1, 3))
def test_the_rank_of_what_is_held(seed, d, more):
    assert warm_start_rank(mixture(seed, 80, d, d + more)[1]) == d
    assert warm_start_rank(np.ones((5, d))) == 0


@given(seeds, sizes, st.integers(0, 2), st.floats(20, 1e8))
def test_accidents_are_left_out_of_the_warm_start(seed, k, accidents, size):
    X = np.random.default_rng(seed).uniform(1, 2, (60, k))
    dirty = X.copy()
    dirty[:accidents] *= size
    centre, spread = np.median(dirty, axis=0), np.sort(np.abs(X - np.median(dirty, axis=0)), 0)[-1]
    cleaned = clean(dirty)
    assert np.all(np.abs(cleaned - centre) <= 2 * spread + 1e-12)
    assert np.all(channel_gain(cleaned, k) > 0.4)
