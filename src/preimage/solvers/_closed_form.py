"""Pre-images by closed formulas: weighted means, maps that keep inner products, distances to neighbours."""

from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    epsilon,
    from_numpy,
    squared_row_norms,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.linalg import eigh
from preimage._engine.removed import ignores_removed
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage._engine.warnings import unwarned
from preimage.descent import PreimageResult
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Gram
from preimage.kernels import Gaussian, InnerProduct, Kernel, ProfileKernel, SquaredDistance
from preimage.solvers._preimage import TargetSolver, about_origin, direct_result, objective_at

# Values below this many squared rounding errors of the largest are clipped to it: the inverse profile of a decaying
# kernel at zero is infinite. Such values mean "very far" (72 times 1/γ for a Gaussian) and place nothing.
FARTHEST = 1e3


def values_at_points(target: Expansion) -> Array:
    """⟨φ(xᵢ), Ψⱼ⟩ for all points and vectors of `target`, shape (q, n)."""
    return (Gram(target.kernel, target.points) @ target.coefficients).T


def require_profile(kernel: Kernel, who: str, *, radial: bool = False) -> None:
    """Raise unless the kernel is a profile of the squared distance (or, unless `radial`, of the inner product)."""
    allowed = (SquaredDistance(),) if radial else (SquaredDistance(), InnerProduct())
    if not (isinstance(kernel, ProfileKernel) and kernel.pairwise in allowed):
        kinds = "the squared distance" if radial else "the squared distance or the inner product"
        raise UnsupportedKernelError(
            f"{who} needs a kernel of {kinds}; got {kernel!r}. preimage='gradient' works with any kernel that has a "
            "gradient, 'learned' with any kernel, and 'auto' finds a way for each."
        )


def in_range(values: Array, kernel: ProfileKernel) -> Array:
    """Values clipped to those that the profile of a radial kernel takes, so that it can be inverted."""
    xp = array_namespace(values)
    nearest = xp.zeros_like(values[:1, :1])
    with unwarned():  # products with the width may overflow
        top, bottom = kernel.profile(nearest), kernel.profile(xp.full_like(nearest, xp.finfo(values.dtype).max / 4))
    # Next to a constant, smaller differences than its rounding errors mean "very far" too.
    rounding = epsilon(values.dtype)
    smallest = bottom + xp.maximum(FARTHEST * rounding**2 * (top - bottom), rounding * xp.abs(bottom))
    return xp.where(values > top, top, xp.where(values < smallest, smallest, values))


# Weights of both signs whose sum is a smaller fraction of the sum of their moduli have lost most of their digits by
# cancellation; the coefficients themselves are the weights then.
CANCELLATION = 1e-6


class WeightedMean(TargetSolver):
    r"""Pre-images as one weighted mean of the training points.

    If :math:`\Psi = \varphi(z)`, then :math:`k(z, x_i) = \Psi(x_i)`; put into the fixed point of a Gaussian [1]_,

    .. math:: z = \sum_i \alpha_i \Psi(x_i) x_i \Big/ \sum_i \alpha_i \Psi(x_i),

    whose denominator is :math:`\|\Psi\|^2`. The publication has :math:`1 - \tilde d_i^2/2` in place of
    :math:`\Psi(x_i)`; for targets much shorter than one that collapses to :math:`\sum_i \alpha_i x_i`. For other radial
    kernels the weights contain the derivative of the profile at the distance that the value implies. The formula is
    fast, and a good start for other solvers.

    See Also
    --------
    FixedPoint : Repeats such a mean until it does not change.
    DistanceConstraint : Places the point by distances to its neighbours.
    MultiStart : Takes this answer as a start for another solver.

    References
    ----------
    .. [1] Y. Rathi, S. Dambreville, A. Tannenbaum, "Statistical shape analysis using kernel PCA",
       SPIE 6064, 2006.

    Examples
    --------
    The middle of two bumps, by symmetry:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import WeightedMean
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0], [1.0]]), np.array([[0.5], [0.5]]))
    >>> WeightedMean().solve(target).points.round(6)
    array([[0.5]])
    """

    @ignores_removed
    def __init__(self) -> None:
        pass

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        kernel = target.kernel
        require_profile(kernel, "WeightedMean", radial=True)
        values = values_at_points(target)
        # For a Gaussian the derivative is −γ times the value, so no inverse of the profile is needed.
        derivatives = (
            -values
            if type(kernel) is Gaussian
            else kernel.profile_derivative(kernel.inverse_profile(in_range(values, kernel)))
        )
        weights = target.coefficients.T * derivatives
        xp = array_namespace(weights)
        total = xp.sum(weights, axis=1)
        sound = xp.abs(total) > CANCELLATION * xp.sum(xp.abs(weights), axis=1)
        plain = target.coefficients.T
        weights = xp.where(sound[:, None], weights, plain)
        total = xp.where(sound, total, xp.sum(plain, axis=1))
        safe = xp.where(total == 0, xp.ones_like(total), total)
        Z = weights @ target.points / safe[:, None]
        return direct_result(Z, objective_at(target, Z))


class ConformalMap(TargetSolver):
    r"""Pre-images by linear functions of feature space whose inner products reproduce those of the inputs.

    With the Gram matrix of the inputs P = XXᵀ, the functions that minimise :math:`\|P - K B K\|^2` give [1]_

    .. math:: z = X^+ P \alpha = X^\top \alpha,

    the plain mean :math:`\sum_i \alpha_i x_i`, whatever the kernel. The penalty of [1]_ corrects it by
    :math:`\lambda X^+ K^{-1} \alpha`, which is stable only while λ is well below the eigenvalues of K that count.

    See Also
    --------
    WeightedMean : Weights that depend on the target.
    LearnedMap : A regression with a kernel on coordinates.
    FixedPoint : Finds the nearest image by iteration.

    References
    ----------
    .. [1] P. Honeine, C. Richard, "A closed-form solution for the pre-image problem in kernel-based machines",
       J. Signal Processing Systems 65, 2011.

    Examples
    --------
    A mean with the coefficients as weights:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import ConformalMap
    >>> target = Expansion(Gaussian(1.0), np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.25], [0.75]]))
    >>> ConformalMap().solve(target).points
    array([[0.75, 0.  ]])
    """

    @ignores_removed
    def __init__(self) -> None:
        pass

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        Z = target.coefficients.T @ to_dense(target.inputs)
        return direct_result(Z, objective_at(target, Z))


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

    See Also
    --------
    WeightedMean : A mean of all points instead of distances to a few.
    ExactInverse : Exact where the target is the image of a point.
    FixedPoint : Finds the nearest image by iteration.

    References
    ----------
    .. [1] J. T. Kwok, I. W. Tsang, "The pre-image problem in kernel methods",
       IEEE Trans. Neural Networks 15, 2004.

    Examples
    --------
    A target that is the image of a point has exact distances, and the point is found again:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import DistanceConstraint
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> z = np.array([[0.3, -0.2]])
    >>> subspace = Subspace.span(Gaussian(0.1), X)
    >>> target = subspace.embed(subspace.coordinates(z))
    >>> DistanceConstraint().solve(target).points.round(3)
    array([[ 0.3, -0.2]])
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "rtol": [Interval(Real, 0, 1, closed="left")],
    }

    @ignores_removed
    def __init__(self, n_neighbors: int = 10, rtol: float = 0.01) -> None:
        self.n_neighbors = n_neighbors
        self.rtol = rtol

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        require_profile(target.kernel, "DistanceConstraint")
        values = values_at_points(target)
        squared = _squared_distances(target, values)  # (q, n)
        count = min(self.n_neighbors, target.points.shape[0])
        points = to_dense(target.points)
        Z = map_rows(lambda rows: _place(points, rows, count, self.rtol), squared, rows=256)
        return direct_result(Z, objective_at(target, Z))


def _squared_distances(target: Expansion, values: Array) -> Array:
    """Squared distances (q, n) in input space that the values (q, n) of the targets at their points imply."""
    kernel = target.kernel
    if kernel.is_radial:
        return kernel.inverse_profile(in_range(values, kernel))
    # By the law of cosines, ‖xᵢ − z‖² = ‖xᵢ‖² + ‖z‖² − 2 xᵢ·z with inner products from the inverse profile.
    with np.errstate(invalid="ignore", divide="ignore"):
        squared_z = kernel.inverse_profile(target.squared_norms())
        products = kernel.inverse_profile(values)
        squared = squared_row_norms(target.points)[None, :] + squared_z[:, None] - 2 * products
    # Where the inverse profile has no finite value, the longest of the row.
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
    values, V = eigh(gram)
    keep = values > max(rtol, SMALLEST_RTOL) ** 2 * xp.max(values, axis=1)[:, None]
    inverse = xp.where(keep, 1 / xp.where(keep, values, xp.ones_like(values)), xp.zeros_like(values))
    difference = (lengths - chosen)[:, :, None] / 2
    weights = V @ (inverse[:, :, None] * (xp.matrix_transpose(V) @ difference))  # (b, count, 1)
    return center + xp.sum(weights * centered, axis=1)
