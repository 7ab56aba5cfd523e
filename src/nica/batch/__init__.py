"""The batch solver behind ``NICA(solver="batch")``: sums over blocks, and what follows from them.

All that it asks of the samples are sums over blocks and a bounded selection of rows, so that the same
code serves an array, a memmap, chunks of a file (`nica.batch.sources`) and a cluster (`nica.scale`):

1. a robust look at a selection says where the samples lie, and what is an outlier (`_moments`);
2. one pass sums means and products; their eigenvectors whiten (Theorem 2);
3. several starts of mini-batch similarity matching search on a selection (`_rounds`);
4. rounds over all samples bring the best of them to rest.
"""

from nica.batch._solve import Solution, solve
from nica.batch.sources import ArraySource, BadSampleError, ChunkSource, Source, Total, Work

__all__ = [
    "ArraySource",
    "BadSampleError",
    "ChunkSource",
    "Solution",
    "Source",
    "Total",
    "Work",
    "solve",
]
