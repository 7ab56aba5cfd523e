"""Figures of a page: signals, curves and images, drawn without a plotting library."""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nica.report._page import Html, escape, lines

FloatArray = NDArray[np.float64]

N_COLORS = 6  # --c0 to --c5 in style.css
MAX_POINTS = 1200  # of one trace; more than a page is wide in pixels would not be seen
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def traces(
    panels: Mapping[str, ArrayLike],
    *,
    plain: Collection[str] = (),
    names: Mapping[str, Sequence[str]] | None = None,
) -> Html:
    """Show signals as lines: a panel for each group, in it a strip for each column.

    All strips of a panel share one scale, and zero is drawn, so that a negative value is seen as
    one. Samples that are not finite leave a gap.

    Parameters
    ----------
    panels : mapping of str to array-like of shape (n_samples, n_columns)
        Caption and signals of each group; column j has the same colour in every panel.
    plain : collection of str, default=()
        Panels without colours, because their columns do not correspond to those of the others.
    names : mapping of str to sequence of str, default=None
        Names of the columns of some panels.

    Returns
    -------
    Html
        The panels, side by side where there is room.

    Examples
    --------
    >>> import numpy as np
    >>> "<svg" in traces({"outputs": np.eye(3)})
    True
    """
    figures = []
    for caption, signals in panels.items():
        Y = np.asarray(signals, dtype=np.float64)
        low, high = _span(np.append(Y, 0.0))
        zero = 60 - 56 * _share(0.0, low, high)
        labels = (names or {}).get(caption)
        strips = [
            ("" if labels is None else f'<span class="name">{escape(labels[j])}</span>')
            + '<svg viewBox="0 0 600 64" height="64" preserveAspectRatio="none" aria-hidden="true">'
            f'<path class="zero" d="M0 {zero:.1f}H600"/>'
            f'<path class="trace" stroke="{"var(--soft)" if caption in plain else _color(j)}" '
            f'd="{_trace(y, low, high)}"/></svg>'
            for j, y in enumerate(Y.T)
        ]
        figures.append(
            f"<figure><figcaption>{escape(caption)}</figcaption>\n{lines(strips)}</figure>"
        )
    return Html(f'<div class="panels">\n{lines(figures)}\n</div>')


def curve(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    xlabel: str,
    ylabel: str,
    marks: Mapping[str, float] | None = None,
) -> Html:
    """Show positive quantities over a positive one, both on logarithmic axes.

    Parameters
    ----------
    x : array-like of shape (n,)
        Abscissae, increasing.
    curves : mapping of str to array-like of shape (n,)
        Label and ordinates of each line.
    xlabel, ylabel : str
        What the axes are.
    marks : mapping of str to float, default=None
        Label and height of horizontal lines to compare with.

    Returns
    -------
    Html
        The figure.

    Examples
    --------
    >>> "<svg" in curve([1, 10, 100], {"error": [1, 0.1, 0.01]}, xlabel="samples", ylabel="error")
    True
    """
    t = np.log10(np.asarray(x, dtype=np.float64))
    series = {name: np.log10(np.asarray(y, dtype=np.float64)) for name, y in curves.items()}
    levels = {name: float(np.log10(value)) for name, value in (marks or {}).items()}
    heights = np.concatenate([*series.values(), list(levels.values())])
    bottom, top = int(np.floor(heights.min())), int(np.ceil(heights.max()))
    left, right, width, base = float(t[0]), float(t[-1]), 640, 236

    def across(value: float) -> float:
        return 48 + width * float(_share(value, left, right))

    def down(value: float) -> float:
        return base - 220 * float(_share(value, bottom, top))

    def label(x: float, y: float, text: str, style: str = "") -> str:
        return f'<text x="{x:.1f}" y="{y + 4:.1f}"{style}>{escape(text)}</text>'

    def rule(y: float, kind: str) -> str:
        return f'<path class="{kind}" d="M48 {y:.1f}h{width}"/>'

    parts = []
    for power in range(bottom, top + 1):
        parts.append(rule(down(power), "grid"))
        parts.append(label(40, down(power), _power_of_ten(power), ' text-anchor="end"'))
    for power in range(int(np.ceil(left)), int(np.floor(right)) + 1):
        parts.append(label(across(power), base + 18, _power_of_ten(power), ' text-anchor="middle"'))
    parts.append(label(48 + width / 2, base + 40, xlabel, ' text-anchor="middle"'))
    for name, level in levels.items():
        parts.append(rule(down(level), "mark"))
        parts.append(label(56 + width, down(level), name))
    for j, (name, y) in enumerate(series.items()):
        points = "L".join(f"{across(a):.1f} {down(b):.1f}" for a, b in zip(t, y, strict=True))
        parts.append(f'<path class="trace" stroke="{_color(j)}" d="M{points}"/>')
        parts.append(label(56 + width, down(y[-1]), name, f' style="fill:{_color(j)}"'))
    return Html(
        f'<figure class="curve"><figcaption>{escape(ylabel)}</figcaption>\n'
        f'<svg viewBox="0 0 860 286" role="img" aria-label="{escape(ylabel)}">\n'
        f"{lines(parts)}\n</svg></figure>"
    )


def images(rows: Mapping[str, Sequence[ArrayLike]], captions: Sequence[str] | None = None) -> Html:
    """Show rows of grey images, each scaled to its own range.

    Parameters
    ----------
    rows : mapping of str to sequence of array-like of shape (height, width)
        Name of each row, and its images.
    captions : sequence of str, default=None
        Written under the columns.

    Returns
    -------
    Html
        The rows as a grid.

    Examples
    --------
    >>> import numpy as np
    >>> "<img" in images({"sources": [np.eye(4), np.ones((4, 4))]})
    True
    """
    n_columns = max(len(row) for row in rows.values())
    cells = []
    for name, row in rows.items():
        cells.append(f"<span>{escape(name)}</span>")
        for j, image in enumerate(row):
            data = base64.b64encode(png(image)).decode("ascii")
            source = f'src="data:image/png;base64,{data}"'
            cells.append(f'<img {source} alt="{escape(name)}, {j + 1} of {len(row)}">')
        cells.extend("<span></span>" for _ in range(n_columns - len(row)))
    if captions is not None:
        cells.append("<span></span>")
        cells.extend(f"<figcaption>{escape(caption)}</figcaption>" for caption in captions)
    columns = f"grid-template-columns:5.5rem repeat({n_columns},minmax(0,1fr))"
    return Html(f'<div class="strip" style="{columns}">\n{lines(cells)}\n</div>')


def png(image: ArrayLike) -> bytes:
    """Encode a grey image as PNG, its smallest value black and its largest white.

    Parameters
    ----------
    image : array-like of shape (height, width)
        Values that are not finite are drawn black.

    Returns
    -------
    bytes
        The file.

    Examples
    --------
    >>> import numpy as np
    >>> png(np.eye(4))[1:4]
    b'PNG'
    """
    values = np.asarray(image, dtype=np.float64)
    low, high = _span(values)
    shown = np.where(np.isfinite(values), _share(values, low, high), 0.0)
    grey = np.rint(255 * shown).astype(np.uint8)
    height, width = grey.shape
    # Each row starts with its filter: 0, none.
    rows = np.hstack([np.zeros((height, 1), np.uint8), grey]).tobytes()

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    eight_bit_grey = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", eight_bit_grey)
        + chunk(b"IDAT", zlib.compress(rows, 9))
        + chunk(b"IEND", b"")
    )


def _span(values: FloatArray) -> tuple[float, float]:
    """Smallest and largest finite value."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _share(value: ArrayLike, start: float, end: float) -> Any:
    """How far along the way from start to end, 0 to 1; half-way if they are the same."""
    way = end - start
    return (np.asarray(value) - start) / way if way else np.full(np.shape(value), 0.5)


def _trace(y: FloatArray, low: float, high: float) -> str:
    """Path of one signal in a box of 600 by 64, with gaps where it is not finite."""
    index = _seen(y)
    x = 600 * _share(index, 0, max(len(y) - 1, 1))
    height = 60 - 56 * _share(y[index], low, high)
    path, pen = [], "M"
    for a, b, known in zip(x, height, np.isfinite(y[index]), strict=True):
        if known:
            path.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L" if known else "M"
    return "".join(path)


def _seen(y: FloatArray) -> NDArray[np.intp]:
    """Which samples to draw: all, or the extremes of each stretch of a long signal."""
    if len(y) <= MAX_POINTS:
        return np.arange(len(y))
    bounds = np.linspace(0, len(y), MAX_POINTS // 2 + 1).astype(np.intp)
    known = np.where(np.isfinite(y), y, 0.0)
    ends = [
        (a + known[a:b].argmin(), a + known[a:b].argmax()) for a, b in itertools.pairwise(bounds)
    ]
    return np.unique(ends)


def _color(j: int) -> str:
    return f"var(--c{j % N_COLORS})"


def _power_of_ten(power: int) -> str:
    return f"10{str(power).translate(SUPERSCRIPTS)}"
