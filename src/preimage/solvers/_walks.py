"""Feature space seen from input space: walks along lines, and pictures of vectors."""

from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, concat_rows, epsilon, from_numpy, take_rows, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array
from preimage.descent import MEMORY, Box, Evaluation, PreimageResult, QuasiNewton, spread
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.kernels import InnerProduct, Kernel, Power, Scaled, Sum, is_profile
from preimage.kernels._kernel import OfOneKernel
from preimage.solvers._distance import TargetModel
from preimage.solvers._exact import values_at_basis
from preimage.solvers._fixed_point import FixedPoint
from preimage.solvers._gradient import Gradient
from preimage.solvers._nearest_image import NearestImage, beyond_reach, enclosing_sphere
from preimage.solvers._preimage import Preimage, TargetSolver, values_at

# Turns that other solvers take with the factor β. They gain a constant factor per turn, and what twenty do not settle
# (to SETTLED) is a slow drift that no picture shows.
ROUNDS = 20
# The largest decrease of a turn, relative to ‖Ψ‖², that counts as none: no picture shows it. With a thousandth of it,
# penalised solvers, which take a second per turn, take all turns.
SETTLED = 1e-6
# Images shorter than this fraction of a typical one have no direction to speak of: ψ(z)²/k(z, z) is 0/0 there. For an
# indefinite kernel k(z, z) may also pass through zero where ψ does not, and the ratio has a pole; the floor is then the
# typical length itself.
SHORTEST = 1e-6


def walk_fractions(steps: int, beyond: float | tuple[float, float] = 0.0) -> np.ndarray:
    """Equally spaced fractions of a walk: 0 is its first end, 1 its second, others lie beyond them.

    `beyond` says how far it goes on after both ends, or before the first and after the second one, in units of its
    length.
    """
    if steps < 2:
        raise ValueError(f"A walk needs at least its two ends; got steps={steps!r}.")
    try:
        before, after = np.broadcast_to(np.asarray(beyond, dtype=np.float64), (2,))
    except (TypeError, ValueError):
        before = after = np.nan
    if not (0 <= before < np.inf and 0 <= after < np.inf):
        raise ValueError(
            "navigate goes beyond the ends of its line by a number of lengths of the line, not negative, or by two of "
            f"them, before the first and after the second end; got beyond={beyond!r}."
        )
    return np.linspace(-before, 1 + after, steps)


def navigate(
    subspace: Subspace,
    solver: Preimage,
    A: Array,
    B: Array,
    steps: int,
    beyond: float | tuple[float, float] = 0.0,
) -> PreimageResult:
    """Pre-images along the line through the means of φ(A) and of φ(B), each started at its neighbour towards φ(A)."""
    fractions = walk_fractions(steps, beyond)
    xp = array_namespace(A)
    mean = lambda X: xp.mean(subspace.coordinates(X), axis=0)
    begin, end = mean(A), mean(B)
    # Every point of the walk answers the same question: the image nearest to the line, near the point before. It begins
    # at A and goes both ways, because beyond the ends there is no point of the data to start from.
    first = solver.inverse(subspace, begin[None, :], None).points
    results: dict[int, PreimageResult] = {}
    forwards = int(np.sum(fractions < 0))
    for numbers in (range(forwards, steps), range(forwards - 1, -1, -1)):
        here = first
        for number in numbers:
            fraction = float(fractions[number])
            Y = (1 - fraction) * begin + fraction * end
            results[number] = solver.inverse(subspace, Y[None, :], here)
            here = results[number].points
    return PreimageResult.join([results[number] for number in range(steps)])


def basis_images(vectors: Expansion, n_features: int) -> Array:
    """⟨ψ, φ(eᵢ)⟩ for every axis i of input space, shape (k, n_features)  (P17)."""
    # Of a sum of kernels the linear term alone may have been recentred.
    images = [values_at_basis(as_linear_functions(term), n_features) for term in _terms(vectors)]
    return sum(images[1:], start=images[0]).T


def as_linear_functions(vectors: Expansion) -> Expansion:
    """Vectors under a linear kernel that was recentred, as the linear functions z ↦ w·z that they are.

    With k(x, y) = (x − c)·(y − c) the vector w = Σ αᵢ (xᵢ − c) has the value w·(z − c) at z. Seen from the zero of
    the inputs it is Σ αᵢ φ(xᵢ − c) under the kernel x·y. Vectors under other kernels are returned as they are.
    """
    kernel, origin = vectors.kernel.unshifted()
    if origin is None or not kernel.is_bilinear:
        return vectors
    return Expansion(kernel, to_dense(vectors.points) - from_numpy(origin, vectors.coefficients), vectors.coefficients)


@gives_finite_numbers()
def free_length_preimages(vectors: Expansion, solver: TargetSolver | None = None) -> tuple[Array, Array, Array]:
    """Inputs z and factors β that minimise ‖Ψ − βφ(z)‖² for each vector Ψ, of either sign  (P3).

    The best β for a given z is ψ(z)/k(z, z) (P4), which leaves the maximum of J(z) = ψ(z)²/k(z, z) (P5). It is climbed
    directly, all vectors together, from the training points where ψ/√k is largest and smallest; where it leads far out
    of the data, the direction is kept and the length is that of the farthest point. Without a gradient the best of the
    points themselves are returned.

    Parameters
    ----------
    vectors : Expansion of k vectors
        The vectors Ψ, such as principal axes.
    solver : TargetSolver or None, default=None
        `FixedPoint` and `Gradient` give tolerances and bounds to the ascent. Any other solver takes turns with β: the
        pre-image of Ψ/β for the present β, then the best β for it.

    Returns
    -------
    points : array of shape (k, d)
        The inputs z.
    factors : array of shape (k,)
        The factors β.
    distances : array of shape (k,)
        ‖Ψ − βφ(z)‖².

    See Also
    --------
    preimage.KernelPCA.component_preimages : Pre-images of principal axes, by this function.
    preimage.reduced_sets.Construct : Approximates a vector by several such terms.
    FixedPoint : Pre-images with β = 1.

    Examples
    --------
    A vector that is −2 times an image:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import free_length_preimages
    >>> vectors = Expansion(Gaussian(0.5), np.array([[1.0, 2.0]]), np.array([[-2.0]]))
    >>> points, factors, distances = free_length_preimages(vectors)
    >>> points.round(3), factors.round(3)
    (array([[1., 2.]]), array([-2.]))
    """
    if vectors.points.shape[0] == 0:
        raise ValueError("free_length_preimages begins at points of the vectors, and `vectors` has none.")
    xp = array_namespace(vectors.coefficients)
    floor = _shortest_length(vectors)
    doubled = vectors.take(np.tile(np.arange(len(vectors)), 2))
    Z = concat_rows(*_starts(vectors, floor))
    if vectors.kernel.has_gradient:
        solver = Gradient() if solver is None else solver
        search = _climb if type(solver) in (FixedPoint, Gradient) else _alternate
        Z = search(doubled, Z, floor, solver)
    factors, distances = _factors(doubled, Z, floor)
    k = len(vectors)
    better = distances[:k] <= distances[k:]
    pick = lambda array: xp.where(better if array.ndim == 1 else better[:, None], array[:k, ...], array[k:, ...])
    return pick(Z), pick(factors), pick(distances)


def _shortest_length(vectors: Expansion) -> float:
    """The smallest k(z, z) that counts as a length."""
    kernel = vectors.kernel
    xp = array_namespace(vectors.coefficients)
    typical = float(xp.mean(xp.abs(kernel.diagonal(vectors.points))))
    floor = SHORTEST * typical if kernel.is_positive_semidefinite else typical
    return floor if floor > 0 else 1.0


def _starts(vectors: Expansion, floor: float) -> tuple[Array, Array]:
    """The points where ψ/√k is largest, and where it is smallest; points without length have no direction."""
    xp = array_namespace(vectors.coefficients)
    values = Gram(vectors.kernel, vectors.points) @ vectors.coefficients  # (n, k)
    lengths = xp.clip(vectors.kernel.diagonal(vectors.points), min=floor)
    relative = values / xp.sqrt(lengths)[:, None]
    row = lambda numbers: to_dense(take_rows(vectors.points, to_numpy(numbers)))
    return row(xp.argmax(relative, axis=0)), row(xp.argmin(relative, axis=0))


def _climb(vectors: Expansion, Z: Array, floor: float, solver: Any) -> Array:
    """The maxima of (P5) that an ascent from the rows of Z finds."""
    lower, upper = getattr(solver, "lower", None), getattr(solver, "upper", None)
    box = Box.of_inputs(lower, upper, vectors.kernel, Z)
    rule = QuasiNewton(spread(vectors.points), solver.tol, getattr(solver, "memory", MEMORY))
    model = _Direction(vectors.kernel, vectors.points, floor)
    found = NearestImage.of_vectors(vectors).starting(Z).solve(rule, box, solver.max_iter, model)
    return _pulled_back(found.points, vectors, Z, floor)


def _pulled_back(Z: Array, vectors: Expansion, start: Array, floor: float) -> Array:
    """Z, with points far outside the data moved towards its middle, as far away as the farthest point.

    The ratio (P5) may grow without bound along a ray, or not depend on the length at all: the direction counts then.
    For kernels of the inner product it is that from zero, where the middle of the data means nothing.
    """
    lost = beyond_reach(Z, vectors.points, start)
    if not lost.size:
        return Z
    xp = array_namespace(Z)
    middle, radius = enclosing_sphere(vectors.points)
    kernel = vectors.kernel
    while isinstance(kernel, (OfOneKernel, Power, Scaled)):
        kernel = kernel.kernel
    if is_profile(kernel) and kernel.pairwise == InnerProduct():
        middle, radius = xp.zeros_like(middle), radius + float(xp.linalg.vector_norm(middle))
    shift = Z - middle
    lengths = xp.sqrt(xp.sum(shift * shift, axis=1))
    far = from_numpy(np.isin(np.arange(Z.shape[0]), lost), Z, dtype=xp.bool)
    factors = xp.where(far & (lengths > 0), radius / xp.where(lengths > 0, lengths, xp.ones_like(lengths)), 1.0)
    nearer = xp.where(far[:, None], middle + factors[:, None] * shift, Z)
    # Moving a point must not make it worse than its start, which is returned otherwise.
    better = _factors(vectors, nearer, floor)[1] <= _factors(vectors, start, floor)[1]
    return xp.where((better | ~far)[:, None], nearer, start)


class _Direction(TargetModel):
    """−ψ(z)²/k(z, z) at one point per vector, with its gradient (P15); k(z, z) counts as at least `floor`."""

    def __init__(self, kernel: Kernel, points: Array, floor: float) -> None:
        self.kernel, self.floor = kernel, floor
        self.prepared = kernel.prepare(points)

    def evaluate(self, W: Array, Z: Array) -> Evaluation:
        xp = array_namespace(W)
        values, contracted = self.prepared.with_gradient(Z)
        psi = xp.vecdot(W, values)
        lengths = self.kernel.diagonal(Z)
        long = lengths > self.floor
        lengths = xp.where(long, lengths, xp.full_like(lengths, self.floor))
        ratio = psi / lengths
        diagonal = self.kernel.diagonal_gradient(Z) * xp.astype(long, Z.dtype)[:, None]
        # (P15) with the opposite sign: the descent minimises −ψ²/κ. Where κ is at its floor it is a constant.
        gradient = (ratio * ratio)[:, None] * diagonal - 2 * ratio[:, None] * contracted(W)
        noise = 8 * epsilon(Z.dtype) * xp.abs(ratio) * xp.vecdot(xp.abs(W), xp.abs(values))
        return Evaluation(-ratio * psi, gradient, noise)


def _alternate(vectors: Expansion, Z: Array, floor: float, solver: TargetSolver) -> Array:
    """Turns of the best z for β and the best β for z, as long as the distance falls."""
    xp = array_namespace(vectors.coefficients)
    norms = vectors.squared_norms()
    factors, distances = _factors(vectors, Z, floor)
    for _ in range(ROUNDS):
        safe = xp.where(factors == 0, xp.ones_like(factors), factors)
        # ‖Ψ − βφ(z)‖² = β²‖Ψ/β − φ(z)‖²: for fixed β, z is an ordinary pre-image of Ψ/β  (P3).
        scaled = Expansion(vectors.kernel, vectors.points, vectors.coefficients / safe, squared_norms=norms / safe**2)
        new_Z = solver.solve(scaled, Z).points
        new_factors, new_distances = _factors(vectors, new_Z, floor)
        better = new_distances <= distances
        settled = bool(xp.all(~better | (distances - new_distances <= SETTLED * xp.abs(norms))))
        Z = xp.where(better[:, None], new_Z, Z)
        factors, distances = xp.where(better, new_factors, factors), xp.where(better, new_distances, distances)
        if settled:
            break
    return Z


def _factors(vectors: Expansion, Z: Array, floor: float) -> tuple[Array, Array]:
    """β = ψ(z)/k(z, z) and the remaining squared distance ‖Ψ‖² − ψ(z)²/k(z, z)."""
    xp = array_namespace(Z)
    values = values_at(vectors, Z)
    lengths = xp.clip(vectors.kernel.diagonal(Z), min=floor)
    return values / lengths, vectors.squared_norms() - values**2 / lengths


def _terms(vectors: Expansion) -> list[Expansion]:
    """Expansions that add up to `vectors`, one per term of a sum of kernels."""
    kernel, points, coefficients = vectors.kernel, vectors.points, vectors.coefficients
    if is_profile(kernel):
        return [vectors]
    if isinstance(kernel, Sum):
        return [term for part in (kernel.left, kernel.right) for term in _terms(Expansion(part, points, coefficients))]
    if isinstance(kernel, Scaled):
        return _terms(Expansion(kernel.kernel, points, kernel.factor * coefficients))
    return [vectors]
