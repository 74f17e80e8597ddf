"""Exact kernel PCA: the leading eigenvectors of the centred Gram matrix, as a subspace."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, epsilon, from_numpy, itemsize
from preimage._linalg import determined_count, fix_signs, require_variance
from preimage._warnings import warn_user
from preimage.eigensolvers._dense import Dense
from preimage.eigensolvers._eigensolver import SOLVER_ROUNDING, EigenResult
from preimage.eigensolvers._names import as_eigensolver
from preimage.exceptions import ConvergenceWarning, IndefiniteKernelWarning, RankWarning
from preimage.feature_space import Expansion, Subspace, require_finite

# Components tried first when a share of the variance is asked for; doubled until the share is reached.
FIRST_COUNT = 64
# Work arrays up to this size are no matter of budgets.
SMALL_BUDGET = 64 * 2**20
# By how much errors of new points exceed (error of products)/λ. Measured against extended precision on radial and
# polynomial kernels over eight decades of widths: 2 to 30 where eigenvalues differ by a tenth; new points lie several
# standard deviations out along weak components.
AMPLIFICATION = 32


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
        Trace of the centred Gram matrix, n times the total variance.
    count : float
        Number n of training points.
    eigen : EigenResult
        How the eigenproblem was solved, without its vectors, which the subspace holds.
    residual : float
        What landmarks leave of the trace of the Gram matrix; zero for the exact route.
    """

    subspace: Subspace
    eigenvalues: Any
    scores: Any
    total: float
    count: float
    eigen: EigenResult
    residual: float = 0.0

    @property
    def variances(self):
        """Variance λ/n of each component on the training points."""
        return self.eigenvalues / self.count

    @property
    def shares(self):
        """Share of the total variance in feature space, λ/tr(HKH)."""
        return self.eigenvalues / self.total

    def with_arrays(self, subspace, change):
        """The same result with another form of its subspace; `change` gives the other arrays that form."""
        eigen = replace(self.eigen, values=change(self.eigen.values), residuals=change(self.eigen.residuals))
        scores = None if self.scores is None else change(self.scores)
        return replace(self, subspace=subspace, eigenvalues=change(self.eigenvalues), scores=scores, eigen=eigen)


def principal_subspace(
    gram,
    n_components,
    rng,
    *,
    weights=None,
    eigensolver="auto",
    tol=None,
    max_iter=None,
    max_bytes=None,
    with_zeros=False,
):
    """Exact kernel PCA of the points of a symmetric `Gram`.

    Solves H K H u = λ u (S2) and scales α = Hu/√|λ| (S3), so that the axes V = Σ αᵢ φ(xᵢ) have length one. Components
    whose coordinates rounding errors would decide are left out (`determined_count`).

    Parameters
    ----------
    gram : Gram
        Held or not.
    n_components : int, float in (0, 1), or None
        A number, a fraction of the variance, or as many as there are.
    rng : numpy.random.Generator
    weights : NumPy array of shape (n,), optional
        Positive weights of the points; the result is that of points repeated so often.
    eigensolver, tol, max_iter
        See `as_eigensolver`.
    with_zeros : bool, default=False
        Whether components that are left out of a number asked for are replaced by zeros (`padded`).

    Returns
    -------
    PrincipalSubspace
    """
    require_finite(gram.diagonal(), gram.kernel)
    # Weights of mean one: their size is that of eigenvalues, and no reason to overflow.
    unit = 1.0 if weights is None else float(np.mean(weights))
    if weights is not None:
        weights = from_numpy(weights / unit, gram.X, dtype=gram.dtype)
    centered = gram.centered(weights)
    by_modulus = not gram.kernel.is_positive_semidefinite
    eigen = _solve_enough(centered, n_components, rng, by_modulus, eigensolver, tol, max_iter, max_bytes)
    total = centered.trace()
    _warn_if_diagonal(gram, centered)
    values, vectors, products = _significant(eigen, n_components, total, centered, by_modulus, with_zeros)

    xp = array_namespace(vectors)
    coefficients = centered.centered_coefficients(vectors)
    signs = fix_signs(vectors if weights is None else vectors / xp.sqrt(weights)[:, None])  # as coordinates have them
    scale = signs / xp.sqrt(xp.abs(values))
    coefficients = coefficients * scale  # (S3)
    negative = values < 0
    means, mean = centered.row_means, centered.mean_coefficients
    subspace = Subspace(
        Expansion(gram.kernel, gram.X, coefficients),
        Expansion(gram.kernel, gram.X, mean),
        offset=means @ coefficients,  # (S7)
        origin_squared_norm=float(means @ mean[:, 0]),
        signature=xp.where(negative, -xp.ones_like(values), xp.ones_like(values)) if bool(xp.any(negative)) else None,
    )
    # The products as computed, not √λ u: then fit_transform is what transform gives, to the last digits.
    scores = products * scale if weights is None else None
    residuals = unit * eigen.residuals[: len(subspace)]
    report = replace(eigen, values=unit * values, residuals=residuals, vectors=None, products=None)
    result = PrincipalSubspace(subspace, unit * values, scores, unit * total, unit * centered.count, report)
    return padded(result, min(n_components, centered.shape[0])) if zeros_wanted(n_components, with_zeros) else result


def zeros_wanted(n_components, with_zeros):
    """Whether zeros stand for components that the data lack: only a number of components can say how many."""
    return with_zeros and isinstance(n_components, int)


def padded(principal, count):
    """The same result with `count` components, those beyond the rank being zero: zero axes, zero coordinates."""
    space, xp = principal.subspace, array_namespace(principal.eigenvalues)
    more = count - len(space)
    if more <= 0:
        return principal

    def extended(array):
        zeros = xp.zeros((*array.shape[:-1], more), dtype=array.dtype, **device_kwargs(array))
        return xp.concat([array, zeros], axis=-1)

    optional = lambda array: None if array is None else extended(array)
    subspace = Subspace(
        Expansion(space.frame.kernel, space.frame.points, extended(space.frame.coefficients)),
        space.origin,
        offset=extended(space.offset),
        origin_squared_norm=space.origin_squared_norm,
        signature=optional(space.signature),
    )
    return principal.with_arrays(subspace, extended)


def _solve_enough(centered, n_components, rng, by_modulus, eigensolver, tol, max_iter, max_bytes):
    """Eigenpairs for a number of components, or for a share of the variance by doubling the number."""
    most = centered.shape[0] - 1
    by_share = isinstance(n_components, float)
    count = min(FIRST_COUNT, most) if by_share else most if n_components is None else min(n_components, most)
    while True:
        solver = as_eigensolver(eigensolver, size=most + 1, k=count, held=centered.is_held, tol=tol, max_iter=max_iter)
        if by_share and by_modulus and not isinstance(solver, Dense):
            # The sum of moduli, of which the share is taken, needs all eigenvalues.
            if not centered.is_held:
                raise ValueError(
                    "A share of the variance of a kernel that may be indefinite needs all eigenvalues, and the Gram "
                    "matrix exceeds max_memory. Give a number of components, or raise max_memory."
                )
            solver = Dense()
        if by_share and isinstance(solver, Dense):
            count = most
        _require_room(centered, count, max_bytes)
        eigen = solver.solve(centered, count, rng, by_modulus=by_modulus)
        xp = array_namespace(eigen.values)
        enough = not by_share or count == most or float(xp.sum(eigen.values)) >= n_components * centered.trace()
        if enough or eigen.n_missing:
            return eigen
        count = min(2 * count, most)


def _require_room(centered, count, max_bytes):
    """Refuse what would hold more beside a matrix that is not held than the matrix itself may take."""
    n = centered.shape[0]
    needed = 2 * n * min(n, 4 * count) * itemsize(centered.dtype)
    if not centered.is_held and max_bytes is not None and needed > max(max_bytes, SMALL_BUDGET):
        raise ValueError(
            f"{count} components of {n} points need about {needed / 1e9:.2g} GB, and max_memory allows "
            f"{max_bytes / 1e9:.2g} GB. Ask for fewer components, or raise max_memory."
        )


def _significant(eigen, n_components, total, centered, by_modulus, with_zeros):
    """The pairs that are asked for and more than rounding errors, with a warning for every disappointment."""
    xp = array_namespace(eigen.values)
    moduli = xp.abs(eigen.values)
    largest = float(xp.max(moduli))
    own = xp.abs(centered.gram.diagonal())
    scale = float(xp.sum(own if centered.weights is None else own * centered.weights))
    require_variance(centered.gram.kernel, largest, scale, moduli.dtype)
    keep = min(_determined(eigen, centered, largest), moduli.shape[0] if by_modulus else _positive(eigen.values))
    wanted = (
        wanted_count(moduli, n_components, float(xp.sum(moduli)))
        if by_modulus
        else wanted_count(eigen.values, n_components, total)
    )
    if isinstance(n_components, int) and keep < (moduli.shape[0] if eigen.n_missing else wanted):
        warn_user(
            f"{n_components} components were asked for, but the data determine only {keep} (of {centered.shape[0]} "
            f"points): rounding errors decide the coordinates along further ones. {kept_of(keep, with_zeros)}.",
            RankWarning,
        )
    keep = min(keep, wanted)
    values = eigen.values[:keep]
    explained = float(xp.sum(xp.abs(values))) / (float(xp.sum(moduli)) if by_modulus else total)
    if isinstance(n_components, float) and explained < n_components * (1 - 1e-9) and not eigen.n_missing:
        warn_user(
            f"{n_components:.0%} of the variance were asked for, but the data determine only {keep} components, which "
            f"hold {explained:.0%}: rounding errors decide the coordinates along further ones.",
            RankWarning,
        )
    _warn(eigen, values, xp)
    return values, eigen.vectors[:, :keep], eigen.products[:, :keep]


def kept_of(count, with_zeros):
    """What a warning says about the components that there are, and those that there are not."""
    return f"{count} are kept, and the others are zeros" if with_zeros else f"{count} are kept"


def _determined(eigen, centered, largest):
    """How many components rounding errors of the matrix and of the solver leave determined; at least one.

    Residuals of an iteration that stopped at its tolerance say nothing about rounding: they count up to the size that
    rounding errors of a product have.
    """
    xp = array_namespace(eigen.values)
    solver_error = float(xp.max(eigen.residuals))
    if not eigen.is_direct:
        solver_error = min(solver_error, SOLVER_ROUNDING * epsilon(eigen.values.dtype) * largest)
    # An error of norm δ in the matrix or in a product with it moves coordinates along an axis by δ/√|λ|, while their
    # standard deviation is √|λ| (both times √n): δ against |λ|, in units of δ/√|λ|.
    error = AMPLIFICATION * (centered.rounding_error() + solver_error)
    count = determined_count(error, xp.abs(eigen.values), eigen.values.dtype)
    if count == 0:
        warn_user(
            f"Rounding errors show in the only component that is kept: the kernel {centered.gram.kernel!r} hardly "
            "tells the points apart in this precision. Center and scale the data, choose another gamma, for instance "
            "gamma='median', or compute in double precision.",
            RankWarning,
        )
    return max(1, count)


def _positive(values):
    xp = array_namespace(values)
    return int(xp.sum(xp.astype(values > 0, xp.int64)))


def wanted_count(values, n_components, total):
    """How many of the descending eigenvalues a number, a share of their total, or None asks for."""
    if isinstance(n_components, float):
        xp = array_namespace(values)
        below = xp.cumulative_sum(values) < n_components * total * (1 - 1e-12)
        return int(xp.sum(xp.astype(below, xp.int64))) + 1
    return values.shape[0] if n_components is None else n_components


def _warn(eigen, values, xp):
    negative = int(xp.sum(xp.astype(values < 0, xp.int64)))
    if negative:
        share = float(xp.sum(xp.abs(values) - values)) / 2 / float(xp.sum(xp.abs(values)))
        warn_user(
            f"The kernel is indefinite on these data: {negative} of the {values.shape[0]} kept components have "
            f"negative eigenvalues, {share:.1%} of the sum of moduli. They are scaled by √|λ|; distances in "
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


def _warn_if_diagonal(gram, centered):
    """A diagonal kernel matrix says that every point is unlike every other: components mean nothing then."""
    n, diagonal = centered.shape[0], gram.diagonal()
    xp = array_namespace(diagonal)
    beside = xp.max(xp.abs(centered.row_means / centered.mean_coefficients[:, 0] - diagonal))
    if n > 2 and float(beside) <= n * epsilon(diagonal.dtype) * float(xp.max(xp.abs(diagonal))):
        warn_user(
            f"All kernel values between different points vanish ({gram.kernel!r}): no point is like another, "
            "and components are arbitrary. A smaller gamma is needed, for instance gamma='median'.",
            UserWarning,
        )
