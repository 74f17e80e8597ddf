"""Increasing functions that give left-out values the distribution of training values, and the same by ranks."""

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.linalg import qr
from scipy.optimize import lsq_linear
from sklearn.isotonic import isotonic_regression

from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array
from preimage.inflation._inflation import check_masses, check_sample, deviation, matched_by_rank, mean

# Weight of second differences relative to data. Knots without data near them lie on a line between their neighbours;
# where data decide, the square of this weight is far below their noise.
SMOOTHNESS = 1e-4


class IncreasingMap:
    """A function of one variable that never decreases, through given points.

    Outside the range of its knots it continues as a line, by default with the mean slope between the first knot and the
    last: far values keep their order and their side, and no steep last piece runs away.

    Parameters
    ----------
    knots : array of shape (k,)
        Increasing.
    values : array of shape (k,)
        Not decreasing.
    smooth : bool, default=False
        PCHIP (monotone cubics with a continuous derivative) between the knots, instead of straight lines.
    slope : float, optional
        Of the function outside the range of the knots; 0 makes it constant there. One knot alone needs one.

    Examples
    --------
    >>> from preimage.inflation._transfer import IncreasingMap
    >>> curve = IncreasingMap([0.0, 1.0, 2.0], [0.0, 0.0, 4.0])
    >>> curve([-1.0, 0.5, 1.5, 3.0])
    array([-2.,  0.,  2.,  6.])
    """

    def __init__(self, knots: Array, values: Array, *, smooth: bool = False, slope: float | None = None) -> None:
        knots = check_sample("IncreasingMap", "knots", knots, least=1)
        values = check_sample("IncreasingMap", "values", values, least=1)
        if knots.size != values.size or (np.diff(knots) <= 0).any() or (np.diff(values) < 0).any():
            raise ValueError(
                "IncreasingMap needs increasing knots and as many values that do not decrease; got knots "
                f"{knots.tolist()!r} and values {values.tolist()!r}."
            )
        if slope is None:
            with np.errstate(over="ignore", invalid="ignore"):
                slope = 1.0 if knots.size == 1 else (values[-1] - values[0]) / (knots[-1] - knots[0])
        if not 0 <= slope < np.inf:
            raise ValueError(f"IncreasingMap needs a slope that is finite and not negative; got {slope!r}.")
        self.knots = knots
        self.values = values
        self.smooth = bool(smooth)
        self.slope = float(slope)

    @gives_finite_numbers()
    def __call__(self, x: Array) -> Array:
        """Values at x, of the shape of x."""
        x = np.asarray(x, dtype=np.float64)
        inside = np.clip(x, self.knots[0], self.knots[-1])
        if self.smooth and self.knots.size > 2:
            # Rounding may leave the range of the values by an ulp, and the order at a knot.
            middle = np.clip(PchipInterpolator(self.knots, self.values)(inside), self.values[0], self.values[-1])
        else:
            middle = np.interp(inside, self.knots, self.values)
        return middle + self.slope * (x - inside)

    def __repr__(self) -> str:
        first, last = (self.knots[0], self.values[0]), (self.knots[-1], self.values[-1])
        return (
            f"IncreasingMap({self.knots.size} knots from {first[0]:.4g} to {last[0]:.4g}, values from {first[1]:.4g} "
            f"to {last[1]:.4g}, smooth={self.smooth}, slope={self.slope:.4g})"
        )


def fit_increasing(x: Array, y: Array, n_knots: int = 10, weights: Array | None = None) -> IncreasingMap:
    r"""Fit a smooth increasing function: monotone least squares on equidistant knots, PCHIP between them.

    Minimises :math:`\sum_i (y_i - \sum_j v_j h_j(x_i))^2` over :math:`v_1 \le v_2 \le \dots`, with the hat functions h
    of the knots.

    Parameters
    ----------
    x, y : array of shape (n,)
    n_knots : int, default=10
        At most this many; never more than there are different x.
    weights : array of shape (n,), optional
        Weight 2 counts as two equal pairs.

    Returns
    -------
    IncreasingMap

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._transfer import fit_increasing
    >>> x = np.linspace(0, 9, 50)
    >>> bool(abs(fit_increasing(x, 3 * x)(4.2) - 12.6) < 1e-6)
    True
    """
    n_knots = min(n_knots, np.unique(x).size)
    knots = np.linspace(x.min(), x.max(), n_knots)
    if n_knots == 1 or (np.diff(knots) <= 0).any():  # equal, or apart by rounding errors only
        return _shift(x, y)
    low, size = y.min(), np.ptp(y)
    if size == 0:
        return IncreasingMap(knots[[0, -1]], np.full(2, low))
    hats = np.stack([np.interp(x, knots, row) for row in np.eye(n_knots)], axis=1)
    curvature = SMOOTHNESS * np.diff(np.eye(n_knots), n=2, axis=0)
    steps = np.tril(np.ones((n_knots, n_knots)))  # values = steps @ (start, increments ≥ 0)
    roots = np.ones(len(x)) if weights is None else np.sqrt(weights)
    design = np.concatenate([roots[:, None] * hats, curvature]) @ steps
    target = np.concatenate([roots * (y - low) / size, np.zeros(len(curvature))])
    if not (np.isfinite(design).all() and np.isfinite(target).all()):
        raise ValueError(
            f"Values from {x.min():.3g} to {x.max():.3g}, and from {low:.3g} to {low + size:.3g}, are too near to each "
            "other, or too far apart, to be divided; multiply them by a constant."
        )
    Q, R = qr(design, mode="economic")
    least = np.r_[-np.inf, np.zeros(n_knots - 1)]
    solution = lsq_linear(R, Q.T @ target, bounds=(least, np.inf), method="bvls", max_iter=100 * n_knots).x
    values = low + size * np.cumsum(np.r_[solution[0], np.maximum(solution[1:], 0)])
    return IncreasingMap(knots, values, smooth=True)


def fit_isotonic(x: Array, y: Array, weights: Array | None = None) -> IncreasingMap:
    """Fit the increasing function with the least squared error, straight between the x.

    Parameters
    ----------
    x, y : array of shape (n,)
    weights : array of shape (n,), optional
        Weight 2 counts as two equal pairs.

    Returns
    -------
    IncreasingMap

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._transfer import fit_isotonic
    >>> fit_isotonic(np.arange(3.0), np.array([0.0, 3.0, 1.0]))([1.0, 2.0])
    array([2., 2.])
    """
    weights = np.ones(len(x)) if weights is None else weights
    knots, group = np.unique(x, return_inverse=True)
    if knots.size == 1:
        return _shift(x, y)
    sizes = np.bincount(group, weights)
    means = np.bincount(group, weights * y) / sizes
    values = isotonic_regression(means, sample_weight=sizes)
    return IncreasingMap(knots, np.maximum.accumulate(values))


def fit_affine(x: Array, y: Array, x_weights: Array | None = None, y_weights: Array | None = None) -> IncreasingMap:
    r"""The line that gives x the mean and standard deviation of y.

    :math:`t \mapsto (t - \bar x)\, s_y / s_x + \bar y` [1]_, enough where values are roughly normal. The pairing of x
    and y does not matter, and their numbers may differ.

    Parameters
    ----------
    x : array of shape (n,)
    y : array of shape (m,)
    x_weights, y_weights : arrays of the shapes of x and y, optional

    Returns
    -------
    IncreasingMap

    References
    ----------
    .. [1] U. Kjems, L. K. Hansen, S. C. Strother, "Generalizable Singular Value Decomposition for Ill-posed Datasets",
       NIPS 13, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._transfer import fit_affine
    >>> fit_affine(np.array([-1.0, 1.0]), np.array([0.0, 4.0]))([0.0, 2.0])
    array([2., 6.])
    """
    spread = deviation(x, x_weights)
    slope = deviation(y, y_weights) / spread if spread > np.finfo(float).eps * np.abs(x).max() else 1.0
    return IncreasingMap([mean(x, x_weights)], [mean(y, y_weights)], slope=slope)


KINDS = ("pchip", "isotonic", "affine")


@gives_finite_numbers()
def transfer_function(
    train: Array, left_out: Array, kind: str = "pchip", n_knots: int = 10, weights: Array | None = None
) -> IncreasingMap:
    r"""Learn the function that gives left-out values the distribution of training values.

    New values come from the law of left-out values, not from that of the training values they are compared with. The
    map :math:`h(f_n) = d_{\mathrm{sorted}}[\operatorname{rank}(f_n)]` between the two samples, made a function by
    `fit_increasing`, `fit_isotonic` (the map itself, with lines between) or `fit_affine`, works for one new value at a
    time and for classes in any proportions [1]_.

    Parameters
    ----------
    train : array of shape (n,)
        Values of training points.
    left_out : array of shape (m,)
        Values of the same points in models that were fitted without them.
    kind : {"pchip", "isotonic", "affine"}, default="pchip"
        A smooth increasing function, a step-like one, or a line.
    n_knots : int, default=10
        For "pchip".
    weights : array of shape (n,), optional
        Of both samples, which are of the same points then; weight 2 counts as two equal points.

    Returns
    -------
    IncreasingMap
        A function of arrays.

    See Also
    --------
    renormalize : Needs the whole test set at once.
    leave_one_out : Left-out values of kernel PCA.
    preimage.Renormalized : Everything together, as an estimator.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Variance Inflation in High Dimensional Support Vector Machines", Pattern
       Recognition Letters 34, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation import transfer_function
    >>> left_out = np.linspace(-1, 1, 40)
    >>> restore = transfer_function(5 * left_out, left_out)
    >>> bool(abs(restore(0.3) - 1.5) < 1e-6)
    True
    """
    who = "transfer_function"
    train, left_out = check_sample(who, "train", train, least=1), check_sample(who, "left_out", left_out, least=1)
    weights = check_masses(who, weights, train.size)
    if kind not in KINDS:
        raise ValueError(f"transfer_function knows the kinds {', '.join(KINDS)}; got {kind!r}.")
    if n_knots < 2:
        raise ValueError(f"transfer_function needs at least 2 knots; got n_knots={n_knots!r}.")
    if weights is not None and left_out.size != train.size:
        raise ValueError(f"{who} needs as many `left_out` as weights; got {left_out.size} and {train.size}.")
    if kind == "affine":
        return fit_affine(left_out, train, weights, weights)
    target = specify_histogram(train, left_out) if weights is None else matched_by_rank(train, left_out, weights)
    if kind == "isotonic":
        return fit_isotonic(left_out, target, weights)
    return fit_increasing(left_out, target, n_knots, weights)


def _shift(x: Array, y: Array) -> IncreasingMap:
    """Where all x are equal nothing is known about scales, so that new values keep theirs."""
    return IncreasingMap(x[:1], [np.median(y)], slope=1.0)


def specify_histogram(train: Array, test: Array) -> Array:
    r"""Relabel test values, in their order, so that they follow the distribution of training values.

    The m-th smallest test value becomes the m-th smallest training value,

    .. math:: \tilde g_m = f_{\mathrm{sorted}}[\operatorname{rank}(g_m)];

    for unequal sizes, the quantile of the training values at the same relative rank, with straight lines between them
    (cubic splines, as in [1]_, overshoot and need not increase). Test values that are equal get equal results: the mean
    of the values that their ranks have. One test value alone becomes the median.

    The whole test set is needed at once, and its classes in the proportions of training: results have those
    proportions whatever the truth.

    Parameters
    ----------
    train : array of shape (n,)
    test : array of shape (m,)

    Returns
    -------
    array of shape (m,)

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011.

    Examples
    --------
    >>> from preimage.inflation._transfer import specify_histogram
    >>> specify_histogram([-3.0, 0.0, 3.0], [0.2, 0.1, 0.3])
    array([ 0., -3.,  3.])
    """
    train = check_sample("specify_histogram", "train", train, least=1)
    test = check_sample("specify_histogram", "test", test)
    n, m = train.size, test.size
    position = np.linspace(0, n - 1, m) if m > 1 else np.full(m, (n - 1) / 2)
    quantiles = np.interp(position, np.arange(n), np.sort(train))
    _, group, sizes = np.unique(test, return_inverse=True, return_counts=True)
    if m == 0:
        return quantiles
    first = np.cumsum(sizes) - sizes
    # Means as a start plus a mean excess: those of equal values are then exact.
    excess = np.add.reduceat(quantiles - np.repeat(quantiles[first], sizes), first)
    return (quantiles[first] + excess / sizes)[group]


@gives_finite_numbers()
def renormalize(train: Array, test: Array) -> Array:
    """Histogram specification, coordinate by coordinate.

    In each column, new values keep their order and become quantiles of the training values. All rows of a test set are
    needed at once.

    Parameters
    ----------
    train : array of shape (n, q)
        Values of the training set.
    test : array of shape (m, q)
        Values of new rows, all of them.

    Returns
    -------
    array of shape (m, q)
        New values with the distribution of the training values.

    See Also
    --------
    preimage.Renormalized : Does this with ``method="histogram"``.

    Examples
    --------
    >>> from preimage.inflation import renormalize
    >>> renormalize([[0.0, 5.0], [1.0, 7.0]], [[0.4, 0.0], [0.3, 0.1]])
    array([[1., 5.],
           [0., 7.]])
    """
    train, test = np.asarray(train), np.asarray(test)
    if train.ndim != 2 or test.ndim != 2 or train.shape[1] != test.shape[1]:
        raise ValueError(
            "renormalize needs two tables with the same columns; `train` has shape "
            f"{train.shape}, `test` has shape {test.shape}."
        )
    columns = [specify_histogram(train[:, k], test[:, k]) for k in range(train.shape[1])]
    return np.stack(columns, axis=1) if columns else np.empty(test.shape)


def histogram_overlap(first: Array, second: Array) -> float:
    """Common area of the histograms of two samples, with the same bins: 1 for the same, 0 for nothing in common.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._transfer import histogram_overlap
    >>> histogram_overlap(np.arange(10), np.arange(10)), histogram_overlap(np.arange(10), np.arange(10) + 100)
    (1.0, 0.0)
    """
    low, high = min(first.min(), second.min()), max(first.max(), second.max())
    if not high > low:
        return 1.0
    bins = np.linspace(low, high, max(5, round(np.sqrt(len(first)))) + 1)
    count = lambda values: np.histogram(values, bins)[0] / len(values)
    return float(np.minimum(count(first), count(second)).sum())
