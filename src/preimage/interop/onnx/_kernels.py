"""Kernels as ONNX nodes, and the pairwise quantities under them, with distances that survive single precision."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from preimage._arrays import integer_power, to_dense, to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.interop.onnx._graph import Graph, Tensor, Traced
from preimage.kernels import (
    FreeWidthGaussian,
    Gaussian,
    InnerProduct,
    Iterated,
    Kernel,
    ManhattanDistance,
    MappedInputs,
    Normalized,
    PairwiseQuantity,
    Patches,
    Power,
    Precomputed,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
    SquaredDistance,
    Sum,
)

# How a kernel writes its values k(x, p) and its diagonal k(x, x).
Values: TypeAlias = Callable[[Graph, Any, Tensor, np.ndarray], Tensor]
Diagonal: TypeAlias = Callable[[Graph, Any, Tensor], Tensor]
Rule: TypeAlias = tuple[Values, Diagonal]


def kernel_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    """k(x, p) for the tensor X of shape (N, d) and points in NumPy: a tensor of shape (N, n)."""
    if _is_profile(kernel):
        return _profile(graph, kernel, quantity_values(graph, kernel, X, points), points.shape[0])
    return _rule(kernel)[0](graph, kernel, X, points)


def kernel_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    """k(x, x), a tensor of shape (N, 1)."""
    if _is_profile(kernel):
        return _profile(graph, kernel, quantity_diagonal(graph, kernel, X), 1)
    return _rule(kernel)[1](graph, kernel, X)


def _is_profile(kernel: Kernel) -> bool:
    # Methods that a subclass has written anew compute something else.
    return (
        isinstance(kernel, ProfileKernel)
        and type(kernel).blocks is ProfileKernel.blocks
        and type(kernel).diagonal is ProfileKernel.diagonal
        and is_known_quantity(kernel.pairwise)
    )


def _profile(graph: Graph, kernel: Any, s: Tensor, width: int) -> Tensor:
    try:
        return kernel.profile(Traced(graph, s, width)).name
    except (AttributeError, TypeError, ValueError) as error:
        raise UnsupportedKernelError(
            f"The profile of {kernel!r:.200} cannot be written as ONNX operators: {error}. Arithmetic, comparisons, "
            "`where` and elementary functions of the array namespace of its argument can."
        ) from error


def _rule(kernel: Kernel) -> Rule:
    # By the exact class: a subclass may compute something else.
    if type(kernel) not in _RULES:
        names = sorted(each.__name__ for each in _RULES)
        raise UnsupportedKernelError(
            f"to_onnx needs a kernel with a closed form; got {kernel!r:.200}. Kernels of distances and inner products "
            f"(ProfileKernel, also your own) can be exported, and {', '.join(names)}; functions cannot."
        )
    return _RULES[type(kernel)]


def _combined(operator: str) -> Rule:
    def values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
        left, right = (kernel_values(graph, part, X, points) for part in (kernel.left, kernel.right))
        return graph.add(operator, left, right)

    def diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
        return graph.add(operator, kernel_diagonal(graph, kernel.left, X), kernel_diagonal(graph, kernel.right, X))

    return values, diagonal


def _after(function: Callable[[Any, Traced], Traced]) -> Rule:
    """A function of the values of one kernel."""

    def values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
        inner = kernel_values(graph, kernel.kernel, X, points)
        return function(kernel, Traced(graph, inner, points.shape[0])).name

    def diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
        return function(kernel, Traced(graph, kernel_diagonal(graph, kernel.kernel, X), 1)).name

    return values, diagonal


def _before(transform: Diagonal) -> Rule:
    """A kernel of transformed inputs."""
    return (
        lambda graph, kernel, X, points: kernel_values(
            graph, kernel.kernel, transform(graph, kernel, X), kernel.mapped(points)
        ),
        lambda graph, kernel, X: kernel_diagonal(graph, kernel.kernel, transform(graph, kernel, X)),
    )


def _normalized_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    squared = kernel.kernel.diagonal(points)
    lengths = np.where(squared > 0, 1 / np.sqrt(np.where(squared > 0, squared, 1)), 0)
    values = kernel_values(graph, kernel.kernel, X, points)
    return graph.add("Mul", graph.add("Mul", values, _inverse_lengths(graph, kernel, X)), lengths[None, :])


def _normalized_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    lengths = _inverse_lengths(graph, kernel, X)
    return graph.add("Mul", kernel_diagonal(graph, kernel.kernel, X), graph.add("Mul", lengths, lengths))


def _inverse_lengths(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    squared = kernel_diagonal(graph, kernel.kernel, X)
    positive = graph.add("Greater", squared, 0.0)
    root = graph.add("Sqrt", graph.add("Where", positive, squared, 1.0))
    return graph.add("Where", positive, graph.add("Reciprocal", root), 0.0)


def _patch_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    # x M (p M)ᵀ: the points bring the region along.
    n = points.shape[0]
    regions = [Traced(graph, graph.add("MatMul", X, M @ (points @ M).T), n) for M in kernel._maps(points)]
    powers = [integer_power(region, kernel.degree) for region in regions]
    return integer_power(sum(powers[1:], powers[0]), kernel.outer_degree).name


def _patch_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    height, width = kernel.image_shape
    regions = [graph.add("MatMul", X, M) for M in kernel._maps(np.zeros((1, height * width)))]
    norms = [graph.add("ReduceSum", graph.add("Mul", part, part), np.array([1]), keepdims=1) for part in regions]
    powers = [integer_power(Traced(graph, norm, 1), kernel.degree) for norm in norms]
    return integer_power(sum(powers[1:], powers[0]), kernel.outer_degree).name


def _iterated_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    reference = _reference(kernel)
    values = kernel_values(graph, kernel.kernel, X, reference)
    return graph.add("MatMul", values, kernel.kernel(points, reference).T / reference.shape[0])


def _iterated_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    reference = _reference(kernel)
    values = kernel_values(graph, kernel.kernel, X, reference)
    total = graph.add("ReduceSum", graph.add("Mul", values, values), np.array([1]), keepdims=1)
    return (Traced(graph, total, 1) / reference.shape[0]).name


def _reference(kernel: Iterated) -> np.ndarray:
    return np.asarray(to_numpy(to_dense(kernel.reference)), dtype=np.float64)


def _free_width_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    gammas = kernel.gammas(points)
    # The narrowest of the Gaussians decides how accurate distances must be.
    s = quantity_values(graph, Gaussian(float(np.max(gammas))), X, points[:, : kernel.n_features])
    return graph.add("Exp", graph.add("Mul", s, -gammas[None, :]))


def _free_width_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    return kernel_diagonal(graph, Gaussian(kernel.gamma), X)


def _precomputed_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    return graph.add("Gather", X, points[:, 0], axis=1)


def _precomputed_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    raise UnsupportedKernelError("A precomputed kernel does not know k(z, z) of new points.")


_RULES: dict[type, Rule] = {
    Sum: _combined("Add"),
    Product: _combined("Mul"),
    Scaled: _after(lambda kernel, values: values * kernel.factor),
    Power: _after(lambda kernel, values: integer_power(values, kernel.exponent)),
    Normalized: (_normalized_values, _normalized_diagonal),
    ScaledInputs: _before(lambda graph, kernel, X: graph.add("Mul", X, kernel._roots(np.zeros(1))[None, :])),
    MappedInputs: _before(lambda graph, kernel, X: graph.add("MatMul", X, np.asarray(to_numpy(kernel.matrix)).T)),
    ShiftedInputs: _before(lambda graph, kernel, X: graph.add("Sub", X, np.asarray(to_numpy(kernel.origin))[None, :])),
    Patches: (_patch_values, _patch_diagonal),
    Iterated: (_iterated_values, _iterated_diagonal),
    FreeWidthGaussian: (_free_width_values, _free_width_diagonal),
    Precomputed: (_precomputed_values, _precomputed_diagonal),
}


# Entries in the difference of one query with a block of points, 16 kB in single precision: runtimes hold it for every
# query of a batch at once, so that ten times more would take 160 MB for a batch of a thousand.
BLOCK = 4096
# Points on which rounding errors are measured: the error of the worst of them stands for all.
SAMPLE = 256


def quantity_values(graph: Graph, kernel: ProfileKernel, X: Tensor, points: np.ndarray) -> Tensor:
    """s(x, p) of the quantity of a profile kernel, shape (N, n)."""
    if kernel.pairwise == InnerProduct():
        return graph.add("MatMul", X, points.T)
    if kernel.pairwise == ManhattanDistance():
        return _by_differences(graph, X, points, lambda difference: graph.add("Abs", difference))
    if graph.dtype == np.float32 and _rounding_shows(kernel, points, graph.tolerance):
        return _by_differences(graph, X, points, lambda difference: graph.add("Mul", difference, difference))
    return _by_product(graph, X, points)


def quantity_diagonal(graph: Graph, kernel: ProfileKernel, X: Tensor) -> Tensor:
    """s(x, x), shape (N, 1)."""
    squared = graph.add("ReduceSum", graph.add("Mul", X, X), np.array([1]), keepdims=1)
    return squared if kernel.pairwise == InnerProduct() else graph.add("Expand", 0.0, graph.add("Shape", squared))


def is_known_quantity(quantity: PairwiseQuantity) -> bool:
    return quantity in (InnerProduct(), ManhattanDistance(), SquaredDistance())


def _by_product(graph: Graph, X: Tensor, points: np.ndarray) -> Tensor:
    """‖x‖² − 2x·p + ‖p‖² after a shift by the median point, as `SquaredDistance` does."""
    shift = _middle(points)
    points = points - shift
    X = graph.add("Sub", X, shift[None, :])
    squares = graph.add("ReduceSum", graph.add("Mul", X, X), np.array([1]), keepdims=1)
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
