"""Limits, and the words for what lies beyond them.

The limits were set on the problems of ``benchmarks/trust.py`` with seeds of their own, and frozen;
docs/trust.md reports how often they are wrong on fresh ones.
"""

from __future__ import annotations

import numpy as np

from nica._signals import DOUBTFUL, FAILED, OK, Limit, Signal
from nica.diagnostics._measure import Measures
from nica.diagnostics.diagnosis import Source
from nica.rank import Rank

CONFIRMED = 0.05  #: second opinion up to which disagreeing fits make a result doubtful, not failed


NEVER = float("inf")
LIMITS = {
    "restarts": Limit(
        0.95, 0.7,
        "fits from different seeds agree on source {source} with r = {value:.2f}",
        "a source that hardly ever comes near zero, too many sources asked for, or too few samples",
        "lower n_components, give more samples, or choose channels in which the sources are often absent",
    ),
    "random halves": Limit(
        0.9, 0.7,
        "fits on random halves of the samples agree on source {source} with r = {value:.2f}",
        "too few samples, or a source that hardly ever comes near zero",
        "give more samples, or lower n_components",
    ),
    "halves": Limit(
        0.93, 0.7,
        "fits on the first and on the second half agree with the whole on source {source} with "
        "r = {value:.2f}",
        "the mixture drifts or jumps, or the samples are too few or too alike",
        "cut the record where the mixture changes, or follow it with half_life; give more samples",
    ),
    "second opinion": Limit(
        0.003, 0.2,
        "independence leads away from source {source}: 1 - |r| = {value:.2g} beyond sampling error",
        "sources that depend on each other, poor grounding, offsets, noise, or a wrong number",
        "compare with what you know of the sources; see the other signals for which cause it is",
    ),
    "negative": Limit(
        0.005, 0.05,
        "source {source} has a mean square of {value:.2g} below zero, for unit variance",
        "correlated sources, noise, offsets, or fewer channels than sources",
        "subtract the offsets of the channels, average the noise down, or leave correlated sources out",
    ),
    "lowest": Limit(
        -0.35, -1.0,
        "one in a hundred values of source {source} lies below {value:.2f} standard deviations",
        "noise, offsets, or correlated sources",
        "subtract the offsets of the channels, or give more channels so that noise averages out",
    ),
    "foot": Limit(
        0.32, NEVER,
        "source {source} is seldom near its least value: its 1 % and its 5 % quantile are {value:.2f} "
        "standard deviations apart",
        "two sources that reach all channels alike, so that they come out as one, or poor grounding",
        "give more channels, in which they differ, or choose samples in which some sources are absent",
    ),
    "slack": Limit(
        15, NEVER,
        "source {source} can turn by {value:.0f} degrees against another and stays nonnegative",
        "poor grounding: it is hardly ever near zero while others are large, or is shifted",
        "subtract what is constant in the channels, or choose samples in which some sources are absent",
    ),
    "tails": Limit(
        0.1, NEVER,
        "source {source} is large when another one is, or is not, beyond chance (r = {value:.2f})",
        "sources that depend on each other, sensors that saturate, or a common gain that varies",
        "check the range of the sensors; divide by a common gain if there is one",
    ),
    "dependence": Limit(
        0.005, NEVER,
        "source {source} depends on another one beyond chance (φ² = {value:.2g})",
        "more sources than channels, or sources that depend on each other",
        "give more channels, so that a source too many shows in the spectrum",
    ),
    "level": Limit(
        0.45, NEVER,
        "the mean of source {source} changes by {value:.2f} standard deviations between the halves",
        "a jump or a drift of the mixture, or sources so slow that the record is short for them",
        "give a longer record, or cut it where the mixture changes",
    ),
    "gap": Limit(
        0.3, 0.7,
        "direction n+1 of the channels has {value:.2f} of the standard deviation of direction n",
        "a wrong number of sources, heavy noise, or sources that sum to one",
        "set n_components to where the spectrum has its gap (see the rank), or average the noise down",
    ),
    "offset": Limit(
        0.12, 2.0,
        "the mean of the channels leaves the space of the sources by {value:.2f} standard deviations of "
        "the weakest",
        "offsets of the channels, or fewer n_components than sources",
        "subtract the dark level of each channel (never its mean)",
    ),
    "ends": Limit(
        0.017, NEVER,
        "{value:.1%} of the samples are at the end of a channel's range",
        "a sensor that is clipped",
        "widen the range of the sensor, or leave its clipped samples out",
    ),
    "constant sum": Limit(
        0.1, 0.05,
        "a weighted sum of the sources is constant up to {value:.2g}",
        "sources that sum to one, as shares do, or an offset common to all channels",
        "this method does not apply to shares; if it is an offset of the channels, subtract it",
    ),
}  # fmt: skip


def judge(m: Measures, rank: Rank, d: int, k: int) -> tuple[tuple[Signal, ...], tuple[Source, ...]]:
    """Compare all measures with their limits."""
    confirmed = float(np.max(m.second)) <= CONFIRMED
    per_source = {
        "restarts": m.restarts, "random halves": m.random_halves, "halves": m.halves,
        "second opinion": m.second, "negative": m.negative, "lowest": m.lowest, "foot": m.foot,
        "slack": m.slack, "tails": m.tails, "dependence": m.dependence, "level": m.level,
    }  # fmt: skip
    signals = []
    verdicts = np.zeros(d, dtype=int)
    order = (OK, DOUBTFUL, FAILED)
    for name, values in per_source.items():
        limit = LIMITS[name]
        said = [_compare(name, float(value), confirmed) for value in values]
        verdicts = np.maximum(verdicts, [order.index(verdict) for verdict in said])
        worst = int(np.argmin(values) if limit.at_least else np.argmax(values))
        signals.append(limit.signal(name, float(values[worst]), said[worst], worst))
    for name, value in (
        ("gap", m.gap),
        ("offset", m.offset),
        ("ends", m.ends),
        ("constant sum", m.one),
    ):
        signals.append(LIMITS[name].signal(name, value, _compare(name, value, confirmed)))
    signals.append(_number(rank, d, k))
    sources = tuple(
        Source(
            i, order[verdicts[i]], float(m.restarts[i]), float(m.halves[i]),
            float(m.random_halves[i]), float(m.second[i]), float(m.negative[i]), float(m.lowest[i]),
            float(m.slack[i]),
        )
        for i in range(d)
    )  # fmt: skip
    return tuple(signals), sources


def _compare(name: str, value: float, confirmed: bool) -> str:
    verdict = LIMITS[name].compare(value)
    if verdict == FAILED and confirmed and name in ("restarts", "random halves", "halves"):
        return DOUBTFUL
    return verdict


def _number(rank: Rank, d: int, k: int) -> Signal:
    """Number of sources asked for against the one that is seen; of k channels k may always be."""
    inside = rank.low <= d <= rank.high or (d == k and not rank.certain)
    verdict = OK if inside else FAILED if rank.certain else DOUBTFUL
    finding = f"{d} sources were asked for; the channels show {rank}"
    cause = "" if inside else "a wrong number of sources"
    remedy = "" if inside else f"set n_components={rank.n_components}"
    return Signal(
        "number", float(rank.n_components), float(rank.low), float(rank.high), verdict, finding,
        cause, remedy,
    )  # fmt: skip


def doubts(signals: tuple[Signal, ...]) -> dict[str, str]:
    """Assumptions that the signals speak against, with the evidence."""
    s = {signal.name: signal for signal in signals}
    bad = {name for name, signal in s.items() if signal.verdict != OK}
    found = {}
    if bad & {"number", "gap"} and "number" in bad:
        found["the number of sources"] = s["number"].finding
    if "constant sum" in bad:
        found["sources without a constant sum"] = s["constant sum"].finding
    if "offset" in bad:
        found["channels without offsets"] = s["offset"].finding
    if "gap" in bad and "number" not in bad:
        found["little noise"] = s["gap"].finding
    if "ends" in bad:
        found["sensors that are not clipped"] = s["ends"].finding
    if bad & {"slack", "foot"}:
        found["sources that come near zero"] = s["slack" if "slack" in bad else "foot"].finding
    if bad & {"negative", "lowest"}:
        name = "negative" if "negative" in bad else "lowest"
        found["uncorrelated sources, little noise, no offsets"] = s[name].finding
    elif bad & {"tails", "dependence"} or ("second opinion" in bad and "slack" not in bad):
        names = ("tails", "dependence", "second opinion")
        name = next(name for name in names if name in bad)
        found["sources that do not depend on each other"] = s[name].finding
    if "random halves" in bad:
        found["enough samples"] = s["random halves"].finding
    elif bad & {"halves", "level"}:
        name = "halves" if "halves" in bad else "level"
        found["a mixture that does not change"] = s[name].finding
    return found
