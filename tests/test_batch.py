"""solver="batch": its rounds are those of the equations, and cuts and threads change nothing."""

import numpy as np
import pytest
from helpers import assert_close, mixture, white
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import nica
from nica import NICA, _core
from nica.batch import ArraySource, ChunkSource, solve
from nica.batch._rounds import Fixed, Weights, round_of, search, updated
from nica.batch.sources import add, fold, spread
from nica.equations import block_outputs, minibatch_nsm, update_sums
from nica.metrics import match_sources, separation_floor


def error_and_floor(S, X, **parameters):
    model = NICA(S.shape[1], solver="batch", random_state=0, **parameters).fit(X)
    return match_sources(S, model.transform(X)).error, separation_floor(S, X, last=1.0)


# ------------------------------------------------------------------------ the core is the equations


@pytest.mark.parametrize("kernels", _core.kernels())
@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 13])
def test_fixed_points_are_those_of_the_equations(d, kernels):
    rng = np.random.default_rng(d)
    S, H = white(d, 300, d)
    C = S.T @ S / 300
    K = C @ np.linalg.pinv(H).dot(S).T + 0.2 * rng.standard_normal((d, d))
    new = round_of(Fixed(Weights(C, K), kernels)(H))
    Y = block_outputs(H.T, C, K, tol=1e-15)
    assert_close(new.C, Y @ Y.T, 1e-9)
    assert_close(new.K, Y @ H, 1e-9)
    free = np.linalg.solve(C, K) @ H.T
    assert_close(new.below, np.sum(np.minimum(free, 0) ** 2, axis=1), 1e-9)
    net = C @ Y - K @ H.T
    assert_close(new.held, np.sum(np.where(Y > 0, 0, net) ** 2, axis=1), 1e-8)


def test_passes_are_those_of_the_equations():
    _, H = white(3, 600, 3)
    C, K = minibatch_nsm(H.T, np.eye(3), np.eye(3), 150)
    weights = Weights(np.eye(3), np.eye(3))
    for start in range(0, 600, 150):
        part = H[start : start + 150]
        weights = updated(weights, round_of(Fixed(weights, _core.kernels()[0])(part)))
    assert_close(weights.C, C, 1e-9)
    assert_close(weights.K, K, 1e-9)


def test_the_true_sources_are_a_fixed_point():
    S, H = white(0, 2000, 4)
    Q = np.linalg.lstsq(S, H, rcond=None)[0].T
    C, K = update_sums(np.eye(4), np.eye(4), S.T, H.T, forgetting=0.0)
    assert_close(block_outputs(H.T, C, K), S.T, 1e-9)
    assert_close(np.linalg.solve(C, K), Q.T, 1e-9)


# --------------------------------------------------------------------------------------- sums


def test_sums_are_a_tree_in_order():
    for n in range(1, 40):
        text = fold([str(i) for i in range(n)], lambda one, other: f"({one},{other})")
        flat = text.replace("(", "").replace(")", "").split(",")
        assert flat == [str(i) for i in range(n)]
        deepest = max(text[:i].count("(") - text[:i].count(")") for i in range(len(text)))
        assert deepest <= np.ceil(np.log2(n)) + 1
    assert add((np.ones(1), 2 * np.ones(2)), (np.ones(1), np.ones(2)))[1].tolist() == [3, 3]


@pytest.mark.parametrize("most", [1, 3, 10, 100])
def test_a_selection_does_not_depend_on_the_cuts(most):
    X = np.arange(57.0)[:, None]
    whole = spread(X, most, 0, 57)
    cut = [spread(X[i : i + 11], most, i, 57) for i in range(0, 57, 11)]
    assert np.concatenate(cut).tolist() == whole.tolist()
    assert 0 < len(whole) <= most


def test_threads_change_no_bit():
    _, X = mixture(0, 30_000, 3, k=40)
    one, two = (solve(ArraySource(X, n), 3, 3, 3, threads=n) for n in (1, 2))
    assert one.C.tobytes() == two.C.tobytes()
    assert one.K.tobytes() == two.K.tobytes()


# ------------------------------------------------------------------------------- separation


@pytest.mark.parametrize(
    ("d", "k", "n"), [(1, 1, 2000), (2, 2, 5000), (3, 3, 20_000), (5, 20, 20_000)]
)
def test_reaches_the_floor(d, k, n):
    S, X = mixture(d, n, d, k, condition=10)
    error, floor = error_and_floor(S, X)
    assert error <= 1.3 * floor


@pytest.mark.parametrize("scale", [1e-9, 2.0**40])
def test_any_scale(scale):
    _, X = mixture(1, 5000, 3)
    U, V = (NICA(solver="batch", random_state=0).fit(c * X).unmixing_ for c in (1, scale))
    assert_close(V * scale, U, 1e-7)


def test_an_offset_larger_than_the_samples():
    _, X = mixture(1, 5000, 3)
    F = NICA(solver="batch", random_state=0).fit(X + 1e6).whitening_
    assert_close(np.cov((X @ F.T).T), np.eye(3), 1e-3)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e9])
def test_outliers_teach_nothing(size):
    S, X = mixture(2, 20_000, 3)
    rng = np.random.default_rng(0)
    hit = rng.random(len(X)) < 0.005
    Z = X + hit[:, None] * size * rng.standard_normal(X.shape)
    model = NICA(solver="batch", random_state=0).fit(Z)
    assert match_sources(S, model.transform(X)).error < 1e-3


def test_an_outlier_outside_the_space_of_the_sources():
    S, X = mixture(2, 5000, 2, k=6)
    X[77] += 1e4 * np.linalg.svd(X[:100])[2][-1]
    error = match_sources(S, NICA(2, solver="batch", random_state=0).fit(X).transform(X)).error
    assert error < 0.01


def test_every_start_finds_the_sources():
    _, X = mixture(7, 20_000, 5)
    H = X @ nica.offline.whiten(X, 5).F.T
    energies = [search(H, 5, [seed], 1e-3)[0] for seed in range(10)]
    assert max(energies) < 1e-3


# --------------------------------------------------------------------- the estimator's contract


@parametrize_with_checks([NICA(solver="batch")])
def test_checks_of_scikit_learn(estimator, check):
    assert not check(estimator)


@pytest.mark.parametrize(
    "parameters",
    [
        {}, {"start": "paper"}, {"n_whitened": 4, "alpha": 0.01}, {"dynamics": "sweeps"},
        {"separation_rate": nica.rates.Time(10, 1)}, {"separation_rate": nica.rates.Activity(10, 1)},
    ],
    ids=str,
)  # fmt: skip
def test_the_network_goes_on_from_there(parameters, tmp_path):
    S, X = mixture(3, 20_000, 3, k=4)
    model = NICA(3, solver="batch", random_state=0, **parameters).fit(X)
    before = match_sources(S, model.transform(X)).error
    assert model.n_samples_seen_ == 20_000
    assert model.n_iter_ >= 1
    model.save(tmp_path / "model.safetensors")
    copy = nica.load(tmp_path / "model.safetensors")
    Y = model.separate(X)
    assert match_sources(S, Y).error < 3 * before
    assert copy.separate(X).tolist() == Y.tolist()


def test_means_and_shapes():
    _, X = mixture(3, 5000, 3, k=5)
    model = NICA(3, solver="batch", random_state=0).fit(X)
    assert_close(model.mean_, X.mean(axis=0), 1e-9)
    assert_close(np.cov(model.whitening_ @ X.T, bias=True), np.eye(3), 1e-6)
    assert model.unmixing_.shape == (3, 5)
    assert np.all(np.diag(model.w_yy_) == 0)


def test_auto_and_names():
    rng = np.random.default_rng(0)
    _, X = mixture(3, 5000, 3, k=8)
    X += 0.02 * rng.standard_normal(X.shape)
    assert NICA("auto", solver="batch", random_state=0).fit(X).n_components_ == 3


def test_chunks_memmaps_and_other_types(tmp_path):
    _, X = mixture(4, 30_000, 3)
    X = X.astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    memmap = np.load(tmp_path / "x.npy", mmap_mode="r")
    model = NICA(solver="batch", random_state=0).fit(X)
    assert model.get_feature_names_out().tolist() == ["nica0", "nica1", "nica2"]
    assert NICA(solver="batch", random_state=0).fit(memmap).unmixing_.tolist() == (
        model.unmixing_.tolist()
    )
    with nica.streams.open_chunks(tmp_path / "x.npy") as chunks:
        opened = NICA(solver="batch", random_state=0).fit(chunks)
    listed = NICA(solver="batch", random_state=0).fit([X[:7], X[7:20_000], X[20_000:]])
    for other in (opened, listed):
        assert other.n_samples_seen_ == 30_000
        assert_close(other.unmixing_, model.unmixing_, 1e-9)


def test_progress_is_told(capsys):
    NICA(solver="batch", random_state=0, verbose=1).fit(mixture(0, 2000, 2)[1])
    told = capsys.readouterr().err.splitlines()
    assert told[0] == "NICA: 2000 samples, 0 bad, 0 outliers"
    assert told[-1].startswith("NICA: pass ")


def test_large_inputs_are_transformed_on_threads_to_the_same_bits():
    _, X = mixture(0, 100_000, 3)
    model = NICA(random_state=0).partial_fit(X[:5000])
    model.n_jobs = 1
    one = model.transform(X)
    model.n_jobs = 3
    assert model.transform(X).tobytes() == one.tobytes()
    X[99_990, 1] = np.nan
    X[50_000, 2] = np.inf
    with pytest.raises(ValueError, match="infinity at row 50000, channel 2"):
        model.transform(X)


# --------------------------------------------------------------------------------- bad input


def bad(X, message, error=ValueError, **parameters):
    model = NICA(**{"solver": "batch", "random_state": 0} | parameters)
    with pytest.raises(error, match=message):
        model.fit(X)
    assert not hasattr(model, "n_features_in_")


def test_bad_input():
    _, X = mixture(0, 1000, 3)
    bad(X, "solver='fast': give 'stream' or 'batch'", solver="fast")
    bad(X, "n_starts=0", n_starts=0)
    bad(X, "n_jobs=0", n_jobs=0)
    bad(X, "X has 3 channels but n_components=4: give at most 3", n_components=4)
    bad(X[:2], "X has 2 distinct samples .n_samples=2.: give at least 4")
    bad(np.ones((1000, 3)), "1 distinct sample")
    bad((chunk for chunk in [X]), "gone after one pass", TypeError)
    bad([X, X[:, :2]], "the chunk at row 1000 has 2 channels, and those before it 3")
    bad([X, X.astype(object)], "the chunk at row 1000 has shape .1000, 3. and type object")
    Z = X.copy()
    Z[417, 1] = np.nan
    bad(Z, "NaN at row 417, channel 1")
    bad([Z[:400], Z[400:]], "NaN at row 417, channel 1")


def test_a_failed_fit_leaves_the_model_as_it_was():
    _, X = mixture(0, 1000, 3)
    model = NICA(solver="batch", random_state=0).fit(X)
    before = model.unmixing_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(X[500] == X, np.nan, X))
    assert model.unmixing_.tolist() == before.tolist()


def test_bad_samples_can_be_left_out():
    S, X = mixture(0, 5000, 3)
    Z = X.copy()
    Z[[3, 4, 4000]] = np.nan
    model = NICA(solver="batch", on_bad="skip", random_state=0).fit(Z)
    assert model.n_bad_samples_ == 3
    assert model.n_samples_seen_ == 4997
    assert match_sources(S, model.transform(X)).error < 0.01


def test_chunks_that_change_are_refused():
    class Growing:
        n = 1000

        def __iter__(self):
            Growing.n += 10
            return iter([mixture(0, Growing.n, 2)[1]])

    with pytest.raises(ValueError, match="must be the same in each pass"):
        ChunkSource(Growing(), 1).total(lambda X: (np.ones(1),))


def test_says_when_it_did_not_settle():
    with pytest.warns(ConvergenceWarning, match="did not settle in 1 passes"):
        NICA(solver="batch", tol=0, max_passes=1, random_state=0).fit(mixture(0, 2000, 3)[1])


def test_more_components_than_directions_are_told():
    _, X = mixture(0, 3000, 2)
    with pytest.warns(ConvergenceWarning, match="varies in 2 of 3 directions only"):
        model = NICA(solver="batch", random_state=0).fit(X[:, [0, 1, 1]])
    assert np.all(np.isfinite(model.unmixing_))
