"""One palette for figures, pages and the live view; no plotting library is needed here.

Six hues for series, told apart by readers with any colour vision (least CIELAB distance between two of
them, as seen with protanopia, deuteranopia or tritanopia: 14) and on a grey print (lightness 7 or more
apart, the first three 15). Later series repeat the hues with another dash.
"""

from __future__ import annotations

from typing import NamedTuple


class Palette(NamedTuple):
    """Colours on one kind of paper.

    Attributes
    ----------
    paper, ink, soft, line, well : str
        Background; text; secondary text; rules and grids; background of panels.
    good, warn, bad : str
        Verdicts.
    series : tuple of str
        Colours of the sources, in their order.
    """

    paper: str
    ink: str
    soft: str
    line: str
    well: str
    good: str
    warn: str
    bad: str
    series: tuple[str, ...]


LIGHT = Palette(
    paper="#ffffff", ink="#1c1f24", soft="#667080", line="#e3e6ea", well="#f6f7f9",
    good="#117a4f", warn="#8a6100", bad="#b3361b",
    series=("#0477bc", "#8f2302", "#0bae76", "#963595", "#b77a0d", "#073e4f"),
)  # fmt: skip
DARK = Palette(
    paper="#14171b", ink="#e4e7eb", soft="#929cab", line="#2b3038", well="#1b1f25",
    good="#4cc38a", warn="#e0b04a", bad="#f0795b",
    series=("#4eabfe", "#c55e3b", "#5feaac", "#c871c5", "#efb058", "#c3ecfe"),
)  # fmt: skip
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)))  #: of series 0–5, 6–11, 12–17


def css(palette: Palette) -> str:
    """Give the colours as custom properties of a style sheet: --paper, ..., --c0 to --c5."""
    named = [(name, getattr(palette, name)) for name in Palette._fields[:-1]]
    named += [(f"c{j}", colour) for j, colour in enumerate(palette.series)]
    return " ".join(f"--{name}: {colour};" for name, colour in named)
