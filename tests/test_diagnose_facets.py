"""Verdicts on solutions of FacetNICA, and the hint to use it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import nica
from nica.cli import app
from nica.datasets import mixing, rectified_gaussian, sparse_uniform


def mixed(S, k, seed, noise=0.01):
    rng = np.random.default_rng(seed)
    X = (S / S.std(axis=0)) @ mixing(k, S.shape[1], condition=4.0, random_state=rng).T
    return X + noise * X.std() * rng.normal(size=X.shape)


@pytest.mark.parametrize("seed", range(3))
def test_good_solutions_are_ok(seed):
    X = mixed(rectified_gaussian(4000, 3, correlation=0.6, random_state=seed), 6, seed)
    found = nica.diagnose(X, model=nica.FacetNICA(3, random_state=0).fit(X))
    assert found.verdict == "OK", str(found)
    assert len(found.sources) == 3
    assert found.to_dict()["signals"][0]["name"] == "rest"
    assert "OK" in str(found)


@pytest.mark.parametrize(
    ("problem", "doubt"),
    [
        ("dense", "sources that come near zero"),
        ("noise", "little noise"),
        ("jump", "a mixture that does not change"),
    ],
)
def test_bad_ones_are_not_and_the_cause_is_named(problem, doubt):
    rng = np.random.default_rng(0)
    S = rectified_gaussian(3000, 3, correlation=0.3, random_state=0)
    if problem == "dense":
        X = mixed(4 + rng.normal(size=(3000, 3)), 6, 0)
    elif problem == "noise":
        X = mixed(S, 3, 0, noise=1.0)
    else:
        X = np.vstack([mixed(S[:1500], 6, 0), mixed(S[1500:], 6, 1)])
    found = nica.diagnose(X, model=nica.FacetNICA(3, random_state=0).fit(X))
    assert found.verdict in ("doubtful", "failed")
    assert doubt in found.assumptions


def test_a_model_of_other_samples_is_not_believed():
    S = rectified_gaussian(3000, 3, correlation=0.3, random_state=0)
    model = nica.FacetNICA(3, random_state=0).fit(mixed(S, 6, 0))
    found = nica.diagnose(mixed(S, 6, 1), model=model)
    assert found.verdict == "failed"
    assert found.signals[0].verdict == "failed"


@pytest.mark.parametrize("kind", ["correlated", "shares"])
def test_where_nica_fails_and_facets_would_do_it_says_so(kind):
    if kind == "correlated":
        S = rectified_gaussian(4000, 3, correlation=0.7, random_state=1)
    else:
        S = np.random.default_rng(1).dirichlet(np.full(3, 0.3), 4000)
    found = nica.diagnose(mixed(S, 6, 1), 3)
    assert found.verdict in ("doubtful", "failed")
    assert "nica.FacetNICA" in found.assumptions["uncorrelated sources"]
    assert "nica.FacetNICA" in str(found)


def test_it_is_not_advised_where_nothing_is_wrong_or_it_would_not_do_either():
    good = mixed(sparse_uniform(3000, 3, random_state=0), 6, 0)
    assert "uncorrelated sources" not in nica.diagnose(good, 3).assumptions
    dense = mixed(4 + np.random.default_rng(0).normal(size=(3000, 3)), 6, 0)
    assert "uncorrelated sources" not in nica.diagnose(dense, 3).assumptions


def test_a_refined_nica_is_judged_by_its_facets():
    X = mixed(rectified_gaussian(4000, 3, correlation=0.6, random_state=0), 6, 0)
    plain = nica.NICA(3, solver="batch", random_state=0).fit(X)
    found = nica.diagnose(X, model=plain)
    assert found.verdict != "OK"
    assert "nica.FacetNICA" in found.assumptions["uncorrelated sources"]
    refined = nica.NICA(3, solver="batch", refine="facets", random_state=0).fit(X)
    assert nica.diagnose(X, model=refined).verdict == "OK"


def test_the_command_line_separates_by_facets(tmp_path):
    X = mixed(rectified_gaussian(4000, 3, correlation=0.6, random_state=0), 6, 0)
    np.save(tmp_path / "x.npy", X)
    run = ["separate", str(tmp_path / "x.npy"), "-n", "3", "-o", str(tmp_path / "y.npy"), "--json"]
    done = CliRunner().invoke(app, [*run, "--facets", "--frozen"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["verdict"]["verdict"] == "OK"
    Y = np.load(tmp_path / "y.npy")
    assert np.array_equal(Y, nica.FacetNICA(3, random_state=0).fit(X).transform(X))
    refused = CliRunner().invoke(app, [*run, "--facets", "--alpha", "2"])
    assert refused.exit_code == 1
    assert "FacetNICA has no alpha: leave --alpha out" in refused.output
    assert CliRunner().invoke(app, [*run, "--offset"]).exit_code == 2
    advised = CliRunner().invoke(app, run)
    assert (
        "nica.FacetNICA"
        in json.loads(advised.stdout)["verdict"]["assumptions"]["uncorrelated sources"]
    )
