"""Networks as transformers of river: samples are dictionaries, one at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

try:
    from river import base
except ImportError as error:
    raise ImportError(
        "nica.compat.river needs river, which is not installed: pip install 'nica[river]'"
    ) from error

from nica.networks import NICA

__all__ = ["Separator"]


class Separator(base.MiniBatchTransformer):
    """A network of nica as a transformer of river.

    The channels are the features of the first sample that is learned. Features that appear later are
    left alone. A sample that lacks a channel teaches nothing and comes out empty (in a frame, as NaN),
    unless the network was made with ``missing="infer"``.

    Parameters
    ----------
    network : estimator, optional
        Such as ``nica.NICA(n_components=3)``; it is copied, not changed. None takes ``nica.NICA()``.
    seed : int, optional
        In place of the network's ``random_state``.

    Examples
    --------
    >>> import nica
    >>> from nica.compat.river import Separator
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> model = Separator(nica.NICA(n_components=3), seed=0)
    >>> for a, b, c in mixture.X:
    ...     model.learn_one({"a": a, "b": b, "c": c})
    >>> sources = model.transform_one({"a": 1.0, "b": 2.0, "c": 0.5})
    >>> list(sources)
    ['nica0', 'nica1', 'nica2']
    """

    def __init__(self, network: Any = None, seed: int | None = None) -> None:
        self.network = network
        self.seed = seed
        self._channels: list[Hashable] = []
        self._model = NICA() if network is None else clone(network)
        self._model.set_params(on_bad="skip")
        if seed is not None:
            self._model.set_params(random_state=seed)

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Learn from one sample.

        Parameters
        ----------
        x : dict
            Value of each channel by its name.
        """
        if not self._channels:
            self._begin(list(x))
        self._model.separate_one(self._row(x))

    def transform_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Sources of one sample, with the weights as they stand.

        Parameters
        ----------
        x : dict

        Returns
        -------
        sources : dict
            Zeros while the network warms up; none if a channel is missing.
        """
        row = self._row(x) if self._channels else np.zeros(len(x))
        values = self._outputs(row[np.newaxis])[0]
        if np.any(np.isnan(values)):
            return {}
        return dict(zip(self._names(len(row)), values.tolist(), strict=True))

    def learn_many(self, X: Any) -> None:
        """Learn from the rows of a DataFrame, in order; the same as one by one.

        Parameters
        ----------
        X : pandas.DataFrame
        """
        if not self._channels:
            self._begin(list(X.columns))
        self._model.partial_fit(self._rows(X))

    def transform_many(self, X: Any) -> Any:
        """Sources of the rows of a DataFrame, with the weights as they stand.

        Parameters
        ----------
        X : pandas.DataFrame

        Returns
        -------
        sources : pandas.DataFrame
        """
        import pandas

        rows = self._rows(X) if self._channels else np.zeros(X.shape)
        return pandas.DataFrame(
            self._outputs(rows), index=X.index, columns=self._names(rows.shape[1])
        )

    # -------------------------------------------------------------------------------------- inside

    def _begin(self, names: list[Hashable]) -> None:
        self._channels = sorted(names, key=str)  # the order of a dictionary means nothing

    def _row(self, x: Mapping[Any, Any]) -> NDArray[np.float64]:
        return np.array([x.get(name, np.nan) for name in self._channels], dtype=np.float64)

    def _rows(self, X: Any) -> NDArray[np.float64]:
        rows = np.full((len(X), len(self._channels)), np.nan)
        for j, name in enumerate(self._channels):
            if name in X.columns:
                rows[:, j] = X[name]
        return rows

    def _n_outputs(self, n_channels: int) -> int:
        wanted = self._model.get_params()["n_components"]
        return wanted if isinstance(wanted, int) else n_channels

    def _names(self, n_channels: int) -> list[str]:
        try:
            return [str(name) for name in self._model.get_feature_names_out()]
        except NotFittedError:
            stem = type(self._model).__name__.lower()
            return [f"{stem}{i}" for i in range(self._n_outputs(n_channels))]

    def _outputs(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        Y = np.full((len(rows), len(self._names(rows.shape[1]))), np.nan)
        whole = np.all(np.isfinite(rows), axis=1)
        if self._model.get_params().get("missing") == "infer":
            whole[:] = True
        try:
            if np.any(whole):
                Y[whole] = self._model.transform(rows[whole])
        except NotFittedError:
            Y[whole] = 0.0
        return Y
