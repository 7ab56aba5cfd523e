"""How a network gets there: its error E_t (Figs. 3B and 6B), or without truth its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from nica.metrics import online_error
from nica.plotting._display import Display, matrix
from nica.plotting._style import dash

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

POINTS = 300  #: of a curve, evenly spaced on a logarithmic axis
LOOKS = 40  #: at the score
LOOKED_AT = 5000  #: samples for the score


class ConvergenceDisplay(Display):
    r"""Curves over the samples seen, both axes logarithmic.

    With the truth, :math:`E_t = \frac1t \sum \lVert s - P y \rVert^2` of the outputs as they were
    emitted (section 4). Without, the share of the variance of X that the nonnegative sources leave
    unexplained, 1 - ``score``: small is necessary, not sufficient, for a separation.

    Parameters
    ----------
    t : array-like (n,)
        Samples seen.
    curves : mapping of str to array-like (n,)
        Name and values of each curve.
    ylabel : str
    spread : mapping of str to array-like (n,), default=None
        Standard errors, drawn as bands around the curves of these names.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=20000, random_state=0)
    >>> model = nica.NICA(3, random_state=0)
    >>> display = nica.plotting.ConvergenceDisplay.from_estimator(model, mixture.X, mixture.S)
    >>> bool(display.curves["outputs"][-1] < 0.1)
    True
    """

    def __init__(
        self,
        t: ArrayLike,
        curves: Mapping[str, ArrayLike],
        *,
        ylabel: str = "error so far, $E_t$",
        spread: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.t = np.asarray(t, dtype=np.float64)
        self.curves = {name: np.asarray(y, dtype=np.float64) for name, y in curves.items()}
        self.spread = {name: np.asarray(y, np.float64) for name, y in (spread or {}).items()}
        for name, y in [*self.curves.items(), *self.spread.items()]:
            if y.shape != self.t.shape:
                raise ValueError(f"curve {name!r} has shape {y.shape}, t {self.t.shape}")
        if unknown := set(self.spread) - set(self.curves):
            raise ValueError(f"spread names {sorted(unknown)}: the curves are {list(self.curves)}")
        self.ylabel = ylabel

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, S: ArrayLike | None = None, *, ax: Any = None
    ) -> Self:
        """Let a fresh copy of the estimator separate X, and draw how it does.

        Parameters
        ----------
        estimator : estimator
            Only its parameters are taken.
        X : array-like (n_samples, n_channels)
        S : array-like (n_samples, n_sources), default=None
            True sources.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ConvergenceDisplay
        """
        model, X = clone(estimator), matrix("X", X)
        if S is not None:
            return cls.from_data(model.separate(X), S, ax=ax)
        looked_at = X[:: max(1, len(X) // LOOKED_AT)]
        ends = _spaced(min(30, len(X)), len(X), LOOKS)
        t, left = [], []
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            model.partial_fit(X[start:end])
            try:
                left.append(1 - model.score(looked_at))
            except NotFittedError:  # it has held all samples so far, to start from them
                continue
            t.append(end)
        return cls(t, {"sources": left}, ylabel="variance not explained, 1 − score").plot(ax)

    @classmethod
    def from_data(cls, Y: ArrayLike, S: ArrayLike, *, ax: Any = None) -> Self:
        """Draw the error of outputs that are there already.

        Parameters
        ----------
        Y : array-like (n_samples, n_components)
            Outputs as they were emitted.
        S : array-like (n_samples, n_sources)
            True sources.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ConvergenceDisplay
        """
        errors = online_error(S, Y)
        t = _spaced(1, len(errors), POINTS)
        return cls(t, {"outputs": errors[t - 1]}).plot(ax)

    def _draw(self, p: Palette) -> None:
        ax = self.ax_
        for j, (name, y) in enumerate(self.curves.items()):
            colour = p.series[j % len(p.series)]
            y = np.where(y > 0, y, np.nan)
            ax.plot(self.t, y, color=colour, linestyle=dash(j), label=name)
            if name in self.spread:
                low = np.maximum(y - self.spread[name], 0.05 * y)
                ax.fill_between(self.t, low, y + self.spread[name], color=colour, alpha=0.2, lw=0)
            if len(self.curves) > 1 and np.isfinite(y).any():
                last = np.flatnonzero(np.isfinite(y))[-1]
                ax.annotate(
                    name, (self.t[last], y[last]), xytext=(5, 0), textcoords="offset points",
                    va="center", color=colour, fontsize="small",
                )  # fmt: skip
        ax.set(xscale="log", yscale="log", xlabel="samples seen", ylabel=self.ylabel)
        ax.grid(color=p.line, lw=0.5)


def _spaced(first: int, last: int, points: int) -> Any:
    return np.unique(np.geomspace(first, last, points).astype(int))
