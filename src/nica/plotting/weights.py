"""Weights of layer 2: learned, and as the theory predicts them (Fig. 4A)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nica.metrics import align_weights, match_sources, weight_error
from nica.plotting._display import Display, matrix
from nica.theory import stationary_weights

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

Array = NDArray[np.float64]

WRITTEN = 10  #: rows and columns up to which each weight is written as a number


class WeightsDisplay(Display):
    """Heat maps of W_YH and W_YY, learned and, if known, predicted (eq. stationaryWeights).

    Blue is positive, red negative; the numbers say it where colours cannot.

    Parameters
    ----------
    w_yh, w_yy : array-like
        Learned weights, outputs in the order of the sources (`nica.metrics.align_weights`).
    w_yh_theory, w_yy_theory : array-like, default=None
        Predicted weights (`nica.theory.stationary_weights`).

    Attributes
    ----------
    ax_ : array of matplotlib Axes
    figure_ : matplotlib Figure
    errors_ : dict of str to float
        Squared distance to the prediction, relative to it, of each matrix.

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=50000, random_state=0)
    >>> model = nica.NICA(3, random_state=0).fit(mixture.X)
    >>> display = nica.plotting.WeightsDisplay.from_estimator(model, mixture.A, mixture.S)
    >>> max(display.errors_.values()) < 0.05
    True
    """

    def __init__(
        self,
        w_yh: ArrayLike,
        w_yy: ArrayLike,
        w_yh_theory: ArrayLike | None = None,
        w_yy_theory: ArrayLike | None = None,
    ) -> None:
        self.learned = {"YH": matrix("w_yh", w_yh), "YY": matrix("w_yy", w_yy)}
        theory = {"YH": w_yh_theory, "YY": w_yy_theory}
        self.theory = {name: matrix(name, w) for name, w in theory.items() if w is not None}
        if len(self.theory) == 1:
            raise ValueError("give w_yh_theory and w_yy_theory, or none of them")
        self.errors_ = {
            name: weight_error(self.learned[name], w) for name, w in self.theory.items()
        }

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        A: ArrayLike,
        S: ArrayLike,
        *,
        F: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Compare the weights of a fitted model with the prediction for its sources.

        Parameters
        ----------
        estimator : fitted `nica.NICA` or `nica.NSM`
        A : array-like (n_channels, n_sources)
            Mixing matrix.
        S : array-like (n_samples, n_sources)
            True sources.
        F : array-like (n_whitened, n_channels), default=None
            What whitened the mixture before a `nica.NSM`; None takes the model's own ``whitening_``.
        ax : matplotlib Axes, default=None

        Returns
        -------
        WeightsDisplay
        """
        A, S = matrix("A", A), matrix("S", S)
        inside = F is None
        if F is None:
            F = getattr(estimator, "whitening_", None)
            if F is None:
                raise ValueError("this model does not whiten: give F, the matrix that did")
        F = matrix("F", F)
        X = S @ A.T if inside else S @ A.T @ F.T
        order = match_sources(S, estimator.transform(X)).permutation
        learned = align_weights(estimator.w_yh_, estimator.w_yy_, order)
        predicted = stationary_weights(A, F, S.mean(axis=0), np.mean(S**2, axis=0))
        return cls(*learned, *predicted).plot(ax)

    @classmethod
    def from_data(
        cls,
        w_yh: ArrayLike,
        w_yy: ArrayLike,
        w_yh_theory: ArrayLike | None = None,
        w_yy_theory: ArrayLike | None = None,
        *,
        ax: Any = None,
    ) -> Self:
        """Draw weights that are there already.

        Parameters
        ----------
        w_yh, w_yy : array-like
            Learned.
        w_yh_theory, w_yy_theory : array-like, default=None
            Predicted.
        ax : matplotlib Axes, default=None

        Returns
        -------
        WeightsDisplay
        """
        return cls(w_yh, w_yy, w_yh_theory, w_yy_theory).plot(ax)

    def _grid(self) -> dict[str, Any]:
        return {"nrows": 1 + bool(self.theory), "ncols": 2, "squeeze": False}

    def _size(self) -> tuple[float, float]:
        return 5.4, 2.5 * (1 + bool(self.theory)) + 0.2

    def _draw(self, p: Palette) -> None:
        rows = {"learned": self.learned} | ({"predicted": self.theory} if self.theory else {})
        for line, (row, both) in zip(self.ax_, rows.items(), strict=True):
            for ax, (name, w) in zip(line, both.items(), strict=True):
                most = max(float(np.abs(v[name]).max()) for v in rows.values()) or 1.0
                heat_map(ax, w, most, p)
                if row == "learned":
                    title = f"$W_{{{name}}}$"
                    if name in self.errors_:
                        title += f", error {self.errors_[name]:.1e}"
                    ax.set_title(title, loc="center")
            line[0].set_ylabel(row)


def heat_map(ax: Any, w: Array, most: float, p: Palette) -> None:
    """Draw a matrix with signs as colours around the paper's own, and small ones as numbers too."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ends = LinearSegmentedColormap.from_list("signs", [p.series[1], p.paper, p.series[0]])
    ax.imshow(w, cmap=ends, vmin=-most, vmax=most, interpolation="nearest", aspect="equal")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if max(w.shape) <= WRITTEN:
        for (i, j), value in np.ndenumerate(w):
            behind = ends(0.5 + value / most / 2)
            dark = sum(to_rgb(behind)) < 1.5
            ax.text(
                j, i, f"{value:.2f}", ha="center", va="center", color="w" if dark else "#1c1f24",
                fontsize="x-small" if max(w.shape) > 5 else "small",
            )  # fmt: skip
