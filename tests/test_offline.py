"""Offline separation: Theorem 2 as an identity, then recovery to the floor that whitening sets."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from nica.datasets import make_mixture, mixing, natural_scenes, sparse_uniform
from nica.metrics import match_sources, separation_floor
from nica.offline import nsm_pgd, plumbley, whiten

seeds = st.integers(0, 2**32 - 1)
METHODS = {
    "nsm_pgd": lambda H, **options: nsm_pgd(H, H.shape[1], **options),
    "plumbley": lambda H, **options: plumbley(H, **options),
}
both_methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def orthonormal(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


@given(seeds, st.integers(1, 5), st.integers(0, 3), st.integers(0, 3), st.floats(1, 1e5))
def test_whitened_covariance_has_d_ones_and_zeros(seed, d, more_channels, more, condition):
    A = mixing(d + more_channels, d, condition=condition if d > 1 else 1.0, random_state=seed)
    X = sparse_uniform(200, d, random_state=seed) @ A.T
    H, F = whiten(X, d, n_whitened=d + more)
    assert F.shape == (d + more, d + more_channels)
    np.testing.assert_allclose(H, X @ F.T)
    values = np.linalg.eigvalsh(np.atleast_2d(np.cov(H.T, bias=True)))
    np.testing.assert_allclose(values, [0.0] * more + [1.0] * d, atol=1e-9)


@given(seeds, st.integers(1, 5), st.integers(0, 3), st.integers(0, 3))
def test_theorem_2_whitening_keeps_all_inner_products(seed, d, more_channels, more):
    """For sources that are white over the samples, H^T H = S^T S: the mean is kept, l >= d."""
    S = sparse_uniform(60, d, random_state=seed)
    values, axes = np.linalg.eigh(np.atleast_2d(np.cov(S.T, bias=True)))
    S = S @ (axes / np.sqrt(values))
    A = mixing(d + more_channels, d, condition=10.0 if d > 1 else 1.0, random_state=seed)
    H, F = whiten(S @ A.T, d, n_whitened=d + more)
    np.testing.assert_allclose(H @ H.T, S @ S.T, atol=1e-9 * np.abs(S @ S.T).max())
    np.testing.assert_allclose((F @ A).T @ (F @ A), np.eye(d), atol=1e-9)


@given(seeds, st.floats(-9, 9))
def test_whitening_undoes_scale_and_drops_weak_directions(seed, exponent):
    rng = np.random.default_rng(seed)
    X = sparse_uniform(100, 3, random_state=rng) @ mixing(6, 3, random_state=rng).T
    noisy = X + 1e-9 * rng.standard_normal(X.shape)
    H = whiten(X, 3).H
    np.testing.assert_allclose(whiten(10.0**exponent * X, 3).H, H, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(whiten(noisy, 3).H, H, atol=1e-4)


@both_methods
@pytest.mark.parametrize(("kind", "d"), [("uniform", 3), ("uniform", 10), ("mixed", 5)])
def test_sources_are_recovered_to_the_floor(method, kind, d):
    A = mixing(d + 2, d, condition=10.0, random_state=1)
    data = make_mixture(kind, 3000, d, A=A, random_state=0)
    result = method(whiten(data.X, d).H, random_state=0)
    assert result.converged
    error = match_sources(data.S, np.maximum(result.Y, 0)).error
    assert error <= 1.5 * separation_floor(data.S, last=1)


@both_methods
def test_all_starts_find_the_same_minimum(method):
    data = make_mixture("uniform", 1000, 7, random_state=0)
    result = method(whiten(data.X, 7).H, n_starts=6, random_state=0)
    assert result.objectives.shape == (6,)
    assert result.objective == result.objectives.min()
    np.testing.assert_allclose(result.objectives, result.objective, rtol=0.01)


@both_methods
@given(seed=seeds, d=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_a_rotation_of_the_input_rotates_nothing_away(method, seed, d):
    """White, grounded sources are a perfect solution, found from any orthonormal mixture."""
    rng = np.random.default_rng(seed)
    corners = np.array(np.meshgrid(*[[0.0, 2.0]] * d)).reshape(d, -1).T  # exactly white
    S = np.tile(corners, (8, 1))
    result = method(S @ orthonormal(rng, d), random_state=0)
    assert match_sources(S, result.Y).error < 1e-4
    assert result.objective < 1e-5


@both_methods
def test_seeds_make_runs_repeatable(method):
    H = whiten(make_mixture("uniform", 300, random_state=0).X, 3).H
    first = method(H, n_starts=1, random_state=1)
    assert np.array_equal(first.Y, method(H, n_starts=1, random_state=1).Y)
    assert not np.array_equal(first.Y, method(H, n_starts=1, random_state=2).Y)
    generators = (np.random.default_rng(1) for _ in range(2))
    assert len({method(H, n_starts=1, random_state=g).objective for g in generators}) == 1


def test_more_whitened_channels_than_sources_change_nothing():
    data = make_mixture("uniform", 1000, random_state=0)
    narrow = nsm_pgd(whiten(data.X, 3).H, 3, random_state=0)
    wide = nsm_pgd(whiten(data.X, 3, n_whitened=5).H, 3, random_state=0)
    np.testing.assert_allclose(wide.Y, narrow.Y, atol=1e-8)


@given(seeds, st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_projected_gradient_is_that_of_the_paper(seed, n_whitened, d):
    """Three steps with T x T matrices, column vectors and the objective as eq. NSM has it."""
    rng = np.random.default_rng(seed)
    H = rng.standard_normal((12, n_whitened)) + 1
    seen = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # three steps are not meant to do it
        nsm_pgd(
            H,
            d,
            a=500.0,
            b=2.0,
            n_starts=1,
            max_iter=3,
            random_state=seed,
            callback=lambda start, t, Y, f: seen.append((start, t, Y.copy(), f)),
        )
    Y = seen[0][2].T
    scale = np.linalg.norm(H @ H.T) ** 2
    assert [(start, t) for start, t, _, _ in seen] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    for _, t, got, objective in seen:
        np.testing.assert_allclose(got.T, Y, atol=1e-12)
        assert objective == pytest.approx(np.linalg.norm(H @ H.T - Y.T @ Y) ** 2 / scale)
        Y = np.maximum(Y + (Y @ H @ H.T - Y @ Y.T @ Y) / (500 + 2 * t), 0)


def test_starts_of_projected_gradient_are_rectified_gaussians():
    H = whiten(make_mixture("uniform", 20_000, random_state=0).X, 3).H
    starts = []
    nsm_pgd(H, 3, n_starts=2, random_state=0, callback=lambda s, t, Y, f: t or starts.append(Y + 0))
    assert len(starts) == 2
    for Y in starts:
        assert Y.min() == 0
        assert np.mean(Y == 0) == pytest.approx(0.5, abs=0.01)
        assert np.mean(Y**2) == pytest.approx(0.5, rel=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 5}, "still moved after 5 iterations: raise max_iter or tol"),
        ({"a": 1.2e4}, r"fell silent: raise a, now 1.2e\+04, to 4\.\d+e\+04"),
        ({"a": 2.4e4, "max_iter": 200}, r"still moved after 200 iterations: raise a, now 2.4e\+04"),
    ],
)
def test_projected_gradient_says_when_it_did_not_work(options, message):
    """A step that is too large ends in silence or swings between two states, never in 'done'."""
    H = whiten(make_mixture("uniform", 10_000, random_state=0).X, 3).H
    with pytest.warns(ConvergenceWarning, match=message):
        result = nsm_pgd(H, 3, random_state=0, **options)
    assert not result.converged


def test_a_diverging_step_is_an_error():
    H = whiten(make_mixture("uniform", 10_000, random_state=0).X, 3).H
    with pytest.raises(
        ValueError, match=r"a=1 makes every start diverge: give at least 2\.\d+e\+04"
    ):
        nsm_pgd(H, 3, a=1.0, random_state=0)


def test_plumbley_is_orthonormal_and_counts_the_negative_part():
    H = whiten(make_mixture("uniform", 500, random_state=0).X, 3).H
    result = plumbley(H, random_state=0)
    np.testing.assert_allclose(result.Q @ result.Q.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(result.Y, H @ result.Q.T)
    negative = np.minimum(result.Y, 0)
    assert result.objective == pytest.approx(np.mean(np.sum(negative**2, axis=1)) / 2)


@given(seeds, st.integers(2, 4))
@settings(max_examples=20, deadline=None)
def test_no_small_turn_is_better(seed, d):
    rng = np.random.default_rng(seed)
    H = whiten(make_mixture("uniform", 400, d, random_state=rng).X, d).H
    Q = plumbley(H, tol=1e-9, random_state=0).Q

    def cost(rotation):
        return np.sum(np.minimum(H @ rotation.T, 0) ** 2)

    for i in range(d):
        for j in range(i):
            for angle in (-1e-3, 1e-3):
                turn = np.eye(d)
                turn[[i, j], [i, j]] = np.cos(angle)
                turn[i, j], turn[j, i] = np.sin(angle), -np.sin(angle)
                assert cost(Q) <= cost(turn @ Q) * (1 + 1e-6)


def test_plumbley_recovers_images():
    scenes = natural_scenes()
    result = plumbley(whiten(scenes.X, 4).H, random_state=0)
    assert match_sources(scenes.S, np.maximum(result.Y, 0)).correlation.min() > 0.995


def test_plumbley_says_when_it_had_too_few_iterations():
    H = whiten(make_mixture("uniform", 500, random_state=0).X, 3).H
    with pytest.warns(ConvergenceWarning, match="after 2 iterations: raise max_iter or tol"):
        result = plumbley(H, max_iter=2, random_state=0)
    assert not result.converged


X = np.random.default_rng(0).random((20, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: whiten(X, 4), ValueError, "X has 3 channels but n_components=4: give at most 3"),
        (lambda: whiten(X, 0), ValueError, "n_components=0 must be at least 1"),
        (lambda: whiten(X, 1.5), TypeError, "integer"),
        (lambda: whiten(X, 3, 2), ValueError, "n_whitened=2 is below n_components=3"),
        (lambda: whiten(X[:3], 3), ValueError, "X has 3 samples: n_components=3 needs at least 4"),
        (lambda: whiten(X[:, [0, 1, 1]], 3), ValueError, "varies in 2 directions only"),
        (lambda: whiten(np.ones((9, 2)), 1), ValueError, "varies in 0 directions only"),
        (lambda: whiten(X * np.nan, 2), ValueError, "Input X contains NaN"),
        (lambda: nsm_pgd(0 * X, 3), ValueError, "H is zero everywhere"),
        (lambda: nsm_pgd(X, 3, a=0.0), ValueError, "a=0.0 must be above 0"),
        (lambda: nsm_pgd(X, 3, b=-1.0), ValueError, "b=-1.0"),
        (lambda: nsm_pgd(X, 3, n_starts=0), ValueError, "n_starts=0 must be at least 1"),
        (lambda: nsm_pgd(X, 3, max_iter=0), ValueError, "max_iter=0 must be at least 1"),
        (lambda: nsm_pgd(X * np.inf, 3), ValueError, "Input H contains infinity"),
        (lambda: plumbley(X, tol=-1.0), ValueError, "tol=-1.0 "),
        (lambda: plumbley(X, n_starts=0), ValueError, "n_starts=0 must be at least 1"),
        (lambda: plumbley(X[0]), ValueError, "Expected 2D array"),
    ],
)
def test_bad_requests_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
