"""A frozen network as an ONNX graph: ``transform`` where there is no Python.

Layer 1 is one matrix product. Layer 2 settles by the paper's coordinate sweeps (section 3.2), each
neuron once a sweep, written out as often as it takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nica.networks import NICA, NSM, OnlineWhitening
from nica.networks._settings import whole

try:
    import onnx
    from onnx import helper, numpy_helper
except ImportError as error:
    raise ImportError(
        "nica.compat.onnx needs onnx, which is not installed: pip install 'nica[onnx]'"
    ) from error

__all__ = ["to_onnx"]

FloatArray = NDArray[np.float64]

OPSET = 13
DRAWS = 4096  # inputs on which the sweeps are counted
SETTLED = 1e-12  # largest change of an output, relative to 1 plus the largest drive
MOST_SWEEPS = 1000


def to_onnx(model: Any, *, sweeps: int | None = None) -> onnx.ModelProto:
    r"""Write ``model.transform`` as an ONNX graph of standard operators, in double precision.

    .. math:: h = F x, \qquad y_i \leftarrow \max\Bigl(\sum_j W^{YH}_{ij} h_j
        - \sum_{j \ne i} W^{YY}_{ij} y_j,\; 0\Bigr)

    Parameters
    ----------
    model : NICA, NSM or OnlineWhitening
        Fitted. What it learns later does not reach the graph.
    sweeps : int, optional
        Sweeps of layer 2. None takes half as many again as settle the worst of 4096 random inputs to
        12 digits.

    Returns
    -------
    onnx.ModelProto
        With input ``X`` (n_samples, n_channels) and output ``Y`` (n_samples, n_outputs).

    Examples
    --------
    >>> import nica, onnxruntime
    >>> from nica.compat.onnx import to_onnx
    >>> mixture = nica.datasets.make_mixture(n_samples=5000, random_state=0)
    >>> model = nica.NICA(n_components=3, random_state=0).fit(mixture.X)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> (Y,) = session.run(["Y"], {"X": mixture.X})
    >>> bool(abs(Y - model.transform(mixture.X)).max() < 1e-9)
    True
    """
    if not isinstance(model, (NICA, NSM, OnlineWhitening)):
        raise TypeError(
            f"model is {type(model).__name__}: give a fitted NICA, NSM or OnlineWhitening"
        )
    first = _input_map(model)
    graph = _Graph()
    if isinstance(model, OnlineWhitening):
        graph.node("MatMul", ["X", graph.constant("F_T", first.T)], "Y")
    else:
        inhibition = model.w_yy_
        count = _needed(inhibition) if sweeps is None else whole(sweeps, "sweeps", minimum=1)
        _layer_2(graph, model.w_yh_ @ first, inhibition, count)
    return graph.model(first.shape[1], model._n_features_out)


def _input_map(model: Any) -> FloatArray:
    """What becomes of the input before layer 2: F, or the gain alone."""
    if isinstance(model, NSM):
        return np.diag(model._ready().get_state()["gain"].ravel())
    return np.asarray(model.whitening_)


def _needed(inhibition: FloatArray) -> int:
    """Sweeps that settle random drives, and half as many again."""
    d = len(inhibition)
    rng = np.random.default_rng(0)
    drive = rng.standard_normal((DRAWS, d))
    enough = SETTLED * (1 + np.abs(drive).max())
    y = np.zeros_like(drive)
    for sweep in range(1, MOST_SWEEPS):
        before = y.copy()
        for i in range(d):
            y[:, i] = np.maximum(drive[:, i] - y @ inhibition[i], 0)
        if np.max(np.abs(y - before)) <= enough:
            return sweep + sweep // 2
    return MOST_SWEEPS


def _layer_2(graph: _Graph, drive: FloatArray, inhibition: FloatArray, sweeps: int) -> None:
    """Coordinate sweeps, written out; a column of the batch for each neuron."""
    d = len(inhibition)
    for i in range(d):
        graph.node("MatMul", ["X", graph.constant(f"drive_{i}", drive[i][:, np.newaxis])], f"c_{i}")
        graph.constant(f"inhibition_{i}", np.delete(inhibition[i], i)[:, np.newaxis])
    y = [graph.node("Relu", [f"c_{i}"], f"y_{i}_0") for i in range(d)]
    for sweep in range(1, sweeps + 1 if d > 1 else 1):
        for i in range(d):
            others = graph.node("Concat", [*y[:i], *y[i + 1 :]], f"o_{i}_{sweep}", axis=1)
            part = graph.node("MatMul", [others, f"inhibition_{i}"], f"p_{i}_{sweep}")
            net = graph.node("Sub", [f"c_{i}", part], f"n_{i}_{sweep}")
            y[i] = graph.node("Relu", [net], f"y_{i}_{sweep}")
    graph.node("Concat", y, "Y", axis=1)


class _Graph:
    """Nodes and constants, collected."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: FloatArray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def model(self, n_channels: int, n_outputs: int) -> onnx.ModelProto:
        def port(name: str, columns: int) -> Any:
            return helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, ["n", columns])

        graph = helper.make_graph(
            self.nodes, "nica", [port("X", n_channels)], [port("Y", n_outputs)], self.constants
        )
        made = helper.make_model(
            graph,
            producer_name="nica",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        onnx.checker.check_model(made, full_check=True)
        return made
