"""Scores of principal components for points that had no part in finding them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from preimage._engine.arrays import as_points, in_double, to_dense
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import match, numerical_rank, rank_tolerance, top_eigh
from preimage._engine.removed import refuse_removed
from preimage._engine.typing import Array, Rows
from preimage.inflation._inflation import inflation, mean

# Steps of the root finder, which converges quadratically; a step that would leave its bracket halves it instead, and
# 100 halvings resolve any root of double precision.
MAX_ITER = 100
EPSILON = float(np.finfo(float).eps)
# The root finder stops at steps of this many units in the last place of the offset from the nearest pole; ten times
# more would show in the last digit of left-out scores.
STEP_TOLERANCE = 4
# A point is needed to span the data when its leverage is one up to the rounding errors of eigenvectors.
LEVERAGE_TOLERANCE = 1e-8
METHODS = ("exact", "first_order")
# Components of the others beyond those asked for, among which the last ones may find the axis they resemble. Without
# spare ones the deviation of the last component is biased.
SPARE_COMPONENTS = 3


@dataclass(frozen=True)
class LeaveOneOut:
    """Training scores of principal components, and those of each point in the model of all others.

    Attributes
    ----------
    train : array of shape (n, q)
        Coordinates of the points along the axes of all points.
    left_out : array of shape (n, q)
        Row n: coordinates of point n, relative to the mean of the others, along the axes of the others, which have the
        order and the signs of the axes of all points that they resemble most. Zero where the others have fewer axes.
    eigenvalues : array of shape (q,)
        Of the (centred) Gram matrix of all points.
    left_out_eigenvalues : array of shape (n, q)
        Of the Gram matrices without one point, in the same order as the axes.
    inflation : array of shape (q,)
        Standard deviations of training scores over those of left-out scores.
    weights : array of shape (n,) or None
    """

    train: Array
    left_out: Array
    eigenvalues: Array
    left_out_eigenvalues: Array
    weights: Array | None = None
    scores_without: Callable[[int], Array] | None = field(default=None, repr=False)

    @property
    def inflation(self) -> Array:
        return inflation(self.train, self.left_out, self.weights)

    def fold(self, n: int) -> Array:
        """Training scores of the other points in the model without point n, shape (n_points - 1, q)."""
        if self.scores_without is None:
            raise ValueError("The training scores of folds are known for method='exact' alone.")
        return self.scores_without(n)


@gives_finite_numbers()
def leave_one_out(
    gram: Array,
    n_components: int | None = None,
    *,
    centered: bool = True,
    method: str = "exact",
    sample_weight: Array | None = None,
) -> LeaveOneOut:
    r"""Leave-one-out scores of kernel PCA, from the kernel matrix.

    "exact" needs one eigendecomposition :math:`K_c = U \Lambda U^\top` for all points together. In the coordinates
    :math:`t_n = \Lambda^{1/2} U_n` of the points, the scatter of the others is a downdate of rank one,
    :math:`\Lambda - \rho\, t_n t_n^\top` with :math:`\rho = n / (n - 1)`; its leading eigenpairs are roots
    :math:`\mu_k` of a secular equation (see `Downdate`), and the score of the point left out is

    .. math:: |t^{\mathrm{LOO}}_{nk}| = 1 / \|(\Lambda - \mu_k)^{-1} t_n\|.

    It is what refitting without each point gives [1]_, to rounding errors. The decomposition finds all components, of
    order n³; the roots, of order n² per component, follow. A fit that computes a few components only is cheaper.

    A point of weight w counts as w equal points, which are left out together: then the scatter of the others is
    :math:`\Lambda - w \rho\, t_n t_n^\top` with :math:`\rho = W / (W - w)` and the sum W of the weights.

    "first_order" keeps the axes of all points and takes away what the point has outside the span of the others,
    :math:`t_{nk} (\rho - h_n^2 / \lambda_k)`, with :math:`h_n^2 = 1/(K_c^+)_{nn}` [2]_.

    Parameters
    ----------
    gram : array of shape (n, n)
        Kernel matrix of the points; inner products for linear PCA.
    n_components : int or None, default=None
        Leading components; None takes all.
    centered : bool, default=True
        Principal components about the mean; False leaves the origin where it is.
    method : {"exact", "first_order"}, default="exact"
        How points are left out, see above.
    sample_weight : array of shape (n,), optional
        Positive weights; for "exact" alone.

    Returns
    -------
    LeaveOneOut
        Scores of all points, with and without them; its attributes are listed below.

    See Also
    --------
    preimage.Renormalized : Everything together, as an estimator.

    References
    ----------
    .. [1] U. Kjems, L. K. Hansen, S. C. Strother, "Generalizable Singular Value Decomposition for Ill-posed Datasets",
       NIPS 13, 2001.
    .. [2] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011; the formula for centred data is ours.

    Examples
    --------
    Thirty points in 500 dimensions: training scores are far too large.

    >>> import numpy as np
    >>> from preimage.inflation import leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(30, 500))
    >>> scores = leave_one_out(X @ X.T, 2)
    >>> bool((scores.inflation > 3).all())
    True
    """
    _check("leave_one_out", method, n_components)
    if len(gram) < 3:
        raise ValueError(f"leave_one_out needs 3 points at least; got {len(gram)}.")
    weights = _check_weights(sample_weight, len(gram), method)
    values, vectors = spectrum(gram, centered, weights=weights)
    return _from_spectrum(values, vectors, n_components, centered, method, weights)


@gives_finite_numbers()
def linear_leave_one_out(
    X: Rows, n_components: int | None = None, *, centered: bool = True, method: str = "exact"
) -> LeaveOneOut:
    """Leave-one-out scores of linear PCA; see `leave_one_out`.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Few rows and many columns, or the other way round: the smaller number decides the cost.
    n_components, centered, method
        As in `leave_one_out`.

    Returns
    -------
    LeaveOneOut
        Scores of all points, with and without them.

    See Also
    --------
    leave_one_out : From a kernel matrix.
    preimage.Renormalized : Corrects scores of PCA, as an estimator.

    Examples
    --------
    Training scores of thirty points in 500 dimensions are several times too large:

    >>> import numpy as np
    >>> from preimage.inflation import linear_leave_one_out
    >>> X = np.random.default_rng(0).normal(size=(30, 500))
    >>> bool((linear_leave_one_out(X, 2).inflation > 3).all())
    True
    """
    _check("linear_leave_one_out", method, n_components)
    X = in_double(to_dense(as_points(X)))
    if X.ndim != 2 or len(X) < 3:
        raise ValueError(f"linear_leave_one_out needs 3 rows at least, in an array of shape (n, d); got {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError("linear_leave_one_out needs finite numbers; X contains NaN or infinity.")
    size = float(np.linalg.norm(X))  # of what was subtracted too: its rounding errors are no axis
    largest = float(np.abs(X).max(initial=0.0))
    if largest and not np.finfo(float).tiny < largest * largest < size * size * 2 < np.inf:
        raise ValueError(
            f"linear_leave_one_out squares its numbers, and the square of its largest entry, {largest:.3g}, leaves "
            "the range of floating numbers. Divide X by that entry; scores are divided by it as well."
        )
    X = X - X.mean(axis=0) if centered else X
    # The triangular factor of the columns has the same scores, without axes of length d that nobody needs. (The Gram
    # matrix would be three times cheaper still, and lose singular values below 1e-8 of the largest.)
    triangular: Array = np.linalg.qr(X.T, mode="r") if X.shape[1] > len(X) else X.T
    vectors, sizes, _ = np.linalg.svd(triangular.T, full_matrices=False)
    rank = numerical_rank(sizes, max(X.shape), size)
    return _from_spectrum(sizes[:rank] ** 2, vectors[:, :rank], n_components, centered, method)


def _check(who: str, method: str, n_components: int | None) -> None:
    refuse_removed(who, "method", method)
    if method not in METHODS:
        raise ValueError(f"Leave-one-out scores have the methods {', '.join(METHODS)}; got {method!r}.")
    if n_components is not None and n_components < 1:
        raise ValueError(f"n_components must be at least 1; got {n_components!r}.")


def _check_weights(weights: Array | None, n: int, method: str) -> Array | None:
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not (weights > 0).all() or not np.isfinite(weights).all():
        raise ValueError(f"leave_one_out needs {n} positive weights, one per point; leave out rows of weight zero.")
    if method != "exact":
        raise ValueError(f"Leave-one-out scores with weights have the method 'exact' alone; got {method!r}.")
    return weights


def _from_spectrum(
    values: Array,
    vectors: Array,
    n_components: int | None,
    centered: bool,
    method: str,
    weights: Array | None = None,
) -> LeaveOneOut:
    count = len(values) if n_components is None else min(n_components, len(values))
    n = len(vectors)
    mass = np.ones(n) if weights is None else weights
    growth = (mass.sum() / (mass.sum() - mass))[:, None] if centered else np.ones((n, 1))
    coordinates = vectors * np.sqrt(values) / np.sqrt(mass)[:, None]
    train = coordinates[:, :count]
    if method == "first_order":
        shrink = growth - heights(values, vectors, centered)[:, None] / values[:count]
        return LeaveOneOut(train, train * shrink, values[:count], np.tile(values[:count], (n, 1)))
    downdate = Downdate(values, np.sqrt(mass[:, None] * growth) * coordinates, count + SPARE_COMPONENTS)
    products, overlaps = downdate.products_and_overlaps(count)
    products *= np.sqrt(growth / mass[:, None])  # z = √(wρ) t, and d = ρt = √(ρ/w) z
    left_values = downdate.values
    missing = left_values <= rank_tolerance(n, values.dtype) * values[:1]  # axes that the others do not have
    if count and downdate.count == len(values):
        # Without a point that is needed to span them, the others have one axis less: its eigenvalue is rounding.
        missing[is_needed(vectors, centered, weights), -1] = True
    products[missing], overlaps[missing], left_values[missing] = 0.0, 0.0, 0.0
    order, signs = match(overlaps)
    rows = np.arange(n)[:, None]

    def scores_without(n: int) -> Array:
        # Few columns first: the coordinates of all points are n × n.
        scores = coordinates @ (downdate.eigenvectors_of(n)[:, order[n]] * signs[n])
        others = np.delete(scores, n, axis=0)
        # Subtract the mean of the others, −w tₙ / (W − w), which is contained in their coordinates.
        return others - mean(others, np.delete(mass, n)) if centered else others

    left_out = signs * products[rows, order]
    return LeaveOneOut(train, left_out, values[:count], left_values[rows, order], weights, scores_without)


class Downdate:
    r"""The eigenpairs of :math:`\Lambda - z_n z_n^\top` with the largest eigenvalues, for every row of Z.

    They are the roots :math:`\mu_k \in (\lambda_{k+1}, \lambda_k)` of the secular equation

    .. math:: 1 - \sum_j \frac{z_j^2}{\lambda_j - \mu} = 0

    and the vectors :math:`v_k \propto (\Lambda - \mu_k)^{-1} z`, for which
    :math:`\langle v_k, z \rangle = 1 / \|(\Lambda - \mu_k)^{-1} z\|`. Roots are kept as offsets from the nearest pole,
    so that differences :math:`\lambda_j - \mu` are accurate also where they are tiny [1]_. The work is
    O(n_rows · n_components · n_poles).

    Parameters
    ----------
    poles : array of shape (r,)
        λ, descending, not negative.
    Z : array of shape (n, r)
    count : int
        How many eigenpairs.

    References
    ----------
    .. [1] R.-C. Li, "Solving Secular Equations Stably and Efficiently", LAPACK Working Note 89, 1993.
    """

    def __init__(self, poles: Array, Z: Array, count: int) -> None:
        self.scale = float(poles[0]) if len(poles) and poles[0] > 0 else 1.0
        self.poles = _spread(np.append(poles, 0.0) / self.scale)  # zero: the eigenvalue of all other directions
        self.count = min(count, len(poles))
        self.Z = _floored(np.concatenate([Z, np.zeros((len(Z), 1))], axis=1) / np.sqrt(self.scale))
        roots = [_roots(self.poles, self.Z**2, k) for k in range(self.count)]
        self.origins = np.stack([origin for origin, _ in roots], axis=1) if roots else np.empty((len(Z), 0), int)
        self.offsets = np.stack([offset for _, offset in roots], axis=1) if roots else np.empty((len(Z), 0))

    @property
    def values(self) -> Array:
        """Eigenvalues μ, shape (n, count)."""
        return self.scale * np.maximum(self.poles[self.origins] + self.offsets, 0)

    def products_and_overlaps(self, n_entries: int) -> tuple[Array, Array]:
        """⟨vₖ, z⟩ > 0, shape (n, count), and the first entries of vₖ, shape (n, count, n_entries), for every row of Z.

        Products come from the secular equation, accurate also where they are tiny.
        """
        products = np.empty(self.offsets.shape)
        overlaps = np.empty((*self.offsets.shape, n_entries))
        for k in range(self.count):
            V = self.Z / _differences(self.poles, self.origins[:, k], self.offsets[:, k], k)
            lengths = np.sqrt(np.einsum("nj,nj->n", V, V))
            products[:, k] = np.sqrt(self.scale) / lengths
            overlaps[:, k] = V[:, :n_entries] / lengths[:, None]
        return products, overlaps

    def eigenvectors_of(self, n: int) -> Array:
        """All eigenvectors for row n of Z, one per column, shape (r, count)."""
        gaps = self.poles[:, None] - self.poles[self.origins[n]] - self.offsets[n]
        V = self.Z[n, :, None] / gaps
        return V[:-1] / np.linalg.norm(V, axis=0)


def _spread(poles: Array) -> Array:
    """Poles moved at least a rounding error apart: between equal poles there is no interval that brackets a root."""
    steps = EPSILON * np.arange(len(poles))
    return np.minimum.accumulate(poles + steps) - steps


def _floored(Z: Array) -> Array:
    """Entries raised to the rounding error of their row, so that every pole has a weight."""
    least = EPSILON * np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), EPSILON)
    return np.where(np.abs(Z) < least, np.where(Z < 0, -least, least), Z)


def _differences(poles: Array, origins: Array, offsets: Array, k: int) -> Array:
    """λⱼ − μ for roots between poles k + 1 and k, given by which of them is nearer and the offset from it: (n, r)."""
    from_both = poles - poles[[k, k + 1], None]
    return from_both[origins - k] - offsets[:, None]


def _roots(poles: Array, weights: Array, k: int) -> tuple[Array, Array]:
    """The root between poles k + 1 and k for every row of weights: nearest pole, and offset from it.

    Invariant: the distance of every root from its origin lies between `low` and `high`.
    """
    gap = poles[k] - poles[k + 1]
    secular = _Secular(poles - poles[k + 1] - gap / 2, weights, k)
    above = secular.value >= 0  # the function falls from +∞ at the lower pole to −∞ at the upper one
    origins = np.where(above, k, k + 1)
    side = np.where(above, -1.0, 1.0)  # the root lies below an origin at the upper pole, above one at the lower
    distances = np.full(len(weights), gap / 2)
    low, high = np.zeros(len(weights)), distances.copy()
    active = np.arange(len(weights))
    for _ in range(MAX_ITER):
        old, sign = distances[active], side[active]
        farther = sign * secular.value > 0
        low[active], high[active] = np.where(farther, old, low[active]), np.where(farther, high[active], old)
        new = secular.next_distance(sign < 0, gap)
        inside = (new > low[active]) & (new < high[active])
        new = np.where(inside, new, (low[active] + high[active]) / 2)
        is_zero = secular.is_zero()
        distances[active] = np.where(is_zero, old, new)
        active = active[~is_zero & (np.abs(new - old) > STEP_TOLERANCE * EPSILON * new)]
        if not active.size:
            break
        gaps = _differences(poles, origins[active], side[active] * distances[active], k)
        secular = _Secular(gaps, weights if active.size == len(weights) else weights[active], k)
    return origins, side * distances


class _Secular:
    """1 − ψ − φ with ψ the sum over poles from k upwards and φ over those below, and their derivatives."""

    def __init__(self, gaps: Array, weights: Array, k: int) -> None:
        inverse = 1 / gaps
        terms = weights * inverse
        inverse = np.broadcast_to(inverse, terms.shape)
        self.upper, self.lower = terms[:, : k + 1].sum(axis=1), terms[:, k + 1 :].sum(axis=1)
        self.upper_derivative, self.lower_derivative = (
            np.einsum("nj,nj->n", terms[:, part], inverse[:, part]) for part in (slice(k + 1), slice(k + 1, None))
        )
        self.value = 1 - self.upper - self.lower
        self.above, self.below = gaps[..., k], gaps[..., k + 1]
        self.n_poles = weights.shape[1]

    def is_zero(self) -> Array:
        """Whether the value is no larger than its rounding error."""
        return np.abs(self.value) <= EPSILON * self.n_poles * (1 + self.upper - self.lower)

    def next_distance(self, from_above: Array, gap: float) -> Array:
        """Distance from the upper or lower pole to the root of a + b/(λₖ − μ) + c/(λₖ₊₁ − μ), which agrees with
        ψ and φ and their derivatives here."""
        constant = self.value + self.above * self.upper_derivative + self.below * self.lower_derivative
        upper, lower = self.above**2 * self.upper_derivative, self.below**2 * self.lower_derivative
        near, constant = np.where(from_above, upper, lower), np.where(from_above, constant, -constant)
        # In the distance t from the nearer pole the interpolant vanishes where constant t² − linear t + near gap = 0.
        linear = constant * gap + upper + lower
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(linear**2 - 4 * constant * near * gap, 0))
            # The form of the smaller root without cancellation depends on the sign of the linear term.
            return np.where(linear >= 0, 2 * near * gap / (linear + root), (linear - root) / (2 * constant))


def left_out_distances(gram: Array, affine: bool = False) -> Array:
    r"""Squared distance of every point to the span of the others, from their Gram matrix.

    :math:`\|x_n^\perp\|^2 = 1 / (G^{-1})_{nn}`; for the affine hull :math:`1 / (K_c^+)_{nn}` with the centred Gram
    matrix. Points that the others span anyway, as with more points than dimensions or with duplicates, have distance
    zero, which their leverage tells: there the quotient is a different number.

    Parameters
    ----------
    gram : array of shape (n, n)
        Inner products, or the values of any kernel: distances are then in its feature space.
    affine : bool, default=False
        Distances to the affine hull of the others.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._leave_one_out import left_out_distances
    >>> X = np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 5.0, 0.0]])
    >>> left_out_distances(X @ X.T)
    array([9., 0., 0.])
    """
    values, vectors = spectrum(gram, centered=affine)
    return heights(values, vectors, centered=affine)


def spectrum(
    gram: Array, centered: bool, count: int | None = None, weights: Array | None = None
) -> tuple[Array, Array]:
    """Positive eigenvalues, descending, and eigenvectors of a Gram matrix or of its centred form; all, or the first.

    With weights, of D^½ K_c D^½, with the weighted mean for the origin.
    """
    gram = np.asarray(gram, dtype=np.float64)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not gram.size:
        raise ValueError(f"A Gram matrix has shape (n, n); got shape {gram.shape}.")
    if not np.isfinite(gram).all():
        raise ValueError(
            "The Gram matrix has entries that are not finite: there are missing values in the data, or so large ones "
            "that their inner products overflow. Impute or drop them, and scale the data."
        )
    K = gram
    if centered:
        means = mean(gram, weights)
        K = gram - means - means[:, None] + mean(means, weights)
    if weights is not None:
        K = np.sqrt(weights)[:, None] * K * np.sqrt(weights)
    values, vectors = top_eigh((K + K.T) / 2, None if count is None else min(count, len(K)))
    largest = 1.0 if weights is None else weights.max(initial=0.0)
    # Relative to the entries before centring: their rounding errors remain when centring cancels most of the matrix.
    rank = numerical_rank(values, len(K), largest * np.abs(gram).max())
    return values[:rank], vectors[:, :rank]


def heights(values: Array, vectors: Array, centered: bool) -> Array:
    """Squared distances of points to the span of the others, from `spectrum`."""
    inverse = (vectors**2 / values).sum(axis=1)
    counts = is_needed(vectors, centered) & (inverse > 0)
    return np.where(counts, 1 / np.where(counts, inverse, 1), 0.0)


def is_needed(vectors: Array, centered: bool, weights: Array | None = None) -> Array:
    """Which points lie outside the span of the others, from the eigenvectors of `spectrum`: their leverage is one."""
    fractions = 1 / len(vectors) if weights is None else weights / weights.sum()
    leverage = (vectors**2).sum(axis=1) + (fractions if centered else 0.0)
    return leverage > 1 - LEVERAGE_TOLERANCE
