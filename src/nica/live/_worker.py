"""The network in a thread of its own, at full speed; pages look at what it publishes now and then."""

from __future__ import annotations

import contextlib
import copy
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from nica.live._feeds import Array, Batch, Feed, Ring
from nica.live._snapshot import HISTORY, KEPT, History, Snapshot, look
from nica.networks._samples import LIMIT

T = TypeVar("T")

CHUNK = 1024, 1 << 16  #: samples between two looks at what is asked for, least and most
PUBLISH = 1 / 25  #: seconds between two snapshots
STALLED = 2.0  #: seconds without samples after which the page says so
PATIENCE = 0.05  #: seconds to wait for samples or orders
TAKES = (
    0.02  #: seconds of work that a chunk should be: long enough not to fight the page for Python
)


class Worker:
    """Feeds a network from an input until it is stopped.

    Attributes
    ----------
    model : estimator
    feed : Feed
    speed : float or None
        Samples per second at most; None does not hold back.
    paused : bool
    snapshot : Snapshot
        What there is to see; replaced, never changed.
    """

    def __init__(
        self,
        model: Any,
        feed: Feed,
        *,
        speed: float | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.model, self.feed, self.speed, self.paused = model, feed, speed, False
        self.version = 0  #: changes of network or mixing so far: older verdicts no longer hold
        self.history = History(HISTORY)
        self._tell = tell
        self._orders: queue.Queue[Callable[[], None]] = queue.Queue()
        self._stop = threading.Event()
        self._rings: dict[str, Ring] = {}
        self._seen = self._bad = 0
        self._image: Array | None = None
        self._message = ""
        self._last_sample = self._began = time.monotonic()
        self._speed_marks: list[tuple[float, int]] = []
        self._chunk = CHUNK[0]
        self._debt, self._clock = 0.0, time.monotonic()
        self.snapshot = Snapshot(name=feed.name, state="waiting for samples", shape=feed.shape)
        self._thread = threading.Thread(target=self._run, name="nica-live", daemon=True)

    # ------------------------------------------------------------------------ for other threads

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what was learned stays in the model."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(5)
        self.feed.close()

    def ask(self, order: Callable[[], T]) -> Future[T]:
        """Let the thread of the network do something between two chunks."""
        answer: Future[T] = Future()

        def carry_out() -> None:
            try:
                answer.set_result(order())
            except Exception as error:
                answer.set_exception(error)

        self._orders.put(carry_out)
        return answer

    def pause(self, paused: bool) -> None:
        """Hold the stream, or go on."""
        self.paused = paused

    def set_speed(self, speed: float | None) -> None:
        """Hold back to so many samples per second; None to none."""
        self.speed = speed

    def set_half_life(self, half_life: float | None) -> Future[None]:
        """Forget half of the past after so many samples, from now on."""
        return self.ask(lambda: self._retune(half_life))

    def reset(self) -> Future[None]:
        """Begin with a new network."""
        return self.ask(self._reset)

    def jump(self) -> Future[None]:
        """Change the mixing of an input that can."""
        return self.ask(self._jump)

    def turn(self, angle: float | None = None, drift: float | None = None) -> None:
        """Turn the mixing of a generator, once or steadily."""
        if angle is not None:
            self.feed.angle = float(angle)  # type: ignore[attr-defined]  # only where feed.turns
        if drift is not None:
            self.feed.drift = float(drift)  # type: ignore[attr-defined]

    def file(self) -> Future[bytes]:
        """Give the model as `NICA.save` writes it."""
        return self.ask(self._file)

    def outputs(self) -> Future[tuple[int, Array]]:
        """Give the last outputs, and the number of the first of them."""
        return self.ask(self._outputs)

    def copied(self) -> Future[tuple[Any, Array, int]]:
        """Give a copy of the network, the samples kept, and the version they belong to."""
        return self.ask(lambda: (copy.deepcopy(self.model), self._kept("X", KEPT), self.version))

    # ------------------------------------------------------------------------------- the thread

    def _run(self) -> None:
        publish = 0.0
        while not self._stop.is_set():
            with contextlib.suppress(queue.Empty):
                while True:
                    self._orders.get_nowait()()
            try:
                self._step()
            except Exception as error:  # the server stays up, whatever came
                self._say(f"{type(error).__name__}: {error}")
            now = time.monotonic()
            if now >= publish:
                self._publish(now)
                publish = now + PUBLISH

    def _step(self) -> None:
        if self.paused or self.feed.ended:
            self._clock, self._debt = time.monotonic(), 0.0
            self._stop.wait(PATIENCE)
        else:
            self._go_on()

    def _go_on(self) -> None:
        n = self._allowed()
        if n < 1:
            self._stop.wait(min(PATIENCE, (1 - self._debt) / (self.speed or 1)))
            return
        batch = self.feed.take(n, PATIENCE)
        if batch is None or not len(batch.X):
            if self.feed.ended:
                self._tell(f"the stream has ended after {self._seen:,} samples")
            return
        self._debt -= len(batch.X)
        self._last_sample, begun = time.monotonic(), time.thread_time()
        self._learn(batch)
        took = time.thread_time() - begun
        if len(batch.X) == self._chunk or took > TAKES:
            wanted = self._chunk * (2 if took < TAKES / 2 else 0.5 if took > TAKES else 1)
            self._chunk = int(min(max(wanted, CHUNK[0]), CHUNK[1]))

    def _allowed(self) -> int:
        """How many samples may be taken now."""
        now = time.monotonic()
        if self.speed is None:
            self._clock = now
            return self._chunk
        self._debt = min(self._debt + self.speed * (now - self._clock), self.speed)
        self._clock = now
        return min(int(self._debt), self._chunk)

    def _learn(self, batch: Batch) -> None:
        X, S, pixels = batch
        if not np.abs(X).max() <= LIMIT:  # NaN compares as False
            good = np.all(np.abs(X) <= LIMIT, axis=1)
            self._left_out(X, int(np.argmin(good)), int(np.sum(~good)))
            X = X[good]
            S = None if S is None else S[good]
            pixels = None if pixels is None else pixels[good]
            if not len(X):
                return
        Y = self.model.separate(X)
        self._seen += len(X)
        for name, rows in (("X", X), ("Y", Y), ("S", S)):
            if rows is None:
                continue
            if name not in self._rings or self._rings[name]._rows.shape[1] != rows.shape[1]:
                self._rings[name] = Ring(KEPT, rows.shape[1])
            self._rings[name].put(rows)
        if pixels is not None and self.feed.shape is not None:
            both = np.hstack([X, Y])
            if self._image is None or self._image.shape[1] != both.shape[1]:
                self._image = np.full((int(np.prod(self.feed.shape)), both.shape[1]), np.nan)
            self._image[pixels] = both

    def _left_out(self, X: Array, row: int, count: int) -> None:
        first = self._bad == 0
        self._bad += count
        if first:
            channel = int(np.argmin(np.abs(X[row]) <= LIMIT))
            names = self.feed.columns
            name = names[channel] if names else str(channel)
            self._say(
                f"a sample after {self._seen + row:,} good ones has {X[row, channel]:g} in channel "
                f"{name}: such samples are left out"
            )

    def _publish(self, now: float) -> None:
        self._speed_marks = [m for m in self._speed_marks if m[0] > now - 1] + [(now, self._seen)]
        since, before = self._speed_marks[0]
        rate = (self._seen - before) / (now - since) if now > since else 0.0
        try:
            self.snapshot = look(self, now - self._began, rate, self._state(now))
        except Exception as error:
            self._say(f"{type(error).__name__}: {error}")

    def _state(self, now: float) -> str:
        if self.feed.ended:
            return "ended"
        if self.paused:
            return "paused"
        waited = now - self._last_sample
        if waited > max(STALLED, 3 / (self.speed or 1e9)):
            return f"no samples for {waited:.0f} s"
        return "running"

    def _say(self, text: str) -> None:
        if text != self._message:
            self._message = text
            self._tell(text)

    # ---------------------------------------------------------------------------------- orders

    def _kept(self, name: str, n: int) -> Array:
        ring = self._rings.get(name)
        return np.empty((0, 0)) if ring is None else ring.last(n)

    def _retune(self, half_life: float | None) -> None:
        """The same weights with another memory."""
        self.model.set_params(half_life=half_life)
        if self.model.__sklearn_is_fitted__():
            self.model._settings = self.model._options(self.model.n_features_in_)
            self.model._restore(self.model._state())

    def _reset(self) -> None:
        self.model = clone(self.model)
        self.version += 1
        self._rings.clear()
        self._image = None
        self._message = ""

    def _jump(self) -> None:
        jump = getattr(self.feed, "jump", None)
        if jump is None:
            raise ValueError(f"the mixing of {self.feed.name} cannot be changed")
        jump()
        self.version += 1

    def _file(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            self.model.save(path)
            return path.read_bytes()

    def _outputs(self) -> tuple[int, Array]:
        Y = self._kept("Y", KEPT)
        return self._seen - len(Y), Y
