"""The paper's two layers, stacked or alone: how they start, when they are lost, how fit slows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from nica._core import Network
from nica._signals import FAILED
from nica.equations import robust
from nica.equations.network import orthonormal
from nica.equations.warmup import warm_start
from nica.networks._apply import new_core
from nica.networks._health import ENOUGH, Health, health
from nica.networks._missing import complete
from nica.networks._samples import Array, infers
from nica.networks._settings import Options, options
from nica.networks._stream import SCALARS, StreamNetwork

ALARMS = ("correlation", "turning")  #: signals that warn when they have failed


class LayeredNetwork(StreamNetwork):
    """Base of ``NICA`` and of each of its layers alone."""

    _whiten = True
    _separate = True
    _rehearses = True  # whether the samples that it started from have more to teach
    _how_to_whiten = "Whiten the input first (nica.OnlineWhitening), or use nica.NICA"

    @property
    def n_components_(self) -> int:
        """Number of sources d, as given or as chosen."""
        self._state()
        return self._settings["d"]

    @property
    def _n_features_out(self) -> int:
        return self._settings["d" if self._separate else "l"]

    def _options(self, k: int) -> Options:
        return options(self, k, whiten=self._whiten, separate=self._separate)[0]

    def _draw(self) -> None:
        o = self._settings
        if not o["robust"]:
            self._write(self._random_weights(), gain=np.ones(o["k"]))
        elif not o["whiten"]:
            self._write(self._random_weights(), gain=np.ones(o["k"]), started=1.0)

    def _random_weights(self) -> dict[str, Array]:
        """Random orthonormal weights, as the paper starts."""
        o = self._settings
        rng = np.random.default_rng([self._seed, self._starts])
        weights = {}
        if o["whiten"]:
            weights["w_hx"] = orthonormal(o["l"], o["k"], rng)
            weights["w_hg"] = orthonormal(o["l"], o["m"], rng)
        if self._separate:
            weights.update(self._separation_start(rng))
        return weights

    def _separation_start(self, rng: np.random.Generator) -> dict[str, Array]:
        o = self._settings
        d = o["d"]
        zeros = np.zeros(d)
        return {
            "w_yh": orthonormal(d, o["l"], rng), "lateral": np.eye(d),
            "activity": np.full(d, o["memory_first"] if o["memory_growth"] else o["separation_a"]),
            "positive": zeros, "negative": zeros, "flipped": zeros, "fired": zeros,
        }  # fmt: skip

    def _write(self, arrays: dict[str, Array], gain: Array, **scalars: float) -> None:
        assert self._core is not None
        now = self._scalars() | {"held": 0.0} | scalars
        arrays = arrays | {"gain": gain, "scalars": np.array(list(now.values()))}
        arrays["held"] = np.empty((0, self._settings["k"]))
        if self._separate:
            arrays["watched"] = np.zeros(2)
        self._core.set_state({n: np.atleast_2d(a.T).T for n, a in arrays.items()}, False)

    def _start(self) -> None:
        """(Re)start from the held samples, or hold more first; see `nica.equations.robust`."""
        assert self._core is not None
        o, held, now = self._settings, self._held(), self._scalars()
        if robust.hold_more(held, o["d"], o["hold"], int(now["t"]), int(now["basis"])):
            now["target"] = 2.0 * len(held)
            self._core.set_state({"scalars": np.array([list(now.values())]).T}, True)
            return
        self._start_from(held)

    def _start_from(self, held: Array) -> None:
        o = self._settings
        rng = np.random.default_rng([self._seed, self._starts])
        gain, x_bar, W_hx, W_hg = warm_start(held, o["d"], o["l"], o["m"], o["alpha"], rng)
        weights = {"x_bar": x_bar, "w_hx": W_hx, "w_hg": W_hg}
        if self._separate:
            weights |= self._separation_start(rng)
        self._starts += 1
        self._write(
            weights, gain, t=float(max(len(held), o["hold"])), basis=float(len(held)),
            started=1.0, outlying=0.0, suspended=0.0, far=0.0,
            target=float(o["hold"]), all_fired=0.0, spread=1.0, stray=1.0, renewed=0.0,
        )  # fmt: skip

    def _held(self) -> Array:
        """Samples that are held, without gaps."""
        held = self._state("held")["held"]
        return complete(held, self._settings["d"]) if infers(self) else held

    def _ready(self) -> Network:
        """Network for use: itself, or while it warms up one started from what it holds."""
        state = self._state()
        assert self._core is not None
        if state["scalars"].ravel()[SCALARS.index("started")] or not self._settings["robust"]:
            return self._core
        held = self._held()
        distinct = len(np.unique(held, axis=0))
        needed = self._settings["d"] + 1
        if distinct < needed:
            raise NotFittedError(
                f"This {type(self).__name__} has seen {distinct} distinct "
                f"{'sample' if distinct == 1 else 'samples'}: "
                f"{needed} are needed for n_components={self._settings['d']}"
            )
        other = type(self)(**self.get_params(deep=False))
        other.__setstate__(self.__getstate__())
        other._start_from(held)
        assert other._core is not None
        if self._rehearses:
            other._core.run(held, None)
        return other._core

    # --------------------------------------------------------------------------------------- settling

    @property
    def _patience(self) -> int:
        return 10 * self._settings["revival"]

    def _all_seen(self) -> None:
        """Start from what is held: whatever the warm-up still waits for will not come."""
        if self._settings["robust"] and not self._scalars()["started"]:
            self._distinct_enough(int(self._scalars()["seen"]))
            self._start_from(self._held())

    def _settled(self, n_samples: int) -> None:
        if self.n_iter_ > 1:
            self._configure(self._settings)
        if self._settings["robust"] and not self._scalars()["started"]:
            self._distinct_enough(n_samples)

    def _distinct_enough(self, n: int) -> None:
        held = self._held()
        distinct, needed = len(np.unique(held, axis=0)), self._settings["d"] + 1
        if distinct < needed:
            raise ValueError(
                f"X has {distinct} distinct {'sample' if distinct == 1 else 'samples'} "
                f"(n_samples={n}): give at least {needed} for n_components={self._settings['d']}"
            )

    def _set_memory(self, slow: bool) -> None:
        """Memory of layer 2 during ``fit``: short while it searches, ever longer until it rests.

        Nothing is flipped on the way to rest: where no flip helped during the search, none will.
        """
        o = self._settings
        if slow:
            changed = {"memory_growth": 0.3, "memory_most": 1e12, "flip": False}
        else:
            changed = {"memory_growth": 1e-12, "memory_most": o["memory_first"]}
        self._configure(o | changed)

    def _configure(self, settings: Any) -> None:
        if not self._settings["memory_growth"]:
            return
        arrays = self._state()
        self._core = new_core(settings)
        self._core.set_state(arrays, True)

    # ----------------------------------------------------------------------------------------- health

    @property
    def health_(self) -> Health:
        """How the network is doing, from what it keeps of its last samples; see `Health`."""
        return health(self)

    def _causes(self, now: dict[str, float]) -> Iterator[tuple[str, str]]:
        """What is wrong with the network now: a short name and a sentence."""
        if not now["started"] and self._settings["robust"]:
            return
        seen = int(now["seen"])
        if now["suspended"]:
            yield (
                "suspended",
                f"suspended learning before sample {seen}: most samples lie far outside the cloud it "
                "knows. If the mixture has changed it will start again by itself",
            )
        if now["t"] < 20 * self._settings["revival"]:
            return
        if not 0.3 <= now["spread"] <= 3:
            advice = (
                "Use start='warm', or rates.Time with a smaller a"
                if self._settings["whiten"]
                else self._how_to_whiten
            )
            yield (
                "white",
                f"works on input that is not white at sample {seen}: variance {now['spread']:.2g} "
                f"where it should be 1. {advice}",
            )
        for i in self._silent():
            yield (
                f"silent {i}",
                f"has a silent output at sample {seen}: neuron {i} no longer fires, its source is "
                "lost or was never there. Lower n_components, or set flip_silent=True",
            )
        watched = self._state().get("watched")
        if watched is not None and watched[0, 0] >= ENOUGH:
            for signal in self.health_.troubles:
                if signal.verdict == FAILED and signal.name in ALARMS:
                    yield (
                        signal.name,
                        f"may be wrong at sample {seen}: {signal.finding}. Cause: {signal.cause}. "
                        f"Remedy: {signal.remedy}",
                    )

    def _silent(self) -> list[int]:
        """Outputs that no longer fire."""
        if not self._separate:
            return []
        state = self._state()
        positive, negative = state["positive"].ravel(), state["negative"].ravel()
        lost: list[int] = np.flatnonzero((positive < 1e-3) | (negative > 4 * positive)).tolist()
        return lost
