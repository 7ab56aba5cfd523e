from nica import compat as compat
from nica import datasets as datasets
from nica import equations as equations
from nica import experiments as experiments
from nica import live as live
from nica import metrics as metrics
from nica import offline as offline
from nica import plotting as plotting
from nica import rates as rates
from nica import report as report
from nica import streams as streams
from nica import theory as theory
from nica._config import show_config as show_config
from nica._version import __version__ as __version__
from nica.diagnostics import diagnose as diagnose
from nica.drift import estimate_drift as estimate_drift
from nica.networks import NICA as NICA
from nica.networks import NSM as NSM
from nica.networks import FacetNICA as FacetNICA
from nica.networks import LinskerICA as LinskerICA
from nica.networks import NonnegativePCA as NonnegativePCA
from nica.networks import OnlineFastICA as OnlineFastICA
from nica.networks import OnlineInfomax as OnlineInfomax
from nica.networks import OnlineWhitening as OnlineWhitening
from nica.networks import load as load
from nica.rank import estimate_n_components as estimate_n_components
from nica.replicas import sweep as sweep
from nica.tuning import tune as tune

__all__ = [
    "NICA",
    "NSM",
    "FacetNICA",
    "LinskerICA",
    "NonnegativePCA",
    "OnlineFastICA",
    "OnlineInfomax",
    "OnlineWhitening",
    "__version__",
    "compat",
    "datasets",
    "diagnose",
    "equations",
    "estimate_drift",
    "estimate_n_components",
    "experiments",
    "live",
    "load",
    "metrics",
    "offline",
    "plotting",
    "rates",
    "report",
    "show_config",
    "streams",
    "sweep",
    "theory",
    "tune",
]
