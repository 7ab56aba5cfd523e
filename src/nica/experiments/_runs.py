"""What is run: a function for each kind of job, from parameters and a run number to plain numbers.

Runs are numbered from 0. The number seeds the samples; the network has a seed of its own, so that the
same streams meet every algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.datasets import make_mixture, two_sources
from nica.experiments._algorithms import FloatArray, network, separate
from nica.experiments._parameters import Rates
from nica.metrics import align_weights, match_sources, online_error, separation_floor, weight_error
from nica.offline import whiten
from nica.theory import stationary_weights

LAST = 0.1  # share of the samples, at the end, that the late error and correlation are taken over
NETWORK_SEED = 1000
MEAN, POWER = np.sqrt(48 / 5) / 4, 1.6  # <s> and <s^2> of the sparse uniform sources
CHUNK = 10  # samples between two looks at the size of a step


def times(samples: int, n: int = 120) -> list[int]:
    """Sample numbers at which curves are kept: evenly spread over the decades, the last included."""
    return [int(t) for t in np.unique(np.geomspace(1, samples, n).round().astype(int))]


def separation(algorithm: str, d: int, rates: Rates, run: int, samples: int) -> dict[str, Any]:
    """One run of Fig. 3B: the error E_t, and the error over the last tenth of the samples."""
    data = make_mixture(n_samples=samples, n_sources=d, random_state=run)
    when = times(samples)
    try:
        Y = separate(algorithm, data.X, d, rates, NETWORK_SEED + run)
        good = bool(np.all(np.isfinite(Y)))
    except (FloatingPointError, ValueError) as reason:  # weights overflow; a step is too long
        return {"diverged": True, "why": str(reason)}
    if not good:
        return {"diverged": True, "why": "outputs are not finite"}
    error = online_error(data.S, Y)
    tail = slice(samples - max(1, round(LAST * samples)), None)
    late = match_sources(data.S[tail], Y[tail])
    return {
        "diverged": False,
        "t": when,
        "error": error[np.array(when) - 1],
        "final": error[-1],
        "late": late.error,
        "correlation": late.correlation,
        "floor": separation_floor(data.S, last=LAST),
    }


def traces(
    kind: str, d: int, rates: Rates, run: int, samples: int, shown: int, whitened: bool
) -> dict[str, Any]:
    """The last samples of a run of the two-layer network, and how well sources were recovered."""
    data = make_mixture(kind, samples, random_state=run)
    model = network("two_layer", d, rates, NETWORK_SEED + run)
    Y = model.separate(data.X)
    tail = slice(samples - max(shown, round(LAST * samples)), None)
    match = match_sources(data.S[tail], Y[tail])
    at_end = slice(samples - shown, None)
    result = {
        "sources": data.S[at_end],
        "mixture": data.X[at_end],
        "recovered": Y[at_end, match.permutation],
        "correlation": match.correlation,
        "late": match.error,
        "final": online_error(data.S, Y)[-1],
    }
    if whitened:
        result["whitened"] = data.X[at_end] @ model.whitening_.T
    if kind == "background":
        result |= _against_oracle(data, Y[:, match.permutation], tail, at_end)
    return result


def _against_oracle(data: Any, Y: FloatArray, tail: slice, at_end: slice) -> dict[str, Any]:
    """Compare with the best linear map from the three whitened channels, chosen knowing the sources."""
    d = data.S.shape[1]
    H = whiten(data.X, d).H
    oracle = _least_squares(H, data.S)
    return {
        "background": data.background[at_end],
        "oracle": match_sources(data.S[tail], oracle[tail]).correlation,
        "background_kept": _explained(Y[tail], data.background[tail]),
        "background_kept_by_oracle": _explained(oracle[tail], data.background[tail]),
        "background_in_mixture": _explained(data.X[tail], data.background[tail]),
    }


def _least_squares(inputs: FloatArray, targets: FloatArray) -> FloatArray:
    """Targets as a linear map with an offset gives them best."""
    design = np.column_stack([inputs, np.ones(len(inputs))])
    return np.asarray(design @ np.linalg.lstsq(design, targets, rcond=None)[0])


def _explained(inputs: FloatArray, targets: FloatArray) -> float:
    """Share of the targets' variance that a linear map of the inputs gives."""
    rest = targets - _least_squares(inputs, targets)
    return float(1 - np.sum(rest.var(axis=0)) / np.sum(targets.var(axis=0)))


def weights(d: int, rates: Rates, run: int, samples: int, matrices: bool = False) -> dict[str, Any]:
    """One run of Fig. 4: how far the weights of the second layer are from eq. stationaryWeights."""
    data = make_mixture(n_samples=samples, n_sources=d, random_state=run)
    H, F = whiten(data.X, d)
    model = network("nsm_time", d, rates, NETWORK_SEED + run)
    a, b = rates
    when, kept, t = times(samples, 60), [], 0
    Y = np.empty((samples, d))
    longest, overshot = 0.0, None
    try:
        while t < samples:
            end = min([t + CHUNK, *(later for later in when if later > t)])
            Y[t:end] = model.separate(H[t:end])
            steps = Y[t:end] ** 2 / (a + b * np.arange(t + 1, end + 1)[:, None])
            longest = max(longest, float(steps.max()))
            if overshot is None and np.any(steps > 2):
                overshot = t + 1 + int(np.argmax(np.any(steps > 2, axis=1)))
            t = end
            if t in when:
                kept.append((model.w_yh_.copy(), model.w_yy_.copy()))
    except FloatingPointError:
        return {"diverged": True, "at": t, "overshot": overshot, "longest_step": longest}
    tail = slice(samples - max(1, round(LAST * samples)), None)
    match = match_sources(data.S[tail], Y[tail])
    theory = stationary_weights(data.A, F, np.full(d, MEAN), np.full(d, POWER))
    errors = []
    for w_yh, w_yy in kept:
        learned = align_weights(w_yh, w_yy, match.permutation)
        errors.append([weight_error(w, w0) for w, w0 in zip(learned, theory, strict=True)])
    result: dict[str, Any] = {
        "diverged": False, "overshot": overshot, "longest_step": longest,
        "t": when, "error": np.transpose(errors), "late": match.error,
    }  # fmt: skip
    if matrices:
        result |= {"learned": list(learned), "theory": list(theory)}
    return result


def illustration(run: int, samples: int) -> dict[str, Any]:
    """The two sources of Fig. 1, mixed and whitened; how far whitening is from a rotation."""
    data = two_sources(samples, random_state=run)
    H, F = whiten(data.X, 2)
    if np.linalg.det(F @ data.A) < 0:  # a turned square is easier to see than a mirrored one
        H, F = H * [1, -1], F * [[1], [-1]]
    turn = F @ data.A
    result: dict[str, Any] = {
        "not_orthonormal": np.linalg.norm(turn.T @ turn - np.eye(2)),
        "source_correlation": np.linalg.norm(np.cov(data.S.T, bias=True) - np.eye(2)),
    }
    if run == 0:
        result |= {
            "sources": data.S, "mixture": data.X, "whitened": H, "tracked": data.tracked,
        }  # fmt: skip
    return result


def learned_network(run: int, samples: int) -> dict[str, Any]:
    """Weights of the two-layer network after learning, for the diagram of Fig. 2."""
    data = make_mixture(n_samples=samples, random_state=run)
    model = network("two_layer", 3, (100, 1, 10, 0.8), NETWORK_SEED + run).partial_fit(data.X)
    names = ("w_hx", "w_hg", "w_yh", "w_yy")
    F = model.whitening_
    H = data.X @ F.T
    asymmetry = np.linalg.norm(np.cov(H.T, bias=True) - np.eye(3))
    return {**{name: getattr(model, f"{name}_") for name in names}, "not_white": asymmetry}
