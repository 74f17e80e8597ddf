"""Predictions for each row by all others, in closed form."""

import numpy as np

from preimage._linalg import rank_tolerance
from preimage.discriminants._gram_fisher import largest_value, weighted_and_centered


class LeastSquares:
    r"""Kernel ridge regression with a constant on all points, and each point left out.

    Kernel Fisher discriminants on all points with a penalty on the norm are of this form, on class targets. With
    :math:`A = K + \mu W^{-1}` bordered by a row and column of ones, coefficients are :math:`\alpha = B y`, B the block
    of the inverse beside the border, and :math:`y_i - f_{-i}(x_i) = \alpha_i / B_{ii}`. B does not change when the
    kernel is centred, and :math:`B = W^{1/2} V (\Lambda + \mu)^{-1} V^\top W^{1/2}` with the eigenvectors V of the
    centred :math:`W^{1/2} K W^{1/2}` without the direction of the constant. One eigendecomposition serves all ridges;
    each takes :math:`O(n^2)`.

    Parameters
    ----------
    K : array of shape (n, n)
    weights : array of shape (n,), optional
        Positive.
    """

    def __init__(self, K, weights=None):
        centered = weighted_and_centered(K, weights)
        self.root = np.ones(len(K)) if weights is None else np.sqrt(weights)
        constant = self.root / np.linalg.norm(self.root)
        # The constant has eigenvalue zero; far from all others it does not mix with vectors of the null space.
        far = 2 * np.linalg.norm(centered) + 1.0
        values, vectors = np.linalg.eigh(centered + far * np.outer(constant, constant))
        values, self.vectors = values[:-1], vectors[:, :-1]
        size = max(np.max(np.abs(values), initial=0.0), largest_value(K, weights))
        self.values = np.where(values > rank_tolerance(len(K), values.dtype) * size, values, 0.0)

    def coefficients(self, targets, ridge):
        """α = B y of targets (n, k)."""
        along = self.vectors.T @ (self.root[:, None] * targets)
        return self.root[:, None] * (self.vectors @ (along / (self.values + ridge)[:, None]))

    def fitted(self, targets, ridge):
        """Values of the regression at its own points, shape (n, k)."""
        return targets - (ridge / self.root**2)[:, None] * self.coefficients(targets, ridge)

    def left_out(self, targets, ridge):
        """Values of the regression on all other points at each point, shape (n, k)."""
        diagonal = self.root**2 * (self.vectors**2 @ (1 / (self.values + ridge)))
        smallest = np.finfo(float).tiny
        return targets - self.coefficients(targets, ridge) / np.maximum(diagonal, smallest)[:, None]


def leave_one_out_values(K, targets, ridges, weights=None):
    r"""Least-squares discriminants of all rows but one, at that one, for many ridges.

    Parameters
    ----------
    K : array of shape (n, n)
    targets : array of shape (n, k)
    ridges : array of shape (r,)
        μ, in absolute terms; positive.
    weights : array of shape (n,), optional
        Positive.

    Returns
    -------
    array of shape (r, n, k)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.discriminants import leave_one_out_values
    >>> leave_one_out_values(np.eye(3), np.array([[1.0], [1.0], [-1.0]]), [1.0]).ravel().round(6) + 0
    array([0., 0., 1.])
    """
    regression = LeastSquares(K, weights)
    return np.stack([regression.left_out(targets, ridge) for ridge in ridges])
