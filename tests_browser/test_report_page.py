"""Pages of a report in a browser: they open at once, ask nobody, and show hostile names as text."""

import time

import nica
from nica import report

HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_report_opens_at_once_and_asks_nobody(tab, tmp_path):
    mixture = nica.datasets.make_mixture(n_samples=1_000_000, random_state=0)
    model, record = nica.NICA(3, random_state=0), report.Record()
    for start in range(0, 1_000_000, 10_000):
        X = mixture.X[start : start + 10_000]
        record.add(X, model.separate(X), model)
    found = nica.diagnose(mixture.X, model=model)
    page = report.separation(
        record, model, diagnosis=found, source=HOSTILE, names=[HOSTILE] * 3, run={HOSTILE: HOSTILE}
    )
    path = tmp_path / "report.html"
    report.save(page, path)
    assert path.stat().st_size < 5_000_000
    begin = time.monotonic()
    opened = tab(path.as_uri())
    assert time.monotonic() - begin < 2
    assert all(url == path.as_uri() for url in opened.requests)
    assert opened.page.locator("img").count() == 0
    assert opened.page.locator("p.verdict").bounding_box()["y"] < 300
    opened.page.pdf(path=tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 10_000
