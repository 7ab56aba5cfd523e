"""Runs that are killed, refused by a full disk or left by their reader go on to the same bits."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers import mixture

import nica

SEPARATE = [sys.executable, "-m", "nica", "separate"]
#: `nica` that is sent a signal some time after its `main` has begun
LOADING = """
import os, signal, sys, threading
wait, number = float(sys.argv[1]), int(sys.argv[2])
del sys.argv[1:3]
from nica.__main__ import main
threading.Timer(wait, os.kill, (os.getpid(), number)).start()
main()
"""
QUICK = ["-q", "--no-diagnose", "--checkpoint-every", "0"]


@pytest.fixture(scope="module")
def lines():
    X = mixture(0, 3000, 3)[1]
    return X, "".join(",".join(map(repr, row)) + "\n" for row in X.tolist()).encode()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_while_it_waits_for_a_pipe(tmp_path, lines, number):
    X, text = lines
    out, saved = tmp_path / "out.npy", tmp_path / "run.st"
    command = [*SEPARATE, "-", "-o", str(out), "--checkpoint", str(saved), *QUICK]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(text[: len(text) // 2])
        process.stdin.flush()
        while not saved.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == -number
    assert not out.exists()
    if number != signal.SIGKILL:
        expected = f"nica: stopped by {number.name}; go on with: nica separate --resume {saved}\n"
        assert said.decode() == expected
    done = nica.load(saved).n_samples_seen_
    assert 0 < done < len(X)
    subprocess.run([*SEPARATE, "--resume", str(saved), *QUICK], input=text, check=True)
    np.testing.assert_array_equal(np.load(out), nica.NICA(random_state=0).separate(X))
    assert os.listdir(tmp_path) == ["out.npy"]


def test_a_closed_pipe_ends_it_quietly(tmp_path, lines):
    np.save(tmp_path / "x.npy", np.tile(lines[0], (10, 1)))
    command = [*SEPARATE, str(tmp_path / "x.npy"), *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().count(b",") == 2
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


@pytest.mark.parametrize("ending", ["npy", "csv", "parquet"])
def test_no_room_is_told_and_nothing_is_lost(tmp_path, lines, ending):
    X = np.tile(lines[0], (10, 1))
    source, out, saved = (tmp_path / name for name in ("x.npy", f"y.{ending}", "run.st"))
    np.save(source, X)
    out.write_bytes(b"precious")
    command = [*SEPARATE, str(source), "-o", str(out), "--checkpoint", str(saved), *QUICK]
    limited = ["bash", "-c", 'ulimit -f 200; exec "$@"', "-", *command]
    result = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    told = f"nica: File too large: '{out}'; go on with: nica separate --resume {saved}\n"
    assert result.stderr == told
    assert out.read_bytes() == b"precious"
    subprocess.run([*SEPARATE, "--resume", str(saved), *QUICK], check=True)
    with nica.streams.open_chunks(out) as chunks:
        Y = np.concatenate(list(chunks))
    np.testing.assert_array_equal(Y, nica.NICA(random_state=0).separate(X))
    assert sorted(os.listdir(tmp_path)) == ["x.npy", out.name]


def test_standard_output_that_is_a_file_is_cut_at_the_checkpoint(tmp_path, lines):
    X, text = lines
    (tmp_path / "x.csv").write_bytes(text)
    out, saved = tmp_path / "y.csv", tmp_path / "run.st"
    command = [*SEPARATE, "-", "--checkpoint", str(saved), *QUICK]
    with (
        open(out, "wb") as file,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=file) as process,
    ):
        process.stdin.write(text[: len(text) // 2])
        process.stdin.flush()
        while not saved.exists():
            time.sleep(0.01)
        process.kill()
        process.communicate()
    with open(out, "ab", buffering=0) as file:
        file.write(b"left by the dead")
        resume = [*SEPARATE, "--resume", str(saved), *QUICK]
        subprocess.run(resume, input=text, stdout=file, check=True)
    with nica.streams.open_chunks(out) as chunks:
        Y = np.concatenate(list(chunks))
    np.testing.assert_array_equal(Y, nica.NICA(random_state=0).separate(X))


def test_a_signal_that_was_ignored_from_the_start_is_ignored(tmp_path, lines):
    """As under nohup: the end of the terminal does not end the run."""
    X, text = lines
    out, saved = tmp_path / "out.npy", tmp_path / "run.st"
    command = ["sh", "-c", "trap '' HUP INT; exec \"$@\"", "-"]
    command += [*SEPARATE, "-", "-o", str(out), "--checkpoint", str(saved), *QUICK]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        process.stdin.write(text[: len(text) // 2])
        process.stdin.flush()
        while not saved.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        process.stdin.write(text[len(text) // 2 :])
        process.communicate()
    assert process.returncode == 0
    np.testing.assert_array_equal(np.load(out), nica.NICA(random_state=0).separate(X))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_killed_while_it_loads(tmp_path, lines, number):
    """No traceback, whatever is being imported."""
    np.save(tmp_path / "x.npy", lines[0])
    command = [*SEPARATE, str(tmp_path / "x.npy"), "-o", str(tmp_path / "y.npy"), "-q"]
    for wait in (0.1, 0.3, 0.5, 0.8):
        with subprocess.Popen(
            [sys.executable, "-c", LOADING, str(wait), str(int(number)), *command[3:]],
            stderr=subprocess.PIPE,
        ) as process:
            said = process.stderr.read().decode()
        assert (process.returncode, said) in [
            (-number, ""), (-number, f"nica: stopped by {number.name}; nothing was saved yet\n"),
            (-number, f"nica: stopped by {number.name}\n"), (0, ""),
        ]  # fmt: skip
