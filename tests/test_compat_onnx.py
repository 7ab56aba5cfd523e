"""nica.compat.onnx: onnxruntime gives what transform gives."""

import numpy as np
import onnxruntime
import pytest
from helpers import assert_close, mixture, white
from sklearn.exceptions import NotFittedError

import nica
from nica.compat.onnx import to_onnx


def run(made, X):
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["Y"], {"X": np.asarray(X, dtype=np.float64)})[0]


@pytest.mark.parametrize(("d", "k"), [(1, 1), (1, 3), (2, 2), (3, 3), (5, 8), (10, 10)])
def test_the_graph_is_transform(d, k):
    X = mixture(d, 3000, d, k)[1]
    model = nica.NICA(d, random_state=0).fit(X)
    assert_close(run(to_onnx(model), X), model.transform(X))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_at_any_scale(scale):
    X = mixture(0, 2000, 3, scale=scale)[1]
    model = nica.NICA(3, random_state=0).fit(X)
    assert_close(run(to_onnx(model), X), model.transform(X))


def test_each_layer_alone():
    X = mixture(0, 2000, 3, 4)[1]
    whitening = nica.OnlineWhitening(3, random_state=0).fit(X)
    assert_close(run(to_onnx(whitening), X), whitening.transform(X))
    H = white(0, 2000, 3)[1]
    nsm = nica.NSM(3, random_state=0).fit(H)
    assert_close(run(to_onnx(nsm), H), nsm.transform(H))


def test_appendix_b():
    X = mixture(0, 3000, 3, 6)[1]
    model = nica.NICA(3, n_whitened=5, alpha=0.01, random_state=0).fit(X)
    assert_close(run(to_onnx(model), X), model.transform(X))


def test_more_sweeps_come_nearer():
    X = mixture(1, 2000, 5)[1]
    model = nica.NICA(5, random_state=0).fit(X)
    Y = model.transform(X)
    errors = [np.abs(run(to_onnx(model, sweeps=n), X) - Y).max() for n in (1, 4, 16, 64)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 1e-6
    assert errors[-1] < 1e-12


def test_no_rows_and_one_row():
    X = mixture(1, 2000, 3)[1]
    model = nica.NICA(3, random_state=0).fit(X)
    made = to_onnx(model)
    assert run(made, X[:0]).shape == (0, 3)
    assert_close(run(made, X[:1]), model.transform(X[:1]))


@pytest.mark.parametrize("sweeps", [0, -1, 2.5, "many"])
def test_bad_sweeps(sweeps):
    model = nica.NICA(2, random_state=0).fit(mixture(0, 200, 2)[1])
    with pytest.raises((ValueError, TypeError), match="give a whole number >= 1"):
        to_onnx(model, sweeps=sweeps)


def test_what_cannot_be_exported():
    with pytest.raises(TypeError, match="give a fitted NICA"):
        to_onnx("model")
    with pytest.raises(NotFittedError):
        to_onnx(nica.NICA(3))
