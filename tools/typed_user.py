"""A user's program, for type checkers: what the public names give has the types that a user expects."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nica
from nica import live, plotting, report
from nica.datasets import make_mixture

Array = NDArray[np.float64]

mixture = make_mixture(n_samples=2000, random_state=0)
X: Array = mixture.X
model = nica.NICA(n_components=3, half_life=1000, random_state=0)
Y: Array = model.separate(X)
chunks: Iterator[Array] = model.separate(iter([X[:10], X[10:]]))
y: Array = model.separate_one(X[0])
settled: nica.NICA = nica.NICA(3).fit(X)
out: Array = settled.transform(X)
weights: Array = settled.w_yh_
model.save("m.safetensors")
again: nica.NICA = nica.load("m.safetensors")
print(nica.load("m.safetensors").unmixing_, again.health_)
diagnosis = nica.diagnose(X, 3)
verdict: str = diagnosis.verdict
print(diagnosis.to_json(), diagnosis.plot().figure_)
rank: int = nica.estimate_n_components(X).n_components
half_life: float | None = nica.estimate_drift(X).half_life
parameters: dict[str, Any] = nica.tune(X).parameters
best = nica.sweep(X, {"half_life": [500, None]}, seeds=2).best
display = plotting.SourcesDisplay.from_estimator(settled, X, mixture.S)
with plotting.style("dark"):
    display.plot()
record = report.Record()
record.add(X, Y, model)
report.save(report.separation(record, model, diagnosis=diagnosis), "r.html")
with live.view(model) as view:
    url: str = view.url
with nica.streams.open_chunks("m.csv") as source, nica.streams.open_sink("o.csv") as sink:
    for chunk in model.separate(source):
        sink.write(chunk)
error: float = nica.metrics.match_sources(mixture.S, Y).error
rate = nica.rates.Time(100, 1)
fixed = nica.offline.nsm_pgd
F: Array = nica.equations.prewhitening_matrix(np.eye(3), np.eye(3))
for rival in (nica.NonnegativePCA, nica.OnlineFastICA, nica.OnlineInfomax, nica.LinskerICA):
    rival(random_state=0).fit(X)
nica.OnlineWhitening(3).fit(X)
nica.NSM(3).fit(X)
print(nica.theory.stationary_weights, nica.experiments.NAMES, nica.report.Html, nica.__version__)
nica.show_config()
