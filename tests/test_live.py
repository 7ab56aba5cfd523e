"""The live view without a browser: inputs, the network's thread, the server's doors."""

import io
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from helpers import mixture
from typer.testing import CliRunner

import nica
from nica import live
from nica.cli import app
from nica.live import Generator, Images, Stream
from nica.live._feeds import Ring
from nica.live._page import MEMORIES, SPEEDS, Page
from nica.live._snapshot import History
from nica.live._worker import Worker


def wait(condition, seconds=20.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def network(**options):
    return nica.NICA(**{"n_components": 3, "random_state": 0, "half_life": 20_000.0, **options})


@pytest.fixture
def running():
    """Start workers, and stop them at the end."""
    started = []

    def start(model, feed, **options):
        worker = Worker(model, feed, **options)
        started.append(worker)
        worker.start()
        return worker

    yield start
    for worker in started:
        worker.stop()


def test_ring_keeps_the_last_rows():
    rng = np.random.default_rng(0)
    ring, rows = Ring(7, 2), rng.random((40, 2))
    done = 0
    for n in (1, 3, 0, 9, 7, 20):
        ring.put(rows[done : done + n])
        done += n
        np.testing.assert_array_equal(ring.last(5), rows[max(0, done - 5) : done])
        np.testing.assert_array_equal(ring.last(99), rows[max(0, done - 7) : done])


def test_history_is_bounded_and_spans_all():
    history = History(50)
    for t in range(10_000):
        history.add(t, -t)
    t, values = history.arrays()
    assert 20 <= len(t) < 50
    assert t[-1] > 9000
    np.testing.assert_array_equal(values, -t)


def test_a_stream_is_what_separate_gives(running):
    X = mixture(0, 5000, 3)[1]
    told = []
    feed = Stream([X[:10], X[10:3000], X[3000:]], "three pieces")
    worker = running(network(), feed, tell=told.append)
    wait(lambda: worker.snapshot.state == "ended")
    assert worker.snapshot.seen == 5000
    first, Y = worker.outputs().result(5)
    assert first == 0
    np.testing.assert_array_equal(Y, network().separate(X))
    assert told == ["the stream has ended after 5,000 samples"]


def test_sources_emerge_and_jump_and_drift_are_followed(running):
    worker = running(network(half_life=5000.0), Generator(3, 0))
    wait(lambda: (worker.snapshot.error or 9) < 1e-2)
    worker.jump().result(5)
    seen = worker.snapshot.seen
    wait(lambda: worker.snapshot.seen > seen + 100_000 and worker.snapshot.error < 1e-2)
    worker.turn(drift=10.0)
    angle = worker.feed.angle
    wait(lambda: worker.feed.angle > angle + 5)
    errors = []
    for _ in range(10):
        time.sleep(0.05)
        errors.append(worker.snapshot.error)
    assert max(errors) < 3e-2
    assert worker.snapshot.truth


def test_images_come_out_of_their_mixtures(running):
    pytest.importorskip("skimage")
    rate = nica.rates.Activity(5.0, 0.8)
    worker = running(network(n_components=4, half_life=None, separation_rate=rate), Images(0))
    wait(lambda: worker.snapshot.whole is not None and worker.snapshot.error < 0.2)
    s = worker.snapshot
    assert s.whole.shape == (63 * 63, 8)
    match = nica.metrics.match_sources(worker.feed.S, s.whole[:, 4:])
    assert match.permutation.tolist() == [0, 1, 2, 3]
    assert match.correlation.min() > 0.9


def test_a_folder_of_images_is_seen_as_images(running):
    class Chunks(list):
        columns, name, image_shape = ["a", "b", "c"], "folder", (20, 30)

    X = mixture(0, 600, 3)[1]
    worker = running(network(), Stream(Chunks([X[:70], X[70:]])))
    wait(lambda: worker.snapshot.state == "ended" and worker.snapshot.whole is not None)
    whole = worker.snapshot.whole
    np.testing.assert_array_equal(whole[:, :3], X)
    np.testing.assert_array_equal(whole[:, 3:], worker.model.transform(X))


def test_speed_pause_reset_and_half_life(running):
    worker = running(network(), Generator(3, 0), speed=2000.0)
    wait(lambda: worker.snapshot.seen > 1000)
    start, seen = time.monotonic(), worker.snapshot.seen
    wait(lambda: worker.snapshot.seen > seen + 1500)
    assert 0.4 < time.monotonic() - start < 3
    worker.pause(True)
    wait(lambda: worker.snapshot.state == "paused")
    seen = worker.snapshot.seen
    time.sleep(0.2)
    assert worker.snapshot.seen == seen
    worker.pause(False)
    w_yh = worker.model.w_yh_.copy()
    worker.pause(True)
    wait(lambda: worker.snapshot.state == "paused")
    worker.set_half_life(700.0).result(5)
    assert worker.model.half_life == 700.0
    assert worker.model.n_samples_seen_ == worker.snapshot.seen
    assert np.abs(worker.model.w_yh_ - w_yh).max() < 0.2
    before = worker.version
    worker.reset().result(5)
    assert not worker.model.__sklearn_is_fitted__()
    assert worker.version > before
    worker.pause(False)
    wait(lambda: worker.snapshot.error is not None)


def test_bad_samples_are_left_out_and_told(running):
    X = mixture(0, 3000, 3)[1]
    X[[100, 2000], [1, 2]] = np.nan, np.inf
    told = []
    worker = running(network(), Stream(X), tell=told.append)
    wait(lambda: worker.snapshot.state == "ended")
    assert (worker.snapshot.seen, worker.snapshot.bad) == (2998, 2)
    assert any("nan in channel 1: such samples are left out" in text for text in told)
    np.testing.assert_array_equal(
        worker.outputs().result(5)[1], network().separate(X[np.isfinite(X).all(axis=1)])
    )


def test_a_stream_that_stalls_or_breaks_is_told(running):
    go_on = threading.Event()

    def stalls():
        yield mixture(0, 500, 3)[1]
        go_on.wait(20)
        raise ValueError("line 501: 'x' is no number")

    told = []
    worker = running(network(), Stream(stalls(), "stalls"), tell=told.append)
    wait(lambda: worker.snapshot.state.startswith("no samples for "))
    assert len(worker.file().result(5)) > 1000  # orders are carried out while it waits
    go_on.set()
    wait(lambda: worker.snapshot.state == "ended")
    assert told[0] == "ValueError: line 501: 'x' is no number"
    assert worker.snapshot.seen == 500


def test_a_network_that_cannot_take_the_samples_says_so(running):
    worker = running(network(), Stream(np.ones((10, 2))))
    wait(lambda: worker.snapshot.state == "ended")
    assert "X has 2 channels but n_components=3" in worker.snapshot.message


# --------------------------------------------------------------------------------- page, server


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read()


def status(url, **headers):
    try:
        get(url, **headers)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


@pytest.fixture(scope="module")
def view():
    X = mixture(0, 4000, 3)[1]
    with live.view(network(), X) as view:
        wait(lambda: view.worker.snapshot.state == "ended")
        yield view


def test_it_serves_page_model_and_outputs(view, tmp_path):
    page = get(view.url).decode()
    assert "nica live" in page
    assert "cdn.bokeh.org" not in page
    (tmp_path / "m.safetensors").write_bytes(get(view.url + "model.safetensors"))
    assert nica.load(tmp_path / "m.safetensors").n_samples_seen_ == 4000
    rows = np.loadtxt(io.BytesIO(get(view.url + "outputs.csv")), delimiter=",", skiprows=1)
    np.testing.assert_array_equal(rows[:, 0], np.arange(4000))
    np.testing.assert_array_equal(rows[:, 1:], network().separate(mixture(0, 4000, 3)[1]))
    assert view.url in view._repr_html_()


def test_it_listens_on_loopback_and_refuses_other_names(view):
    sockets = view._server._http._sockets.values()
    assert {one.getsockname()[0] for one in sockets} == {"127.0.0.1"}
    for path in ("alive", "model.safetensors", "outputs.csv"):
        assert status(view.url + path, Host=f"evil.example:{view.port}") == 403
    for path in ("../etc/passwd", "model.safetensors/../../x", "static/../../../etc/passwd"):
        assert status(view.url + path) in (403, 404)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null"])
def test_websockets_of_other_pages_are_refused(view, origin):
    def answer(origin):
        lines = [
            "GET /ws HTTP/1.1", f"Host: 127.0.0.1:{view.port}", "Upgrade: websocket",
            "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Origin: {origin}",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: bokeh, x",
        ]  # fmt: skip
        with socket.create_connection(("127.0.0.1", view.port), timeout=10) as door:
            door.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return door.recv(100).split()[1]

    assert answer(origin) == b"403"
    assert answer(f"http://127.0.0.1:{view.port}") == b"101"


def test_a_port_in_use_is_named(view):
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{view.port}.*another port"):
        live.view(network(), np.ones((10, 3)), port=view.port)


def test_all_text_from_data_is_escaped(running):
    name = "<img src=x onerror=alert(1)>"
    feed = Stream(mixture(0, 900, 3)[1], name)
    feed.columns = [name, "$$x$$", "c" * 300]
    worker = running(network(), feed)
    wait(lambda: worker.snapshot.state == "ended")

    class Silent:
        def html(self):
            return ""

    page = Page(worker, Silent())
    page.tick()
    assert "<img" not in page.status.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.status.text
    labels = page.panels[0].figure.yaxis[0].major_label_overrides.values()
    assert {type(label).__name__ for label in labels} == {"PlainText"}
    assert max(len(label.text) for label in labels) <= 14


def test_the_page_sets_only_what_it_offers(running):
    worker = running(network(), Generator(3, 0), speed=100.0)

    class Silent:
        def html(self):
            return ""

    page = Page(worker, Silent())
    known = {control.name: control for control in page.controls}
    known["speed"].trigger("value", "full", "/etc/passwd")
    assert worker.speed == 100.0
    known["speed"].trigger("value", "full", "1,000/s")
    assert worker.speed == 1000.0
    known["half-life"].trigger("value", "all", "5,000")
    wait(lambda: worker.model.half_life == 5000.0)
    page.paint("dark'><script>")
    assert set(SPEEDS.values()) > {None, 1000.0}
    assert None in MEMORIES.values()


def test_the_light_is_the_diagnosis_with_its_reasons(view):
    view.judge.look()
    assert view.judge.found.verdict == "OK"
    light = view.judge.html()
    assert "var(--good)" in light
    assert "<summary>" in light
    assert "4,000 samples of 3 channels" in light


def test_a_missing_library_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("nica.live._server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "bokeh.server.server", None)
    with pytest.raises(ImportError, match=r"pip install nica\[live\]"):
        live.view(network(), np.ones((10, 3)))


def test_the_command_watches_a_pipe_that_waits_and_ends_on_an_interrupt():
    command = [sys.executable, "-m", "nica", "live", "-", "-n", "3", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for row in mixture(0, 200, 3)[1].tolist():
            print(*row, sep=",", file=process.stdin, flush=True)
        url = process.stderr.readline().split()[2]
        wait(lambda: get(url + "outputs.csv").count(b"\n") == 201)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["none.csv"], "no file 'none.csv'"),
        (["none.csv", "--images"], "give a file or --images, not both"),
        (["--speed", "fast"], "--speed fast: give a number from 1, or full"),
        (["-n", "x"], "-n x: give a number from 1, or auto"),
    ],
)
def test_the_command_says_what_is_wrong(options, text):
    result = CliRunner().invoke(app, ["live", "--no-browser", *options])
    assert result.exit_code == 1
    assert text in result.stderr


def test_the_command_names_a_port_in_use(view):
    result = CliRunner().invoke(app, ["live", "--no-browser", "--port", str(view.port)])
    assert result.exit_code == 1
    assert "choose another port" in result.stderr
