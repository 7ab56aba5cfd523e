"""``solver="batch"``: what ``nica.batch`` finds becomes the state of a network."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from nica.batch import ArraySource, BadSampleError, ChunkSource, Solution, Source, solve
from nica.equations.whitening import prewhitening_fixed_point
from nica.networks import _auto, _refine
from nica.networks._layers import LayeredNetwork
from nica.networks._samples import Array, checked, infers, is_chunks, refuse
from nica.networks._settings import cores, whole
from nica.networks._settling import FEW
from nica.networks._stream import StreamNetwork

SOLVERS = ("stream", "batch")


class BatchFit(LayeredNetwork):
    """A ``fit`` with two solvers, and Dask's arrays in ``fit`` and ``transform``."""

    solver: str
    refine: str | None = None
    n_starts: int
    n_jobs: int | None
    verbose: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from X afresh, until the outputs settle, by the solver of this network.

        Parameters
        ----------
        X : array-like (n_samples, n_channels), or a Dask array
            With ``solver="batch"`` also a memmap of any size, or chunks that can be gone over several
            times: a list of arrays, `nica.streams.open_chunks`. A Dask array is always solved by
            ``"batch"``, on its scheduler.
        y : ignored

        Returns
        -------
        self
        """
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r}: give 'stream' or 'batch'")
        if self.solver == "batch" and infers(self):
            raise ValueError("missing='infer' needs solver='stream'")
        _refine.check(self.refine)
        if self.refine is not None and infers(self):
            raise ValueError("refine needs samples without gaps: leave missing='infer' out")
        before = self.__dict__.copy()
        try:
            if self.solver == "stream" and not is_dask(X):
                super().fit(X)
            else:
                self._fit_batch(X)
            if self.refine is not None:
                _refine.refine(self, X)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def transform(self, X: Any) -> Any:
        """Outputs for X with the weights as they stand; learns nothing, each row on its own.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)

        Returns
        -------
        Y : array (n_samples, n_components)
            Of a Dask array one too, computed when it is asked for. Torch tensors, xarray's arrays and
            others of the array API come out as what went in.
        """
        if not is_dask(X):
            return super().transform(X)
        from nica.scale import transform

        self._ready()
        return transform(self, X, self._settings["k"], self._n_features_out)

    def _fit_batch(self, X: Any) -> None:
        n_starts = whole(self.n_starts, "n_starts", minimum=1)
        max_passes = whole(self.max_passes, "max_passes", minimum=1)
        threads = cores(self.n_jobs)
        self._check_names()
        source = self._source(X, threads)
        k = source.n_channels
        try:
            self._choose_number(source)
            self._begin(k)
            o = self._settings
            solution = solve(
                source, o["d"], o["l"], o["m"], alpha=o["alpha"], scaled=o["robust"],
                n_starts=n_starts, tol=self.tol or 0.0, max_passes=max_passes, seed=self._seed,
                threads=threads, report=self._report,
            )  # fmt: skip
        except BadSampleError as bad:
            refuse_bad(self, bad)
        self._take(solution)
        if solution.rank < o["d"] and solution.n_samples >= FEW:
            warnings.warn(
                f"X varies in {solution.rank} of {k} directions only but n_components={o['d']}: the "
                f"other outputs are noise, give at most {solution.rank}",
                ConvergenceWarning,
                stacklevel=4,
            )
        self._warn_if_moving(solution.change, solution.n_samples, "unmixing still changes")
        if solution.n_samples >= FEW:
            self._look_after(5, always=True)

    def _choose_number(self, source: Source) -> None:
        """With ``n_components="auto"``: the number of sources, from a selection of the samples."""
        if _auto.is_auto(self):
            k = source.n_channels
            most = min(_auto.SOME, max(_auto.first_rows(k), (1 << 20) // k))
            _auto.choose(self, source.sample(most), stream=False)

    def _warn_if_moving(self, change: float, n_samples: int, what: str) -> None:
        """Warn if the last pass over the samples still changed more than ``tol``."""
        if self.tol is not None and change > self.tol:
            warnings.warn(
                f"{type(self).__name__} did not settle in {int(self.max_passes)} passes over {n_samples} "
                f"samples: its {what} by {change:.2g} (tol={self.tol:g}). Give more samples, or raise "
                "max_passes or tol",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _source(self, X: Any, threads: int) -> Source:
        """X as the solver sees it; names and number of channels are noted."""
        skip = self.on_bad == "skip"
        if is_dask(X):
            from nica.scale import DaskSource

            dask = DaskSource(X, skip)
            validate_data(self, np.empty((1, dask.n_channels)), skip_check_array=True)
            return dask
        if is_chunks(X):
            chunks = ChunkSource(X, threads, skip)
            first = np.empty((1, chunks.n_channels))
            checked(self, first, None, getattr(X, "columns", None))
            return chunks
        return ArraySource(checked(self, X, None), threads, skip)

    def _report(self, text: str) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {text}", file=sys.stderr, flush=True)

    def _take(self, solution: Solution) -> None:
        """Put the network where it would be, had it seen all these samples and settled."""
        o = self._settings
        size = np.diag(solution.C)
        n_good = float(solution.n_samples - solution.n_bad)
        arrays = self._means(solution) | {
            "x_bar": solution.x_bar, "w_hx": solution.W_hx, "w_hg": solution.W_hg,
            "w_yh": solution.K / size[:, None], "lateral": solution.C / size[:, None],
            "activity": self._activity(size, n_good),
            "positive": size, "negative": solution.held,
            "flipped": np.zeros(o["d"]), "fired": np.ones(o["d"]),
        }  # fmt: skip
        self._write(
            arrays, gain=solution.gain, t=n_good, seen=n_good, started=1.0, all_fired=1.0,
            outliers=float(solution.n_outliers),
        )  # fmt: skip
        self._starts = 1
        self.n_iter_ = solution.n_passes
        self.n_bad_samples_ = solution.n_bad

    def _means(self, solution: Solution) -> dict[str, Array]:
        """Means of the outputs of layer 1, which ``start="paper"`` keeps."""
        if self._settings["robust"]:
            return {}
        h_bar, g_bar = prewhitening_fixed_point(
            solution.x_bar, solution.W_hx, solution.W_hg, self._settings["alpha"]
        )
        return {"h_bar": h_bar, "g_bar": g_bar}

    def _activity(self, size: Array, t: float) -> Array:
        """Running activity of outputs with these mean squares, once it no longer grows."""
        o = self._settings
        if o["memory_growth"]:
            memory = min(o["memory_first"] + o["memory_growth"] * t, o["memory_most"])
            return np.maximum(o["memory_first"], memory * size)
        if o["in_time"]:
            return np.full(o["d"], o["separation_a"] + o["separation_b"] * t)
        fading = max(1 - o["separation_b"], 1 / max(t, 1.0))
        return np.maximum(o["separation_a"], size / fading)


def is_dask(X: Any) -> bool:
    """Whether X is an array or a frame of Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def refuse_bad(network: StreamNetwork, bad: BadSampleError) -> NoReturn:
    try:
        refuse(network, bad.x, bad.row)
    except ValueError as error:
        if bad.chunk is None:
            raise error from None
        raise ValueError(
            f"{error}. It is in chunk {bad.chunk} of the Dask array, row {bad.chunk_row} there"
        ) from None
