r"""The facet likelihood: correlated sources, by what populates the facets of the data's cone.

The paper's networks whiten, and so need sources that are uncorrelated. This is another principle. For
mixtures x = A s of sources s >= 0 every sample lies in the cone that the columns of A span, and the rows
of the unmixing matrix B = A⁻¹ are the normals of its facets. Among all B with outputs y = B x >= 0 of
mean one, the volume :math:`\log|\det B|` is largest at the truth, if sources come near zero often enough
(are "sufficiently scattered"), however they are correlated. With noise, y >= 0 becomes a likelihood,
one for each row, of a spike at zero, a tail on the positive side, and rare outliers:

.. math:: p(y) = (1-\varepsilon)\,[\pi\, N(y; 0, \sigma^2) + \beta\, N(y; m, v^2)
    + (1-\pi-\beta)\, E(y; \sigma, \mu)] + \varepsilon\, \mathrm{Laplace}(y; 3\mu)

E is an exponential of mean μ blurred by the noise σ; the bulk N(m, v²) has β = 0, but for sources that
hardly ever come near zero. The best B has the least

.. math:: L = -\log|\det B| - \sum_i \langle \log p_i(b_i \cdot x) \rangle

A row is improved by *tilts*, by adding multiples of other rows, which leaves det B as it is: Newton steps
on the likelihood of its outputs alone. Twin of the native kernel in ``core/facets.hpp``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr

Array = NDArray[np.float64]

LOG_ROOT_TAU = 0.5 * float(np.log(2 * np.pi))
TAIL = 3.0  #: width of the outliers' part, in μ
SPIKE_LEAST, SPIKE_MOST = 0.02, 0.98
OUTLIER_LEAST, OUTLIER_MOST = 1e-4, 0.05
BLUR_LEAST = 0.3  #: the noise may always be so large, in units of the mean output
BLUR_TAIL = 1.5  #: or so large, in μ
SHRINK = 0.4  #: a tilt that makes the likelihood worse is shortened by this
TRIES = 8
NOBODY = 1e-3  #: a part that is responsible for so few samples learns nothing; a bulk is given up


class Row(NamedTuple):
    """What is known of one output; its scale is such that mean |y| = 1.

    Attributes
    ----------
    sigma, mu : float
        Noise around zero, mean of the tail.
    spike, outlier : float
        Shares π of silence and ε of outliers.
    bulk, centre, width : float
        Share β, mean m and standard deviation v of the bulk; β = 0 leaves it out.
    """

    sigma: float
    mu: float
    spike: float
    outlier: float
    bulk: float = 0.0
    centre: float = 1.0
    width: float = 0.5


class Judged(NamedTuple):
    """What a row makes of outputs y, one entry for each.

    Attributes
    ----------
    log_p : array, log p(y)
    spike, tail, outlier, bulk : arrays, responsibilities r0, r1, r2, r3; they add up to one
    score : array, ψ = −d log p / dy
    curvature : array, a positive stand-in for dψ/dy
    source, residue : arrays, of the tail: E[s | y], and E[(y − s)² | y]
    """

    log_p: Array
    spike: Array
    tail: Array
    outlier: Array
    bulk: Array
    score: Array
    curvature: Array
    source: Array
    residue: Array


def judge(y: Array, row: Row) -> Judged:
    r"""Likelihood of outputs, who is responsible for them, and where they should go.

    With :math:`u = y/\sigma - \sigma/\mu` and :math:`h = \varphi(u)/\Phi(u)`:

    .. math:: E(y) = \tfrac1\mu\, e^{\sigma^2/2\mu^2 - y/\mu}\, \Phi(u), \qquad
        \psi = r_0 \frac{y}{\sigma^2} + r_1 \Big(\frac1\mu - \frac h\sigma\Big)
        + r_2 \frac{\mathrm{sign}\, y}{3\mu} + r_3 \frac{y - m}{v^2}

    Examples
    --------
    >>> judged = judge(np.array([0.0, 2.0]), Row(0.1, 1.0, 0.5, 1e-3))
    >>> (judged.spike > 0.5).tolist()
    [True, False]
    """
    sigma, mu, pi, eps, beta, m, v = row
    u = y / sigma - sigma / mu
    log_tail = log_ndtr(u)
    below = u < 0  # where the logarithms of both are large, and nearly equal
    h = np.where(
        below,
        np.sqrt(2 / np.pi) / erfcx(np.where(below, -u, 0.0) / np.sqrt(2)),
        np.exp(-0.5 * u * u - LOG_ROOT_TAU - np.where(below, 0.0, log_tail)),
    )
    parts = np.stack([
        _log(pi) - 0.5 * (y / sigma) ** 2 - np.log(sigma) - LOG_ROOT_TAU,
        _log(1 - pi - beta) + 0.5 * (sigma / mu) ** 2 - y / mu + log_tail - np.log(mu),
        _log(eps / (1 - eps)) - np.abs(y) / (TAIL * mu) - np.log(2 * TAIL * mu),
        _log(beta) - 0.5 * ((y - m) / v) ** 2 - np.log(v) - LOG_ROOT_TAU,
    ])  # fmt: skip
    largest = parts.max(axis=0)
    shares = np.exp(parts - largest)
    total = shares.sum(axis=0)
    r0, r1, r2, r3 = shares / total
    score = (
        r0 * y / sigma**2
        + r1 * (1 / mu - h / sigma)
        + r2 * np.sign(y) / (TAIL * mu)
        + r3 * (y - m) / v**2
    )
    curvature = (r0 + r1 * np.clip(h * (u + h), 0, 1)) / sigma**2 + r3 / v**2
    drift = sigma**2 / mu
    source = np.maximum(y - drift + sigma * h, 0)
    residue = drift**2 - 2 * drift * sigma * h + sigma**2 * (1 - u * h)
    log_p = largest + np.log(total) + np.log1p(-eps)
    return Judged(log_p, r0, r1, r2, r3, score, curvature, source, residue)


def _log(share: float) -> float:
    return float(np.log(share)) if share > 0 else -np.inf


def loss(B: Array, Z: Array, rows: list[Row]) -> float:
    r"""Negative log-likelihood per sample, :math:`-\log|\det B| - \sum_i \langle\log p_i\rangle`."""
    return float(
        -np.linalg.slogdet(B)[1]
        - sum(judge(Z @ b, row).log_p.mean() for b, row in zip(B, rows, strict=True))
    )


def expectation_step(y: Array, row: Row, floor: float, cap: float = np.inf) -> Row:
    """One step of expectation maximisation: the row's parameters, from who is responsible for what.

    ``floor`` is the least noise, ``cap`` the most. They keep the likelihood out of corners: at first
    everything is blurred, and the blur recedes from sweep to sweep.

    Examples
    --------
    >>> y = np.abs(np.random.default_rng(0).normal(size=1000))
    >>> expectation_step(y, Row(0.5, 1.0, 0.5, 1e-3), floor=0.3).sigma >= 0.3
    True
    """
    j = judge(y, row)
    off = (y - row.centre) ** 2
    sums = (
        j.spike.sum(), j.tail.sum(), j.outlier.sum(), j.bulk.sum(),
        j.spike @ y**2 + j.tail @ j.residue, j.tail @ j.source, j.bulk @ y, j.bulk @ off,
    )  # fmt: skip
    expected = Expected(*map(float, sums))
    return maximised(expected, len(y), row, floor, cap)


class Expected(NamedTuple):
    """Sums over samples, from which a row's parameters follow; in the order of the native kernel.

    Attributes
    ----------
    spike, tail, outlier, bulk : float
        Of the responsibilities.
    near, source, middle, spread : float
        Of r0 y² + r1 (y − s)², r1 s, r3 y, and r3 (y − m)² with m as it was.
    """

    spike: float
    tail: float
    outlier: float
    bulk: float
    near: float
    source: float
    middle: float
    spread: float


def maximised(e: Expected, n: float, row: Row, floor: float, cap: float = np.inf) -> Row:
    """Parameters that are likeliest for these sums over n samples.

    Examples
    --------
    >>> sums = Expected(60.0, 40.0, 0.0, 0.0, 1.0, 80.0, 0.0, 0.0)
    >>> row = maximised(sums, 100, Row(0.5, 1.0, 0.5, 1e-3), floor=1e-9)
    >>> round(row.sigma, 9), row.mu, row.spike
    (0.1, 2.0, 0.6)
    """
    sigma, mu, _, _, beta, m, v = row
    near = e.spike + e.tail
    if near > NOBODY:
        sigma = float(np.sqrt(e.near / near))
    if e.tail > NOBODY:
        mu = float(e.source / e.tail)
    if e.bulk < NOBODY:
        beta = 0.0
    known = max(near + e.bulk, NOBODY)
    if beta > 0:
        beta = float(np.clip(e.bulk / known, 1e-3, 0.9))
        m = float(e.middle / e.bulk)
        v = float(np.sqrt(max(e.spread / e.bulk - (m - row.centre) ** 2, 0.0)))
        v = float(np.clip(v, 1e-3, max(m / 2, 2e-3)))
    pi = float(np.clip(e.spike / known, SPIKE_LEAST, SPIKE_MOST * (1 - beta)))
    eps = float(np.clip(e.outlier / n, OUTLIER_LEAST, OUTLIER_MOST))
    sigma = min(sigma, BLUR_TAIL * mu, max(BLUR_LEAST, floor), cap)
    return Row(max(sigma, floor), mu, pi, eps, beta, m, v)


class Tilt(NamedTuple):
    """A tilted row: what was added of the other rows, and its outputs."""

    share: Array
    y: Array


def tilt(others: Array, y: Array, row: Row) -> Tilt:
    """One Newton step of a row, along the other rows; shortened until the likelihood does not fall.

    ``others`` has the outputs of the other rows (d − 1, n_samples), and perhaps a row of ones: then the
    row's intercept is tilted too.
    """
    j = judge(y, row)
    n = len(y)
    g = others @ j.score / n
    H = (others * j.curvature) @ others.T / n
    H += 1e-10 * np.trace(H) * np.eye(len(H))
    share: Array = np.asarray(-np.linalg.solve(H, g), np.float64)
    before = j.log_p.mean()
    for _ in range(TRIES):
        moved: Array = y + share @ others
        if judge(moved, row).log_p.mean() >= before:
            return Tilt(share, moved)
        share = SHRINK * share
    return Tilt(np.zeros_like(share), y)


class Fit(NamedTuple):
    """An unmixing matrix with what is known of its outputs."""

    B: Array
    rows: list[Row]


def first_row() -> Row:
    """What is assumed of an output before anything is known."""
    return Row(0.3, 1.0, 0.5, 1e-2)


def sweep(Z: Array, fit: Fit, floor: float, cap: float = np.inf) -> Fit:
    """One sweep over the rows; each takes two expectation steps and a tilt, twice.

    Z (n_samples, d) is whitened, with a column of ones if there are intercepts: then B has one more
    column, and det B is that of the rest.
    """
    B = fit.B.copy()
    d = len(B)
    rows = list(fit.rows)
    Y = Z @ B.T
    for i in range(d):
        for _ in range(2):
            rows[i] = expectation_step(Y[:, i], rows[i], floor, cap)
            rows[i] = expectation_step(Y[:, i], rows[i], floor, cap)
            others = np.delete(np.arange(d), i)
            basis = Y[:, others].T
            if Z.shape[1] > d:
                basis = np.vstack([basis, np.ones(len(Z))])
            share, Y[:, i] = tilt(basis, Y[:, i], rows[i])
            B[i] += share[: d - 1] @ B[others]
            if Z.shape[1] > d:
                B[i, -1] += share[-1]
            size = np.abs(Y[:, i]).mean()
            Y[:, i] /= size
            B[i] /= size
            rows[i] = rescaled(rows[i], size)
    return Fit(B, rows)


def rescaled(row: Row, size: float) -> Row:
    """The row of outputs that are divided by ``size``."""
    return row._replace(
        sigma=row.sigma / size, mu=row.mu / size, centre=row.centre / size, width=row.width / size
    )
