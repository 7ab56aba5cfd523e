"""The data are what the paper says: moments, matrices, images; and every draw is reproducible."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nica.datasets import (
    MIXING_3,
    MIXING_IMAGES,
    PUBLISHED_SEEDS,
    abundances,
    background_noise,
    coactive_traces,
    make_mixture,
    mixing,
    natural_scenes,
    paper_mixing,
    rectified_gaussian,
    sparse_exponential,
    sparse_uniform,
    two_sources,
)

seeds = st.integers(0, 2**32 - 1)
SOURCES = [sparse_uniform, sparse_exponential, background_noise]
FIRST_ENTRIES = [-0.01438259240698685, -0.0515778410041365, 0.03635925553887133]
KINDS = ["uniform", "exponential", "mixed", "background"]


@pytest.mark.parametrize("zeros", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("draw", [sparse_uniform, sparse_exponential])
def test_sources_have_unit_variance_no_correlation_and_their_zeros(draw, zeros):
    S = draw(200_000, 3, zeros=zeros, random_state=0)
    assert S.min() >= 0
    np.testing.assert_allclose(np.cov(S.T), np.eye(3), atol=0.05)
    np.testing.assert_allclose(np.mean(S == 0, axis=0), zeros, atol=0.01)


def test_sparse_sources_are_those_of_the_paper():
    S = sparse_uniform(100_000, 2, random_state=0)
    top = np.sqrt(48 / 5)
    assert 0.999 * top < S.max() <= top
    assert S.mean() == pytest.approx(top / 4, rel=0.02)
    S = sparse_exponential(100_000, 2, random_state=0)
    assert S[S > 0].mean() == pytest.approx(np.sqrt(4 / 3), rel=0.02)


def test_background_has_the_variance_asked_for():
    assert background_noise(200_000, 1, random_state=0).var() == pytest.approx(0.1, rel=0.02)
    assert background_noise(200_000, 1, variance=2, random_state=0).var() == pytest.approx(
        2, rel=0.02
    )


DEPENDENT = [rectified_gaussian, coactive_traces]


@pytest.mark.parametrize("draw", [*SOURCES, *DEPENDENT, lambda n, d, **seed: mixing(n, d, **seed)])
def test_draws_follow_scikit_learn_s_random_state(draw):
    few = 300 if draw is coactive_traces else 5  # its events are rare
    same = draw(few, 2, random_state=7)
    assert np.array_equal(same, draw(few, 2, random_state=7))
    assert np.array_equal(same, draw(few, 2, random_state=np.random.RandomState(7)))
    assert not np.array_equal(same, draw(few, 2, random_state=8))
    first, second = (draw(few, 2, random_state=np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(first, second)
    assert draw(few, 2).shape == (few, 2)


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9])
def test_rectified_gaussians_correlate_as_their_integral_says(r):
    S = rectified_gaussian(400_000, 2, correlation=r, random_state=0)
    product = (np.sqrt(1 - r**2) + r * (np.pi - np.arccos(r))) / (2 * np.pi)
    expected = (product - 0.5 / np.pi) / (0.5 - 0.5 / np.pi)
    assert S.min() == 0
    np.testing.assert_allclose(S.var(axis=0), 1, atol=0.02)
    assert np.corrcoef(S.T)[0, 1] == pytest.approx(expected, abs=0.01)


@given(seeds, st.integers(2, 6), st.floats(0.1, 10), st.sampled_from([0.0, 2.0]))
@settings(max_examples=30)
def test_abundances_are_shares(seed, d, contrast, length):
    S = abundances((9, 11), d, contrast=contrast, length=length, random_state=seed)
    assert S.shape == (99, d)
    assert S.min() >= 0
    np.testing.assert_allclose(S.sum(axis=1), 1, atol=1e-12)


def test_contrast_makes_pixels_pure_and_length_makes_maps_smooth():
    pure = [
        np.mean(abundances((60, 60), 3, contrast=c, random_state=0).max(axis=1) == 1)
        for c in (0.3, 1.0, 3.0)
    ]
    assert pure[0] < pure[1] < pure[2]
    step = [
        np.abs(np.diff(abundances((60, 60), 3, length=n, random_state=0)[:60], axis=0)).mean()
        for n in (0.0, 2.0, 6.0)
    ]
    assert step[0] > step[1] > step[2]


def test_traces_fire_together_as_often_as_asked_for():
    r = []
    for together in (0.0, 0.5, 1.0):
        S = coactive_traces(100_000, 3, together=together, random_state=0)
        assert S.min() == 0
        assert np.mean(S == 0) > 0.2
        # events at .01 per sample, of mean size 1 and decay 20: the mean is near .2
        np.testing.assert_allclose(S.mean(axis=0), 0.2, rtol=0.15)
        r.append(np.corrcoef(S.T)[np.triu_indices(3, 1)].mean())
    assert abs(r[0]) < 0.05
    assert r[0] + 0.2 < r[1] < r[2] - 0.2


@pytest.mark.parametrize(
    ("draw", "options", "message"),
    [
        (rectified_gaussian, {"correlation": 1.0}, "correlation=1.0 must be at least 0 and below"),
        (coactive_traces, {"together": 1.5}, "together=1.5 is a share of the events"),
        (coactive_traces, {"rate": 0.6}, "rate=0.6 must be above 0 and at most 0.5"),
        (coactive_traces, {"decay": 0.0}, "decay=0.0"),
        (lambda n, d, **o: abundances((n, n), d, **o), {"contrast": 0.0}, "contrast=0.0 must be"),
        (lambda n, d, **o: abundances((n, n), 1, **o), {}, "at least 2 materials"),
        (lambda n, d, **o: abundances((0, n), d, **o), {}, "0 x 10 array"),
    ],
)
def test_dependent_sources_refuse_what_they_cannot_draw(draw, options, message):
    with pytest.raises(ValueError, match=message):
        draw(10, 2, **options)


@given(seeds, st.integers(1, 8), st.integers(0, 8), st.floats(1, 1e6))
def test_mixing_has_the_condition_asked_for(seed, d, more, condition):
    condition = 1.0 if d == 1 else condition
    A = mixing(d + more, d, condition=condition, random_state=seed)
    singular = np.linalg.svd(A, compute_uv=False)
    assert A.shape == (d + more, d)
    np.testing.assert_allclose(singular, np.geomspace(1, 1 / condition, d), rtol=1e-8)


@given(seeds, st.integers(1, 8))
def test_mixing_is_of_full_rank(seed, d):
    assert np.linalg.matrix_rank(mixing(d, random_state=seed)) == d


def test_matrices_of_the_paper():
    assert MIXING_3.shape == (3, 3)
    assert MIXING_IMAGES.shape == (4, 4)
    assert np.array_equal(paper_mixing(3), MIXING_3)
    for d in PUBLISHED_SEEDS:
        assert paper_mixing(d).shape == (d, d)
        assert np.linalg.cond(paper_mixing(d)) == pytest.approx(3)


def test_drawn_matrices_never_change():
    """Published results depend on them, so a change must be seen: these digits are the contract."""
    np.testing.assert_allclose(
        [paper_mixing(d)[0, 0] for d in (5, 7, 10)], FIRST_ENTRIES, rtol=0, atol=1e-12
    )


def test_published_matrices_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        MIXING_3[0, 0] = 1.0
    paper_mixing(3)[0, 0] = 1.0
    assert MIXING_3[0, 0] == 0.031518


@pytest.mark.parametrize("kind", KINDS)
def test_mixture_is_what_its_parts_say(kind):
    data = make_mixture(kind, 500, random_state=0)
    X = data.S @ data.A.T
    if kind == "background":
        X = X + data.background @ data.A_background.T
    np.testing.assert_allclose(data.X, X, atol=1e-14)
    assert data.S.shape == (500, {"mixed": 5}.get(kind, 3))


@given(seeds, st.sampled_from(KINDS), st.integers(1, 6))
@settings(max_examples=30)
def test_mixture_of_any_size(seed, kind, d):
    data = make_mixture(kind, 50, d, random_state=seed)
    assert data.S.shape == (50, d)
    assert np.linalg.matrix_rank(data.A) == d
    assert data.X.shape == (50, len(data.A))
    assert data.S.min() >= 0


def test_mixed_sources_are_two_uniform_and_three_exponential():
    S = make_mixture("mixed", 50_000, random_state=0).S
    uniform = S.max(axis=0) <= np.sqrt(48 / 5)
    assert uniform.tolist() == [True, True, False, False, False]


def test_mixture_takes_a_matrix_and_adds_noise():
    A = mixing(8, 4, condition=10, random_state=1)
    clean = make_mixture("uniform", 50_000, 4, A=A, random_state=0)
    noisy = make_mixture("uniform", 50_000, 4, A=A, noise=0.2, random_state=0)
    assert np.array_equal(clean.A, A)
    assert np.array_equal(clean.S, noisy.S)
    np.testing.assert_allclose((noisy.X - clean.X).std(axis=0), 0.2, rtol=0.03)


def test_two_sources_track_two_distinct_samples():
    data = two_sources(random_state=0)
    np.testing.assert_allclose(data.X, data.S @ data.A.T)
    first, second = data.S[data.tracked]
    assert first[0] > first[1]
    assert second[1] > second[0]
    np.testing.assert_allclose(two_sources(100_000, random_state=0).S.var(axis=0), 1, rtol=0.02)


def test_natural_scenes_are_grounded_white_enough_and_mixed():
    scenes = natural_scenes()
    S = scenes.S
    assert S.shape == (3969, 4)
    assert scenes.shape == (63, 63)
    np.testing.assert_array_equal(S.min(axis=0), 0)
    np.testing.assert_allclose(S.var(axis=0), 1)
    np.testing.assert_allclose(scenes.X, S @ MIXING_IMAGES.T)
    assert np.max(np.abs(np.corrcoef(S.T) - np.eye(4))) < 0.15
    assert np.percentile(S, 1, axis=0).max() < 0.6
    neighbours = S.reshape(63, 63, 4)
    assert np.corrcoef(neighbours[:-1].ravel(), neighbours[1:].ravel())[0, 1] > 0.5


def write_tiffs(folder, shapes, dtype=np.uint8):
    from skimage import io

    for i, shape in enumerate(shapes):
        image = np.random.default_rng(i).integers(0, 255, shape).astype(dtype)
        io.imsave(folder / f"{i}.tiff", image, check_contrast=False)


def test_scenes_of_a_folder_are_the_first_four_images(tmp_path):
    write_tiffs(tmp_path, [(256, 512), (252, 252), (300, 256, 3), (256, 512), (256, 512)])
    scenes = natural_scenes(tmp_path)
    assert scenes.names == ["0", "1", "2", "3"]
    assert scenes.S.shape == (3969, 4)
    np.testing.assert_allclose(scenes.S.var(axis=0), 1)

    from skimage import io

    squares = io.imread(tmp_path / "1.tiff").reshape(63, 4, 63, 4).mean(axis=(1, 3)).ravel()
    expected = (squares - squares.min()) / squares.std()
    np.testing.assert_allclose(scenes.S[:, 1], expected)


def test_thirteen_photographs_are_taken_in_the_order_of_their_numbers(tmp_path):
    """A folder as the paper's: 16 bits, 256 x 512 pixels, numbered from 1."""
    shapes = [(256, 512)] * 13
    write_tiffs(tmp_path, shapes, np.uint16)
    (tmp_path / "0.tiff").rename(tmp_path / "13.tiff")
    scenes = natural_scenes(tmp_path)
    assert scenes.names == ["1", "2", "3", "4"]
    assert scenes.S.shape == (63 * 63, 4)
    np.testing.assert_allclose(scenes.S.min(axis=0), 0)
    np.testing.assert_allclose(scenes.S.var(axis=0), 1)


def test_folders_without_the_images_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        natural_scenes(tmp_path / "missing")
    write_tiffs(tmp_path, [(256, 512)] * 3)
    with pytest.raises(FileNotFoundError, match="holds 3 TIFF images: 4 are needed"):
        natural_scenes(str(tmp_path))
    (tmp_path / "3.tif").write_bytes(b"not an image")
    with pytest.raises(ValueError, match=r"3\.tif cannot be read as an image"):
        natural_scenes(tmp_path)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((252, 251), np.uint8), r"shape \(252, 251\): at least 252 x 252"),
        (np.zeros((252, 252), np.uint8), "constant or not finite"),
        (np.full((252, 252), np.nan, np.float32), "constant or not finite"),
    ],
)
def test_unfit_images_are_refused(tmp_path, image, message):
    from skimage import io

    write_tiffs(tmp_path, [(256, 256)] * 3)
    io.imsave(tmp_path / "3.tiff", image, check_contrast=False)
    with pytest.raises(ValueError, match=message):
        natural_scenes(tmp_path)


def test_missing_scikit_image_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(ImportError, match=r"pip install nica\[images\]"):
        natural_scenes()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sparse_uniform(0, 3), ValueError, "0 x 3 array"),
        (lambda: sparse_uniform(2.5, 3), TypeError, "integer"),
        (lambda: sparse_uniform(2, 3, zeros=1), ValueError, "zeros=1 "),
        (lambda: sparse_exponential(2, 3, zeros=-0.1), ValueError, "zeros=-0.1 "),
        (lambda: background_noise(2, 3, variance=0), ValueError, "variance=0 "),
        (lambda: mixing(2, 3), ValueError, "2 channels cannot hold 3 sources"),
        (lambda: mixing(3, condition=0.5), ValueError, "condition=0.5 "),
        (lambda: mixing(3, 1, condition=2.0), ValueError, "single source"),
        (lambda: paper_mixing(4), ValueError, "no 4 random sources"),
        (lambda: make_mixture("speech"), ValueError, "kind='speech'"),
        (lambda: make_mixture(A=np.eye(4)), ValueError, "A has 4 columns for 3 sources"),
        (lambda: make_mixture(A=[[np.nan] * 3] * 3), ValueError, "Input A contains NaN"),
    ],
)
def test_bad_requests_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
