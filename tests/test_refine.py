"""NICA(refine="facets"): a solution polished without decorrelation."""

import numpy as np
import pytest

import nica
from nica.metrics import match_sources


def correlated(seed, n=4000, d=3, k=5, noise=0.01):
    rng = np.random.default_rng(seed)
    S = np.maximum(0.7 * rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, d)), 0)
    X = (S / S.std(axis=0)) @ nica.datasets.mixing(k, d, condition=4.0, random_state=rng).T
    return S, X + noise * X.std() * rng.normal(size=X.shape)


def worst(S, Y):
    return match_sources(S, Y, scale=True).correlation.min()


@pytest.mark.parametrize("solver", ["stream", "batch"])
@pytest.mark.parametrize("seed", range(3))
def test_correlated_sources_come_out_better(solver, seed):
    S, X = correlated(seed)
    plain = nica.NICA(3, solver=solver, random_state=0).fit(X)
    refined = nica.NICA(3, solver=solver, refine="facets", random_state=0).fit(X)
    assert worst(S, plain.transform(X)) < 0.97
    assert worst(S, refined.transform(X)) > 0.99
    np.testing.assert_allclose(
        refined.transform(X).std(axis=0), 1, atol=0.1
    )  # far ones are shortened
    assert not np.any(refined.w_yy_)


def test_uncorrelated_sources_stay(tmp_path):
    S = nica.datasets.sparse_uniform(5000, 3, random_state=0)
    X = S @ nica.datasets.MIXING_3.T
    model = nica.NICA(refine="facets", solver="batch", random_state=0).fit(X)
    assert worst(S, model.transform(X)) > 0.9999
    model.save(tmp_path / "m.safetensors")
    again = nica.load(tmp_path / "m.safetensors")
    assert np.array_equal(again.transform(X), model.transform(X))
    model.partial_fit(X)
    assert worst(S, model.transform(X)) > 0.99


def test_what_cannot_be_refined_is_refused():
    _, X = correlated(0, n=200)
    with pytest.raises(ValueError, match="give None or 'facets'"):
        nica.NICA(3, refine="polish").fit(X)
    with pytest.raises(ValueError, match="without gaps"):
        nica.NICA(3, refine="facets", missing="infer").fit(X)
