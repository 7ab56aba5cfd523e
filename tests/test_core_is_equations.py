"""The native core computes what the equations say, with every kind of kernel that this CPU has."""

from functools import cache

import numpy as np
import pytest
from helpers import assert_close, mixture, run_paper, run_robust, white
from hypothesis import given, settings
from hypothesis import strategies as st

from nica import NICA, NSM, OnlineWhitening, _core
from nica.rates import Activity, Time

seeds = st.integers(0, 2**31)
rates = st.tuples(st.floats(20, 200), st.floats(0.1, 2))
activities = st.tuples(st.floats(10, 50), st.floats(0.8, 1))  # about the paper's grid
half_lives = st.one_of(st.none(), st.floats(30, 1000))


@pytest.fixture(scope="module", params=_core.kernels(), autouse=True)
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NICA_KERNELS", request.param)
        yield request.param


@st.composite
def sizes(draw, largest_alpha=0.05):
    """k, l, m, d and alpha of a two-layer network.

    Alpha stays below the variance of the weakest source direction (appendix B). Beyond it layer 2 has
    more outputs than its input has directions, and amplifies round-off tenfold every few samples.
    """
    d = draw(st.integers(1, 6))
    k = d + draw(st.integers(0, 3))
    if draw(st.booleans()):
        return {"k": k, "l": d, "m": d + draw(st.integers(0, 2)), "d": d, "alpha": 0.0}
    l = d + draw(st.integers(0, 2))
    m = d + draw(st.integers(0, 3))
    return {"k": k, "l": l, "m": m, "d": d, "alpha": draw(st.floats(0.01, largest_alpha))}


def steady(size, whitening, half_life):
    """Rates of layer 1 at which learning is stable: those drawn, or slower ones.

    With fewer interneurons than principal neurons the inverse of alpha I + W_hg W_gh is 1 / alpha in
    the directions that no interneuron sees, and a step overshoots unless its rate is below alpha^2:
    the network is then chaotic, and round-off grows until two exact computations share no digit.
    """
    if size["m"] >= size["l"]:
        return whitening, half_life
    return (4 / size["alpha"] ** 2, whitening[1]), None


def steady_second(size, separation):
    """Rates of layer 2 at which learning is stable: such directions are as loud as 1 / alpha."""
    a, b = separation
    return (a, b) if size["m"] >= size["l"] else (a / size["alpha"] ** 2, b)


def layer_1(size):
    return {"n_components": size["d"], "n_whitened": size["l"], "n_interneurons": size["m"],
            "alpha": size["alpha"]}  # fmt: skip


def oracle(size):
    return {name: size[name] for name in ("d", "l", "m", "alpha")}


def assert_first_layer(model, state, tolerance=1e-9):
    gain = getattr(state, "gain", 1.0)
    assert_close(model.w_hx_, state.W_hx, tolerance)
    assert_close(model.w_hg_, state.W_hg, tolerance)
    assert_close(model.mean_, state.x_bar / gain, tolerance)


def assert_second_layer(model, state, tolerance=1e-9):
    assert_close(model.w_yh_, state.W_yh, tolerance)
    assert_close(model.w_yy_, state.W_yy, tolerance)
    assert_close(model.activity_, state.D, tolerance)


# ------------------------------------------------------------------------------- start="paper"


@settings(max_examples=25)
@given(sizes(), seeds, rates, activities, half_lives, st.booleans())
def test_paper_start(size, seed, whitening, separation, half_life, flip):
    whitening, half_life = steady(size, whitening, half_life)
    separation = steady_second(size, separation)
    _, X = mixture(seed, 150, size["d"], size["k"])
    model = NICA(
        **layer_1(size), start="paper", whitening_rate=Time(*whitening),
        separation_rate=Activity(*separation), half_life=half_life, flip_silent=flip,
        random_state=seed,
    )  # fmt: skip
    Y = model.separate(X)
    _, expected, state = run_paper(
        X, model._seed, **oracle(size), whitening=whitening, separation=separation,
        half_life=half_life or np.inf, flip=flip, drawn=True,
    )  # fmt: skip
    assert_close(Y, expected)
    assert_first_layer(model, state)
    assert_second_layer(model, state)


@settings(max_examples=15)
@given(sizes(largest_alpha=0.5), seeds, rates, half_lives)
def test_paper_start_of_the_first_layer_alone(size, seed, whitening, half_life):
    whitening, half_life = steady(size, whitening, half_life)
    _, X = mixture(seed, 150, size["d"], size["k"])
    model = OnlineWhitening(
        **layer_1(size), start="paper", whitening_rate=Time(*whitening), half_life=half_life,
        random_state=seed,
    )  # fmt: skip
    H = model.separate(X)
    expected, _, state = run_paper(
        X, model._seed, **oracle(size), whitening=whitening, half_life=half_life or np.inf
    )
    assert_close(H, expected)
    assert_first_layer(model, state)


@settings(max_examples=15)
@given(st.integers(1, 8), st.integers(0, 3), seeds, activities, st.booleans())
def test_paper_start_of_the_second_layer_alone(d, more, seed, separation, flip):
    _, X = mixture(seed, 150, d, d + more, condition=1.0)
    model = NSM(
        d, start="paper", separation_rate=Activity(*separation), flip_silent=flip, random_state=seed
    )
    Y = model.separate(X)
    _, expected, state = run_paper(
        X, model._seed, d, layers="second", separation=separation, flip=flip, drawn=True
    )
    assert_close(Y, expected)
    assert_second_layer(model, state)


@settings(max_examples=10)
@given(st.integers(1, 6), seeds, st.floats(10, 50), st.floats(0.05, 2))
def test_paper_start_with_a_separation_rate_that_falls_with_time(d, seed, a, b):
    _, X = white(seed, 150, d)
    model = NSM(start="paper", separation_rate=Time(a, b), random_state=seed)
    Y = model.separate(X)
    _, expected, state = run_paper(
        X, model._seed, d, layers="second", separation=(a, b), separation_in_time=True, drawn=True
    )
    assert_close(Y, expected)
    assert_second_layer(model, state)


@settings(max_examples=15)
@given(sizes(), seeds, st.sampled_from(["sweeps", "ode"]), st.integers(1, 12))
def test_a_limited_number_of_sweeps_and_of_steps(size, seed, dynamics, max_sweeps):
    """The literal modes, cut off wherever they are: the same unfinished activities."""
    whitening, _ = steady(size, (100.0, 1.0), None)
    _, X = mixture(seed, 100, size["d"], size["k"])
    model = NICA(
        **layer_1(size), start="paper", dynamics=dynamics, max_sweeps=max_sweeps, dynamics_tol=0,
        whitening_rate=Time(*whitening), separation_rate=Activity(10, 0.8), random_state=seed,
    )  # fmt: skip
    Y = model.separate(X)
    _, expected, state = run_paper(
        X, model._seed, **oracle(size), whitening=whitening, dynamics=dynamics,
        max_sweeps=max_sweeps, tol=0,
    )  # fmt: skip
    assert_close(Y, expected)
    assert_first_layer(model, state)
    assert_second_layer(model, state)


@pytest.mark.parametrize("start", ["warm", "paper"])
@pytest.mark.parametrize("dynamics", ["sweeps", "ode"])
def test_settled_dynamics_are_the_fixed_point(start, dynamics):
    _, X = mixture(1, 250, 3, 4)
    Y, expected = (
        NICA(3, start=start, dynamics=kind, dynamics_tol=1e-14, random_state=1).separate(X)
        for kind in (dynamics, "exact")
    )
    assert_close(Y, expected)


# -------------------------------------------------------------------------------- start="warm"


def assert_robust(model, X, **options):
    """Compare outputs and weights of a NICA that started with a warm-up."""
    Y = model.separate(X)
    _, expected, state = run_robust(X, model._seed, **options)
    assert state.starts > 0
    assert_close(Y, expected, floor=1.0)
    assert_first_layer(model, state)
    assert_second_layer(model, state)
    assert np.array_equal(model._state()["flipped"].ravel(), state.flipped)
    return state


@settings(max_examples=25)
@given(sizes(), seeds, half_lives, st.booleans(), st.floats(-6, 6))
def test_warm_start(size, seed, half_life, flip, magnitude):
    _, X = mixture(seed, 200, size["d"], size["k"], scale=10**magnitude)
    model = NICA(**layer_1(size), half_life=half_life, flip_silent=flip, random_state=seed)
    assert_robust(model, X, **oracle(size), half_life=half_life or np.inf, flip=flip)


@settings(max_examples=10)
@given(st.integers(1, 6), seeds, st.floats(0, 20), st.floats(1.01, 3))
def test_warm_start_with_another_whitening_rate(d, seed, a, b):
    _, X = mixture(seed, 150, d)
    assert_robust(NICA(whitening_rate=Time(a, b), random_state=seed), X, d=d, rate=(a, b))


@settings(max_examples=15)
@given(st.integers(1, 5), st.integers(0, 2), seeds, st.data())
def test_warm_start_through_outliers_and_repeats(d, more, seed, data):
    """Any rows blown up, any rows said again, from the first on."""
    _, X = mixture(seed, 220, d, d + more)
    rows = st.lists(
        st.tuples(st.integers(0, 219), st.sampled_from([15, 300, 1e6, -40])), max_size=6,
        unique_by=lambda outlier: outlier[0],  # these factors, not their products
    )  # fmt: skip
    for row, factor in data.draw(rows):
        X[row] *= factor
    repeats = np.ones(len(X), dtype=int)
    for row, times in data.draw(
        st.lists(st.tuples(st.integers(0, 219), st.integers(2, 80)), max_size=3)
    ):
        repeats[row] = times
    assert_robust(NICA(d, random_state=seed), np.repeat(X, repeats, axis=0), d=d)


@settings(max_examples=5)
@given(st.integers(1, 3), seeds, st.integers(20, 90))
def test_warm_start_in_a_slow_world(d, seed, pace):
    """Sources that stay for a while: starts follow each other, from more and more samples.

    Layer 1 alone: what layer 2 makes of so few states is ill-conditioned.
    """
    rng = np.random.default_rng(seed)
    S = np.repeat(rng.exponential(size=(6, d)) * (rng.random((6, d)) < 0.5), pace, axis=0)
    X = 30 * S + rng.normal(0, 0.2, (6 * pace, d))
    model = OnlineWhitening(d, random_state=seed)
    H = model.separate(X)
    expected, _, state = run_robust(X, model._seed, d)
    assert_close(H, expected)
    assert_first_layer(model, state)
    now = model._scalars()
    assert (model._starts, now["basis"], now["t"]) == (state.starts, state.basis, state.t)


@settings(max_examples=10)
@given(st.integers(2, 5), seeds, st.integers(60, 150), st.sampled_from([1e-3, 50, 1e4]))
def test_warm_start_through_a_jump(d, seed, when, factor):
    X = np.vstack([mixture(seed, when, d)[1], mixture(seed + 1, 200, d, scale=factor)[1]])
    state = assert_robust(NICA(random_state=seed), X, d=d)
    assert state.starts == (1 if factor < 1 else 2)


@settings(max_examples=8)
@given(st.integers(2, 5), seeds, st.floats(150, 400))
def test_rates_start_over_after_a_jump(d, seed, half_life):
    """The same size, but some directions are stronger now."""
    _, X = mixture(seed, 400, d)
    X[200:] = X[200:] * 3.0 ** np.resize([1.0, -1.0], d)
    model = NICA(half_life=half_life, random_state=seed)
    state = assert_robust(model, X, d=d, half_life=half_life)
    now = model._scalars()
    assert now["renewed"] == state.renewed
    assert now["stray"] == pytest.approx(state.stray, rel=1e-6)
    assert state.renewed > 0


def test_warm_start_through_a_burst_that_passes():
    _, X = mixture(3, 400, 3)
    X[200:212] *= 1000
    state = assert_robust(NICA(random_state=3), X, d=3)
    assert state.starts == 1
    assert not state.suspended


@settings(max_examples=15)
@given(sizes(largest_alpha=0.5), seeds, half_lives)
def test_warm_start_of_the_first_layer_alone(size, seed, half_life):
    _, X = mixture(seed, 150, size["d"], size["k"])
    model = OnlineWhitening(**layer_1(size), half_life=half_life, random_state=seed)
    H = model.separate(X)
    expected, _, state = run_robust(X, model._seed, **oracle(size), half_life=half_life or np.inf)
    assert_close(H, expected)
    assert_first_layer(model, state)


@settings(max_examples=15)
@given(st.integers(1, 8), seeds, st.booleans(), half_lives, st.integers(0, 1))
def test_warm_start_of_the_second_layer_alone(d, seed, flip, half_life, outliers):
    _, X = white(seed, 250, d)
    X[40 : 40 + outliers] *= 60
    model = NSM(flip_silent=flip, half_life=half_life, random_state=seed)
    Y = model.separate(X)
    _, expected, state = run_robust(
        X, model._seed, d, layers="second", flip=flip, half_life=half_life or np.inf
    )
    assert_close(Y, expected)
    assert_close(model.mean_, state.x_bar)
    assert_second_layer(model, state)


# -------------------------------------------------------------------------------- long streams

LONG = {"d=3": (3, 3), "d=5, k=8": (5, 8), "d=10": (10, 10), "d=12": (12, 12)}


@cache
def long_stream(d, k, start):
    """Mixture and what the equations make of it: once for all kernels."""
    n = 10_000 if d <= 3 else 1_500
    _, X = mixture(d, n, d, k)
    if start == "paper":
        b = 0.8 if d <= 3 else 0.9
        return X, run_paper(X, NICA_SEED, d, separation=(10.0, b))
    return X, run_robust(X, NICA_SEED, d)


NICA_SEED = int(np.random.RandomState(0).randint(2**31 - 1))


@pytest.mark.parametrize("start", ["paper", "warm"])
@pytest.mark.parametrize(("d", "k"), LONG.values(), ids=LONG)
def test_long_streams(d, k, start):
    X, (_, expected, state) = long_stream(d, k, start)
    model = NICA(d, start=start, random_state=0)
    Y = model.separate(X)
    assert model._seed == NICA_SEED
    assert_close(Y, expected)
    assert_first_layer(model, state)
    assert_second_layer(model, state)


def test_transform_is_what_a_sample_would_get_next(kernels):
    """Also for many rows, any number of them: kernels may handle several at a time."""
    for d in (1, 2, 3, 4, 5, 8, 10, 11):
        _, X = mixture(d, 300, d)
        model = NICA(random_state=0).partial_fit(X)
        Y = model.transform(X[:67])
        alone = np.vstack([model.transform(x[np.newaxis]) for x in X[:67]])
        assert Y.tobytes() == alone.tobytes()
        next_one = model.separate_one(X[0])
        assert_close(Y[0], next_one, 1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_sample_of_zeros_makes_no_neuron_fire(d):
    """y = 0 for x = 0, to the last bit: round-off is no activity, and must not end the flips."""
    _, X = mixture(d, 400, d)
    model = NICA(random_state=0).partial_fit(X)
    assert not np.any(model.separate_one(np.zeros(d)))
    state = assert_robust(NICA(random_state=0), np.where(np.arange(400)[:, None] % 3, 0, X), d=d)
    assert state.t > d
