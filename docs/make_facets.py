"""Draw docs/_static/facets-*.png, the pictures of docs/facets.md: python docs/make_facets.py.

The idea: three sources of mean one, cut through where they sum to the same, so that the cone of the data
is a triangle; the inscribed circle that the data must surround; what FacetNICA found. The network: its
synapses, and what each of them must know.
"""

from pathlib import Path

import numpy as np

import nica
from nica import plotting
from nica.datasets import mixing, rectified_gaussian

OUT = Path(__file__).parent / "_static"
BAR = "|-|,widthA=0,widthB=0.4"  #: an inhibiting end
N = 4000
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def slices(vectors):
    """Where rays cut the plane of a constant sum, in two dimensions."""
    return vectors / vectors.sum(axis=-1, keepdims=True) @ CORNERS


def triangle(ax, corners, *style, **options):
    """The outline."""
    ax.plot(*np.vstack([corners, corners[:1]]).T, *style, **options)


def panel(ax, S, title, colour):
    """Data, the true triangle dashed, the circle that they must surround, what was found."""
    S = S / S.mean(axis=0)
    A = mixing(3, condition=4, random_state=0)
    model = nica.FacetNICA(3, random_state=0).fit(S @ A.T)
    found = np.linalg.inv(model.unmixing_ @ A).T
    found = found * np.sign(found.sum(axis=1, keepdims=True))
    seen = S[S.sum(axis=1) > 0.05][:1500]
    ax.plot(*slices(seen).T, ".", markersize=2, alpha=0.5, color="0.6")
    angle = np.linspace(0, 2 * np.pi, 200)
    middle, radius = CORNERS.mean(axis=0), np.sqrt(3) / 6
    circle = middle + radius * np.column_stack([np.cos(angle), np.sin(angle)])
    ax.plot(*circle.T, ":", color="0.3", linewidth=1)
    triangle(ax, slices(found), color=colour, linewidth=1.6)
    triangle(ax, CORNERS, "--", color="0.2", linewidth=0.9)
    r = nica.metrics.match_sources(S, model.transform(S @ A.T), scale=True).correlation.min()
    ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.15, 1.0))
    ax.set_title(f"{title}\nworst r = {r:.2f}", size=9, loc="center")
    ax.set_axis_off()


def idea(plt):
    """Four kinds of data."""
    rng = np.random.default_rng(0)
    kinds = {
        "independent, often zero": nica.datasets.sparse_exponential(N, 3, random_state=rng),
        "correlated, often zero": rectified_gaussian(N, 3, correlation=0.6, random_state=rng),
        "sum to one": rng.dirichlet([0.5, 0.5, 0.5], N),
        "never near zero": 0.5 + rng.random((N, 3)) + rng.random((N, 1)),
    }
    figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
    colour = plotting.colors(1)[0]
    for ax, (title, S) in zip(axes, kinds.items(), strict=True):
        panel(ax, S, title, colour)
    return figure


def neuron(ax, at, name, colour, radius=0.24):
    """A circle with its name."""
    from matplotlib.patches import Circle

    ax.add_patch(Circle(at, radius, facecolor="white", edgecolor=colour, linewidth=1.4, zorder=3))
    ax.text(*at, name, ha="center", va="center", color=colour, zorder=4)


def arrow(ax, start, end, colour, bend=0.0, style="-|>", width=1.1, dashes="-"):
    """A synapse: pointed if it excites, a bar if it inhibits."""
    from matplotlib.patches import FancyArrowPatch

    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle=style, mutation_scale=9, color=colour, linewidth=width,
            linestyle=dashes, connectionstyle=f"arc3,rad={bend}", shrinkA=16, shrinkB=16, zorder=2,
        )
    )  # fmt: skip


def network(plt):
    """Channels, as many numbers as sources, and outputs that act on each other."""
    figure, ax = plt.subplots(figsize=(9.5, 4.4), layout="constrained")
    blue, red = plotting.colors(2)
    ink, soft = "0.15", "0.45"
    channels, rows = (1.95, 0.65, -0.65, -1.95), (1.3, 0.0, -1.3)
    for i, y in enumerate(channels, start=1):
        neuron(ax, (0, y), f"$x_{i}$", ink)
        for other in rows:
            arrow(ax, (0, y), (2.2, other), soft, width=0.7)
    for i, y in enumerate(rows, start=1):
        neuron(ax, (2.2, y), f"$z_{i}$", ink)
        neuron(ax, (4.2, y), f"$y_{i}$", blue)
        arrow(ax, (2.2, y), (4.2, y), blue)
    arrow(ax, (2.2, 1.3), (0, 1.95), red, bend=0.45, style=BAR, dashes="--")
    for a, b in ((0, 1), (1, 2), (0, 2)):
        bend = 0.35 if b - a == 1 else 0.6
        arrow(ax, (4.2, rows[b]), (4.2, rows[a]), red, bend=bend, style=BAR, width=1.4)
        arrow(ax, (4.2, rows[a]), (4.2, rows[b]), red, bend=-bend - 0.15, style=BAR, width=1.4)
    neuron(ax, (3.2, -2.4), "1", ink)
    for y in rows:
        arrow(ax, (3.2, -2.4), (4.2, y), soft, bend=0.2, width=0.7, dashes="--")
    neuron(ax, (4.9, 2.4), "$s$", red)
    notes = (
        (1.0, 0.0, "$F$", soft), (0.75, 2.55, "$G$: what is predicted\nis no news", red),
        (5.45, 0.0, "$L$", red), (2.0, -2.85, "$b$: intercepts", soft),
        (5.25, 2.4, "$s=\\sum_j y_j^2/m_j$ divides all changes of L:\nthe one signal that is not local",
         red),
    )  # fmt: skip
    for x, y, text, colour in notes:
        ax.text(x, y, text, color=colour, size=9, va="center")
    ax.text(
        6.0, -0.3,
        "each output neuron knows, of itself,\n"
        "  $\\sigma,\\ \\mu,\\ \\pi,\\ \\varepsilon$: noise, tail, silence, outliers\n"
        "  $m=\\langle y^2\\rangle$: its mean square\n"
        "  $\\kappa=\\langle\\sigma^2 w\\rangle$: its curvature\n"
        "and changes its synapses by\n"
        "  $c\\propto\\sigma^2\\psi(y)/\\kappa$, times $y_j/m_j$ of the sender",
        va="center", size=9, color=ink,
    )  # fmt: skip
    ax.set(xlim=(-0.4, 9.6), ylim=(-3.0, 3.0), aspect="equal")
    ax.set_axis_off()
    return figure


def main():
    """Draw both."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with plotting.style():
        figures = {"idea": idea(plt), "network": network(plt)}
        for name, figure in figures.items():
            figure.savefig(OUT / f"facets-{name}.png", dpi=80, metadata={"Software": None})
    print(f"Wrote {len(figures)} pictures")


if __name__ == "__main__":
    main()
