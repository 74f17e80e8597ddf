"""Scores of principal components for points that had no part in finding them."""

import numpy as np

from preimage._engine.arrays import as_points, in_double, to_dense
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.linalg import match, numerical_rank, rank_tolerance
from preimage._engine.removed import refuse_removed
from preimage._engine.typing import Array, Rows
from preimage.inflation._downdate import Downdate
from preimage.inflation._inflation import inflation
from preimage.inflation._orthogonal import heights, is_needed, spectrum
from preimage.inflation._samples import mean

METHODS = ("exact", "first_order")
# Components of the others beyond those asked for, among which the last ones may find the axis they resemble. Without
# spare ones the deviation of the last component is biased.
SPARE_COMPONENTS = 3


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

    def __init__(
        self,
        train: Array,
        left_out: Array,
        eigenvalues: Array,
        left_out_eigenvalues: Array,
        folds: "_Folds | None" = None,
        weights: Array | None = None,
    ) -> None:
        self.weights = weights
        self.train = train
        self.left_out = left_out
        self.eigenvalues = eigenvalues
        self.left_out_eigenvalues = left_out_eigenvalues
        self._folds = folds

    @property
    def inflation(self) -> Array:
        return inflation(self.train, self.left_out, self.weights)

    def fold(self, n: int) -> Array:
        """Training scores of the other points in the model without point n, shape (n_points - 1, q)."""
        if self._folds is None:
            raise ValueError("The training scores of folds are known for method='exact' alone.")
        return self._folds.scores(n)


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
    linear_leave_one_out : The same from rows, for linear PCA.
    svm_leave_one_out : Decisions of a support vector machine.
    transfer_function : A correction learned from these scores.
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
    folds = _Folds(coordinates, downdate, order, signs, mass if centered else None)
    left_out = signs * products[rows, order]
    return LeaveOneOut(train, left_out, values[:count], left_values[rows, order], folds, weights)


class _Folds:
    """Training scores in the models without one point."""

    def __init__(self, coordinates: Array, downdate: Downdate, order: Array, signs: Array, mass: Array | None) -> None:
        self.coordinates = coordinates
        self.downdate = downdate
        self.order = order
        self.signs = signs
        self.mass = mass  # None: scores are not about the mean

    def scores(self, n: int) -> Array:
        # Few columns first: the coordinates of all points are n × n.
        scores = self.coordinates @ (self.downdate.eigenvectors_of(n)[:, self.order[n]] * self.signs[n])
        others = np.delete(scores, n, axis=0)
        # Subtract the mean of the others, −w tₙ / (W − w), which is contained in their coordinates.
        return others - mean(others, np.delete(self.mass, n)) if self.mass is not None else others
