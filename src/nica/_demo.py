"""What `nica demo` runs and shows: two mixtures of the paper, separated live, beside its rivals.

A sparse synthetic stream (section 4.1) and four images (section 4.3), both with the matrices of
appendix C. The terminal belongs to `nica.cli.demo`; here are the runs and the page made of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from nica import report
from nica.datasets import MIXING_3, natural_scenes, sparse_uniform
from nica.metrics import Match, match_sources, online_error, separation_floor
from nica.networks import NICA, NonnegativePCA
from nica.offline import whiten
from nica.rates import Activity, Time

FloatArray = NDArray[np.float64]

CHUNK = 1000  # samples of the stream that are separated at a time
FOUND = 0.95  # a source counts as found if its output correlates with it at least this much
IMAGE_RATE = Activity(
    5.0, 0.8
)  # images are dense, and hardly grounded: a short memory finds them sooner
RIVAL_RATE = Time(
    1000, 0.01
)  # the paper's for nonnegative PCA of images; also the best of those tried
SHOWN = 120  # samples of the stream that the page draws


@dataclass(frozen=True)
class Mixture:
    """Sources S, what is seen of them X, and what to call them."""

    title: str
    S: FloatArray
    X: FloatArray
    names: list[str]
    shape: tuple[int, ...] = ()  # of a source as an image

    @property
    def n_sources(self) -> int:
        """Number of sources."""
        return int(self.S.shape[1])


def stream_mixture(n_samples: int, seed: int) -> Mixture:
    """Sparse uniform sources, mixed with the paper's 3 x 3 matrix."""
    S = sparse_uniform(n_samples, len(MIXING_3), random_state=seed)
    names = [f"source {i + 1}" for i in range(len(MIXING_3))]
    return Mixture("Stream", S, S @ MIXING_3.T, names)


def image_mixture() -> Mixture:
    """Four images, mixed with the paper's 4 x 4 matrix."""
    scenes = natural_scenes()
    return Mixture("Images", scenes.S, scenes.X, list(scenes.names), tuple(scenes.shape))


class LiveError:
    r"""Error of all outputs so far, under the permutation that is best so far.

    :math:`E_t = \frac1t \sum \lVert s - P y \rVert^2` (section 4) needs only sums over the
    samples, so none is kept.
    """

    def __init__(self, n_sources: int) -> None:
        self.n_samples = 0
        self.power = 0.0
        self.cost = np.zeros((n_sources, n_sources))  # of giving output j to source i

    def add(self, S: FloatArray, Y: FloatArray) -> float:
        """Count some more samples in and give the error of all."""
        self.n_samples += len(S)
        self.power += float(np.sum(S**2))
        self.cost += np.sum(Y**2, axis=0) - 2 * S.T @ Y
        best = float(self.cost[linear_sum_assignment(self.cost)].sum())
        return (self.power + best) / self.n_samples


def separate_stream(model: NICA, mixture: Mixture, Y: FloatArray) -> Iterator[tuple[int, float]]:
    """Separate chunk by chunk into Y; after each, give the samples so far and their error."""
    live = LiveError(mixture.n_sources)
    for start in range(0, len(Y), CHUNK):
        rows = slice(start, start + CHUNK)
        Y[rows] = model.separate(mixture.X[rows])
        yield live.n_samples + len(Y[rows]), live.add(mixture.S[rows], Y[rows])


def present_images(
    model: NICA, mixture: Mixture, presentations: int, seed: int
) -> Iterator[tuple[int, float]]:
    """Present all pixels again and again, each time in another order, as the paper does.

    Gives the samples so far, and the error of the images as the weights stand.
    """
    rng = np.random.default_rng(seed)
    n_pixels = len(mixture.X)
    for i in range(presentations):
        model.partial_fit(mixture.X[rng.permutation(n_pixels)])
        found = match_sources(mixture.S, model.transform(mixture.X))
        yield (i + 1) * n_pixels, found.error


@dataclass(frozen=True)
class Score:
    """How one method did on one mixture, over several seeds."""

    mixture: str
    method: str
    matches: list[Match]

    def row(self) -> tuple[str, str, str, str, str]:
        """Cells of a table: mixture, method, median and worst error, runs that found all."""
        errors = [match.error for match in self.matches]
        found = sum(found_all(match) for match in self.matches)
        return (
            self.mixture,
            self.method,
            _short(float(np.median(errors))),
            _short(max(errors)),
            f"{found} of {len(self.matches)}",
        )

    @property
    def always_right(self) -> bool:
        """Whether every run found all sources."""
        return all(found_all(match) for match in self.matches)


def _short(value: float) -> str:
    return f"{value:.2g}".replace("e-0", "e-")


SCORE_COLUMNS = ("Mixture", "Method", "Median error", "Worst error", "All sources found")


def found_all(match: Match) -> bool:
    """Tell whether every source was found."""
    return bool(np.min(np.abs(match.correlation)) >= FOUND)


def nica_once(mixture: Mixture, presentations: int, seed: int) -> Match:
    """Learn, then separate everything with the weights as they stand at the end."""
    rate = IMAGE_RATE if mixture.shape else None
    model = NICA(n_components=mixture.n_sources, separation_rate=rate, random_state=seed)
    rng = np.random.default_rng(seed)
    for _ in range(presentations):
        model.partial_fit(mixture.X[rng.permutation(len(mixture.X))])
    return match_sources(mixture.S, model.transform(mixture.X))


def fastica_once(mixture: Mixture, seed: int) -> Match:
    """FastICA as scikit-learn has it by default; each output gets its best scale and sign."""
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    model = FastICA(n_components=mixture.n_sources, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(mixture.X)
    # Its unmixing of the mixture itself, not of the centred one, as in the paper's comparison.
    return match_sources(mixture.S, mixture.X @ model.components_.T, scale=True)


def npca_once(mixture: Mixture, presentations: int, seed: int) -> Match:
    """Nonnegative PCA as in the paper: input whitened offline, the paper's rates, as many passes."""
    H = whiten(mixture.X, mixture.n_sources).H
    rate = RIVAL_RATE if mixture.shape else None
    model = NonnegativePCA(whiten=False, rate=rate, random_state=seed)
    rng = np.random.default_rng(seed)
    for _ in range(presentations):
        model.partial_fit(H[rng.permutation(len(H))])
    return match_sources(mixture.S, model.transform(H))


def compare(mixtures: list[tuple[Mixture, int]], n_seeds: int) -> Iterator[Score | str]:
    """Let all methods separate mixtures, presented so often, from several starts; names what it does."""
    methods: dict[str, Callable[[Mixture, int, int], Match]] = {
        "nica": nica_once,
        "FastICA": lambda mixture, _, seed: fastica_once(mixture, seed),
        "nonnegative PCA": npca_once,
    }
    for mixture, presentations in mixtures:
        for method, once in methods.items():
            matches = []
            for seed in range(n_seeds):
                yield f"{mixture.title}, {method}, seed {seed}"
                matches.append(once(mixture, presentations, seed))
            yield Score(mixture.title, method, matches)


@dataclass(frozen=True)
class Demo:
    """Everything that the page shows."""

    stream: Mixture
    outputs: FloatArray  # as the network emitted them
    images: Mixture
    recovered: FloatArray  # the images, as the weights stood at the end
    scores: list[Score]
    parameters: dict[str, object]

    def matches(self) -> tuple[Match, Match]:
        """Stream (its last tenth: before that, the network was still learning) and images."""
        last = slice(-(len(self.outputs) // 10), None)
        stream = match_sources(self.stream.S[last], self.outputs[last])
        return stream, match_sources(self.images.S, self.recovered)

    def verdict(self) -> tuple[str, bool]:
        """Say in one line whether both mixtures came apart."""
        both = zip((self.stream, self.images), self.matches(), strict=True)
        wrong = [mixture.title.lower() for mixture, match in both if not found_all(match)]
        if wrong:
            return f"Not separated: {' and '.join(wrong)}. Try another --seed.", False
        return "Both mixtures were separated: every source was found.", True

    def page(self) -> report.Html:
        """Build the page."""
        return report.page(
            "nica demo",
            "Two mixtures of nonnegative sources, separated by an online neural network",
            report.verdict(*self.verdict()),
            self._stream_section(),
            self._images_section(),
            self._scores_section(),
            report.section("Parameters", report.parameters(self.parameters)),
            report.section("Versions", report.versions()),
        )

    def _stream_section(self) -> report.Html:
        mixture, Y = self.stream, self.outputs
        n_samples, d = mixture.S.shape
        order = self.matches()[0].permutation
        last = slice(-SHOWN, None)
        t = np.unique(np.geomspace(10, n_samples, 200).astype(int))
        errors = online_error(mixture.S, Y)[t - 1]
        return report.section(
            "A stream, separated as it came",
            report.paragraph(
                f"{n_samples:,} samples of {d} sparse sources, seen once through "
                f"{mixture.X.shape[1]} channels. Each output was emitted before the network "
                f"learned from its sample. These are the last {SHOWN}."
            ),
            report.traces(
                {
                    "Sources": mixture.S[last],
                    "Mixture": mixture.X[last],
                    "Outputs": Y[last][:, order],
                },
                plain=["Mixture"],
            ),
            report.curve(
                t,
                {"outputs": errors},
                xlabel="samples seen",
                ylabel="Squared error of all outputs so far, per sample",
                marks={
                    "output nothing": float(np.mean(np.sum(mixture.S**2, axis=1))),
                    "best possible*": separation_floor(mixture.S, last=1.0),
                },
            ),
            report.note(
                "* whitening all samples at once, then the best rotation, chosen with the true "
                "sources."
            ),
        )

    def _images_section(self) -> report.Html:
        mixture = self.images
        match = self.matches()[1]

        def as_images(columns: FloatArray) -> list[FloatArray]:
            return [column.reshape(mixture.shape) for column in columns.T]

        return report.section(
            "Four images, each pixel a sample",
            report.paragraph(
                f"The network sees one pixel of all four mixtures at a time, in random order, "
                f"{self.parameters['presentations']} times over. Below, how well each image "
                "correlates with what came out."
            ),
            report.images(
                {
                    "Sources": as_images(mixture.S),
                    "Mixtures": as_images(mixture.X),
                    "Outputs": as_images(self.recovered[:, match.permutation]),
                },
                [
                    f"{name}: {r:.3f}"
                    for name, r in zip(mixture.names, match.correlation, strict=True)
                ],
            ),
        )

    def _scores_section(self) -> report.Html:
        n_seeds = len(self.scores[0].matches)
        return report.section(
            f"The same from {n_seeds} random starts, beside its rivals",
            report.table(
                SCORE_COLUMNS,
                [score.row() for score in self.scores],
                n_names=2,
                good=[score.always_right for score in self.scores],
            ),
            report.note(
                "Error: squared, per sample, summed over sources of unit variance, after the best "
                "permutation, with the weights as they stood at the end. FastICA: scikit-learn's "
                "default, each output given its best scale and sign, which nica does without. "
                "Nonnegative PCA: whitened beforehand from all samples, with the paper's rates. "
                f"Found: output and source correlate at {FOUND} or more."
            ),
        )
