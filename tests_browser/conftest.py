"""A real browser for the tests: the system's Chromium, headless, driven by Playwright."""

import os
import shutil
import time

import pytest

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    pytest.exit("these tests need Playwright's Python package: make test-browser installs it", 2)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser():
    """Path of the browser; CHROMIUM names another."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.exit("these tests need Chromium (sudo apt install chromium), or CHROMIUM=path", 2)
    return path


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


class Tab:
    """A page, with all that went wrong on it and all that it asked of others."""

    def __init__(self, context, url):
        self.page = context.new_page()
        self.errors, self.requests = [], []
        self.page.on(
            "console",
            lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss())
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)

    def ready(self):
        self.page.wait_for_function("window.Bokeh && Bokeh.documents[0]?.is_idle")
        self.wait(lambda: self.data("error-data", "error"))
        return self

    def data(self, name, column):
        return self.page.evaluate(
            """([name, column]) => {
                const found = Bokeh.documents[0].get_model_by_name(name).data[column];
                return Array.from(found, (row) => row.length === undefined || typeof row === "string"
                    ? row : Array.from(row));
            }""",
            [name, column],
        )

    def count_updates(self, seconds):
        """Times per second that the outputs were drawn anew."""
        self.page.evaluate("""() => {
            window.updates = 0;
            const data = Bokeh.documents[0].get_model_by_name("outputs-data");
            data.properties.data.change.connect(() => { window.updates += 1; });
        }""")
        begin = time.monotonic()
        self.page.wait_for_timeout(1000 * seconds)
        return self.page.evaluate("() => window.updates") / (time.monotonic() - begin)

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def status(self):
        return self.page.evaluate("() => Bokeh.documents[0].get_model_by_name('status').text")

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < end, f"it did not happen in {seconds} s"
            self.page.wait_for_timeout(50)
        return found


@pytest.fixture
def tab(chromium):
    """Open pages, and see at the end that nothing went wrong on them."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(30_000)
    opened = []

    def open_tab(url, **options):
        opened.append(Tab(context, url))
        return opened[-1]

    yield open_tab
    context.close()
    assert [error for one in opened for error in one.errors] == []
