"""Images that are sources (Fig. 6A): true ones, mixtures, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from nica.metrics import match_sources
from nica.plotting._display import Display, matrix

if TYPE_CHECKING:
    from nica.plotting._palette import Palette


class ImagesDisplay(Display):
    """Rows of grey images, each from its own 0.5 % to its 99.5 % quantile.

    Parameters
    ----------
    Y : array-like (n_pixels, n_components)
        Outputs, an image in each column.
    shape : tuple of int
        Height and width.
    X : array-like (n_pixels, n_channels), default=None
        Mixtures.
    S : array-like (n_pixels, n_sources), default=None
        True images; outputs are put in their order.
    names : sequence of str, default=None
        Of the images.

    Attributes
    ----------
    ax_ : array of matplotlib Axes
    figure_ : matplotlib Figure
    correlation_ : array (n_sources,) or None
        With the true images.

    Examples
    --------
    >>> import nica
    >>> scenes = nica.datasets.natural_scenes()
    >>> model = nica.NICA(4, random_state=0).fit(scenes.X)
    >>> display = nica.plotting.ImagesDisplay.from_estimator(model, scenes.X, scenes.shape, scenes.S)
    >>> display.ax_.shape
    (3, 4)
    """

    def __init__(
        self,
        Y: ArrayLike,
        shape: Sequence[int],
        X: ArrayLike | None = None,
        S: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        Y = matrix("Y", Y)
        height, width = shape
        if len(Y) != height * width:
            raise ValueError(f"Y has {len(Y)} rows: shape={tuple(shape)} needs {height * width}")
        self.shape = (int(height), int(width))
        self.rows: dict[str, Any] = {}
        self.correlation_ = None
        if S is not None:
            self.rows["sources"] = matrix("S", S)
            match = match_sources(self.rows["sources"], Y)
            Y, self.correlation_ = Y[:, match.permutation], match.correlation
        if X is not None:
            self.rows["mixtures"] = matrix("X", X)
        self.rows["outputs"] = Y
        for name, values in self.rows.items():
            if len(values) != len(Y):
                raise ValueError(f"{name} have {len(values)} pixels and outputs {len(Y)}")
        self.names = None if names is None else [str(name) for name in names]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        shape: Sequence[int],
        S: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted model makes of the pixels X, below X itself.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like (n_pixels, n_channels)
        shape : tuple of int
        S : array-like (n_pixels, n_sources), default=None
        names : sequence of str, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        ImagesDisplay
        """
        return cls(estimator.transform(X), shape, X, S, names=names).plot(ax)

    @classmethod
    def from_data(
        cls,
        Y: ArrayLike,
        shape: Sequence[int],
        X: ArrayLike | None = None,
        S: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw images that are there already.

        Parameters
        ----------
        Y : array-like (n_pixels, n_components)
        shape : tuple of int
        X, S : array-like, default=None
        names : sequence of str, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        ImagesDisplay
        """
        return cls(Y, shape, X, S, names=names).plot(ax)

    def _grid(self) -> dict[str, Any]:
        columns = max(values.shape[1] for values in self.rows.values())
        return {"nrows": len(self.rows), "ncols": columns, "squeeze": False}

    def _size(self) -> tuple[float, float]:
        grid, (height, width) = self._grid(), self.shape
        side = min(1.5, 12 / grid["ncols"])
        return 0.5 + side * grid["ncols"], 0.2 + (side * height / width + 0.05) * grid["nrows"]

    def _draw(self, p: Palette) -> None:
        for line, (name, values) in zip(self.ax_, self.rows.items(), strict=True):
            line[0].set_ylabel(name)
            for j, ax in enumerate(line):
                ax.set(xticks=[], yticks=[])
                ax.spines[:].set_visible(False)
                if j < values.shape[1]:
                    low, high = np.nanquantile(values[:, j], [0.005, 0.995])
                    image = values[:, j].reshape(self.shape)
                    ax.imshow(image, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        if self.names is not None:
            for ax, name in zip(self.ax_[0], self.names, strict=False):
                ax.set_title(name, fontsize="small", loc="center")
        if self.correlation_ is not None:
            for ax, r in zip(self.ax_[-1], self.correlation_, strict=False):
                ax.set_xlabel(f"r = {r:.3f}", fontsize="small", color=p.soft)
