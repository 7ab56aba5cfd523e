"""The page itself: headings, text, tables, and the file."""

from __future__ import annotations

import html
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from nica._version import __version__
from nica.plotting._palette import DARK, LIGHT, css


class Html(str):
    """Text that is HTML already; any other string is escaped where it enters a page."""


def page(title: str, lead: str, *parts: Html) -> Html:
    """Put a whole document together.

    Parameters
    ----------
    title : str
        Heading, also the name of the browser's tab.
    lead : str
        One line under the heading.
    *parts : Html
        What the other functions of this module return, from top to bottom.

    Returns
    -------
    Html
        The document, for `save`.

    Examples
    --------
    >>> document = page("Run 7", "two sources", paragraph("All is well."))
    >>> document.startswith("<!DOCTYPE html>")
    True
    """
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return Html(
        f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title>
<style>
{stylesheet()}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
{lines(parts)}
<footer>Made by nica {escape(__version__)}</footer>
</body>
</html>
"""
    )


def stylesheet() -> str:
    """Rules of all pages, in the reader's light or dark; printed pages are light."""
    rules = files("nica.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        f":root {{ color-scheme: light dark; {css(LIGHT)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {css(DARK)} }} }}\n{rules}"
    )


def save(document: Html, path: str | os.PathLike[str]) -> None:
    """Write a page under its final name whole, or not at all.

    Parameters
    ----------
    document : Html
        From `page`.
    path : path-like
        The file; an older one of that name is replaced.

    Raises
    ------
    OSError
        The folder is missing or not writable, or the disk is full; nothing is left behind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.html"
    ...     save(page("Run 7", "two sources"), path)
    ...     path.exists()
    True
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(document, encoding="utf-8", newline="\n")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def section(title: str, *parts: Html) -> Html:
    r"""Give some parts a common heading.

    Examples
    --------
    >>> section("Errors", paragraph("none"))
    '<section>\n<h2>Errors</h2>\n<p>none</p>\n</section>'
    """
    return Html(f"<section>\n<h2>{escape(title)}</h2>\n{lines(parts)}\n</section>")


def paragraph(text: str) -> Html:
    """Give a paragraph of text.

    Examples
    --------
    >>> paragraph("a < b")
    '<p>a &lt; b</p>'
    """
    return Html(f"<p>{escape(text)}</p>")


def note(text: str) -> Html:
    """Give small print.

    Examples
    --------
    >>> note("small print")
    '<p class="note">small print</p>'
    """
    return Html(f'<p class="note">{escape(text)}</p>')


def verdict(text: str, good: bool | None) -> Html:
    """Say in one line what came out, marked as good news, bad, or (None) neither.

    Examples
    --------
    >>> verdict("it separates", True)
    '<p class="verdict good">it separates</p>'
    """
    return Html(f'<p class="verdict {mood(good)}">{escape(text)}</p>')


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    n_names: int = 1,
    good: Sequence[bool] | None = None,
) -> Html:
    """Give a table whose first columns name the rows.

    Parameters
    ----------
    columns : sequence of str
        Headings.
    rows : iterable of sequences
        Cells, shown as ``str`` makes them.
    n_names : int, default=1
        How many columns hold names, which are set to the left; figures are set to the right.
    good : sequence of bool, default=None
        Marks the last cell of each row as good news or bad.

    Returns
    -------
    Html
        The table.

    Examples
    --------
    >>> found = table(["source", "error"], [["first", 0.25]])
    >>> "0.25</td>" in found
    True
    """
    styles = ["name"] * n_names + [""] * (len(columns) - n_names)
    head = "".join(
        f'<th scope="col" class="{style}">{escape(name)}</th>'
        for name, style in zip(columns, styles, strict=True)
    )
    body = []
    for i, row in enumerate(rows):
        kinds = styles if good is None else [*styles[:-1], mood(good[i])]
        cells = (
            f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(row, kinds, strict=True)
        )
        body.append(f"<tr>{''.join(cells)}</tr>")
    return Html(
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{lines(body)}\n</tbody>\n</table></div>"
    )


def parameters(values: Mapping[str, object]) -> Html:
    r"""List names and values, one to a line.

    Examples
    --------
    >>> parameters({"half_life": 1000})
    '<dl>\n<dt>half_life</dt><dd>1000</dd>\n</dl>'
    """
    return Html(
        "<dl>\n"
        + lines(
            f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in values.items()
        )
        + "\n</dl>"
    )


def versions() -> Html:
    """List what this ran on: nica, Python, the libraries below it, the machine.

    Examples
    --------
    >>> "<dt>nica</dt>" in versions()
    True
    """
    libraries = ("numpy", "scipy", "scikit-learn")
    return parameters(
        {
            "nica": __version__,
            "Python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in libraries},
            "Machine": f"{platform.system()} {platform.machine()}",
        }
    )


def escape(value: object) -> str:
    """Make a value safe to stand in HTML, unless it is `Html` already."""
    return value if isinstance(value, Html) else html.escape(str(value))


def lines(parts: Iterable[str]) -> str:
    """Join pieces of HTML, one to a line, so that the source of a page can be read."""
    return "\n".join(parts)


def mood(good: bool | None) -> str:
    """Name the style of good news, bad, or neither."""
    return "warn" if good is None else "good" if good else "bad"
