"""The look of all figures: little ink, our palette, light, dark or for a paper."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from nica.plotting._palette import DARK, DASHES, LIGHT, Palette

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from matplotlib.axes import Axes

_kind: ContextVar[str] = ContextVar("nica_plotting_style", default="")
KINDS = ("light", "dark", "paper")
MAX_POINTS = 4000  #: of a drawn line; more would be wider than any screen


@contextlib.contextmanager
def style(kind: str = "light") -> Iterator[None]:
    """Draw in the look of nica's figures, inside a ``with`` block.

    Displays that make their own figure take "light" by themselves; this is for another kind, and for
    figures with axes of your own.

    Parameters
    ----------
    kind : {"light", "dark", "paper"}
        For a screen or page with a light or dark background, or for a printed column: small type on
        white, as journals want it, with letters kept as text in PDF and SVG.

    Yields
    ------
    None
        Inside the block Matplotlib's parameters are ours; behind it they are as before.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from nica import plotting
    >>> with plotting.style("paper"):
    ...     ax = Figure(figsize=(3.3, 2.2)).subplots()
    >>> ax.spines["top"].get_visible()
    False
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r}: give {', '.join(KINDS)}")
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install nica[plot]") from error
    token = _kind.set(kind)
    try:
        with mpl.rc_context(_parameters(kind)):
            yield
    finally:
        _kind.reset(token)


def own_style() -> AbstractContextManager[None]:
    """The style that is set, else "light": for a figure that a Display makes itself."""
    return contextlib.nullcontext() if _kind.get() else style()


def colors(n: int, ax: Axes | None = None) -> list[str]:
    """Colours of n series, as all figures give them to sources 0, 1, ..., for the background of ax.

    Parameters
    ----------
    n : int
        Number of series; after six the colours come again (Displays draw them with another dash).
    ax : matplotlib Axes, default=None
        None is a light background.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from nica import plotting
    >>> plotting.colors(2)
    ['#0477bc', '#8f2302']
    """
    series = LIGHT.series if ax is None else palette_of(ax).series
    return [series[j % len(series)] for j in range(n)]


def _parameters(kind: str) -> Any:
    from cycler import cycler

    p = DARK if kind == "dark" else LIGHT
    series = [colour for _ in DASHES for colour in p.series]
    dashes = [dash for dash in DASHES for _ in p.series]
    size = 8.0 if kind == "paper" else 10.0
    return {
        "font.family": "sans-serif", "font.size": size,
        "axes.titlesize": size, "axes.labelsize": size, "figure.titlesize": size * 1.1,
        "xtick.labelsize": size * 0.9, "ytick.labelsize": size * 0.9, "legend.fontsize": size * 0.9,
        "axes.prop_cycle": cycler(color=series, linestyle=dashes),
        "axes.spines.top": False, "axes.spines.right": False,
        "axes.titlelocation": "left", "axes.titleweight": "normal",
        "axes.axisbelow": True, "axes.linewidth": 0.6, "grid.linewidth": 0.5,
        "xtick.major.width": 0.6, "ytick.major.width": 0.6,
        "xtick.minor.width": 0.4, "ytick.minor.width": 0.4,
        "lines.linewidth": 1.0 if kind == "paper" else 1.5, "lines.solid_capstyle": "round",
        "legend.frameon": False, "image.cmap": "gray", "image.interpolation": "nearest",
        "figure.facecolor": p.paper, "axes.facecolor": p.paper, "savefig.facecolor": p.paper,
        "text.color": p.ink, "axes.titlecolor": p.ink, "axes.labelcolor": p.ink,
        "axes.edgecolor": p.soft, "xtick.color": p.soft, "ytick.color": p.soft,
        "xtick.labelcolor": p.ink, "ytick.labelcolor": p.ink, "grid.color": p.line,
        "savefig.dpi": 300 if kind == "paper" else 150, "pdf.fonttype": 42, "svg.fonttype": "none",
        "figure.constrained_layout.use": True,
    }  # fmt: skip


def palette_of(ax: Axes) -> Palette:
    """Palette for the background of these axes, by its luminance."""
    from matplotlib.colors import to_rgba

    face = to_rgba(ax.get_facecolor())
    if face[3] == 0:
        figure: Any = ax.figure
        face = to_rgba(figure.get_facecolor())
    red, green, blue, alpha = face
    dark = alpha > 0 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.4
    return DARK if dark else LIGHT


def dash(j: int) -> Any:
    """Dash of series j."""
    return DASHES[j // len(LIGHT.series) % len(DASHES)]


def thin(n: int) -> slice:
    """Which of n samples are drawn."""
    return slice(None, None, max(1, -(-n // MAX_POINTS)))
