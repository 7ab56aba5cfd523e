"""Can this result be trusted? The verdict on a separation, its signals, and their causes in words."""

from nica._signals import Signal
from nica.diagnostics.diagnose import diagnose
from nica.diagnostics.diagnosis import Diagnosis, Source
from nica.networks._health import Health

__all__ = ["Diagnosis", "Health", "Signal", "Source", "diagnose"]
