"""The paper in NumPy: one pure function per equation, named by its label.

This package is the readable truth. Nothing here is fast; everything here is what the native core is
tested against. Vectors are one-dimensional arrays, matrices multiply them from the left, exactly as
in the paper (C. Pehlevan, S. Mohan, D. B. Chklovskii, *Blind nonnegative source separation using
biological neural networks*, Neural Computation 29, 2017).

Read it in this order:

``whitening``
    Layer 1: generalised prewhitening by principal neurons **h** and interneurons **g**.
``nsm``
    Layer 2: nonnegative similarity matching by rectifying neurons **y**.
``network``
    Both layers stacked: the paper's network, to the letter.
``minibatch``
    Layer 2 learned from whole blocks of samples, whose sums add.
``robust``
    What ``start="warm"`` adds to it, so that any scale and any beginning will do. Not in the paper.
``rivals``
    The online algorithms that the paper compares itself with.
``facets_start``
    For sources that are correlated: reduction about zero, successive projection. Not in the paper.

Errata of the paper that these functions correct
------------------------------------------------
* eq. ``activitydep`` prints a minimum; it must be a **maximum**, with the old D on the right
  (:func:`activity`; :func:`activity_as_printed` shows what goes wrong).
* Theorem 2 needs l >= d, not l >= k.
* eq. ``dynamicsdef`` prints g where the centred δg is meant.
* appendix B: α must lie below the *d-th* eigenvalue of the input covariance, the smallest nonzero
  one, not below the lowest of all.
* the weights carry 1/t, 1/(t + 1) and sums up to t - 1 in different places. Here the outputs of step
  t use the weights from before step t; then the means move, then the weights.
"""

from nica.equations.facets_start import Reduction, cone_unmixing, extreme_points, reduction
from nica.equations.minibatch import block_outputs, minibatch_nsm, update_sums
from nica.equations.network import PaperState, paper_start, paper_step, unmixing
from nica.equations.nsm import (
    activity,
    activity_as_printed,
    flip_silent,
    nsm_fixed_point,
    projected_gradient,
    time_activity,
    update_nsm_weights,
)
from nica.equations.rivals import (
    RivalState,
    fastica_step,
    infomax_step,
    linsker_relaxation,
    linsker_step,
    nonnegative_pca_step,
    positive_mean,
    rival_start,
    scaled_start,
    symmetric_orthonormal,
    update_fastica,
    update_infomax,
    update_linsker,
    update_nonnegative_pca,
)
from nica.equations.robust import (
    RobustParameters,
    RobustState,
    bounded,
    memory,
    outlier_limit,
    outlier_weight,
    robust_start,
    robust_step,
    warm_start,
)
from nica.equations.whitening import (
    prewhitening_dynamics,
    prewhitening_fixed_point,
    prewhitening_matrix,
    running_mean,
    time_rate,
    update_whitening_weights,
)

__all__ = [
    "PaperState",
    "Reduction",
    "RivalState",
    "RobustParameters",
    "RobustState",
    "activity",
    "activity_as_printed",
    "block_outputs",
    "bounded",
    "cone_unmixing",
    "extreme_points",
    "fastica_step",
    "flip_silent",
    "infomax_step",
    "linsker_relaxation",
    "linsker_step",
    "memory",
    "minibatch_nsm",
    "nonnegative_pca_step",
    "nsm_fixed_point",
    "outlier_limit",
    "outlier_weight",
    "paper_start",
    "paper_step",
    "positive_mean",
    "prewhitening_dynamics",
    "prewhitening_fixed_point",
    "prewhitening_matrix",
    "projected_gradient",
    "reduction",
    "rival_start",
    "robust_start",
    "robust_step",
    "running_mean",
    "scaled_start",
    "symmetric_orthonormal",
    "time_activity",
    "time_rate",
    "unmixing",
    "update_fastica",
    "update_infomax",
    "update_linsker",
    "update_nonnegative_pca",
    "update_nsm_weights",
    "update_sums",
    "update_whitening_weights",
    "warm_start",
]
