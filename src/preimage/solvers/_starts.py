"""Where to start looking for a pre-image."""

from collections.abc import Callable

import numpy as np

from preimage._engine.arrays import array_namespace, take_rows, to_dense, to_numpy
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.solvers._blocks import tile_rows


def nearest_in_subspace(subspace: Subspace, Y: Array) -> Array:
    """The training points whose images are nearest to the points of `subspace` with coordinates Y."""
    return to_dense(take_rows(subspace.frame.points, ranked_in_subspace(subspace, Y, 1)[:, 0]))


def ranked_in_subspace(subspace: Subspace, Y: Array, count: int) -> np.ndarray:
    """Numbers of the `count` training points nearest in feature space to each point of the subspace, (q, count).

    ρ(xᵢ) = ‖φ(xᵢ) − Pφ(xᵢ)‖² + ‖β(xᵢ) − y‖² needs no kernel values other than the coordinates of the points.
    """
    known, residuals = subspace.of_points
    signs = 1 if subspace.signature is None else subspace.signature
    xp = array_namespace(known)
    constant = residuals + xp.sum(known * known * signs, axis=1)
    return _smallest(lambda rows: constant[None, :] - 2 * (rows * signs) @ known.T, Y, known.shape[0], count)


def nearest_points(target: Expansion) -> Array:
    """For each vector of `target`, the one of its points with the smallest ρ."""
    return to_dense(take_rows(target.inputs, ranked_points(target, 1)[:, 0]))


def ranked_points(target: Expansion, count: int) -> np.ndarray:
    """Numbers of the `count` points of `target` with the smallest ρ, for each vector, (q, count)."""
    inputs = target.inputs
    gram = Gram(target.kernel, inputs, None if inputs is target.points else target.points)
    values = gram @ target.coefficients  # ψ at all points, (n, q)
    diagonal = target.kernel.diagonal(inputs)
    return _smallest(lambda rows: diagonal[None, :] - 2 * rows, values.T, diagonal.shape[0], count)


def mean_of_neighbors(target: Expansion, count: int) -> Array:
    """For each vector of `target`, the mean of its `count` nearest points in feature space."""
    ranked = ranked_points(target, min(count, target.points.shape[0]))
    points = to_dense(target.inputs)
    total = take_rows(points, ranked[:, 0])
    for j in range(1, ranked.shape[1]):
        total = total + take_rows(points, ranked[:, j])
    return total / ranked.shape[1]


def _smallest(function: Callable[[Array], Array], rows: Array, n_columns: int, count: int) -> np.ndarray:
    """Numbers of the `count` smallest of the `n_columns` columns of `function(rows)`, ascending, for each row."""

    def pick(block: Array) -> np.ndarray:
        values = to_numpy(function(block))
        if count == 1:
            return np.argmin(values, axis=1)[:, None]
        part = np.argpartition(values, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(values, part, axis=1), axis=1, kind="stable")
        return np.take_along_axis(part, order, axis=1)

    return map_rows(pick, rows, rows=tile_rows(n_columns, rows))


def random_points(target: Expansion, rng: np.random.Generator) -> Array:
    """A random point of `target` for each of its vectors."""
    return to_dense(take_rows(target.inputs, rng.integers(target.points.shape[0], size=len(target))))
