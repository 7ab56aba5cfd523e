"""The experiments: runs that are kept, verdicts, files, and every figure at tiny size."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from nica.cli import app
from nica.experiments import (
    NAMES,
    Results,
    Setup,
    Verdict,
    _jobs,
    _parameters,
    _reproduce,
    as_html,
    as_markdown,
    experiment,
    fig3b,
    fig6b,
    reproduce,
    search,
)
from nica.experiments._algorithms import ALGORITHMS
from nica.experiments._jobs import Job, Store, run_jobs
from nica.experiments._runs_images import ErrorCurve
from nica.metrics import online_error

CALLS = []


def square(x):
    """Job that notes that it ran; 13 is where the user loses patience."""
    CALLS.append(x)
    if x == 13 and CALLS.count(13) == 1:
        raise KeyboardInterrupt
    return {"square": x * x, "half": np.float64(x / 2), "row": np.arange(2), "odd": np.nan}


def jobs_of(*values):
    return [Job(square, {"x": x}) for x in values]


@pytest.fixture(autouse=True)
def nothing_called():
    CALLS.clear()


# ------------------------------------------------------------------------------------- the harness


def test_results_are_kept_and_never_computed_twice(tmp_path):
    store = Store(tmp_path / "runs")
    first = run_jobs(jobs_of(1, 2, 1), store, n_jobs=1)
    assert CALLS == [1, 2]
    again = run_jobs(jobs_of(2, 1, 3), store, n_jobs=1)
    assert CALLS == [1, 2, 3]
    assert again[:2] == [first[1], first[0]]
    assert [result["square"] for result in again] == [4, 1, 9]
    assert (again[2]["half"], again[2]["row"], again[2]["odd"]) == (1.5, [0, 1], None)


def test_interrupted_work_goes_on_where_it_stopped(tmp_path):
    store, seen = Store(tmp_path), []
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs_of(1, 2, 13, 4), store, n_jobs=1, advance=lambda *now: seen.append(now))
    assert seen == [(0, 4), (1, 4), (2, 4)]
    results = run_jobs(jobs_of(1, 2, 13, 4), store, n_jobs=1)
    assert [result["square"] for result in results] == [1, 4, 169, 16]
    assert CALLS == [1, 2, 13, 13, 4]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("damage", ["", "{", '{"result": 3}', "[]"])
def test_a_damaged_result_is_computed_again(tmp_path, damage):
    store = Store(tmp_path)
    run_jobs(jobs_of(5), store, n_jobs=1)
    (path,) = tmp_path.iterdir()
    path.write_text(damage)
    assert run_jobs(jobs_of(5), store, n_jobs=1)[0]["square"] == 25
    assert CALLS == [5, 5]


def test_results_of_other_code_or_parameters_are_not_taken(monkeypatch):
    (job,), (other,) = jobs_of(5), jobs_of(6)
    key = job.key
    assert key != other.key
    monkeypatch.setattr(_jobs, "_decisive", lambda: "changed")
    assert job.key != key


def test_several_processes_give_the_same_numbers(tmp_path):
    settings = {"runs": 2, "samples": 1000}
    for folder, n_jobs in (("one", 1), ("two", 2)):
        reproduce("fig3a", tmp_path / folder, n_jobs=n_jobs, **settings)
    one, two = (json.loads((tmp_path / f / "fig3a.json").read_text()) for f in ("one", "two"))
    for a, b in zip(one["results"], two["results"], strict=True):
        assert {**a["result"], "seconds": 0} == {**b["result"], "seconds": 0}


# ------------------------------------------------------------------------------------- the figures


@pytest.mark.parametrize("name", NAMES)
def test_each_figure_at_tiny_size(name, tmp_path):
    each = experiment(name)
    (done,) = reproduce(name, tmp_path, runs=1, samples=max(each.least, 200), n_jobs=1)
    files = {f"{name}.{ending}" for ending in ("png", "svg", "json")}
    assert {path.name for path in tmp_path.iterdir()} == files | {"runs"}
    numbers = json.loads((tmp_path / f"{name}.json").read_text())
    assert numbers["results"]
    assert {"nica", "numpy", "kernels"} <= numbers["versions"].keys()
    assert all("run" in row["parameters"] for row in numbers["results"])
    assert [verdict.word for verdict in done.verdicts] == ["not judged"] * len(done.verdicts)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "</svg>" in (tmp_path / f"{name}.svg").read_text()


def test_a_figure_that_cannot_be_drawn_leaves_no_file(tmp_path, monkeypatch):
    def draw(results, setup):
        raise RuntimeError("no ink")

    each = experiment("fig1")
    monkeypatch.setattr("nica.experiments.fig1.EXPERIMENT", replace(each, draw=draw))
    with pytest.raises(RuntimeError, match="no ink"):
        reproduce("fig1", tmp_path, quick=True, n_jobs=1)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_pages_hold_every_figure_and_verdict(tmp_path):
    done = reproduce(["fig1", "fig4a"], tmp_path, quick=True, n_jobs=1)
    page, text = as_html(done), as_markdown(done, "images", "Said before.")
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    assert "![Fig. 1" in text
    assert "(images/fig4a.png)" in text
    assert text.count("**not judged**") == sum(len(each.verdicts) for each in done)


# ------------------------------------------------------------------------------------- the verdicts


def results_of_fig3b(errors):
    """Results as if each algorithm had ended with these errors in two runs."""
    jobs, results = [], []
    for d in (3, 5, 7, 10):
        for name in ALGORITHMS:
            for run in range(2):
                jobs.append(Job(square, {"algorithm": name, "d": d, "run": run}))
                results.append(
                    {"diverged": False, "final": errors.get(name, 0.1) * (1 + 0.01 * run)}
                )
    return Results(jobs, results)


@pytest.mark.parametrize(("rival", "holds"), [(0.5, True), (0.01, True), (0.001, False)])
def test_the_ranking_is_judged_by_the_best_rival(rival, holds):
    results = results_of_fig3b({"two_layer": 0.01, "nsm_activity": 0.01, "online_fastica": rival})
    ranking = fig3b.judge(results, Setup(2, 1000))[:2]
    assert [verdict.holds for verdict in ranking] == [holds, holds]
    assert all("Online FastICA" in verdict.measured for verdict in ranking) is (rival < 0.1)
    assert all(bool(verdict.why) is not holds for verdict in ranking)


def test_an_exchange_of_outputs_is_told_from_a_failure():
    runs = {
        "settled": {"final": 0.05, "late": 0.04, "error": [9.0, 0.06, 0.05]},
        "exchanged": {"final": 1.3, "late": 0.04, "error": [9.0, 0.05, 1.3]},
        "failed": {"final": 2.0, "late": 1.9, "error": [9.0, 2.1, 2.0]},
    }
    jobs = [Job(square, {"algorithm": "two_layer", "run": run}) for run in runs]
    assert fig6b.exchanges(Results(jobs, runs.values()), "two_layer") == 1


def test_small_experiments_are_not_judged():
    each = experiment("fig1")
    assert each.setup(None, None, False, None).full
    assert not each.setup(1, None, False, None).full
    assert not each.setup(None, 999, False, None).full
    assert Verdict("a", "b", True).word == "holds"
    assert Verdict("a", "b", False).word == "differs"
    assert Verdict("a", "b", True, judged=False).word == "not judged"


def test_parameters_are_those_of_the_paper():
    assert _parameters.full_size() == (10, 100_000)
    assert _parameters.dimensions() == [3, 5, 7, 10]
    assert _parameters.published("two_layer", "d3") == (100, 1, 10, 0.8)
    assert _parameters.published("nsm_time", "images") is None
    sizes = {"two_layer": 384, "nsm_activity": 32, "projected_gradient": 9, "online_fastica": 12}
    assert {name: len(_parameters.grid(name)) for name in sizes} == sizes
    for name in ALGORITHMS:
        for d in _parameters.dimensions():
            assert _parameters.published(name, f"d{d}") in _parameters.grid(name)


def test_the_error_of_a_long_stream_is_that_of_a_short_one():
    rng = np.random.default_rng(0)
    S, Y = rng.exponential(size=(2, 50, 3))
    Y = Y + S[:, [2, 0, 1]]
    when = [1, 2, 7, 20, 21, 50]
    curve = ErrorCurve(when, 3)
    for rows in (slice(0, 3), slice(3, 21), slice(21, 50)):
        curve.add(S[rows], Y[rows])
    t, errors = curve.curve()
    assert t == when
    np.testing.assert_allclose(errors, online_error(S, Y)[np.array(when) - 1])


def test_a_grid_search_finds_the_best_rates(tmp_path):
    found = search("fig3b", tmp_path, algorithms=["nsm_activity"], quick=True, n_jobs=1)
    (best,) = found
    points = json.loads((tmp_path / "tune-fig3b.json").read_text())["points"]
    assert len(points) == best.n_points == 32
    assert best.errors == [min(error for *_, (error,) in points if error is not None)]
    assert best.published == (10, 0.8)
    assert best.published_errors >= best.errors


# ------------------------------------------------------------------------------------- bad input


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["reproduce", "fig9"], "unknown figure 'fig9': give fig1, .* or all"),
        (
            ["reproduce", "fig1", "--samples", "3"],
            "3 samples are too few for fig1: give at least 50",
        ),
        (["reproduce", "fig1", "--jobs", "0"], "--jobs 0: give a number of processes, .*"),
        (["reproduce", "fig6a", "--images", "FOLDER"], ".* holds 0 TIFF images: 4 are needed"),
        (["reproduce", "fig6a", "--images", "FOLDER/none"], "no folder .*"),
        (["tune", "--paper", "fig1"], "no grid for 'fig1': give fig3b or fig6b"),
        (
            ["tune", "--paper", "fig3b", "--only", "magic"],
            "no algorithm 'magic' in fig3b: give some of .*",
        ),
        (["tune", "--paper", "fig3b", "--samples", "3"], "3 samples are too few for fig3b: .*"),
    ],
)
def test_bad_input_is_one_line_and_no_file(arguments, said, tmp_path):
    folder = tmp_path / "photographs"
    folder.mkdir()
    arguments = [argument.replace("FOLDER", str(folder)) for argument in arguments]
    result = run(*arguments, "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(rf"nica: {said}\n", result.stderr)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("reproduce", "fig1", "--quick", "--out", str(tmp_path / "file" / "out"))
    assert result.exit_code == 1
    assert re.fullmatch(r"nica: Not a directory: '.*out'\n", result.stderr)


def test_a_missing_extra_is_named_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(_reproduce.importlib.util, "find_spec", lambda name: None)
    result = run("reproduce", "fig1", "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert result.stderr == "nica: figures are drawn with Matplotlib: pip install nica[plot]\n"
    assert not (tmp_path / "out").exists()


def test_stopping_says_what_is_kept(tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(_reproduce, "run_jobs", stop)
    result = run("reproduce", "fig1", "--quick", "--jobs", "1", "--out", str(tmp_path))
    assert result.exit_code == 130
    assert re.fullmatch(
        r"nica: stopped; finished runs are kept in .*runs, and the same .*\n", result.stderr
    )


def test_the_command_writes_figures_and_a_page(tmp_path):
    result = run(
        "reproduce", "fig1", "fig2", "--quick", "--jobs", "1", "--report", "--out", str(tmp_path)
    )
    assert result.exit_code == 0
    assert "Fig. 1" in result.stdout
    assert result.stdout.count("not judged") == 2
    assert (tmp_path / "nica-figures.html").read_text().rstrip().endswith("</html>")
