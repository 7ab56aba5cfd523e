"""Doors to other libraries: `nica.compat.river` and `nica.compat.onnx`.

Each needs its library (``pip install 'nica[river]'``, ``'nica[onnx]'``) and is imported by name.
What needs no door: scikit-learn's pipelines, pandas, polars and xarray, torch tensors on the CPU and
other arrays of the array API go into every estimator and `nica.offline`, and come out as what went in.
"""
