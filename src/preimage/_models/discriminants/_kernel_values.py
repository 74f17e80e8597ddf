"""Labelled data of a kernel, and its values with expansion points: in NumPy and double precision."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, as_points, from_numpy, in_double, in_memory, is_lazy, to_numpy
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage.feature_space import Expansion, Gram, require_finite
from preimage.kernels import Kernel

# Rows of lazy data whose values are computed together: 4,096 × 1,000 kernel values take 32 MB.
BLOCK = 4096


@dataclass(frozen=True)
class LabelledData:
    """A resolved kernel, inputs as it keeps them, classes by number, and weights.

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (n, d), possibly lazy; or row numbers
    codes : integer array of shape (n,)
    classes : array of shape (n_classes,)
    weights : array of shape (n,) or None
        None is one each.
    """

    kernel: Kernel
    X: Array
    codes: Array
    classes: Array
    weights: Array | None

    @property
    def n_classes(self) -> int:
        return self.classes.size

    @property
    def count(self) -> float:
        """The sum of weights."""
        return float(self.codes.size if self.weights is None else self.weights.sum())

    def without_rows(self) -> "LabelledData":
        """Kernel and classes alone, to keep for later batches."""
        return replace(self, X=None, codes=None, weights=None)


def gram_matrix(kernel: Kernel, points: Array, others: Array | None = None) -> Array:
    """Kernel values in NumPy, in double precision from the start: small ridges are below rounding errors of single."""
    if not kernel.points_are_row_numbers:
        points = in_double(points)
        others = None if others is None else in_double(others)
    values = double(Gram(kernel, points, others).dense())
    require_finite(values, kernel)
    return values


def coefficients_on(kernel: Kernel, points: Array, coefficients: Array) -> Expansion:
    """The vectors with the given coefficients, on the device of the points and in double precision.

    Coefficients of a small ridge are large and cancel; in single precision nothing would be left of the values.
    """
    points = points if kernel.points_are_row_numbers else in_double(points)
    return Expansion(kernel, points, from_numpy(coefficients, points, dtype=array_namespace(points).float64))


def values_at(expansion: Expansion, X: Array) -> Array:
    """Function values at rows that may be lazy, in NumPy."""
    in_points = lambda rows: rows if expansion.kernel.points_are_row_numbers else in_double(as_points(rows))
    values = map_rows(lambda rows: expansion(in_points(rows)), X, rows=BLOCK) if is_lazy(X) else expansion(in_points(X))
    return to_numpy(in_memory(values)).astype(np.float64)


def double(array: Array) -> Array:
    return to_numpy(array).astype(np.float64, copy=False)
