"""Exact pre-images, where they exist: values of the target at a few probes determine the input."""

from collections.abc import Callable
from numbers import Real

import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, from_numpy, to_dense, to_numpy
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters
from preimage.descent import PreimageResult, Reason, spread
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion
from preimage.kernels import InnerProduct, Kernel, Polynomial, ProfileKernel, SquaredDistance, is_profile
from preimage.kernels._profile import invert_monotone
from preimage.solvers._nearest_image import nearest_points
from preimage.solvers._preimage import TargetSolver, about_origin, objective_at


class ExactInverse(TargetSolver):
    r"""Pre-images by inverting the kernel's profile at probes along the axes (Proposition 6 of [1]_).

    If :math:`\Psi = \varphi(z)` and :math:`k = f(x \cdot y)` with invertible f, then :math:`z \cdot e_i =
    f^{-1}(\Psi(\tau e_i)) / \tau`. For radial kernels probes on both sides give the same by polarisation,
    :math:`(z - m) \cdot e_i = (D(m - \tau e_i) - D(m + \tau e_i)) / (4\tau)` with :math:`D = f^{-1} \circ \Psi`.

    Sums, products, powers and multiples of profiles of one quantity are profiles, constants are profiles of any
    quantity, and where f has no formula for its inverse bisection finds it. A dot-product kernel that is positive
    semidefinite in all dimensions is a power series without negative coefficients: where f itself cannot be inverted,
    as for polynomials of even degree, its odd part can, :math:`f(\tau z_i) - f(-\tau z_i) = \Psi(\tau e_i) -
    \Psi(-\tau e_i)`. Even functions of the inner product, such as homogeneous polynomials of even degree, determine z
    up to its sign.

    The formula gives numbers even when no exact pre-image exists; the result says so (`converged` is False) when
    :math:`\rho(z)` is more than `tol` of :math:`\|\Psi\|^2`, and the nearest training point is returned if it is
    nearer. The "distance" :math:`\rho` of an indefinite kernel may be zero or negative far from any pre-image; there
    :math:`k(z, \cdot)` and :math:`\Psi` must agree, as functions, at the points of the target and along the axes.

    Parameters
    ----------
    tol : float, default=1e-6
        Largest relative distance :math:`\rho(z) / \|\Psi\|^2` that counts as exact; for indefinite kernels the largest
        squared difference of the two functions over the largest squared value.

    See Also
    --------
    FixedPoint : Where no exact pre-image exists: the nearest image.
    Gradient : The same for kernels without a fixed point.
    preimage.kernels.Polynomial : A kernel with exact pre-images.

    References
    ----------
    .. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Trans. Neural Networks
       10, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Polynomial
    >>> from preimage.solvers import ExactInverse
    >>> z = np.array([[0.3, -1.2]])
    >>> ExactInverse().solve(Expansion(Polynomial(3), z, np.ones((1, 1)))).points
    array([[ 0.3, -1.2]])
    """

    _parameter_constraints = {"tol": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, tol: float = 1e-6) -> None:
        self.tol = tol

    @about_origin
    def solve(self, target: Expansion, start: Array | None = None, anchor: Array | None = None) -> PreimageResult:
        check_parameters(self)
        fallback = nearest_points(target) if start is None else to_dense(start)
        with np.errstate(invalid="ignore", divide="ignore"):
            points = _formula(target.kernel)(target)
        xp = array_namespace(points)
        finite = xp.all(xp.isfinite(points), axis=1)
        points = xp.where(finite[:, None], points, fallback)
        found, other = _deviation(target, points), _deviation(target, fallback)
        nearer = found <= other
        points = xp.where(nearer[:, None], points, fallback)
        objective = objective_at(target, points)
        exact = to_numpy(xp.where(nearer, found, other) <= self.tol)
        reason = Reason.choose(exact, Reason.DIRECT, Reason.NOT_EXACT)
        return PreimageResult(points, objective, np.zeros(len(reason), int), exact, reason)


# Basis vectors that are evaluated together: all of them would be as many numbers as the inputs have columns, squared.
BASIS_ROWS = 512
# Inner products, relative to squared coordinates of inputs, at which a profile is compared with its mirror image, and
# the relative difference that is rounding: a linear term that is smaller next to an even one determines no digits of z.
EVEN_PROBES = np.array([1e-2, 0.1, 1.0, 10.0])
EVEN_ROUNDING = 1e-12


def values_at_basis(vectors: Expansion, n_features: int, scale: float = 1.0, shift: float | Array = 0.0) -> Array:
    """⟨ψ, φ(shift + scale·eᵢ)⟩ for every axis i, shape (n_features, k); never all basis vectors at once."""
    like = vectors.coefficients

    def values(rows: np.ndarray) -> Array:
        basis = np.zeros((len(rows), n_features))
        basis[np.arange(len(rows)), rows] = scale
        return vectors(shift + from_numpy(basis, like))

    return map_rows(values, np.arange(n_features), rows=BASIS_ROWS, device_of=like)


def _formula(kernel: Kernel) -> Callable[[Expansion], Array]:
    if not is_profile(kernel):
        raise UnsupportedKernelError(
            f"ExactInverse needs a kernel with an invertible profile; got {kernel!r}. preimage='gradient' finds the "
            "nearest image instead, 'learned' works with any kernel, and 'auto' finds a way for each."
        )
    if kernel.pairwise == SquaredDistance() and kernel.has_inverse_profile:
        return _by_polarisation
    if type(kernel) is Polynomial and kernel.degree % 2 == 0 and kernel.coef0 != 0:
        return _by_two_probes
    if kernel.pairwise == InnerProduct() and kernel.has_inverse_profile:
        return _by_probes
    if kernel.pairwise == InnerProduct() and kernel.is_positive_semidefinite:
        return _by_odd_part
    raise UnsupportedKernelError(
        f"ExactInverse has no formula for {kernel!r}. preimage='gradient' finds the nearest image instead, 'learned' "
        "works with any kernel, and 'auto' finds a way for each."
    )


def _deviation(target: Expansion, Z: Array) -> Array:
    """How far φ(z) is from each target, relative to its size, shape (q,)."""
    xp = array_namespace(Z)
    if target.kernel.is_positive_semidefinite:
        norms = xp.abs(target.squared_norms())
        return objective_at(target, Z) / xp.where(norms > 0, norms, xp.ones_like(norms))
    points = to_dense(target.points)
    scale = _typical_coordinate(target)
    axes = from_numpy(scale * np.eye(points.shape[1]), points)
    probes = concat_rows(points, axes, -axes)
    wanted = target(probes).T  # (q, probes)
    largest = xp.max(xp.abs(wanted), axis=1)
    difference = xp.max(xp.abs(target.kernel(Z, probes) - wanted), axis=1)
    return (difference / xp.where(largest > 0, largest, xp.ones_like(largest))) ** 2


def _typical_coordinate(target: Expansion) -> float:
    """The length of probes along the axes."""
    points = to_dense(target.points)
    xp = array_namespace(points)
    return float(xp.sqrt(xp.mean(points * points))) or 1.0


def _by_probes(target: Expansion) -> Array:
    """Dot-product kernels with an invertible profile: one probe per axis."""
    scale = _typical_coordinate(target)
    values = values_at_basis(target, target.points.shape[1], scale)
    return target.kernel.inverse_profile(values).T / scale  # (P7)


def _by_two_probes(target: Expansion) -> Array:
    """Inhomogeneous polynomials of even degree: (c + γτzᵢ)² − (c − γτzᵢ)² = 4cγτzᵢ."""
    kernel, scale, d = target.kernel, _typical_coordinate(target), target.points.shape[1]
    root = lambda values: array_namespace(values).abs(values) ** (2 / kernel.degree)
    difference = root(values_at_basis(target, d, scale)) - root(values_at_basis(target, d, -scale))
    return difference.T / (4 * kernel.coef0 * kernel.gamma * scale)


def _by_odd_part(target: Expansion) -> Array:
    """Power series without negative coefficients: the odd part of f rises; where there is none, f rises with |s|."""
    kernel, scale, d = target.kernel, _typical_coordinate(target), target.points.shape[1]
    if _is_even(kernel, scale):
        return _up_to_sign(target)
    odd = lambda s: kernel.profile(s) - kernel.profile(-s)
    difference = (values_at_basis(target, d, scale) - values_at_basis(target, d, -scale)).T
    xp = array_namespace(difference)
    return xp.sign(difference) * invert_monotone(odd, xp.abs(difference), rising=True) / scale


def _is_even(kernel: ProfileKernel, scale: float) -> bool:
    """Whether f(−s) = f(s) up to rounding, for inner products of inputs with probes of the given length."""
    s = scale**2 * EVEN_PROBES
    with np.errstate(over="ignore", invalid="ignore"):
        values, mirrored = kernel.profile(s), kernel.profile(-s)
        differences, sizes = np.abs(values - mirrored), np.abs(values) + np.abs(mirrored)
    return not np.any(differences > EVEN_ROUNDING * sizes)


def _by_polarisation(target: Expansion) -> Array:
    """Radial kernels: differences of squared distances to probes on both sides of the middle of the data."""
    points = to_dense(target.points)
    xp = array_namespace(points)
    middle = xp.mean(points, axis=0)
    step = spread(points) / points.shape[1] ** 0.5
    d = points.shape[1]
    distances = lambda length: target.kernel.inverse_profile(values_at_basis(target, d, length, middle))
    return middle + (distances(-step) - distances(step)).T / (4 * step)  # (P8), shifted


def _up_to_sign(target: Expansion) -> Array:
    """Even profiles: moduli from the axes, relative signs from sums with the largest coordinate."""
    kernel, scale, d = target.kernel, _typical_coordinate(target), target.points.shape[1]
    xp = array_namespace(target.coefficients)
    root = lambda values: invert_monotone(kernel.profile, values, rising=True) / scale
    moduli = root(values_at_basis(target, d, scale)).T  # (q, d)
    columns = []
    for j in range(moduli.shape[0]):
        largest = int(xp.argmax(moduli[j, :]))
        along = from_numpy(scale * (np.arange(d) == largest), target.coefficients)
        sums = root(values_at_basis(target[j], d, scale, along))[:, 0]
        same = xp.abs(sums - (moduli[j, :] + moduli[j, largest])) <= xp.abs(
            sums - xp.abs(moduli[j, :] - moduli[j, largest])
        )
        columns.append(xp.where(same, moduli[j, :], -moduli[j, :]))
    return xp.stack(columns, axis=0)
