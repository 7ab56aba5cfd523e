"""The batch solver behind ``FacetNICA``: from samples to the facets of their cone.

`nica.equations.facets` has the likelihood and its derivation. Here are the steps around it:

1. a robust look and one pass say where the samples lie, and reduce them to d dimensions (`_prepare`);
2. starts search on a selection of the samples, and what they end in is sharpened (`_search`);
3. passes over all samples bring the best of them to rest (`_polish`).

`choose` says what to take if facets cannot be trusted: a cone or factors of small volume.

All that is asked of the samples are sums over blocks and a bounded selection, as in `nica.batch`.
"""

from nica.facets._choose import Choice, choose, chosen
from nica.facets._solve import FacetSolution, solve
from nica.facets._trust import FacetTrust, trust

__all__ = ["Choice", "FacetSolution", "FacetTrust", "choose", "chosen", "solve", "trust"]
