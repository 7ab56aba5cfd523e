"""`nica.sweep` and `run_replicas`: each run ends as it would have alone; the table says what happened."""

import io

import numpy as np
import pytest
from helpers import mixture
from rich.console import Console

import nica
from nica.metrics import match_sources
from nica.rates import Activity
from nica.replicas import cores, run_replicas

GRID = {"half_life": [300, None], "separation_rate": [None, Activity(20, 0.95)]}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def problem():
    return mixture(0, 6000, 3)


def alone(X, record, method="separate", **parameters):
    names = nica.NICA().get_params().keys() & record.keys()
    model = nica.NICA(**parameters, **{name: record[name] for name in names})
    return (model.separate(X), model) if method == "separate" else (model.fit_transform(X), model)


@pytest.mark.parametrize("method", ["separate", "fit"])
def test_each_run_is_its_own_single_run(problem, method):
    S, X = problem
    base = nica.NICA(max_passes=8)
    sweep = nica.sweep(X, GRID, S=S, seeds=[3, 5], method=method, estimator=base)
    assert len(sweep) == 8
    assert sweep.best == sweep.settings[0].params
    for record, model in zip(sweep, sweep.models, strict=True):
        Y, one = alone(X, record, method, max_passes=8)
        np.testing.assert_allclose(model.unmixing_, one.unmixing_, atol=1e-9)
        assert record["error"] == pytest.approx(match_sources(S, Y).error, abs=1e-9)
        assert record["last_error"] == pytest.approx(
            match_sources(S[-600:], Y[-600:]).error, abs=1e-9
        )
        assert record["failure"] == ""


def test_joblib_gives_the_same_table(problem):
    S, X = problem
    one = nica.sweep(X, GRID, S=S, seeds=2)
    two = nica.sweep(X, GRID, S=S, seeds=2, backend="joblib", n_jobs=2)
    np.testing.assert_allclose(one["error"], two["error"], rtol=1e-9)
    assert [r["random_state"] for r in two] == [0, 1] * 4
    assert two.best_model.n_samples_seen_ == len(X)


def test_without_the_truth_there_are_scores(problem):
    _, X = problem
    sweep = nica.sweep(X, {"n_components": [2, 3]}, seeds=2)
    assert sweep.best == {"n_components": 3}
    assert sweep["score"].tolist() == [model.score(X) for model in sweep.models]
    mine = nica.sweep(X, {}, seeds=3, scoring=lambda model, X: -float(model.random_state))
    assert mine.best_model.random_state == 0


def test_a_source_without_an_output_counts_whole(problem):
    S, X = problem
    sweep = nica.sweep(X, {"n_components": [2, 3]}, S=S, seeds=1)
    assert sweep["error"][0] > 1 > sweep["error"][1]


def test_runs_that_overflow_are_told_of_and_do_not_stop_the_others(problem):
    S, X = problem
    sweep = nica.sweep(1e60 * X, {"start": ["paper", "warm"]}, S=S, seeds=2)
    failed = [bool(record["failure"]) for record in sweep]
    assert failed == [True, True, False, False]
    assert sweep.best == {"start": "warm"}
    for record in sweep:
        assert np.isnan(record["error"]) == bool(record["failure"])
    assert sum(setting.failures for setting in sweep.settings) == sum(failed)


def test_the_table_can_be_read(problem):
    S, X = problem
    sweep = nica.sweep(X, GRID, S=S, seeds=1)
    frame = sweep.to_pandas()
    assert list(frame.columns) == list(sweep.columns)
    assert len(frame) == 4
    assert repr(sweep).count("\n") == 5
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(sweep)
    assert "mean error" in console.export_text()
    with pytest.raises(KeyError, match="this sweep has half_life, "):
        sweep["accuracy"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {"halflife": [3]}}, "has no parameter 'halflife': it has alpha, "),
        ({"grid": {"random_state": [3]}}, "seeds="),
        ({"grid": []}, "grid is empty"),
        ({"grid": {"half_life": []}}, "half_life"),
        ({"seeds": 0}, "seeds=0: give a whole number >= 1"),
        ({"seeds": []}, "seeds is empty"),
        ({"S": np.ones((5, 3))}, r"S has shape \(5, 3\): give \(6000, n_sources\)"),
        ({"S": np.full((6000, 3), np.nan)}, "S contains NaN"),
        ({"method": "guess"}, "method='guess': give one of 'separate', 'fit'"),
        ({"backend": "mpi"}, "backend='mpi': give one of"),
        ({"estimator": nica.NICA}, "such as nica.NICA"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"grid": {"n_components": [7]}}, "n_components=7: give at most 3"),
    ],
)
def test_bad_input(problem, change, message):
    _, X = problem
    arguments = {"grid": {"half_life": [300]}, **change}
    with pytest.raises((ValueError, TypeError), match=message):
        nica.sweep(X, **arguments)


def test_a_bad_row_is_named(problem):
    _, X = problem
    X = np.tile(X, (5, 1))
    X[25_000, 1] = np.nan
    with pytest.raises(ValueError, match="NaN at row 25000, channel 1"):
        nica.sweep(X, {"half_life": [300]})
    sweep = nica.sweep(X, {"half_life": [300]}, estimator=nica.NICA(on_bad="skip"))
    assert [model.n_bad_samples_ for model in sweep.models] == [1, 1, 1]


def test_replicas_with_samples_of_their_own(problem):
    _, X = problem
    parts = [X[:3000], X[3000:], X]
    models = [nica.NICA(random_state=i) for i in range(3)]
    assert run_replicas(models, parts, n_jobs=2) == [None] * 3
    for i, part in enumerate(parts):
        one = nica.NICA(random_state=i).partial_fit(part)
        np.testing.assert_allclose(models[i].unmixing_, one.unmixing_, atol=1e-9)
    with pytest.raises(ValueError, match="2 arrays for 3 models"):
        run_replicas(models, parts[:2])


def test_number_of_threads():
    assert cores(3) == 3
    assert cores() == cores(-1) >= 1
    assert cores(-1000) == 1
