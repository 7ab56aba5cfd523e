"""health_: what a running network knows of itself; it travels with the state and costs little."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import nica
from nica.datasets import MIXING_3, mixing, sparse_uniform

X = sparse_uniform(12_000, 3, random_state=0) @ MIXING_3.T


def values(model):
    return {signal.name: signal.value for signal in model.health_.signals}


def test_a_network_that_separates_is_in_good_health():
    model = nica.NICA(random_state=0).partial_fit(X)
    assert model.health_.verdict == "OK"
    assert model.health_.n_samples == len(X)
    assert not model.health_.troubles
    assert values(model)["turning"] < 0.1
    assert "OK after 12,000 samples" in str(model.health_)
    assert model.health_.to_dict()["verdict"] == "OK"


def test_before_it_has_learned_nothing_is_said():
    for n in (5, 100):
        assert nica.NICA(random_state=0).partial_fit(X[:n]).health_.verdict == "cannot say"
    with pytest.raises(Exception, match="has not seen any sample"):
        _ = nica.NICA().health_


@pytest.mark.parametrize("chunk", [1, 7, 333, 5000])
def test_health_does_not_depend_on_chunks(chunk):
    whole = nica.NICA(random_state=0).partial_fit(X[:5000])
    parts = nica.NICA(random_state=0)
    for i in range(0, 5000, chunk):
        parts.partial_fit(X[i : min(i + chunk, 5000)])
    assert parts.health_ == whole.health_


def test_health_travels_with_the_model(tmp_path):
    model = nica.NICA(random_state=0).partial_fit(X[:5000])
    model.save(tmp_path / "model")
    for copy in (nica.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copy.health_ == model.health_
        assert (
            copy.partial_fit(X[5000:]).health_ == nica.NICA(random_state=0).partial_fit(X).health_
        )


def test_averages_are_those_of_the_outputs():
    model = nica.NICA(random_state=0)
    Y = model.separate(X[:5000])
    state = model._state()
    learned = np.arange(30, 5000) + 1.0  # the clock of the samples after the warm-up
    watched = Y[30:][learned % 13 == 0]
    assert state["watched"][0, 0] == len(watched)
    np.testing.assert_allclose(state["watched_mean"].ravel(), watched.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(
        state["watched_products"], watched.T @ watched / len(watched), rtol=1e-10
    )
    kept = int(state["watched"][1, 0])
    assert kept == len(watched) // 5
    assert {tuple(row) for row in state["probes"][:, :3]} <= {tuple(x) for x in X[:5000]}


def test_a_jump_of_the_mixture_is_noticed_and_told():
    model = nica.NICA(random_state=0).partial_fit(X)
    other = sparse_uniform(12_000, 3, random_state=1) @ mixing(3, condition=2, random_state=7).T
    other *= X.std() / other.std()
    with pytest.warns(ConvergenceWarning, match="may be wrong at sample"):
        model.partial_fit(other[:6000])
    assert model.health_.verdict == "failed"
    follows = nica.NICA(random_state=0, half_life=1000).partial_fit(X)
    assert follows.partial_fit(other).health_.verdict == "OK"


def test_a_layer_alone_tells_what_it_knows():
    white = nica.OnlineWhitening(random_state=0).partial_fit(X)
    assert set(values(white)) == {"suspended", "white", "outliers"}
    assert white.health_.verdict == "OK"
    layer = nica.NSM(random_state=0).partial_fit(white.transform(X))
    assert layer.health_.verdict == "OK"


def test_hostile_counts_on_disk_are_refused(tmp_path):
    model = nica.NICA(random_state=0).partial_fit(X[:3000])
    arrays = model._state()
    arrays["watched"] = np.array([[700.0], [-3.0]])
    model._restore(arrays)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="counters are impossible"):
        nica.load(tmp_path / "model")
