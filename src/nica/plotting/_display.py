"""What all Displays share: where they are drawn, and what they keep of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nica.plotting._style import own_style, palette_of

if TYPE_CHECKING:
    from nica.plotting._palette import Palette


class Display:
    """Base: ``plot`` draws on given axes, or on a figure of its own.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them
        Where it was drawn.
    figure_ : matplotlib Figure
        What holds them.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where; a Display of several panels divides it. None makes a figure, in the style that is
            set (`nica.plotting.style`).

        Returns
        -------
        self
            With `ax_` and `figure_`.
        """
        with own_style() if ax is None else contextlib.nullcontext():
            if ax is None:
                from matplotlib import pyplot

                self.figure_ = pyplot.figure(figsize=self._size(), layout="constrained")
                self.ax_ = self.figure_.subplots(**self._grid())
            else:
                self.figure_ = ax.figure
                self.ax_ = _within(ax, self._grid())
            first = self.ax_.flat[0] if isinstance(self.ax_, np.ndarray) else self.ax_
            self._draw(palette_of(first))
        return self

    def _repr_png_(self) -> bytes:
        """Show it in a notebook without asking for a backend."""
        import io

        if not hasattr(self, "figure_"):
            self.plot()
        out = io.BytesIO()
        self.figure_.savefig(out, format="png")
        return out.getvalue()

    def _size(self) -> tuple[float, float]:
        """Width and height of its own figure, in inches."""
        return 4.8, 3.2

    def _grid(self) -> dict[str, Any]:
        """Panels, as options of ``Figure.subplots``; nothing for a single one."""
        return {}

    def _draw(self, p: Palette) -> None:
        """Draw on `ax_` with these colours."""
        raise NotImplementedError


def _within(ax: Any, grid: dict[str, Any]) -> Any:
    """Axes inside of ax: itself, or as many as are asked for in its place."""
    if not grid:
        return ax
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError("this Display has several panels: give axes made by subplots, or ax=None")
    ax.set_axis_off()
    options = dict(grid)
    shape = options.pop("nrows", 1), options.pop("ncols", 1)
    return spec.subgridspec(*shape, **options.pop("gridspec_kw", {})).subplots(**options)


def matrix(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Numbers in two dimensions."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}: give a matrix")
    return array
