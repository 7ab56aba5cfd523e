"""The Python of the pages runs: the blocks of a page one after another, in a folder of its own.

A block that needs what a test cannot have stands behind ``<!-- not run: why -->``. Beside the blocks
there are files of the names that the pages use, and ``X``, 20,000 samples of three sources.
"""

import re
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import nica

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?P<not_run><!-- not run: [^\n]+ -->\n+)?```python\n(?P<code>.*?)^```$", re.M | re.S
)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "_build" not in page.parts and "```python" in page.read_text(encoding="utf-8")
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with small files to read, where the process stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    X = nica.datasets.make_mixture(n_samples=20_000, random_state=0).X
    np.save("big.npy", X)
    for name in ("mix.csv", "mix.parquet", "big.zarr"):
        with nica.streams.open_sink(name) as sink:
            sink.write(X)
    return X


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_the_page(page, folder):
    text = page.read_text(encoding="utf-8")
    names = {"nica": nica, "X": folder, "__name__": "page"}
    for block in BLOCK.finditer(text):
        if block["not_run"] is None:
            line = text.count("\n", 0, block.start("code"))
            code = compile("\n" * line + block["code"], str(page), "exec")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(code, names)


def test_every_block_is_seen():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(list(BLOCK.finditer(text))) == text.count("```python"), page


def test_the_index_of_equations_names_what_there_is():
    page = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
    results = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    rows = page.split("<!-- index")[1].split("<!-- /index")[0].splitlines()[3:]
    assert len(rows) > 20
    for row in rows:
        _, functions, kernel, test, figures = row.strip("|").split("|")
        for name in re.findall(r"`(.+?)`", functions):
            module, function = name.rsplit(".", 1)
            assert callable(getattr(import_module(module), function))
        file, *words = re.findall(r"`(.+?)`", kernel) or [""]
        core = (ROOT / "core" / file).read_text(encoding="utf-8") if file else ""
        assert all(re.search(rf"\b{word}\b", core) for word in words), kernel
        (test,) = re.findall(r"`(.+?)`", test)
        where, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / "tests" / where).read_text(encoding="utf-8"), test
        for anchor in re.findall(r"results\.md#(\w+)", figures):
            assert f"({anchor})=" in results


#: All that the sources point to outside. `make links` asks whether it is there, which needs a network.
ADDRESSES = {
    "https://doi.org/10.1162/neco_a_01007": "the paper",
    "https://keepachangelog.com/en/1.1.0/": "the form of the changelog",
    "https://riverml.xyz": "river",
    "https://semver.org/": "what versions mean",
}


def test_addresses_are_those_that_are_known():
    found = set()
    texts = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff"]
    for kind in ("docs/**/*.md", "examples/*", "src/**/*.py", "src/**/*.html"):
        texts += [str(path) for path in ROOT.glob(kind) if "_build" not in path.parts]
    for name in texts:
        text = (ROOT / name).read_text(encoding="utf-8")
        found.update(re.findall(r"https?://(?!127\.0\.0\.1|\{)[^\s\])>\"'`}]+", text))
    assert {address.rstrip(".,;") for address in found} == set(ADDRESSES)
    assert "doi: 10.1162/neco_a_01007\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_into_the_repository_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        assert link.startswith("https://") or (ROOT / path).exists(), link
        if anchor and not link.startswith("https://"):
            heads = re.findall(r"^#+ (.+)$", (ROOT / (path or name)).read_text("utf-8"), re.M)
            slugs = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]
            assert anchor in slugs, link
