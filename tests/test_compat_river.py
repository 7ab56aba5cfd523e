"""nica.compat.river keeps river's own rules, all of them, and separates."""

import warnings

import numpy as np
import pandas
import pytest
from helpers import mixture
from river import base, compose, preprocessing
from river.checks import yield_checks

import nica
from nica.compat.river import Separator

MODELS = [
    Separator(seed=0),
    Separator(nica.NICA(2), seed=0),
    Separator(nica.OnlineWhitening(), seed=1),
    Separator(nica.NSM(start="paper"), seed=1),
]


def checks():
    for model in MODELS:
        for check in yield_checks(model):
            name = f"{type(model.network).__name__}-{check.__name__}"
            yield pytest.param(model, check, id=name)


@pytest.mark.parametrize(("model", "check"), list(checks()))
def test_checks_of_river(model, check):
    assert not model._unit_test_skips()
    assert not check(model.clone())


def test_it_is_the_network_itself():
    _, X = mixture(0, 300, 3)
    model = Separator(nica.NICA(3), seed=4)
    for x in X:
        model.learn_one(dict(zip("abc", x, strict=True)))
    network = nica.NICA(3, random_state=4).partial_fit(X)
    got = [list(model.transform_one(dict(zip("abc", x, strict=True))).values()) for x in X[:20]]
    assert got == network.transform(X[:20]).tolist()


def test_a_frame_at_once_is_row_by_row():
    _, X = mixture(1, 200, 3)
    frame = pandas.DataFrame(X, columns=["b", "a", "c"], index=np.arange(200) * 2)
    one, many = Separator(seed=0), Separator(seed=0)
    assert many.transform_many(frame[:2]).to_numpy().tolist() == [[0.0] * 3] * 2
    for row in frame.to_dict("records"):
        one.learn_one(row)
    many.learn_many(frame)
    Y = many.transform_many(frame)
    assert Y.index.equals(frame.index)
    assert list(Y.columns) == ["nica0", "nica1", "nica2"]
    assert Y.iloc[7].to_dict() == one.transform_one(frame.iloc[7].to_dict())


def test_a_sample_without_a_channel_teaches_nothing():
    _, X = mixture(2, 100, 2)
    model = Separator(seed=0)
    for x in X:
        model.learn_one({"a": x[0], "b": x[1]})
    before = model._model.unmixing_.tolist()
    model.learn_one({"a": 1.0})
    model.learn_one({"b": 1.0, "new": 2.0})
    assert model._model.unmixing_.tolist() == before
    assert model._model.n_bad_samples_ == 2
    assert model.transform_one({"a": 1.0}) == {}
    assert model.transform_many(pandas.DataFrame({"a": [1.0]})).isna().all(axis=None)


def test_in_a_pipeline_of_river():
    S, X = mixture(3, 4000, 3)
    pipeline = compose.Pipeline(
        compose.Select("a", "b", "c"), Separator(seed=0), preprocessing.StatImputer()
    )
    assert isinstance(Separator(), base.Transformer)
    Y = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in X:
            sample = {"a": x[0], "b": x[1], "c": x[2], "other": "text"}
            pipeline.learn_one(sample)
            Y.append(list(pipeline.transform_one(sample).values()))
    match = nica.metrics.match_sources(S[-1000:], np.array(Y)[-1000:])
    assert np.min(match.correlation) > 0.98


def test_the_given_network_is_left_alone():
    network = nica.NICA(2)
    Separator(network, seed=0).learn_one({"a": 1.0, "b": 2.0})
    assert network.random_state is None
    assert network.on_bad == "raise"
    assert not hasattr(network, "n_features_in_")
