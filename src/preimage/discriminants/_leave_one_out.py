"""Predictions for each row by all others, in closed form."""

import numpy as np


def leave_one_out_values(K, targets, ridges, weights=None):
    r"""Least-squares discriminants of all rows but one, at that one, for many ridges.

    Kernel Fisher discriminants on all points with a penalty on the norm are kernel ridge regressions with a constant on
    class targets. With the bordered matrix A of :math:`K + \mu W^{-1}` and a row and column of ones,
    :math:`y_i - f_{-i}(x_i) = \alpha_i / (A^{-1})_{ii}`. One eigendecomposition serves all ridges; each takes
    :math:`O(n^2)`.

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
    root = np.ones(len(K)) if weights is None else np.sqrt(weights)
    values, vectors = np.linalg.eigh(root[:, None] * K * root)
    values, vectors = np.maximum(values, 0), root[:, None] * vectors
    along_ones, along_targets = vectors.sum(axis=0), vectors.T @ targets
    out = np.empty((len(ridges), *targets.shape))
    for r, ridge in enumerate(ridges):
        shrunk = 1 / (values + ridge)
        solved_ones = vectors @ (shrunk * along_ones)  # (K + μW⁻¹)⁻¹ 1
        total = along_ones @ (shrunk * along_ones)
        constant = (along_ones * shrunk) @ along_targets / total
        alpha = vectors @ (shrunk[:, None] * along_targets) - solved_ones[:, None] * constant
        diagonal = (vectors**2) @ shrunk - solved_ones**2 / total
        out[r] = targets - alpha / np.maximum(diagonal, np.finfo(float).tiny)[:, None]
    return out
