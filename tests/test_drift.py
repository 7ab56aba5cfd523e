"""How fast a mixture changes: seen where it does, not seen where it does not, and what to do."""

import numpy as np
import pytest

import nica
from nica.datasets import MIXING_3, mixing, sparse_uniform
from nica.drift import _steps

S = sparse_uniform(10_000, 3, random_state=0)


def turning(turn, n=10_000):
    """Two of three sources turn into each other."""
    X = np.empty((n, 3))
    for i in range(0, n, 50):
        c, s = np.cos(i / turn), np.sin(i / turn)
        R = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
        X[i : i + 50] = S[i : i + 50] @ (MIXING_3 @ R).T
    return X


def test_nothing_is_seen_where_nothing_drifts():
    drift = nica.estimate_drift(S @ MIXING_3.T)
    assert drift.rate == 0
    assert drift.half_life is None
    assert drift.jump is None
    assert drift.turn == np.inf
    assert "no drift above" in str(drift)
    assert 0 <= drift.most < 1e-4


@pytest.mark.parametrize("turn", [5e3, 2e4])
def test_the_rate_of_a_turn_is_found(turn):
    drift = nica.estimate_drift(turning(turn))
    wanted = np.sqrt(2 / 3) / turn  # rms over the sources, of which two turn
    assert drift.rate == pytest.approx(wanted, rel=0.25)
    assert drift.rate - 5 * drift.error < wanted < drift.rate + 5 * drift.error
    assert turn / 20 < drift.half_life < turn / 4


def test_a_jump_is_found_where_it_is():
    X = S @ MIXING_3.T
    X[5500:] = S[5500:] @ mixing(3, condition=2, random_state=3).T
    drift = nica.estimate_drift(X)
    assert abs(drift.jump - 5500) <= 10_000 / drift.n_windows
    assert "jumps near sample" in str(drift)


@pytest.mark.parametrize("seed", range(3))
def test_a_jump_is_recovered_within_three_half_lives(seed):
    half_life, at = 1000, 4000
    A, B = (mixing(3, condition=3, random_state=10 * seed + i) for i in (1, 2))
    X = np.vstack([S[:at] @ A.T, S[at:] @ B.T])
    model = nica.NICA(half_life=half_life, random_state=seed)
    Y = model.separate(X)

    def error(first, last):
        return nica.metrics.match_sources(S[first:last], Y[first:last]).error / 3

    before = error(at - 1000, at)
    assert error(at, at + 250) > 0.1
    assert max(error(i, i + 250) for i in range(at + 3 * half_life, 10_000, 250)) < 0.02
    assert error(9000, 10_000) < 3 * before + 0.001
    assert at < model._scalars()["renewed"] + half_life / 8 < at + half_life / 2


def test_units_do_not_matter():
    X = turning(5e3)
    covariance = np.cov(X.T, bias=True)
    one, two = _steps(X, covariance, 3, 4, 0), _steps(X * 1024, covariance * 2**20, 3, 4, 0)
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_what_cannot_be_said():
    short = nica.estimate_drift(S[:100] @ MIXING_3.T)
    assert short.n_windows == 0
    assert "too few" in str(short)
    assert nica.estimate_drift(np.ones((5000, 2))).n_windows == 0
    with pytest.raises(ValueError, match="in sample 7"):
        nica.estimate_drift(np.where(np.arange(5000)[:, None] == 7, np.nan, S[:5000]))
    with pytest.raises(ValueError, match="give at most 3"):
        nica.estimate_drift(S, 4)
