"""Figures: the palette can be told apart, and what is drawn is what was given."""

import itertools
import sys

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


def lines(ax):
    return [line.get_xydata() for line in ax.lines]


def test_sources_are_drawn_over_the_truth_in_its_order(mixture, model):
    order = [2, 0, 1]
    last = slice(-500, None)
    display = drawn(
        plotting.SourcesDisplay.from_estimator(
            model, mixture.X[last], mixture.S[last][:, order], names=["a", "b", "$"]
        )
    )
    assert display.correlation_.min() > 0.99
    for ax, j in zip(display.ax_[:, 0], order, strict=True):
        truth, output = lines(ax)[:2]
        np.testing.assert_array_equal(truth[:, 1], mixture.S[-200:, j])
        np.testing.assert_allclose(output[:, 1], truth[:, 1], atol=0.5)
    assert display.ax_[1, 0].get_ylabel() == "b"


def test_sources_alone_and_too_many():
    Y = np.random.default_rng(0).random((10_000, 30))
    display = drawn(plotting.SourcesDisplay.from_data(Y, shown=slice(None)))
    assert len(display.ax_) == 20
    assert "10 more sources not shown" in display.ax_[-1, 0].get_xlabel()
    assert len(lines(display.ax_[0, 0])[0]) <= 4000
    with pytest.raises(ValueError, match="names holds 1 for 30 sources"):
        plotting.SourcesDisplay.from_data(Y, names=["x"])


def test_images_are_the_columns(model):
    rng = np.random.default_rng(0)
    S = rng.random((12, 2))
    display = drawn(plotting.ImagesDisplay.from_data(S[:, ::-1], (3, 4), S @ rng.random((2, 3)), S))
    assert display.ax_.shape == (3, 3)
    np.testing.assert_array_equal(display.ax_[2, 1].images[0].get_array(), S[:, 1].reshape(3, 4))
    with pytest.raises(ValueError, match=r"Y has 12 rows: shape=\(5, 5\) needs 25"):
        plotting.ImagesDisplay.from_data(S, (5, 5))


def test_convergence_is_the_online_error(mixture):
    network = nica.NICA(3, random_state=0)
    display = drawn(plotting.ConvergenceDisplay.from_estimator(network, mixture.X, mixture.S))
    Y = nica.NICA(3, random_state=0).separate(mixture.X)
    errors = nica.metrics.online_error(mixture.S, Y)
    np.testing.assert_array_equal(lines(display.ax_)[0][:, 1], errors[display.t.astype(int) - 1])
    assert not network.__sklearn_is_fitted__()


def test_convergence_without_truth_is_the_score(mixture):
    display = drawn(
        plotting.ConvergenceDisplay.from_estimator(nica.NICA(3, random_state=0), mixture.X)
    )
    left = display.curves["sources"]
    assert left[-1] < 0.01 < left[0]
    with pytest.raises(ValueError, match=r"spread names \['b'\]"):
        plotting.ConvergenceDisplay([1], {"a": [1]}, spread={"b": [1]})


def test_weights_are_drawn_beside_their_prediction(mixture):
    model = nica.NICA(3, random_state=0).fit(mixture.X)
    display = drawn(plotting.WeightsDisplay.from_estimator(model, mixture.A, mixture.S))
    assert max(display.errors_.values()) < 1e-3
    np.testing.assert_allclose(
        display.ax_[0, 0].images[0].get_array(), display.ax_[1, 0].images[0].get_array(), atol=0.05
    )
    alone = plotting.WeightsDisplay.from_data(model.w_yh_, model.w_yy_)
    assert alone.ax_.shape == (1, 2)
    F = model.whitening_
    nsm = nica.NSM(3, random_state=0).fit(mixture.X @ F.T)
    with pytest.raises(ValueError, match="give F"):
        plotting.WeightsDisplay.from_estimator(nsm, mixture.A, mixture.S)
    given = plotting.WeightsDisplay.from_estimator(nsm, mixture.A, mixture.S, F=F)
    assert max(given.errors_.values()) < 1e-3


def test_axes_run_along_the_edges_of_the_whitened_cloud():
    data = nica.datasets.two_sources(5000, random_state=0)
    model = nica.NICA(2, random_state=0).fit(data.X)
    display = drawn(plotting.WhitenedDisplay.from_estimator(model, data.X))
    truth = model.whitening_ @ data.A
    order = nica.metrics.match_sources(data.S, model.transform(data.X)).permutation
    np.testing.assert_allclose(display.axes[:, order], truth, atol=0.1)
    with pytest.raises(ValueError, match=r"pair=\(0, 2\): give two of the coordinates 0 to 1"):
        plotting.WhitenedDisplay.from_estimator(model, data.X, pair=(0, 2))


def test_spectrum_marks_what_was_asked_for(mixture):
    A = nica.datasets.mixing(8, 3, condition=5, random_state=0)
    X = nica.datasets.make_mixture(n_samples=5000, A=A, noise=0.05, random_state=0).X
    model = nica.NICA(2, random_state=0).partial_fit(X)
    display = drawn(plotting.SpectrumDisplay.from_estimator(model, X))
    assert display.ax_.get_title("left") == "2 sources taken, 3 seen"


def test_displays_divide_axes_that_are_given(mixture, model):
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    plotting.SourcesDisplay.from_data(mixture.S[:50], ax=left)
    plotting.NetworkDisplay.from_estimator(model, right)
    assert len(figure.axes) == 2 + 3
    with pytest.raises(ValueError, match="give axes made by subplots"):
        plotting.SourcesDisplay.from_data(mixture.S[:50], ax=Figure().add_axes((0, 0, 1, 1)))


def test_a_missing_library_is_named(mixture, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install nica\[plot\]"):
        plotting.SourcesDisplay.from_data(mixture.S[:50])
