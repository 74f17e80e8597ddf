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
from preimage.kernels._combinations import Combination, Constant

# How a kernel writes its values k(x, p), or its diagonal k(x, x) where there are no points.
Rule: TypeAlias = Callable[[Graph, Any, Tensor, "np.ndarray | None"], Tensor]


def kernel_values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    """k(x, p) for the tensor X of shape (N, d) and points in NumPy: a tensor of shape (N, n).

    Without points, k(x, x) in a tensor of shape (N, 1).
    """
    if not _is_profile(graph, kernel):
        return _rule(graph, kernel)(graph, kernel, X, points)
    s = graph.quantity_diagonal(kernel, X) if points is None else graph.quantity(kernel, X, points)
    return graph.profile(kernel, s, _width(points))


def _width(points: np.ndarray | None) -> int:
    return 1 if points is None else points.shape[0]


def _is_profile(graph: Graph, kernel: Kernel) -> bool:
    # Methods that a subclass has written anew compute something else.
    return (
        isinstance(kernel, ProfileKernel)
        and type(kernel).prepare in (ProfileKernel.prepare, Combination.prepare, Constant.prepare)
        and type(kernel).diagonal in (ProfileKernel.diagonal, Combination.diagonal, Constant.diagonal)
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
    return lambda graph, kernel, X, points: graph.add(
        operator, *(kernel_values(graph, part, X, points) for part in (kernel.left, kernel.right))
    )


def _after(function: Callable[[Any, Traced], Traced]) -> Rule:
    """A function of the values of one kernel."""
    return lambda graph, kernel, X, points: (
        function(kernel, Traced(graph, kernel_values(graph, kernel.kernel, X, points), _width(points))).name
    )


def _before(transform: Callable[[Graph, Any, Tensor], Tensor]) -> Rule:
    """A kernel of transformed inputs."""

    def values(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
        image, images = transform(graph, kernel, X), None if points is None else kernel.mapped(points)
        if points is not None and images is not None and not kernel.own_columns:  # those are no inputs, and not mapped
            graph.remember_map(X, image, points, images)
        return kernel_values(graph, kernel.kernel, image, images)

    return values


def _normalized(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    squared = kernel_values(graph, kernel.kernel, X, None)
    positive = graph.add("Greater", squared, 0.0)
    root = graph.add("Sqrt", graph.add("Where", positive, squared, 1.0))
    lengths: Any = graph.add("Where", positive, graph.add("Reciprocal", root), 0.0)
    if points is None:
        return graph.add("Mul", squared, graph.add("Mul", lengths, lengths))
    squares = kernel.kernel.diagonal(points)
    of_points = np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1)), 0)
    values = kernel_values(graph, kernel.kernel, X, points)
    return graph.add("Mul", graph.add("Mul", values, lengths), of_points[None, :])


def _patches(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    height, width = kernel.image_shape
    maps = kernel._maps(np.zeros((1, height * width)) if points is None else points)
    regions = [
        _squared(graph, graph.add("MatMul", X, M)) if points is None else graph.mapped_products(X, M, points)
        for M in maps
    ]
    powers = [integer_power(Traced(graph, region, _width(points)), kernel.degree) for region in regions]
    return integer_power(sum(powers[1:], powers[0]), kernel.outer_degree).name


def _iterated(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    reference = np.asarray(to_numpy(to_dense(kernel.reference)), dtype=np.float64)
    values, n = kernel_values(graph, kernel.kernel, X, reference), reference.shape[0]
    if points is None:
        return Traced(graph, _squared(graph, values), 1).apply("Div", n).name
    return graph.image_products(X, values, points, kernel.kernel(points, reference), n)


def _free_width(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    if points is None:
        return kernel_values(graph, Gaussian(kernel.gamma), X, None)
    gammas = kernel.gammas(points)
    # The narrowest of the Gaussians decides how accurate distances must be.
    s = graph.quantity(Gaussian(float(np.max(gammas))), X, points[:, : kernel.n_features])
    return graph.add("Exp", graph.add("Mul", s, -gammas[None, :]))


def _warped(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    """k − (G k_x)·(G k_p)"""
    known = np.asarray(to_numpy(to_dense(kernel.points)), dtype=np.float64)
    factor = np.asarray(to_numpy(kernel.unwarped(known).factor), dtype=np.float64)
    features = graph.add("MatMul", kernel_values(graph, kernel.kernel, X, known), factor.T)
    if points is None:
        taken = _squared(graph, features)
    else:
        of_points = np.asarray(to_numpy(kernel.unwarped(points).features), dtype=np.float64)
        taken = graph.image_products(X, features, points, of_points)
    return graph.add("Sub", kernel_values(graph, kernel.kernel, X, points), taken)


def _precomputed(graph: Graph, kernel: Any, X: Tensor, points: np.ndarray | None) -> Tensor:
    if points is None:
        raise UnsupportedKernelError("A precomputed kernel does not know k(z, z) of new points.")
    return graph.add("Gather", X, points[:, 0], axis=1)


def _squared(graph: Graph, x: Tensor) -> Tensor:
    """The squared norm of each row."""
    return graph.row_sums(graph.add("Mul", x, x))


_RULES: dict[type, Rule] = {
    Sum: _combined("Add"),
    Product: _combined("Mul"),
    Scaled: _after(lambda kernel, values: values * kernel.factor),
    Power: _after(lambda kernel, values: integer_power(values, kernel.exponent)),
    Normalized: _normalized,
    ScaledInputs: _before(lambda graph, kernel, X: graph.add("Mul", X, kernel._roots(np.zeros(1))[None, :])),
    MappedInputs: _before(lambda graph, kernel, X: graph.add("MatMul", X, np.asarray(to_numpy(kernel.matrix)).T)),
    ShiftedInputs: _before(lambda graph, kernel, X: graph.add("Sub", X, np.asarray(to_numpy(kernel.origin))[None, :])),
    Patches: _patches,
    Iterated: _iterated,
    FreeWidthGaussian: _free_width,
    Precomputed: _precomputed,
    Warped: _warped,
}
