"""What FacetNICA shows of what it has learned: the way there and back, and what each neuron knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.equations.facets_stream import BLUR_MOST
from nica.networks._outputs import Unmixing
from nica.networks._samples import Array
from nica.networks._stream import SCALARS
from nica.networks.whitening import _view, unmix

POPULATED = 3  #: times d samples near a facet place it


class FacetOutputs(Unmixing):
    """Attributes and methods of ``FacetNICA`` that only look."""

    offset: bool
    sum_to_one: bool

    @property
    def intercept_(self) -> Array:
        """What is added to ``unmixing_ @ x``; zeros unless there are offsets or sources sum to one."""
        state = self._ready().get_state()
        return _view(_scaled(state, state["intercept"])[:, 0])

    @property
    def mixing_(self) -> Array:
        """Estimate of the mixing matrix A (n_channels, n_components)."""
        return self._back(self._ready().get_state())[0]

    @property
    def w_yy_(self) -> Array:
        """Lateral weights (n_components, n_components), zero on the diagonal."""
        lateral = self._ready().get_state()["lateral"]
        np.fill_diagonal(lateral, 0.0)
        return _view(lateral)

    @property
    def sigma_(self) -> Array:
        """Noise of each output (n_components,)."""
        return self._known("sigma")

    @property
    def tail_(self) -> Array:
        """Mean of each output where it is active (n_components,)."""
        return self._known("mu")

    @property
    def spike_(self) -> Array:
        """Share of the samples in which each source is silent (n_components,)."""
        return _view(self._ready().get_state()["spike"][:, 0])

    @property
    def outlier_(self) -> Array:
        """Share of the samples that each neuron takes for outliers (n_components,)."""
        return _view(self._ready().get_state()["outlier"][:, 0])

    @property
    def identified_(self) -> NDArray[np.bool_]:
        """Whether samples near its facet place each output: it is silent at times, noise is small."""
        state = self._ready().get_state()
        quiet = state["sigma"].ravel() < 0.999 * BLUR_MOST * state["mu"].ravel()
        return np.asarray(populated(state) & quiet)

    @property
    def n_restarts_(self) -> int:
        """How often a stream has started again, because its mixture had changed."""
        self._state()
        return max(self._starts - 1, 0)

    def inverse_transform(self, Y: Any) -> Array:
        """Mixtures that the sources Y make.

        Parameters
        ----------
        Y : array-like (n_samples, n_components)

        Returns
        -------
        X : array (n_samples, n_channels)
        """
        mixing, rest = self._back(self._ready().get_state())
        return unmix(self, Y, mixing, "n_components", rest)

    def _known(self, name: str) -> Array:
        state = self._ready().get_state()
        return _view((state[name] * state["scale"])[:, 0])

    def _unmixing(self, state: dict[str, Array]) -> Array:
        return _scaled(state, state["w_hx"]) * state["gain"].ravel()

    def _back(self, state: dict[str, Array]) -> tuple[Array, Array]:
        """Mixing matrix and offset: X = Y @ mixing.T + offset."""
        gain = state["gain"].ravel()
        back = np.linalg.pinv(state["w_hx"]) @ (state["lateral"] / state["scale"].ravel())
        back /= gain[:, np.newaxis]
        if not (self.offset or self.sum_to_one):
            return back, np.zeros(len(gain))
        mean, B = state["x_bar"].ravel() / gain, self._unmixing(state)
        b = _scaled(state, state["intercept"])[:, 0]
        rest = mean - back @ (B @ mean + b)
        if not self.sum_to_one:
            return back, rest
        # The weighted sum of the outputs that is always one carries the offset.
        plane = np.column_stack([B / np.max(np.abs(B)), b])
        ones = np.linalg.pinv(plane)[-1]
        return back + np.outer(rest, ones), np.zeros(len(gain))


def _scaled(state: dict[str, Array], columns: Array) -> Array:
    """What layer 2 makes of columns of layer 1, in the scale of the outputs."""
    return np.asarray(state["scale"] * np.linalg.solve(state["lateral"], columns), np.float64)


def populated(state: dict[str, Array]) -> NDArray[np.bool_]:
    """Whether samples enough lie near the facet of each output."""
    now = dict(zip(SCALARS, state["scalars"].ravel().tolist(), strict=True))
    taken = state["watch"].ravel()[5]
    near = state["n0"].ravel() * min(now["t"], 1 / taken)
    return np.asarray(near >= POPULATED * len(near))
