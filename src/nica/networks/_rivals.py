"""What the paper's rivals share: one layer of weights, a rate that falls with time, layer 1 if wanted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nica.equations.rivals import positive_mean, rival_start, scaled_start
from nica.networks._apply import new_core
from nica.networks._outputs import Unmixing
from nica.networks._samples import Array
from nica.networks._settings import DYNAMICS, Options, options
from nica.networks.whitening import _view
from nica.rates import Time

RESTING = 10.0  #: growth of the inverse rate, per sample, with which ``fit`` comes to rest


class RivalNetwork(Unmixing):
    """Base of the algorithms that the paper compares itself with."""

    _rule: int  # as in core/api.hpp
    _wants_white = False
    _how_to_whiten = "Use whiten=True, or whiten it first (nica.offline.Whitening)"
    _dynamics: ClassVar[dict[str, int]] = DYNAMICS

    @property
    def w_(self) -> Array:
        """Weights that the rule learns (n_components, n_whitened or n_channels)."""
        return _view(self._ready().get_state()["w"])

    @property
    def whitening_(self) -> Array:
        """What the rule's input is made with: layer 1, or a scale for each channel (d, n_channels)."""
        return _view(self._whitening(self._ready().get_state()))

    # ------------------------------------------------------------------------------------- settings

    def _paper_rate(self, d: int) -> Time:
        """Rate of appendix D for d sources."""
        raise NotImplementedError

    def _options(self, k: int) -> Options:
        whiten = bool(self.whiten) if self._wants_white else False
        settings, p = options(self, k, whiten=whiten, separate=True, dynamics=self._dynamics)
        rate = self._paper_rate(settings["d"]) if self.rate is None else self.rate
        if not isinstance(rate, Time):
            raise TypeError(f"rate={rate!r}: give rates.Time(a, b) or None")
        changed: Options = {
            **settings,
            "rule": self._rule,
            "in_time": True,
            "separation_a": rate.a,
            "separation_b": rate.b,
            "memory_growth": 0.0,
            "hold": p.hold,
            "robust": settings["robust"] and (whiten or not self._wants_white),
        }
        return changed

    # ---------------------------------------------------------------------------------------- start

    def _draw(self) -> None:
        if not self._settings["robust"]:
            self._write(self._random_weights(), gain=np.ones(self._settings["k"]))

    def _separation_start(self, rng: np.random.Generator) -> dict[str, Array]:
        o = self._settings
        start = rival_start(o["l"], o["d"], rng)
        return {
            "w": start.W, "h_mean" if o["whiten"] else "x_bar": start.z_bar, "learned": np.zeros(1),
            "fired": start.fired.astype(np.float64), "kurtosis": start.kurtosis,
            "lateral": start.Q, "variance": np.diag(start.Q),
        }  # fmt: skip

    def _start_from(self, held: Array) -> None:
        """With layer 1 as any network; without it the held samples say the scale of input and weights."""
        o = self._settings
        if o["whiten"]:
            return super()._start_from(held)
        rng = np.random.default_rng([self._seed, self._starts])
        self._starts += 1
        gain, W = scaled_start(held, rng)
        return self._write(
            self._separation_start(rng) | {"w": W},
            gain=np.full(o["k"], gain),
            started=1.0,
            target=float(o["hold"]),
        )

    # ------------------------------------------------------------------------------- what it has learned

    def _decoding(self, state: dict[str, Array]) -> Array:
        """Linear map from the input of the rule to the outputs."""
        mean = state["h_mean" if self._settings["whiten"] else "x_bar"].ravel()
        return positive_mean(state["w"], mean)

    def _unmixing(self, state: dict[str, Array]) -> Array:
        U: Array = self._decoding(state) @ self._whitening(state)
        return U

    def _silent(self) -> list[int]:
        return []

    # ----------------------------------------------------------------------------------------- settling

    def _set_memory(self, slow: bool) -> None:
        """Rate during ``fit``: as given while it searches; then falling ever faster, until it rests.

        Unlike the paper's own networks, a rival goes on being shaken by every sample at its solution.
        """
        if not slow:
            return
        o = self._settings
        learned = float(self._state()["learned"].item())
        a, b = _falling(o["separation_a"], o["separation_b"], learned)
        rate_a, rate_b = _falling(o["rate_a"], o["rate_b"], self._scalars()["t"])
        self._configure(
            o | {"separation_a": a, "separation_b": b, "rate_a": rate_a, "rate_b": rate_b}
        )

    def _configure(self, settings: Any) -> None:
        arrays = self._state()
        self._core = new_core(settings)
        self._core.set_state(arrays, True)


def _falling(a: float, b: float, t: float) -> tuple[float, float]:
    """The rate 1/(a + b t) at t, but from there on falling as fast as ``fit`` rests."""
    faster = max(b, RESTING)
    return a + (b - faster) * t, faster
