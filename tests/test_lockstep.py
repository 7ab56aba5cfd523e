"""Networks in the lanes of vector registers: each ends as it would have ended alone, whatever comes."""

import numpy as np
import pytest
from helpers import assert_close, mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from nica import NICA, NSM, OnlineWhitening, _core
from nica.rates import Activity, Time
from nica.replicas import run_replicas

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WIDER = 3.0 ** np.resize([1.0, -1.0], 10)
STRESSES = {
    "nothing": lambda X, rng: X,
    "outliers": lambda X, rng: np.where(rng.random((len(X), 1)) < 0.005, 1e3 * X, X),
    "a stuck sensor": lambda X, rng: np.concatenate([X[:400], np.tile(X[400], (1100, 1)), X[400:]]),
    "zeros": lambda X, rng: np.concatenate([X[:300], np.zeros((50, X.shape[1])), X[300:]]),
    "a jump of the gain": lambda X, rng: np.concatenate([X[:500], 1e3 * X[500:]]),
    "jumps there and back": lambda X, rng: np.concatenate([X[:500], 50 * X[500:520], X[520:]]),
    "a tiny scale": lambda X, rng: 1e-7 * X,
    "another mixture": lambda X, rng: np.concatenate(
        [X[:500], X[500:] @ np.diag(WIDER[: X.shape[1]])]
    ),
}


@pytest.fixture(scope="module", params=_core.kernels(), autouse=True)
def kernels(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NICA_KERNELS", request.param)
        yield request.param


rate = st.one_of(st.none(), st.builds(Time, st.floats(20, 200), st.floats(0.1, 2)))
# A memory shorter than the network is wide makes it chaotic: no two computations agree for long.
activity = st.one_of(st.none(), st.builds(Activity, st.floats(30, 60), st.floats(0.8, 1)))
options = st.fixed_dictionaries(
    {
        "half_life": st.one_of(st.none(), st.floats(50, 2000)),
        "flip_silent": st.booleans(),
        "random_state": st.integers(0, 1000),
    }
)


def assert_alike(together, alone):
    """All arrays and counters of two models, to 1e-9."""
    one, two = together._core.get_state(), alone._core.get_state()
    assert one.keys() == two.keys()
    for name in one:
        assert_close(one[name], two[name], floor=1e-9)


def compare(models, parts):
    """Run copies alone and together, and compare all that they emit and all that they become."""
    outputs = [[] for _ in models]
    alone = [type(model)(**model.get_params()) for model in models]
    failures = run_replicas(models, parts, watch=lambda i, _, Y: outputs[i].append(Y))
    assert failures == [None] * len(models)
    for model, other, part, Y in zip(models, alone, parts, outputs, strict=True):
        expected = other.separate(part)
        assert_close(np.concatenate(Y), expected, floor=1e-9)
        assert_alike(model, other)


@settings(max_examples=12)
@given(
    st.integers(2, 10), st.sampled_from(sorted(STRESSES)), st.integers(0, 2**31), st.booleans(),
    st.lists(st.tuples(options, rate, activity), min_size=2, max_size=9),
)  # fmt: skip
def test_warm_starts(d, stress, seed, shared, settings_of_each):
    rng = np.random.default_rng(seed)
    _, X = mixture(seed, 1000, d)
    orders = [np.arange(len(X)) if shared else rng.permutation(len(X)) for _ in settings_of_each]
    parts = [STRESSES[stress](X[order], np.random.default_rng(seed)) for order in orders]
    models = [
        NICA(**o, whitening_rate=first, separation_rate=second)
        for o, first, second in settings_of_each
    ]
    compare(models, [parts[0]] * len(models) if shared else parts)


@settings(max_examples=8)
@given(
    st.integers(2, 10), st.integers(0, 2**31), st.booleans(),
    st.lists(st.tuples(options, rate, activity), min_size=2, max_size=9),
)  # fmt: skip
def test_paper_starts(d, seed, shared, settings_of_each):
    rng = np.random.default_rng(seed)
    _, X = mixture(seed, 400, d)
    models = [
        NICA(**o, start="paper", whitening_rate=first, separation_rate=second)
        for o, first, second in settings_of_each
    ]
    compare(models, [X if shared else X[rng.permutation(len(X))] for _ in models])


@settings(max_examples=5)
@given(
    st.sampled_from([3, 5, 8]), st.sampled_from(["warm", "paper"]), st.booleans(), st.booleans(),
    st.integers(0, 2**31),
)  # fmt: skip
def test_one_layer_alone(d, start, second, in_time, seed):
    _, X = mixture(seed, 600, d, condition=1.0)
    rates = {"separation_rate": Time(20, 0.5) if in_time else None} if second else {}
    kind = NSM if second else OnlineWhitening
    models = [kind(start=start, random_state=i, **rates) for i in range(8)]
    compare(models, [X] * 8)


@pytest.mark.parametrize("d", [3, 5])
def test_fit(d):
    """Every network in the order of its own, and settled when it is."""
    _, X = mixture(0, 900, d)
    models = [NICA(random_state=i, max_passes=25) for i in range(7)]
    run_replicas(models, X, method="fit")
    for i, model in enumerate(models):
        alone = NICA(random_state=i, max_passes=25).fit(X)
        assert model.n_iter_ == alone.n_iter_
        assert_alike(model, alone)


def test_they_do_run_in_lockstep():
    _, X = mixture(0, 3000, 3)
    models = [
        NICA(random_state=i).partial_fit(X[:100]) for i in range(_core.width(_core.kernels()[0]))
    ]
    width = models[0]._core.lanes
    assert width >= 2
    cores = [model._core for model in models[:width]]
    n = len(cores)
    assert _core.run_together(cores, [X] * n, [None] * n) == [(3000, 0)] * n


def test_one_that_overflows_leaves_the_others_alone():
    _, X = mixture(0, 2000, 3)
    parts = [X] * 7 + [np.concatenate([X[:1000], 1e90 * X[1000:]])]
    models = [NICA(start="paper", random_state=i) for i in range(8)]
    failures = run_replicas(models, parts)
    assert [bool(failure) for failure in failures] == [False] * 7 + [True]
    for i in range(7):
        assert_alike(models[i], NICA(start="paper", random_state=i).partial_fit(X))
    with pytest.raises(ValueError, match="not seen any sample"):
        _ = models[7].unmixing_


def test_bad_samples_are_left_out():
    _, X = mixture(0, 2000, 3)
    X[1500, 1] = np.nan
    models = [NICA(on_bad="skip", random_state=i) for i in range(5)]
    run_replicas(models, X)
    for i, model in enumerate(models):
        assert model.n_bad_samples_ == 1
        assert_alike(model, NICA(on_bad="skip", random_state=i).partial_fit(X))


def test_what_cannot_run_together_is_refused():
    _, X = mixture(0, 100, 3)
    a, b, c = (NICA(random_state=i).partial_fit(X)._core for i in range(3))
    other = NICA(start="paper").partial_fit(X)._core
    for cores, parts, message in [
        ([a, a], [X, X], "twice"),
        ([a, other], [X, X], "different kinds"),
        ([a, b], [X], "1 arrays of samples, not 2"),
        ([a, b], [X, X[:50]], "50 rows, not 100"),
        ([a, b], [X, np.ones((100, 4))], "4 channels, not 3"),
        ([a, b, c] * 3, [X] * 9, r"9 networks, of a kind of which [248] can"),
        ([], [], "0 networks"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.run_together(cores, parts, [None] * len(parts))
