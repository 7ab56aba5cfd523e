"""The data of the paper: sources, mixing matrices, images (section 4, appendix C); and beyond it.

Sources are nonnegative, one column each: S is (n_samples, n_sources), and a mixture is ``X = S @ A.T``
with A (n_channels, n_sources). Those of the paper are independent and of unit variance; those of
`abundances`, `coactive_traces` and `rectified_gaussian` depend on each other. All draws take a
`random_state` as in scikit-learn (None, int, RandomState) or a NumPy Generator.
"""

from nica.datasets.dependent import abundances, coactive_traces, rectified_gaussian
from nica.datasets.images import natural_scenes
from nica.datasets.mixtures import (
    MIXING_3,
    MIXING_IMAGES,
    PUBLISHED_SEEDS,
    Mixture,
    make_mixture,
    mixing,
    paper_mixing,
    two_sources,
)
from nica.datasets.sources import background_noise, sparse_exponential, sparse_uniform

__all__ = [
    "MIXING_3",
    "MIXING_IMAGES",
    "PUBLISHED_SEEDS",
    "Mixture",
    "abundances",
    "background_noise",
    "coactive_traces",
    "make_mixture",
    "mixing",
    "natural_scenes",
    "paper_mixing",
    "rectified_gaussian",
    "sparse_exponential",
    "sparse_uniform",
    "two_sources",
]
