"""The numbers that `nica demo` shows are those of `nica.metrics`."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nica import _demo
from nica.metrics import match_sources, online_error
from nica.networks import NICA


@given(st.integers(1, 5), st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 99))
def test_live_error_is_the_paper_s_error(d, chunks, seed):
    rng = np.random.default_rng(seed)
    S, Y = rng.random((2, sum(chunks), d))
    live = _demo.LiveError(d)
    end = 0
    for size in chunks:
        start, end = end, end + size
        error = live.add(S[start:end], Y[start:end])
        np.testing.assert_allclose(error, online_error(S[:end], Y[:end])[-1], rtol=1e-9)


def test_stream_is_separated_in_order_and_whole():
    mixture = _demo.stream_mixture(2500, seed=1)
    outputs = np.full_like(mixture.S, np.nan)
    model = NICA(n_components=3, random_state=0)
    steps = list(_demo.separate_stream(model, mixture, outputs))
    assert [rows for rows, _ in steps] == [1000, 2000, 2500]
    expected = NICA(n_components=3, random_state=0).separate(mixture.X)
    np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_allclose(steps[-1][1], online_error(mixture.S, outputs)[-1], rtol=1e-9)


def test_images_come_apart():
    mixture = _demo.image_mixture()
    model = NICA(n_components=4, separation_rate=_demo.IMAGE_RATE, random_state=0)
    steps = list(_demo.present_images(model, mixture, 20, seed=0))
    assert [rows for rows, _ in steps] == [3969 * (i + 1) for i in range(20)]
    assert model.n_samples_seen_ == 20 * 3969
    match = match_sources(mixture.S, model.transform(mixture.X))
    assert steps[-1][1] == match.error
    assert _demo.found_all(match)


def test_score_counts_the_runs_that_found_all():
    mixture = _demo.stream_mixture(500, seed=0)
    good = match_sources(mixture.S, mixture.S[:, [2, 0, 1]])
    bad = match_sources(mixture.S, mixture.X)
    score = _demo.Score("Stream", "test", [good, bad, good])
    assert score.row() == ("Stream", "test", "0", f"{bad.error:.2g}", "2 of 3")
    assert not score.always_right
    assert _demo.Score("Stream", "test", [good]).always_right
