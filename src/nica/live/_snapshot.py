"""What a page shows of a network at one moment, measured in the network's own thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from nica.live._feeds import Array
from nica.metrics import match_sources

if TYPE_CHECKING:
    from nica.live._worker import Worker

KEPT = 20_000  #: samples that are kept, for the diagnosis and for exports
TRACE = 200  #: samples drawn as lines
CLOUD = 400  #: samples drawn as points
WINDOW = 2000  #: samples that error, score and rates of firing are measured on
HISTORY = 600  #: points of the error over time
SILENT = 1e-3  #: share of samples below which an output counts as silent
MATRICES = ("w_hx", "w_hg", "w_yh", "w_yy")
NONE = np.empty((0, 0))


@dataclass(frozen=True)
class Snapshot:
    """All that is shown; arrays are copies.

    Attributes
    ----------
    name, state, message : str
        Of the input; what it does; what went wrong, or empty.
    seen, bad : int
        Samples learned from, and left out.
    rate : float
        Samples per second.
    X, Y : array
        The last samples and outputs; outputs in the order of the sources, if those are known.
    H, axes : array
        Whitened samples, and the direction of each output among them.
    weights : dict of str to array
    firing : array
        Share of the samples in which each output fires.
    error : float or None
        Squared error of the last outputs per sample, if the truth is known; else the share of the
        variance that is left unexplained.
    truth : bool
        Which of them it is.
    images : array or None
        Rows of pixels: mixtures and outputs as they were emitted.
    whole : array or None
        The same of all pixels with the weights as they stand.
    trouble : str
        What the network itself says is wrong.
    """

    name: str
    state: str
    shape: tuple[int, int] | None = None
    message: str = ""
    seconds: float = 0.0
    seen: int = 0
    bad: int = 0
    rate: float = 0.0
    X: Array = field(default_factory=lambda: NONE)
    Y: Array = field(default_factory=lambda: NONE)
    H: Array = field(default_factory=lambda: NONE)
    axes: Array = field(default_factory=lambda: NONE)
    weights: dict[str, Array] = field(default_factory=dict)
    firing: Array = field(default_factory=lambda: np.empty(0))
    error: float | None = None
    truth: bool = False
    n_channels: int = 0
    images: Array | None = None
    whole: Array | None = None
    trouble: str = ""
    half_life: float | None = None
    history: tuple[Array, Array] = field(default_factory=lambda: (np.empty(0), np.empty(0)))

    @property
    def silent(self) -> list[int]:
        """Outputs that do not fire."""
        return [int(j) for j in np.flatnonzero(self.firing < SILENT)]


class History:
    """Error over time in a bounded number of points: when full, each second one goes."""

    def __init__(self, size: int) -> None:
        self._size, self._step, self._skip = size, 1, 0
        self._t: list[float] = []
        self._values: list[float] = []

    def add(self, t: float, value: float) -> None:
        """Add a point, if it is its turn."""
        self._skip += 1
        if self._skip < self._step:
            return
        self._skip = 0
        self._t.append(t)
        self._values.append(value)
        if len(self._t) >= self._size:
            self._t, self._values, self._step = self._t[::2], self._values[::2], 2 * self._step

    def arrays(self) -> tuple[Array, Array]:
        """Times and values."""
        return np.array(self._t), np.array(self._values)


def look(worker: Worker, seconds: float, rate: float, state: str) -> Snapshot:
    """Measure; about half a millisecond."""
    model, feed = worker.model, worker.feed
    told: dict[str, Any] = {
        "name": feed.name, "state": state, "shape": feed.shape, "message": worker._message,
        "seconds": seconds, "seen": worker._seen, "bad": worker._bad, "rate": rate,
        "half_life": getattr(model, "half_life", None),
    }  # fmt: skip
    X, Y = worker._kept("X", WINDOW), worker._kept("Y", WINDOW)
    if not len(Y):
        return Snapshot(**told, history=worker.history.arrays())
    S = worker._kept("S", WINDOW)
    order = np.arange(Y.shape[1])
    error = None
    if len(S) == len(Y) and S.shape[1] == Y.shape[1] and np.isfinite(Y).all():
        match = match_sources(S, Y)
        order, error = match.permutation, match.error
    try:
        told |= _weights(model, X, order)
        told["trouble"] = "; ".join(dict(model._causes(model._scalars())).values())
        if error is None:
            error = max(1 - float(model.score(X)), 1e-12)
    except (NotFittedError, AttributeError, ValueError, np.linalg.LinAlgError):
        pass  # it still warms up: it has no weights yet
    if error is not None and np.isfinite(error) and state == "running" and told.get("weights"):
        worker.history.add(seconds, error)
    if worker._image is not None:
        k = X.shape[1]
        told["images"] = worker._image[:, np.concatenate([np.arange(k), k + order])]
        if told.get("weights"):
            mixed = worker._image[:, :k]
            known = np.isfinite(mixed).all(axis=1)
            whole = np.full((len(mixed), k + len(order)), np.nan)
            whole[known, :k] = mixed[known]
            whole[known, k:] = model.transform(mixed[known])[:, order]
            told["whole"] = whole
    return Snapshot(
        **told, X=X[-TRACE:], Y=Y[-TRACE:, order], error=error, truth=bool(len(S)),
        n_channels=X.shape[1], firing=np.mean(Y[:, order] > 0, axis=0),
        history=worker.history.arrays(),
    )  # fmt: skip


def _weights(model: Any, X: Array, order: Any) -> dict[str, Any]:
    """Matrices, and the cloud that layer 2 sees, outputs in the order given."""
    held = [name for name in MATRICES if hasattr(model, f"{name}_")]
    weights = {name: np.array(getattr(model, f"{name}_")) for name in held}
    if "w_yh" in weights:
        weights["w_yh"] = weights["w_yh"][order]
        weights["w_yy"] = weights["w_yy"][np.ix_(order, order)]
    F = model.whitening_ if hasattr(model, "whitening_") else np.eye(X.shape[1])
    axes = F @ model.mixing_[:, order]
    return {"weights": weights, "H": X[-CLOUD:] @ F.T, "axes": axes}
