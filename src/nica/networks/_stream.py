"""The only loop: samples → native core → state. Validation, chunks, bad samples, warm start, settling."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from nica import _config
from nica._core import Network, find_bad
from nica.equations.network import orthonormal
from nica.equations.warmup import warm_start, warm_start_rank
from nica.networks import _save
from nica.networks._settings import Options, options, whole

Array = NDArray[np.float64]

BLOCK = 1 << 16  #: entries of X that are converted at once
PATIENCE = 5  #: passes of fit without progress before it slows down
LIMIT = 1e100  #: largest size of an input value; its square must be finite
HEALTH_INTERVAL = 4096  #: samples between two looks at the network's health

#: Names of the native core's counters, in the order of Scalars in core/network.hpp.
SCALARS = (
    "t", "seen", "started", "outlying", "suspended", "far", "repeats", "held", "target",
    "all_fired", "spread", "outliers", "revived", "poison",
)  # fmt: skip
DONE, HELD_ENOUGH, OVERFLOW = 0, 1, 2  # a fourth event, bad sample, only separate_one can meet


class StreamNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of every network that learns from a stream; see the estimator contract in the docs."""

    _whiten = True
    _separate = True
    _core: Network | None = None

    # ------------------------------------------------------------------ learning, the public verbs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X afresh, pass after pass in permuted order, until the network settles.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        y : ignored

        Returns
        -------
        self
        """
        max_passes = whole(self.max_passes, "max_passes", minimum=1)
        before = self.__dict__.copy()
        try:
            source = self._samples(X, reset=True)
            self._begin(source.shape[1])
            self._pass_over(source, max_passes)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X, one pass in the order given, going on from where the network is.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
            Any chunking of a stream, down to one row at a time, gives the same bits.
        y : ignored

        Returns
        -------
        self
        """
        self._learn(X, None)
        return self

    def separate(self, X: Any, out: Array | None = None) -> Any:
        """Learn from X in the order given, and return each output as the network emitted it.

        Parameters
        ----------
        X : array-like (n_samples, n_channels), or an iterable of such chunks
        out : array (n_samples, n_outputs), float64, optional
            Where to put the outputs; may be a memmap.

        Returns
        -------
        Y : array (n_samples, n_outputs), or an iterator of such chunks
            Zeros while the warm-up lasts, NaN where a bad sample was skipped.
        """
        if _is_chunks(X):
            if out is not None:
                raise ValueError("out= needs X as one array, not an iterable of chunks")
            return self._separate_chunks(X)
        return self._learn(X, True if out is None else out)

    def separate_one(self, x: Array) -> Array:
        """Learn from a single sample and return its output; the fastest way to feed one at a time.

        Parameters
        ----------
        x : array (n_channels,)
            Only its shape and that it is finite are checked.

        Returns
        -------
        y : array (n_outputs,)
        """
        if self._core is None:
            first: Array = self._learn(np.asarray(x)[np.newaxis], True)[0]
            return first
        y = np.empty(self._n_features_out)
        try:
            event = self._core.one(x, y)
        except TypeError:
            x = np.ascontiguousarray(x, dtype=np.float64)
            event = self._core.one(x, y)
        if event != DONE:
            if event == HELD_ENOUGH:
                self._start()
            elif event == OVERFLOW:
                self._restore(self._core.get_state())
                raise _overflow(type(self).__name__)
            elif self.on_bad == "raise":
                self._refuse(x, 0)
            else:
                self.n_bad_samples_ += 1
                y[:] = np.nan
        return y

    # ------------------------------------------------------------------------- using what is learned

    def transform(self, X: Any) -> Array:
        """Outputs for X with the weights as they stand; learns nothing, each row on its own.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)

        Returns
        -------
        Y : array (n_samples, n_outputs)
        """
        core = self._ready()
        source = self._samples(X, reset=False)
        Y = np.empty((source.shape[0], self._n_features_out))
        for start, block in _blocks(source):
            self._check_finite(block, start)
            core.apply(block, Y[start : start + len(block)])
        return Y

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    @property
    def _n_features_out(self) -> int:
        settings = self._settings
        return settings["d"] if self._separate else settings["l"]

    # ----------------------------------------------------------------------------- state, by names

    def _state(self) -> dict[str, Array]:
        if self._core is None:
            raise NotFittedError(
                f"This {type(self).__name__} has not seen any sample yet: "
                "call fit, partial_fit or separate first"
            )
        return self._core.get_state()

    def _scalars(self) -> dict[str, float]:
        return dict(zip(SCALARS, self._state()["scalars"].ravel().tolist(), strict=True))

    @property
    def n_samples_seen_(self) -> int:
        """Samples seen since the network began, bad ones not counted."""
        return int(self._scalars()["seen"])

    @property
    def mean_(self) -> Array:
        """Mean of the input, as the network keeps it (n_channels,)."""
        state = self._ready().get_state()
        mean: Array = (state["x_bar"] / state["gain"]).ravel()
        return mean

    # --------------------------------------------------------------------------------------- saving

    def save(self, path: Any) -> None:
        """Write the model to a safetensors file, whole or not at all; ``nica.load`` reads it.

        Parameters
        ----------
        path : str or path
        """
        self._state()
        _save.save(self, path)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._core is not None:
            state["_core"] = self._core.get_state()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        arrays = state.pop("_core", None)
        super().__setstate__(state)
        if arrays is not None:
            self._restore(arrays)

    def _restore(self, arrays: dict[str, Array]) -> None:
        core = new_core(self._settings)
        core.set_state({n: np.ascontiguousarray(a, np.float64) for n, a in arrays.items()}, True)
        self._core = core

    # -------------------------------------------------------------------------------- starting, inside

    def _begin(self, k: int) -> None:
        """Set the network up for ``k`` channels, before its first sample."""
        self._settings: Options
        self._settings, _ = options(self, k, whiten=self._whiten, separate=self._separate)
        self._check_names()
        self._seed = _draw_seed(self.random_state)
        self._starts = 0
        self._warned: tuple[str, ...] = ()
        self._next_look = float(HEALTH_INTERVAL)
        self.n_bad_samples_ = 0
        self.n_iter_ = 1
        self._core = new_core(self._settings)
        o = self._settings
        if not o["robust"]:
            self._write(self._random_weights(), gain=np.ones(k))
        elif not self._whiten:
            self._write(self._random_weights(), gain=np.ones(k), started=1.0)

    def _check_names(self) -> None:
        if self.on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad={self.on_bad!r}: give 'raise' or 'skip'")
        if self.tol is not None and not (np.isreal(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r}: give a number >= 0")

    def _random_weights(self) -> dict[str, Array]:
        """Random orthonormal weights, as the paper starts."""
        o = self._settings
        rng = np.random.default_rng([self._seed, self._starts])
        weights = {}
        if self._whiten:
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
        self._core.set_state({n: np.atleast_2d(a.T).T for n, a in arrays.items()}, False)

    def _start(self) -> None:
        """(Re)start from the held samples, or hold more when a source has not shown itself yet."""
        assert self._core is not None
        o, held = self._settings, self._state()["held"]
        if warm_start_rank(held) < o["d"] and len(held) < 16 * o["hold"]:
            now = self._scalars() | {"target": 2.0 * len(held)}
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
            weights, gain, t=float(o["hold"]), started=1.0, outlying=0.0, suspended=0.0, far=0.0,
            target=float(o["hold"]), all_fired=0.0, spread=1.0,
        )  # fmt: skip

    def _ready(self) -> Network:
        """Network for use: itself, or while it warms up one started from what it holds."""
        state = self._state()
        assert self._core is not None
        if state["scalars"].ravel()[SCALARS.index("started")] or not self._settings["robust"]:
            return self._core
        distinct = len(np.unique(state["held"], axis=0))
        needed = self._settings["d"] + 1
        if distinct < needed:
            raise NotFittedError(
                f"This {type(self).__name__} has seen {distinct} distinct "
                f"{'sample' if distinct == 1 else 'samples'}: "
                f"{needed} are needed for n_components={self._settings['d']}"
            )
        other = type(self)(**self.get_params(deep=False))
        other.__setstate__(self.__getstate__())
        other._start_from(state["held"])
        assert other._core is not None
        other._core.run(state["held"], None)
        return other._core

    # -------------------------------------------------------------------------------- samples, inside

    def _samples(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Check type, shape and names of X without copying it; entries are checked block by block."""
        if (
            type(X) is np.ndarray
            and not reset
            and X.ndim == 2
            and X.shape[1] == self._settings["k"]
            and X.shape[0] > 0
            and X.dtype.kind in "fiub"
            and not hasattr(self, "feature_names_in_")
        ):
            return X
        plain = isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and X.ndim == 2 and X.size
        if plain:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return np.asarray(X)
        checked: NDArray[Any] = validate_data(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False
        )
        return checked

    def _check_finite(self, block: Array, start: int) -> None:
        row = find_bad(block, LIMIT)
        if row >= 0:
            self._refuse(block[row], start + row)

    def _refuse(self, x: Array, row: int) -> None:
        channel = int(np.flatnonzero(~(np.abs(x) <= LIMIT))[0])
        name = (
            f"'{self.feature_names_in_[channel]}'"
            if hasattr(self, "feature_names_in_")
            else str(channel)
        )
        value = x[channel]
        what = "NaN" if np.isnan(value) else "infinity" if np.isinf(value) else f"{value:g}"
        size = "" if not np.isfinite(value) else f" (the limit is {LIMIT:g})"
        raise ValueError(
            f"Input X contains {what}{size} at row {row}, channel {name}: remove such rows, "
            "or leave them out with on_bad='skip'"
        )

    def _learn(self, X: Any, out: Any) -> Any:
        first = self._core is None
        before = self.__dict__.copy()
        began = False
        try:
            source = self._samples(X, reset=first)
            n = source.shape[0]
            if first:
                self._begin(source.shape[1])
            Y: Array | None = None
            if out is True:
                Y = np.empty((n, self._n_features_out))
            elif out is not None:
                Y = _check_out(out, (n, self._n_features_out))
            assert self._core is not None
            self._core.backup()
            began = True
            for start, block in _blocks(source):
                rows = slice(start, start + len(block))
                self._learn_block(block, start, None if Y is None else Y[rows])
        except BaseException:
            if first:
                self.__dict__.clear()
            self.__dict__.update(before)
            if began and not first:
                self._roll_back()
            raise
        self._look_after()
        return Y

    def _roll_back(self) -> None:
        """Go back to the state before this call, in a new core: nothing of what happened stays."""
        assert self._core is not None
        self._core.roll_back()
        self._restore(self._core.get_state())

    def _learn_block(self, block: Array, start: int, Y: Array | None) -> None:
        row = find_bad(block, LIMIT)
        if row < 0:
            return self._run(block, Y)
        if self.on_bad == "raise":
            self._refuse(block[row], start + row)
        good = np.all(np.abs(block) <= LIMIT, axis=1)
        self.n_bad_samples_ += int(np.sum(~good))
        part = None if Y is None else np.empty((int(np.sum(good)), Y.shape[1]))
        self._run(np.ascontiguousarray(block[good]), part)
        if Y is not None and part is not None:
            Y[~good] = np.nan
            Y[good] = part
        return None

    def _run(self, X: Array, Y: Array | None) -> None:
        """Drive the native core over X; it stops where a warm start is due."""
        assert self._core is not None
        done = 0
        while done < len(X):
            rows, event = self._core.run(X[done:], None if Y is None else Y[done:])
            done += rows
            if event == HELD_ENOUGH:
                self._start()
            elif event == OVERFLOW:
                raise _overflow(type(self).__name__)

    def _separate_chunks(self, chunks: Iterable[Any]) -> Iterator[Array]:
        for chunk in chunks:
            yield self._learn(chunk, True)

    # ------------------------------------------------------------------------------- settling, inside

    def _pass_over(self, source: NDArray[Any], max_passes: int) -> None:
        """Passes over the samples until the outputs no longer change between passes."""
        n = source.shape[0]
        if (
            self.on_bad == "raise"
        ):  # before the rows are permuted, so that the message names the right one
            for start, block in _blocks(source):
                self._check_finite(block, start)
        rng = np.random.default_rng([self._seed, 1 << 31])
        settled = before = None
        slow, wrong, patience = False, np.inf, PATIENCE
        for number in range(max_passes):
            order = rng.permutation(n) if self.shuffle else None
            for part in (slice(0, n // 2), slice(n // 2, n)) if number == 0 else (slice(0, n),):
                rows = np.arange(n)[part] if order is None else order[part]
                for start, block in _blocks(source, rows):
                    self._learn_block(block, start, None)
                if number == 0 and part.start == 0:
                    before = self._map()
            self.n_iter_ = number + 1
            now = self._map()
            settled = _change(before, now)
            if settled is not None and settled <= (self.tol or 0.0) and (slow or number == 0):
                break
            before = now
            if number + 1 < max_passes and not slow:
                # First quickly to the right place, with the short memory of the start, for as long as
                # the outputs come nearer to being nonnegative; then slowly to rest.
                still = self._wrong(source, now)
                patience = PATIENCE if still < 0.98 * wrong else patience - 1
                wrong = min(wrong, still)
                slow = patience == 0
                self._set_memory(slow)
        if self.n_iter_ > 1:
            self._configure(self._settings)
        if self._settings["robust"] and not self._scalars()["started"]:
            self._distinct_enough(n)
        if max_passes > 1 and (settled is None or (self.tol is not None and settled > self.tol)):
            changed = "has not started" if settled is None else f"still changes by {settled:.2g}"
            warnings.warn(
                f"{type(self).__name__} did not settle in {max_passes} passes over {n} samples: its "
                f"unmixing {changed} (tol={self.tol:g}). Give more samples, or raise max_passes or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._look_after(stacklevel=4)

    def _distinct_enough(self, n: int) -> None:
        held = self._state()["held"]
        distinct, needed = len(np.unique(held, axis=0)), self._settings["d"] + 1
        if distinct < needed:
            raise ValueError(
                f"X has {distinct} distinct {'sample' if distinct == 1 else 'samples'} "
                f"(n_samples={n}): give at least {needed} for n_components={self._settings['d']}"
            )

    def _set_memory(self, slow: bool) -> None:
        """Memory of layer 2 during ``fit``: short while it searches, ever longer until it rests."""
        first = self._settings["memory_first"]
        growth, most = (0.1, 1e12) if slow else (1e-12, first)
        self._configure(self._settings | {"memory_growth": growth, "memory_most": most})

    def _wrong(self, source: NDArray[Any], unmixing: Array | None) -> float:
        """Energy of what the outputs would be below zero, were they linear; on some of the samples."""
        if unmixing is None or not self._separate:
            return np.inf
        step = max(1, source.shape[0] // 20_000)
        U = np.asarray(source[::step], dtype=np.float64) @ unmixing.T
        U = U[np.all(np.isfinite(U), axis=1)]
        size = np.mean((U - U.mean(axis=0)) ** 2, axis=0)
        return float(np.sum(np.mean(np.minimum(U, 0) ** 2, axis=0) / np.maximum(size, 1e-300)))

    def _configure(self, settings: Any) -> None:
        if not self._settings["memory_growth"]:
            return
        arrays = self._state()
        self._core = new_core(settings)
        self._core.set_state(arrays, True)

    def _map(self) -> Array | None:
        """Linear map from input to outputs that the weights hold now; None before the start."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------- health, inside

    def _look_after(self, stacklevel: int = 4) -> None:
        """Warn, once for each cause, when the network is not separating."""
        now = self._scalars()
        if now["seen"] < self._next_look and stacklevel == 4 and self.n_iter_ == 1:
            return
        self._next_look = now["seen"] + HEALTH_INTERVAL
        if not now["started"] and self._settings["robust"]:
            return
        causes = dict(self._causes(now))
        for cause, message in causes.items():
            if cause not in self._warned:
                warnings.warn(
                    f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=stacklevel
                )
        self._warned = tuple(causes)

    def _causes(self, now: dict[str, float]) -> Iterator[tuple[str, str]]:
        """What is wrong with the network now: a short name and a sentence."""
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
                if self._whiten
                else "Whiten the input first (nica.OnlineWhitening), or use nica.NICA"
            )
            yield (
                "white",
                f"works on input that is not white at sample {seen}: variance {now['spread']:.2g} "
                f"where it should be 1. {advice}",
            )
        if self._separate:
            state = self._state()
            positive, negative = state["positive"].ravel(), state["negative"].ravel()
            for i in np.flatnonzero((positive < 1e-3) | (negative > 4 * positive)):
                yield (
                    f"silent {i}",
                    f"has a silent output at sample {seen}: neuron {i} no longer fires, its source is "
                    "lost or was never there. Lower n_components, or set flip_silent=True",
                )


def new_core(settings: Options) -> Network:
    """Native network for these settings, with the kernels in use."""
    return Network(cast("dict[str, float]", settings), _config.kernels())


def _draw_seed(random_state: Any) -> int:
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def _is_chunks(X: Any) -> bool:
    if hasattr(X, "__array__") or hasattr(X, "shape") or hasattr(X, "__dataframe__"):
        return False
    if isinstance(X, (list, tuple)):
        return bool(X) and getattr(X[0], "ndim", 0) == 2
    return isinstance(X, Iterable)


def _check_out(out: Any, shape: tuple[int, int]) -> Array:
    if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.flags.c_contiguous):
        raise TypeError("out must be a C-contiguous float64 array")
    if out.shape != shape:
        raise ValueError(f"out has shape {out.shape}: give {shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only: give a writeable array")
    return out.view(np.ndarray)


def _blocks(
    source: NDArray[Any], rows: NDArray[np.int64] | None = None
) -> Iterator[tuple[int, Array]]:
    """Rows of the source in order, or those named, as contiguous float64 blocks of bounded size."""
    n = source.shape[0] if rows is None else len(rows)
    step = max(1, BLOCK // source.shape[1])
    for start in range(0, n, step):
        part = source[start : start + step] if rows is None else source[rows[start : start + step]]
        yield start, np.ascontiguousarray(part, dtype=np.float64)


def _change(before: Array | None, now: Array | None) -> float | None:
    """Largest change of an output per unit of a source, between two unmixing matrices."""
    if before is None or now is None:
        return None
    return float(np.max(np.abs(now @ np.linalg.pinv(before) - np.eye(len(now)))))


def _overflow(name: str) -> FloatingPointError:
    return FloatingPointError(
        f"The weights of this {name} overflowed on these samples, and it has gone back to its state "
        "before them. Use start='warm', scale the input to unit variance, or lower the rates"
    )
