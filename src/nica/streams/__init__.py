"""Files and pipes as chunks of samples, and back: a registry, one module per format.

`open_chunks` gives any source as float64 chunks (n, n_channels), whatever its size; `open_sink`
takes the outputs and puts them under their final name when they are whole. The table of formats is
`FORMATS`; each is read by the library that keeps it (NumPy, SciPy, pyarrow, h5py, zarr, tifffile),
never through a pickle.
"""

from nica.streams._chunks import Chunks
from nica.streams._open import open_chunks, open_sink
from nica.streams._registry import FORMATS, Format
from nica.streams._sink import Sink

__all__ = ["FORMATS", "Chunks", "Format", "Sink", "open_chunks", "open_sink"]
