"""Kernels as nodes of a graph: their values against fixed points, and their diagonals."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.arrays import integer_power, to_dense, to_numpy
from preimage.exceptions import UnsupportedKernelError
from preimage.interop.tracing._traced import Graph, Tensor, Traced
from preimage.kernels import (
    FreeWidthGaussian,
    Gaussian,
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
    Warped,
)
from preimage.kernels._combinations import Combination

# How a kernel writes its values k(x, p) and its diagonal k(x, x).
Values: TypeAlias = Callable[[Graph, Any, Tensor, np.ndarray], Tensor]
Diagonal: TypeAlias = Callable[[Graph, Any, Tensor], Tensor]
Rule: TypeAlias = tuple[Values, Diagonal]


def kernel_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    """k(x, p) for the tensor X of shape (N, d) and points in NumPy: a tensor of shape (N, n)."""
    if _is_profile(graph, kernel):
        return graph.profile(kernel, graph.quantity(kernel, X, points), points.shape[0])
    return _rule(graph, kernel)[0](graph, kernel, X, points)


def kernel_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    """k(x, x), a tensor of shape (N, 1)."""
    if _is_profile(graph, kernel):
        return graph.profile(kernel, graph.quantity_diagonal(kernel, X), 1)
    return _rule(graph, kernel)[1](graph, kernel, X)


def _is_profile(graph: Graph, kernel: Kernel) -> bool:
    # Methods that a subclass has written anew compute something else.
    return (
        isinstance(kernel, ProfileKernel)
        and type(kernel).prepare in (ProfileKernel.prepare, Combination.prepare)
        and type(kernel).diagonal in (ProfileKernel.diagonal, Combination.diagonal)
        and kernel.pairwise in graph.quantities
    )


def _rule(graph: Graph, kernel: Kernel) -> Rule:
    # By the exact class: a subclass may compute something else.
    if type(kernel) not in _RULES or type(kernel) in graph.without:
        names = sorted(each.__name__ for each in _RULES if each not in graph.without)
        raise UnsupportedKernelError(
            f"{graph.who} needs a kernel with a closed form; got {kernel!r:.200}. Kernels of distances and inner "
            f"products (ProfileKernel, also your own) have one, and {', '.join(names)}; functions have none."
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

    def values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
        image, images = transform(graph, kernel, X), kernel.mapped(points)
        if not kernel.own_columns:  # those are no inputs, and not mapped
            graph.remember_map(X, image, points, images)
        return kernel_values(graph, kernel.kernel, image, images)

    return values, lambda graph, kernel, X: kernel_diagonal(graph, kernel.kernel, transform(graph, kernel, X))


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
    n = points.shape[0]
    regions = [Traced(graph, graph.mapped_products(X, M, points), n) for M in kernel._maps(points)]
    powers = [integer_power(region, kernel.degree) for region in regions]
    return integer_power(sum(powers[1:], powers[0]), kernel.outer_degree).name


def _patch_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    height, width = kernel.image_shape
    regions = [graph.add("MatMul", X, M) for M in kernel._maps(np.zeros((1, height * width)))]
    norms = [graph.row_sums(graph.add("Mul", part, part)) for part in regions]
    powers = [integer_power(Traced(graph, norm, 1), kernel.degree) for norm in norms]
    return integer_power(sum(powers[1:], powers[0]), kernel.outer_degree).name


def _iterated_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    reference = _reference(kernel)
    values = kernel_values(graph, kernel.kernel, X, reference)
    return graph.image_products(X, values, points, kernel.kernel(points, reference), reference.shape[0])


def _iterated_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    reference = _reference(kernel)
    values = kernel_values(graph, kernel.kernel, X, reference)
    total = graph.row_sums(graph.add("Mul", values, values))
    return (Traced(graph, total, 1) / reference.shape[0]).name


def _reference(kernel: Iterated) -> np.ndarray:
    return np.asarray(to_numpy(to_dense(kernel.reference)), dtype=np.float64)


def _free_width_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    gammas = kernel.gammas(points)
    # The narrowest of the Gaussians decides how accurate distances must be.
    s = graph.quantity(Gaussian(float(np.max(gammas))), X, points[:, : kernel.n_features])
    return graph.add("Exp", graph.add("Mul", s, -gammas[None, :]))


def _free_width_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    return kernel_diagonal(graph, Gaussian(kernel.gamma), X)


def _warped_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray) -> Tensor:
    # k − (G k_x)·(G k_p)
    features = np.asarray(to_numpy(kernel.unwarped(points).features), dtype=np.float64)
    taken = graph.image_products(X, _graph_features(graph, kernel, X), points, features)
    return graph.add("Sub", kernel_values(graph, kernel.kernel, X, points), taken)


def _warped_diagonal(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    features = _graph_features(graph, kernel, X)
    taken = graph.row_sums(graph.add("Mul", features, features))
    return graph.add("Sub", kernel_diagonal(graph, kernel.kernel, X), taken)


def _graph_features(graph: Graph, kernel: Any, X: Tensor) -> Tensor:
    """G k_x, whose inner products a warped kernel subtracts."""
    points = np.asarray(to_numpy(to_dense(kernel.points)), dtype=np.float64)
    factor = np.asarray(to_numpy(kernel.unwarped(points).factor), dtype=np.float64)
    return graph.add("MatMul", kernel_values(graph, kernel.kernel, X, points), factor.T)


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
    Warped: (_warped_values, _warped_diagonal),
}
