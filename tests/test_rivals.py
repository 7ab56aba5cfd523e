"""The paper's rivals: the core computes what the equations say; each separates what it is made for."""

from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_close, mixture, white
from hypothesis import given, settings
from hypothesis import strategies as st

from nica import LinskerICA, NonnegativePCA, OnlineFastICA, OnlineInfomax, OnlineWhitening, _core
from nica.equations import (
    fastica_step,
    infomax_step,
    linsker_step,
    nonnegative_pca_step,
    rival_start,
    scaled_start,
    symmetric_orthonormal,
    warm_start,
)
from nica.equations.network import orthonormal
from nica.rates import Time

seeds = st.integers(0, 2**31)
WHITE = {NonnegativePCA: nonnegative_pca_step, OnlineFastICA: fastica_step}
MIXED = {OnlineInfomax: infomax_step, LinskerICA: linsker_step}
RATES = {NonnegativePCA: (20, 0.5), OnlineFastICA: (50, 0.5), OnlineInfomax: (200, 0.5),
         LinskerICA: (200, 0.5)}  # fmt: skip


@pytest.fixture(scope="module", params=_core.kernels(), autouse=True)
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NICA_KERNELS", request.param)
        yield request.param


def follow(step, state, Z, *rate, counts=None, **options):
    """Outputs of the equations for each row of Z, and the last state; some rows teach nothing."""
    Y = np.empty((len(Z), len(state.W)))
    for t, z in enumerate(Z):
        Y[t], learned = step(state, z, *rate, **options)
        state = learned if counts is None or counts[t] else state
    return Y, state


def assert_learned(model, Y, expected, state):
    assert_close(Y, expected)
    assert_close(model.w_, state.W)
    notes = model._state()
    if not model.get_params().get("flip_silent", True):
        del notes["fired"]  # of no interest, and not kept
    for name, value in (
        ("fired", state.fired),
        ("kurtosis", state.kurtosis),
        ("lateral", state.Q),
        ("variance", np.diag(state.Q)),
    ):
        if name in notes:
            assert_close(np.squeeze(notes[name]), np.squeeze(value.astype(float)))


# ------------------------------------------------------------------------- core and equations


@settings(max_examples=20)
@given(st.sampled_from(list(WHITE)), st.integers(1, 11), st.integers(0, 2), seeds, st.booleans())
def test_rules_for_white_input(rival, d, more, seed, flip):
    _, H = mixture(seed, 200, d, d + more, condition=1.0)
    options = {"flip_silent": flip} if rival is NonnegativePCA else {}
    rate = RATES[rival][0] * d, RATES[rival][1]
    model = rival(d, whiten=False, rate=Time(*rate), random_state=seed, **options)
    Y = model.separate(H)
    start = rival_start(d + more, d, np.random.default_rng([model._seed, 0]))
    options = {"flip": flip} if rival is NonnegativePCA else {}
    expected, state = follow(WHITE[rival], start, H, *rate, **options)
    assert_learned(model, Y, expected, state)
    assert_close(model.mean_, state.z_bar)
    if rival is OnlineFastICA:
        assert_close(model.nonlinearity_sign_, np.where(state.kurtosis < 0, -1.0, 1.0))


@settings(max_examples=15)
@given(st.sampled_from(list(MIXED)), st.integers(1, 11), seeds)
def test_rules_for_mixtures(rival, d, seed):
    _, X = mixture(seed, 200, d)
    rate = RATES[rival][0] * d, RATES[rival][1]
    model = rival(start="paper", rate=Time(*rate), random_state=seed)
    Y = model.separate(X)
    start = rival_start(d, d, np.random.default_rng([model._seed, 0]))
    expected, state = follow(MIXED[rival], start, X, *rate)
    assert_learned(model, Y, expected, state)
    assert_close(model.mean_, state.z_bar)


@pytest.mark.parametrize("max_sweeps", [1, 5, 100_000])
def test_relaxation_is_iterated_as_in_the_network(max_sweeps):
    """Cut off wherever it is; and settled, it is what the exact mode computes."""
    _, X = mixture(3, 300, 3)
    tol = 0.0 if max_sweeps < 100 else 1e-13
    model = LinskerICA(
        dynamics="relaxation", max_sweeps=max_sweeps, dynamics_tol=tol, start="paper",
        rate=Time(200, 0.5), random_state=0,
    )  # fmt: skip
    Y = model.separate(X)
    start = rival_start(3, 3, np.random.default_rng([model._seed, 0]))
    expected, state = follow(linsker_step, start, X, 200, 0.5, tol=tol, max_steps=max_sweeps)
    assert_learned(model, Y, expected, state)
    exact = LinskerICA(start="paper", rate=Time(200, 0.5), random_state=0).separate(X)
    assert (np.max(np.abs(Y - exact)) < 1e-9) == (max_sweeps > 100)


@pytest.mark.parametrize("rival", WHITE)
@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("start", ["warm", "paper"])
def test_layer_1_stands_in_front(rival, d, start):
    """Outputs are those of the rule, fed by OnlineWhitening."""
    _, X = mixture(4, 300, d, 4)
    rate = RATES[rival]
    model = rival(d, start=start, rate=Time(*rate), random_state=4)
    Y = model.separate(X)
    layer = OnlineWhitening(d, start=start, random_state=4)
    H, counts = np.empty((len(X), d)), np.empty(len(X), dtype=bool)
    for t, x in enumerate(X):  # what layer 1 takes for an outlier is no lesson for the rule
        before = layer._scalars() if t else {"t": 0, "outliers": 0}
        H[t] = layer.separate_one(x)
        now = layer._scalars()
        counts[t] = now["t"] > before["t"] and now["outliers"] == before["outliers"]
    first = 0
    rng = np.random.default_rng([model._seed, 0])
    if start == "warm":
        fresh = np.flatnonzero(np.any(np.diff(X, axis=0, prepend=np.nan), axis=1))  # no repeats
        held = fresh[: layer._settings["hold"]]
        first = held[-1] + 1
        warm_start(X[held], d, d, d, 0.0, rng)  # draws before the rule does
    else:
        orthonormal(d, 4, rng), orthonormal(d, d, rng)  # W_hx and W_hg
    expected, state = follow(
        WHITE[rival], rival_start(d, d, rng), H[first:], *rate, counts=counts[first:]
    )
    assert not np.any(Y[:first])
    assert_learned(model, Y[first:], expected, state)
    assert model.whitening_.tobytes() == layer.whitening_.tobytes()


@pytest.mark.parametrize("rival", MIXED)
def test_the_scale_of_the_first_samples_is_taken(rival):
    _, X = mixture(5, 300, 3)
    hold = 30
    model = rival(rate=Time(*RATES[rival]), random_state=5)
    Y = model.separate(1e6 * X)
    rng = np.random.default_rng([model._seed, 0])
    gain, W = scaled_start(X[:hold], rng)
    start = replace(rival_start(3, 3, rng), W=W)
    expected, state = follow(MIXED[rival], start, gain * X[hold:], *RATES[rival])
    assert not np.any(Y[:hold])
    assert_learned(model, Y[hold:], expected, state)


@pytest.mark.parametrize("rival", [*WHITE, *MIXED])
def test_unmixing_is_what_transform_applies(rival):
    _, X = mixture(6, 2000, 3)
    model = rival(random_state=0).partial_fit(X)
    linear = X @ model.unmixing_.T
    Y = np.maximum(linear, 0) if rival is NonnegativePCA else linear
    assert_close(model.transform(X), Y)
    np.testing.assert_allclose(model.mixing_ @ model.unmixing_, np.eye(3), atol=1e-9)


def test_orthonormal_rows_stay_so():
    """A hundred thousand turns, and steps so large that the plane of two vectors is all that is left."""
    _, H = white(7, 20_000, 5)
    for a in (1.5, 100):
        model = OnlineFastICA(whiten=False, rate=Time(a, 0), random_state=0).partial_fit(H)
        assert model._core.residual() < 1e-12
    W = np.random.default_rng(0).standard_normal((3, 5))
    np.testing.assert_allclose(
        symmetric_orthonormal(W) @ symmetric_orthonormal(W).T, np.eye(3), atol=1e-12
    )


def test_the_inverse_of_the_lateral_weights_stays_one():
    _, X = mixture(8, 20_000, 5)
    assert LinskerICA(random_state=0).partial_fit(X)._core.residual() < 1e-11
