"""Many networks over the same samples: other seeds, other rates, through all cores."""

from nica.networks._settings import cores
from nica.replicas._run import run_replicas
from nica.replicas._sweep import sweep
from nica.replicas._table import Sweep

__all__ = ["Sweep", "cores", "run_replicas", "sweep"]
