"""Pairwise quantities as ONNX nodes, with distances that survive single precision."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from preimage.interop.tracing import Graph, Tensor
from preimage.kernels import InnerProduct, ManhattanDistance, ProfileKernel

# Entries in the difference of one query with a block of points, 16 kB in single precision: runtimes hold it for every
# query of a batch at once, so that ten times more would take 160 MB for a batch of a thousand.
BLOCK = 4096
# Points on which rounding errors are measured: the error of the worst of them stands for all.
SAMPLE = 256


def quantity_values(graph: Graph, kernel: ProfileKernel, X: Tensor, points: np.ndarray, tolerance: float) -> Tensor:
    """s(x, p) of the quantity of a profile kernel, shape (N, n); `tolerance` is the allowed error of a kernel value."""
    if kernel.pairwise == InnerProduct():
        return graph.add("MatMul", X, points.T)
    if kernel.pairwise == ManhattanDistance():
        return _by_differences(graph, X, points, lambda difference: graph.add("Abs", difference))
    if graph.dtype == np.float32 and _rounding_shows(kernel, points, tolerance):
        return _by_differences(graph, X, points, lambda difference: graph.add("Mul", difference, difference))
    return _by_product(graph, X, points)


def quantity_diagonal(graph: Graph, kernel: ProfileKernel, X: Tensor) -> Tensor:
    """s(x, x), shape (N, 1)."""
    squared = graph.row_sums(graph.add("Mul", X, X))
    return squared if kernel.pairwise == InnerProduct() else graph.filled_like(squared, 0.0)


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
