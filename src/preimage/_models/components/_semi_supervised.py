"""Semi-supervised kernel PCA: orthonormal directions of large variance whose values follow some labels."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from preimage._engine.arrays import (
    array_namespace,
    device_kwargs,
    epsilon,
    from_numpy,
    in_double,
    itemsize,
    take_rows,
    to_numpy,
)
from preimage._engine.linalg import (
    DETERMINED,
    cholesky,
    eigh,
    fix_signs,
    numerical_rank,
    rank_tolerance,
    require_variance,
    top_eigh,
)
from preimage._engine.typing import Array
from preimage._engine.warnings import warn_user
from preimage._models.components._features import are_features, coordinate_moments
from preimage.exceptions import RankWarning
from preimage.feature_space import Expansion, Moments, Subspace
from preimage.kernels import Kernel

# The method, in messages.
WHO = "Semi-supervised kernel PCA"
# Largest weight of labels relative to the norm of functions at which the norm still has two digits in double precision.
MOST_WEIGHT = 1e14
# Components of b along the best direction whose square, relative to s², is below this are taken as zero: u of `_root`
# is about their ratio, and its square would underflow (the smallest double is 5e-324). s² is limited likewise.
SMALLEST_SQUARE = 1e-200
# Factor between bounds of the root that are tried in turn: u ranges over hundreds of decades, and the solver of the
# root, which works on its logarithm, needs bounds of the right sign only.
BOUND_STEP = 16.0
# Accuracy of log u: that of a double, the smallest relative tolerance that `brentq` accepts.
ROOT_TOLERANCE = {"xtol": 1e-15, "rtol": 8.9e-16, "maxiter": 500}


@dataclass(frozen=True)
class FeatureSample:
    """Data in the coordinates of an orthonormal frame of feature space.

    Attributes
    ----------
    space : Subspace
        Through zero: the span of the data, or of landmarks.
    moments : Moments
        Of the coordinates of all data.
    at_points : array of shape (m, r)
        Coordinates of the points that the frame is made of.
    labelled : array of shape (l, r)
        Coordinates of the labelled rows.
    trace : float
        Sum of k(x, x) over all data, in the span or not.
    points : array of shape (m, d)
        The points of the frame in the precision of the data, in which coordinates are computed later.
    """

    space: Subspace
    moments: Moments
    at_points: Array
    labelled: Array
    trace: float
    points: Array

    @classmethod
    def of(
        cls, kernel: Kernel, X: Array, points: Array, labelled_rows: Array, weights: np.ndarray | None = None
    ) -> "FeatureSample":
        """In the span of the images of some points, which may be X, in one pass over X; in double precision."""
        exactly = lambda rows: rows if kernel.points_are_row_numbers else in_double(rows)
        space = Subspace.span(kernel, points, who=WHO)
        at_points = space.frame(space.frame.points)
        labelled = space.frame(exactly(labelled_rows)) if labelled_rows.shape[0] else at_points[:0, :]
        diagonal = in_double(kernel.diagonal(exactly(X)))
        counted = diagonal if weights is None else diagonal * from_numpy(weights, diagonal)
        trace = float(array_namespace(counted).sum(counted))
        return cls(space, coordinate_moments(space, X, weights), at_points, labelled, trace, points)

    @property
    def inside(self) -> float:
        """The part of `trace` in the span."""
        mean, scatter = self.moments.mean, self.moments.scatter
        return float(array_namespace(scatter).linalg.trace(scatter)) + self.moments.count * float(mean @ mean)

    @property
    def total(self) -> float:
        """Variance of the data in feature space about the mean in the span, as in kernel PCA on landmarks."""
        mean, scatter = self.moments.mean, self.moments.scatter
        inside = float(array_namespace(scatter).linalg.trace(scatter))
        return max(self.trace - self.moments.count * float(mean @ mean), inside) / self.moments.count

    def weighted_labels(
        self, targets: Sequence[np.ndarray | None], weights: np.ndarray
    ) -> tuple["FeatureSample", list[np.ndarray | None]]:
        """Labelled rows and targets times √w, so that squared errors count w times; targets as lists of columns."""
        roots = np.sqrt(weights)
        rows = self.labelled * from_numpy(roots, self.labelled)[:, None]
        return replace(self, labelled=rows), [None if target is None else roots * target for target in targets]


@dataclass(frozen=True)
class SemiSupervisedSubspace:
    """The result of semi-supervised kernel PCA.

    Attributes
    ----------
    subspace : Subspace
        Frame of unit functions f, and the mean as origin: coordinates are f(x) − mean of f  (L3).
    variances : array of shape (k,)
        Of each component on the data.
    multipliers : array of shape (k,)
        λ of (L2) for supervised components, 1/(n · variance) for others, in NumPy.
    total : float
        Variance of the data in feature space, in the span of landmarks or not.
    """

    subspace: Subspace
    variances: Array
    multipliers: np.ndarray
    total: float


def semi_supervised_subspace(
    sample: FeatureSample,
    targets: Sequence[np.ndarray | None],
    n_components: int,
    *,
    label_weight: float,
    scale: float,
) -> SemiSupervisedSubspace:
    r"""Orthonormal functions of feature space, one after the other  (L1).

    Component n minimises :math:`\|f\|^2 + c \sum_{i \in L} (f(x_i) - t_i)^2` among functions perpendicular to those
    before it, of variance :math:`s^2/n` over the data. In the coordinates g of an orthonormal frame,
    :math:`f(X) = F g` and :math:`\|f\| = |g|`, so that C = I + c FᵀF (labelled rows) has no eigenvalue below one and
    `secular_minimum` finds the global minimum; functions are then scaled to length one. A Householder reflection per
    component takes its direction out of all matrices.

    Parameters
    ----------
    sample : FeatureSample
    targets : sequence of arrays of shape (l,) or None
        Targets t of the labelled rows for each component; None, and what is beyond the sequence, is unsupervised.
    n_components : int
    label_weight : float
        c ≥ 0.
    scale : float
        Standard deviation s/√n > 0 of functions over the data, in the units of the targets.

    Returns
    -------
    SemiSupervisedSubspace
    """
    moments = sample.moments
    mean, scatter = moments.mean, moments.scatter
    xp = array_namespace(scatter)
    total = float(xp.linalg.trace(scatter))
    require_variance(sample.space.frame.kernel, total, moments.count * float(mean @ mean), scatter.dtype)
    require_weight_within_precision(float(xp.sum(sample.labelled * sample.labelled)), label_weight)
    search = _Search(sample.labelled, scatter, label_weight, moments.count * scale**2)
    targets = list(targets)[:n_components]
    while targets and targets[-1] is None:  # all of the rest are eigenvectors of one matrix
        targets.pop()
    for target in targets:
        if not search.has_variance():
            break
        search.add(target)
    if len(search) == len(targets):
        search.add_principal(n_components - len(search))
    D, multipliers, has_sign = search.result()
    frame, variances = sample.space.frame, xp.sum(D * (scatter @ D), axis=0) / moments.count
    # Entries i, j of a scatter S have rounding errors ε√(Sᵢᵢ Sⱼⱼ), and aᵀSa those of Σᵢ Sᵢᵢ aᵢ².
    errors = epsilon(D.dtype) * (xp.linalg.diagonal(scatter) @ (D * D)) / moments.count
    kept = require_determined(frame @ D, sample.points, variances, errors, n_components)
    D, variances = take_rows(D.T, kept).T, take_rows(variances, kept)
    multipliers, has_sign = multipliers[kept], has_sign[kept]
    signs = fix_signs(sample.at_points @ D - D.T @ mean)
    D = D * xp.where(from_numpy(has_sign, D, dtype=xp.bool), xp.ones_like(signs), signs)
    subspace = Subspace(frame @ D, frame @ mean[:, None], offset=D.T @ mean, origin_squared_norm=float(mean @ mean))
    return SemiSupervisedSubspace(subspace, variances, multipliers, sample.total)


class _Search:
    """Directions found so far, and everything in a basis of what is perpendicular to them."""

    def __init__(self, labelled: Array, scatter: Array, label_weight: float, squared_size: float) -> None:
        xp = array_namespace(scatter)
        self.label_weight, self.squared_size = label_weight, squared_size
        self.basis = xp.eye(scatter.shape[0], dtype=scatter.dtype, **device_kwargs(scatter))
        self.scatter, self.labelled = scatter, labelled
        self.largest = float(xp.linalg.trace(scatter))
        self.found: list[Array] = []
        self.multipliers: list[float] = []
        self.has_sign: list[bool] = []

    def __len__(self) -> int:
        return len(self.has_sign)

    def has_variance(self) -> bool:
        """Whether what is perpendicular to the directions found has a variance above rounding errors."""
        left = self.scatter.shape[0]
        xp = array_namespace(self.scatter)
        return left > 0 and float(xp.linalg.trace(self.scatter)) > rank_tolerance(left, self.scatter.dtype) * (
            self.largest
        )

    def add(self, target: np.ndarray | None) -> None:
        """One component, with targets of the labelled rows or None, and take it out of what is left."""
        if target is None:
            self.add_principal(1)
            direction = self.basis.T @ self.found[-1][:, 0]
        else:
            direction = self._add_supervised(from_numpy(target, self.scatter))
        self._take_out(direction)

    def add_principal(self, count: int) -> None:
        """The eigenvectors of the largest variances of what is left."""
        if count < 1 or not self.has_variance():
            return
        values, vectors = top_eigh(self.scatter, min(count, self.scatter.shape[0]))
        keep = numerical_rank(values, self.scatter.shape[0], self.largest)
        self._note(self.basis @ vectors[:, :keep], 1 / to_numpy(values[:keep]), False)

    def result(self) -> tuple[Array, np.ndarray, np.ndarray]:
        """Directions as columns, their multipliers, and whether labels have decided the sign of each."""
        xp = array_namespace(self.scatter)
        if not self.found:
            raise ValueError(
                "The rows have no variance in the span of their landmarks beyond rounding: the kernel cannot tell them "
                "apart. Scale the data, or choose another gamma, for instance gamma='median'."
            )
        return xp.concat(self.found, axis=1), np.array(self.multipliers), np.array(self.has_sign)

    def _add_supervised(self, target: Array) -> Array:
        A, P = self.labelled, self.scatter
        xp = array_namespace(P)
        identity = xp.eye(P.shape[0], dtype=P.dtype, **device_kwargs(P))
        b = self.label_weight * (A.T @ target)
        # (L2): ‖f‖² is the identity in these coordinates, and earlier components have been reflected out.
        minimum = secular_minimum(identity + self.label_weight * (A.T @ A), P, b, self.squared_size)
        direction = minimum.point / xp.linalg.vector_norm(minimum.point)
        self._note((self.basis @ direction)[:, None], [minimum.multiplier], bool(xp.any(b != 0)))
        return direction

    def _note(self, directions: Array, multipliers: Iterable[float], has_sign: bool) -> None:
        self.found.append(directions)
        self.multipliers.extend(float(each) for each in multipliers)
        self.has_sign.extend([has_sign] * directions.shape[1])

    def _take_out(self, direction: Array) -> None:
        """Reflect `direction` to the first axis, and leave that out.

        The Householder vector adds ±1 to the first entry, with the sign of that entry: nothing cancels.
        """
        xp = array_namespace(direction)
        first = direction[:1] + xp.where(direction[:1] < 0, -xp.ones_like(direction[:1]), xp.ones_like(direction[:1]))
        v = xp.concat([first, direction[1:]])
        v = v / xp.linalg.vector_norm(v)
        reflected = lambda M: M - 2 * (M @ v)[:, None] * v[None, :]
        self.basis = reflected(self.basis)[:, 1:]
        self.labelled = reflected(self.labelled)[:, 1:]
        P = reflected(reflected(self.scatter).T)[1:, 1:]
        self.scatter = (P + P.T) / 2


def require_weight_within_precision(squared_lengths: float, label_weight: float) -> None:
    """Refuse labels of so much weight that the norm of functions is lost in rounding errors.

    `squared_lengths` is the sum of those of the images of the labelled rows.
    """
    weight = label_weight * squared_lengths
    if weight > MOST_WEIGHT:
        raise ValueError(
            f"Labels weigh {weight:.2g} times as much as the norm of functions, which is lost in rounding errors "
            f"beyond {MOST_WEIGHT:.0g}. Lower label_weight={label_weight:.3g}, or scale the data or the kernel down."
        )


def require_determined(
    functions: Expansion, points: Array, variances: Array, errors: Array, n_components: int
) -> np.ndarray:
    """Numbers of the functions that the data determine, with a warning where more were asked for; none is an error.

    Parameters
    ----------
    functions : Expansion of k vectors of length one
    points : array of shape (m, d)
        Their points in the precision of the data.
    variances, errors : arrays of shape (k,)
        Variances of the functions over the data, and rounding errors of these.
    n_components : int
    """
    xp, kernel = array_namespace(variances), functions.kernel
    is_kept = are_features(functions, points, xp.sqrt(xp.clip(variances, min=0.0)), 1.0)
    kept = np.flatnonzero(to_numpy(is_kept & (errors <= DETERMINED[itemsize(kernel.value_type(points))] * variances)))
    if kept.size == 0:
        raise ValueError(
            f"Rounding errors decide the coordinates along each of {n_components} components: the kernel {kernel!r} "
            "hardly tells the points apart, or labels ask for directions along which they hardly vary. Center and "
            "scale the data, lower label_weight, choose another gamma, or compute in double precision."
        )
    if kept.size < n_components:
        warn_user(
            f"{n_components} components were asked for, but the data determine only {kept.size}: rounding errors "
            f"decide the coordinates along others. {kept.size} are kept.",
            RankWarning,
        )
    return kept


@dataclass(frozen=True)
class SecularMinimum:
    """The minimum of hᵀCh − 2bᵀh on hᵀPh = s².

    Attributes
    ----------
    point : array of shape (r,)
        h.
    multiplier : float
        λ with (C − λP)h = b.
    limit : float
        δ₁ ≥ λ, the smallest δ with Cx = δPx; C − λP is positive semidefinite exactly below it.
    is_hard : bool
        Whether λ = δ₁: b has no component along the best direction, whose sign is then free.
    """

    point: Array
    multiplier: float
    limit: float
    is_hard: bool


def secular_minimum(C: Array, P: Array, b: Array, squared_size: float) -> SecularMinimum:
    r"""Minimise :math:`h^\top C h - 2 b^\top h` subject to :math:`h^\top P h = s^2`, globally  (L2).

    With both matrices diagonal in one basis, :math:`L^{-1} P L^{-\top} = Q \Theta Q^\top` for :math:`C = L L^\top`, the
    condition :math:`(C - \lambda P) h = b` is :math:`x_i = \tilde b_i / (1 - \lambda\theta_i)`, and the constraint is
    the secular equation [1]_

    .. math:: \varphi(\lambda) = \sum_i \theta_i \tilde b_i^2 / (1 - \lambda\theta_i)^2 = s^2,

    with one root below :math:`\delta_1 = 1/\theta_{max}`, the global minimum. If :math:`\tilde b` vanishes along
    :math:`\theta_{max}` and the others do not fill the constraint, :math:`\lambda = \delta_1` and the rest of s is
    filled along that direction, with the sign that makes its largest entry positive (the hard case).

    Parameters
    ----------
    C : array of shape (r, r)
        Symmetric positive definite.
    P : array of shape (r, r)
        Symmetric positive semidefinite, not zero.
    b : array of shape (r,)
    squared_size : float
        s² > 0, between 1e-200 and 1e200: squares of it have to be numbers.

    Returns
    -------
    SecularMinimum

    References
    ----------
    .. [1] W. Gander, G. H. Golub, U. von Matt, "A constrained eigenvalue problem", Linear Algebra and its
       Applications 114/115, 1989.

    Examples
    --------
    The point of the circle of radius 2 that is nearest to (3, 0):

    >>> import numpy as np
    >>> from preimage._models.components import secular_minimum
    >>> secular_minimum(np.eye(2), np.eye(2), np.array([3.0, 0.0]), 4.0).point.round(9)
    array([2., 0.])
    """
    xp, squared_size = array_namespace(C), float(squared_size)
    if not SMALLEST_SQUARE <= squared_size <= 1 / SMALLEST_SQUARE:
        raise ValueError(f"A constraint hᵀPh = s² needs s² between 1e-200 and 1e200; got {squared_size:.3g}.")
    if (L := cholesky(C)) is None:
        raise ValueError(
            f"A quadratic function needs a positive definite matrix C to have a minimum; that of shape "
            f"{tuple(C.shape)} is not, up to rounding. Lower the weight of labels, or scale the kernel."
        )
    # L⁻¹PL⁻ᵀ; with x = QᵀLᵀh the objective is ‖x‖² − 2b̃·x and the constraint Σ θᵢxᵢ² = s².
    W = xp.linalg.solve(L, xp.linalg.solve(L, P).T)
    values, Q = eigh((W + W.T) / 2)
    theta, b_diagonal = to_numpy(values), to_numpy(Q.T @ xp.linalg.solve(L, b))
    if not theta[-1] > 0:
        raise ValueError("A constraint hᵀPh = s² > 0 cannot be met with P = 0.")
    back = lambda x: xp.linalg.solve(L.T, Q @ from_numpy(x, C))
    x, multiplier, is_hard = _diagonal_minimum(theta, b_diagonal, squared_size)
    if is_hard:
        # Both signs along θmax give the same value; the sign is fixed in the coordinates of h, where users see it.
        lead = np.zeros_like(x)
        lead[-1] = x[-1]
        x = x - lead
        direction = back(lead)
        return SecularMinimum(back(x) + direction * fix_signs(direction[:, None]), multiplier, multiplier, True)
    return SecularMinimum(back(x), multiplier, float(1 / theta[-1]), False)


def _diagonal_minimum(theta: np.ndarray, b: np.ndarray, squared_size: float) -> tuple[np.ndarray, float, bool]:
    """x, λ and whether the case is hard, for ascending θ."""
    top = theta[-1]
    theta = np.where(theta > rank_tolerance(theta.size, theta.dtype) * top, theta, 0.0)
    divisors, multiplier, room = secular_divisors(theta, theta * b**2, squared_size)
    x = b / divisors
    if room is not None:
        x[-1] = np.sqrt(room / top)
    return x, multiplier, room is not None


def secular_divisors(
    theta: np.ndarray, weights: np.ndarray, squared_size: float
) -> tuple[np.ndarray, float, float | None]:
    """1 − λθ and λ of the root of Σ wᵢ/(1 − λθᵢ)² = s² below 1/θmax, for ascending θ.

    Those that differ by rounding errors count as equal. The last result is None, or in the hard case what is left of s²
    for the direction of θmax; the divisors of directions with θmax are infinite then.
    """
    top, tolerance = theta[-1], rank_tolerance(theta.size, theta.dtype)
    relative, gaps = theta / top, (top - theta) / top
    lead = gaps <= tolerance
    gaps = np.where(lead, 0.0, gaps)
    # 1 − λθ = gap + (θ/θmax)u with u = 1 − λθmax: no digits are lost however small u is.
    phi = lambda u: float(np.sum(weights / (gaps + relative * u) ** 2))
    along = float(np.sum(weights[lead]))
    if along <= max(tolerance**2 * float(np.sum(weights)), SMALLEST_SQUARE * squared_size):
        divisors = np.where(lead, np.inf, gaps)
        room = squared_size - float(np.sum(weights / divisors**2))
        if room >= -tolerance * squared_size:
            return divisors, float(1 / top), max(room, 0.0)
        along = 0.0
    u = _root(phi, squared_size, along)
    return gaps + relative * u, float((1 - u) / top), None


def _root(phi: Callable[[float], float], squared_size: float, along: float) -> float:
    """The u > 0 with φ(u) = s²; φ decreases, and is at least `along`/u²."""
    high = 1.0
    while phi(high) > squared_size:
        high *= BOUND_STEP
    low = 0.5 * np.sqrt(along / squared_size) if along > 0 else 1.0
    while phi(low) < squared_size:
        low /= BOUND_STEP
    # 1/√φ is nearly linear in u, and u ranges over hundreds of decades: solve for its logarithm.
    gap = lambda v: phi(np.exp(v)) ** -0.5 - squared_size**-0.5
    return float(np.exp(brentq(gap, np.log(low), np.log(high), **ROOT_TOLERANCE)))
