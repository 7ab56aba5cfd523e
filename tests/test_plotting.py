"""Figures: the palette can be told apart, and what is drawn is what was given."""

import itertools

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import nica
from nica import plotting
from nica.plotting import DARK, LIGHT

# How each kind of colour blindness sees linear RGB (Machado, Oliveira & Fernandes 2009).
VISIONS = {
    "normal": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(
    [[0.412456, 0.357576, 0.180438], [0.212673, 0.715152, 0.072175], [0.019334, 0.119192, 0.950304]]
)  # fmt: skip


def linear(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)


def lab(rgb):
    x = XYZ @ np.clip(rgb, 0, 1) / (XYZ @ np.ones(3))
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one, two):
    light, dark = sorted((XYZ[1] @ linear(one), XYZ[1] @ linear(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_series_are_told_apart_by_any_eye_and_in_grey(palette):
    for matrix in VISIONS.values():
        seen = [lab(np.asarray(matrix) @ linear(colour)) for colour in palette.series]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) >= 14
    grey = [lab(linear(colour))[0] for colour in palette.series]
    assert min(abs(a - b) for a, b in itertools.combinations(grey, 2)) >= 6.5
    assert min(abs(a - b) for a, b in itertools.combinations(grey[:3], 2)) >= 14


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_lines_and_text_stand_out_from_the_paper(palette):
    for colour in palette.series:
        assert contrast(colour, palette.paper) >= 2.8
    for colour in (palette.ink, palette.soft, palette.good, palette.warn, palette.bad):
        assert contrast(colour, palette.paper) >= 4.5


def test_style_is_put_back_and_names_its_kinds():
    before = dict(mpl.rcParams)
    with plotting.style("dark"):
        assert mpl.rcParams["figure.facecolor"] == DARK.paper
    assert dict(mpl.rcParams) == before
    with (
        pytest.raises(ValueError, match="kind='loud': give light, dark, paper"),
        plotting.style("loud"),
    ):
        pass


def test_colors_repeat_and_follow_the_background():
    assert plotting.colors(7) == [*LIGHT.series, LIGHT.series[0]]
    with plotting.style("dark"):
        assert plotting.colors(1, Figure().subplots()) == [DARK.series[0]]


@pytest.fixture(scope="module")
def mixture():
    return nica.datasets.make_mixture(n_samples=20_000, random_state=0)


@pytest.fixture(scope="module")
def model(mixture):
    return nica.NICA(3, random_state=0).partial_fit(mixture.X)


def drawn(display):
    """The figure can be rendered."""
    assert display._repr_png_()[:4] == b"\x89PNG"
    return display


def test_network_draws_its_own_sizes_and_weights(model):
    from matplotlib.patches import Circle

    display = drawn(plotting.NetworkDisplay.from_estimator(model))
    neurons = [patch for patch in display.ax_.patches if isinstance(patch, Circle)]
    assert len(neurons) == 3 + 3 + 3 + 3
    positive, negative = display.ax_.collections[:2]
    w = model.w_hx_
    assert len(positive.get_segments()), len(negative.get_segments()) == (
        (w >= 0).sum(),
        (w < 0).sum(),
    )
    widths = np.concatenate([positive.get_linewidths(), negative.get_linewidths()])
    np.testing.assert_allclose(
        np.sort(widths), np.sort(0.15 + 2.85 * np.abs(w).ravel() / np.abs(w).max())
    )


def test_each_layer_alone_has_a_diagram(mixture):
    whitening = nica.OnlineWhitening(2, n_interneurons=4, random_state=0).partial_fit(mixture.X)
    assert plotting.NetworkDisplay.from_estimator(whitening).sizes == {"h": 2, "x": 3, "g": 4}
    nsm = nica.NSM(3, random_state=0).partial_fit(mixture.S)
    assert plotting.NetworkDisplay.from_estimator(nsm).sizes == {"y": 3, "h": 3}


def test_a_large_network_says_how_many_neurons_it_leaves_out():
    rng = np.random.default_rng(0)
    ax = Figure().subplots()
    display = plotting.NetworkDisplay.from_data(rng.random((20, 30)), rng.random((20, 20)), ax=ax)
    assert display.ax_ is ax
    assert {"… 20", "… 30"} <= {text.get_text() for text in ax.texts}


def test_weights_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match=r"w_yy has shape \(2, 2\), but there are 3 neurons y"):
        plotting.NetworkDisplay.from_data(np.ones((3, 3)), np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"weights are \['w_yh'\]: give"):
        plotting.NetworkDisplay.from_data(np.ones((3, 3)))
