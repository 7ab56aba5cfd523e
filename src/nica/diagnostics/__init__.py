"""Can this result be trusted? The verdict on a separation, its signals, and their causes in words."""

from nica.diagnostics.diagnose import diagnose
from nica.diagnostics.diagnosis import Diagnosis, Signal, Source

__all__ = ["Diagnosis", "Signal", "Source", "diagnose"]
