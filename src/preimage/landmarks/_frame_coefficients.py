"""Orthonormal vectors in terms of the pivots: how much rounding errors of kernel values weigh."""

import numpy as np


class FrameCoefficients:
    r"""The inverse :math:`L^{-1}` of the Cholesky factor of the kernel among pivots, :math:`W = L L^\top`.

    Row r has the coefficients of the r-th orthonormal vector :math:`\sum_i (L^{-1})_{ri}\, \varphi(p_i)`. It is kept in
    NumPy and in double precision: only the size of the coefficients matters, and they reach
    :math:`1 / \sqrt\varepsilon`.
    """

    def __init__(self, rows=None):
        self.rows = np.zeros((0, 0)) if rows is None else rows

    def leading(self, count):
        """Those of the first `count` vectors."""
        return FrameCoefficients(self.rows[:count, :count])

    def of_next(self, along, L):
        """What b more pivots would add, shape (b, m + b).

        Parameters
        ----------
        along : array of shape (m, b)
            Coordinates of the new pivots along the vectors so far.
        L : array of shape (b, b)
            Cholesky factor of what these leave of the kernel among the new pivots.
        """
        inverse = np.linalg.solve(L, np.eye(L.shape[0]))
        return np.concatenate([-inverse @ (along.T @ self.rows), inverse], axis=1)

    def extended(self, new):
        """The coefficients with rows appended that `of_next` gave, or the first of them."""
        m, b = self.rows.shape[0], new.shape[0]
        rows = np.zeros((m + b, m + b))
        rows[:m, :m], rows[m:, :] = self.rows, new[:, : m + b]
        return FrameCoefficients(rows)

    def of_projections(self, along):
        """Coefficients t = W⁻¹k_P(x), shape (m, q), of the projections of points with coordinates `along`."""
        return self.rows.T @ along
