"""The paper's network: both layers stacked (sections 3 and 4)."""

from __future__ import annotations

from typing import Any

from nica.networks._batch import BatchFit
from nica.networks._outputs import OutputWeights
from nica.networks.whitening import WhiteningWeights
from nica.rates import Activity, Time


class NICA(BatchFit, WhiteningWeights, OutputWeights):
    r"""Blind nonnegative source separation by a two-layer network with local learning rules.

    For mixtures x = A s of sources s >= 0 that are uncorrelated and come near zero now and then; the
    mixing A is unknown, may have any sign, and has at least as many rows as columns. Sources come out
    with unit variance, in any order.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of sources d; None takes the number of channels k. At most k. "auto" estimates it
        (`nica.estimate_n_components`) from what ``fit`` is given, or from the first max(500, 25 k)
        samples of a stream, and warns when it is not certain; ``n_components_`` tells it.
    n_whitened : int or None
        Number of principal neurons l >= d in layer 1; None takes d.
    n_interneurons : int or None
        Number of interneurons m >= d in layer 1; None takes l.
    alpha : float
        Appendix B: directions of the input with less variance than this are dropped. Needed when
        l > d. With ``start="warm"`` it is relative to the mean square of the channels.
    whitening_rate : rates.Time or None
        Rate 1/(a + b t) of layer 1. None takes the start's own: Time(0, 2) after a warm start, the
        paper's Time(100, 1) else.
    separation_rate : rates.Activity, rates.Time or None
        Rate of layer 2. None takes the start's own: with "warm" a memory that grows to 15 d samples,
        else the paper's Activity(10, 0.8) for d <= 3 and Activity(10, 0.9) for more.
    dynamics : {"exact", "sweeps", "ode"}
        How the network settles on a sample: both layers at their fixed point directly ("exact");
        layer 2 by the paper's coordinate sweeps ("sweeps"); and layer 1 by Euler integration of its two
        populations as well ("ode").
    max_sweeps, dynamics_tol
        Limits of the sweeps and of the integration: their number, and the largest change relative to 1
        plus the largest drive.
    start : {"warm", "paper"}
        "warm" holds the first max(30, 10 d) samples, reads scale and covariance off them, and guards the
        stream against outliers, lost neurons, jumps and stuck sensors. "paper" is the paper to the
        letter: random orthonormal weights, its means, its rates, its sign flip.
    flip_silent : bool
        Flip the inputs of a neuron that has never fired; with start="warm" also of a lost one.
    half_life : float or None
        Samples after which half of the past is forgotten, to follow a drifting mixture; None forgets
        nothing.
    on_bad : {"raise", "skip"}
        What to do with samples that are not finite: an error, or NaN outputs and nothing learned
        (``n_bad_samples_`` counts them).
    missing : {"refuse", "infer"}
        What to do with NaN in some channels of a sample: treat it as bad, or infer it from the other
        channels and what is known of them. A sample with gaps teaches only if at least 2 ``n_components``
        channels were seen; with fewer than ``n_components`` its output is a guess. See ``flag_inferred``.
    tol, max_passes, shuffle
        Of ``fit``: it passes over the samples, in permuted order, until no output changes by more than
        ``tol`` of its size (root mean square) from pass to pass.
    solver : {"stream", "batch"}
        Of ``fit``: the network, sample by sample; or, faster where there are many samples, whitening
        by one pass and mini-batch similarity matching, through all cores, for data of any size. The
        network goes on from there either way.
    refine : {"facets"} or None
        Of ``fit``: polish what was found by the facets of the samples' cone, without asking for
        sources that are uncorrelated (see ``FacetNICA``). What is learned after that decorrelates again.
    n_starts, n_jobs, verbose
        Of the batch solver: random starts, of which the one with the least negative energy is kept;
        threads (None: all cores); 1 prints its progress.
    random_state : int, RandomState, Generator or None
        Used when weights are drawn, and never again.

    Attributes
    ----------
    unmixing_ : array (n_components, n_channels)
    mixing_ : array (n_channels, n_components)
    mean_ : array (n_channels,)
    whitening_ : array (n_whitened, n_channels)
    w_hx_, w_hg_, w_yh_, w_yy_, activity_ : arrays, the network's own
    n_components_, n_samples_seen_, n_bad_samples_, n_inferred_samples_, n_iter_, n_features_in_ : int

    Examples
    --------
    >>> import nica
    >>> S = nica.datasets.sparse_uniform(20000, 3, random_state=0)
    >>> X = S @ nica.datasets.MIXING_3.T
    >>> Y = nica.NICA(n_components=3, random_state=0).separate(X)
    >>> nica.metrics.match_sources(S[-2000:], Y[-2000:]).error < 0.01
    True
    """

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_whitened: int | None = None,
        n_interneurons: int | None = None,
        alpha: float = 0.0,
        whitening_rate: Time | None = None,
        separation_rate: Activity | Time | None = None,
        dynamics: str = "exact",
        max_sweeps: int = 10_000,
        dynamics_tol: float = 1e-10,
        start: str = "warm",
        flip_silent: bool = True,
        half_life: float | None = None,
        on_bad: str = "raise",
        missing: str = "refuse",
        tol: float = 1e-3,
        max_passes: int = 1000,
        shuffle: bool = True,
        solver: str = "stream",
        refine: str | None = None,
        n_starts: int = 4,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_whitened = n_whitened
        self.n_interneurons = n_interneurons
        self.alpha = alpha
        self.whitening_rate = whitening_rate
        self.separation_rate = separation_rate
        self.dynamics = dynamics
        self.max_sweeps = max_sweeps
        self.dynamics_tol = dynamics_tol
        self.start = start
        self.flip_silent = flip_silent
        self.half_life = half_life
        self.on_bad = on_bad
        self.missing = missing
        self.tol = tol
        self.max_passes = max_passes
        self.shuffle = shuffle
        self.solver = solver
        self.refine = refine
        self.n_starts = n_starts
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
