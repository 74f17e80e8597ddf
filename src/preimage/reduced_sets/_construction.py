"""Construction of a reduced set: each point is a pre-image of what the earlier ones leave; exact for degree 2."""

from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    device_kwargs,
    epsilon,
    from_numpy,
    is_sparse,
    squared_row_norms,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.threads import small_matrices
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import Box, QuasiNewton, SameFunction, minimize_rows, spread
from preimage.feature_space import Expansion, Gram, GrowingSpan
from preimage.kernels import Polynomial, Prepared
from preimage.reduced_sets._reducer import WIDTHS, NestedReducer, held_gram

# Fraction of k(z, z) below which an image counts as a combination of those already chosen. The gain (R4) is divided by
# what is new: with this, six of the digits of kernel values are lost, which single precision just bears.
NEW_PART = 1e-6
# No search goes further from the origin than this many times the farthest point: the gain of polynomials can have its
# supremum at infinity. Points of useful reductions lie far inside, so the exact factor does not matter.
FARTHEST = 30.0
# The residual of Ψ counts as zero where no point lowers it by more than this many rounding errors of ‖Ψ‖²: values of
# the residual are sums over some hundred points.
NOTHING = 100


class Construct(NestedReducer):
    r"""New points, each an approximate pre-image of the residual that the earlier ones leave.

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
    widths : {"fixed", "free"}, default="fixed"
        Whether each point gets a Gaussian of its own width, which [1]_ suggests in section VII: searches run over
        points and widths, in the feature space of the Gaussian kernel of the target (`FreeWidthGaussian`). One wide
        Gaussian may stand for many narrow ones. The more columns there are, the less widths differ: the norm of a
        Gaussian of another width grows with the power d/2 of its relation to that of the kernel.

    See Also
    --------
    Refine : Moves all points together afterwards.
    Select : Keeps some of the points instead of finding new ones.
    preimage.compress : Uses it by name, ``method="construct"``.

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
        "widths": WIDTHS,
    }

    def __init__(self, n_starts: int = 2, tol: float = 1e-2, max_iter: int = 50, widths: str = "fixed") -> None:
        self.n_starts = n_starts
        self.tol = tol
        self.max_iter = max_iter
        self.widths = widths

    def order(self, target: Expansion, n_points: int) -> Array:
        check_parameters(self)
        kernel = target.kernel
        if type(kernel) is Polynomial and kernel.degree == 2 and kernel.is_positive_semidefinite:
            exact = eigen_points(target)
            # The largest eigenvalues of one homogeneous target are the best for every number of points (R22).
            if exact.shape[0] <= n_points or (len(target) == 1 and kernel.coef0 == 0):
                return exact
        kernel.require_gradient("Construct")
        if not kernel.is_positive_semidefinite:
            held_gram(target, "Construct", "Distill() needs little memory.")  # refuses kernels without distances
        residual = _Residual(target)
        with small_matrices():
            for _ in range(n_points):
                start = residual.best_points(self.n_starts)
                if start is None:
                    break  # nothing is left
                box, rule = Box.of_inputs(None, None, kernel, start), QuasiNewton(residual.size, self.tol, memory=5)
                found = minimize_rows(SameFunction(residual.loss), start, box, rule, self.max_iter)
                best = int(array_namespace(start).argmin(found.objective))
                if not residual.add(found.points[best : best + 1, :]):
                    break
        return residual.points


class _Residual:
    """What the span of the images chosen so far leaves of Ψ.

    The span has orthonormal axes qⱼ = Σᵢ Bᵢⱼ φ(zᵢ), along which Ψ has the coordinates cⱼ = ⟨Ψ, qⱼ⟩.
    """

    def __init__(self, target: Expansion) -> None:
        self.kernel, self.target = target.kernel, target
        values = Gram(target.kernel, target.points) @ target.coefficients
        xp = array_namespace(values)
        self.span = GrowingSpan(target.kernel, target.points, values=values)
        self.squared_norm = float(xp.sum(values * target.coefficients))
        self.size = spread(target.points)
        self.reach = FARTHEST**2 * max(float(xp.max(squared_row_norms(as_points(target.points)))), self.size**2)
        self.points = xp.zeros((0, target.points.shape[1]), dtype=values.dtype, **device_kwargs(values))
        self._at_target = target.kernel.prepare(target.points)
        self._at_chosen: Prepared | None = None
        self._axes = self._coordinates = self.points[:, :0]  # B and c, of no axis yet

    def best_points(self, count: int) -> Array | None:
        """The points of the target that would lower the error most, or None where none would lower it noticeably."""
        span = self.span
        values = to_numpy(span.residual_values)
        is_new = span.residuals > NEW_PART * span.diagonal
        gains = np.einsum("ij,ij->i", values, values) / np.where(is_new, span.residuals, np.inf)
        useful = min(count, int((gains > NOTHING * epsilon(self.points.dtype) * self.squared_norm).sum()))
        if useful == 0:
            return None
        return as_points(to_dense(take_rows(self.target.points, np.argsort(-gains, kind="stable")[:useful])))

    def loss(self, Z: Array) -> tuple[Array, Array]:
        """Minus the fraction of ‖Ψ‖² that each row of Z would take, and its gradient."""
        xp = array_namespace(Z)
        values, contract = self._at_target.with_gradient(Z)
        diagonal = self.kernel.diagonal(Z)
        residual, new = values @ self.target.coefficients, diagonal  # of Ψ at Z; k(z, z) outside the span
        if self._at_chosen is not None:
            inner, contract_chosen = self._at_chosen.with_gradient(Z)
            along = inner @ self._axes  # coordinates of φ(z) along the axes
            residual = residual - along @ self._coordinates
            new = diagonal - xp.sum(along * along, axis=1)
        usable = (new > NEW_PART * diagonal) & (squared_row_norms(Z) < self.reach)
        new = xp.where(usable, new, xp.ones_like(new))
        gain = xp.where(usable, xp.sum(residual * residual, axis=1) / new, xp.zeros_like(new))
        # d(gain) = (2 r·dr − gain · dnew) / new, with everything contracted before it meets a gradient.
        residual = residual * (2 / new)[:, None]
        ratio = (gain / new)[:, None]
        gradient = contract(residual @ self.target.coefficients.T) - ratio * self.kernel.diagonal_gradient(Z)
        if self._at_chosen is not None:
            weights = (2 * ratio * along - residual @ self._coordinates.T) @ self._axes.T
            gradient = gradient + contract_chosen(weights)
        return -gain / self.squared_norm, -gradient / self.squared_norm

    def add(self, z: Array) -> bool:
        """Let the image of z join the span; returns False where it is a combination of others up to rounding."""
        if not self.span.add_point(z, self._at_target(z) @ self.target.coefficients):
            return False
        self.points = array_namespace(z).concat([self.points, z], axis=0)
        self._at_chosen = self.kernel.prepare(self.points)
        self._axes = from_numpy(self.span.coefficients.T.copy(), self.points)
        self._coordinates = from_numpy(self.span.coordinates, self.points)
        return True


# A unit vector with a smaller last coordinate would be a point farther out than 1e4 times the scale √(c/γ), whose image
# and coefficient lose eight digits. With ten times more, vectors that need no change are mixed as well.
SHORTEST = 1e-4


def eigen_points(target: Expansion) -> Array:
    """Points on which a target of the kernel (γ x·y + c)² is exact, those with the largest eigenvalues first.

    φ(x) is x̂x̂ᵀ with x̂ = (x, √(c/γ)), so Ψ is S = Σ αᵢ x̂ᵢx̂ᵢᵀ = Σ_a λ_a v̂_a v̂_aᵀ (R21), and v̂ = (v, w) is the image
    of the point √(c/γ) v/w with the coefficient λ w²γ/c (R23). Several targets take their eigenvectors in turn.
    """
    points, kernel = target.points, target.kernel
    constant = float(kernel.coef0) / float(kernel.gamma)
    coefficients = to_numpy(target.coefficients).astype(float)
    found = [_of_one(points, coefficients[:, c], constant) for c in range(coefficients.shape[1])]
    strengths = np.concatenate([strength for strength, _ in found])
    order = np.argsort(-strengths, kind="stable")
    return from_numpy(np.concatenate([rows for _, rows in found])[order], target.coefficients)


def _of_one(points: Array, alpha: np.ndarray, constant: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (moduli) and points of one target."""
    X: Array = points if is_sparse(points) else to_numpy(points).astype(float)
    weighted = X.multiply(alpha[:, None]).tocsr() if is_sparse(X) else X * alpha[:, None]
    # Σ αᵢ(xᵢ·z)² = zᵀSz (R21): each eigenvector of S is a point.
    S = X.T @ weighted
    S = S.toarray() if is_sparse(S) else S
    if constant > 0:
        root = constant**0.5
        # (x·y + c)² is the homogeneous kernel of the points (x, √c)  (R23).
        edge = root * np.asarray(weighted.sum(axis=0)).reshape(-1, 1)
        S = np.block([[S, edge], [edge.T, np.asarray([[constant * alpha.sum()]])]])
    values, vectors = _eigenvectors(S)
    if constant <= 0:
        return np.abs(values), vectors.T
    if np.abs(vectors[-1]).min(initial=1.0) < SHORTEST:
        values, vectors = _away_from_infinity(S)
    # Points need the last coordinate √c, so each vector is divided by its last entry, which must not vanish.
    return np.abs(values) * np.sum(vectors**2, axis=0), (root * vectors[:-1] / vectors[-1]).T


def _eigenvectors(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues that are not rounding errors, and their vectors."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    keep = np.abs(values) > S.shape[0] * np.finfo(float).eps * np.abs(values).max(initial=np.finfo(float).tiny)
    return values[keep], vectors[:, keep]


def _away_from_infinity(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """λ and vectors v̂, none with a last coordinate near zero, such that S = Σ λ v̂v̂ᵀ.

    Eigenvectors u of M⁻¹SM⁻ᵀ give v̂ = Mu for any regular M; this one adds an irregular mixture of all coordinates to
    the last. Where S has nothing along the last axis e, all v̂ lie across it: eeᵀ is added to S, and the vector e, which
    is the point zero, takes it away.
    """
    n, size = len(S), float(np.abs(S).max())
    mixing, e = np.eye(n), np.eye(n)[:, -1:]
    mixing[-1, :-1] = np.cos(np.arange(1, n)) / n**0.5
    is_flat = np.abs(S[-1]).max() <= SHORTEST * size
    inverse = np.linalg.inv(mixing)
    values, vectors = _eigenvectors(inverse @ (S + size * e @ e.T if is_flat else S) @ inverse.T)
    vectors = mixing @ vectors
    return (np.append(values, -size), np.append(vectors, e, axis=1)) if is_flat else (values, vectors)
