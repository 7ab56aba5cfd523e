"""Draw docs/_static/plots-*.png, the pictures of docs/plots.md: python docs/make_plots.py."""

from pathlib import Path

import nica
from nica import plotting
from nica.datasets import make_mixture, mixing, natural_scenes, two_sources

OUT = Path(__file__).parent / "_static"


def main():
    """Draw each Display once, on the data that the page shows."""
    mixture = make_mixture(n_samples=50_000, random_state=0)
    model = nica.NICA(3, random_state=0).fit(mixture.X)
    A = mixing(8, 3, condition=5, random_state=0)
    noisy = make_mixture(n_samples=5000, A=A, noise=0.05, random_state=0).X
    scenes = natural_scenes()
    viewer = nica.NICA(4, random_state=0).fit(scenes.X)
    two = two_sources(20_000, random_state=0)
    pair = nica.NICA(2, random_state=0).fit(two.X)
    fresh = nica.NICA(3, random_state=0)
    displays = {
        "sources": plotting.SourcesDisplay.from_estimator(model, mixture.X, mixture.S),
        "images": plotting.ImagesDisplay.from_estimator(
            viewer, scenes.X, scenes.shape, scenes.S, names=scenes.names
        ),
        "convergence": plotting.ConvergenceDisplay.from_estimator(fresh, mixture.X, mixture.S),
        "weights": plotting.WeightsDisplay.from_estimator(model, mixture.A, mixture.S),
        "whitened": plotting.WhitenedDisplay.from_estimator(pair, two.X),
        "spectrum": plotting.SpectrumDisplay.from_data(noisy),
        "diagnosis": nica.diagnose(noisy, 3).plot(),
        "network": plotting.NetworkDisplay.from_estimator(model),
    }
    with plotting.style("dark"):
        displays["network-dark"] = plotting.NetworkDisplay.from_estimator(model)
    for name, display in displays.items():
        display.figure_.savefig(OUT / f"plots-{name}.png", dpi=80, metadata={"Software": None})
    print(f"Wrote {len(displays)} pictures")


if __name__ == "__main__":
    main()
