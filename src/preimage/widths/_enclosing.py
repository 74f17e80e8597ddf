"""Smallest balls around vectors of which only inner products are known, and boxes along their principal axes."""

import warnings
from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, solve

from preimage._engine.arrays import as_points, in_double, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import eigh_descending, no_variance, numerical_rank, require_semidefinite
from preimage._engine.memory import require_square_matrices
from preimage._engine.typing import Array, Rows
from preimage.kernels._kernel import Kernel

# Relative gap at which first-order steps hand over to the linear algebra of the points on the sphere. First-order steps
# converge slowly once the right points are found, which a gap of 1e-4 shows; at 1e-3 the algebra starts with wrong
# points and exchanges many of them, at a linear system each.
ROUGH_GAP = 1e-4
# First-order steps per point before that at most; on spheres of many points they are slower than the algebra.
ROUGH_STEPS = 20
# Steps in a row that may bring no smaller gap: with rounding errors, points can leave and enter for ever. The best
# weights so far are returned then, so that the number decides about time alone.
VAIN_STEPS = 50
# Weights of an equidistant centre beyond this say that points depend on each other up to rounding errors: weights of
# the smallest ball lie between 0 and 1, and solutions of 1e3 have lost three digits to cancellation.
LARGEST_WEIGHT = 1e3
# Singular values below this fraction of the largest then count as zero: three digits above rounding.
DEPENDENT = 1e-11
# Matrices of all pairs of rows that are held at once: values, eigenvectors, work space of LAPACK, coordinates, squares.
MATRICES = 6
# Cut-offs that are tried, spread evenly in their logarithm: neighbours differ by a few per cent where there are more.
MOST_CUTOFFS = 200
# Constants of the bound for a ball (Zhang 2002, theorem 4), which holds in any number of dimensions.
BALL_FACTOR, BALL_STEPS = 36.0, 4.0


@dataclass(frozen=True)
class Ball:
    """A ball with the centre Σ pᵢ mᵢ that contains all points m, and how much smaller one could be.

    Parameters
    ----------
    weights : array of shape (K,)
        p, not negative and of sum one; positive for points on the sphere alone when the ball is the smallest.
    squared_radius : float
        maxᵢ ‖Σ pⱼmⱼ − mᵢ‖²: the ball contains all points, whatever p is.
    lower_bound : float
        Σ pᵢGᵢᵢ − pᵀGp, the dual value: no ball of a smaller squared radius contains all points.
    n_steps : int
    converged : bool
        Whether the two agree to the tolerance.
    """

    weights: np.ndarray
    squared_radius: float
    lower_bound: float
    n_steps: int
    converged: bool

    @property
    def radius(self) -> float:
        """The square root of `squared_radius`."""
        return float(np.sqrt(self.squared_radius))

    @property
    def gap(self) -> float:
        """Squared radius less its lower bound: zero for the smallest ball."""
        return self.squared_radius - self.lower_bound


def center_distances(G: np.ndarray, p: np.ndarray) -> np.ndarray:
    """‖Σ pⱼmⱼ − mᵢ‖² = pᵀGp + Gᵢᵢ − 2(Gp)ᵢ of all points from a weighted mean."""
    product = G @ p
    return p @ product + np.diagonal(G) - 2 * product


@gives_finite_numbers()
def enclosing_ball(kernel: Kernel, X: Rows, tol: float = 1e-12, max_iter: int = 100_000) -> Ball:
    r"""The smallest ball in feature space around the images of the rows of X.

    .. math:: R^2 = \min_c \max_i \|c - \varphi(x_i)\|^2
              = \max_{p \ge 0,\, \sum p = 1} \Bigl[\sum_i p_i k(x_i, x_i) - \sum_{ij} p_i p_j k(x_i, x_j)\Bigr].

    Its radius is that of bounds such as R²‖w‖² for support vector machines. It costs one kernel matrix and linear
    systems of the size of the points on the sphere.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved, and positive semidefinite at least on differences of images.
    X : array or sparse matrix of shape (n, d)
        The data.
    tol : float, default=1e-12
        Gap between the squared radius and its lower bound, relative to the squared radius.
    max_iter : int, default=100_000
        Most steps.

    Returns
    -------
    Ball
        Its centre is the mean of the images with the `weights`, positive for rows on the sphere alone.

    See Also
    --------
    preimage.model_selection.capacity_report : Radius and margins of a machine.
    preimage.model_selection.WidthSearch : The ball around class means as a criterion.

    Examples
    --------
    All images of a Gaussian kernel have length one; a wide kernel brings them together:

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.widths import enclosing_ball
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.3, 0.3]])
    >>> for gamma in (0.1, 1.0, 100.0):
    ...     print(f"{enclosing_ball(Gaussian(gamma), X).radius:.3f}")
    0.301
    0.693
    0.866
    >>> enclosing_ball(Gaussian(0.1), X).weights.round(2)  # the last point is inside
    array([0.05, 0.48, 0.48, 0.  ])
    """
    gram = to_numpy(kernel(in_double(as_points(X))))
    advice = "Without one, distances have no meaning. Iterated(kernel) is positive semidefinite."
    require_semidefinite(kernel, centered(gram), "enclosing_ball", advice)
    return gram_ball(gram, tol, max_iter)


def gram_ball(G: Array, tol: float = 1e-12, max_iter: int = 100_000) -> Ball:
    """The smallest ball around K vectors with the Gram matrix G; see `enclosing_ball`.

    Frank–Wolfe steps with exact line search, towards the farthest point or away from the nearest that has weight, cost
    O(K) each and find roughly which points are on the sphere. Then these points are solved for: equal distances are a
    linear system, points of negative weight leave, the farthest outside enters, until no point is outside.

    Parameters
    ----------
    G : array of shape (K, K)
        Positive semidefinite (on vectors of sum zero suffices: a common shift of all points changes nothing).
    tol, max_iter
        As in `enclosing_ball`.

    Returns
    -------
    Ball

    Examples
    --------
    Three corners of an equilateral triangle of side one:

    >>> import numpy as np
    >>> from preimage.widths._enclosing import gram_ball
    >>> ball = gram_ball(np.eye(3) / 2)
    >>> ball.weights.round(6), round(ball.radius, 6)
    (array([0.333333, 0.333333, 0.333333]), 0.57735)
    """
    G = centered(G)
    scale = float(np.max(np.diagonal(G)))
    if not scale > 0:
        return Ball(np.full(len(G), 1 / len(G)), 0.0, 0.0, 0, True)
    G = G / scale
    p, n_rough = _rough_weights(G, min(max_iter, ROUGH_STEPS * len(G)))
    p, n_exact = _exact_weights(G, p, tol, max_iter - n_rough)
    return _ball(G, p, scale, n_rough + n_exact, tol)


def centered(G: Array) -> np.ndarray:
    """G of the points less their mean, symmetric to the last bit."""
    G = np.asarray(G, dtype=float)
    if G.ndim != 2 or G.shape[0] != G.shape[1] or G.shape[0] == 0:
        raise ValueError(f"An enclosing ball needs a square Gram matrix of at least one point; got shape {G.shape}.")
    if not np.all(np.isfinite(G)):
        raise ValueError("An enclosing ball needs finite inner products; the Gram matrix has NaN or infinite entries.")
    means = G.mean(axis=0)
    G = G - means[None, :] - means[:, None] + means.mean()
    return (G + G.T) / 2


def _rough_weights(G: np.ndarray, max_iter: int) -> tuple[np.ndarray, int]:
    """Frank–Wolfe with away steps from the two ends of a long chord, to a rough gap; weights and number of steps.

    Invariant: p ≥ 0 sums to one and `product` is G p. A step τ along e − p, with e all weight on one point at squared
    distance d from the centre, changes the dual value D to D + τ(d − D) − τ²d, which is largest at τ = (d − D)/2d.
    It is positive towards a far point. Away from a near one it is negative, and ends where no weight is left.
    """
    diagonal = np.diagonal(G)
    first = int(np.argmax(diagonal))
    second = int(np.argmax(diagonal + G[first, first] - 2 * G[first]))
    p = np.zeros(len(G))
    p[first] += 0.5
    p[second] += 0.5
    product, n_taken = G @ p, 0
    while n_taken < max_iter:
        squared_norm = p @ product
        distances = squared_norm + diagonal - 2 * product
        dual = p @ diagonal - squared_norm
        far = int(np.argmax(distances))
        gap = distances[far] - dual
        if gap <= ROUGH_GAP * distances[far]:
            break
        active = np.flatnonzero(p)
        near = int(active[np.argmin(distances[active])])
        if gap >= dual - distances[near]:
            point, step = far, min(1.0, 0.5 * gap / distances[far])
        else:
            point, most = near, p[near] / (1 - p[near])
            best = 0.5 * (dual - distances[near]) / max(distances[near], np.finfo(float).tiny)
            step = -min(most, best)
        # Exactly zero where the step takes all of the weight: rounding would keep the point in the support.
        emptied = step < 0 and -step * (1 - p[point]) >= p[point]
        p *= 1 - step
        p[point] = 0.0 if emptied else p[point] + step
        product = (1 - step) * product + step * G[point]
        n_taken += 1
    return p / p.sum(), n_taken


def _exact_weights(G: np.ndarray, p: np.ndarray, tol: float, max_iter: int) -> tuple[np.ndarray, int]:
    """The active set: solve for equal distances on the support, let negative weights leave and far points enter.

    Invariant: p is zero outside of `support`. Each round raises the dual value, so no support comes twice but for
    rounding errors; `best` are the weights of the smallest gap so far.
    """
    n_taken, n_vain, best, best_gap = 0, 0, p, np.inf
    support = np.flatnonzero(p)
    while n_taken < max_iter and n_vain < VAIN_STEPS:
        n_taken += 1
        p, support = _balanced(G, p, support)
        distances = center_distances(G, p)
        far = int(np.argmax(distances))
        gap = distances[far] - p @ distances
        n_vain = n_vain + 1 if gap >= best_gap else 0
        if gap < best_gap:
            best, best_gap = p, gap
        # A farthest point that is in the support already says that rounding errors are all that is left.
        if gap <= tol * distances[far] or far in support:
            break
        support = np.append(support, far)
    return best, n_taken


def _balanced(G: np.ndarray, p: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest dual value with weight on (a part of) the support alone: the weights, and the part.

    Every round but the last takes one point out of the support, so there are at most as many as points.
    """
    while True:
        target, direction = _equidistant(G, support, p[support])
        if target is not None and np.all(target >= 0):
            p = np.zeros_like(p)
            p[support] = target / target.sum()
            return p, support
        # The dual is concave: go towards its top as far as weights stay positive; a weight that ends there leaves.
        here = p[support]
        falling = direction < 0
        if not falling.any():
            return p, support  # rounding errors are all that is left
        steps = np.where(falling, here / np.where(falling, -direction, 1.0), np.inf)
        leaving = int(np.argmin(steps))
        moved = np.maximum(here + steps[leaving] * direction, 0)
        moved[leaving] = 0.0
        p = np.zeros_like(p)
        p[support] = moved / moved.sum()
        support = np.delete(support, leaving)


def _equidistant(G: np.ndarray, support: np.ndarray, here: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Weights of sum one, of any sign, whose centre has the same distance to all points of the support.

    Returns them, and the direction from `here` to them. They solve 2Gp + λ1 = diag G with 1ᵀp = 1: the dual value is
    stationary. Points that depend on each other (more of them than dimensions plus one, or one twice) need not have
    such a centre. Then weights are None, and along the direction the centre stays where it is while the dual value
    rises without end.
    """
    size = support.size
    matrix = np.ones((size + 1, size + 1))
    matrix[:size, :size] = 2 * G[np.ix_(support, support)]
    matrix[size, size] = 0.0
    right = np.append(np.diagonal(G)[support], 1.0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            weights = solve(matrix, right, assume_a="sym", check_finite=False)[:size]
        if np.abs(weights).max() <= LARGEST_WEIGHT:
            return weights, weights - here
    except (LinAlgError, LinAlgWarning):
        pass
    solution = np.linalg.lstsq(matrix, right, rcond=DEPENDENT)[0]
    # The residual of least squares is in the null space of a symmetric matrix: weights that do not move the centre.
    residual = right - matrix @ solution
    if np.linalg.norm(residual) > np.sqrt(DEPENDENT) * np.linalg.norm(right):
        return None, residual[:size] - residual[:size].mean()
    return solution[:size], solution[:size] - here


def _ball(G: np.ndarray, p: np.ndarray, scale: float, n_steps: int, tol: float) -> Ball:
    """The ball of the weights p, in the units of G before it was divided by `scale`."""
    distances = center_distances(G, p)
    upper = max(float(distances.max()), 0.0)
    lower = max(float(p @ distances), 0.0)
    return Ball(p, scale * upper, scale * lower, n_steps, upper - lower <= tol * upper)


@dataclass(frozen=True)
class Covering:
    """Bounds on the logarithm of a covering number.

    Attributes
    ----------
    log_number : float
        ln N for the box: functions on the rows lie within the scale of one of N of them, at every row.
    cutoff : int
        Axes that count at this scale; along the others all functions agree up to it. Zero where one function suffices.
    log_number_of_ball : float
        The same without the lengths of the sides: from the radius and the number of dimensions alone.
    """

    log_number: float
    cutoff: int
    log_number_of_ball: float


@dataclass(frozen=True)
class EnclosingBox:
    """The box with its middle at the mean of the images and edges along their principal axes.

    Attributes
    ----------
    sides : array of shape (q,)
        Half side lengths, descending: the largest modulus of a coordinate along each axis.
    variances : array of shape (q,)
        Variances along the same axes.
    radii : array of shape (q,)
        Entry m − 1 is the longest image after the first m axes were divided by their sides and all others by the side
        of the m-th: the radius of the ball that contains the stretched box of data.
    radius : float
        The longest image, measured from the mean.
    n_points : int
    """

    sides: np.ndarray
    variances: np.ndarray
    radii: np.ndarray
    radius: float
    n_points: int

    def covering(self, norm: float, scale: float) -> Covering:
        r"""How many functions :math:`x \mapsto \langle w, \varphi(x) - \bar\varphi\rangle`, ‖w‖ ≤ `norm`, differ.

        Bounds the number of functions so that every one of the class is within `scale` of one of them at all rows.
        Stretching data by a diagonal A and w by :math:`A^{-1}` changes no value. With the first m axes divided by
        their sides :math:`s_j`, the others by :math:`s_m`, the data lie in a ball of radius :math:`R_m` and the weights
        in an ellipsoid with half axes :math:`e_j = \|w\| s_{\min(j, m)}`. Values change by at most :math:`R_m` times
        the weights, so balls of radius :math:`\delta = \varepsilon / R_m` have to cover the ellipsoid. Where
        :math:`e_m < \delta`, axes beyond m are covered by :math:`\delta'^2 = \delta^2 - e_m^2`, and comparing volumes
        for the others gives

        .. math:: \ln N \le \sum_{j \le m} \tfrac12 \ln\bigl(2 + 8 e_j^2 / \delta'^2\bigr),

        of which the smallest over m is taken, also without stretching  (K20).

        Parameters
        ----------
        norm : float > 0
            Largest length of w.
        scale : float > 0
            ε in units of function values. Bounds for classifiers of margin one use a half.

        Returns
        -------
        Covering
        """
        if not (np.isfinite(norm) and norm > 0 and np.isfinite(scale) and scale > 0):
            raise ValueError(f"A covering needs a positive norm and scale; got norm={norm!r} and scale={scale!r}.")
        if norm * self.radius <= scale:  # the zero function is within the scale of all
            return Covering(0.0, 0, 0.0)
        q = self.sides.size
        flat = q * _log_volume(np.array([norm]), scale / self.radius)
        ball = min(flat, self._dimension_free(norm, scale))
        best, cutoff = min((self._stretched(m, norm, scale), m) for m in _cutoffs(q))
        return Covering(best, cutoff, ball) if best < ball else Covering(ball, q, ball)

    def _stretched(self, m: int, norm: float, scale: float) -> float:
        """ln N where the first m axes are divided by their sides; infinite where the others exceed the scale."""
        delta, axes = scale / self.radii[m - 1], norm * self.sides[:m]
        if m < self.sides.size:
            if axes[-1] >= delta:
                return inf
            delta = delta * np.sqrt(1 - (axes[-1] / delta) ** 2)
        return _log_volume(axes, delta) if delta > 0 else inf

    def _dimension_free(self, norm: float, scale: float) -> float:
        ratio = norm * self.radius / scale
        return BALL_FACTOR * ratio**2 * log(2 * ceil(BALL_STEPS * ratio + 2) * self.n_points + 1)


@gives_finite_numbers()
def enclosing_box(kernel: Kernel, X: Rows) -> EnclosingBox:
    r"""The box in feature space around the images of the rows of X, with edges along their principal axes.

    Mercer's theorem puts images into a box with half sides :math:`C\sqrt{\lambda_j}`, which fall as fast as the
    eigenvalues of the kernel [1]_. Here the sides are measured: :math:`s_j = \max_i |\beta_j(x_i)|` with the
    coordinates of kernel PCA. A ball that contains the box is much larger than it, and there are many more functions on
    it: see `EnclosingBox.covering`.

    Parameters
    ----------
    kernel : Kernel
        With all parameters resolved, and positive semidefinite on differences of images.
    X : array or sparse matrix of shape (n, d)
        Two different rows at least.

    Returns
    -------
    EnclosingBox
        Half sides along the principal axes, and `covering`.

    See Also
    --------
    enclosing_ball : The smallest ball.
    preimage.model_selection.capacity_report : Coverings of the functions of a machine.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Transactions on Neural
       Networks 10, 1999, section II-D.

    Examples
    --------
    The wider the kernel, the flatter the box:

    >>> import numpy as np
    >>> from preimage.kernels import Gaussian
    >>> from preimage.widths import enclosing_box
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> for gamma in (0.01, 0.1, 1.0):
    ...     sides = enclosing_box(Gaussian(gamma), X).sides
    ...     print(f"{sides[0]:.2f} {sides[5] / sides[0]:.3f}")
    0.32 0.020
    0.68 0.197
    0.70 0.810
    """
    X = in_double(as_points(X))
    advice = "Give some of the rows: two thousand, for instance."
    require_square_matrices("A box around images", X.shape[0], MATRICES, X, advice)
    gram = to_numpy(kernel(X))
    G = centered(gram)
    advice = "Without one, lengths have no meaning. Iterated(kernel) is positive semidefinite."
    require_semidefinite(kernel, G, "enclosing_box", advice)
    values, vectors = eigh_descending(G)
    rank = numerical_rank(values, X.shape[0], scale=float(np.max(np.abs(np.diagonal(gram)))))
    if rank == 0:
        raise no_variance(kernel)
    return _box(vectors[:, :rank] * np.sqrt(values[:rank]))


def _box(coordinates: np.ndarray) -> EnclosingBox:
    """The box of centred coordinates along the axes, shape (n, q)."""
    sides = np.abs(coordinates).max(axis=0)
    order = np.argsort(-sides, kind="stable")
    sides, squares = sides[order], coordinates[:, order] ** 2
    lengths = squares.sum(axis=1)
    inside = np.cumsum(squares, axis=1)
    # Row i, column m − 1: Σ_{j ≤ m} (β_ij/s_j)² + Σ_{j > m} (β_ij/s_m)². Differences of sums may round below zero.
    outside = np.maximum(lengths[:, None] - inside, 0) / sides**2
    outside[:, -1] = 0
    radii = np.sqrt((np.cumsum(squares / sides**2, axis=1) + outside).max(axis=0))
    return EnclosingBox(sides, squares.mean(axis=0), radii, float(np.sqrt(lengths.max())), len(coordinates))


def _cutoffs(q: int) -> list[int]:
    """Numbers of axes to try, one at least, q among them."""
    if q <= MOST_CUTOFFS:
        return list(range(1, q + 1))
    return sorted({round(number) for number in np.geomspace(1, q, MOST_CUTOFFS).tolist()})


def _log_volume(axes: np.ndarray, delta: float) -> float:
    """ln of how many balls of radius δ cover an ellipsoid: a packing with half of it fits into the sum of both.

    The sum of the ellipsoid and a ball of radius r is inside the ellipsoid with the half axes √2·√(e² + r²), because
    (‖Eu‖ + r‖u‖)² ≤ 2‖Eu‖² + 2r²‖u‖².
    """
    return float(0.5 * np.sum(np.log(2 + 8 * (axes / delta) ** 2)))
