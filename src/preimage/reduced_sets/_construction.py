"""Construction: one pre-image of what is left at a time."""

from numbers import Integral, Real

import numpy as np

from preimage._arrays import (
    array_namespace,
    as_points,
    device_kwargs,
    epsilon,
    squared_row_norms,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._threads import single_threaded_blas
from preimage._validation import Interval, check_parameters
from preimage.feature_space import Gram
from preimage.kernels import Polynomial
from preimage.reduced_sets._projection import require_euclidean
from preimage.reduced_sets._quadratic import eigen_points
from preimage.reduced_sets._reducer import NestedReducer
from preimage.solvers import Box, QuasiNewton, minimize_rows
from preimage.solvers._descent import SameFunction
from preimage.solvers._starts import spread

# Share of k(z, z) below which an image counts as a combination of those already there.
NEW_PART = 1e-6
# No search goes further from the origin than this many times the farthest point: polynomials would go to infinity.
FARTHEST = 30.0


class Construct(NestedReducer):
    r"""New points, each a pre-image of what the earlier ones leave.

    Starting from :math:`\Psi_1 = \Psi`, the next point maximises the part of the residual it can take,

    .. math:: \sum_c \frac{\psi_{t,c}(z)^2}{k(z, z) - \kappa^\top (K^z)^{-1} \kappa}, \qquad \kappa_j = k(z_j, z),

    over all z (R4), and all coefficients are computed again by projection (R2), (R17). The paper [1]_ divides by
    k(z, z) instead (P5); the denominator here is the part of φ(z) that is new, so points do not crowd. Each search runs
    by gradient ascent from the points with the largest values and never ends below its start.

    Homogeneous polynomials of degree 2 have an exact answer, and get it: :math:`\Psi = \sum_a \lambda_a \varphi(e_a)`
    with the eigenvectors of :math:`\sum_i \alpha_i x_i x_i^\top` (R21); (x·y + c)² and several targets likewise (R23)
    where `n_points` suffices.

    Parameters
    ----------
    n_starts : int, default=2
        Searches for each point.
    tol : float, default=0.01
        A search stops when a step is shorter than `tol` times the spread of the points; `Refine` polishes.
    max_iter : int, default=50
        Largest number of steps of a search.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.reduced_sets import Construct
    >>> near = np.array([[0.0], [0.1], [5.0], [5.1]])  # two pairs of neighbors
    >>> target = Expansion(Gaussian(1.0), near, np.array([[1.0], [1.0], [-1.0], [-1.0]]))
    >>> np.sort(Construct().reduce(target, 2).expansion.points, axis=0).round(2)
    array([[0.05],
           [5.05]])
    """

    _parameter_constraints = {
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, n_starts=2, tol=1e-2, max_iter=50):
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter

    def order(self, target, n_points):
        check_parameters(self)
        kernel = target.kernel
        if type(kernel) is Polynomial and kernel.degree == 2 and kernel.is_positive_semidefinite:
            exact = eigen_points(target)
            # The largest eigenvalues of one homogeneous target are the best for every number of points (R22).
            if exact.shape[0] <= n_points or (len(target) == 1 and kernel.coef0 == 0):
                return exact
        kernel.require_gradient("Construct")
        if not kernel.is_positive_semidefinite:
            gram = to_numpy(Gram(kernel, target.points).dense()).astype(float)
            require_euclidean(kernel, gram, "Construct")
        residual = _Residual(target)
        # Products with a few starts gain nothing from further threads, and lose much on busy machines.
        with single_threaded_blas():
            for _ in range(n_points):
                start = residual.best_points(self.n_starts)
                if start is None:
                    break  # nothing is left
                box, rule = Box.of_inputs(None, None, kernel, start), QuasiNewton(residual.size, self.tol, memory=5)
                found = minimize_rows(SameFunction(residual.loss), start, box, rule, self.max_iter)
                best = int(array_namespace(start).argmin(found.objective))
                residual.add(found.points[best : best + 1, :])
        return residual.points


class _Residual:
    """What is left of Ψ outside the span of the images chosen so far.

    The span has orthonormal axes qⱼ = Σᵢ Bᵢⱼ φ(zᵢ); Ψ has the coordinates cⱼ = ⟨Ψ, qⱼ⟩ there.
    """

    def __init__(self, target):
        self.kernel, self.target = target.kernel, target
        self.evaluate = target.kernel.evaluator(target.points)
        values = Gram(target.kernel, target.points) @ target.coefficients
        xp = array_namespace(values)
        place = {"dtype": values.dtype, **device_kwargs(values)}
        self.at_points = values  # of the residual, (m, C)
        self.own = target.kernel.diagonal(target.points)
        self.left = self.own  # k(x, x) outside the span
        self.axes_at_points = xp.zeros((values.shape[0], 0), **place)
        self.scale = float(xp.sum(values * target.coefficients))
        self.size = spread(target.points)
        self.reach = FARTHEST**2 * max(float(xp.max(squared_row_norms(as_points(target.points)))), self.size**2)
        self.points = xp.zeros((0, target.points.shape[1]), **place)
        self.axes = xp.zeros((0, 0), **place)  # B
        self.coordinates = xp.zeros((0, len(target)), **place)

    def best_points(self, count):
        """The points of the target that would take most, or None where all would take next to nothing."""
        xp = array_namespace(self.own)
        new = self.left > NEW_PART * self.own
        gains = xp.sum(self.at_points**2, axis=1) / xp.where(new, self.left, xp.ones_like(self.left))
        gains = to_numpy(xp.where(new, gains, xp.zeros_like(gains)))
        useful = min(count, int((gains > 100 * epsilon(self.own.dtype) * self.scale).sum()))
        if useful == 0:
            return None
        return as_points(to_dense(take_rows(self.target.points, np.argsort(-gains, kind="stable")[:useful])))

    def loss(self, Z):
        """Minus the share of ‖Ψ‖² that each row of Z would take, and its gradient."""
        xp = array_namespace(Z)
        values, pull = self.evaluate(Z)
        own = self.kernel.diagonal(Z)
        residual, inside = values @ self.target.coefficients, None
        new = own
        if self.points.shape[0]:
            inner, inner_pull = self.evaluate_chosen(Z)
            inside = inner @ self.axes
            residual = residual - inside @ self.coordinates
            new = own - xp.sum(inside * inside, axis=1)
        usable = (new > NEW_PART * own) & (squared_row_norms(Z) < self.reach)
        new = xp.where(usable, new, xp.ones_like(new))
        gain = xp.where(usable, xp.sum(residual * residual, axis=1) / new, xp.zeros_like(new))
        # d(gain) = (2 r·dr − gain · dnew) / new, with everything contracted before it meets a gradient.
        residual = residual * (2 / new)[:, None]
        ratio = (gain / new)[:, None]
        gradient = pull(residual @ self.target.coefficients.T) - ratio * self.kernel.diagonal_gradient(Z)
        if inside is not None:
            gradient = gradient + inner_pull((2 * ratio * inside - residual @ self.coordinates.T) @ self.axes.T)
        return -gain / self.scale, -gradient / self.scale

    def add(self, z):
        """Let the image of z join the span."""
        xp = array_namespace(z)
        at_z = self.evaluate(z)[0]
        inside = self.evaluate_chosen(z)[0] @ self.axes if self.points.shape[0] else xp.zeros_like(z[:, :0])  # (1, t)
        length = float(self.kernel.diagonal(z)[0] - xp.sum(inside * inside)) ** 0.5
        share = (at_z @ self.target.coefficients - inside @ self.coordinates) / length  # (1, C)
        axis_at_points = (at_z[0, :] - self.axes_at_points @ inside[0, :]) / length
        self.at_points = self.at_points - axis_at_points[:, None] * share
        self.left = self.left - axis_at_points**2
        self.axes_at_points = xp.concat([self.axes_at_points, axis_at_points[:, None]], axis=1)
        corner = xp.ones_like(z[:, :1]) / length
        column = xp.concat([-(self.axes @ inside.T) / length, corner], axis=0)
        self.axes = xp.concat([xp.concat([self.axes, xp.zeros_like(inside)], axis=0), column], axis=1)
        self.coordinates = xp.concat([self.coordinates, share], axis=0)
        self.points = xp.concat([self.points, z], axis=0)
        self.evaluate_chosen = self.kernel.evaluator(self.points)
