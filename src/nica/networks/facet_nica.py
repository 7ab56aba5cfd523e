"""Sources that may be correlated: facets of the data's cone, in a batch and from a stream."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nica.batch import ArraySource, BadSampleError
from nica.equations.facets import Row
from nica.equations.facets_stream import (
    FIRST_RATE,
    SLOWING,
    FacetParameters,
    facet_start,
)
from nica.facets import FacetSolution, chosen, solve
from nica.networks._batch import BatchFit, refuse_bad
from nica.networks._facet_outputs import FacetOutputs, populated
from nica.networks._samples import Array
from nica.networks._settings import Options, choice, cores, options, whole
from nica.networks._settling import FEW

RULE = 5  #: as in core/api.hpp
METHODS = ("facets", "auto")
SOME = 20_000  #: samples of ``fit`` from which the network reads its averages
SUSPECT, MORE = 0.01, 4  #: share of outliers in a start from which so many more starts are tried

#: Arrays of the native network, and what they are called in `nica.equations.facets_stream`.
ARRAYS = {
    "w_hx": "F", "lateral": "K", "intercept": "b", "sigma": "sigma", "mu": "mu", "spike": "spike",
    "outlier": "outlier", "bulk": "bulk", "centre": "centre", "spread": "spread", "floor": "floor",
    "n0": "n0", "n1": "n1", "n2": "n2", "noise": "noise", "arrived": "arrived", "power": "power",
    "curvature": "curvature", "mixing": "G", "gram": "gram", "precision": "precision", "x_bar": "mean",
}  # fmt: skip


class FacetNICA(BatchFit, FacetOutputs):
    r"""Nonnegative sources that may be correlated, by the facets of the cone that their mixtures fill.

    For mixtures x = A s of sources s >= 0 that come near zero now and then, in any combination: they may
    be active together, share a gain, or sum to one. Nothing is decorrelated. Each output keeps a
    likelihood of silence, activity and outliers, which the unmixing maximises together with its
    determinant. Outputs have unit standard deviation over the samples of ``fit``, or over those that
    the stream started from. Their order changes when the network starts again.

    ``fit`` solves for all samples at once. A stream holds samples, solves for these, and goes on as a
    network of two layers, whose lateral synapses learn locally.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of sources d; None takes the number of channels k, and in ``fit`` that of the directions
        which they span, if it is less. At most k. See ``NICA``.
    offset : bool
        Whether each channel may have a constant offset: each neuron then learns an intercept.
    sum_to_one : bool
        Whether the sources are known to sum to one in each sample, such as abundances.
    method : {"facets", "auto"}
        How ``fit``, and the start of a stream, find the sources: by the likelihood of their facets; or,
        where other fits do not find the same facets, by the smallest cone around all samples, or if noise
        leaves none by nonnegative factors of small volume. ``method_`` tells which it was.
    n_starts : int
        Starts of the solver; the likeliest solution is kept.
    half_life : float or None
        Samples after which half of the past is forgotten, to follow a drifting mixture; None takes about
        700 in layer 2 and forgets nothing in layer 1.
    hold : int or None
        Samples that a stream holds before it starts; None takes 1000, or 30 d if that is more. Outputs
        are zeros until then.
    on_bad : {"raise", "skip"}
        As in ``NICA``.
    tol, max_passes
        Of ``fit``: it passes over the samples until no output changes by more than ``tol`` of its mean.
    n_jobs, verbose
        Threads (None: all cores); 1 prints progress.
    random_state : int, RandomState, Generator or None
        Used when starts are drawn, and never again.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    intercept_ : array (n_components,)
    mixing_ : array (n_channels, n_components)
    mean_ : array (n_channels,)
    w_yy_ : array (n_components, n_components), lateral weights
    sigma_, tail_, spike_, outlier_ : arrays (n_components,)
        What each neuron knows of its output: noise, mean of its activity, shares of silence and outliers.
    identified_ : array of bool (n_components,)
    method_ : {"facets", "bulk", "volume", "factors"}
        What the last start was found by; "bulk": facets of sources that hardly come near zero.
    n_components_, n_samples_seen_, n_bad_samples_, n_iter_, n_restarts_, n_features_in_ : int

    See Also
    --------
    NICA : For sources that are uncorrelated, even if they hardly ever come near zero.

    Examples
    --------
    >>> import nica, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S = rng.exponential(size=(5000, 3)) * (rng.random((5000, 3)) < 0.6)
    >>> S *= rng.gamma(2.0, size=(5000, 1))  # a common gain: the sources are correlated
    >>> X = S @ nica.datasets.MIXING_3.T
    >>> Y = nica.FacetNICA(random_state=0).separate(X)
    >>> float(nica.metrics.match_sources(S[-1000:], Y[-1000:]).correlation.min()) > 0.999
    True
    """

    _ways = ("facets", "bulk", "volume", "factors")
    _rehearses = False
    solver: ClassVar[str] = "batch"  # type: ignore[misc]  # of fit, always

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        offset: bool = False,
        sum_to_one: bool = False,
        method: str = "facets",
        n_starts: int = 3,
        half_life: float | None = None,
        hold: int | None = None,
        on_bad: str = "raise",
        tol: float | None = 1e-6,
        max_passes: int = 30,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.offset = offset
        self.sum_to_one = sum_to_one
        self.method = method
        self.n_starts = n_starts
        self.half_life = half_life
        self.hold = hold
        self.on_bad = on_bad
        self.tol = tol
        self.max_passes = max_passes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # ----------------------------------------------------------------------------------- settings

    def _options(self, k: int) -> Options:
        choice(self.method, "method", METHODS)
        if self.offset and self.sum_to_one:
            raise ValueError(
                "offset=True and sum_to_one=True: an offset cannot be told from such sources"
            )
        given = self.get_params(deep=False) | {"start": "warm"}
        if self.n_components is None:
            given["n_components"] = self._chosen
        as_nica = SimpleNamespace(get_params=lambda deep: given, _chosen=self._chosen)
        settings, _ = options(as_nica, k, whiten=True, separate=True)
        p = self._parameters(k, settings["d"])
        hold = p.hold
        if self.hold is not None:
            hold = whole(self.hold, "hold", minimum=settings["d"] + 1)
        changed: Options = {
            **settings,
            "rule": RULE,
            "whiten": k > settings["d"] and not self.sum_to_one,
            "offset": bool(self.offset),
            "share_minimum": p.share_minimum,
            "rate_minimum": p.rate_minimum,
            "separation_a": FIRST_RATE,
            "separation_b": SLOWING,
            "memory_growth": 0.0,
            "hold": hold,
            "idle": p.idle,
        }
        return changed

    def _parameters(self, k: int, d: int) -> FacetParameters:
        half_life = np.inf if self.half_life is None else self.half_life
        return FacetParameters(k, d, bool(self.offset), half_life)

    # -------------------------------------------------------------------------------------- start

    def _draw(self) -> None:
        """Nothing is drawn before the first samples are held."""

    def _start(self) -> None:
        held, now = self._held(), self._scalars()
        o = self._settings
        if len(held) < 16 * o["hold"] and self._directions(held) < o["d"]:
            now["target"] = 2.0 * len(held)
            assert self._core is not None
            self._core.set_state({"scalars": np.array([list(now.values())]).T}, True)
            return
        again = bool(now["started"])
        self._start_from(held)
        if again:
            warnings.warn(
                f"{type(self).__name__} was told by outliers that the mixture had changed, and started "
                f"again at sample {int(now['seen'])} from the last {len(held)} samples: its outputs are "
                "new ones, in a new order",
                ConvergenceWarning,
                stacklevel=2,
            )

    def _directions(self, held: Array) -> int:
        """Directions in which samples lie, counted as the solver counts them."""
        centred = held - held.mean(axis=0) if self.offset or self.sum_to_one else held
        s = np.linalg.svd(centred, compute_uv=False)
        return int(np.sum(s > 1e-6 * s[0])) + bool(self.sum_to_one)

    def _start_from(self, held: Array) -> None:
        source, threads = ArraySource(held, 1, False), cores(self.n_jobs)
        solution = self._solve(source, threads)
        if np.max(solution.outlier) > SUSPECT:  # outliers, or a wrong solution: look at more starts
            other = self._solve(source, threads, MORE * self.n_starts, self._seed + 1)
            solution = min(solution, other, key=lambda found: found.loss)
            self.method_ = solution.method
        self._starts += 1
        self._take_facets(solution, held, float(max(len(held), self._settings["hold"])))

    # ---------------------------------------------------------------------------------------- fit

    def _fit_batch(self, X: Any) -> None:
        threads = cores(self.n_jobs)
        whole(self.n_starts, "n_starts", minimum=1)
        whole(self.max_passes, "max_passes", minimum=1)
        self._check_names()
        source = self._source(X, threads)
        k = source.n_channels
        try:
            self._choose_number(source)
            if self.n_components is None:
                self._choose_spanned(source.sample(SOME))
            self._begin(k)
            solution = self._solve(source, threads)
            some = source.sample(SOME)
        except BadSampleError as bad:
            refuse_bad(self, bad)
        self._starts = 1
        self.n_iter_ = max(1, solution.n_passes)
        self.n_bad_samples_ = solution.n_bad
        self._take_facets(solution, some, float(solution.n_samples - solution.n_bad))
        self._warn_if_moving(solution.change, solution.n_samples, "outputs still change")
        if solution.n_samples >= FEW:
            self._look_after(5, always=True)

    def _choose_spanned(self, some: Array) -> None:
        """Where channels repeat each other there are fewer sources than channels."""
        k, r = some.shape[1], self._directions(some)
        self._chosen = None
        if len(some) > k > r > 0:
            self._chosen = r
            warnings.warn(
                f"X spans {r} of {k} directions only, and n_components=None takes these: drop channels "
                f"that repeat others, or give n_components={r}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _solve(
        self, source: Any, threads: int, n_starts: int = 0, seed: int | None = None
    ) -> FacetSolution:
        n_starts = n_starts or whole(self.n_starts, "n_starts", minimum=1)
        solution = solve(
            source, self._settings["d"], offset=bool(self.offset), sum_to_one=bool(self.sum_to_one),
            n_starts=n_starts, tol=self.tol or 0.0,
            max_passes=whole(self.max_passes, "max_passes", minimum=1),
            seed=self._seed if seed is None else seed, threads=threads, report=self._report,
        )  # fmt: skip
        if self.method == "auto":
            solution = chosen(source, solution, seed=self._seed, threads=threads)
        self.method_ = solution.method
        return solution

    def _take_facets(self, solution: FacetSolution, X: Array, t: float) -> None:
        """Go on from a solution; X says what the outputs are like."""
        o = self._settings
        gain = solution.map.gain
        rows = [Row(*row) for row in solution.found.rows]
        F = solution.unmixing / gain
        start = facet_start(
            X * gain, F, solution.intercept, rows, self._parameters(o["k"], o["d"]), t
        )
        size = np.maximum(X @ solution.unmixing.T + solution.intercept, 0.0).std(axis=0)
        arrays = {name: np.asarray(getattr(start, field)) for name, field in ARRAYS.items()}
        arrays["scale"] = 1 / np.where(size > 0, size, 1.0)
        arrays["watch"] = np.array([start.usual, 0.0, 0.0, start.residue, 0.0, 0.0, 0.0])
        seen = self._scalars()["seen"] or t
        self._write(
            arrays, gain, t=t, seen=seen, basis=float(len(X)),
            started=1.0, outlying=0.0, suspended=0.0, far=0.0, target=float(o["hold"]), spread=1.0,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------- health

    def _causes(self, now: dict[str, float]) -> Iterator[tuple[str, str]]:
        if not now["started"]:
            return
        seen = int(now["seen"])
        if now["suspended"]:
            yield (
                "suspended",
                f"suspended learning before sample {seen}: too many samples are outliers. If the mixture "
                "has changed it will start again by itself",
            )
        for i in np.flatnonzero(~populated(self._state())):
            yield (
                f"identified {i}",
                f"cannot identify output {i} at sample {seen}: hardly any sample lies near its facet, so "
                "that its source is never seen silent. Lower n_components, try method='auto', or use "
                "nica.NICA if the sources are uncorrelated",
            )
