"""What a stranger types, what comes out, and what is said when it cannot be done."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import nica
from nica.cli import app, main
from nica.cli.demo import FILE


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_version():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"nica {nica.__version__}\n")


def test_help_names_every_verb():
    for arguments in ([], ["--help"], ["-h"]):
        output = run(*arguments).output
        for verb in ("demo", "info", "reproduce", "tune"):
            assert re.search(rf"\b{verb}\b", output)


def test_info_shows_the_configuration(capsys):
    nica.show_config()
    expected = capsys.readouterr().out
    assert expected
    assert run("info").output == expected


def test_wrong_kernels_are_named(monkeypatch):
    monkeypatch.setenv("NICA_KERNELS", "mmx")
    result = run("info")
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(r"nica: NICA_KERNELS='mmx': .*baseline\n", result.stderr)


def test_unknown_verb_is_a_usage_error():
    result = run("seperate")
    assert result.exit_code == 2
    assert "seperate" in result.output


def test_module_and_command_are_the_same():
    command = [sys.executable, "-m", "nica", "--version"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output == f"nica {nica.__version__}\n"
    assert callable(main)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new"
    command = [sys.executable, "-m", "nica", "demo", "--quick", "--out", str(folder)]
    return folder, subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_separates_and_compares(demo):
    folder, result = demo
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    for mixture in ("Stream", "Images"):
        assert re.search(rf"^{mixture}: [\d,]+ rows, [\d,]+ rows/s, error", result.stdout, re.M)
        assert re.search(rf"^{mixture} +nica +\S+ +\S+ +3 of 3 *$", result.stdout, re.M)
        for rival in ("FastICA", "nonnegative PCA"):
            assert re.search(rf"^{mixture} +{rival} +\S+ +\S+ +\d of 3 *$", result.stdout, re.M)
    assert f"Report: {folder / FILE}\n" in result.stdout


def test_demo_writes_one_page(demo):
    folder, _ = demo
    assert os.listdir(folder) == [FILE]
    page = (folder / FILE).read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "Both mixtures were separated" in page
    assert page.count("data:image/png;base64,") == 12
    assert not re.search(r"https?://", page)


def test_demo_says_at_once_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--quick", "--out", str(tmp_path / "file" / "folder"))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert re.fullmatch(r"nica: cannot make the folder .*: .*; choose another .*\n", result.stderr)


def test_demo_that_cannot_write_at_the_end_leaves_nothing(tmp_path):
    (tmp_path / FILE).mkdir()
    result = run("demo", "--quick", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert re.fullmatch(r"nica: cannot write .*: .*; choose another folder .*\n", result.stderr)
    assert os.listdir(tmp_path) == [FILE]


@pytest.mark.parametrize("option", [["--seed", "-1"], ["--seed", "one"], ["--sed", "1"]])
def test_demo_refuses_options_that_make_no_sense(option):
    result = run("demo", *option)
    assert result.exit_code == 2
    assert option[0] in result.output
