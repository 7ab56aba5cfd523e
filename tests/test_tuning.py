"""Rates without true sources: nothing is proposed without need, and what is proposed helps."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import nica
from nica.cli import app
from nica.datasets import MIXING_3, mixing, sparse_uniform
from nica.tuning import _score

S = sparse_uniform(6000, 3, random_state=0)
STILL = S @ MIXING_3.T


def turning(turn):
    X = np.empty_like(STILL)
    for i in range(0, len(X), 50):
        c, s = np.cos(i / turn), np.sin(i / turn)
        X[i : i + 50] = S[i : i + 50] @ (MIXING_3 @ [[c, -s, 0], [s, c, 0], [0, 0, 1]]).T
    return X


def error(X, **parameters):
    Y = nica.NICA(random_state=0, **parameters).separate(X)
    rows = [slice(i, i + 500) for i in range(3000, 6000, 500)]
    return np.mean([nica.metrics.match_sources(S[r], Y[r]).error for r in rows])


def test_defaults_are_kept_where_nothing_is_better():
    tuning = nica.tune(STILL)
    assert tuning.parameters == {}
    assert "keep the defaults" in str(tuning)
    assert len(tuning.candidates) > 1
    json.dumps(tuning.to_dict())


def test_a_drift_is_followed_and_the_error_falls():
    X = turning(1500)
    tuning = nica.tune(X)
    assert "half_life" in tuning.parameters
    assert tuning.gain > 3 * tuning.error > 0
    assert error(X, **tuning.parameters) < 0.7 * error(X)


def test_a_grid_of_ones_own():
    tuning = nica.tune(STILL, 3, grid={"half_life": [50.0]}, n_jobs=1)
    assert [p for p, *_ in tuning.candidates] == [{}, {"half_life": 50.0}]
    assert tuning.parameters == {}
    assert "too few" in str(nica.tune(STILL[:300]))
    with pytest.raises(ValueError, match="NaN"):
        nica.tune(np.full((1000, 2), np.nan))


def test_channels_that_carry_nothing_are_named():
    for X, why in ((np.column_stack([STILL, np.ones(6000)]), "constant channels (3)"),
                   (STILL[:, [0, 1, 0]], "copies"), (np.zeros((6000, 3)), "zero")):  # fmt: skip
        tuning = nica.tune(X)
        assert tuning.parameters == {}
        assert why in str(tuning)


def test_the_number_of_sources_may_be_left_to_the_channels():
    X = STILL @ mixing(7, 3, condition=2, random_state=0).T
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    tuning = nica.tune(X, "auto", grid={"half_life": [50.0]})
    assert tuning.candidates == nica.tune(X, 3, grid={"half_life": [50.0]}).candidates
    assert nica.estimate_drift(X, "auto") == nica.estimate_drift(X, 3)


def test_the_score_knows_separated_from_mixed():
    assert _score(S) < 0.5 * _score(STILL)
    assert _score(S) == pytest.approx(_score(S * [1, 5, 0.1]))


def test_the_verb(tmp_path):
    np.save(tmp_path / "mix.npy", STILL[:3000])
    done = CliRunner().invoke(app, ["tune", str(tmp_path / "mix.npy")])
    assert done.exit_code == 0, done.output
    assert "defaults" in done.output
    assert "Drift: " in done.output
    done = CliRunner().invoke(app, ["tune", str(tmp_path / "mix.npy"), "-n", "3", "--json"])
    assert json.loads(done.output)["parameters"] == {}
    done = CliRunner().invoke(app, ["tune", str(tmp_path / "mix.npy"), "-n", "many"])
    assert done.exit_code == 1
    assert "give a number or auto" in done.output
    assert CliRunner().invoke(app, ["tune"]).exit_code == 2
    assert CliRunner().invoke(app, ["tune", str(tmp_path / "no.npy")]).exit_code == 1
