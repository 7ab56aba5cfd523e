"""The cloud that layer 2 sees, and the axes it found in it (Fig. 1, right)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nica.plotting._display import Display, matrix

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

MOST = 2000  #: points drawn


class WhitenedDisplay(Display):
    """Scatter of two whitened coordinates, with the direction of each source in its colour.

    Whitened nonnegative sources fill a turned orthant: where the separation is right, the axes run along
    its edges, from the origin.

    Parameters
    ----------
    H : array-like (n_samples, n_whitened)
        Whitened samples, their mean kept.
    axes : array-like (n_whitened, n_components)
        Direction of each source: F A.
    pair : tuple of int, default=(0, 1)
        Coordinates that are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.two_sources(20000, random_state=0)
    >>> model = nica.NICA(2, random_state=0).fit(mixture.X)
    >>> display = nica.plotting.WhitenedDisplay.from_estimator(model, mixture.X)
    >>> display.axes.shape
    (2, 2)
    """

    def __init__(self, H: ArrayLike, axes: ArrayLike, *, pair: tuple[int, int] = (0, 1)) -> None:
        self.H, self.axes = matrix("H", H), matrix("axes", axes)
        l = self.H.shape[1]
        if len(self.axes) != l:
            raise ValueError(f"axes has {len(self.axes)} rows for {l} whitened coordinates")
        if len(set(pair)) != 2 or not all(0 <= c < l for c in pair):
            raise ValueError(f"pair={pair}: give two of the coordinates 0 to {l - 1}")
        self.pair = pair

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, pair: tuple[int, int] = (0, 1), ax: Any = None
    ) -> Self:
        """Draw how a fitted model whitens X, and its axes.

        Parameters
        ----------
        estimator : fitted `nica.NICA`
        X : array-like (n_samples, n_channels)
        pair : tuple of int, default=(0, 1)
        ax : matplotlib Axes, default=None

        Returns
        -------
        WhitenedDisplay
        """
        F = estimator.whitening_
        return cls(matrix("X", X) @ F.T, F @ estimator.mixing_, pair=pair).plot(ax)

    @classmethod
    def from_data(
        cls, H: ArrayLike, axes: ArrayLike, *, pair: tuple[int, int] = (0, 1), ax: Any = None
    ) -> Self:
        """Draw whitened samples and axes that are there already.

        Parameters
        ----------
        H : array-like (n_samples, n_whitened)
        axes : array-like (n_whitened, n_components)
        pair : tuple of int, default=(0, 1)
        ax : matplotlib Axes, default=None

        Returns
        -------
        WhitenedDisplay
        """
        return cls(H, axes, pair=pair).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 3.8, 3.8

    def _draw(self, p: Palette) -> None:
        ax, (i, j) = self.ax_, self.pair
        shown = self.H[:: max(1, -(-len(self.H) // MOST))][:, [i, j]]
        ax.plot(*shown.T, "o", color=p.soft, ms=2.2, alpha=0.35, mew=0)
        for number, axis in enumerate(self.axes[[i, j]].T):
            size = np.linalg.norm(axis)
            if size < 1e-9:
                continue
            # As long as the cloud that way, shortened by how far the axis leaves this plane.
            along = axis / size
            end = along * 1.08 * np.max(shown @ along) * min(1.0, size)
            colour = p.series[number % len(p.series)]
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", end, (0, 0), arrowprops=arrow, annotation_clip=False)
            ax.text(*end * 1.07, f"{number}", color=colour, ha="center", va="center")
            ax.update_datalim([end * 1.1])
        ax.autoscale_view()
        ax.axhline(0, color=p.line, lw=0.7, zorder=0)
        ax.axvline(0, color=p.line, lw=0.7, zorder=0)
        ax.set(xlabel=f"$h_{{{i + 1}}}$", ylabel=f"$h_{{{j + 1}}}$")
        ax.set_aspect("equal", adjustable="datalim")
