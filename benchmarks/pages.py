"""Measured figures in documents: between two comments, written by the benchmark that measured them."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, name: str, text: str) -> None:
    """Put text between ``<!-- name -->`` and ``<!-- /name -->``."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    page = path.read_text()
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"{path} must have {begin} and {end} once each")
    head, rest = page.split(begin)
    path.write_text(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")
