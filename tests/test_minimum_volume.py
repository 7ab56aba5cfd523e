"""Minimum volume: exact where it must be, indifferent to what must not matter, clear about the rest."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from nica.datasets import mixing, natural_scenes
from nica.equations import reduction
from nica.metrics import match_sources
from nica.offline import minimum_volume, minimum_volume_nmf, soft_hinge, successive_projection

seeds = st.integers(0, 2**32 - 1)
CONES = {"soft": soft_hinge, "hard": minimum_volume}
METHODS = CONES | {"nmf": minimum_volume_nmf, "spa": successive_projection}
each_cone = pytest.mark.parametrize("method", CONES.values(), ids=CONES)
each_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def orthonormal(rng, d):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def separable(seed, n, d, *, affine=False):
    """Sources that are zero half of the time, active together, each alone at times."""
    rng = np.random.default_rng(seed)
    S = np.where(rng.random((n, d)) < 0.5, 0.0, rng.exponential(size=(n, d)))
    S[:d] = np.eye(d)
    silent = ~S.any(axis=1)
    S[silent, rng.integers(d, size=silent.sum())] = 1.0
    if affine:
        return S / S.sum(axis=1, keepdims=True)
    return S * rng.exponential(size=(n, 1))


def mixture(seed, n=600, d=3, k=None, *, affine=False, noise=0.0):
    S = separable(seed, n, d, affine=affine)
    A = mixing(k or d, d, condition=5.0 if d > 1 else 1.0, random_state=seed)
    X = S @ A.T
    return S, A, X + noise * X.std() * np.random.default_rng([seed, 1]).standard_normal(X.shape)


def alike(Y, Z, tolerance=1e-6):
    """Same columns in any order, up to a share of their size."""
    order = match_sources(Y, Z).permutation
    np.testing.assert_allclose(Z[:, order], Y, atol=tolerance * np.abs(Y).max())


# ------------------------------------------------------------------------------------- recovery


@pytest.mark.parametrize("method", [partial(soft_hinge, tau=30.0), minimum_volume], ids=CONES)
@given(seeds, st.integers(1, 6), st.integers(0, 4), st.booleans())
@settings(max_examples=20)
def test_noise_free_sources_are_recovered_exactly(method, seed, d, more, affine):
    affine = affine and d > 1
    S, A, X = mixture(seed, d=d, k=d + more, affine=affine)
    found = method(X, d, sum_to_one=affine)
    assert found.converged
    scale = 1.0 if affine else S.mean(axis=0)
    order = match_sources(S / scale, found.Y).permutation
    np.testing.assert_allclose(found.Y[:, order], S / scale, atol=1e-8 * np.max(S / scale))
    np.testing.assert_allclose(found.mixing[:, order], A * scale, atol=1e-7 * np.abs(A).max())
    linear = X @ found.unmixing.T + found.intercept
    np.testing.assert_array_equal(np.maximum(linear, 0.0), found.Y)


@given(seeds, st.integers(2, 6), st.integers(0, 4))
def test_successive_projection_finds_a_simplex_whose_corners_are_there(seed, d, more):
    S, A, X = mixture(seed, d=d, k=d + more, affine=True)
    found = successive_projection(X, d, sum_to_one=True, near=0.0)
    order = match_sources(S, found.Y).permutation
    np.testing.assert_allclose(found.Y[:, order], S, atol=1e-8)
    np.testing.assert_allclose(found.mixing[:, order], A, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_nmf_recovers_sources_but_for_its_penalty(d):
    S, _, X = mixture(d, 2000, d, d + 2)
    found = minimum_volume_nmf(X, d)
    assert found.converged
    match = match_sources(S, found.Y, scale=True)
    assert match.correlation.min() > 0.9995
    assert np.linalg.norm(X - found.Y @ found.mixing.T) < 1e-2 * np.linalg.norm(X)
    np.testing.assert_allclose(found.unmixing @ found.mixing, np.eye(d), atol=1e-9)
    np.testing.assert_allclose(found.Y.mean(axis=0), 1.0)
    finer = minimum_volume_nmf(X, d, penalty=1e-7, tol=1e-5)
    assert match_sources(S, finer.Y, scale=True).error < match.error / 10


def test_hard_and_soft_agree_where_facets_are_populated_and_clean():
    for affine in (False, True):
        _, _, X = mixture(3, 2000, 4, 6, affine=affine)
        alike(
            soft_hinge(X, 4, sum_to_one=affine).Y, minimum_volume(X, 4, sum_to_one=affine).Y, 1e-8
        )


def test_dense_images_need_the_hard_cone():
    S = natural_scenes().S[:, :3]
    X = S @ mixing(3, condition=5.0, random_state=0).T
    hard, soft = minimum_volume(X, 3), soft_hinge(X, 3)
    assert hard.converged
    assert match_sources(S, hard.Y, scale=True).correlation.min() > 0.98
    assert match_sources(S, soft.Y, scale=True).correlation.min() < 0.9


@pytest.mark.parametrize("d", [3, 6])
def test_noisy_correlated_sources_as_well_as_with_the_true_mixing(d):
    S, A, X = mixture(d, 4000, d, d + 3, noise=0.05)
    best = match_sources(S, X @ np.linalg.pinv(A).T, scale=True).correlation.min()
    for method in (soft_hinge, minimum_volume_nmf):
        assert match_sources(S, method(X, d).Y, scale=True).correlation.min() > best - 0.03


@pytest.mark.parametrize("affine", [False, True])
def test_no_facet_of_the_hard_cone_can_be_better_alone(affine):
    """With all others as they are, the volume is a linear function of a facet: a linear program."""
    rng = np.random.default_rng(2)
    S = rng.dirichlet(np.ones(4), 1000) if affine else rng.exponential(size=(1000, 4))
    X = S @ rng.normal(size=(5, 4)).T
    way = reduction(X, 4)
    Z = X @ way.F.T
    found = minimum_volume(X, 4, sum_to_one=affine)
    B = found.unmixing @ way.G
    if affine:  # only that all outputs are one on average makes facets independent
        assert found.Y.sum(axis=1) == pytest.approx(1.0)
        return
    for cofactors in np.linalg.inv(B).T:
        best = linprog(
            -cofactors, A_ub=-Z, b_ub=np.zeros(len(Z)), A_eq=Z.mean(axis=0)[None], b_eq=[1.0],
            bounds=(None, None),
        )  # fmt: skip
        assert -best.fun == pytest.approx(1.0, abs=1e-6)
    assert (X @ found.unmixing.T).min() > -1e-7


@pytest.mark.parametrize("dense", [False, True])
def test_many_samples_are_held_though_only_some_are_looked_at(dense):
    rng = np.random.default_rng(5)
    S = rng.exponential(size=(30_000, 4))
    S = S if dense else S * (rng.random(S.shape) < 0.5)
    X = S @ rng.normal(size=(5, 4)).T
    found = minimum_volume(X, 4)
    assert found.converged
    assert (X @ found.unmixing.T).min() > -1e-8
    assert match_sources(S, found.Y, scale=True).error < (1e-5 if dense else 1e-12)


def test_slack_and_outliers_let_samples_out():
    S, _, X = mixture(4, 2000, 3, 5, noise=0.01)
    with pytest.warns(ConvergenceWarning, match="no cone holds all samples|are still outside"):
        minimum_volume(X, 3)
    found = minimum_volume(X, 3, slack=0.3)
    assert (X @ found.unmixing.T).min() > -0.3 - 1e-6
    assert found.converged
    assert match_sources(S, found.Y, scale=True).correlation.min() > 0.97
    S, _, X = mixture(4, 2000, 3, 5)
    X[::100] += 3 * np.random.default_rng(0).standard_normal((20, 5))
    found = minimum_volume(X, 3, outliers=0.02)
    assert found.converged
    clean = np.arange(2000) % 100 > 0
    assert match_sources(S[clean], found.Y[clean], scale=True).error < 1e-12


# ---------------------------------------------------------------------- what must not matter


@each_method
@given(seeds, st.integers(-30, 30))
@settings(max_examples=10)
def test_units_do_not_matter(method, seed, exponent):
    _, _, X = mixture(seed, 400, 3, 4, noise=0.02)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the hard cone: there is noise
        found, scaled = method(X, 3), method(2.0**exponent * X, 3)
    np.testing.assert_array_equal(scaled.Y, found.Y)
    np.testing.assert_array_equal(scaled.mixing, 2.0**exponent * found.mixing)
    assert scaled.objective == found.objective


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("method", [soft_hinge, successive_projection])
def test_turned_channels_do_not_matter(method, affine):
    rng = np.random.default_rng(0)
    _, _, X = mixture(1, 1000, 3, 5, affine=affine, noise=0.02)
    found = method(X, 3, sum_to_one=affine)
    Q = orthonormal(rng, 5)
    turned = method(X @ Q.T, 3, sum_to_one=affine)
    alike(found.Y, turned.Y, 1e-4)
    order = match_sources(found.Y, turned.Y).permutation
    np.testing.assert_allclose(turned.mixing[:, order], Q @ found.mixing, atol=1e-3)


@each_method
def test_order_of_samples_and_channels_does_not_matter(method):
    rng = np.random.default_rng(0)
    _, _, X = mixture(2, 1000, 3, 5)
    found = method(X, 3)
    rows, columns = rng.permutation(1000), rng.permutation(5)
    alike(found.Y[rows], method(X[rows][:, columns], 3).Y, 1e-3)


@each_method
def test_the_same_again_is_the_same(method):
    _, _, X = mixture(5, 500, 4, 6)
    one, two = method(X, 4), method(X, 4)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("method", [soft_hinge, minimum_volume, minimum_volume_nmf])
def test_a_start_may_be_given(method):
    _, A, X = mixture(6, 800, 3, 5)
    found = method(X, 3, start=np.linalg.pinv(A))
    assert found.converged
    alike(method(X, 3).Y, found.Y, 1e-3)


@each_cone
def test_a_constant_offset_is_nothing_to_a_simplex(method):
    S, A, X = mixture(7, 800, 3, 5, affine=True)
    found = method(X + 4.0, 3, sum_to_one=True)
    order = match_sources(S, found.Y).permutation
    np.testing.assert_allclose(found.Y[:, order], S, atol=1e-8)
    np.testing.assert_allclose(found.mixing[:, order], A + 4.0, atol=1e-7)


# ------------------------------------------------------------------------------- bad input


@each_method
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: np.where(X[3, 1] == X, np.nan, X), "X contains NaN"),
        (lambda X: X[:3], "X has 3 samples: n_components=3 needs at least 4"),
        (lambda X: X[:, :2], "X has 2 channels but n_components=3: give at most 2"),
        (
            lambda X: X[:, [0, 0, 1, 1]],
            "X spans 2 directions only but n_components=3: give at most 2",
        ),
        (lambda X: X - X.mean(axis=0), "nonnegative sources have a mean"),
        (lambda X: X[0], "Expected 2D array"),
    ],
    ids=["NaN", "few", "wide", "rank", "centred", "flat"],
)
def test_bad_samples(method, change, message):
    _, _, X = mixture(0, 300, 3, 4)
    with pytest.raises(ValueError, match=message):
        method(change(X), 3)


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        (soft_hinge, {"tau": 0.0}, "tau=0.0 must be a number above 0"),
        (soft_hinge, {"tol": 0.0}, "tol=0.0 must be a number above 0"),
        (soft_hinge, {"max_iter": 0}, "max_iter=0 must be at least 1"),
        (soft_hinge, {"start": np.eye(3)}, r"start has shape \(3, 3\): give .* \(3, 4\)"),
        (soft_hinge, {"start": np.ones((3, 4))}, "its rows are dependent"),
        (minimum_volume, {"slack": -1.0}, "slack=-1.0 must be a number of at least 0"),
        (minimum_volume, {"outliers": 0.5}, "outliers=0.5 is not a share"),
        (minimum_volume_nmf, {"penalty": 0.0}, "penalty=0.0 must be a number above 0"),
        (successive_projection, {"near": 1.0}, "near=1.0 is not a share"),
    ],
)
def test_bad_options(method, options, message):
    _, _, X = mixture(0, 300, 3, 4)
    with pytest.raises(ValueError, match=message):
        method(X, 3, **options)


def test_a_start_of_the_wrong_sign_is_named():
    _, A, X = mixture(0, 300, 3, 4)
    start = np.linalg.pinv(A)
    start[1] *= -1
    with pytest.raises(ValueError, match=r"start makes output 1 .* on average"):
        soft_hinge(X, 3, start=start)


@pytest.mark.parametrize("method", [soft_hinge, minimum_volume, minimum_volume_nmf])
def test_too_few_iterations_are_told(method):
    _, _, X = mixture(0, 1000, 3, 4)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        found = method(X, 3, max_iter=3)
    assert not found.converged
    assert np.isfinite(found.Y).all()


def test_a_penalty_that_swallows_a_source_is_told():
    _, _, X = mixture(0, 1000, 3, 4)
    with pytest.warns(ConvergenceWarning, match="an output became zero: lower penalty=3"):
        found = minimum_volume_nmf(X, 3, penalty=3.0)
    assert not found.converged
    assert np.isfinite(found.unmixing).all()
