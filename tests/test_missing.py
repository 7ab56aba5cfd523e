"""Gaps in samples: refused unless told, inferred from the other channels, however the stream is cut."""

import pickle

import numpy as np
import pytest
from typer.testing import CliRunner

import nica
from nica.cli import app
from nica.datasets import mixing, sparse_uniform
from nica.networks._missing import complete


def with_gaps(seed=0, n=1600, d=2, k=6, share=0.2, noise=0.01):
    rng = np.random.default_rng(seed)
    S = sparse_uniform(n, d, random_state=rng)
    X = S @ mixing(k, d, condition=3, random_state=rng).T
    X += noise * X.std() * rng.standard_normal(X.shape)
    gap = rng.random(X.shape) < share
    gap[np.all(gap, axis=1), 0] = False
    return S, X, np.where(gap, np.nan, X)


S, X, Z = with_gaps()


def error(S, Y):
    return nica.metrics.match_sources(S, Y).error


def test_gaps_are_refused_unless_told():
    for Model in (nica.NICA, nica.OnlineWhitening):
        with pytest.raises(ValueError, match=r"contains NaN at row .* with missing='infer'"):
            Model(2).separate(Z)
    with pytest.raises(ValueError, match="give 'refuse' or 'infer'"):
        nica.NICA(2, missing="mean").fit(Z)
    with pytest.raises(ValueError, match="needs solver='stream'"):
        nica.NICA(2, missing="infer", solver="batch").fit(Z)


def test_outputs_are_nearly_as_good_as_without_gaps():
    model = nica.NICA(2, random_state=0, missing="infer")
    Y = model.separate(Z)
    late, whole = slice(800, None), ~np.any(np.isnan(Z[800:]), axis=1)
    complete_rows = error(S[late], nica.NICA(2, random_state=0).separate(X)[late])
    assert error(S[late][whole], Y[late][whole]) < 2 * complete_rows
    assert error(S[late], Y[late]) < 5 * complete_rows
    mean = nica.NICA(2, random_state=0).separate(np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z))
    assert error(S[late], Y[late]) < 0.1 * error(S[late], mean[late])
    assert model.n_inferred_samples_ == np.sum(np.any(np.isnan(Z), axis=1))


def test_no_chunk_changes_a_bit(tmp_path):
    whole = nica.NICA(2, random_state=0, missing="infer").separate(Z[:400])
    for chunk in (1, 7, 333):
        model = nica.NICA(2, random_state=0, missing="infer")
        parts = [model.separate(Z[i : i + chunk]) for i in range(0, 200, chunk)]
        done = sum(map(len, parts))
        model.save(tmp_path / "model")
        model = pickle.loads(pickle.dumps(nica.load(tmp_path / "model")))
        parts += [model.separate_one(z)[None] for z in Z[done:400]]
        np.testing.assert_array_equal(np.vstack(parts), whole)


def test_fit_transform_and_score_take_gaps():
    model = nica.NICA(2, random_state=0, missing="infer").fit(Z)
    assert error(S, model.transform(Z)) < 0.02
    assert model.score(Z) > 0.99
    rows = np.vstack([model.transform(z[None]) for z in Z[:50]])
    np.testing.assert_array_equal(model.transform(Z)[:50], rows)
    white = nica.OnlineWhitening(2, random_state=0, missing="infer").fit(Z)
    assert np.all(np.isfinite(white.transform(Z)))


def test_inferred_rows_are_flagged_and_few_channels_teach_nothing():
    model = nica.NICA(2, random_state=0, missing="infer").partial_fit(Z)
    rows = X[:3].copy()
    rows[1, 0] = np.nan
    rows[2, 1:] = np.nan
    np.testing.assert_array_equal(model.flag_inferred(rows), [0, 1, 2])
    before = model._state()
    y = model.separate(rows[2:])
    assert np.all(np.isfinite(y))
    for name, array in model._state().items():
        np.testing.assert_array_equal(array, before[name])


def test_nothing_seen_is_a_bad_sample_and_infinity_too():
    model = nica.NICA(2, random_state=0, missing="infer").partial_fit(Z)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="at row 0"):
            model.partial_fit(np.full((1, 6), value))
        with pytest.raises(ValueError, match="at row 0"):
            model.transform(np.full((1, 6), value))
    model.on_bad = "skip"
    assert np.all(np.isnan(model.separate(np.full((1, 6), np.nan))))
    assert model.n_bad_samples_ == 1


def test_the_number_of_sources_is_chosen_from_whole_samples():
    assert nica.NICA("auto", random_state=0, missing="infer").fit(Z).n_components_ == 2


def test_a_model_is_diagnosed_on_samples_with_gaps():
    model = nica.NICA(2, random_state=0, missing="infer").fit(Z)
    assert nica.diagnose(Z, model=model).verdict == "OK"
    assert nica.diagnose([Z[:1000], Z[1000:]], model=model).verdict == "OK"
    refused = nica.diagnose(Z, 2)
    assert refused.verdict == "cannot say"
    assert "missing='infer'" in refused.obstacles[0]


def test_samples_are_completed_by_what_is_seen():
    filled = complete(Z[:300], 2)
    gap = np.isnan(Z[:300])
    assert np.sqrt(np.mean((filled - X[:300])[gap] ** 2)) < 0.1 * X[:300].std()
    np.testing.assert_array_equal(filled[~gap], X[:300][~gap])
    np.testing.assert_array_equal(complete(X[:50], 2), X[:50])


def test_the_command_line_infers_and_flags(tmp_path):
    rows = ["a,b,c,d,e,f"]
    rows += [",".join("" if np.isnan(v) else repr(float(v)) for v in z) for z in Z[:600]]
    (tmp_path / "gaps.csv").write_text("\n".join(rows))
    arguments = ["separate", str(tmp_path / "gaps.csv"), "-n", "2", "-o", str(tmp_path / "out.csv")]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 1
    assert "--missing infer" in refused.output
    done = CliRunner().invoke(app, [*arguments, "--missing", "infer", "--json"])
    assert done.exit_code == 0, done.output
    table = np.genfromtxt(tmp_path / "out.csv", delimiter=",", names=True)
    assert table.dtype.names == ("nica0", "nica1", "inferred")
    model = nica.NICA(2, random_state=0, missing="infer")
    Y = model.separate(Z[:600])
    np.testing.assert_allclose(np.column_stack([table["nica0"], table["nica1"]]), Y, rtol=1e-9)
    np.testing.assert_array_equal(table["inferred"], model.flag_inferred(Z[:600]))
