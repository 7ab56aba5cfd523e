"""
More data than memory
=====================

A stream may come in chunks of any size, from a file of any size. How it is cut never changes a bit of
the result, and memory does not grow with it.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import nica
from nica.plotting import SourcesDisplay, style
from nica.streams import open_chunks, open_sink

mixture = nica.datasets.make_mixture(n_samples=50_000, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "mixture.npy"
    np.save(path, mixture.X)

    model = nica.NICA(n_components=3, random_state=0)
    with (
        open_chunks(path, chunk_rows=777) as chunks,
        open_sink(Path(folder) / "sources.npy") as sink,
    ):
        for Y in model.separate(chunks):
            sink.write(Y)
    from_file = np.load(Path(folder) / "sources.npy")

at_once = nica.NICA(n_components=3, random_state=0).separate(mixture.X)
print("the same, to the bit:", from_file.tobytes() == at_once.tobytes())

with style():
    SourcesDisplay.from_data(from_file[-400:], mixture.S[-400:])
    plt.show()

# %%
# On the command line: ``nica separate mixture.npy -n 3 -o sources.npy``
