"""Moments of the classes of labelled data, merged over any split of them."""

from dataclasses import dataclass

import numpy as np

from preimage._arrays import array_namespace, as_points, from_numpy, in_double, is_host, to_numpy
from preimage._rows import cut, sum_rows
from preimage.feature_space._moments import Moments

# Rows whose kernel values are summed together, and rows whose kernel values are computed together: see `KernelMoments`.
BLOCK = 4096
TILE = 256


@dataclass(frozen=True)
class ClassMoments:
    r"""Weighted count, mean and scatter of the rows of each class, in NumPy and double precision.

    All that linear discriminants need to know of data: the scatter within classes
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

    classes: tuple

    @classmethod
    def of(cls, Y, codes, n_classes, weights=None):
        """Moments of the rows of Y by class.

        Parameters
        ----------
        Y : array of shape (n, m)
        codes : integer array of shape (n,)
            Classes 0 … n_classes − 1; −1 is none.
        n_classes : int
        weights : array of shape (n,), optional
            Rows of weight zero have no part.
        """
        return cls(tuple(_moments(Y, codes == c, weights) for c in range(n_classes)))

    @classmethod
    def of_kernel_values(cls, kernel, points, X, codes, n_classes, weights=None, *, factor=None):
        """Moments of k(points, x) over the labelled rows of X, an array, a memory map or a Dask array, in one pass.

        A `factor` B in NumPy, shape (m, r), makes them those of the coordinates Bᵀk(points, x): each row is transformed
        before it is summed. Kernel values are computed in double precision, whatever X has.
        """
        values_of = kernel.against(points if kernel.points_are_row_numbers else in_double(points))

        def block(rows, codes, weights):
            Y = _kernel_values(kernel, values_of, rows)
            return cls.of(Y if factor is None else Y @ from_numpy(factor, Y), codes, n_classes, weights)

        return sum_rows(block, X, codes, weights, rows=BLOCK, device_of=points)

    def __add__(self, other):
        both = zip(self.classes, other.classes, strict=True)
        return ClassMoments(tuple(b if a is None else a if b is None else a + b for a, b in both))

    @property
    def counts(self):
        """Sums of weights, shape (n_classes,); zero for a class without rows."""
        return np.array([0.0 if each is None else each.count for each in self.classes])

    @property
    def means(self):
        """Shape (n_classes, m); zeros for a class without rows."""
        return np.stack([np.zeros_like(self._some.mean) if each is None else each.mean for each in self.classes])

    @property
    def scatters(self):
        """Shape (n_classes, m, m)."""
        return np.stack([np.zeros_like(self._some.scatter) if each is None else each.scatter for each in self.classes])

    @property
    def count(self):
        return float(self.counts.sum())

    @property
    def mean(self):
        """Of all rows, shape (m,)."""
        return self.counts @ self.means / self.count

    @property
    def within(self):
        """Scatter within classes, shape (m, m): a sum over rows, not a mean."""
        return sum(each.scatter for each in self.classes if each is not None)

    @property
    def between_factor(self):
        """E with EEᵀ the scatter between classes, shape (m, n_classes)."""
        return (np.sqrt(self.counts)[:, None] * (self.means - self.mean)).T

    def projected(self, A):
        """Moments of the rows Y A."""
        return ClassMoments(
            tuple(
                None if each is None else Moments(each.count, each.mean @ A, A.T @ each.scatter @ A)
                for each in self.classes
            )
        )

    def merged(self, members):
        """Moments of two groups of classes: those that are not and those that are `members`."""
        groups = [[each for each, is_in in zip(self.classes, members, strict=True) if is_in == side] for side in (0, 1)]
        return ClassMoments(tuple(_sum([each for each in group if each is not None]) for group in groups))

    @property
    def _some(self):
        return next(each for each in self.classes if each is not None)


def _kernel_values(kernel, values_of, rows):
    rows = rows if kernel.points_are_row_numbers else in_double(as_points(rows))
    step = TILE if is_host(rows) else max(1, rows.shape[0])
    tiles = [in_double(values_of(rows[tile, :])) for tile in cut(rows.shape[0], step)]
    return array_namespace(tiles[0]).concat(tiles, axis=0) if len(tiles) > 1 else tiles[0]


def _moments(Y, members, weights):
    members = members if weights is None else members & (weights > 0)
    if not members.any():
        return None
    xp = array_namespace(Y)
    numbers = np.flatnonzero(members)
    if isinstance(Y, np.ndarray):
        rows = Y if numbers.size == Y.shape[0] else Y[numbers]
    else:
        rows = xp.take(Y, from_numpy(numbers, Y, dtype=xp.int64), axis=0)
    of = Moments.of(rows, None if weights is None else from_numpy(weights[numbers], rows))
    return Moments(of.count, to_numpy(of.mean).astype(np.float64), to_numpy(of.scatter).astype(np.float64))


def _sum(moments):
    total = None
    for each in moments:
        total = each if total is None else total + each
    return total
