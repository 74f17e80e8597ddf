"""Pre-images by a map learned from coordinates to inputs (Bakır, Weston and Schölkopf)."""

from numbers import Real

import numpy as np

from preimage._arrays import array_namespace, to_dense, to_numpy
from preimage._linalg import eigh_descending
from preimage._rows import map_rows
from preimage._validation import Interval, check_parameters
from preimage.kernels import Kernel, as_kernel
from preimage.solvers._blocks import target_parts
from preimage.solvers._objective import objective_at
from preimage.solvers._preimage import Preimage, PreimageResult, direct_result

# Ridges tried by leave-one-out, as shares of the largest eigenvalue of the kernel matrix of coordinates.
RIDGES = np.logspace(-8, 1, 28)


class LearnedMap(Preimage):
    r"""Pre-images by kernel ridge regression from coordinates to inputs.

    Fits :math:`r(\beta) = \bar x + l(\beta, B) (L + \lambda I)^{-1} (X - \bar x)` on the coordinates B of the training
    points [1]_. One product a query, no iteration; not a minimiser of the distance in feature space. The kernel l
    lives on coordinates and has a width of its own, the mean of the inputs is kept, and the ridge is chosen by exact
    leave-one-out unless given. Leave-one-out judges reconstruction; for denoising a larger ridge is better, and
    `FixedPoint` better still.

    Parameters
    ----------
    kernel : str or Kernel, default="rbf"
        Kernel on coordinates.
    gamma : float or rule, default="median"
        Its width, when `kernel` is a name.
    ridge : float or None, default=None
        λ ≥ 0; None chooses by leave-one-out.

    References
    ----------
    .. [1] G. H. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images", NIPS 16, 2004.
    """

    _parameter_constraints = {
        "kernel": [str, Kernel],
        "gamma": [Interval(Real, 0, None, closed="neither"), str, None],
        "ridge": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(self, kernel="rbf", gamma="median", ridge=None):
        self.kernel = kernel
        self.gamma = gamma
        self.ridge = ridge

    def fit(self, subspace, X):
        check_parameters(self)
        coordinates = subspace.coordinates(X)
        gamma = self.gamma if isinstance(self.kernel, str) else None
        kernel = as_kernel(self.kernel, gamma=gamma).resolve(coordinates)
        X = to_dense(X)
        xp = array_namespace(X)
        mean = xp.mean(X, axis=0)
        values, vectors = eigh_descending(kernel(coordinates))
        projected = vectors.T @ (X - mean)
        ridge = self.ridge if self.ridge is not None else _best_ridge(values, vectors, projected, X - mean)
        safe = xp.where(values + ridge > 0, values + ridge, xp.ones_like(values))
        return FittedMap(kernel, coordinates, vectors @ (projected / safe[:, None]), mean, ridge)

    def inverse(self, subspace, Y, start=None):
        raise ValueError("LearnedMap learns from data: call `fit(subspace, X)` and use the map it returns.")


class FittedMap(Preimage):
    """A learned map from coordinates to inputs: mean + kernel(Y, coordinates) @ weights."""

    def __init__(self, kernel, coordinates, weights, mean, ridge):
        self.kernel = kernel
        self.coordinates = coordinates
        self.weights = weights
        self.mean = mean
        self.ridge = ridge

    def inverse(self, subspace, Y, start=None):
        Z = map_rows(lambda rows: self.mean + self.kernel(rows, self.coordinates) @ self.weights, Y)
        parts = target_parts(Y, subspace.frame.points)
        results = [direct_result(Z[part, :], objective_at(subspace.embed(Y[part, :]), Z[part, :])) for part in parts]
        return PreimageResult.join(results)


def _best_ridge(values, vectors, projected, targets):
    """The ridge with the smallest exact leave-one-out error, residual/(1 − hᵢᵢ)."""
    values, vectors, projected, targets = (to_numpy(array) for array in (values, vectors, projected, targets))
    squares, errors = vectors**2, []
    ridges = RIDGES * max(float(values[0]), np.finfo(float).tiny)
    for ridge in ridges:
        shrink = values / (values + ridge)
        leverage = squares @ shrink
        residual = (targets - vectors @ (shrink[:, None] * projected)) / np.maximum(1 - leverage, 1e-8)[:, None]
        errors.append(float(np.mean(residual**2)))
    return float(ridges[int(np.argmin(errors))])
