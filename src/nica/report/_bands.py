"""Figures of a whole run: extremes over time, the spectrum of the channels, pictures made elsewhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from nica.report._figures import _color, _share, _span
from nica.report._page import Html, escape, lines

MAX_DIRECTIONS = 200  # of a spectrum


def bands(caption: str, low: ArrayLike, high: ArrayLike, names: Sequence[str]) -> Html:
    """Show the least and largest values of each signal, stretch by stretch, on one scale.

    Parameters
    ----------
    caption : str
        Says how long a stretch is.
    low, high : array-like of shape (n_stretches, n_columns)
        Extremes; a stretch without finite values leaves a gap.
    names : sequence of str
        Of the columns.

    Returns
    -------
    Html
        A strip for each column.

    Examples
    --------
    >>> "<svg" in bands("a stretch is 100 samples", [[0], [0]], [[1], [2]], ["source 0"])
    True
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    bottom, top = _span(np.concatenate([low.ravel(), high.ravel(), [0.0]]))
    zero = 60 - 56 * _share(0.0, bottom, top)
    strips = []
    for j, name in enumerate(names):
        known = np.isfinite(low[:, j]) & np.isfinite(high[:, j])
        x = 600 * _share(np.arange(len(low)), 0, max(len(low) - 1, 1))
        up = 60 - 56 * _share(high[:, j], bottom, top)
        down = 60 - 56 * _share(low[:, j], bottom, top)
        pieces = []
        for run in np.split(np.arange(len(low)), np.flatnonzero(np.diff(known.astype(int))) + 1):
            if len(run) and known[run[0]]:
                there = [f"{x[i]:.1f} {up[i]:.1f}" for i in run]
                back = [f"{x[i]:.1f} {down[i]:.1f}" for i in run[::-1]]
                pieces.append(f"M{'L'.join([*there, *back])}Z")
        strips.append(
            f'<span class="name">{escape(name)}</span>'
            '<svg viewBox="0 0 600 64" height="64" preserveAspectRatio="none" aria-hidden="true">'
            f'<path class="zero" d="M0 {zero:.1f}H600"/>'
            f'<path class="band" style="--fill:{_color(j)}" d="{"".join(pieces)}"/></svg>'
        )
    return Html(
        f'<div class="panels"><figure><figcaption>{escape(caption)}</figcaption>\n'
        f"{lines(strips)}</figure></div>"
    )


def spectrum(values: ArrayLike, n_components: int) -> Html:
    """Show the variances of the directions on a logarithmic axis; those of sources are filled.

    Parameters
    ----------
    values : array-like of shape (n_channels,)
        Variance over noise, largest first (`nica.estimate_n_components`).
    n_components : int
        Number of sources.

    Returns
    -------
    Html
        The figure.

    Examples
    --------
    >>> "<svg" in spectrum([50, 20, 1.1, 0.9], 2)
    True
    """
    shown = np.log10(np.maximum(np.asarray(values, dtype=np.float64)[:MAX_DIRECTIONS], 1e-300))
    bottom, top = int(np.floor(shown.min())), int(np.ceil(shown.max()))
    x = 60 + 640 * _share(np.arange(len(shown)), 0, max(len(shown) - 1, 1))
    y = 150 - 130 * np.asarray(_share(shown, bottom, max(top, bottom + 1)))
    parts = [
        f'<text x="40" y="{height + 4}" text-anchor="end">{10.0**power:g}</text>'
        f'<path class="grid" d="M48 {height}h664"/>'
        for power, height in ((bottom, 150), (max(top, bottom + 1), 20))
    ]
    parts += [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4"{"" if i < n_components else rest}/>'
        for rest in (' class="rest"',)
        for i, (a, b) in enumerate(zip(x, y, strict=True))
    ]
    text = "Variance over noise of each direction of the channels; filled: taken for sources"
    return Html(
        f'<figure class="curve dots"><figcaption>{text}</figcaption>\n'
        f'<svg viewBox="0 0 860 170" role="img" aria-label="{text}">\n{lines(parts)}\n</svg></figure>'
    )


def picture(data: bytes, text: str) -> Html:
    """Show a PNG that was made elsewhere, such as a figure of `nica.plotting`.

    Parameters
    ----------
    data : bytes
        The file.
    text : str
        What it shows, for readers who cannot see it.

    Returns
    -------
    Html
        The picture, inside the page.

    Examples
    --------
    >>> from nica.report import png
    >>> "<img" in picture(png([[0, 1]]), "a dark and a light pixel")
    True
    """
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("data is no PNG file: save the figure with format='png'")
    inside = base64.b64encode(data).decode("ascii")
    return Html(
        f'<p><img class="picture" alt="{escape(text)}" src="data:image/png;base64,{inside}"></p>'
    )
