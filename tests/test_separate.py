"""`nica separate`: a file or pipe in, its sources out, as Python would give them, to the bit."""

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest
from helpers import mixture
from typer.testing import CliRunner

import nica
from nica._job import Job
from nica._job import run as run_job
from nica.cli import app
from nica.cli._options import NETWORK
from nica.cli.separate import separate
from nica.streams import open_chunks, open_sink


def run(*arguments, code=0, **options):
    result = CliRunner().invoke(app, ["separate", *map(str, arguments)], **options)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code == code, result.output
    return result


def whole(path, **options):
    with open_chunks(path, **options) as chunks:
        return np.concatenate(list(chunks))


@pytest.fixture
def mix(tmp_path):
    X = mixture(0, 5000, 3)[1]
    np.save(tmp_path / "mix.npy", X)
    return X


# ------------------------------------------------------------------------------------- modes


def test_streaming_is_separate(tmp_path, mix):
    result = run(tmp_path / "mix.npy", "-n", 3, "-o", tmp_path / "out.npy")
    expected = nica.NICA(3, random_state=0).separate(mix)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    assert "Separated 5,000 samples of 3 channels into 3 sources" in result.stdout
    assert "Verdict: OK" in result.stdout
    assert result.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mix.npy", "out.npy"]


def test_frozen_is_fit_and_transform(tmp_path, mix):
    run(tmp_path / "mix.npy", "-n", 3, "-o", tmp_path / "out.npy", "--frozen", "--seed", 4)
    expected = nica.NICA(3, random_state=4).fit(mix).transform(mix)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_frozen_passes_go_over_the_file_in_its_order(tmp_path, mix):
    run(tmp_path / "mix.npy", "-n", 3, "-o", tmp_path / "out.npy", "--frozen", "--passes", 3)
    model = nica.NICA(3, random_state=0)
    for _ in range(3):
        model.partial_fit(mix)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), model.transform(mix))


def test_frozen_by_the_batch_solver(tmp_path, mix):
    out = tmp_path / "out.npy"
    run(tmp_path / "mix.npy", "-n", 3, "-o", out, "--frozen", "--solver", "batch")
    model = nica.NICA(3, solver="batch", random_state=0).fit(mix)
    np.testing.assert_array_equal(np.load(out), model.transform(mix))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_saved_model_goes_on_or_is_applied(tmp_path, mix, jobs):
    saved = tmp_path / "model.st"
    run(tmp_path / "mix.npy", "-n", 3, "-o", tmp_path / "out.npy", "--save", saved)
    model = nica.NICA(3, random_state=0).partial_fit(mix)
    out = tmp_path / "new.npy"
    run(tmp_path / "mix.npy", "--model", saved, "--apply", "-o", out, "-j", jobs)
    np.testing.assert_array_equal(np.load(out), model.transform(mix))
    run(tmp_path / "mix.npy", "--model", saved, "-o", out)
    np.testing.assert_array_equal(np.load(out), model.separate(mix))


def test_every_parameter_of_the_estimator_is_an_option():
    known = {"on_bad": "skip_bad", "random_state": "seed", "n_jobs": "jobs"}
    options = inspect.signature(separate).parameters
    parameters = set(nica.NICA().get_params()) - {"verbose"}  # a terminal shows progress
    assert {known.get(name, name) for name in parameters} <= set(options)


def test_options_reach_the_network(tmp_path, mix):
    saved = tmp_path / "model.st"
    run(
        tmp_path / "mix.npy", "-o", tmp_path / "out.npy", "--save", saved, "-n", 2, "--alpha", 0.01,
        "--n-whitened", 3, "--whitening-rate", "time:50,2", "--separation-rate", "activity:10,0.9",
        "--start", "paper", "--no-flip-silent", "--half-life", 1e5, "--dynamics", "sweeps",
    )  # fmt: skip
    found = nica.load(saved).get_params()
    assert found | {
        "n_components": 2, "alpha": 0.01, "n_whitened": 3,
        "whitening_rate": nica.rates.Time(50, 2), "separation_rate": nica.rates.Activity(10, 0.9),
        "start": "paper", "flip_silent": False, "half_life": 1e5, "dynamics": "sweeps",
        "random_state": 0,
    } == found  # fmt: skip


def test_number_of_sources_from_the_data(tmp_path):
    X = mixture(1, 5000, 2, 4)[1] + 1e-3 * np.random.default_rng(0).standard_normal((5000, 4))
    np.save(tmp_path / "mix.npy", X)
    run(tmp_path / "mix.npy", "-n", "auto", "-o", tmp_path / "out.csv", "-q")
    assert whole(tmp_path / "out.csv").shape == (5000, 2)


# ----------------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    "ending", ["npz", "csv", "tsv.gz", "ndjson", "parquet", "h5", "zarr", "mat"]
)
def test_the_same_data_gives_the_same_sources_in_every_format(tmp_path, mix, ending):
    source, out = tmp_path / f"x.{ending}", tmp_path / f"y.{ending}"
    with open_sink(source, columns=["a", "b", "c"]) as sink:
        sink.write(mix)
    run(source, "-o", out, "--no-diagnose")
    expected = nica.NICA(random_state=0).separate(mix)
    np.testing.assert_array_equal(whole(out), expected)
    if ending == "csv":
        assert out.read_text().startswith("nica0,nica1,nica2\n")


def test_images_come_out_as_images(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    X = mixture(0, 40 * 50, 2)[1].astype("f4")
    import tifffile

    for j in range(2):
        tifffile.imwrite(folder / f"cell{j}.tif", X[:, j].reshape(40, 50))
    run(folder, "-o", tmp_path / "out", "--frozen", "-q", "--no-diagnose")
    expected = nica.NICA(random_state=0).fit(X).transform(X).T.reshape(2, 40, 50)
    images = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in images] == ["nica0.tif", "nica1.tif"]
    for path, image in zip(images, expected, strict=True):
        np.testing.assert_array_equal(tifffile.imread(path), image.astype("f4"))


# ------------------------------------------------------------------------------------- pipes


@pytest.mark.parametrize("format", ["csv", "ndjson"])
def test_each_line_is_answered_before_the_next(mix, format):
    command = [sys.executable, "-m", "nica", "separate", "-", "-q", "--no-diagnose"]
    expected = nica.NICA(random_state=0).separate(mix[:200])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        for x, y in zip(mix[:200].tolist(), expected.tolist(), strict=True):
            line = json.dumps(x) + "\n"
            process.stdin.write(
                (line if format == "ndjson" else line.strip("[]\n") + "\n").encode()
            )
            got = process.stdout.readline()
            assert [float(v) for v in got.decode().strip().strip("[]").split(",")] == y
        process.stdin.close()
    assert process.returncode == 0


def test_summary_as_json_goes_where_the_outputs_do_not(tmp_path, mix):
    result = run(tmp_path / "mix.npy", "-o", tmp_path / "out.npy", "--json")
    found = json.loads(result.stdout)
    assert (found["samples"], found["n_channels"], found["n_components"]) == (5000, 3, 3)
    assert found["verdict"]["verdict"] == "OK"
    assert found["out"] == str(tmp_path / "out.npy")
    result = run(tmp_path / "mix.npy", "--json")
    assert json.loads(result.stderr)["samples"] == 5000
    assert len(result.stdout.splitlines()) == 5000


# ------------------------------------------------------------------------------------ errors


def bad(tmp_path, text, *options, code=1):
    (tmp_path / "bad.csv").write_text(text)
    out = tmp_path / "out.csv"
    result = run(tmp_path / "bad.csv", "-o", out, *options, code=code)
    assert not out.exists()
    assert len(list(tmp_path.iterdir())) == 1
    return result.stderr


def test_a_cell_that_is_no_number_is_told_with_its_place(tmp_path):
    rows = [f"{i},{i * i}" for i in range(1, 2000)]
    rows[1042] = "7,n/a"
    text = "ch2,ch3\n" + "\n".join(rows) + "\n"
    assert "line 1044, column 'ch3': 'n/a' is not a number; --skip-bad leaves such rows out" in bad(
        tmp_path, text
    )
    rows[1042] = "7,nan"
    assert "row 1042 (from 0), column 'ch3': NaN" in bad(
        tmp_path, "ch2,ch3\n" + "\n".join(rows) + "\n"
    )


def test_bad_rows_are_left_out_on_request(tmp_path, mix):
    X = mix.copy()
    X[[17, 900]] = np.nan
    np.save(tmp_path / "mix.npy", X)
    result = run(tmp_path / "mix.npy", "-o", tmp_path / "out.npy", "--skip-bad")
    expected = nica.NICA(random_state=0, on_bad="skip").separate(X)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    assert "Left out: 2 samples" in result.stdout
    run(tmp_path / "mix.npy", "-o", tmp_path / "two.npy", "--skip-bad", "--frozen", "--passes", 1)
    assert np.isnan(np.load(tmp_path / "two.npy")).any(axis=1).nonzero()[0].tolist() == [17, 900]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["-n", "4"], 1, "X has 3 channels but -n 4: give at most 3"),
        (["-n", "three"], 2, "give a number or auto"),
        (["--whitening-rate", "5"], 2, "give time:A,B"),
        (["--passes", "2"], 2, "--passes needs --frozen"),
        (["--apply"], 2, "--apply needs --model FILE"),
        (["--start", "cold"], 1, "--start 'cold': give one of 'warm', 'paper'"),
        (["--format", "xls"], 1, "there is no format 'xls'"),
        (["--columns", "0,7"], 1, "has no column '7'"),
        (["--model", "none.st"], 1, "no model file"),
        (["--save", "no/where/m.st"], 1, "no folder"),
        (["--resume", "none.st"], 1, "no checkpoint 'none.st'"),
    ],
)
def test_what_cannot_be_done_is_told_at_once(tmp_path, mix, monkeypatch, options, code, message):
    monkeypatch.chdir(tmp_path)
    result = run("mix.npy", "-o", "out.npy", *options, code=code)
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert [path.name for path in tmp_path.iterdir()] == ["mix.npy"]


def test_places_that_outputs_cannot_go_to(tmp_path, mix):
    source = tmp_path / "mix.npy"
    assert "no folder" in run(source, "-o", tmp_path / "no" / "out.npy", code=1).stderr
    assert "give the outputs another name" in run(source, "-o", source, code=1).stderr
    assert "names no format" in run(source, "-o", tmp_path / "out.xyz", code=1).stderr
    np.testing.assert_array_equal(np.load(source), mix)


def test_a_pipe_cannot_be_frozen():
    result = run("-", "--frozen", code=1, input="1,2\n")
    assert "a pipe can be gone over once only" in result.stderr


def test_strict_turns_a_bad_verdict_into_an_exit_code(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((4000, 3)))
    options = [tmp_path / "x.npy", "-o", tmp_path / "y.npy"]
    assert "failed" in run(*options, "-q").stderr
    assert "cause:" in run(*options, "--strict", code=3).stderr
    assert run(*options, "--strict", "--no-diagnose", "-q").stderr == ""


# ------------------------------------------------------------------------------ going on


def stop_at(row):
    def watch(run, X):
        if run.position.rows >= row and run.position.stage == "write":
            raise KeyboardInterrupt

    return watch


@pytest.mark.parametrize("mode", ["stream", "frozen", "apply"])
@pytest.mark.parametrize("ending", ["npy", "csv", "parquet"])
def test_a_run_goes_on_where_it_stopped(tmp_path, mix, mode, ending):
    source, out, saved = (str(tmp_path / name) for name in ("mix.npy", f"y.{ending}", "c.st"))
    model = tmp_path / "m.st"
    nica.NICA(3, random_state=1).partial_fit(mix).save(model)
    options = {"model": str(model)} if mode == "apply" else {"parameters": {"random_state": 0}}
    job = Job((source,), out, mode, reading={}, **options)
    run_job(job)
    expected = whole(out)
    (tmp_path / f"y.{ending}").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nica.streams._chunks.ENTRIES", 600)
        with pytest.raises(KeyboardInterrupt):
            run_job(job, checkpoint=saved, watch=stop_at(2000))
    assert not (tmp_path / f"y.{ending}").exists()
    run("--resume", saved, "-q", "--no-diagnose")
    np.testing.assert_array_equal(whole(out), expected)
    assert not (tmp_path / "c.st").exists()


def test_a_checkpoint_is_a_model_too(tmp_path, mix):
    source, out, saved = (str(tmp_path / name) for name in ("mix.npy", "y.npy", "c.st"))
    job = Job((source,), out, parameters={"random_state": 0})
    with pytest.raises(KeyboardInterrupt):
        run_job(job, checkpoint=saved, watch=stop_at(1))
    assert nica.load(saved).n_samples_seen_ == 1024
    refused = run(source, "-o", out, "--checkpoint", saved, code=1)
    assert f"go on with --resume {saved}" in refused.stderr
    assert "is not as in the checkpoint" in run("--resume", saved, "-n", 2, code=1).stderr
    np.save(source, mix + 1)
    assert "has changed since the checkpoint" in run("--resume", saved, code=1).stderr
    np.save(source, mix)
    run(source, "-o", out, "--checkpoint", saved, "--resume", saved)
    np.testing.assert_array_equal(np.load(out), nica.NICA(random_state=0).separate(mix))


def test_options_stand_in_groups():
    text = CliRunner().invoke(app, ["separate", "--help"]).output
    assert text.index("nica separate mix.csv -n 3") < text.index("Options")
    assert NETWORK.split(" (")[0] in text


def test_a_page_tells_what_was_run(tmp_path, mix):
    page = tmp_path / "page.html"
    np.savetxt(tmp_path / "m.csv", mix, delimiter=",", header="<i>,b,c", comments="")
    result = run(tmp_path / "m.csv", "-n", 3, "-o", tmp_path / "out.npy", "--report", page)
    assert f"Report: {page}" in result.stdout
    text = page.read_text()
    assert text.index("OK: nothing speaks against") < text.index("<h2>Sources")
    assert "Separation of m.csv" in text
    assert "5,000 samples of 3 channels" in text
    assert "&lt;i&gt;" in text
    assert "<i>" not in text
    assert "out.npy" in text
    refused = run(tmp_path / "m.csv", "-n", 3, "--report", tmp_path / "no" / "page.html", code=1)
    assert "no folder" in refused.stderr


# ------------------------------------------------------------------------------ its neighbours


def test_convert_changes_no_bit(tmp_path, mix):
    for ending in ("csv", "parquet", "mat"):
        copy, back = tmp_path / f"copy.{ending}", tmp_path / "back.npy"
        for arguments in ((tmp_path / "mix.npy", copy), (copy, back)):
            result = CliRunner().invoke(app, ["convert", *map(str, arguments)])
            assert (result.exit_code, result.output[:19]) == (0, "Wrote 5,000 samples")
        np.testing.assert_array_equal(np.load(back), mix)
    result = CliRunner().invoke(app, ["convert", "nothing.csv", "x.npy"])
    assert (result.exit_code, result.output) == (1, "nica: no file 'nothing.csv'\n")


def test_info_tells_what_a_file_is(tmp_path, mix):
    source, saved = str(tmp_path / "mix.npy"), str(tmp_path / "m.st")
    run(source, "-o", tmp_path / "out.npy", "--save", saved, "-q")

    def info(path):
        result = CliRunner().invoke(app, ["info", str(path), "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    found = info(source)
    assert (found["kind"], found["format"], found["samples"]) == ("samples", "npy", 5000)
    assert [c["most"] for c in found["channels"]] == mix.max(axis=0).tolist()
    assert info(saved)["samples seen"] == 5000
    job = Job((source,), str(tmp_path / "y.npy"), parameters={"random_state": 0})
    with pytest.raises(KeyboardInterrupt):
        run_job(job, checkpoint=str(tmp_path / "c.st"), watch=stop_at(1))
    assert (info(tmp_path / "c.st")["kind"], info(tmp_path / "c.st")["rows done"]) == (
        "checkpoint",
        1024,
    )
    text = CliRunner().invoke(app, ["info", source]).output
    assert "samples: 5,000" in text
    (tmp_path / "no.csv").write_text("")
    assert "is empty" in CliRunner().invoke(app, ["info", str(tmp_path / "no.csv")]).output


def test_a_column_that_only_rises_is_doubted(tmp_path, mix):
    clock = np.arange(len(mix))[:, np.newaxis]
    with open_sink(tmp_path / "mix.csv", columns=["time", "a", "b", "c"]) as sink:
        sink.write(np.hstack([clock, mix]))
    told = "column 'time' only rises, as a time or a row number does; leave it out: --columns a,b,c"
    assert told in run(tmp_path / "mix.csv", "-n", 3, "-o", tmp_path / "out.npy").stderr
    right = run(tmp_path / "mix.csv", "--columns", "a,b,c", "-o", tmp_path / "out.npy")
    assert right.stderr == ""


def test_rows_before_a_bad_line_are_answered(tmp_path, mix):
    """However many lines of a pipe are there at once."""
    lines = [",".join(map(repr, row)) for row in mix[:200].tolist()]
    lines[150] = "1,2"
    for name in ("mix.csv", "mix.ndjson"):
        rows = lines if name == "mix.csv" else [f"[{one}]" for one in lines]
        text = "".join(f"{one}\n" for one in rows)
        result = run("-", "--no-diagnose", input=text, code=1)
        assert result.stdout.count("\n") == 150
        assert "line 151: it has 2 " in result.stderr


@pytest.mark.parametrize(
    ("X", "said"),
    [(np.ones((100, 2)), "1 distinct sample: 3 are"), (np.eye(4)[:2], "2 distinct samples: 5 are")],
)
def test_outputs_that_never_began_are_told(tmp_path, X, said):
    np.save(tmp_path / "x.npy", X)
    for options, code in (["-q"], 0), (["-q", "--no-diagnose"], 0), (["--strict"], 3):
        found = run(tmp_path / "x.npy", "-o", tmp_path / "y.npy", *options, code=code).stderr
        assert f"all outputs are zeros: This NICA has seen {said} needed" in found
    assert not np.any(np.load(tmp_path / "y.npy"))
