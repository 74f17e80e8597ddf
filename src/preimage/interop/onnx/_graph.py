"""A graph of ONNX operators, written one node at a time, with distances that survive single precision."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy.spatial.distance import cdist

from preimage.interop.tracing import Graph, Tensor, traced
from preimage.kernels import InnerProduct, ManhattanDistance, ProfileKernel, SquaredDistance

# Reductions take their axes as inputs from 18 on; onnxruntime reads it since 1.14.
OPSET, IR_VERSION = 18, 8
# Entries in the difference of one query with a block of points, 16 kB in single precision: runtimes hold it for every
# query of a batch at once, so that ten times more would take 160 MB for a batch of a thousand.
BLOCK = 4096
# Points on which rounding errors are measured: the error of the worst of them stands for all.
SAMPLE = 256


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
        if kernel.pairwise == InnerProduct():
            return self.add("MatMul", X, points.T)
        if kernel.pairwise == ManhattanDistance():
            return _by_differences(self, X, points, lambda difference: self.add("Abs", difference))
        if self.dtype == np.float32 and _rounding_shows(kernel, points, self.tolerance):
            return _by_differences(self, X, points, lambda difference: self.add("Mul", difference, difference))
        return _by_product(self, X, points)

    def quantity_diagonal(self, kernel: ProfileKernel, X: Tensor) -> Tensor:
        squared = self.row_sums(self.add("Mul", X, X))
        return squared if kernel.pairwise == InnerProduct() else self.filled_like(squared, 0.0)

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


def _by_product(graph: Graph, X: Tensor, points: np.ndarray) -> Tensor:
    """‖x‖² − 2x·p + ‖p‖² after a shift by the median point, as `SquaredDistance` does."""
    shift = _middle(points)
    points = points - shift
    X = graph.add("Sub", X, shift[None, :])
    squares = graph.row_sums(graph.add("Mul", X, X))
    mixed = graph.add("MatMul", X, -2 * points.T)
    total = graph.add("Add", graph.add("Add", mixed, squares), np.sum(points**2, axis=1)[None, :])
    return graph.add("Relu", total)


def _by_differences(graph: Graph, X: Tensor, points: np.ndarray, magnitude: Callable[[Tensor], Tensor]) -> Tensor:
    """Σ_f |x_f − p_f| or Σ_f (x_f − p_f)² without cancellation; points in blocks, which bounds the memory."""
    X = graph.add("Unsqueeze", X, np.array([1]))  # (N, 1, d)
    size = max(1, BLOCK // points.shape[1])
    parts = []
    for first in range(0, points.shape[0], size):
        difference = graph.add("Sub", X, points[None, first : first + size])
        parts.append(graph.add("ReduceSum", magnitude(difference), np.array([2]), keepdims=0))
    return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=1)


def _rounding_shows(kernel: ProfileKernel, points: np.ndarray, tolerance: float) -> bool:
    """Whether the product in single precision moves kernel values, near the points and between them, too far."""
    points = points[:: max(1, points.shape[0] // SAMPLE)]
    # At the points themselves distances are zero and cancel most; half-way between two of them they are typical.
    queries = np.concatenate([points, (points + np.roll(points, 1, axis=0)) / 2]).astype(np.float32)
    shift = _middle(points).astype(np.float32)
    left, right = queries - shift, points.astype(np.float32) - shift
    rounded = np.maximum(np.sum(left**2, 1)[:, None] - 2 * left @ right.T + np.sum(right**2, 1), np.float32(0))
    exact = cdist(queries.astype(float), points.astype(np.float32).astype(float), "sqeuclidean")
    with np.errstate(all="ignore"):
        error = np.abs(kernel.profile(rounded.astype(float)) - kernel.profile(exact))
    return not bool(np.max(error) <= tolerance)


def _middle(points: np.ndarray) -> np.ndarray:
    return np.sort(points, axis=0)[points.shape[0] // 2]
