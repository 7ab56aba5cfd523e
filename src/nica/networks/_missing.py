r"""``missing="infer"``: gaps in samples, filled from what the network knows of the channels.

The weights of layer 1 come to rest at :math:`W_{hx} = \langle \delta h\, \delta x^T \rangle`, where
:math:`\langle \delta h\, \delta h^T \rangle = I`: so :math:`G = W_{hx}^T` predicts the channels from the
whitened activities (it is the pseudoinverse of the whitening F, and unlike that one it draws nothing from
directions that F does not need). With o the channels that were seen and σ² their noise,
:math:`\delta h = (G_o^T G_o + \sigma^2 I)^{-1} G_o^T (x_o - \bar x_o)`, and what is missing is
:math:`\bar x + G\,\delta h`: the mean of the posterior, were the whitened activities normal. Never is a
gap filled by the channel's mean alone. A sample teaches only if at least 2 d channels were seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nica._core import Network, find_bad
from nica.networks._samples import LIMIT, Array, infers, only_gaps, refuse

if TYPE_CHECKING:
    from nica.networks._stream import StreamNetwork

GAP = 1e200  #: stands for what is missing among the samples held for the warm start
MEMORY = 100  #: samples with gaps over which the noise of the channels is averaged
ROUNDS = 30  #: of completing the samples of a warm start
SOME = 2000  #: samples that are completed to compare outputs between passes of ``fit``


class Filler:
    """Fills samples with the weights as they stand."""

    def __init__(self, core: Network, noise: float) -> None:
        state = {name: core.get_state(name)[name] for name in ("w_hx", "gain", "x_bar")}
        self.gain = state["gain"].ravel()
        self.mean = state["x_bar"].ravel()
        self.G = state["w_hx"].T
        self.unit = float(np.mean(np.sum(self.G**2, axis=1)))
        self.noise = noise

    def fill(self, x: Array) -> tuple[Array, float | None]:
        """A whole sample, and the noise of its channels per unit of variance, if that can be seen."""
        seen = ~np.isnan(x)
        G = self.G[seen]
        left = x[seen] * self.gain[seen] - self.mean[seen]
        A = G.T @ G
        A[np.diag_indices_from(A)] += self.noise * self.unit
        h = np.linalg.solve(A, G.T @ left)
        inferred = (self.mean + self.G @ h) / np.where(self.gain > 0, self.gain, np.inf)
        extra = int(np.sum(seen)) - G.shape[1]
        residual = float(np.sum((left - G @ h) ** 2)) / extra / self.unit if extra > 0 else None
        return np.where(seen, x, inferred), residual


def learn_with_gaps(network: StreamNetwork, block: Array, start: int, Y: Array | None) -> None:
    """Learn from a block with gaps: each is filled when its turn comes, with the weights of then."""
    whole = np.all(np.abs(block) <= LIMIT, axis=1)
    fine = only_gaps(block)
    if network.on_bad == "raise" and not np.all(fine):
        row = int(np.argmin(fine))
        refuse(network, block[row], start + row)
    row = 0
    while row < len(block):
        last = row + 1
        if whole[row]:
            while last < len(block) and whole[last]:
                last += 1
            network._run(block[row:last], None if Y is None else Y[row:last])
        elif fine[row]:
            _learn_one(network, block[row:last], None if Y is None else Y[row:last])
        else:
            network.n_bad_samples_ += 1
            if Y is not None:
                Y[row] = np.nan
        row = last


def _learn_one(network: StreamNetwork, x: Array, y: Array | None) -> None:
    """A sample (1, k) with gaps."""
    seen = int(np.sum(~np.isnan(x)))
    teaches = seen >= 2 * network._settings["d"]
    assert network._core is not None
    network.n_inferred_samples_ += 1
    if network._settings["robust"] and not network._scalars()["started"]:
        if teaches:
            return network._run(np.where(np.isnan(x), GAP, x), y)
        if y is not None:
            y[:] = 0
        return None
    whole, noise = Filler(network._core, network._noise).fill(x[0])
    if noise is not None:
        network._noise += (max(noise, 1e-12) - network._noise) / MEMORY
    whole = np.ascontiguousarray(whole[np.newaxis])
    if teaches:
        return network._run(whole, y)
    if y is not None:
        network._core.apply(whole, y)
    return None


def filled(network: Any, core: Network, block: Array) -> Array:
    """Samples to be transformed, without gaps; rows with nothing seen remain NaN and become it."""
    if not infers(network) or find_bad(block, LIMIT) < 0:
        return block
    block, filler = block.copy(), Filler(core, network._noise)
    for row in np.flatnonzero(np.any(np.isnan(block), axis=1)):
        block[row] = filler.fill(block[row])[0]
    return block


def complete(X: Array, d: int) -> Array:
    """Samples with their gaps (NaN, or held as such) filled, by d principal directions of what is seen.

    Expectation and maximisation for probabilistic principal components, `ROUNDS` times.
    """
    gap = ~(np.abs(X) <= LIMIT)
    if not np.any(gap):
        return X
    seen = np.where(gap, np.nan, X)
    with np.errstate(all="ignore"):
        mean = np.nan_to_num(np.nanmean(np.where(np.all(gap, axis=0), 0.0, seen), axis=0))
        scale = np.nan_to_num(np.nanstd(np.where(np.all(gap, axis=0), 0.0, seen), axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    Z = np.where(gap, 0.0, (seen - mean) / scale)
    n, mask = len(X), (~gap).astype(np.float64)
    for _ in range(ROUNDS):
        m = Z.mean(axis=0)
        _, s, V = np.linalg.svd(Z - m, full_matrices=False)
        noise = max(float(np.sum(s[d:] ** 2)) / n / max(Z.shape[1] - d, 1), 1e-9)
        L = V[:d].T * (s[:d] / np.sqrt(n))
        A = np.einsum("nk,ka,kb->nab", mask, L, L) + noise * np.eye(L.shape[1])
        h = np.linalg.solve(A, ((Z - m) * mask @ L)[..., np.newaxis])[..., 0]
        Z = np.where(gap, m + h @ L.T, Z)
    return np.where(gap, mean + scale * Z, X)
