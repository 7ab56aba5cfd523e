"""
In a pipeline, with names
=========================

The estimators are scikit-learn's kind: they stand in pipelines, take data frames, and give names to what
they find. Here sources are found first, and a classifier then works on them instead of on the channels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import nica
from nica.plotting import colors, style

mixture = nica.datasets.make_mixture(n_samples=4000, random_state=0)
X = pd.DataFrame(mixture.X, columns=["left", "middle", "right"])
label = mixture.S[:, 1] > 0  # whether the second source is active: not linear in the channels

on = FunctionTransformer(lambda Y: Y > 0.1)  # which sources are active
models = {
    "channels": make_pipeline(LogisticRegression()),
    "sources": make_pipeline(nica.NICA(3, random_state=0), on, LogisticRegression()),
}
scores = {name: cross_val_score(model, X, label, cv=4) for name, model in models.items()}

with style():
    figure, ax = plt.subplots(figsize=(4, 2.6), layout="constrained")
    for row, score in enumerate(scores.values()):
        ax.plot(score, np.full(len(score), row), "o", color=colors(2)[row])
    ax.set(
        yticks=[0, 1],
        yticklabels=list(scores),
        xlabel="accuracy in each of four folds",
        xlim=(0.5, 1.02),
    )
    ax.set_ylim(-0.5, 1.5)
    plt.show()

# %%
# ``set_output`` keeps the names:
print(nica.NICA(3, random_state=0).set_output(transform="pandas").fit_transform(X).head(3))
