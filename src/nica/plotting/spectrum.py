"""How many sources: the spectrum of the channels, and the number chosen in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from nica.plotting._display import Display
from nica.rank import Rank, estimate_n_components

if TYPE_CHECKING:
    from nica.plotting._palette import Palette


class SpectrumDisplay(Display):
    """Variances of the directions in units of the noise, largest first, and where the sources end.

    Parameters
    ----------
    rank : Rank
        Of `nica.estimate_n_components`.
    n_components : int, default=None
        Number asked for; None takes the estimate.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import nica
    >>> A = nica.datasets.mixing(8, 3, condition=5, random_state=0)
    >>> X = nica.datasets.make_mixture(n_samples=5000, A=A, noise=0.05, random_state=0).X
    >>> display = nica.plotting.SpectrumDisplay.from_data(X)
    >>> display.rank.n_components
    3
    """

    def __init__(self, rank: Rank, *, n_components: int | None = None) -> None:
        self.rank = rank
        self.n_components = rank.n_components if n_components is None else n_components

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the spectrum of X, and the number of sources that the fitted model has.

        Parameters
        ----------
        estimator : fitted estimator
        X : array-like (n_samples, n_channels)
        ax : matplotlib Axes, default=None

        Returns
        -------
        SpectrumDisplay
        """
        n_components = len(estimator.unmixing_)
        return cls(estimate_n_components(X), n_components=n_components).plot(ax)

    @classmethod
    def from_data(cls, X: Any, *, n_components: int | None = None, ax: Any = None) -> Self:
        """Draw the spectrum of X, and the number of sources estimated or given.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        n_components : int, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        SpectrumDisplay
        """
        return cls(estimate_n_components(X), n_components=n_components).plot(ax)

    def _draw(self, p: Palette) -> None:
        ax, spectrum, n = self.ax_, self.rank.spectrum, self.n_components
        number = np.arange(1, len(spectrum) + 1)
        size = 6 if len(spectrum) <= 40 else 3
        ax.plot(number[:n], spectrum[:n], "o", color=p.series[0], ms=size)
        ax.plot(number[n:], spectrum[n:], "o", mfc=p.paper, mec=p.soft, ms=size)
        ax.axvline(n + 0.5, color=p.ink, lw=0.8)
        seen = str(self.rank.low)
        if not self.rank.certain:
            ax.axvspan(self.rank.low + 0.5, self.rank.high + 0.5, color=p.soft, alpha=0.15, lw=0)
            seen = f"{self.rank.low} to {self.rank.high}"
        ax.set(yscale="log", xlabel="direction", ylabel="variance / noise")
        ax.set_title(f"{n} sources taken, {seen} seen")
        ax.xaxis.get_major_locator().set_params(integer=True)
