"""What a running network shows of its health: read off what the core watches, at any moment.

The core keeps averages over the last 6,656 learned samples and 64 of these samples with what was made of
them (core/watch.hpp). All else is computed here, when it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nica._signals import CANNOT_SAY, FAILED, OK, Limit, Signal, worst, worst_first

if TYPE_CHECKING:
    from nica.networks._layers import LayeredNetwork

PROBES = 64  #: as in core/watch.hpp
ENOUGH = 512  #: watched samples that make a full average, as there
REASONS = {
    OK: "nothing speaks against these outputs",
    "doubtful": "something is not as it should be: see the signals",
    FAILED: "these outputs are wrong now",
    CANNOT_SAY: "the network has not learned enough samples yet",
}
LIMITS = {
    "suspended": Limit(
        0, 0, "learning is suspended: {value:.0f}", "most samples lie far outside the known cloud",
        "wait: if the mixture has changed it starts again by itself",
    ),
    "silent": Limit(
        1e-2, 1e-3, "neuron {source} has a mean square of {value:.2g}",
        "its source is lost or was never there", "lower n_components, or set flip_silent=True",
    ),
    "negative drive": Limit(
        0.1, 1.0, "neuron {source} is held below zero: mean square {value:.2g}, for unit variance",
        "correlated or poorly grounded sources, noise, offsets, or a mixture that changes",
        "look at nica.diagnose; follow a mixture that changes with half_life",
    ),
    "correlation": Limit(
        0.3, 0.6, "output {source} is correlated with another one by r = {value:.2f}",
        "correlated sources, slow sources, or a mixture that changes",
        "look at nica.diagnose; follow a mixture that changes with half_life",
    ),
    "turning": Limit(
        0.4, 0.9, "what the weights make of the last samples has changed: output {source} by {value:.2f} "
        "standard deviations",
        "the mixture jumped or drifts, or the network has not found it yet",
        "let it learn on; estimate the drift (nica.estimate_drift), set half_life",
    ),
    "outliers": Limit(
        0.05, 0.3, "{value:.1%} of the samples were outliers, and taught little", "spikes or glitches",
        "look at the channels; nica.diagnose names more causes",
    ),
    "white": Limit(
        1.5, 3.0, "whitened samples deviate from unit variance by a factor of {value:.2g}",
        "input that is not white, or a scale that changes",
        "use start='warm', or whiten the input first (nica.OnlineWhitening)",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Health:
    """How a running network is doing: `health_` of the networks.

    Weaker than `nica.diagnose`, which fits again and compares: a network can be in good health and wrong.

    Attributes
    ----------
    verdict : {"OK", "doubtful", "failed", "cannot say"}
    reason : str
        The verdict in a sentence.
    n_samples : int
        Samples seen.
    signals : tuple of Signal
        All that was measured, over about the last 6,000 samples; the worst of them is the verdict.
    """

    verdict: str
    reason: str
    n_samples: int
    signals: tuple[Signal, ...] = ()

    @property
    def troubles(self) -> tuple[Signal, ...]:
        """Signals that are not OK, the worst first."""
        return worst_first(self.signals)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, texts, lists and dictionaries.

        Returns
        -------
        dict
        """
        signals = [vars(signal) for signal in self.signals]
        return {
            "verdict": self.verdict, "reason": self.reason, "n_samples": self.n_samples,
            "signals": signals,
        }  # fmt: skip

    def to_json(self) -> str:
        """`to_dict` as a line of JSON.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        lines = [f"{self.verdict} after {self.n_samples:,} samples: {self.reason}"]
        for s in self.troubles:
            lines.append(f"- {s.verdict}: {s.finding} (cause: {s.cause}; remedy: {s.remedy})")
        return "\n".join(lines)


def health(network: LayeredNetwork) -> Health:
    """Look at a network now."""
    now = network._scalars()
    seen = int(now["seen"])
    if not now["started"] and network._settings["robust"]:
        return Health(CANNOT_SAY, REASONS[CANNOT_SAY], seen)
    values: dict[str, tuple[float, int | None]] = {"suspended": (now["suspended"], None)}
    early = now["t"] < 20 * network._settings["revival"]
    if not (early or now["suspended"]):
        values |= dict(_values(network, now))
    elif not now["suspended"]:
        return Health(CANNOT_SAY, REASONS[CANNOT_SAY], seen)
    signals = tuple(
        LIMITS[name].signal(name, value, LIMITS[name].compare(value), source)
        for name, (value, source) in values.items()
    )
    verdict = worst(signals)
    return Health(verdict, REASONS[verdict], seen, signals)


def _values(
    network: LayeredNetwork, now: dict[str, float]
) -> Iterator[tuple[str, tuple[float, int | None]]]:
    """Each signal's value, and the output that it is worst for."""
    spread = max(now["spread"], 1e-300)
    yield "white", (max(spread, 1 / spread), None)
    yield "outliers", (now["outliers"] / max(now["t"], 1.0), None)
    state = network._state()
    if "watched" not in state:  # no second layer of the paper's kind
        return
    positive, negative = state["positive"].ravel(), state["negative"].ravel()
    i = int(np.argmin(positive))
    yield "silent", (float(positive[i]), i)
    kept, k = min(int(state["watched"][1, 0]), PROBES), network._settings["k"]
    if not kept:  # it was fitted by other means, and has not run since
        return
    mean, products = state["watched_mean"].ravel(), state["watched_products"]
    variance = np.maximum(np.diag(products) - mean**2, 1e-12)
    # Held down over thousands of samples, and over the last hundred: one burst is no trouble.
    down = np.minimum(
        state["watched_down"].ravel() / variance, negative / np.maximum(positive, 1e-12)
    )
    i = int(np.argmax(down))
    yield "negative drive", (float(down[i]), i)
    r = np.abs(products - np.outer(mean, mean)) / np.sqrt(np.outer(variance, variance))
    np.fill_diagonal(r, 0.0)
    i = int(np.argmax(np.max(r, axis=0)))
    yield "correlation", (float(min(np.max(r), 1.0)), i)
    X, before = np.ascontiguousarray(state["probes"][:kept, :k]), state["probes"][:kept, k:]
    after = np.empty_like(before)
    assert network._core is not None
    network._core.apply(X, after)
    size = np.maximum(np.var(before, axis=0), 1e-12)
    turned = np.sqrt(np.mean((after - before) ** 2, axis=0) / size)
    i = int(np.argmax(turned))
    yield "turning", (float(turned[i]), i)
