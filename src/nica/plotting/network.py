"""The network as a diagram (Fig. 2): its own sizes, its weights as widths of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nica.plotting._display import Display, matrix

if TYPE_CHECKING:
    from nica.plotting._palette import Palette

Array = NDArray[np.float64]

MOST = 8  #: neurons drawn of each population
RADIUS = 0.2
COLUMNS = {"x": 0.0, "h": 2.2, "g": 4.4, "y": 4.4}
SIDES = {"w_hx": ("h", "x"), "w_hg": ("h", "g"), "w_yh": ("y", "h")}  #: to, from


class NetworkDisplay(Display):
    """Diagram of a network (Fig. 2): populations, connections, weights as widths of lines.

    Lines are solid for positive weights and dashed for negative ones, each matrix relative to its
    largest. Interneurons g inhibit the principal neurons h that excite them, with the same weights; the
    outputs y inhibit each other. A bar marks an inhibitory end, a dot an excitatory one.

    Parameters
    ----------
    w_yh, w_yy : array-like or None
        Weights of layer 2 (n_components, n_whitened) and (n_components, n_components).
    w_hx, w_hg : array-like or None
        Weights of layer 1 (n_whitened, n_channels) and (n_whitened, n_interneurons).

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import nica
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> model = nica.NICA(3, random_state=0).partial_fit(mixture.X)
    >>> display = nica.plotting.NetworkDisplay.from_estimator(model)
    >>> len(display.ax_.patches) > 3 + 3 + 3 + 3  # neurons, and lateral connections
    True
    """

    def __init__(
        self, *, w_yh: Any = None, w_yy: Any = None, w_hx: Any = None, w_hg: Any = None
    ) -> None:
        given = {"w_hx": w_hx, "w_hg": w_hg, "w_yh": w_yh, "w_yy": w_yy}
        self.weights = {name: matrix(name, w) for name, w in given.items() if w is not None}
        names = set(self.weights)
        if names not in ({"w_hx", "w_hg"}, {"w_yh", "w_yy"}, set(given)):
            raise ValueError(
                f"weights are {sorted(names)}: give w_hx and w_hg, or w_yh and w_yy, or all four"
            )
        self.sizes = self._count()

    @classmethod
    def from_estimator(cls, estimator: Any, ax: Any = None) -> Self:
        """Draw a fitted `nica.NICA`, `nica.NSM` or `nica.OnlineWhitening`.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, default=None

        Returns
        -------
        NetworkDisplay
        """
        names = ("w_yh", "w_yy", "w_hx", "w_hg")
        weights = {name: getattr(estimator, f"{name}_", None) for name in names}
        return cls(**weights).plot(ax)

    @classmethod
    def from_data(
        cls,
        w_yh: ArrayLike | None = None,
        w_yy: ArrayLike | None = None,
        w_hx: ArrayLike | None = None,
        w_hg: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a network given by its weights.

        Parameters
        ----------
        w_yh, w_yy, w_hx, w_hg : array-like or None
            Of layer 2, of layer 1, or of both.
        ax : matplotlib Axes, default=None

        Returns
        -------
        NetworkDisplay
        """
        return cls(w_yh=w_yh, w_yy=w_yy, w_hx=w_hx, w_hg=w_hg).plot(ax)

    def _count(self) -> dict[str, int]:
        """Neurons of each population; weights that do not fit together are refused."""
        sizes: dict[str, int] = {}
        for name, w in self.weights.items():
            for population, n in zip(name[2:], w.shape, strict=True):
                if sizes.setdefault(population, n) != n:
                    raise ValueError(
                        f"{name} has shape {w.shape}, but there are {sizes[population]} neurons "
                        f"{population}: give weights of one network"
                    )
        if "x" not in sizes:
            # Layer 2 alone: what it sees is its input.
            return {"h": sizes["h"], "y": sizes["y"]}
        return sizes

    def _size(self) -> tuple[float, float]:
        at = np.vstack(list(self._places().values()))
        return 5.6, 0.62 * float(np.ptp(at[:, 1])) + 1.0

    def _draw(self, p: Palette) -> None:
        ax, places = self.ax_, self._places()
        self._connect(places, p)
        for population, at in places.items():
            self._neurons(population, at, p)
        everything = np.vstack(list(places.values()))
        low, high = everything.min(axis=0), everything.max(axis=0)
        ax.set(xlim=(low[0] - 0.4, high[0] + 2.3), ylim=(low[1] - 0.75, high[1] + 0.5))
        ax.set_aspect("equal")
        ax.set_axis_off()

    def _places(self) -> dict[str, Array]:
        """Where the neurons are: in columns, interneurons g above the outputs y."""
        shown = {name: min(n, MOST) for name, n in self.sizes.items()}
        places = {}
        for name, n in shown.items():
            middle = 0.0
            if {"g", "y"} <= set(shown) and name in "gy":
                middle = n / 2 + 0.1 if name == "g" else -n / 2 - 0.1
            y = middle + (n - 1) / 2 - np.arange(n)
            places[name] = np.column_stack([np.full(n, COLUMNS[name]), y])
        return places

    def _neurons(self, population: str, at: Array, p: Palette) -> None:
        from matplotlib.patches import Circle

        ax, n = self.ax_, self.sizes[population]
        names = range(1, len(at) + 1)
        for (x, y), number in zip(at, names, strict=True):
            colour = p.series[(number - 1) % len(p.series)] if population == "y" else p.ink
            ax.add_patch(
                Circle((x, y), RADIUS, facecolor=p.paper, edgecolor=colour, lw=1.2, zorder=3)
            )
            ax.text(
                x, y, f"${population}_{{{number}}}$", ha="center", va="center", zorder=4, color=colour,
                fontsize="small",
            )  # fmt: skip
        if len(at) < n:
            x, y = at[-1]
            ax.text(x, y - 0.5, f"… {n}", ha="center", va="center", color=p.soft)

    def _connect(self, places: dict[str, Array], p: Palette) -> None:
        for name, (post, pre) in SIDES.items():
            if name in self.weights:
                self._lines(name, places[post], places[pre], p)
                self._label(name, places[post], places[pre], p)
        if "g" in places:
            self._ends(places["h"], places["g"], p)
            x, y = places["g"][0]
            self._note(x, y, "excited through $W_{GH}$,\ninhibit through $W_{HG}=W_{GH}^\\top$", p)
        if "y" in places:
            self._lateral(places["y"], p)

    def _label(self, name: str, post: Array, pre: Array, p: Palette) -> None:
        """Name of a matrix, where its bundle is free: above it, or below that to the outputs."""
        below = name == "w_yh" and "g" in self.sizes
        a, b = (post[-1], pre[-1]) if below else (post[0], pre[0])
        x, y = (a + b) / 2
        self.ax_.text(
            x, y - 0.45 if below else y + 0.45, f"$W_{{{name[2:].upper()}}}$", ha="center", va="center",
            color=p.soft,
        )  # fmt: skip

    def _note(self, x: float, y: float, text: str, p: Palette) -> None:
        self.ax_.text(x + 0.4, y, text, va="center", color=p.soft, fontsize="small")

    def _lines(self, name: str, post: Array, pre: Array, p: Palette) -> None:
        from matplotlib.collections import LineCollection

        w = self.weights[name][: len(post), : len(pre)]
        widths = _widths(w)
        segments = [[pre[j], post[i]] for i in range(len(post)) for j in range(len(pre))]
        negative = (w < 0).ravel()
        for sign, style in ((~negative, "-"), (negative, (0, (2.2, 1.4)))):
            chosen = [s for s, wanted in zip(segments, sign, strict=True) if wanted]
            colour = p.series[0] if style == "-" else p.series[1]
            lines = LineCollection(
                chosen, linewidths=widths.ravel()[sign], colors=colour, linestyles=style, alpha=0.85,
                zorder=1,
            )  # fmt: skip
            self.ax_.add_collection(lines)

    def _ends(self, h: Array, g: Array, p: Palette) -> None:
        """A dot where g is excited and a bar where h is inhibited, on one connection for all."""
        way = h[0] - g[0]
        along = way / np.linalg.norm(way)
        dot, bar = g[0] + 1.4 * RADIUS * along, h[0] - 1.35 * RADIUS * along
        across = 0.13 * np.array([-along[1], along[0]])
        self.ax_.plot(*dot, "o", color=p.ink, ms=4, zorder=5)
        self.ax_.plot(
            *np.transpose([bar - across, bar + across]), "-", color=p.ink, lw=1.6, zorder=5
        )

    def _lateral(self, y: Array, p: Palette) -> None:
        from matplotlib.patches import FancyArrowPatch

        w = self.weights["w_yy"][: len(y), : len(y)]
        w = (w + w.T) / 2  # one arc for both directions
        widths = 0.7 * _widths(w)
        for i, j in np.argwhere(np.tril(w, -1)).tolist():
            arc = FancyArrowPatch(
                y[i] + [RADIUS, 0], y[j] + [RADIUS, 0],
                connectionstyle=f"arc3,rad={min(0.35, 1.4 / (i - j)):.3f}",
                arrowstyle="|-|,widthA=1.6,widthB=1.6", lw=widths[i, j], shrinkA=1, shrinkB=1,
                color=p.ink, alpha=0.6, zorder=2,
            )  # fmt: skip
            self.ax_.add_patch(arc)
        away = 0.5 + 0.09 * len(y)
        self._note(y[0, 0] + away, y[:, 1].mean(), "$W_{YY}$ inhibits", p)


def _widths(w: Array) -> Array:
    """Widths of lines in points: the largest weight 3, those near zero a hair."""
    most = np.max(np.abs(w), initial=0.0)
    return np.asarray(0.15 + 2.85 * np.abs(w) / most) if most > 0 else np.full(w.shape, 0.15)
