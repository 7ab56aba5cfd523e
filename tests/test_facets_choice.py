"""FacetNICA(method="auto"): facets where they can be trusted, else a small volume."""

import numpy as np
import pytest
from scipy.special import ndtr

import nica
from nica.datasets import mixing, rectified_gaussian
from nica.metrics import match_sources


def worst(S, Y):
    return match_sources(S, Y, scale=True).correlation.min()


def near_collinear(n, rng):
    """Two sources that are nearly always active together."""
    G = rng.standard_normal((n, 3))
    G[:, 1] = 0.98 * G[:, 0] + 0.2 * G[:, 1]
    return -np.log1p(-ndtr(G))


def test_what_facets_cannot_tell_apart_is_left_to_a_small_volume(tmp_path):
    rng = np.random.default_rng(0)
    S = near_collinear(4000, rng)
    X = S @ mixing(8, 3, condition=4.0, random_state=rng).T
    facets = nica.FacetNICA(3, random_state=0).fit(X)
    auto = nica.FacetNICA(3, method="auto", random_state=0).fit(X)
    assert facets.method_ == "facets"
    assert auto.method_ == "volume"
    assert worst(S, auto.transform(X)) > worst(S, facets.transform(X)) + 0.02
    np.testing.assert_allclose(auto.transform(X).std(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(auto.inverse_transform(auto.transform(X)), X, atol=0.1 * X.std())
    auto.save(tmp_path / "m.safetensors")
    again = nica.load(tmp_path / "m.safetensors")
    assert again.method_ == "volume"
    assert np.array_equal(again.transform(X), auto.transform(X))


@pytest.mark.parametrize("seed", range(2))
def test_facets_that_are_trusted_stay(seed):
    S = rectified_gaussian(3000, 3, correlation=0.6, random_state=seed)
    X = S @ mixing(6, 3, condition=4.0, random_state=seed).T
    X += 0.02 * X.std() * np.random.default_rng(seed).normal(size=X.shape)
    facets = nica.FacetNICA(3, random_state=0).fit(X)
    auto = nica.FacetNICA(3, method="auto", random_state=0).fit(X)
    assert auto.method_ == "facets"
    assert np.array_equal(auto.transform(X), facets.transform(X))


def test_another_method_is_refused():
    with pytest.raises(ValueError, match="method='volume': give one of 'facets', 'auto'"):
        nica.FacetNICA(3, method="volume").fit(np.random.default_rng(0).random((100, 3)))
