"""The estimators keep scikit-learn's contract, all of it."""

import numpy as np
import pandas
import polars
import pytest
import skops.io
from helpers import mixture, same
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nica import (
    NICA,
    NSM,
    FacetNICA,
    LinskerICA,
    NonnegativePCA,
    OnlineFastICA,
    OnlineInfomax,
    OnlineWhitening,
)
from nica.metrics import match_sources
from nica.offline import Whitening, whiten
from nica.rates import Activity, Time

ESTIMATORS = [
    NICA, OnlineWhitening, NSM, NonnegativePCA, OnlineFastICA, OnlineInfomax, LinskerICA, FacetNICA
]  # fmt: skip
SQUARE = [OnlineInfomax, LinskerICA]  # as many outputs as channels, always
every = pytest.mark.parametrize("estimator", ESTIMATORS)


# Some checks fit 30 samples of 10 channels. Whether these settle hangs on the kernels' rounding, and the
# warning that they do not is right; scikit-learn runs the checks of its own estimators without it.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([estimator() for estimator in ESTIMATORS])
def test_checks_of_scikit_learn(estimator, check):
    """No check of theirs is expected to fail."""
    assert not check(estimator)


@every
def test_outputs_are_named(estimator):
    X = mixture(0, 100, 3)[1]
    d = 3 if estimator in SQUARE else 2
    options = {} if estimator in SQUARE else {"n_components": 2}
    model = estimator(random_state=0, **options).partial_fit(X)
    name = estimator.__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{name}{i}" for i in range(d)]
    assert model.n_features_in_ == 3
    assert model.n_components_ == d
    assert not hasattr(model, "feature_names_in_")


def test_whitened_outputs_are_as_many_as_principal_neurons():
    X = mixture(0, 100, 3)[1]
    model = OnlineWhitening(2, n_whitened=3, alpha=0.05, random_state=0).partial_fit(X)
    assert len(model.get_feature_names_out()) == model.transform(X).shape[1] == 3


@every
@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_frames_in_and_out(estimator, library):
    X = mixture(0, 100, 3)[1]
    frame = library.DataFrame({name: X[:, i] for i, name in enumerate("abc")})
    model = estimator(random_state=0).set_output(transform=library.__name__).fit(frame)
    Y = model.transform(frame)
    assert isinstance(Y, library.DataFrame)
    assert list(Y.columns) == model.get_feature_names_out().tolist()
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    plain = estimator(random_state=0).fit(X)
    assert Y.to_numpy().tolist() == plain.transform(X).tolist()


@every
def test_names_that_change_are_refused(estimator):
    X = mixture(0, 100, 2)[1]
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = estimator(random_state=0).partial_fit(frame)
    before = model.__getstate__()
    for method in (model.partial_fit, model.separate, model.transform):
        with pytest.raises(ValueError, match="feature names"):
            method(frame[["b", "a"]])
    assert same(model.__getstate__(), before)


@every
def test_clone_keeps_parameters_and_nothing_else(estimator):
    model = estimator(tol=0.01, max_passes=40, random_state=3)
    model.partial_fit(mixture(0, 100, 3)[1])
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert twin.__dict__.keys() == estimator().__dict__.keys()


@every
def test_parameters_are_stored_as_given(estimator):
    defaults = estimator().get_params()
    given = {name: object() for name in defaults}
    assert estimator(**given).get_params() == given
    assert estimator().set_params(**given).get_params() == given


def test_pipeline_of_the_two_layers_separates():
    S, X = mixture(1, 4000, 3)
    pipeline = make_pipeline(OnlineWhitening(random_state=0), NSM(random_state=0))
    Y = pipeline.fit_transform(X)
    correlation = np.abs(np.corrcoef(S.T, Y.T)[:3, 3:])
    assert np.all(np.sort(correlation, axis=1)[:, -1] > 0.98)
    assert pipeline.get_feature_names_out().tolist() == ["nsm0", "nsm1", "nsm2"]
    np.testing.assert_allclose(pipeline.inverse_transform(Y), X, atol=0.2)


def test_pipeline_with_others():
    X = mixture(1, 500, 3)[1]
    pipeline = make_pipeline(
        StandardScaler(with_mean=False), NICA(random_state=0), FunctionTransformer(np.sqrt)
    )
    assert np.all(pipeline.fit_transform(X) >= 0)


def test_grid_search_over_parameters():
    """A score that tells a wrong number of sources from the right one."""
    X = mixture(2, 1500, 3, 5)[1]
    grid = {"n_components": [1, 2, 3], "separation_rate": [None, Activity(10, 0.9), Time(30, 1)]}
    search = GridSearchCV(NICA(random_state=0, max_passes=1), grid, cv=3, error_score="raise")
    search.fit(X)
    assert search.best_params_["n_components"] == 3
    assert search.best_score_ > 0.95
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@every
def test_fit_starts_afresh_and_is_seeded(estimator):
    X, other = mixture(3, 300, 3)[1], mixture(4, 300, 3)[1]
    once = estimator(random_state=0).fit(X)
    again = estimator(random_state=0).fit(other).fit(X)
    assert once.transform(X).tobytes() == again.transform(X).tobytes()
    assert once.n_iter_ == again.n_iter_ >= 1
    assert once.fit_transform(X).tobytes() == once.transform(X).tobytes()


@every
def test_skops_round_trip(estimator):
    """What has to be trusted is this project's own classes, and nothing else."""
    X = mixture(5, 300, 3)[1]
    rival = "rate" in estimator().get_params()
    options = {"rate": Time(100, 1)} if rival else {"n_components": 2, "half_life": 500}
    model = estimator(random_state=0, **options).partial_fit(X)
    file = skops.io.dumps(model)
    unknown = skops.io.get_untrusted_types(data=file)
    assert all(name.startswith("nica.") for name in unknown)
    twin = skops.io.loads(file, trusted=unknown)
    assert same(twin.__getstate__(), model.__getstate__())
    assert twin.partial_fit(X).transform(X).tolist() == model.partial_fit(X).transform(X).tolist()


def test_column_transformer():
    frame = pandas.DataFrame(mixture(6, 400, 3)[1], columns=["a", "b", "c"])
    frame["kind"] = 1.0
    columns = ColumnTransformer(
        [("sources", NICA(2, random_state=0), ["a", "c"])], remainder="passthrough"
    )
    Y = columns.set_output(transform="pandas").fit_transform(frame)
    assert list(Y.columns) == [
        "sources__nica0",
        "sources__nica1",
        "remainder__b",
        "remainder__kind",
    ]
    expected = NICA(2, random_state=0).fit(frame[["a", "c"]]).transform(frame[["a", "c"]])
    assert Y.to_numpy()[:, :2].tolist() == expected.tolist()


@parametrize_with_checks([Whitening()])
def test_checks_of_scikit_learn_for_offline_whitening(estimator, check):
    assert not check(estimator)


def test_offline_whitening_stands_before_what_wants_white_input():
    """The paper's preprocessing as a step of a pipeline: the mean kept, Theorem 2 for more outputs."""
    S, X = mixture(7, 4000, 3, 4)
    H, F = whiten(X, 3)
    whitening = Whitening().fit(X)
    assert whitening.n_components_ == 3  # as many as there are
    np.testing.assert_array_equal(whitening.transform(X), H)
    np.testing.assert_array_equal(whitening.whitening_, F)
    np.testing.assert_allclose(whitening.inverse_transform(H), X, atol=1e-9)
    assert whitening.get_feature_names_out().tolist() == ["whitening0", "whitening1", "whitening2"]
    wide = Whitening(3, n_whitened=5).fit_transform(X)
    assert wide.tobytes() == whiten(X, 3, 5).H.tobytes()
    for last in (NSM(3, random_state=0), NonnegativePCA(3, whiten=False, random_state=0)):
        Y = make_pipeline(Whitening(3), last).fit_transform(X)
        assert match_sources(S, Y).error < 0.05
    with pytest.raises(ValueError, match="n_components=9: give at most 4"):
        Whitening(9).fit(X)
    with pytest.raises(ValueError, match="Y has 2 columns, but n_whitened is 3"):
        whitening.inverse_transform(H[:, :2])
