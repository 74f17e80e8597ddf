"""A graph of ONNX operators, written one line at a time."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

# A tensor of a graph is known by its name.
Tensor: TypeAlias = str
# Reductions take their axes as inputs from 18 on; onnxruntime reads it since 1.14.
OPSET, IR_VERSION = 18, 8


class Graph:
    """Nodes and constants of a graph whose floating numbers have one type.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    tolerance : float, default=0
        Error of a single kernel value that does not show in the outputs.
    outer : Graph or None, default=None
        The graph around this one, if it is the body of a loop: names are distinct in both.
    """

    def __init__(self, dtype: DTypeLike, tolerance: float = 0.0, outer: "Graph | None" = None):
        self.dtype = np.dtype(dtype)
        self.tolerance = tolerance
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count: list[int] = [0] if outer is None else outer._count

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> Tensor:
        """Append a node; its output's name. Inputs that are no names become constants."""
        name = self.name(operator)
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(onnx().helper.make_node(operator, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> Tensor:
        """A constant: floating numbers take the type of the graph, integers are int64, objects are strings."""
        value = np.asarray(value)
        if value.dtype.kind == "f":
            value = value.astype(self.dtype)
        elif value.dtype.kind in "iu":
            value = value.astype(np.int64)
        elif value.dtype.kind in "UO":
            value = value.astype(object)
        return self._keep(value)

    def double(self, value: Any) -> Tensor:
        """A constant in double precision, whatever the type of the graph."""
        return self._keep(np.asarray(value, dtype=np.float64))

    def cast(self, name: Tensor, dtype: DTypeLike) -> Tensor:
        """The same values in another type, such as "int64"."""
        return self.add("Cast", name, to=element_type(dtype))

    def _keep(self, value: np.ndarray) -> Tensor:
        name = self.name("constant")
        self.constants.append(onnx().numpy_helper.from_array(value, name))
        return name

    def name(self, what: str) -> Tensor:
        """A name that no other tensor has."""
        self._count[0] += 1
        return f"{what}_{self._count[0]}"


def element_type(dtype: DTypeLike) -> int:
    """ONNX's number of a NumPy type; strings are objects there."""
    return onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def onnx() -> Any:
    """The package, or an error that says what to install."""
    try:
        import onnx as package
    except ImportError as error:
        raise ImportError('to_onnx needs onnx, which is not installed. Type: pip install "preimage[onnx]"') from error
    return package
