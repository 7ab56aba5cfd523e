"""Figures of a separation: Displays as scikit-learn's, with ``from_estimator`` and ``from_data``.

Each has ``plot(ax=None)``, ``ax_`` and ``figure_``. One palette serves them, the pages of `nica.report`
and the live view: it can be told apart with any colour vision and on a grey print, and has a light and
a dark form. Needs Matplotlib: ``pip install nica[plot]``.

>>> import nica
>>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
>>> model = nica.NICA(3, random_state=0).partial_fit(mixture.X)
>>> with nica.plotting.style("dark"):
...     figure = nica.plotting.NetworkDisplay.from_estimator(model).figure_
"""

from nica.plotting._palette import DARK, LIGHT, Palette
from nica.plotting._style import colors, style
from nica.plotting.convergence import ConvergenceDisplay
from nica.plotting.diagnosis import DiagnosisDisplay
from nica.plotting.images import ImagesDisplay
from nica.plotting.network import NetworkDisplay
from nica.plotting.sources import SourcesDisplay
from nica.plotting.spectrum import SpectrumDisplay
from nica.plotting.weights import WeightsDisplay
from nica.plotting.whitened import WhitenedDisplay

__all__ = [
    "DARK",
    "LIGHT",
    "ConvergenceDisplay",
    "DiagnosisDisplay",
    "ImagesDisplay",
    "NetworkDisplay",
    "Palette",
    "SourcesDisplay",
    "SpectrumDisplay",
    "WeightsDisplay",
    "WhitenedDisplay",
    "colors",
    "style",
]
