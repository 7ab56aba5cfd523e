"""Beyond one machine: the sums of the batch solver on Dask.

A Dask array is one more `nica.batch.Source`. Each chunk's sums are a task, a tree of tasks adds them up,
and only their total comes back; the weights of a round are sent to the workers before it. Dask decides
where what runs: on threads here, or on a cluster if there is a client. Lost tasks it runs again.
"""

from nica.scale._files import open_dask, separate_store
from nica.scale._source import DaskSource, checked, transform

__all__ = ["DaskSource", "checked", "open_dask", "separate_store", "transform"]
