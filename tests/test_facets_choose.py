"""What is taken instead of facets that cannot be trusted."""

import numpy as np
import pytest

from nica.batch.sources import ArraySource
from nica.datasets import mixing
from nica.facets import choose, solve, trust
from nica.metrics import match_sources


def chosen(S, k, noise, seed, **options):
    rng = np.random.default_rng(seed)
    A = mixing(k, S.shape[1], condition=5.0, random_state=rng)
    X = S @ A.T
    X += noise * X.std() * rng.standard_normal(X.shape)
    solution = solve(ArraySource(X, 1), S.shape[1], **options)
    choice = choose(X, solution, trust(X, solution))
    Y = np.maximum(X @ choice.unmixing.T + choice.intercept, 0.0)
    if not solution.sum_to_one:  # there the intercept has its part
        np.testing.assert_allclose(choice.unmixing @ choice.mixing, np.eye(len(A.T)), atol=1e-8)
    before = np.maximum(X @ solution.unmixing.T + solution.intercept, 0.0)
    return choice, [match_sources(S, y, scale=True).correlation.min() for y in (before, Y)]


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_populated_facets_are_kept(noise):
    rng = np.random.default_rng(0)
    S = rng.exponential(size=(3000, 1)) * rng.exponential(size=(3000, 4))
    S *= rng.random(S.shape) < 0.5
    choice, (before, after) = chosen(S, 6, noise, 0)
    assert choice.method == "facets"
    assert before == after > 0.97


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_dense_sources_need_the_smallest_cone(noise):
    S = np.random.default_rng(1).beta(2, 1, size=(3000, 3))  # mostly large, seldom near zero
    choice, (before, after) = chosen(S, 5, noise, 1)
    assert choice.method == "volume"
    assert before < 0.8 < 0.95 < after


def test_collinear_sources_with_noise_need_factors():
    rng = np.random.default_rng(2)
    S = np.exp(0.12 * rng.standard_normal((3000, 3))) * (rng.random((3000, 3)) > 0.04)
    S *= np.exp(1.3 * rng.standard_normal((3000, 1)))
    assert np.corrcoef(S.T)[0, 1] > 0.9
    choice, (before, after) = chosen(S, 6, 0.02, 2)
    assert choice.method == "factors"
    assert before < 0.8 < 0.9 < after


def test_a_simplex_too():
    rng = np.random.default_rng(3)
    S = rng.dirichlet([4.0] * 3, 3000)  # hardly ever near a side
    choice, (before, after) = chosen(S, 5, 0.0, 3, sum_to_one=True)
    assert choice.method == "volume"
    assert after > max(before, 0.99)


def test_with_offsets_nothing_is_exchanged():
    S = np.random.default_rng(4).beta(2, 1, size=(2000, 3))
    choice, (before, after) = chosen(S, 5, 0.0, 4, offset=True)
    assert choice.method in ("facets", "bulk")
    assert before == after
