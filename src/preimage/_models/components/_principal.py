"""Exact kernel PCA: the leading eigenvectors of the centred Gram matrix, as a subspace."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, itemsize
from preimage._engine.linalg import determined_count, fix_signs, require_variance
from preimage._engine.progress import stage
from preimage._engine.typing import Array, Seed
from preimage._engine.validation import generator
from preimage._engine.warnings import warn_user
from preimage._models.components._few_points import MOST_POINTS, FewPoints, is_few
from preimage.eigensolvers import EigenOptions
from preimage.eigensolvers._eigensolver import SOLVER_ROUNDING, Dense, EigenResult, Eigensolver
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.feature_space import Expansion, Gram, Subspace, require_finite
from preimage.feature_space._gram import CenteredGram
from preimage.kernels import Kernel

# Components computed first when a fraction of the variance is asked for; doubled until it is reached. Ten times as many
# would cost what most fractions do not need, one tenth several solutions of nearly the same problem.
FIRST_COUNT = 64
# A fraction of the variance is reached up to rounding errors of the sum of eigenvalues, and is missed, with a warning,
# only by more than that: otherwise 100 % could not be had of data that have it.
COUNTING_ERROR = 1e-12
MISSED = 1e-9
# By how much errors of new points exceed (error of products)/λ. Measured against extended precision on radial and
# polynomial kernels over eight decades of widths: 2 to 30 where eigenvalues differ by a tenth; new points lie several
# standard deviations out along weak components.
AMPLIFICATION = 32
# The same for errors that are larger than one unit because distances are differences of large numbers and the kernel is
# narrow: new points then have few values that are not zero, and no weak components. Measured: below 3.
NARROW_AMPLIFICATION = 4
# Rounding errors of more than this fraction of the standard deviation along the first component mean that the kernel
# cannot tell the points apart: at one, every digit of the coordinates is noise.
MOST_ROUNDING = 1.0
DEFAULT_OPTIONS = EigenOptions()


@dataclass(frozen=True)
class Wanted:
    """Which components are wanted: a number, a fraction of the variance, or all; about the mean, or about zero.

    Attributes
    ----------
    number : int or None
    fraction : float in (0, 1) or None
        With both None, all components are wanted.
    with_zeros : bool
        Whether components that are asked for by number, and that the data do not determine, are replaced by zeros.
    about_mean : bool
        Whether axes go through the mean in feature space; with False through zero, and variances are second moments.
    """

    number: int | None = None
    fraction: float | None = None
    with_zeros: bool = False
    about_mean: bool = True

    @classmethod
    def of(cls, n_components: float | None, with_zeros: bool = False, about_mean: bool = True) -> "Wanted":
        """What an `n_components` of any numeric type asks for."""
        if n_components is None:
            return cls(with_zeros=with_zeros, about_mean=about_mean)
        if isinstance(n_components, Integral):
            return cls(number=int(n_components), with_zeros=with_zeros, about_mean=about_mean)
        return cls(fraction=float(n_components), with_zeros=with_zeros, about_mean=about_mean)

    def first_count(self, most: int) -> int:
        """How many of at most `most` eigenpairs to compute first."""
        if self.fraction is not None:
            return min(FIRST_COUNT, most)
        return most if self.number is None else min(self.number, most)

    def count(self, values: Array, total: float) -> int:
        """How many of the descending eigenvalues are asked for; `total` is the sum of all eigenvalues there are."""
        if self.fraction is None:
            return values.shape[0] if self.number is None else self.number
        xp = array_namespace(values)
        below = xp.cumulative_sum(values) < self.fraction * total * (1 - COUNTING_ERROR)
        return int(xp.sum(xp.astype(below, xp.int64))) + 1

    def is_missed_by(self, explained: float) -> bool:
        """Whether a fraction was asked for and `explained` is less than that."""
        return self.fraction is not None and explained < self.fraction * (1 - MISSED)

    def kept(self, count: int) -> str:
        """What warnings say about `count` components that there are, and those that there are not."""
        return f"{count} are kept, and the others are zeros" if self.with_zeros else f"{count} are kept"

    def padded(self, principal: "PrincipalSubspace", most: int | None = None) -> "PrincipalSubspace":
        """The result with zeros for components beyond the rank, up to the number wanted and to `most`."""
        if not self.with_zeros or self.number is None:
            return principal
        return _padded(principal, self.number if most is None else min(self.number, most))


@dataclass(frozen=True)
class PrincipalSubspace:
    """The result of kernel PCA, exact or on landmarks.

    Attributes
    ----------
    subspace : Subspace
        Frame of unit axes V and the mean as origin.
    eigenvalues : array of shape (k,)
        λ of the centred Gram matrix; λ/n is the variance of a component.
    scores : array of shape (n, k), or None
        Coordinates of the training points, where they came as a by-product.
    total : float
        Trace of the centred Gram matrix, n times the total variance; of indefinite kernels the sum of the moduli of its
        eigenvalues (`_total`).
    count : float
        Number n of training points.
    eigen : EigenResult
        How the eigenproblem was solved, without its vectors, which the subspace holds.
    residual : float
        What landmarks leave of the trace of the Gram matrix; zero for exact kernel PCA.
    """

    subspace: Subspace
    eigenvalues: Array
    scores: Array | None
    total: float
    count: float
    eigen: EigenResult
    residual: float = 0.0

    @property
    def variances(self) -> Array:
        """Variance λ/n of each component on the training points."""
        return self.eigenvalues / self.count

    @property
    def fractions(self) -> Array:
        """Fraction of the total variance in feature space, λ/tr(HKH), or λ/Σ|λ| of indefinite kernels."""
        return self.eigenvalues / self.total

    def converted(self, change: Callable[[Array], Array]) -> "PrincipalSubspace":
        """The same result on another device or in another form; `change` converts one array."""
        return self._with(self.subspace.converted(change, change(self.subspace.frame.points)), change)

    def _with(self, subspace: Subspace, change: Callable[[Array], Array]) -> "PrincipalSubspace":
        eigen = replace(self.eigen, values=change(self.eigen.values), residuals=change(self.eigen.residuals))
        scores = None if self.scores is None else change(self.scores)
        return replace(self, subspace=subspace, eigenvalues=change(self.eigenvalues), scores=scores, eigen=eigen)


def principal_subspace(
    gram: Gram,
    wanted: Wanted,
    rng: Seed,
    *,
    weights: np.ndarray | None = None,
    options: EigenOptions = DEFAULT_OPTIONS,
) -> PrincipalSubspace:
    """Exact kernel PCA of the points of a symmetric `Gram`, held or not.

    Solves H K H u = λ u (S2) and scales α = Hu/√|λ| (S3), so that the axes V = Σ αᵢ φ(xᵢ) have length one. Components
    whose coordinates are decided by rounding errors are left out (`determined_count`).

    With positive `weights` of the points, shape (n,), the result is that of points repeated so often.
    """
    is_usual = weights is None and wanted.about_mean and wanted.fraction is None and options.is_automatic
    if is_usual and is_few(gram, wanted.first_count(gram.shape[0] - 1), options.max_bytes):
        found = _of_few(gram, wanted, rng, options)
        if found is not None:
            return found
    if gram.multiply is None and gram.shape[0] <= MOST_POINTS and gram.fits(options.max_bytes or 0):
        gram = gram.held()
    require_finite(gram.diagonal() * gram.shape[0], gram.kernel)
    # Weights of mean one: eigenvalues are proportional to weights, and huge ones must not make them overflow.
    unit = 1.0 if weights is None else float(np.mean(weights))
    if weights is not None:
        weights = from_numpy(weights / unit, gram.X, dtype=gram.dtype)
    centered = gram.centered(weights, about_mean=wanted.about_mean)
    eigen = _leading_pairs(centered, wanted, generator(rng), options)
    _warn_if_diagonal(centered)
    keep = _kept(eigen, wanted, centered)

    xp = array_namespace(eigen.values)
    values, vectors = eigen.values[:keep], eigen.vectors[:, :keep]
    signs = fix_signs(vectors if weights is None else vectors / xp.sqrt(weights)[:, None])  # as coordinates have them
    scale = signs / xp.sqrt(xp.abs(values))
    subspace = _subspace(centered, centered.centered_coefficients(vectors) * scale, values)  # (S3)
    # The products as computed, not √λ u: then fit_transform is what transform gives, to the last digits.
    scores = eigen.products[:, :keep] * scale if weights is None else None
    report = replace(eigen, values=unit * values, residuals=unit * eigen.residuals[:keep], vectors=None, products=None)
    total, count = unit * _total(eigen, centered, keep), unit * centered.count
    return wanted.padded(
        PrincipalSubspace(subspace, unit * values, scores, total, count, report), most=centered.shape[0]
    )


def _of_few(gram: Gram, wanted: Wanted, rng: Seed, options: EigenOptions) -> PrincipalSubspace | None:
    """The same for few points, in a half of the time; None where there is something to be said of the kernel."""
    few, n = FewPoints(gram), gram.shape[0]
    if not few.is_usual():
        few.release()
        return None
    count = wanted.first_count(n - 1)
    with stage("Finding eigenvectors", 1) as advance:
        eigen = few.leading_pairs(count, options.tol, rng, AMPLIFICATION)
        few.release()
        advance()
    keep = few.determined(eigen, AMPLIFICATION, NARROW_AMPLIFICATION)
    if keep < max(count, wanted.number or 0) or not eigen.converged:
        keep = _kept(eigen, wanted, few.described())
    values, vectors = eigen.values[:keep], eigen.vectors[:, :keep]
    subspace, scale = few.subspace(vectors, values)
    report = replace(eigen, values=values, residuals=eigen.residuals[:keep], vectors=None, products=None)
    total = max(few.trace, float(np.add.reduce(values)))
    principal = PrincipalSubspace(subspace, values, eigen.products[:, :keep] * scale, total, n, report)
    return wanted.padded(principal, most=n)


def _total(eigen: EigenResult, centered: CenteredGram, keep: int) -> float:
    """Of what fractions are taken: the sum of the moduli of all eigenvalues, which is the trace where none is negative.

    Where a solver knows some eigenvalues of an indefinite matrix only, the others count with the modulus of their sum,
    the trace less those that are known. Fractions of the pairs that are kept add up to at most one in any case.
    """
    xp, trace = array_namespace(eigen.values), centered.trace()
    if not _by_modulus(centered):
        return max(trace, float(xp.sum(eigen.values[:keep])))  # rounding can make the trace smaller than a part of it
    if eigen.sum_of_moduli is not None:
        return eigen.sum_of_moduli
    return float(xp.sum(xp.abs(eigen.values))) + abs(trace - float(xp.sum(eigen.values)))


def _subspace(centered: CenteredGram, coefficients: Array, values: Array) -> Subspace:
    """The mean and the axes with the given coefficients; eigenvalues below zero are axes of negative squared norm."""
    xp = array_namespace(values)
    kernel, points = centered.gram.kernel, centered.gram.X
    negative = values < 0
    signature = xp.where(negative, -xp.ones_like(values), xp.ones_like(values)) if bool(xp.any(negative)) else None
    if not centered.about_mean:
        return Subspace(Expansion(kernel, points, coefficients), signature=signature)
    means, mean = centered.row_means, centered.mean_coefficients
    return Subspace(
        Expansion(kernel, points, coefficients),
        Expansion(kernel, points, mean),
        offset=means @ coefficients,  # (S7)
        origin_squared_norm=float(means @ mean[:, 0]),
        signature=signature,
    )


def _padded(principal: PrincipalSubspace, count: int) -> PrincipalSubspace:
    """The same result with `count` components, those beyond the rank being zero: zero axes, zero coordinates."""
    space, xp = principal.subspace, array_namespace(principal.eigenvalues)
    more = count - len(space)
    if more <= 0:
        return principal

    def extended(array: Array) -> Array:
        zeros = xp.zeros((*array.shape[:-1], more), dtype=array.dtype, **device_kwargs(array))
        return xp.concat([array, zeros], axis=-1)

    subspace = Subspace(
        Expansion(space.frame.kernel, space.frame.points, extended(space.frame.coefficients)),
        space.origin,
        offset=None if space.offset is None else extended(space.offset),
        origin_squared_norm=space.origin_squared_norm,
        signature=None if space.signature is None else extended(space.signature),
    )
    return principal._with(subspace, extended)


def _leading_pairs(
    centered: CenteredGram, wanted: Wanted, rng: np.random.Generator, options: EigenOptions
) -> EigenResult:
    """Eigenpairs for a number of components, or for a fraction of the variance by doubling the number."""
    most = centered.shape[0] - int(centered.about_mean)  # centring takes one dimension away
    count = wanted.first_count(most)
    while True:
        solver = _solver(centered, wanted, count, options)
        if wanted.fraction is not None and isinstance(solver, Dense):
            count = most  # it computes all eigenvalues in any case
        options.require_room(centered, count)
        eigen = solver.solve(centered, count, rng, by_modulus=_by_modulus(centered))
        if wanted.fraction is None or count == most or eigen.n_missing:
            return eigen
        if float(array_namespace(eigen.values).sum(eigen.values)) >= wanted.fraction * centered.trace():
            return eigen
        count = min(2 * count, most)


def _solver(centered: CenteredGram, wanted: Wanted, count: int, options: EigenOptions) -> Eigensolver:
    n_bytes = itemsize(centered.dtype)
    solver = options.solver(size=centered.shape[0], k=count, held=centered.is_held, n_bytes=n_bytes)
    if wanted.fraction is None or not _by_modulus(centered) or isinstance(solver, Dense):
        return solver
    # The sum of moduli, of which the fraction is taken, needs all eigenvalues; that of eigenvalues is the trace.
    if not centered.is_held:
        raise ValueError(
            "A fraction of the variance of a kernel that may be indefinite needs all eigenvalues, and the Gram "
            "matrix exceeds max_memory. Give a number of components, or raise max_memory."
        )
    return Dense()


def _by_modulus(centered: CenteredGram) -> bool:
    """Whether eigenvalues count by their modulus: those of an indefinite kernel may be negative."""
    return not centered.gram.kernel.is_positive_semidefinite


def _kept(eigen: EigenResult, wanted: Wanted, centered: CenteredGram) -> int:
    """How many pairs are asked for and determined by the data, with a warning where those are not the same."""
    xp = array_namespace(eigen.values)
    moduli = xp.abs(eigen.values)
    diagonal = xp.abs(centered.gram.diagonal())
    trace = float(xp.sum(diagonal if centered.weights is None else diagonal * centered.weights))
    require_variance(centered.gram.kernel, float(xp.max(moduli)), trace, moduli.dtype)
    determined = _determined(eigen, centered)
    if _by_modulus(centered):
        sizes, total = moduli, float(xp.sum(moduli))
    else:
        sizes, total = eigen.values, centered.trace()
        determined = min(determined, int(xp.sum(xp.astype(eigen.values > 0, xp.int64))))
    asked = wanted.count(sizes, total)
    keep = min(determined, asked)
    # Where the solver lacks pairs, that is what the user is told, not that the data determine no more.
    found_all = determined >= (sizes.shape[0] if eigen.n_missing else asked)
    explained = float(xp.sum(moduli[:keep])) / total
    _warn(eigen, wanted, keep, centered, is_rank_short=not found_all, explained=explained)
    return keep


def _determined(eigen: EigenResult, centered: CenteredGram) -> int:
    """How many components are determined, given rounding errors of the matrix and of the solver.

    Residuals of an iteration that stopped at its tolerance say nothing about rounding: they count up to the size that
    rounding errors of a product have. Zero where rounding errors show in all components.
    """
    xp = array_namespace(eigen.values)
    solver_error = float(xp.max(eigen.residuals))
    if not eigen.is_direct:
        largest = float(xp.max(xp.abs(eigen.values)))
        solver_error = min(solver_error, SOLVER_ROUNDING * epsilon(eigen.values.dtype) * largest)
    # An error of norm δ in the matrix or in a product with it moves coordinates along an axis by δ/√|λ|, while their
    # standard deviation is √|λ| (both times √n): δ against |λ|, in units of √|λ|.
    units = centered.unit_error()
    error = AMPLIFICATION * (units + solver_error) + NARROW_AMPLIFICATION * max(0.0, centered.rounding_error() - units)
    count = determined_count(error, xp.abs(eigen.values), eigen.values.dtype)
    if count == 0:
        warn_of_rounding(centered.gram.kernel)
    return max(1, count)


def warn_of_rounding(kernel: Kernel) -> None:
    """Tell the user that not even the first component is determined; it is kept, as there is no better one."""
    warn_user(
        f"Rounding errors show in the only component that is kept: the kernel {kernel!r} hardly "
        "tells the points apart in this precision. Center and scale the data, choose another gamma, for instance "
        "gamma='median', or compute in double precision.",
        RankWarning,
    )


def _warn(
    eigen: EigenResult, wanted: Wanted, keep: int, centered: CenteredGram, *, is_rank_short: bool, explained: float
) -> None:
    """Tell the user where a result is less than what was asked for."""
    xp = array_namespace(eigen.values)
    if wanted.number is not None and is_rank_short:
        warn_user(
            f"{wanted.number} components were asked for, but the data determine only {keep} (of {centered.shape[0]} "
            f"points): rounding errors decide the coordinates along further ones. {wanted.kept(keep)}.",
            RankWarning,
        )
    if wanted.is_missed_by(explained) and not eigen.n_missing:
        warn_user(
            f"{wanted.fraction:.0%} of the variance were asked for, but the data determine only {keep} components, "
            f"which hold {explained:.0%}: rounding errors decide the coordinates along further ones.",
            RankWarning,
        )
    values = eigen.values[:keep]
    n_negative = int(xp.sum(xp.astype(values < 0, xp.int64)))
    if n_negative:
        negative = float(xp.sum(xp.abs(values) - values)) / 2 / float(xp.sum(xp.abs(values)))
        warn_user(
            f"The kernel is indefinite on these data: {n_negative} of the {keep} kept components have "
            f"negative eigenvalues, {negative:.1%} of the sum of moduli. They are scaled by √|λ|; distances in "
            "feature space can be negative. Iterated(kernel) is a positive semidefinite alternative.",
            IndefiniteKernelWarning,
        )
    if eigen.n_missing:
        found = eigen.values.shape[0]
        warn_user(
            f"The eigensolver found {found} of the {found + eigen.n_missing} eigenpairs asked for ({eigen.reason}), "
            "and those it lacks need not be the last ones. Raise max_iter, raise tol, or use eigensolver='dense'.",
            ConvergenceWarning,
        )
    elif not eigen.converged:
        worst = float(xp.max(eigen.relative_residuals))
        warn_user(
            f"The eigensolver stopped before its tolerance ({eigen.reason}): the largest relative residual is "
            f"{worst:.1e}. Raise max_iter, raise tol, or use eigensolver='dense'.",
            ConvergenceWarning,
        )


def _warn_if_diagonal(centered: CenteredGram) -> None:
    """Warn of a diagonal kernel matrix: every point is unlike every other, and components mean nothing."""
    n, diagonal = centered.shape[0], centered.gram.diagonal()
    xp = array_namespace(diagonal)
    # Sums of rows without their diagonal entries.
    off_diagonal = xp.max(xp.abs(centered.row_means / centered.mean_coefficients[:, 0] - diagonal))
    if n > 2 and float(off_diagonal) <= n * epsilon(diagonal.dtype) * float(xp.max(xp.abs(diagonal))):
        remedy = "A smaller gamma is needed, for instance gamma='median'."
        if not centered.gram.kernel.takes_numbers:
            remedy = (
                "Objects have nothing in common: texts need shorter substrings, such as those of Strings.blended(2)."
            )
        warn_user(
            f"All kernel values between different points vanish ({centered.gram.kernel!r}): no point is like another, "
            f"and components are arbitrary. {remedy}",
            UserWarning,
        )
