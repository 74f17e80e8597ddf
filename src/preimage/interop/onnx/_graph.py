"""A graph of ONNX operators, written one node at a time."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from preimage.interop.onnx._quantities import quantity_diagonal, quantity_values
from preimage.interop.tracing import Graph, Tensor, traced
from preimage.kernels import InnerProduct, ManhattanDistance, ProfileKernel, SquaredDistance

# Reductions take their axes as inputs from 18 on; onnxruntime reads it since 1.14.
OPSET, IR_VERSION = 18, 8


class OnnxGraph(Graph):
    """Nodes and constants of a graph whose floating numbers have one type.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    tolerance : float, default=0
        Error of a single kernel value that does not show in the outputs.
    outer : OnnxGraph or None, default=None
        The graph around this one, if it is the body of a loop: names are distinct in both.
    """

    who, operators = "to_onnx", "ONNX operators"
    quantities = (InnerProduct(), ManhattanDistance(), SquaredDistance())

    def __init__(self, dtype: DTypeLike, tolerance: float = 0.0, outer: "OnnxGraph | None" = None):
        super().__init__(dtype)
        self.tolerance = tolerance
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._count: list[int] = [0] if outer is None else outer._count

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> Tensor:
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

    def number(self, value: float, width: int) -> Tensor:
        # In double precision no scalar: onnxruntime merges those into matrix products, as numbers of single precision.
        return self.constant(np.full((1, width if self.dtype == np.float64 else 1), value))

    def double(self, value: Any) -> Tensor:
        """A constant in double precision, whatever the type of the graph."""
        return self._keep(np.asarray(value, dtype=np.float64))

    def cast(self, name: Tensor, dtype: DTypeLike) -> Tensor:
        return self.add("Cast", name, to=element_type(dtype))

    def filled_like(self, x: Tensor, value: float) -> Tensor:
        shape = self.add("Shape", x)
        return self.add("Expand", value, shape)

    def row_sums(self, x: Tensor) -> Tensor:
        return self.add("ReduceSum", x, np.array([1]), keepdims=1)

    def quantity(self, kernel: ProfileKernel, X: Tensor, points: np.ndarray) -> Tensor:
        return quantity_values(self, kernel, X, points, self.tolerance)

    def quantity_diagonal(self, kernel: ProfileKernel, X: Tensor) -> Tensor:
        return quantity_diagonal(self, kernel, X)

    def profile(self, kernel: ProfileKernel, s: Tensor, width: int) -> Tensor:
        return traced(self, kernel, kernel.profile, s, width)

    def mapped_products(self, X: Tensor, matrix: np.ndarray, points: np.ndarray) -> Tensor:
        return self.add("MatMul", X, matrix @ (points @ matrix).T)  # the points bring the map along

    def image_products(
        self, X: Tensor, image: Tensor, points: np.ndarray, images: np.ndarray, divisor: float = 1.0
    ) -> Tensor:
        return self.add("MatMul", image, images.T / divisor)

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
