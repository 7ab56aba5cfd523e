"""The verdict: never OK where the result is wrong, with the cause named, and never a crash."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from scipy.special import ndtr
from typer.testing import CliRunner

import nica
from nica.cli import app
from nica.datasets import mixing, natural_scenes, sparse_exponential, sparse_uniform
from nica.diagnostics import _intake
from nica.diagnostics._intake import _chosen
from nica.diagnostics._measure import _dependence, dependence, slack, tails
from nica.diagnostics._second import second_opinion


def sources(seed=0, n=3000, d=3):
    return sparse_exponential(n, d, random_state=np.random.default_rng(seed))


def mixed(S, k=None, seed=0, noise=0.0, condition=4.0):
    rng = np.random.default_rng([seed, 1])
    X = S @ mixing(k or S.shape[1], S.shape[1], condition=condition, random_state=rng).T
    return X + noise * X.std() * rng.standard_normal(X.shape)


def names(diagnosis):
    return {signal.name for signal in diagnosis.troubles}


# ---------------------------------------------------------------------------------- verdicts


@pytest.mark.parametrize(("d", "k"), [(2, 2), (3, 3), (3, 8), (6, 6)])
def test_good_problems_are_ok(d, k):
    found = nica.diagnose(mixed(sources(d=d), k, noise=0.01), d)
    assert found.verdict == "OK", str(found)
    assert [source.verdict for source in found.sources] == ["OK"] * d
    assert not found.troubles
    assert not found.assumptions


def correlated(n):
    normal = np.random.default_rng(0).multivariate_normal(np.zeros(3), 0.2 * np.eye(3) + 0.8, n)
    return mixed(-np.log(ndtr(normal)))


def sum_to_one(n):
    S = sources(n=n) + 0.01
    return mixed(S / S.sum(axis=1, keepdims=True), noise=0.01)


def offsets(n):
    X = mixed(sources(n=n), 6)
    return X + 2 * X.std(axis=0) * np.random.default_rng(5).standard_normal(6)


def grounded_poorly(n):
    return mixed(np.abs(np.random.default_rng(0).normal(5, 1, (n, 4))))


def jumping(n):
    S = sources(n=n)
    return np.vstack([mixed(S[: n // 2], seed=1), mixed(S[n // 2 :], seed=2)])


BAD = {
    "uncorrelated sources, little noise, no offsets": (correlated, None),
    "sources without a constant sum": (sum_to_one, None),
    "channels without offsets": (offsets, 3),
    "sources that come near zero": (grounded_poorly, None),
    "a mixture that does not change": (jumping, None),
    "enough samples": (lambda n: mixed(sources(n=60, d=8)), None),
    "the number of sources": (lambda n: mixed(sources(n=n), 9, noise=0.1), 5),
}


@pytest.mark.parametrize("assumption", BAD)
def test_what_is_broken_is_named_and_never_ok(assumption):
    make, d = BAD[assumption]
    found = nica.diagnose(make(3000), d)
    assert found.verdict in ("doubtful", "failed")
    assert assumption in found.assumptions, str(found)
    for signal in found.troubles:
        assert signal.cause
        assert signal.remedy


def test_two_sources_that_come_out_as_one_are_noticed():
    """A pair of channels that the first two of three sources reach alike: no other signal sees it."""
    S = np.random.default_rng(0).random((8000, 3))
    found = nica.diagnose(S @ np.array([[1, 0.2], [0.9, 0.18], [0.1, 1]]))
    assert found.verdict == "doubtful"
    assert names(found) == {"foot"}
    assert "sources that come near zero" in found.assumptions


def test_borders_through_equal_values_make_no_dependence():
    """Most samples are at a border between classes, and a little of the other source moves them."""
    S = sources(n=4000)[:, :2]
    S = S / S.std(axis=0)
    u = S + [0.3, 0.8] + 1e-3 * (S - S.mean(axis=0))[:, ::-1]
    assert np.max(_dependence(u)) > 0.1
    assert np.max(dependence(u)) < 1e-3


def test_a_wrong_number_has_failed():
    X = mixed(sources(), 9, noise=0.05)
    for d in (2, 5):
        found = nica.diagnose(X, d)
        assert found.verdict == "failed"
        assert "number" in names(found)
    assert nica.diagnose(X, "auto").n_components == 3
    found = nica.diagnose(mixed(sources(), 5), 4)
    assert found.verdict == "failed"
    assert "3 directions only" in str(found)


def test_images_that_separate_have_not_failed():
    assert nica.diagnose(natural_scenes().X).verdict == "doubtful"


@settings(max_examples=5)
@given(power=st.integers(-40, 40), seed=st.integers(0, 100))
def test_the_unit_of_the_channels_does_not_matter(power, seed):
    X = mixed(sources(seed, n=500), 5, noise=0.02)
    one, two = nica.diagnose(X, 3), nica.diagnose(X * 2.0**power, 3)
    assert one.verdict == two.verdict
    for a, b in zip(one.signals, two.signals, strict=True):
        assert (a.name, a.verdict) == (b.name, b.verdict)
        assert a.value == pytest.approx(b.value, rel=1e-6, abs=1e-9)


def test_a_model_is_diagnosed_by_its_own_solution():
    X = mixed(sources())
    good = nica.NICA(3, random_state=0).fit(X)
    found = nica.diagnose(X, model=good)
    assert found.verdict == "OK"
    assert found.model is good
    stranger = nica.NICA(3, random_state=0).fit(mixed(sources(), seed=7))
    found = nica.diagnose(X, model=stranger)
    assert found.verdict == "failed"
    assert {"restarts", "second opinion"} <= names(found)


def test_a_model_must_fit():
    X = mixed(sources(n=300))
    model = nica.NICA(3, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 2 channels, but the model 3"):
        nica.diagnose(X[:, :2], model=model)
    with pytest.raises(ValueError, match="n_components=2, but the model has 3"):
        nica.diagnose(X, 2, model)
    with pytest.raises(ValueError, match="no unmixing_"):
        nica.diagnose(X, model=nica.OnlineWhitening().fit(X))
    with pytest.raises(ValueError, match="give at most 3"):
        nica.diagnose(X, 4)
    with pytest.raises(ValueError, match="give a number, 'auto'"):
        nica.diagnose(X, "many")


# --------------------------------------------------------------------------- no verdict at all


def with_value(value):
    X = mixed(sources(n=200))
    X[17, 1] = value
    return X


NOTHING = {
    "sample 17 has NaN in channel 1": with_value(np.nan),
    "sample 17 has inf in channel 1": with_value(np.inf),
    "all values are zero": np.zeros((100, 3)),
    "there are no samples": np.empty((0, 3)),
    "constant channels (2)": np.column_stack([mixed(sources(n=200, d=2)), np.ones(200)]),
    "channels 0 and 2 are copies": mixed(sources(n=200, d=2))[:, [0, 1, 0]],
    "distinct samples are too few for 3": mixed(sources(n=10)),
    "20 distinct samples": np.tile(mixed(sources(n=20)), (30, 1)),
    "1 distinct sample": np.array([[1.0, 2.0]]).repeat(1, axis=0) * [[1.0, 1.5]],
}


@pytest.mark.parametrize("reason", NOTHING)
def test_where_nothing_can_be_said_it_says_so(reason):
    X = NOTHING[reason]
    found = nica.diagnose(X)
    assert found.verdict == "cannot say"
    if len(X) > 1:
        assert any(reason in obstacle for obstacle in found.obstacles), found.obstacles
    assert str(found)
    json.loads(found.to_json())
    assert "<p" in found._repr_html_()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(0, 80),
    k=st.integers(1, 5),
    kind=st.sampled_from(["integers", "huge", "tiny", "few values", "one row changes"]),
)
def test_hostile_samples_never_crash_and_are_never_ok(seed, n, k, kind):
    rng = np.random.default_rng(seed)
    X = {
        "integers": lambda: rng.integers(-2, 3, (n, k)),
        "huge": lambda: rng.standard_normal((n, k)) * 1e90,
        "tiny": lambda: rng.standard_normal((n, k)) * 1e-90,
        "few values": lambda: rng.choice([0.0, 1e-300, 1.0], (n, k)),
        "one row changes": lambda: np.where(
            np.arange(n)[:, None] == n // 2, 1.0, np.ones((n, k)) * 2
        ),
    }[kind]()
    assert nica.diagnose(X).verdict != "OK"


def test_shapes_that_are_no_samples_are_refused():
    for X in (np.zeros(5), np.zeros((2, 2, 2)), np.array([["a"]])):
        with pytest.raises(ValueError, match="n_samples, n_channels"):
            nica.diagnose(X)
    with pytest.raises(ValueError, match="without chunks"):
        nica.diagnose(iter([]))


# ------------------------------------------------------------------------- what is looked at


def test_chunks_give_what_the_array_gives():
    X = mixed(sources(n=900))
    whole = nica.diagnose(X)
    assert nica.diagnose(X[i : i + 70] for i in range(0, 900, 70)).to_dict() == whole.to_dict()


def test_long_records_are_looked_at_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(_intake, "MOST", 1000)
    X = mixed(sources(n=5500))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for source in (X, mapped, (X[i : i + 123] for i in range(0, 5500, 123))):
        found = nica.diagnose(source)
        assert found.verdict == "OK"
        assert found.n_samples == 5500
        assert 500 <= found.n_used <= 1000
        assert "evenly spread" in str(found)
    X[4321, 2] = np.nan
    for source in (X, (X[i : i + 123] for i in range(0, 5500, 123))):
        assert "sample 4321 has NaN" in str(nica.diagnose(source))


@given(first=st.integers(0, 1000), blocks=st.integers(0, 200), step=st.integers(1, 50))
def test_one_sample_of_each_block_is_chosen(first, blocks, step):
    rows = _chosen(first, first + blocks, step)
    np.testing.assert_array_equal(rows // step, np.arange(first, first + blocks))


# ----------------------------------------------------------------------------------- measures


def test_independence_confirms_the_sources_and_not_a_turn_of_them():
    S = sources(n=5000, d=3)
    assert np.min(second_opinion(S)) > 0.99
    turn = np.eye(3)
    turn[:2, :2] = [[np.cos(0.5), np.sin(0.5)], [-np.sin(0.5), np.cos(0.5)]]
    opinion = second_opinion(S @ turn.T)
    assert np.max(opinion[:2]) < 0.95
    assert opinion[2] > 0.99


def test_slack_is_for_sources_that_stay_away_from_zero():
    S = sparse_uniform(3000, 2, random_state=0)
    assert np.all(slack(S) <= 5)
    assert np.all(slack(S + 3) == 30)


def test_tails_that_come_together_are_seen():
    S = sources(n=5000)
    assert np.all(tails(S) < 0.05)
    gain = np.random.default_rng(1).exponential(size=(5000, 1))
    assert np.all(tails(S * gain) > 0.05)


# -------------------------------------------------------------------------------------- shown


def test_it_can_be_shown_in_every_way():
    found = nica.diagnose(correlated(1000))
    assert json.loads(found.to_json())["verdict"] == found.verdict
    assert len(json.loads(found.to_json())["signals"]) == len(found.signals)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(found)
    text = console.export_text()
    console.file.close()
    for signal in found.signals:
        assert signal.name in text
    assert found.troubles[0].cause in str(found)
    assert "<table" in found._repr_html_()


def test_it_can_be_drawn():
    pytest.importorskip("matplotlib")
    figure = nica.diagnose(mixed(sources(n=500), 5, noise=0.05), 3).plot().figure_
    assert len(figure.axes) == 3
    figure = nica.diagnose(np.zeros((5, 2))).plot().figure_
    assert "cannot say" in figure.get_suptitle()


# ------------------------------------------------------------------------------- command line


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = mixed(sources(n=800), 6, noise=0.02)
    np.savetxt("good.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    np.save("short.npy", X[:10])
    nica.NICA(3, random_state=0).fit(X).save("model")
    return tmp_path


def run(*arguments):
    result = CliRunner().invoke(app, ["diagnose", *arguments])
    return result.exit_code, result.output


def test_the_verb_says_it(files):
    code, output = run("good.csv", "-n", "auto")
    assert code == 0
    assert output.startswith("OK: ")
    code, output = run("good.csv", "--model", "model", "--json", "--report", "page.html")
    assert code == 0
    assert json.loads(output)["verdict"] == "OK"
    assert "nothing speaks against" in (files / "page.html").read_text()
    assert run("good.csv", "-n", "2", "--columns", "a,b,c", "--strict")[0] in (0, 3)


def test_the_verb_ends_with_a_code_if_told(files):
    code, output = run("short.npy", "--strict")
    assert code == 3
    assert output.startswith("cannot say: ")
    assert run("short.npy")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "no file 'nothing.csv'"),
        (["good.csv", "-n", "some"], "give a number or auto"),
        (["good.csv", "-n", "7"], "give at most 6"),
        (["good.csv", "--model", "good.csv"], "no whole model file"),
        (["good.csv", "--report", "no/such/page.html"], "No such file"),
    ],
)
def test_the_verb_refuses_in_one_line(files, arguments, message):
    code, output = run(*arguments)
    assert code == 1
    assert message in output
    assert len(output.strip().splitlines()) == 1
