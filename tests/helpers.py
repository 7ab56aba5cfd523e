"""What several test files need: mixtures, bitwise comparison of states, the equations as streams."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume

from nica.datasets import mixing, sparse_uniform
from nica.equations import (
    RobustParameters,
    paper_start,
    paper_step,
    prewhitening_dynamics,
    robust_start,
    robust_step,
    running_mean,
    time_rate,
)
from nica.equations import network as paper_equations
from nica.equations import robust as robust_equations


def mixture(seed, n, d, k=None, *, condition=3.0, scale=1.0):
    """Sources of the paper and a mixture of them: S (n, d), X (n, k)."""
    rng = np.random.default_rng(seed)
    S = sparse_uniform(n, d, random_state=rng)
    A = mixing(k or d, d, condition=condition if d > 1 else 1.0, random_state=rng)
    return S, scale * (S @ A.T)


def white(seed, n, d):
    """Sources turned at random: white, mean kept, as the second layer expects."""
    S, H = mixture(seed, n, d, condition=1.0)
    return S, H


def same(a, b):
    """Whether two states are the same to the bit, however they are nested."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    return bool(a == b) or (a != a and b != b)


def assert_same(a, b):
    """Two models with the same parameters, weights, counters: everything."""
    one, two = a.__getstate__(), b.__getstate__()
    differ = [key for key in one.keys() | two.keys() if not same(one.get(key), two.get(key))]
    assert not differ, f"these differ: {differ}"


def assert_close(got, expected, tolerance=1e-9, floor=0.0):
    """Entries agree to the tolerance, relative to the largest of the array or the floor."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    scale = np.max(np.abs(expected), initial=floor)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)


# ------------------------------------------------------------- the equations, sample after sample


def identity_layer(patch, module):
    """Let layer 1 of the equations hand its input through: what remains is layer 2 alone."""
    patch.setattr(module, "prewhitening_fixed_point", lambda x, W_hx, W_hg, alpha: (x, x))
    patch.setattr(module, "update_whitening_weights", lambda W_hx, W_hg, *_: (W_hx, W_hg))


def run_paper(
    X, seed, d, l=None, m=None, *, alpha=0.0, half_life=np.inf, dynamics="exact",
    layers="both", tol=1e-15, max_sweeps=10_000, separation=(10.0, 0.8), drawn=False, **options,
):  # fmt: skip
    """Outputs h and y of ``paper_step`` for each row of X, and the last state.

    With ``drawn``, hypothesis draws again if what it drew leaves the outputs undetermined.
    """
    k = X.shape[1]
    l = k if layers == "second" else l or d
    rng = np.random.default_rng([seed, 0])
    state = paper_start(k, l, m or l, d, rng, floor=separation[0])
    if layers == "second":
        W_yh = paper_equations.orthonormal(d, k, np.random.default_rng([seed, 0]))
        state = paper_equations.replace(state, W_yh=W_yh)
    minimum = -np.expm1(-np.log(2) / half_life)
    H, Y = np.empty((len(X), l)), np.empty((len(X), d))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_equations, "running_mean", partial(running_mean, minimum=minimum))
        patch.setattr(paper_equations, "time_rate", partial(time_rate, minimum=minimum))
        if dynamics == "ode":
            settle = partial(prewhitening_dynamics, tol=tol, max_steps=max_sweeps)
            patch.setattr(paper_equations, "prewhitening_fixed_point", settle)
        if layers == "second":
            identity_layer(patch, paper_equations)
        for t, x in enumerate(X):
            if drawn:
                assume(one_fixed_point(state.W_yy))
            H[t] = paper_equations.prewhitening_fixed_point(x, state.W_hx, state.W_hg, alpha)[0]
            Y[t], state = paper_step(
                state,
                x,
                alpha=alpha,
                tol=tol,
                max_sweeps=max_sweeps,
                separation=separation,
                **options,
            )
    return H, Y, state


def one_fixed_point(W_yy, least=0.01):
    """Whether layer 2 has a single fixed point for any input, and sweeps get there in time.

    It has if all principal minors of I + W_yy are positive; near zero, sweeps need thousands of rounds.
    Before the paper's start has whitened, large outputs can bring that about; then exact and swept
    dynamics may settle at different fixed points, and both are right.
    """
    d = len(W_yy)
    B = np.eye(d) + W_yy
    for size in range(2, d + 1):
        s = np.array(list(combinations(range(d), size)))
        if np.min(np.linalg.det(B[s[:, :, np.newaxis], s[:, np.newaxis, :]])) < least:
            return False
    return True


def run_robust(X, seed, d, *, layers="both", **options):
    """Outputs h and y of ``robust_step`` for each row of X, and the last state."""
    k = X.shape[1]
    if layers == "second":
        options["l"] = k
    p = RobustParameters(k=k, d=d, **options)
    state = robust_start(p)
    H, Y = np.zeros((len(X), p.l)), np.empty((len(X), d))
    with pytest.MonkeyPatch.context() as patch:
        if layers == "second":  # whitened by somebody else: known well from the first sample on
            identity_layer(patch, robust_equations)
            patch.setattr(robust_equations, "outlier_limit", lambda t, d, first, most: most)
            patch.setattr(robust_equations, "STRAY", np.inf)
            W_yh = paper_equations.orthonormal(d, k, np.random.default_rng([seed, 0]))
            state = paper_equations.replace(
                state, starts=1, gain=np.ones(k), x_bar=np.zeros(k), W_hx=np.eye(k), W_hg=np.eye(k),
                W_yh=W_yh, W_yy=np.zeros((d, d)), D=np.full(d, p.memory[0]),
                fired=np.zeros(d, dtype=bool), positive=np.zeros(d), negative=np.zeros(d),
                flipped=np.zeros(d, dtype=np.int64),
            )  # fmt: skip
        for t, x in enumerate(X):
            if len(state.gain):
                H[t] = robust_equations.prewhitening_fixed_point(
                    state.gain * x, state.W_hx, state.W_hg, p.alpha
                )[0]
            Y[t], state = robust_step(state, x, p, seed, tol=1e-15)
    return H, Y, state
