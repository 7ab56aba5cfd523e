"""Figures of a separation: Displays as scikit-learn's, with ``from_estimator`` and ``from_data``.

Each has ``plot(ax=None)``, ``ax_`` and ``figure_``. One palette serves them, the pages of `nica.report`
and the live view: it can be told apart with any colour vision and on a grey print, and has a light and
a dark form. Needs Matplotlib: ``pip install nica[plot]``.

Examples
--------
>>> import nica
>>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
>>> model = nica.NICA(3, random_state=0).partial_fit(mixture.X)
>>> with nica.plotting.style("dark"):
...     figure = nica.plotting.NetworkDisplay.from_estimator(model).figure_
"""

from nica.plotting._palette import DARK, LIGHT, Palette
from nica.plotting._style import colors, style
from nica.plotting.network import NetworkDisplay

__all__ = ["DARK", "LIGHT", "NetworkDisplay", "Palette", "colors", "style"]
