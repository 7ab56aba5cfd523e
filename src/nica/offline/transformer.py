"""Offline whitening as a transformer, to stand in a pipeline before what wants white input."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from nica.networks._containers import like
from nica.networks._samples import checked
from nica.networks.whitening import unmix
from nica.offline._checks import FloatArray
from nica.offline.whitening import directions, whiten


class Whitening(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Whiten with all samples at hand, the mean kept: `nica.offline.whiten` in a pipeline.

    .. math:: h = F x, \qquad \tfrac1t\, \delta H\, \delta H^\top = I

    This is how the paper prepares the input of its single-layer networks and of nonnegative PCA and
    FastICA. Unlike in ``PCA(whiten=True)``, sources that are nonnegative remain a rotation away, because
    nothing is subtracted.

    Parameters
    ----------
    n_components : int or None
        Number of directions d, the largest ones; None takes all in which X varies.
    n_whitened : int or None
        Number of outputs l >= d, over which they are spread (Theorem 2); None takes d.

    Attributes
    ----------
    whitening_ : array (n_whitened, n_channels), the matrix F
    mean_ : array (n_channels,)
    n_components_, n_features_in_ : int

    Examples
    --------
    >>> import nica
    >>> from sklearn.pipeline import make_pipeline
    >>> S = nica.datasets.sparse_uniform(20000, 3, random_state=0)
    >>> X = S @ nica.datasets.MIXING_3.T
    >>> rival = nica.NonnegativePCA(whiten=False, random_state=0)
    >>> Y = make_pipeline(nica.offline.Whitening(), rival).fit_transform(X)
    >>> nica.metrics.match_sources(S, Y).error < 0.01
    True
    """

    def __init__(self, n_components: int | None = None, *, n_whitened: int | None = None) -> None:
        self.n_components = n_components
        self.n_whitened = n_whitened

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the whitening matrix of X.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)
        y : ignored

        Returns
        -------
        self
        """
        X = check_array(checked(self, X, None), dtype=np.float64, order="C", ensure_min_samples=2)
        d = max(directions(X)[2], 1) if self.n_components is None else self.n_components
        self.whitening_ = whiten(X, d, self.n_whitened).F
        self.mean_ = np.mean(X, axis=0)
        self.n_components_ = int(d)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Whiten X, row by row.

        Parameters
        ----------
        X : array-like (n_samples, n_channels)

        Returns
        -------
        H : array (n_samples, n_whitened)
        """
        check_is_fitted(self)
        inside = check_array(checked(self, X, self.n_features_in_), dtype=np.float64)
        H: FloatArray = like(X, inside @ self.whitening_.T, self.get_feature_names_out)
        return H

    def inverse_transform(self, Y: Any) -> FloatArray:
        """Inputs that give the whitened Y.

        Parameters
        ----------
        Y : array-like (n_samples, n_whitened)

        Returns
        -------
        X : array (n_samples, n_channels)
        """
        check_is_fitted(self)
        return unmix(self, Y, np.linalg.pinv(self.whitening_), "n_whitened")

    @property
    def _n_features_out(self) -> int:
        return len(self.whitening_)
