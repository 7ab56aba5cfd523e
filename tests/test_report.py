"""The page shows what it was given, whole, and asks nobody for anything."""

import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image

import nica
from nica import report
from nica.report._record import Extremes

VOID = {"meta", "img", "path", "circle"}  # elements without an end tag, as report writes them

# What a browser keeps as it stands: no control characters, and no line ends to normalise.
texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30)


class Reader(HTMLParser):
    """Collects text, addresses and tags, and checks that tags are nested."""

    def __init__(self, document):
        super().__init__()
        self.texts, self.addresses, self.tags, self.open = [], [], [], []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def full_page(text="a name"):
    rng = np.random.default_rng(0)
    return report.page(
        text,
        text,
        report.verdict(text, True),
        report.section(
            text,
            report.paragraph(text),
            report.note(text),
            report.table([text, text], [[text, 1.5], [text, text]], good=[True, False]),
            report.traces({text: rng.normal(size=(50, 3))}, names={text: [text] * 3}),
            report.bands(text, [[0.0], [1.0]], [[1.0], [2.0]], [text]),
            report.spectrum([9.0, 1.0], 1),
            report.picture(report.png(rng.random((2, 2))), text),
            report.curve([1, 10, 100], {text: [1, 0.1, 0.01]}, xlabel=text, ylabel=text),
            report.images({text: rng.random((2, 4, 5))}, [text, text]),
            report.parameters({text: text}),
            report.versions(),
        ),
    )


def test_page_is_well_formed_and_asks_nobody():
    page = full_page()
    reader = Reader(page)
    assert "default-src 'none'" in page
    assert len(reader.addresses) == 3
    assert all(address.startswith("data:image/png;base64,") for address in reader.addresses)
    assert not {"script", "link", "iframe", "object"} & set(reader.tags)
    assert "url(" not in page
    assert "@import" not in page


@given(texts)
def test_any_text_arrives_as_text(text):
    # In all the places where it is put, and without a tag more than a harmless text brings.
    reader = Reader(full_page(text))
    assert reader.tags == Reader(full_page()).tags
    if text.strip():
        assert sum(piece == text for piece in reader.texts) >= 14


def test_html_is_not_escaped_twice():
    inner = report.paragraph("1 < 2")
    assert inner == "<p>1 &lt; 2</p>"
    assert inner in report.section("title", inner)


def test_table_shows_cells_in_order_and_marks_the_last():
    table = report.table(["who", "what"], [["a", 1], ["b", 2]], good=[True, False])
    assert re.findall(r'<td class="(\w*)">(\w)</td>', table) == [
        ("name", "a"),
        ("good", "1"),
        ("name", "b"),
        ("bad", "2"),
    ]


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=20),
        elements=st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, -np.inf]),
    )
)
def test_png_decodes_to_the_image(image):
    decoded = Image.open(io.BytesIO(report.png(image)))
    assert decoded.mode == "L"
    finite = np.isfinite(image)
    expected = np.zeros(image.shape)
    if finite.any():
        low, high = image[finite].min(), image[finite].max()
        shown = (image[finite] - low) / (high - low) if high > low else 0.5
        expected[finite] = 255 * shown
    assert np.abs(np.asarray(decoded) - expected).max() <= 0.5


def paths(html):
    """Points of every trace, as a list of its unbroken pieces."""
    return [
        [np.array([point.split(" ") for point in piece.split("L")], float) for piece in pieces]
        for pieces in (
            path.split("M")[1:] for path in re.findall(r'class="trace"[^>]* d="([^"]*)"', html)
        )
    ]


def test_traces_share_a_scale_and_show_zero():
    html = report.traces({"x": [[0.0, -2.0], [1.0, 2.0], [0.5, 0.0]]})
    (first,), (second,) = paths(html)
    np.testing.assert_allclose(first, [[0, 32], [300, 18], [600, 25]])
    np.testing.assert_allclose(second, [[0, 60], [300, 4], [600, 32]])
    assert html.count('class="zero" d="M0 32.0H600"') == 2


def test_a_sample_that_is_not_finite_leaves_a_gap():
    ((before, after),) = paths(report.traces({"x": [[0.0], [1.0], [np.nan], [1.0], [0.0]]}))
    assert len(before) == len(after) == 2
    for nothing in ([[np.nan]], np.empty((0, 1))):
        assert paths(report.traces({"x": nothing})) == [[]]


def test_a_long_trace_keeps_its_extremes():
    y = np.random.default_rng(0).normal(size=100_000)
    y[[31_415, 92_653]] = 50, -50
    html = report.traces({"x": y[:, None]})
    ((points,),) = paths(html)
    assert len(points) <= 1200
    assert points[:, 1].min() == 4
    assert points[:, 1].max() == 60
    np.testing.assert_allclose(points[points[:, 1].argmin(), 0], 600 * 0.31415, atol=0.1)
    assert len(html) < 40_000


def test_curve_is_straight_for_a_power_law():
    t = np.geomspace(10, 1e5, 9)
    html = report.curve(
        t, {"error": 5 / t, "twice": 10 / t}, xlabel="t", ylabel="E", marks={"floor": 1e-4}
    )
    (first,), (second,) = paths(html)
    steps = np.diff(first, axis=0)
    assert np.ptp(steps, axis=0).max() <= 0.2  # points are rounded to a tenth
    assert (steps > 0).all()
    assert (second[:, 1] < first[:, 1]).all()
    for label in ("error", "twice", "floor", "10⁻⁴", "10⁵"):
        assert f">{label}</text>" in html


def test_save_writes_the_whole_page(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    report.save(full_page("σ ≥ 0"), path)
    assert path.read_text(encoding="utf-8") == full_page("σ ≥ 0")
    assert list(tmp_path.iterdir()) == [path]


def test_save_leaves_nothing_behind_when_it_fails(tmp_path):
    with pytest.raises(FileNotFoundError):
        report.save(full_page(), tmp_path / "missing" / "page.html")
    folder = tmp_path / "page.html"
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        report.save(full_page(), folder)
    assert list(tmp_path.iterdir()) == [folder]


# ------------------------------------------------------------------------------ whole runs


@given(
    st.lists(st.integers(0, 900), min_size=1, max_size=12), st.integers(0, 2**31), st.floats(0, 0.3)
)
def test_extremes_do_not_depend_on_the_chunks(sizes, seed, bad):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(sum(sizes), 2))
    Y[rng.random(Y.shape) < bad] = np.nan
    whole, parts = Extremes(2), Extremes(2)
    whole.add(Y)
    for rows in np.split(Y, np.cumsum(sizes)[:-1]):
        parts.add(rows)
    length, low, high = parts.get()
    np.testing.assert_array_equal(np.array([low, high]), whole.get()[1:])
    assert len(low) == -(-len(Y) // length) <= 1200
    with np.errstate(all="ignore"):
        for i in range(len(low)):
            stretch = Y[i * length : (i + 1) * length]
            np.testing.assert_array_equal(low[i], np.fmin.reduce(stretch, axis=0))
            np.testing.assert_array_equal(high[i], np.fmax.reduce(stretch, axis=0))


def test_a_long_and_wide_run_makes_a_small_page_that_says_what_it_left_out():
    rng = np.random.default_rng(0)
    record = report.Record()
    for _ in range(20):
        Y = np.abs(rng.normal(size=(20_000, 40)))
        record.add(np.hstack([Y] * 3), Y)
    page = report.separation(record, object(), source="x", run={"files": "y"})
    assert len(page.encode()) < 5_000_000 / 4
    assert "of every 512 samples. Of 40 sources the first 20 are shown." in page
    assert "Of 120 channels the first 20 are shown." in page
    assert "The last 200 of 400,000 samples" in page
    assert "Not diagnosed" in page


def test_the_verdict_comes_first_and_hostile_names_are_text():
    mixture = nica.datasets.make_mixture(n_samples=3000, random_state=0)
    model, name = nica.NICA(3, random_state=0), "<script>alert(1)</script>"
    record = report.Record.of(mixture.X, model.separate(mixture.X), model)
    diagnosis = nica.diagnose(mixture.X, model=model)
    page = report.separation(
        record, model, diagnosis=diagnosis, source=name, names=[name] * 3, run={name: name}
    )
    reader = Reader(page)
    assert "script" not in reader.tags
    assert reader.texts.count(name) >= 3 + 3 + 2  # channels twice, the run
    assert (
        page.index("OK: nothing speaks") < page.index("<h2>Sources") < page.index("<h2>Diagnosis")
    )
    assert "random_state" in page
    assert len(record.t) >= 1
    assert record.unexplained[-1] < 0.05
    found = report.diagnosed(diagnosis, source=name)
    assert "script" not in Reader(found).tags


def test_a_record_of_nothing_still_makes_a_page():
    assert "There were no samples." in report.separation(report.Record(), object())
    with pytest.raises(ValueError, match="give samples and their outputs"):
        report.Record.of(np.ones((3, 2)), np.ones((2, 2)))
    with pytest.raises(ValueError, match="no PNG file"):
        report.picture(b"GIF", "x")
