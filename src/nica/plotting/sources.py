"""Sources over time: against the truth, or alone (Figs. 3A and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nica.metrics import match_sources
from nica.plotting._display import Display, matrix
from nica.plotting._style import dash, thin

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

Array = NDArray[np.float64]

MOST = 20  #: sources drawn


class SourcesDisplay(Display):
    """A strip for each source: the output in its colour, the truth, if known, as a broad grey line.

    All strips have one scale, and zero is drawn. With the truth, outputs are put in its order, and each
    strip tells its correlation over all samples given.

    Parameters
    ----------
    Y : array-like (n_samples, n_components)
        Outputs.
    S : array-like (n_samples, n_sources), default=None
        True sources.
    names : sequence of str, default=None
        Of the sources.
    shown : slice, default=slice(-200, None)
        Samples that are drawn.

    Attributes
    ----------
    ax_ : array of matplotlib Axes
    figure_ : matplotlib Figure
    correlation_ : array (n_sources,) or None
        With the true sources.

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=20000, random_state=0)
    >>> Y = nica.NICA(3, random_state=0).separate(mixture.X)
    >>> display = nica.plotting.SourcesDisplay.from_data(Y[-5000:], mixture.S[-5000:])
    >>> bool(display.correlation_.min() > 0.99)
    True
    """

    def __init__(
        self,
        Y: ArrayLike,
        S: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        shown: slice = slice(-200, None),
    ) -> None:
        self.Y, self.S = matrix("Y", Y), None
        self.correlation_: Array | None = None
        if S is not None:
            self.S = matrix("S", S)
            match = match_sources(self.S, self.Y)
            self.Y, self.correlation_ = self.Y[:, match.permutation], match.correlation
        n = self.Y.shape[1]
        self.names = [f"source {j}" for j in range(n)] if names is None else [str(x) for x in names]
        if len(self.names) != n:
            raise ValueError(f"names holds {len(self.names)} for {n} sources: give one for each")
        self.shown = shown

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, S: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw what a fitted model makes of X; it learns nothing here.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like (n_samples, n_channels)
        S : array-like (n_samples, n_sources), default=None
        ax : matplotlib Axes, default=None
        **options
            ``names`` and ``shown``, as of the class.

        Returns
        -------
        SourcesDisplay
        """
        return cls(estimator.transform(X), S, **options).plot(ax)

    @classmethod
    def from_data(
        cls, Y: ArrayLike, S: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> Self:
        """Draw outputs that are there already.

        Parameters
        ----------
        Y : array-like (n_samples, n_components)
        S : array-like (n_samples, n_sources), default=None
        ax : matplotlib Axes, default=None
        **options
            ``names`` and ``shown``, as of the class.

        Returns
        -------
        SourcesDisplay
        """
        return cls(Y, S, **options).plot(ax)

    def _grid(self) -> dict[str, Any]:
        n = min(self.Y.shape[1], MOST)
        return {"nrows": n, "sharex": True, "sharey": True, "squeeze": False}

    def _size(self) -> tuple[float, float]:
        return 6.4, 0.6 + 0.62 * min(self.Y.shape[1], MOST)

    def _draw(self, p: Palette) -> None:
        t = np.arange(len(self.Y))[self.shown]
        t = t[thin(len(t))]
        left_out = self.Y.shape[1] - len(self.ax_)
        for j, ax in enumerate(self.ax_[:, 0]):
            if self.S is not None:
                ax.plot(t, self.S[t, j], "-", color=p.soft, lw=3.2, alpha=0.4)
            colour = p.series[j % len(p.series)]
            ax.plot(t, self.Y[t, j], linestyle=dash(j), color=colour, lw=1.1)
            ax.axhline(0, color=p.soft, lw=0.5, zorder=0)
            ax.set_ylabel(self.names[j], rotation=0, ha="right", va="center")
            ax.set_yticks([])
            ax.spines[:].set_visible(False)
            ax.tick_params(axis="x", length=0, labelbottom=j == len(self.ax_) - 1)
            ax.margins(x=0)
            if self.correlation_ is not None:
                ax.text(
                    1.01, 0.5, f"r = {self.correlation_[j]:.3f}", transform=ax.transAxes, va="center",
                    color=p.soft, fontsize="small",
                )  # fmt: skip
        more = f" ({left_out} more sources not shown)" if left_out else ""
        self.ax_[-1, 0].set_xlabel(f"sample{more}")
        if self.S is not None:
            self.ax_[0, 0].set_title("outputs, over the true sources in grey", fontsize="small")
