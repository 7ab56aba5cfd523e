"""
Can it be believed?
===================

A wrong separation looks as good as a right one: its outputs are nonnegative, its fit is small.
:func:`nica.diagnose` separates again from other starts and on parts of the data, asks a second method, and
reports what does not agree. Two mixtures: in the second one, no source ever comes near zero.
"""

import matplotlib.pyplot as plt

import nica
from nica.plotting import DiagnosisDisplay, style

good = nica.datasets.make_mixture(n_samples=20_000, random_state=0)
diagnosis = nica.diagnose(good.X)
print(diagnosis)
with style():
    DiagnosisDisplay.from_data(diagnosis)
    plt.show()

# %%
# Sources far above zero leave the turn open: many are equally nonnegative.
S = good.S + 2.5
diagnosis = nica.diagnose(S @ good.A.T)
print(diagnosis)
with style():
    DiagnosisDisplay.from_data(diagnosis)
    plt.show()
