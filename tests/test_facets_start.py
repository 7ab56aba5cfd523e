"""Reduction about zero and successive projection: identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nica.datasets import mixing
from nica.equations import cone_unmixing, extreme_points, reduction

seeds = st.integers(0, 2**32 - 1)


def separable(seed, n, d, k, *, affine):
    """Correlated sources, each alone at times, and a signed mixture of them."""
    rng = np.random.default_rng(seed)
    S = rng.dirichlet(np.full(d, 0.7), n)
    S[:d] = np.eye(d)
    if not affine:
        S *= rng.uniform(0.7, 3.0, (n, 1))
    A = mixing(k, d, condition=5.0 if d > 1 else 1.0, random_state=rng)
    return S, A, S @ A.T


@given(seeds, st.integers(1, 6), st.integers(0, 3))
def test_reduced_samples_have_unit_moments_and_lead_back(seed, d, more):
    _, _, X = separable(seed, 300, d, d + more, affine=False)
    F, c, G, residual = reduction(X, d)
    Z = X @ F.T
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(d), atol=1e-9)
    np.testing.assert_allclose(Z @ G.T, X, atol=1e-9)
    assert not c.any()
    assert residual < 1e-12


@given(seeds, st.integers(2, 6), st.integers(0, 3))
def test_affine_reduction_keeps_the_mean_and_a_one(seed, d, more):
    _, _, X = separable(seed, 300, d, d + more, affine=True)
    F, c, G, residual = reduction(X, d, affine=True)
    Z = X @ F.T + c
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(d), atol=1e-9)
    np.testing.assert_array_equal(Z[:, -1], 1.0)
    np.testing.assert_allclose(Z @ G.T, X, atol=1e-9)
    assert residual < 1e-12


def test_residual_is_the_noise_left_out():
    rng = np.random.default_rng(0)
    _, _, X = separable(0, 20_000, 3, 8, affine=False)
    assert reduction(X + 0.01 * rng.standard_normal(X.shape), 3).residual == pytest.approx(
        0.01, rel=0.02
    )


@given(seeds, st.integers(1, 6), st.integers(0, 3), st.booleans())
def test_successive_projection_is_exact_where_each_source_is_alone(seed, d, more, affine):
    affine = affine and d > 1
    S, _, X = separable(seed, 300, d, d + more, affine=affine)
    F, c, _, _ = reduction(X, d, affine=affine)
    Z = X @ F.T + c
    Y = Z @ cone_unmixing(extreme_points(Z, near=0.0), Z.mean(axis=0)).T
    np.testing.assert_allclose(Y.mean(axis=0), 1.0)
    corners = Y[:d]  # where one source is alone
    order = corners.argmax(axis=0)
    np.testing.assert_allclose(Y, (S / S.mean(axis=0))[:, order], atol=1e-8)


def test_a_vertex_is_not_where_a_few_outliers_are():
    rng = np.random.default_rng(1)
    S = np.where(rng.random((4000, 3)) < 0.5, 0.0, rng.exponential(size=(4000, 3)))
    S[::400] = 10 * rng.standard_normal((10, 3))
    F = reduction(S, 3).F
    Z = S @ F.T
    unmixing = cone_unmixing(extreme_points(Z), Z.mean(axis=0)) @ F
    others = np.sort(np.abs(unmixing), axis=1)
    assert np.all(others[:, 1] < 0.1 * others[:, 2])


def test_vertices_that_few_samples_are_at_are_not_lost_in_a_median():
    S = np.repeat(np.eye(3), [900, 98, 2], axis=0)
    way = reduction(S, 3)
    V = extreme_points(S @ way.F.T, near=0.05) @ way.G.T
    np.testing.assert_allclose(np.sort(V.argmax(axis=1)), np.arange(3))
    np.testing.assert_allclose(V, np.eye(3)[V.argmax(axis=1)], atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="span 1 dimensions only"):
        extreme_points(S)


def test_the_mean_is_let_in():
    mean = np.array([0.1, 1.0])
    edges = np.array([[1.0, 1.0], [2.0, 1.0]]) / np.array([[1.1], [1.2]])
    B = cone_unmixing(edges, mean)
    np.testing.assert_allclose(B @ mean, 1.0)
    assert np.all(np.linalg.norm(B, axis=1) < 1e3)


def test_too_few_directions_are_named():
    X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0])
    with pytest.raises(
        ValueError, match=r"X spans 1 direction only but n_components=2: give at most 1"
    ):
        reduction(X, 2)
    with pytest.raises(
        ValueError, match=r"X varies in 1 direction only but n_components=3: give at most 2"
    ):
        reduction(X, 3, affine=True)
