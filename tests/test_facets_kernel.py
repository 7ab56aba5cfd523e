"""The native kernels of FacetNICA against their NumPy twins in equations/facets.py."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from nica import _core
from nica.equations import facets


def cone(n, d, seed, ones):
    """Whitened samples of correlated sources, a start, and its outputs as the kernel keeps them."""
    rng = np.random.default_rng(seed)
    S = rng.exponential(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.3 * rng.random((n, 1))
    X = S @ rng.normal(size=(d, d)).T + 0.01 * rng.normal(size=(n, d))
    variances, axes = np.linalg.eigh(X.T @ X / n)
    Z = X @ (axes / np.sqrt(variances))
    B = np.linalg.qr(rng.normal(size=(d, d)))[0]
    if ones:
        Z, B = np.column_stack([Z, np.ones(n)]), np.column_stack([B, 0.1 * np.ones(d)])
    return Z, B / np.abs(Z @ B.T).mean(axis=0)[:, None]


@pytest.mark.parametrize("name", _core.kernels())
@pytest.mark.parametrize("bulk", [0.0, 0.2])
@given(n=st.integers(8, 600), d=st.integers(2, 5), ones=st.booleans(), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_a_native_sweep_is_that_of_the_equations(name, bulk, n, d, ones, seed):
    Z, B = cone(n, d, seed, ones)
    rows = [facets.first_row()._replace(bulk=bulk)] * d
    Y, native = np.ascontiguousarray((Z @ B.T).T), np.array(rows)
    fit = facets.Fit(B.copy(), rows)
    for floor in (0.3, 0.2, 0.1):
        fit = facets.sweep(Z, fit, floor, 0.5)
        _core.facet_sweep(Y, B, native, floor, 0.5, name)
    size = np.abs(fit.B).max()
    np.testing.assert_allclose(B, fit.B, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(native, np.array(fit.rows), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(Y, (Z @ B.T).T, rtol=0, atol=1e-9 * np.abs(Y).max())


@pytest.mark.parametrize("name", _core.kernels())
@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("bulk", [0.0, 0.2])
def test_native_sums_are_those_of_the_equations(name, ones, bulk):
    n, d = 501, 4
    Z, B = cone(n, d, 0, ones)
    row = facets.Row(0.2, 0.9, 0.3, 0.01, bulk, 0.8, 0.3)
    Y, m = np.ascontiguousarray((Z @ B.T).T), d - 1 + ones
    sums = np.empty((d, 10 + m + m * m))
    _core.facet_sums(Y, ones, np.array([row] * d), sums, name)
    for i in range(d):
        y, j = Y[i], facets.judge(Y[i], row)
        others = np.vstack([np.delete(Y, i, axis=0), np.ones((int(ones), n))])
        part = [
            j.spike.sum(), j.tail.sum(), j.outlier.sum(), j.bulk.sum(),
            j.spike @ y**2 + j.tail @ j.residue, j.tail @ j.source, j.bulk @ y,
            j.bulk @ (y - row.centre) ** 2, j.log_p.sum(), np.abs(y).sum(),
        ]  # fmt: skip
        H = (others * j.curvature) @ others.T
        expected = np.concatenate([part, others @ j.score, H.ravel()])
        np.testing.assert_allclose(sums[i], expected, rtol=1e-10, atol=1e-9)


@given(
    sigma=st.floats(1e-3, 1.0), mu=st.floats(0.3, 3.0), spike=st.floats(0.02, 0.98),
    outlier=st.floats(1e-4, 0.05), bulk=st.sampled_from([0.0, 0.1]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_likelihood_is_a_density_and_its_score_the_slope(sigma, mu, spike, outlier, bulk):
    row = facets.Row(sigma, mu, spike * (1 - bulk), outlier, bulk, 1.0, 0.3)
    around = [-1.0, -4 * sigma, 0.0, 4 * sigma, 1.0]
    total, _ = integrate.quad(
        lambda y: float(np.exp(facets.judge(np.array([y]), row).log_p[0])),
        -60 * mu, 60 * mu, points=around, limit=500,
    )  # fmt: skip
    assert total == pytest.approx(1, abs=1e-4)
    y, step = np.array([-2.0, -0.3, -sigma, 0.5 * sigma, 0.3, 1.0, 3.0]), 1e-6 * sigma
    slope = (facets.judge(y + step, row).log_p - facets.judge(y - step, row).log_p) / (2 * step)
    score = facets.judge(y, row).score
    np.testing.assert_allclose(score, -slope, rtol=1e-4, atol=1e-5 / sigma)


def test_the_tail_is_an_exponential_blurred_by_the_noise():
    row = facets.Row(0.4, 1.3, 0.0, 0.0)
    y = np.linspace(-2, 6, 50)
    expected = stats.exponnorm(K=row.mu / row.sigma, scale=row.sigma).logpdf(y)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(facets.judge(y, row).log_p, expected, rtol=1e-9)


@pytest.mark.parametrize("name", _core.kernels())
def test_no_output_is_too_far_and_no_noise_too_small(name):
    Z, B = cone(200, 3, 1, False)
    Z[0] *= 1e6
    Z[1] *= -1e6
    B /= np.abs(Z @ B.T).mean(axis=0)[:, None]
    Y, rows = np.ascontiguousarray((Z @ B.T).T), np.array([facets.Row(1e-9, 1, 0.5, 1e-4)] * 3)
    _core.facet_sweep(Y, B, rows, 1e-9, np.inf, name)
    assert np.all(np.isfinite(Y))
    assert np.all(np.isfinite(B))
    assert np.all(np.isfinite(rows))
