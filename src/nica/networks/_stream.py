"""The only loop: samples → native core → state. Chunks, bad samples, going back, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state

from nica._core import Network, find_bad
from nica.networks import _auto, _save
from nica.networks._apply import apply, new_core
from nica.networks._containers import like
from nica.networks._lessons import Lessons, follow
from nica.networks._missing import learn_with_gaps
from nica.networks._samples import (
    LIMIT,
    Array,
    blocks,
    check_out,
    checked,
    infers,
    is_chunks,
    refuse,
)
from nica.networks._settings import Options
from nica.networks._settling import fitting

#: Samples between two looks at the network's health: at first, at most; between, a quarter of those seen.
HEALTH_INTERVAL, HEALTH_INTERVAL_MOST = 4096, 65536

#: Names of the native core's counters, in the order of Scalars in core/network.hpp.
SCALARS = (
    "t", "seen", "started", "outlying", "suspended", "far", "repeats", "held", "target",
    "all_fired", "spread", "outliers", "revived", "basis", "poison", "stray", "renewed",
)  # fmt: skip
DONE, HELD_ENOUGH, OVERFLOW = 0, 1, 2  # a fourth event, bad sample, only separate_one can meet


class StreamNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of every network that learns from a stream; see the estimator contract in the docs."""

    _nonnegative = True  # whether outputs are
    _core: Network | None = None
    _chosen: int | None = None  # by n_components="auto"
    _ways: tuple[str, ...] = ()  # in which ``method_`` may have found the outputs
    method_: str

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
        follow(self, fitting(self, X))
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
            Such as `nica.streams.open_chunks`, whose names of columns become names of channels.
        out : array (n_samples, n_outputs), float64, optional
            Where to put the outputs; may be a memmap.

        Returns
        -------
        Y : array (n_samples, n_outputs), or an iterator of such chunks
            Zeros while the warm-up lasts, NaN where a bad sample was skipped.
        """
        if is_chunks(X):
            if out is not None:
                raise ValueError("out= needs X as one array, not an iterable of chunks")
            return self._separate_chunks(X)
        Y = self._learn(X, True if out is None else out)
        return like(X, Y, self.get_feature_names_out) if out is None else Y

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
            elif infers(self):
                self._learn_block(x[np.newaxis], 0, y[np.newaxis])
            elif self.on_bad == "raise":
                refuse(self, x, 0)
            else:
                self.n_bad_samples_ += 1
                y[:] = np.nan
        return y

    def transform(self, X: Any) -> Array:
        """Outputs for X with the weights as they stand; learns nothing, each row on its own.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)

        Returns
        -------
        Y : array (n_samples, n_outputs)
            Torch tensors, xarray's arrays and others of the array API come out as what went in.
        """
        core = self._ready()
        source = checked(self, X, self._settings["k"])
        Y = np.empty((source.shape[0], self._n_features_out))
        apply(self, core, source, Y)
        result: Array = like(X, Y, self.get_feature_names_out)
        return result

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    # ----------------------------------------------------------------------------- state, by names

    def _state(self, only: str = "") -> dict[str, Array]:
        if self._core is None:
            raise NotFittedError(
                f"This {type(self).__name__} has not seen any sample yet: "
                "call fit, partial_fit or separate first"
            )
        return self._core.get_state(only)

    def _scalars(self) -> dict[str, float]:
        return dict(zip(SCALARS, self._state("scalars")["scalars"].ravel().tolist(), strict=True))

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

    # ------------------------------------------------------------- what each kind of network must say

    @property
    def _n_features_out(self) -> int:
        raise NotImplementedError

    def _options(self, k: int) -> Options:
        """Settings of the native network for ``k`` channels, checked."""
        raise NotImplementedError

    def _draw(self) -> None:
        """Write the state before the first sample."""
        raise NotImplementedError

    def _start(self) -> None:
        """Start (again) from the samples that the native network holds."""
        raise NotImplementedError

    def _ready(self) -> Network:
        """Network for use: usually itself."""
        self._state()
        assert self._core is not None
        return self._core

    def _map(self) -> Array | None:
        """Linear map from input to outputs that the weights hold now; None before the start."""
        raise NotImplementedError

    @property
    def _patience(self) -> int:
        """Of ``fit``: samples without progress, beyond a few passes, before it slows down."""
        return 0

    def _all_seen(self) -> None:
        """Of ``fit``: the first pass is over, what comes now has been seen."""

    def _set_memory(self, slow: bool) -> None:
        """Of ``fit``: search with a short memory, or come to rest with an ever longer one."""

    def _settled(self, n_samples: int) -> None:
        """Of ``fit``: the last pass over ``n_samples`` is done."""

    def _causes(self, now: dict[str, float]) -> Iterator[tuple[str, str]]:
        """What is wrong with the network now: a short name and a sentence."""
        raise NotImplementedError

    # ----------------------------------------------------------------------------------- learning, inside

    def _begin(self, k: int) -> None:
        """Set the network up for ``k`` channels, before its first sample."""
        self._settings: Options
        self._settings = self._options(k)
        self._check_names()
        self._seed = _draw_seed(self.random_state)
        self._starts = 0
        self._warned: tuple[str, ...] = ()
        self._next_look = float(HEALTH_INTERVAL)
        self.n_bad_samples_ = 0
        self.n_inferred_samples_ = 0
        self._noise = 1e-3
        self.n_iter_ = 1
        self._core = new_core(self._settings)
        self._draw()

    def _check_names(self) -> None:
        if self.on_bad not in ("raise", "skip"):
            raise ValueError(f"on_bad={self.on_bad!r}: give 'raise' or 'skip'")
        if getattr(self, "missing", "refuse") not in ("refuse", "infer"):
            raise ValueError(f"missing={self.missing!r}: give 'refuse' or 'infer'")
        if self.tol is not None and not (np.isreal(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r}: give a number >= 0")

    def _learn(self, X: Any, out: Any, names: Sequence[str] | None = None) -> Any:
        Y = follow(self, self._learning(X, out, names))
        self._look_after(4)
        return Y

    def _learning(self, X: Any, out: Any, names: Sequence[str] | None = None) -> Lessons:
        """Deal out X once, in its order, and return the outputs; an error undoes all of it."""
        first = self._core is None
        before = self.__dict__.copy()
        began = False
        try:
            source = checked(self, X, None if first else self._settings["k"], names)
            n = source.shape[0]
            if first:
                _auto.choose(self, source, stream=True)
                self._begin(source.shape[1])
            Y: Array | None = None
            if out is True:
                Y = np.empty((n, self._n_features_out))
            elif out is not None:
                Y = check_out(out, (n, self._n_features_out))
            assert self._core is not None
            self._core.backup()
            began = True
            for start, block in blocks(source):
                rows = slice(start, start + len(block))
                yield block, start, None if Y is None else Y[rows]
        except BaseException:
            if first:
                self.__dict__.clear()
            self.__dict__.update(before)
            if began and not first:
                self._roll_back()
            raise
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
        if infers(self):
            return learn_with_gaps(self, block, start, Y)
        if self.on_bad == "raise":
            refuse(self, block[row], start + row)
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
        names = getattr(chunks, "columns", None)
        undecided = self._core is None and _auto.is_auto(self)
        for chunk in _auto.gathered(chunks) if undecided else chunks:
            yield self._learn(chunk, True, names)

    def _look_after(self, stacklevel: int, *, always: bool = False) -> None:
        """Warn, once for each cause, when the network is not separating; not after every sample."""
        now = self._scalars()
        if now["seen"] < self._next_look and not always:
            return
        wait = min(max(HEALTH_INTERVAL, now["seen"] // 4), HEALTH_INTERVAL_MOST)
        self._next_look = now["seen"] + wait
        causes = dict(self._causes(now))
        for cause, message in causes.items():
            if cause not in self._warned:
                warnings.warn(
                    f"{type(self).__name__} {message}", ConvergenceWarning, stacklevel=stacklevel
                )
        self._warned = tuple(causes)


def _draw_seed(random_state: Any) -> int:
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(check_random_state(random_state).randint(2**31 - 1))


def _overflow(name: str) -> FloatingPointError:
    return FloatingPointError(
        f"The weights of this {name} overflowed on these samples, and it has gone back to its state "
        "before them. Use start='warm', scale the input to unit variance, or lower the rates"
    )
