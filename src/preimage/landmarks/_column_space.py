"""The span of chosen columns of the kernel matrix."""

import numpy as np

from preimage._arrays import array_namespace, epsilon, to_numpy
from preimage._linalg import orthogonalize


class ColumnSpace:
    """An orthonormal basis Q of the chosen columns, and what it leaves of others  (G1).

    Inner products of residual columns play the part that residual kernel values have in function space: they are the
    Schur complement of K² instead of K.
    """

    def __init__(self):
        self._Q = None

    def residuals(self, columns):
        """r_i = K_i − QQᵀK_i for columns given as rows, and the squared norms that rounding alone can leave."""
        xp = array_namespace(columns)
        norms = to_numpy(xp.sum(columns * columns, axis=1)).astype(np.float64)
        floor = (columns.shape[1] * epsilon(columns.dtype)) ** 2 * norms
        if self._Q is None:
            return columns, floor
        for _ in range(2):  # once leaves rounding errors of the size of what it removed
            columns = columns - (columns @ self._Q) @ self._Q.T
        return columns, floor

    def add(self, columns):
        """Extend the basis by columns given as rows."""
        if columns.shape[0] == 0:
            return
        xp = array_namespace(columns)
        basis = columns.T[:, :0] if self._Q is None else self._Q
        self._Q = xp.concat([basis, orthogonalize(columns.T, basis)], axis=1)
