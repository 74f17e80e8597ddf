"""Pre-images placed by their distances to neighbours (Kwok and Tsang)."""

from numbers import Integral, Real

import numpy as np

from preimage._arrays import array_namespace, from_numpy, squared_row_norms, take_rows, to_dense, to_numpy
from preimage._rows import map_rows
from preimage._typing import Array
from preimage._validation import Interval, StrOptions, check_parameters
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.solvers._neighborhood import FORMS, in_range, published_values, require_profile, values_at_points
from preimage.solvers._preimage import PreimageResult, TargetSolver, about_origin, direct_result, objective_at

# The Gram matrix has squared singular values: below this ratio to the largest, they are rounding errors of double
# precision (1e-12 against 1e-16, with room for sums over many columns).
SMALLEST_RTOL = 1e-6


class DistanceConstraint(TargetSolver):
    r"""Pre-images from distances to the nearest training points, by multidimensional scaling.

    If :math:`\Psi \approx \varphi(z)`, the value :math:`\Psi(x_i) \approx k(z, x_i)` gives the input distance
    :math:`d_i^2` of z to :math:`x_i` by inverting the profile. With the `n_neighbors` nearest points, their mean
    :math:`\bar x` and :math:`X_c^\top = U \Lambda V^\top`, the least-squares position is [1]_

    .. math:: z = \bar x + \tfrac12 U \Lambda^{-1} V^\top (d_0^2 - d^2), \qquad d_{0i}^2 = \|x_i - \bar x\|^2.

    No iteration and no start. Thin directions of the neighbourhood amplify errors of distances and are left out.

    Parameters
    ----------
    n_neighbors : int, default=10
        Points that place each pre-image.
    rtol : float, default=0.01
        Directions with singular values below `rtol` times the largest are left out.
    form : {"inner_products", "published"}, default="inner_products"
        Distances from :math:`\Psi(x_i)`, or from :math:`1 - \tilde d_i^2/2` as published, which takes the target for a
        vector of length one.

    References
    ----------
    .. [1] J. T. Kwok, I. W. Tsang, "The pre-image problem in kernel methods", IEEE Trans. Neural Networks 15, 2004.
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "rtol": [Interval(Real, 0, 1, closed="left")],
        "form": [StrOptions(set(FORMS))],
    }

    def __init__(self, n_neighbors: int = 10, rtol: float = 0.01, form: str = "inner_products") -> None:
        self.n_neighbors = n_neighbors
        self.rtol = rtol
        self.form = form

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        require_profile(target.kernel, "DistanceConstraint")
        values = values_at_points(target)
        squared = self._squared_distances(target, values)  # (q, n)
        count = min(self.n_neighbors, target.points.shape[0])
        points = to_dense(target.points)
        Z = map_rows(lambda rows: _place(points, rows, count, self.rtol), squared, rows=256)
        return direct_result(Z, objective_at(target, Z))

    def _squared_distances(self, target: Expansion, values: Array) -> Array:
        """Squared distances (q, n) in input space that the values (q, n) of the targets at their points imply."""
        kernel = target.kernel
        if kernel.is_radial:
            if self.form == "published":
                values = published_values(values, target)
            return kernel.inverse_profile(in_range(values, kernel))
        if self.form == "published":
            raise UnsupportedKernelError("The published form is for radial kernels; use form='inner_products'.")
        # By the law of cosines, ‖xᵢ − z‖² = ‖xᵢ‖² + ‖z‖² − 2 xᵢ·z with inner products from the inverse profile.
        with np.errstate(invalid="ignore", divide="ignore"):
            squared_z = kernel.inverse_profile(target.squared_norms())
            products = kernel.inverse_profile(values)
            squared = squared_row_norms(target.points)[None, :] + squared_z[:, None] - 2 * products
        return _defined(squared)


def _defined(squared: Array) -> Array:
    """Distances, where the inverse profile has no finite value replaced by the longest of the row."""
    xp = array_namespace(squared)
    known = xp.isfinite(squared)
    longest = xp.max(xp.where(known, squared, xp.zeros_like(squared)), axis=1)
    return xp.where(known, squared, longest[:, None])


def _place(points: Array, squared: Array, count: int, rtol: float) -> Array:
    """The least-squares positions of a block of problems, by the Gram matrix of the centred neighbours, V Λ² Vᵀ."""
    xp = array_namespace(points)
    nearest = np.argpartition(to_numpy(squared), count - 1, axis=1)[:, :count]
    b, d = nearest.shape[0], points.shape[1]
    neighbors = xp.reshape(take_rows(points, nearest.ravel()), (b, count, d))
    center = xp.mean(neighbors, axis=1)
    centered = neighbors - center[:, None, :]
    gram = centered @ xp.matrix_transpose(centered)
    lengths = xp.linalg.diagonal(gram)
    chosen = from_numpy(np.take_along_axis(to_numpy(squared), nearest, axis=1), points)
    values, V = xp.linalg.eigh(gram)
    keep = values > max(rtol, SMALLEST_RTOL) ** 2 * xp.max(values, axis=1)[:, None]
    inverse = xp.where(keep, 1 / xp.where(keep, values, xp.ones_like(values)), xp.zeros_like(values))
    difference = (lengths - chosen)[:, :, None] / 2
    weights = V @ (inverse[:, :, None] * (xp.matrix_transpose(V) @ difference))  # (b, count, 1)
    return center + xp.sum(weights * centered, axis=1)
