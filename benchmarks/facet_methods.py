"""The methods of benchmarks.facets: each takes samples and a number of sources and gives outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import NMF, FastICA

import nica
from nica import offline

Array = np.ndarray
Method = Callable[[Array, int], tuple[Array, dict[str, Any]]]


def paper(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
    return nica.NICA(d, solver="batch", random_state=0).fit(X).transform(X), {}


def refined(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
    model = nica.NICA(d, solver="batch", refine="facets", random_state=0).fit(X)
    return model.transform(X), {}


def facets(**options: Any) -> Method:
    def run(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
        model = nica.FacetNICA(d, random_state=0, **options).fit(X)
        return model.transform(X), {"identified": bool(np.all(model.identified_))}

    return run


def diagnosed(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
    """FacetNICA, and whether the diagnosis believes it."""
    model = nica.FacetNICA(d, random_state=0).fit(X)
    return model.transform(X), {"trusted": nica.diagnose(X, model=model).verdict == "OK"}


def smallest(method: Callable[..., Any], **options: Any) -> Method:
    return lambda X, d: (np.maximum(method(X, d, **options).Y, 0), {})


def fast_ica(contrast: str) -> Method:
    """Its outputs are centred; here their mean is left, so that they can be compared to sources."""

    def run(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
        model = FastICA(d, fun=contrast, whiten="unit-variance", max_iter=500, random_state=0)
        return X @ model.fit(X).components_.T, {}

    return run


def nmf(X: Array, d: int) -> tuple[Array, dict[str, Any]]:
    """Noise may have made some samples negative."""
    model = NMF(d, init="nndsvda", max_iter=1000, random_state=0)
    return model.fit_transform(np.maximum(X, 0)), {}


METHODS: dict[str, Method] = {
    "NICA": paper,
    "FacetNICA": facets(),
    "FacetNICA, offset": facets(offset=True),
    "FacetNICA, sum_to_one": facets(sum_to_one=True),
    "FacetNICA, auto": facets(method="auto"),
    "FacetNICA, diagnosed": diagnosed,
    "NICA, refined": refined,
    "soft hinge": smallest(offline.soft_hinge),
    "minimum volume": smallest(offline.minimum_volume),
    "minimum-volume NMF": smallest(offline.minimum_volume_nmf),
    "FastICA logcosh": fast_ica("logcosh"),
    "FastICA exp": fast_ica("exp"),
    "FastICA cube": fast_ica("cube"),
    "NMF": nmf,
}
