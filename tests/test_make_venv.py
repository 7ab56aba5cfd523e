"""What `make` says in a fresh clone when something is missing, before it has made anything."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "make-venv"
PYTHON = f"{sys.base_prefix}/bin/python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def said(tmp_path):
    """The message, with nothing in the PATH but what it needs itself and these programs."""

    def run(programs=(), **variables):
        path = tmp_path / "bin"
        path.mkdir()
        for name in ("sh", "cat", "rm", "mkdir"):
            (path / name).symlink_to(shutil.which(name))
        for name, code in dict(programs).items():
            (path / name).write_text(code)
            (path / name).chmod(0o755)
        env = {"PATH": str(path), "HOME": str(tmp_path)} | variables
        command = ["/bin/sh", TOOL, "made"]
        done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 1
        assert not (tmp_path / "made").exists()
        (line,) = done.stderr.splitlines()
        assert line.startswith("nica: needs") or variables
        return line

    return run


def pretends(change):
    """A Python in which something is otherwise."""
    return f'#!/bin/sh\nexec {PYTHON} -c "\nimport sys\n{change}\nexec(sys.stdin.read())\n"\n'


def test_no_python(said):
    line = said()
    assert "needs Python 3.11 or newer" in line
    assert "https://www.python.org" in line
    assert "make PYTHON=" in line


def test_old_python(said):
    old = pretends("import collections; sys.version_info = (3, 8, 2)")
    assert "python3 is Python 3.8, older than 3.11" in said({"python3": old})


def test_python_without_headers(said):
    bare = pretends("import sysconfig; sysconfig.get_path = lambda name: '/nowhere'")
    assert "python3 lacks Python.h (Debian, Ubuntu: sudo apt install" in said({"python3": bare})


def test_python_without_venv(said):
    bare = pretends("sys.modules['ensurepip'] = None")
    assert "python3 lacks venv and ensurepip (Debian, Ubuntu: sudo apt" in said({"python3": bare})


@pytest.mark.parametrize("code", ["exit 0", "exit 1", "echo 3.12"])
def test_another_program_named_python(said, code):
    assert "python3 " in said({"python3": f"#!/bin/sh\n{code}\n"})


def test_the_python_that_was_named(said):
    assert "(/no/such/python not found)" in said(PYTHON="/no/such/python")


def test_no_compiler(said):
    line = said({"python3": pretends("")})
    assert "needs a C++17 compiler" in line
    assert "sudo apt install g++" in line


def test_a_compiler_that_is_too_old(said):
    old = '#!/bin/sh\n[ "$1" = --version ]\n'
    assert "C++17" in said({"python3": pretends(""), "c++": old, "g++": old})


@pytest.mark.parametrize("compiler", ["nosuch", "nosuch --option"])
def test_the_compiler_that_was_named(said, compiler):
    line = said({"python3": pretends("")}, CXX=compiler)
    assert line == f"nica: CXX={compiler} does not compile C++17"


def test_no_index(tmp_path):
    """The one thing that is missed later: it says what pip could not do."""
    env = os.environ | {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": "/dev/null",
        "PYTHON": PYTHON,
    }
    command = ["/bin/sh", TOOL, tmp_path / "made"]
    done = subprocess.run(command, env=env, cwd=TOOL.parents[1], capture_output=True, text=True)
    assert done.returncode == 1
    assert "scikit-build-core" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("nica: could not fetch what it is built with")
    assert not (tmp_path / "made" / "ready").exists()
