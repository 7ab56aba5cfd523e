"""What every network that ends in sources shows of them: unmixing, score, weights of layer 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from nica.networks._containers import to_numpy
from nica.networks._layers import LayeredNetwork
from nica.networks._samples import Array
from nica.networks.whitening import _view, _whitening, unmix


class Unmixing(LayeredNetwork):
    """Attributes and methods of networks whose outputs are estimates of the sources."""

    @property
    def unmixing_(self) -> Array:
        """Estimate of the unmixing matrix from the weights (n_components, n_channels)."""
        return self._unmixing(self._ready().get_state())

    @property
    def mixing_(self) -> Array:
        """Estimate of the mixing matrix A (n_channels, n_components), pseudoinverse of ``unmixing_``.

        Where the network weighs channels by their noise, so does the pseudoinverse.
        """
        state = self._ready().get_state()
        gain = state["gain"].ravel()
        inverse = np.divide(1.0, gain, out=np.zeros_like(gain), where=gain > 0)
        mixing = np.linalg.pinv(self._unmixing(state) * inverse) * inverse[:, np.newaxis]
        return np.asarray(mixing, dtype=np.float64)

    def inverse_transform(self, Y: Any) -> Array:
        """Mixtures that the sources Y make: ``Y @ mixing_.T``.

        Parameters
        ----------
        Y : array-like (n_samples, n_components)

        Returns
        -------
        X : array (n_samples, n_channels)
        """
        return unmix(self, Y, self.mixing_, "n_components")

    def score(self, X: Any, y: Any = None) -> float:
        """Share of the variance of X that the nonnegative sources explain (R², at most 1).

        What the outputs had to cut off, to stay nonnegative, is missing from it. It says how well a
        nonnegative mixture describes X, not that its sources are the true ones.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        y : ignored

        Returns
        -------
        score : float
        """
        Y = np.maximum(to_numpy(self.transform(X))[0], 0.0)
        X = np.asarray(to_numpy(X)[0], dtype=np.float64)
        seen = ~np.isnan(X)  # transform has refused gaps, unless they are to be inferred
        error = np.sum((X - self.inverse_transform(Y))[seen] ** 2)
        total = np.sum((X - np.mean(X, axis=0, where=seen))[seen] ** 2)
        return float(1 - error / total) if total > 0 else 0.0

    def _whitening(self, state: dict[str, Array]) -> Array:
        """What stands before the last layer: layer 1, or the scale of each channel."""
        if self._settings["whiten"]:
            return _whitening(state, self._settings["alpha"])
        return np.diag(state["gain"].ravel())

    def _unmixing(self, state: dict[str, Array]) -> Array:
        raise NotImplementedError

    def _map(self) -> Array | None:
        if self._settings["robust"] and not self._scalars()["started"]:
            return None
        return self._unmixing(self._state())


class OutputWeights(Unmixing):
    """Attributes and methods of networks that end in nonnegative outputs."""

    @property
    def w_yh_(self) -> Array:
        """Feedforward weights of layer 2 (n_components, n_whitened)."""
        return _view(self._ready().get_state()["w_yh"])

    @property
    def w_yy_(self) -> Array:
        """Lateral weights of layer 2 (n_components, n_components), zero on the diagonal."""
        lateral = self._ready().get_state()["lateral"]
        np.fill_diagonal(lateral, 0.0)
        return _view(lateral)

    @property
    def activity_(self) -> Array:
        """Running activity D of each output, whose inverse is its learning rate (n_components,)."""
        return _view(self._ready().get_state()["activity"].ravel())

    def _unmixing(self, state: dict[str, Array]) -> Array:
        U = state["w_yh"] @ self._whitening(state)
        return np.asarray(np.linalg.solve(state["lateral"], U), dtype=np.float64)
