"""Draw docs/_static/concepts-*.png, the pictures of docs/concepts.md: python docs/make_concepts.py.

The idea: two sources, their mixture, the whitened mixture. The failures: whitened clouds of two sources
that break one assumption each, the true axes dashed, those that were found in colour. The diagnosis of a
good mixture, and of one whose sources stay away from zero.
"""

import warnings
from pathlib import Path

import numpy as np

import nica
from nica import plotting
from nica.datasets import make_mixture, mixing, two_sources
from nica.metrics import match_sources

OUT = Path(__file__).parent / "_static"
N = 20_000
POINTS = 1500


def cloud(ax, values, title, letter):
    """Samples of two sources, channels or principal neurons."""
    points = values[:POINTS]
    ax.plot(*points.T, ".", markersize=2, alpha=0.4, color=plotting.colors(2)[0])
    ax.axhline(0, color="0.7", linewidth=0.6, zorder=0)
    ax.axvline(0, color="0.7", linewidth=0.6, zorder=0)
    ax.set(title=title, xlabel=f"${letter}_1$", ylabel=f"${letter}_2$", aspect="equal")


def whitened(ax, model, X):
    """What layer 2 sees, and the axes it found, in equal units."""
    plotting.WhitenedDisplay.from_estimator(model, X[:POINTS], ax=ax)
    ax.set_aspect("equal")


def idea(plt):
    """Mixing shears the cloud; whitening leaves a turn; the second layer finds it."""
    data = two_sources(N, random_state=0)
    model = nica.NICA(2, random_state=1).fit(data.X)
    figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
    cloud(axes[0], data.S, "sources", "s")
    cloud(axes[1], data.X, "mixture", "x")
    whitened(axes[2], model, data.X)
    axes[2].set_title("whitened, and the axes found")
    cloud(axes[3], model.transform(data.X), "outputs", "y")
    return figure


def broken(rng):
    """Sources or mixtures in which one thing is wrong each, by name: S, and what channels add."""
    S = (rng.random((N, 2)) < 0.6) * rng.uniform(0, 1, (N, 2))
    shared = (rng.random((N, 1)) < 0.6) * rng.uniform(0, 1, (N, 1))
    yield "as assumed", S, 0
    yield "never near zero", rng.beta(3, 3, (N, 2)) + 0.5, 0
    yield "correlated", 0.5 * S + shared, 0
    yield "an offset of a channel", S, np.array([0.0, 0.8])


def failures(plt):
    """A panel for each of them: cloud, true axes dashed, found axes, the error, the verdict."""
    rng = np.random.default_rng(0)
    A = np.array([[1.0, 0.5], [-0.4, 1.0]])
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
    for ax, (name, S, offset) in zip(axes, broken(rng), strict=True):
        S = S / S.std(axis=0)
        X = S @ A.T + offset
        model = nica.NICA(2, random_state=0).fit(X)
        match = match_sources(S, model.transform(X), scale=True)
        verdict = nica.diagnose(X, model=model).verdict
        whitened(ax, model, X)
        for column in (model.whitening_ @ A).T:
            reach = 4 * column / np.linalg.norm(column)
            ax.plot([0, reach[0]], [0, reach[1]], "--", color="0.3", linewidth=1)
        ax.set_title(
            f"{name}\nworst r = {match.correlation.min():.2f}, diagnosis: {verdict}", size=9
        )
    return figure


def main():
    """Draw all of them."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    S = make_mixture(n_samples=N, random_state=0).S
    A = mixing(8, 3, condition=5, random_state=0)
    noise = 0.02 * np.random.default_rng(0).standard_normal((N, 8))
    with plotting.style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # these mixtures are made to fail
        figures = {"idea": idea(plt), "fails": failures(plt)}
        for name, level in {"ok": 0.0, "failed": 2.5}.items():
            figures[name] = nica.diagnose((S + level) @ A.T + noise, 3).plot().figure_
        for name, figure in figures.items():
            figure.savefig(OUT / f"concepts-{name}.png", dpi=80, metadata={"Software": None})
    print(f"Wrote {len(figures)} pictures")


if __name__ == "__main__":
    main()
