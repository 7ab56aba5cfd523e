"""Separation with all samples at hand (section 2): whiten, then NSM or a rotation; minimum volume.

The generalised whitening of Theorem 2, the projected gradient of eq. pgd on the objective of
eq. NSM, and, for comparison, the rotation that Plumbley's Theorem 1 asks for. Nothing here forms
a matrix of n_samples x n_samples: H^T H and Y^T Y of the paper enter only through products with
d columns and through traces.

A tensor, a data frame or a DataArray of samples gives one of outputs.
"""

from nica.offline._cone import MinimumVolume
from nica.offline.minimum_volume import minimum_volume, soft_hinge, successive_projection
from nica.offline.minimum_volume_nmf import minimum_volume_nmf
from nica.offline.projected_gradient import NSMSolution, nsm_pgd
from nica.offline.rotation import Rotation, plumbley
from nica.offline.transformer import Whitening
from nica.offline.whitening import Whitened, whiten

__all__ = [
    "MinimumVolume",
    "NSMSolution",
    "Rotation",
    "Whitened",
    "Whitening",
    "minimum_volume",
    "minimum_volume_nmf",
    "nsm_pgd",
    "plumbley",
    "soft_hinge",
    "successive_projection",
    "whiten",
]
