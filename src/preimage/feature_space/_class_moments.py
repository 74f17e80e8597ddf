"""Moments of the classes of labelled data, merged over any split of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from preimage._arrays import as_points, from_numpy, in_double, take_rows, to_numpy
from preimage._rows import sum_rows
from preimage._typing import Array, Rows
from preimage.feature_space._moments import BLOCK, Moments, shifted_kernel_values
from preimage.kernels import Kernel


@dataclass(frozen=True)
class ClassMoments:
    r"""Weighted count, mean and scatter of the rows of each class, in NumPy and double precision.

    All that linear discriminants use of the data: the scatter within classes
    :math:`\sum_c \sum_{i \in c} w_i (y_i - m_c)(y_i - m_c)^\top` and the one between them
    :math:`\sum_c \ell_c (m_c - m)(m_c - m)^\top`. `a + b` are the moments of both sets of data.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import ClassMoments
    >>> moments = ClassMoments.of(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]), 2)
    >>> moments.means, moments.within
    (array([[1.],
           [5.]]), array([[2.]]))
    """

    classes: tuple[Moments, ...]

    @classmethod
    def of(cls, Y: Array, codes: Array, n_classes: int, weights: Array | None = None) -> ClassMoments:
        """Moments of the rows of Y by class.

        Parameters
        ----------
        Y : array of shape (n, m)
        codes : integer array of shape (n,)
            Classes 0 … n_classes − 1; rows with the code −1 belong to none.
        n_classes : int
        weights : array of shape (n,), optional
            Rows of weight zero are left out.
        """
        return cls(tuple(_moments(Y, codes == c, weights) for c in range(n_classes)))

    @classmethod
    def of_kernel_values(
        cls,
        kernel: Kernel,
        points: Array,
        X: Rows,
        codes: Array,
        n_classes: int,
        weights: Array | None = None,
        *,
        factor: Array | None = None,
    ) -> ClassMoments:
        """Moments of k(points, x) over the labelled rows of X, an array, a memory map or a Dask array, in one pass.

        With a `factor` B in NumPy, shape (m, r), they are moments of the coordinates Bᵀk(points, x): each row is
        transformed before it is summed. Kernel values are computed in double precision, whatever X has.
        """
        as_numbers = kernel.points_are_row_numbers
        values_of = kernel.against(points if as_numbers else in_double(points))

        def block(rows: Array, codes: Array, weights: Array | None) -> ClassMoments:
            # About a row of the block: kernel values of wide kernels are nearly constant, and squares of them would
            # lose digits.
            Y, shift = shifted_kernel_values(values_of, rows if as_numbers else in_double(as_points(rows)))
            if factor is not None:
                B = from_numpy(factor, Y)
                Y, shift = Y @ B, shift @ B
            return cls.of(Y, codes, n_classes, weights).moved(to_numpy(shift))

        return sum_rows(block, X, codes, weights, rows=BLOCK, device_of=points)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return ClassMoments(tuple(a + b for a, b in zip(self.classes, other.classes, strict=True)))

    @property
    def counts(self) -> np.ndarray:
        """Sums of weights, shape (n_classes,); zero for a class without rows."""
        return np.array([each.count for each in self.classes])

    @property
    def means(self) -> np.ndarray:
        """Shape (n_classes, m); zeros for a class without rows."""
        return np.stack([each.mean for each in self.classes])

    @property
    def scatters(self) -> np.ndarray:
        """Shape (n_classes, m, m)."""
        return np.stack([each.scatter for each in self.classes])

    @property
    def count(self) -> float:
        return float(self.counts.sum())

    @property
    def mean(self) -> np.ndarray:
        """Of all rows, shape (m,)."""
        return self.counts @ self.means / self.count

    @property
    def within(self) -> np.ndarray:
        """Scatter within classes, shape (m, m): a sum over rows, not a mean."""
        return reduce(add, [each.scatter for each in self.classes])

    @property
    def between_factor(self) -> np.ndarray:
        """E with EEᵀ the scatter between classes, shape (m, n_classes)."""
        return (np.sqrt(self.counts)[:, None] * (self.means - self.mean)).T

    def moved(self, shift: Array) -> ClassMoments:
        """Moments of the rows Y + shift."""
        return ClassMoments(
            tuple(replace(each, mean=each.mean + shift) if each.count else each for each in self.classes)
        )

    def projected(self, A: Array) -> ClassMoments:
        """Moments of the rows Y A."""
        return ClassMoments(tuple(each.mapped(A) for each in self.classes))

    def merged(self, members: Sequence[bool]) -> ClassMoments:
        """Moments of two groups of classes: those that are not and those that are `members`."""
        groups = [[each for each, is_in in zip(self.classes, members, strict=True) if is_in == side] for side in (0, 1)]
        return ClassMoments(tuple(reduce(add, group, Moments.empty(self.means)) for group in groups))


def _moments(Y: Array, members: Array, weights: Array | None) -> Moments:
    """Moments of some rows, in NumPy and double precision."""
    numbers = np.flatnonzero(members if weights is None else members & (weights > 0))
    if numbers.size == 0:
        return Moments.empty(np.empty((1, Y.shape[1])))
    rows = Y if numbers.size == Y.shape[0] else take_rows(Y, numbers)
    of = Moments.of(rows, None if weights is None else from_numpy(weights[numbers], rows))
    return Moments(of.count, to_numpy(of.mean).astype(np.float64), to_numpy(of.scatter).astype(np.float64))
