"""Kernels as ONNX nodes."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from preimage._arrays import integer_power, to_dense, to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.interop.onnx._distances import is_known_quantity, quantity_diagonal, quantity_values
from preimage.interop.onnx._graph import Graph, Tensor, Traced
from preimage.kernels import (
    Iterated,
    Kernel,
    MappedInputs,
    Normalized,
    Patches,
    Power,
    Precomputed,
    Product,
    ProfileKernel,
    Scaled,
    ScaledInputs,
    ShiftedInputs,
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
            graph, kernel.kernel, transform(graph, kernel, X), kernel._map(points)
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
    Precomputed: (_precomputed_values, _precomputed_diagonal),
}
