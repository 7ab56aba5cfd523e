"""Sources that depend on each other: correlated, firing together, shares of a whole.

Whitening harms such sources, and so the paper's networks do; `nica.FacetNICA` is for them. All are
exactly zero now and then.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from nica.datasets.sources import FloatArray, Random, as_generator, as_shape

JOIN = 0.75  #: share of the cells that join a burst


def rectified_gaussian(
    n_samples: int, n_sources: int, *, correlation: float = 0.5, random_state: Random = None
) -> FloatArray:
    r"""Draw the positive part of Gaussians that are correlated.

    :math:`s_i = \max(0, g_i)`, where each pair of the g has the given correlation r; scaled to unit
    variance. Every source is zero half of the time; all are, together, the more often the larger r is.
    The sources correlate a little less than the Gaussians, :math:`.43` at r = 1/2.

    Parameters
    ----------
    n_samples, n_sources : int
        Shape of the result.
    correlation : float, default=0.5
        Correlation r of the Gaussians, at least 0 and below 1.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_sources)
        Correlated sources of unit variance.

    Examples
    --------
    >>> import numpy as np
    >>> S = rectified_gaussian(100_000, 3, random_state=0)
    >>> np.corrcoef(S.T).round(1)[0].tolist()
    [1.0, 0.4, 0.4]
    """
    if not 0 <= correlation < 1:
        raise ValueError(f"correlation={correlation!r} must be at least 0 and below 1")
    rng, (n, d) = as_generator(random_state), as_shape(n_samples, n_sources)
    shared = np.sqrt(correlation) * rng.normal(size=(n, 1))
    G = shared + np.sqrt(1 - correlation) * rng.normal(size=(n, d))
    return np.asarray(np.maximum(G, 0) / np.sqrt(0.5 - 0.5 / np.pi))


def abundances(
    shape: tuple[int, int],
    n_sources: int,
    *,
    contrast: float = 1.0,
    length: float = 4.0,
    random_state: Random = None,
) -> FloatArray:
    r"""Draw maps of how much of each material a pixel holds: smooth, nonnegative, summing to one.

    Independent smooth Gaussian fields of standard deviation `contrast` are projected, pixel by pixel,
    onto the simplex of shares, so that most pixels lack some material altogether and some are pure.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the maps.
    n_sources : int
        Number of materials, at least 2.
    contrast : float, default=1.0
        The larger, the more pixels are pure; with .2 hardly any lacks a material.
    length : float, default=4.0
        Standard deviation in pixels of the kernel that makes the fields smooth; 0 for none.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (height * width, n_sources)
        One column for each material; ``S[:, i].reshape(shape)`` is its map.

    Examples
    --------
    >>> S = abundances((40, 50), 3, random_state=0)
    >>> S.shape, bool(S.min() == 0), bool(abs(S.sum(axis=1) - 1).max() < 1e-12)
    ((2000, 3), True, True)
    """
    height, width = as_shape(*shape)
    if n_sources < 2:
        raise ValueError(f"n_sources={n_sources!r}: shares need at least 2 materials")
    if not contrast > 0 or not length >= 0:
        raise ValueError(f"contrast={contrast!r} must be above 0 and length={length!r} at least 0")
    rng = as_generator(random_state)
    fields = np.stack(
        [gaussian_filter(rng.normal(size=(height, width)), length) for _ in range(n_sources)],
        axis=-1,
    )
    fields = fields.reshape(-1, n_sources) - fields.mean()
    return _onto_simplex(contrast * fields / fields.std())


def coactive_traces(
    n_samples: int,
    n_sources: int,
    *,
    together: float = 0.5,
    rate: float = 0.01,
    decay: float = 20.0,
    random_state: Random = None,
) -> FloatArray:
    r"""Draw traces of cells that fire together: rare events, each with an exponential decay.

    A share `together` of a cell's events belongs to bursts of the whole population, which three in
    four cells join each time; the rest are its own. Sizes are gamma distributed. A silent cell is at 0:
    a decay ends where it has fallen to a hundredth of a mean event.

    Parameters
    ----------
    n_samples, n_sources : int
        Shape of the result.
    together : float, default=0.5
        Share of the events that are bursts, from 0 to 1.
    rate : float, default=0.01
        Events of each cell per sample, above 0 and at most 0.5.
    decay : float, default=20.0
        Time constant of an event, in samples.
    random_state : None, int, RandomState or Generator
        Source of randomness.

    Returns
    -------
    ndarray of shape (n_samples, n_sources)
        One column for each cell; the mean event is 1 high.

    Examples
    --------
    >>> import numpy as np
    >>> S = coactive_traces(50_000, 2, together=0.8, random_state=0)
    >>> bool(S.min() == 0.0), bool(np.corrcoef(S.T)[0, 1] > 0.4)
    (True, True)
    """
    if not 0 <= together <= 1:
        raise ValueError(f"together={together!r} is a share of the events: give 0 to 1")
    if not 0 < rate <= 0.5 or not decay > 0:
        raise ValueError(
            f"rate={rate!r} must be above 0 and at most 0.5, and decay={decay!r} above 0"
        )
    rng, (n, d) = as_generator(random_state), as_shape(n_samples, n_sources)
    bursts = rng.uniform(size=(n, 1)) < rate * together / JOIN
    joined = bursts & (rng.uniform(size=(n, d)) < JOIN)
    alone = rng.uniform(size=(n, d)) < rate * (1 - together)
    sizes = (joined | alone) * rng.gamma(4.0, 0.25, (n, d))
    S = lfilter([1.0], [1.0, -np.exp(-1 / decay)], sizes, axis=0)
    return np.where(S < 0.01, 0.0, S)


def _onto_simplex(values: FloatArray) -> FloatArray:
    """The nearest point with nonnegative entries that sum to one, row by row."""
    d = values.shape[1]
    down = -np.sort(-values, axis=1)
    excess = (np.cumsum(down, axis=1) - 1) / np.arange(1, d + 1)
    kept = np.count_nonzero(down > excess, axis=1)
    return np.asarray(np.maximum(values - excess[np.arange(len(values)), kept - 1, None], 0))
