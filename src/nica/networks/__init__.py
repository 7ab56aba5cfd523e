"""Networks that learn from a stream, as scikit-learn estimators; one file per network."""

from nica.networks._save import load
from nica.networks.facet_nica import FacetNICA
from nica.networks.infomax import OnlineInfomax
from nica.networks.linsker import LinskerICA
from nica.networks.nica import NICA
from nica.networks.nonnegative_pca import NonnegativePCA
from nica.networks.nsm import NSM
from nica.networks.online_fastica import OnlineFastICA
from nica.networks.whitening import OnlineWhitening

__all__ = [
    "NICA",
    "NSM",
    "FacetNICA",
    "LinskerICA",
    "NonnegativePCA",
    "OnlineFastICA",
    "OnlineInfomax",
    "OnlineWhitening",
    "load",
]
