"""Moments of the classes of labelled data, merged over any split of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import as_rows, from_numpy, in_double, take_rows, to_numpy
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows
from preimage.feature_space._moments import BLOCK, ShiftedValues
from preimage.kernels import Kernel


@dataclass(frozen=True)
class ClassMoments:
    r"""Weighted count, mean and scatter of the rows of each class, in NumPy and double precision.

    All that linear discriminants use of the data: the scatter within classes
    :math:`\sum_c \sum_{i \in c} w_i (y_i - m_c)(y_i - m_c)^\top` and the one between them
    :math:`\sum_c \ell_c (m_c - m)(m_c - m)^\top`. `a + b` are the moments of both sets of data.

    Means and scatters may be stacks of several, for rows Y of shape (…, n, m) with the same classes and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import ClassMoments
    >>> moments = ClassMoments.of(np.array([[0.0], [2.0], [5.0]]), np.array([0, 0, 1]), 2)
    >>> moments.means, moments.within
    (array([[1.],
           [5.]]), array([[2.]]))

    Attributes
    ----------
    counts : array of shape (n_classes,)
        Sums of weights; zero for a class without rows.
    means : array of shape (…, n_classes, m)
        Zeros for a class without rows.
    scatters : array of shape (…, n_classes, m, m)
    """

    counts: np.ndarray
    means: np.ndarray
    scatters: np.ndarray

    @classmethod
    def of(cls, Y: Array, codes: Array, n_classes: int, weights: Array | None = None) -> ClassMoments:
        """Moments of the rows of Y by class.

        Parameters
        ----------
        Y : array of shape (n, m), or a stack of NumPy arrays
        codes : integer array of shape (n,)
            Classes 0 … n_classes − 1; rows with the code −1 belong to none.
        n_classes : int
        weights : array of shape (n,), optional
            Rows of weight zero are left out.
        """
        counted = codes >= 0 if weights is None else (codes >= 0) & (weights > 0)
        # By class, so that the rows of each are consecutive. All classes share the calls but for one product each.
        order = np.argsort(np.where(counted, codes, n_classes), kind="stable")[: np.count_nonzero(counted)]
        codes, Y = codes[order], take_rows(Y, order) if Y.ndim == 2 else Y[..., order, :]
        of_rows = np.ones(order.size) if weights is None else weights[order]
        counts = np.bincount(codes, of_rows, n_classes)
        members = (codes[:, None] == np.arange(n_classes)).astype(np.float64)
        means = from_numpy((members * of_rows[:, None] / np.where(counts > 0, counts, 1.0)).T, Y) @ Y
        centered = Y - from_numpy(members, Y) @ means  # a sum with one term: nothing is rounded
        centered = centered if weights is None else centered * from_numpy(np.sqrt(of_rows), Y)[:, None]
        ends = np.cumsum(np.bincount(codes, minlength=n_classes))
        parts = [centered[..., start:end, :] for start, end in zip([0, *ends], ends, strict=False)]
        scatters = np.stack([to_numpy(part.mT @ part) for part in parts], axis=-3)
        return cls(counts, to_numpy(means).astype(np.float64), scatters.astype(np.float64, copy=False))

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
        values_of = ShiftedValues(kernel, points if as_numbers else in_double(points))

        def block(rows: Array, codes: Array, weights: Array | None) -> ClassMoments:
            # About a row of the block: kernel values of wide kernels are nearly constant, and squares of them would
            # lose digits.
            Y, shift = values_of(rows if as_numbers else in_double(as_rows(rows)))
            if factor is not None:
                B = from_numpy(factor, Y)
                Y, shift = Y @ B, shift @ B
            return cls.of(Y, codes, n_classes, weights).moved(to_numpy(shift))

        return sum_rows(block, X, codes, weights, rows=BLOCK, device_of=points)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        counts = self.counts + other.counts
        fraction = other.counts / np.where(counts > 0, counts, 1.0)  # of the other in both
        shift = other.means - self.means
        between = shift[:, :, None] * shift[:, None, :] * (self.counts * fraction)[:, None, None]
        return ClassMoments(counts, self.means + shift * fraction[:, None], self.scatters + other.scatters + between)

    def __len__(self) -> int:
        return self.counts.size

    @property
    def count(self) -> float:
        return float(self.counts.sum())

    def __getitem__(self, number: int) -> ClassMoments:
        """Those of one array of a stack."""
        return ClassMoments(self.counts, self.means[number], self.scatters[number])

    @property
    def mean(self) -> np.ndarray:
        """Of all rows, shape (…, m)."""
        return self.counts @ self.means / self.count

    @property
    def within(self) -> np.ndarray:
        """Scatter within classes, shape (…, m, m): a sum over rows, not a mean."""
        return self.scatters.sum(axis=-3)

    @property
    def between_factor(self) -> np.ndarray:
        """E with EEᵀ the scatter between classes, shape (…, m, n_classes)."""
        return (np.sqrt(self.counts)[:, None] * (self.means - self.mean[..., None, :])).mT

    def moved(self, shift: Array) -> ClassMoments:
        """Moments of the rows Y + shift."""
        return replace(self, means=np.where((self.counts > 0)[:, None], self.means + shift, self.means))

    def projected(self, A: Array) -> ClassMoments:
        """Moments of the rows Y A, for a matrix A or each of a stack of them."""
        of_class = A[..., None, :, :]
        return ClassMoments(self.counts, self.means @ A, of_class.mT @ self.scatters @ of_class)

    def scaled(self, factors: Array) -> ClassMoments:
        """Moments of the rows with each column multiplied by a factor, shape (…, m)."""
        pairs = factors[..., :, None] * factors[..., None, :]
        return ClassMoments(self.counts, self.means * factors[..., None, :], self.scatters * pairs[..., None, :, :])

    def merged(self, members: Sequence[bool]) -> ClassMoments:
        """Moments of two groups of classes: those that are not and those that are `members`."""
        sides = np.array([np.logical_not(members), members], dtype=float)  # (2, n_classes)
        counts = sides @ self.counts
        means = (sides * self.counts) @ self.means / np.where(counts > 0, counts, 1.0)[:, None]
        offsets = self.means[..., None, :, :] - means[..., None, :]  # (…, 2, n_classes, m)
        offsets = offsets * np.sqrt(sides * self.counts)[:, :, None]
        within = np.tensordot(self.scatters, sides, axes=([-3], [1]))  # (…, m, m, 2)
        return ClassMoments(counts, means, np.moveaxis(within, -1, -3) + offsets.mT @ offsets)
