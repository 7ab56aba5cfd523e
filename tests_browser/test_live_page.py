"""The live view in a browser: it draws, it obeys, it survives; state is checked on the server's side."""

import os
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

import nica
from nica import live

HOSTILE = "<img src=x onerror=alert(1)>"


def network(**options):
    return nica.NICA(**{"n_components": 3, "random_state": 0, "half_life": 20_000.0, **options})


@pytest.fixture
def view():
    with live.view(network(), live.Generator(3, 0), speed=10_000) as view:
        yield view


def test_it_draws_without_errors_and_asks_nobody_else(view, tab):
    page = tab(view.url).ready()
    before = page.data("outputs-data", "ys")
    assert len(before) == 3
    page.wait(lambda: page.data("outputs-data", "ys") != before)
    assert all(url.startswith((view.url, "data:")) for url in page.requests)
    assert page.count_updates(2) > 1  # how many: benchmarks/live.py
    # What is drawn is what the network emitted.
    view.worker.pause(True)
    page.wait(lambda: "paused" in page.status())
    page.page.wait_for_timeout(300)
    drawn = np.array(page.data("outputs-data", "ys"))
    Y = view.worker.snapshot.Y
    size = Y.max() - min(Y.min(), 0)
    np.testing.assert_allclose(drawn, Y.T / size * 0.88 + [[2], [1], [0]], atol=1e-5)


def test_sources_emerge_and_follow_the_mixing(tab):
    command = [sys.executable, "-m", "nica", "live", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://\S+", process.stderr.readline()).group()
            page = tab(url).ready()
            page.wait(lambda: page.data("error-data", "error")[-1] < 1e-2, 20)
            page.button("New mixing").click()
            page.wait(lambda: page.data("error-data", "error")[-1] > 1e-2, 10)
            page.wait(lambda: page.data("error-data", "error")[-1] < 1e-2, 20)
            page.button("Drift").click()
            page.page.wait_for_timeout(3000)
            assert np.median(page.data("error-data", "error")[-20:]) < 1e-2
            page.page.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)


def test_each_control_does_what_it_says(view, tab, tmp_path):
    page = tab(view.url).ready()
    worker = view.worker
    page.button("Pause").click()
    page.wait(lambda: worker.paused)
    page.button("Resume").click()
    page.wait(lambda: not worker.paused)
    page.page.get_by_label("speed").select_option("1,000/s")
    page.wait(lambda: worker.speed == 1000.0)
    page.page.get_by_label("half-life, samples").select_option("5,000")
    page.wait(lambda: worker.model.half_life == 5000.0)
    A = worker.feed.A
    page.button("New mixing").click()
    page.wait(lambda: not np.array_equal(worker.feed.A, A))
    handle = page.page.locator(".noUi-handle")
    handle.focus()
    handle.press("ArrowRight")
    page.wait(lambda: worker.feed.angle >= 1)
    page.button("Drift").click()
    page.wait(lambda: worker.feed.drift > 0)
    page.button("Drift").click()
    page.wait(lambda: worker.feed.drift == 0)
    version = worker.version
    page.button("Reset").click()
    page.wait(lambda: worker.version > version)
    page.wait(lambda: worker.snapshot.weights)
    for name in ("Save model", "Export outputs", "Snapshot"):
        with page.page.expect_download() as download:
            page.button(name).click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
    assert nica.load(tmp_path / "model.safetensors").n_components_ == 3
    rows = np.loadtxt(tmp_path / "outputs.csv", delimiter=",", skiprows=1)
    assert rows.shape[1] == 4
    with Image.open(tmp_path / "nica-live.png") as picture:
        assert picture.size == (1280, 800)
        assert len(np.unique(np.asarray(picture.convert("L")))) > 50


def test_the_light_tells_its_reason_when_clicked(view, tab):
    page = tab(view.url).ready()
    page.wait(lambda: view.judge.found is not None)
    page.page.locator("summary").click()
    page.page.get_by_text("nothing speaks against these sources").wait_for()


def test_images_come_as_a_whole_or_pixel_by_pixel(tab):
    pytest.importorskip("skimage")
    model = nica.NICA(4, separation_rate=nica.rates.Activity(5.0, 0.8), random_state=0)
    with live.view(model, live.Images(0), speed=4000) as view:
        page = tab(view.url).ready()
        page.page.get_by_label("images").select_option("pixel by pixel")
        page.wait(lambda: len(page.data("outputs-data", "image")) == 4)
        page.page.get_by_label("images").select_option("as a whole")
        page.wait(lambda: view.worker.snapshot.error < 0.3)


def test_five_tabs_see_the_same_stream_and_none_is_needed(view, tab):
    pages = [tab(view.url).ready() for _ in range(5)]
    pages[0].button("Pause").click()
    for page in pages:
        page.wait(lambda page=page: page.button("Resume").is_visible())
    same = [page.data("outputs-data", "ys") for page in pages]
    assert all(one == same[0] for one in same)
    pages[1].button("Resume").click()
    for page in pages:
        page.page.close()
    seen = view.worker.snapshot.seen
    assert pages[0].errors == []
    time.sleep(0.5)
    assert view.worker.snapshot.seen > seen


def test_a_killed_server_is_told_and_a_new_one_found(tab, unused_port):
    command = [sys.executable, "-m", "nica", "live", "--no-browser", "--port", str(unused_port)]

    def begin():
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert "Live view" in process.stderr.readline()
        return process

    first = begin()
    page = tab(f"http://127.0.0.1:{unused_port}/").ready()
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    page.page.get_by_text("disconnected").wait_for()
    second = begin()
    try:
        page.page.get_by_text("disconnected").wait_for(state="hidden")
        page.ready()
        page.page.close()
        # The browser tells of each request that nobody answered; nothing else may have gone wrong.
        unanswered = re.compile("ERR_CONNECTION|websocket|connection", re.I)
        page.errors[:] = [error for error in page.errors if not unanswered.search(error)]
    finally:
        second.send_signal(signal.SIGINT)
        second.communicate(timeout=10)


def test_hostile_names_are_text(tab):
    S = nica.datasets.sparse_uniform(3000, 3, random_state=0)
    feed = live.Stream(S @ nica.datasets.MIXING_3.T, f"{HOSTILE}<script>window.hacked = 1</script>")
    feed.columns = [HOSTILE, r"$$\frac{1}{2}$$", "</script><script>window.hacked = 1</script>"]
    with live.view(network(), feed) as view:
        page = tab(view.url)
        page.page.wait_for_function("window.Bokeh && Bokeh.documents[0]?.is_idle")
        page.wait(lambda: "ended" in page.status())
        page.page.get_by_text(HOSTILE).wait_for()
        assert page.page.evaluate("() => window.hacked") is None
        assert page.page.locator("img").count() == 0


def test_a_stream_that_ends_or_stalls_is_told_on_the_page(tab):
    with live.view(network(), nica.datasets.make_mixture(n_samples=900, random_state=0).X) as view:
        page = tab(view.url)
        page.page.get_by_text("ended").wait_for()
        assert view.worker._thread.is_alive()


@pytest.fixture
def unused_port():
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]
