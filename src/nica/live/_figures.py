"""Panels of the page: what each draws, and how a snapshot gets into it."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    FixedTicker,
    LinearColorMapper,
    NumeralTickFormatter,
    PlainText,
    Range1d,
)
from bokeh.plotting import figure

from nica.live._feeds import Array
from nica.live._snapshot import MATRICES, SILENT, TRACE, Snapshot
from nica.plotting._palette import LIGHT, Palette

MOST = 12  #: strips, images, bars
LONGEST = 14  #: letters of a name
GREYS = [f"#{v:02x}{v:02x}{v:02x}" for v in range(256)]


class Panel:
    """Base: a figure and its data."""

    name = ""

    def __init__(self, title: str, height: int, **options: Any) -> None:
        self.figure = figure(
            name=self.name, title=title, height=height, sizing_mode="stretch_width",
            toolbar_location=None, tools="", background_fill_color=None, border_fill_color=None,
            outline_line_color=None, min_border=4, **options,
        )  # fmt: skip
        self.palette = LIGHT
        self.figure.title.text_font_style = "normal"
        self.figure.title.text_font_size = "13px"
        self.figure.axis.major_label_text_font_size = "11px"
        self.figure.axis.axis_label_text_font_style = "normal"
        self.figure.axis.axis_label_text_font_size = "11px"
        self.figure.axis.minor_tick_line_color = None
        self.figure.axis.major_tick_in = 0
        self.figure.axis.major_tick_out = 3
        self.figure.grid.grid_line_color = None

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        raise NotImplementedError

    def paint(self, palette: Palette) -> None:
        """Take the colours of a light or dark page."""
        self.palette = palette
        self.figure.title.text_color = palette.ink
        self.figure.axis.major_label_text_color = palette.soft
        self.figure.axis.axis_label_text_color = palette.soft
        self.figure.axis.axis_line_color = palette.line
        self.figure.axis.major_tick_line_color = palette.line

    def colours(self, n: int) -> list[str]:
        """Colours of n sources."""
        return [self.palette.series[j % len(self.palette.series)] for j in range(n)]


def plain(names: list[str], middle: float) -> dict[float, PlainText]:
    """Labels that are drawn as they are: no markup, no formulas; the first name on top."""
    short = [x if len(x) <= LONGEST else x[: LONGEST - 1] + "…" for x in names]
    return {len(names) - 1 - j + middle: PlainText(text=text) for j, text in enumerate(short)}


class Labelled(Panel):
    """A panel with a row for each channel or output."""

    middle = 0.0  #: where in a row its name stands

    def __init__(self, title: str, height: int, **options: Any) -> None:
        super().__init__(title, height, y_range=Range1d(-0.5, 0.5), **options)
        self._names: list[str] = []
        axis = self.figure.yaxis
        axis.ticker = FixedTicker(ticks=[])
        axis.major_tick_line_color = None
        axis.axis_line_color = None

    def name_rows(self, names: list[str]) -> None:
        """Write the names at the rows."""
        if names == self._names:
            return
        self._names = list(names)
        self.figure.y_range.start, self.figure.y_range.end = -0.05, len(names) - 0.05
        self.figure.yaxis[0].major_label_overrides = plain(names, self.middle)
        self.figure.yaxis[0].ticker.ticks = [j + self.middle for j in range(len(names))]

    def paint(self, palette: Palette) -> None:
        """Take the colours of a light or dark page."""
        super().paint(palette)
        self.figure.yaxis.axis_line_color = None
        self.figure.yaxis.major_tick_line_color = None


class Traces(Labelled):
    """The last samples as lines, one strip for each column, all on one scale."""

    middle = 0.4

    def __init__(self, which: str, title: str, columns: list[str] | None = None) -> None:
        self.name = which
        super().__init__(title, 300, x_range=Range1d(0, TRACE - 1))
        self._columns = columns
        self.data = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name=f"{which}-data")
        self.figure.multi_line("xs", "ys", color="colour", line_width=1.2, source=self.data)
        self.figure.xaxis.visible = False

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        rows = snapshot.X if self.name == "mixtures" else snapshot.Y
        n = min(rows.shape[1], MOST)
        if self.name == "mixtures":
            names = self._columns or [f"channel {j}" for j in range(rows.shape[1])]
            colours = [self.palette.soft] * n
        else:
            names, colours = [f"source {j}" for j in range(rows.shape[1])], self.colours(n)
        self.name_rows(names[:n])
        finite = rows[np.isfinite(rows)]
        low, high = min(0.0, float(finite.min(initial=0))), float(finite.max(initial=0))
        size = (high - low) or 1.0
        x = np.arange(len(rows), dtype=np.float32) + (TRACE - len(rows))
        lifted = (rows[:, :n] - low) / size * 0.88 + np.arange(n)[::-1]
        ys = list(lifted.T.astype(np.float32))
        self.data.data = {"xs": [x] * n, "ys": ys, "colour": colours}


class Pictures(Panel):
    """Mixtures and outputs as images."""

    def __init__(self, which: str, title: str) -> None:
        self.name = which
        super().__init__(title, 215, x_range=Range1d(0, 4), y_range=Range1d(0, 1))
        self.figure.sizing_mode = "scale_width"
        self.figure.aspect_ratio = 4.0
        self.whole = True
        self.data = ColumnDataSource({"image": [], "x": [], "dw": []}, name=f"{which}-data")
        mapper = LinearColorMapper(palette=GREYS, low=0, high=1, nan_color="#00000000")
        self.figure.image(
            "image", x="x", y=0, dw="dw", dh=0.94, color_mapper=mapper, source=self.data
        )
        self.figure.axis.visible = False

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        pixels = snapshot.whole if self.whole and snapshot.whole is not None else snapshot.images
        if pixels is None or snapshot.shape is None:
            return
        k = snapshot.n_channels
        chosen = pixels[:, :k] if self.name == "mixtures" else pixels[:, k:]
        n = min(chosen.shape[1], MOST)
        images = []
        for column in chosen.T[:n]:
            finite = column[np.isfinite(column)]
            low, high = np.quantile(finite, [0.005, 0.995]) if len(finite) else (0.0, 1.0)
            grey = np.clip((column - low) / ((high - low) or 1.0), 0, 1)
            images.append(grey.reshape(snapshot.shape)[::-1].astype(np.float32))
        if self.figure.x_range.end != n or self.figure.aspect_ratio == 4.0:
            height, width = snapshot.shape
            self.figure.x_range.end = n
            self.figure.aspect_ratio = 0.93 * n * width / height
        self.data.data = {"image": images, "x": [float(j) for j in range(n)], "dw": [0.94] * n}


class Cloud(Panel):
    """Whitened samples, and the axes found among them."""

    name = "cloud"

    def __init__(self) -> None:
        super().__init__("whitened, with the axes found", 290, match_aspect=True)
        self.data = ColumnDataSource({"x": [0.0], "y": [0.0]}, name="cloud-data")
        names = ("x", "y", "colour", "text")
        self.axes = ColumnDataSource({name: [] for name in names}, name="axes-data")
        self._dots = self.figure.scatter("x", "y", size=3, line_color=None, source=self.data)
        self.figure.segment(
            0, 0, "x", "y", color="colour", line_width=2.5, source=self.axes, line_cap="round"
        )
        self.figure.text(
            "x", "y", "text", color="colour", text_font_size="11px", source=self.axes, x_offset=3
        )
        self.figure.axis.ticker.desired_num_ticks = 4

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        H, axes = snapshot.H, snapshot.axes
        if len(H) < 2 or H.shape[1] < 2:
            return
        H, axes = H[:, :2], axes[:2, :MOST]
        size = np.linalg.norm(axes, axis=0)
        along = axes / np.where(size > 0, size, 1)
        ends = along * np.max(H @ along, axis=0) * np.minimum(size, 1)
        self.data.data = {"x": H[:, 0].astype(np.float32), "y": H[:, 1].astype(np.float32)}
        n = axes.shape[1]
        self.axes.data = {
            "x": ends[0], "y": ends[1], "colour": self.colours(n), "text": [str(j) for j in range(n)]
        }  # fmt: skip

    def paint(self, palette: Palette) -> None:
        """Take the colours of a light or dark page."""
        super().paint(palette)
        self._dots.glyph.fill_color = palette.soft
        self._dots.glyph.fill_alpha = 0.45


class Weights(Panel):
    """All matrices as heat maps, each relative to its largest weight: blue positive, red negative."""

    name = "weights"

    def __init__(self) -> None:
        super().__init__("weights", 290, x_range=Range1d(0, 2.2), y_range=Range1d(-0.1, 2.35))
        self._mapper = LinearColorMapper(palette=signs(LIGHT), low=-1, high=1)
        self.data = ColumnDataSource({"image": [], "x": [], "y": []}, name="weights-data")
        self.titles = ColumnDataSource({"x": [], "y": [], "text": []})
        self.figure.image(
            "image", x="x", y="y", dw=1, dh=0.95, color_mapper=self._mapper, source=self.data
        )
        self._text = self.figure.text(
            "x", "y", "text", text_font_size="11px", source=self.titles, text_baseline="bottom"
        )
        self.figure.axis.visible = False

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        if not snapshot.weights:
            return
        images, x, y, names = [], [], [], []
        for i, name in enumerate(MATRICES):
            if name in snapshot.weights:
                w = snapshot.weights[name]
                most = float(np.abs(w).max()) or 1.0
                images.append((w / most)[::-1].astype(np.float32))
                x.append(1.15 * (i % 2))
                y.append(1.2 * (i < 2))
                names.append(f"{name[0].upper()} {name[2:].upper()}, up to {most:.2g}")
        self.data.data = {"image": images, "x": x, "y": y}
        self.titles.data = {"x": x, "y": [b + 0.96 for b in y], "text": names}

    def paint(self, palette: Palette) -> None:
        """Take the colours of a light or dark page."""
        super().paint(palette)
        self._mapper.palette = signs(palette)
        self._text.glyph.text_color = palette.soft


class Errors(Panel):
    """Error, or what is left unexplained, over time."""

    name = "error"

    def __init__(self) -> None:
        ranges = {"x_range": Range1d(0, 10), "y_range": Range1d(1e-4, 10)}
        super().__init__("error", 290, y_axis_type="log", **ranges)
        self.data = ColumnDataSource({"t": [], "error": []}, name="error-data")
        self._line = self.figure.line("t", "error", line_width=2, source=self.data)
        self.figure.xaxis.axis_label = "seconds"
        self.figure.xaxis.ticker.desired_num_ticks = 5

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        t, values = snapshot.history
        values = np.maximum(values, 1e-12)
        if len(values):
            bottom, top = np.floor(np.log10(values.min())), np.ceil(np.log10(values.max()))
            self.figure.y_range.start = 10.0**bottom
            self.figure.y_range.end = 10.0 ** max(top, bottom + 1)
            self.figure.x_range.end = max(10.0, float(t[-1]))
        self.data.data = {"t": t, "error": values}
        kind = "error of the last outputs" if snapshot.truth else "variance not explained"
        value = "" if snapshot.error is None else f": {snapshot.error:.2g}"
        self.figure.title.text = f"{kind}{value}"

    def paint(self, palette: Palette) -> None:
        """Take the colours of a light or dark page."""
        super().paint(palette)
        self._line.glyph.line_color = palette.series[0]
        self.figure.ygrid.grid_line_color = palette.line


class Firing(Labelled):
    """Share of the samples in which each output fires; those that never do are named."""

    name = "firing"

    def __init__(self) -> None:
        super().__init__("how often each output fires", 290, x_range=Range1d(0, 1))
        self.data = ColumnDataSource({"y": [], "right": [], "colour": []}, name="firing-data")
        self.figure.hbar(y="y", right="right", height=0.5, color="colour", source=self.data)
        self.figure.xaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])
        self.figure.xaxis.formatter = NumeralTickFormatter(format="0 %")

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""
        firing: Array = snapshot.firing[:MOST]
        n = len(firing)
        silent = firing < SILENT
        self.name_rows([f"source {j}" + (" silent" if silent[j] else "") for j in range(n)])
        self.figure.y_range.start, self.figure.y_range.end = -0.6, max(n, 1) - 0.4
        self.data.data = {
            "y": [n - 1 - j for j in range(n)], "right": np.maximum(firing, 0.004),
            "colour": [self.palette.bad if silent[j] else c for j, c in enumerate(self.colours(n))],
        }  # fmt: skip


def signs(palette: Palette) -> list[str]:
    """Colours from negative through the paper's own to positive."""
    ends = [np.array([int(c[i : i + 2], 16) for i in (1, 3, 5)]) for c in
            (palette.series[1], palette.paper, palette.series[0])]  # fmt: skip
    shares = np.linspace(0, 2, 255)
    rows = [
        ends[0] + (ends[1] - ends[0]) * s if s < 1 else ends[1] + (ends[2] - ends[1]) * (s - 1)
        for s in shares
    ]
    return ["#" + "".join(f"{round(v):02x}" for v in row) for row in rows]
