"""Live view and report under load, in a real browser: python -m benchmarks.live [--minutes 10].

Samples per second through the network while a page draws; pages per second; memory of server and page
over minutes of streaming; how soon the report of a run of 1e8 samples opens. Writes docs/live.md, between
its marks. Needs Chromium and Playwright (make test-browser installs the latter).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import nica
from benchmarks.pages import put
from nica import report

DOCS = Path(__file__).parent.parent / "docs" / "live.md"
COUNT = """() => {
    window.updates = 0;
    const data = Bokeh.documents[0].get_model_by_name("outputs-data");
    data.properties.data.change.connect(() => { window.updates += 1; });
}"""


class Served:
    """`nica live` in a process of its own, and a page that looks at it."""

    def __init__(self, browser, *options):
        command = [sys.executable, "-m", "nica", "live", "--no-browser", "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stderr.readline()).group()
        self.page = browser.new_page(viewport={"width": 1280, "height": 800})
        self.page.goto(self.url, timeout=60_000)
        self.page.wait_for_function("window.Bokeh && Bokeh.documents[0]?.is_idle", timeout=60_000)
        self.page.wait_for_timeout(3000)
        self.page.evaluate(COUNT)
        self.tools = self.page.context.new_cdp_session(self.page)

    def samples(self):
        text = self.page.evaluate("() => Bokeh.documents[0].get_model_by_name('status').text")
        return int(re.search(r"([\d,]+) samples<", text + "<")[1].replace(",", ""))

    def rates(self, seconds):
        """Samples and pictures per second."""
        before, begin = (
            (self.samples(), self.page.evaluate("() => window.updates")),
            time.monotonic(),
        )
        self.page.wait_for_timeout(1000 * seconds)
        after = self.samples(), self.page.evaluate("() => window.updates")
        took = time.monotonic() - begin
        return [(b - a) / took for a, b in zip(before, after, strict=True)]

    def memory(self):
        """MB of the server, and of the page's JavaScript after its garbage is collected."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        self.tools.send("HeapProfiler.collectGarbage")
        heap = self.tools.send("Runtime.getHeapUsage")["usedSize"]
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, heap / 1e6

    def close(self):
        self.page.close()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)


def speed(browser):
    """At full speed, and held back to a million samples per second, with a page open."""
    lines = ""
    for pace, words in (("full", "not held back"), ("1000000", "held back to a million samples/s")):
        served = Served(browser, "--speed", pace)
        try:
            samples, pictures = max(served.rates(5) for _ in range(3))
        finally:
            served.close()
        lines += (
            f"- {words}: {samples / 1e6:.1f} million samples/s of 3 channels went through the network, "
            f"while the page was drawn {pictures:.0f} times a second\n"
        )
    return lines


def memory(browser, minutes):
    """RSS and heap over time: the first minute, where caches fill, is left out."""
    served = Served(browser, "--speed", "100000")
    seen = []
    try:
        for _ in range(max(3, int(minutes * 4))):
            served.page.wait_for_timeout(15_000)
            seen.append(served.memory())
            print(
                f"  {len(seen) / 4:5.2f} min: server {seen[-1][0]:.0f} MB, page {seen[-1][1]:.1f} MB",
                flush=True,
            )
    finally:
        served.close()
    parts = np.array(seen[min(4, len(seen) // 2) :])
    half = len(parts) // 2
    first, last = np.median(parts[:half], axis=0), np.median(parts[half:], axis=0)
    return (
        f"- over {minutes:g} minutes at 100,000 samples/s: server {first[0]:.0f} MB in the first half, "
        f"{last[0]:.0f} MB in the second; the page's objects {first[1]:.1f} and {last[1]:.1f} MB\n"
    )


def opening(browser, n):
    """The page about a run of n samples."""
    mixture = nica.datasets.make_mixture(n_samples=1_000_000, random_state=0)
    model, record = nica.NICA(3, random_state=0), report.Record()
    while record.n_samples < n:
        for start in range(0, len(mixture.X), 50_000):
            X = mixture.X[start : start + 50_000]
            record.add(X, model.separate(X), model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        report.save(
            report.separation(record, model, diagnosis=nica.diagnose(mixture.X, model=model)), path
        )
        page, asked = browser.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        begin = time.monotonic()
        page.goto(path.as_uri())
        took, size = time.monotonic() - begin, path.stat().st_size
        page.close()
    others = [url for url in asked if url != path.as_uri()]
    return (
        f"- the report of {record.n_samples:,} samples: {size / 1e3:.0f} kB, opens in {took:.2f} s, asks "
        f"for {len(others)} other files\n"
    )


def main():
    """Measure, print, and write it into the docs."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--samples", type=float, default=1e8)
    options.add_argument("--only", choices=("speed", "memory", "report"))
    given = options.parse_args()
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        parts = {
            "speed": lambda: speed(browser),
            "report": lambda: opening(browser, given.samples),
            "memory": lambda: memory(browser, given.minutes),
        }
        lines = {name: part() for name, part in parts.items() if given.only in (None, name)}
        browser.close()
    print("".join(lines.values()), end="")
    for name, line in lines.items():
        put(DOCS, name, line.rstrip())


if __name__ == "__main__":
    main()
