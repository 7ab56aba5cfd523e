"""Networks that learn from a stream, as scikit-learn estimators; one file per network."""

from nica.networks._save import load
from nica.networks.nica import NICA
from nica.networks.nsm import NSM
from nica.networks.whitening import OnlineWhitening

__all__ = ["NICA", "NSM", "OnlineWhitening", "load"]
