"""The paper's figures and grid searches as experiments: one module per figure, one file of parameters.

`reproduce` runs the jobs of a figure, keeps their results as they come, draws it, and says of each claim
of the paper whether it holds here. ``nica reproduce`` is the same on the command line.
"""

from nica.experiments._experiment import Experiment, Results, Setup, Verdict
from nica.experiments._grid import Best, search
from nica.experiments._page import as_html, as_markdown
from nica.experiments._reproduce import NAMES, Reproduction, experiment, reproduce

__all__ = [
    "NAMES",
    "Best",
    "Experiment",
    "Reproduction",
    "Results",
    "Setup",
    "Verdict",
    "as_html",
    "as_markdown",
    "experiment",
    "reproduce",
    "search",
]
