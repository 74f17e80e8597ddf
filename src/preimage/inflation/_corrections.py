"""Corrections of values that a fitted model gives new points: scores of transformers, decisions of classifiers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from preimage._engine.arrays import to_dense
from preimage._engine.finite import against_rest, finite_result, most_probable
from preimage._engine.linalg import numerical_rank, quantiles
from preimage._engine.rows import map_rows
from preimage._engine.threads import on_own_threads
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import warn_user
from preimage.exceptions import UnsupportedKernelError
from preimage.inflation._comparison import Judged, predicted_codes
from preimage.inflation._inflation import deviation, inflation, mean
from preimage.inflation._inputs import as_inputs
from preimage.inflation._leave_one_out import left_out_distances
from preimage.inflation._transfer import renormalize, transfer_function
from preimage.kernels import Gaussian, Kernel

# exp(700) is the largest power that leaves room for a factor; kernel values of more distant points have underflowed.
LARGEST_EXPONENT = 700.0
# Differences from the constant up to this fraction of it are rounding errors, which no factor should enlarge.
ROUNDING = 16 * float(np.finfo(float).eps)
# Newton's method for two parameters ends after about six steps; separable classes, kept finite by the targets below,
# need a few more. Steps longer than the second number, in logits per deviation, overshoot where the curve is flat. The
# last number ends the iteration four digits above rounding: quadratic convergence has then settled the rest.
MOST_STEPS = 50
LONGEST_STEP = 3.0
STEP_TOLERANCE = 1e-10
# Log-odds of the largest left-out decision where decisions say nothing, or the contrary, of the classes: seven digits
# above rounding, so that larger decisions still have larger probabilities, which are equal in all digits that matter.
SMALLEST_LOG_ODDS = 1e-9
METHODS = ("auto", "threshold", "transfer", "isotonic", "affine", "orthogonal", "histogram", "none")
KINDS = {"transfer": "pchip", "isotonic": "isotonic", "affine": "affine"}
# Fewer new rows than this say little about a distribution: the quantiles of ten rows are known to about a third of the
# standard deviation. The result is then used, with a warning.
SMALL_BATCH = 10


@dataclass(frozen=True)
class Choice:
    """What was asked for and compared. Files of version 0.2.0 have a dict instead.

    Attributes
    ----------
    method : str
        What was asked for.
    route : {"exact leave-one-out", "refits"}
        How points were left out.
    scoring : str
        The measure of decisions.
    inflated : list of int or None
        Numbers of the components that "auto" corrects.
    inflation : float or None
        Of decisions: the geometric mean over columns.
    plain, corrected, chance : float or None
        The measure of what a guard predicts from left-out scores, as they are and corrected, and of always predicting
        the largest class.
    gain, standard_error : float or None
        In the smoothed measure, by correction.
    signal : float or None
        The p-value of what a guard predicts.
    accepted : bool or None
        Whether the correction passed.
    gain_over_votes, error_over_votes : float or None
        Of machines of one class against the rest, compared with votes of pairs.
    """

    method: str
    route: str
    scoring: str
    inflated: list[int] | None = None
    inflation: float | None = None
    plain: float | None = None
    corrected: float | None = None
    chance: float | None = None
    gain: float | None = None
    standard_error: float | None = None
    signal: float | None = None
    accepted: bool | None = None
    gain_over_votes: float | None = None
    error_over_votes: float | None = None


@dataclass(frozen=True)
class Calibration:
    """How values for new points are corrected, and what it was learned from.

    Attributes
    ----------
    method : str
        What is applied; "none" where there is nothing to correct, nothing to learn a correction from, or correction was
        found harmful.
    correction : callable or None
        The corrected values as a function of values, shape (m, k), and inputs.
    requires_batch : bool
        Whether results depend on all rows that are given together.
    inflation : array of shape (k,)
        Standard deviations of training values over those of left-out values.
    choice : Choice
    train, left_out : arrays of shape (n, k)
        Values of training points by the model of all, and by models without them; decisions of two classes are one
        column, and left-out ones have the level of the model of all (see `LeftOutDecisions.leveled`).
    corrected : array of shape (n, k)
        The left-out values, corrected.
    weights : array of shape (n,) or None
    judged : Judged or None
        What a guard made of left-out scores, where it was asked to keep that.
    """

    method: str
    correction: Callable[[Array, Rows], Array] | None
    train: Array
    left_out: Array
    corrected: Array
    choice: Choice
    weights: Array | None = None
    judged: Judged | None = None

    @property
    def requires_batch(self) -> bool:
        return isinstance(self.correction, Histogram)

    @property
    def inflation(self) -> Array:
        return inflation(self.train, self.left_out, self.weights)

    def apply(self, values: Any, X: Rows) -> Array:
        """Corrected values for the rows of X, whose values are `values`; of the shape of `values`."""
        values = np.asarray(values, dtype=np.float64)
        if self.correction is None or not len(values):
            return values
        columns = values[:, None] if values.ndim == 1 else values
        return self.correction(columns, X).reshape(values.shape)


class Columns:
    """One function per component; None leaves a component as it is."""

    def __init__(self, functions: Sequence[Callable[[Array], Array] | None]) -> None:
        self.functions = functions

    @classmethod
    def learned(
        cls, train: Array, left_out: Array, method: str, wanted: Array, weights: Array | None = None
    ) -> "Columns":
        """Transfer functions for the columns that are wanted."""
        learn = lambda of_all, of_others: transfer_function(of_all, of_others, KINDS[method], weights=weights)
        columns = zip(train.T, left_out.T, wanted, strict=True)
        return cls([learn(of_all, of_others) if is_wanted else None for of_all, of_others, is_wanted in columns])

    def __call__(self, values: Array, X: Rows = None) -> Array:
        columns = zip(values.T, self.functions, strict=True)
        return np.stack([column if function is None else function(column) for column, function in columns], axis=1)


class Histogram:
    """The histograms of the training scores, for all new rows at once."""

    def __init__(self, train: Array, weights: Array | None = None) -> None:
        # Quantiles of weighted rows at as many levels as their weights count rows.
        if weights is not None:
            levels = np.linspace(0, 1, max(2, round(weights.sum())))
            train = np.stack([quantiles(column, levels, weights) for column in train.T], axis=1)
        self.train = train

    def __call__(self, values: Array, X: Rows = None) -> Array:
        if len(values) < SMALL_BATCH:
            warn_user(
                f"Histogram specification needs the whole test set at once; got {len(values)} new row(s), and fewer "
                f"than {SMALL_BATCH} say little of a distribution. method='transfer' corrects single rows.",
                UserWarning,
            )
        return renormalize(self.train, values)


class TrainingSpan:
    r"""The span of training points, and the squared distances :math:`\|x^\perp\|^2` of other points to it.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
    affine : bool, default=False
        The affine hull of the points, which does not depend on where zero is, instead of their linear span.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._corrections import TrainingSpan
    >>> span = TrainingSpan(np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]))
    >>> span.squared_distances(np.array([[5.0, 5.0, 3.0]]))
    array([9.])
    """

    def __init__(self, points: Rows, affine: bool = False) -> None:
        points = np.asarray(to_dense(points), dtype=np.float64)
        if points.ndim != 2:
            raise ValueError(f"TrainingSpan needs points of shape (n, d); got shape {points.shape}.")
        self.affine = affine
        self.origin = points.mean(axis=0) if affine else np.zeros(points.shape[1])
        _, sizes, axes = np.linalg.svd(points - self.origin, full_matrices=False)
        self.axes = axes[: numerical_rank(sizes, max(points.shape))]

    def squared_distances(self, X: Rows) -> Array:
        """‖x⊥‖² of every row, shape (m,)."""
        if X.shape[1] != self.origin.size:
            raise ValueError(f"X has {X.shape[1]} columns; the training points have {self.origin.size}.")
        return map_rows(self._squared_distances, X)

    def _squared_distances(self, rows: Rows) -> Array:
        rows = np.asarray(to_dense(rows), dtype=np.float64) - self.origin
        # The residual itself: a difference of squared lengths would lose small distances to rounding.
        return ((rows - (rows @ self.axes.T) @ self.axes) ** 2).sum(axis=1)


def restore_lost_projection(values: Array, constant: float | Array, squared_distances: Array, gamma: float) -> Array:
    r"""Undo what values of a Gaussian kernel expansion lose because points lie outside the training span.

    For training points :math:`\|x_n - x\|^2 = \|x_n - x^\parallel\|^2 + \|x^\perp\|^2`, so that an expansion with a
    constant is :math:`f(x) = e^{-\gamma \|x^\perp\|^2} \sum_n \alpha_n k(x^\parallel, x_n) + c`, and

    .. math:: f'(x) = e^{\gamma \|x^\perp\|^2} (f(x) - c) + c

    is its value at the projection. The constant is the intercept of a decision function, and minus the offset of
    kernel principal components; it is not scaled, contrary to [1]_. Values that differ from it by rounding errors only
    become the constant.

    Parameters
    ----------
    values : array of shape (m,) or (m, q)
    constant : float or array of shape (q,)
    squared_distances : array of shape (m,)
        :math:`\|x^\perp\|^2`; see `TrainingSpan`.
    gamma : float
        Of the kernel exp(−γ‖x − y‖²).

    Returns
    -------
    array of the shape of `values`

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "A Cure for Variance Inflation in High Dimensional Kernel Principal Component
       Analysis", JMLR 12, 2011.
    """
    values = np.asarray(values, dtype=np.float64)
    exponent = np.clip(gamma * np.asarray(squared_distances, dtype=np.float64), 0, LARGEST_EXPONENT)
    factor = np.exp(exponent).reshape((-1,) + (1,) * (values.ndim - 1))
    # Differences at the level of rounding would be magnified by e^{γ‖x⊥‖²}, so they are set to zero.
    lost = values - constant
    return factor * np.where(np.abs(lost) > ROUNDING * np.abs(constant), lost, 0.0) + constant


def gaussian_gamma(who: str, kernel: Kernel) -> float:
    """γ of a Gaussian kernel; other kernels do not split into a factor along the span and one across it."""
    if type(kernel) is Gaussian:
        return float(kernel.gamma)
    raise UnsupportedKernelError(
        f"{who} needs the Gaussian kernel, exp(−γ‖x − y‖²): only there is what a point loses outside the training span "
        f"a factor; got {kernel!r}. method='transfer' works with any kernel."
    )


class Orthogonal:
    """Restores the factor that values of Gaussian kernels lose outside the span of the training inputs, (V3)."""

    def __init__(self, steps: Sequence, span: TrainingSpan, gamma: float, constant: Array) -> None:
        self.steps = steps
        self.span = span
        self.gamma = gamma
        self.constant = constant

    @classmethod
    def learned(
        cls, gamma: float, constant: Array, inputs: Array, steps: Sequence, left_out: Array
    ) -> tuple["Orthogonal", Array]:
        """The correction for a model of `inputs`, which `steps` make of X, and the left-out values after it."""
        # Affine hulls: centred points lie in the linear span of the others, which would leave nothing outside.
        centered = inputs - inputs.mean(axis=0)
        distances = left_out_distances(finite_result(centered @ centered.T, inputs), affine=True)
        corrected = restore_lost_projection(left_out, constant, distances, gamma)
        return cls(steps, TrainingSpan(inputs, affine=True), gamma, constant), corrected

    def __call__(self, values: Array, X: Rows) -> Array:
        for step in self.steps:
            X = step.transform(X)
        distances = self.span.squared_distances(as_inputs(X))
        return restore_lost_projection(values, self.constant, distances, self.gamma)


@on_own_threads
def fit_logistic(values: Array, is_second: Array, weights: Array) -> tuple[float, float]:
    r"""Slope a and offset b of the probability :math:`1 / (1 + e^{-(a x + b)})` of the second class.

    Maximum likelihood with Platt's targets :math:`(n_1 + 1) / (n_1 + 2)` and :math:`1 / (n_0 + 2)` instead of 1 and 0,
    which keep a finite where classes do not overlap [1]_.

    Parameters
    ----------
    values : array of shape (n,)
    is_second : bool array of shape (n,)
    weights : array of shape (n,)

    Returns
    -------
    (slope, offset) : floats

    References
    ----------
    .. [1] J. Platt, "Probabilistic Outputs for Support Vector Machines",
       Advances in Large Margin Classifiers, 1999.
    """
    size = np.abs(values).max(initial=0.0) or 1.0
    center, spread = mean(values / size, weights) * size, deviation(values / size, weights) * size
    spread = spread if spread > 0 else 1.0
    design = np.stack([(values - center) / spread, np.ones(len(values))], axis=1)
    n_second, n_first = weights[is_second].sum(), weights[~is_second].sum()
    targets = np.where(is_second, (n_second + 1) / (n_second + 2), 1 / (n_first + 2))
    solution = np.zeros(2)
    for _ in range(MOST_STEPS):
        chances = expit(design @ solution)
        curvature = (design * (weights * chances * (1 - chances))[:, None]).T @ design
        # Constant values leave the slope undetermined: a rounding error on the diagonal makes it zero.
        curvature += np.finfo(float).eps * np.trace(curvature) * np.eye(2)
        step = np.linalg.solve(curvature, design.T @ (weights * (targets - chances)))
        solution = solution + step * min(1.0, LONGEST_STEP / max(np.abs(step).max(), np.finfo(float).tiny))
        if np.abs(step).max() < STEP_TOLERANCE:
            break
    # Values that differ by less than the smallest numbers are as good as equal: no slope is larger than the largest.
    with np.errstate(over="ignore"):
        slope = float(np.clip(solution[0] / spread, -np.finfo(float).max, np.finfo(float).max))
    return slope, solution[1] - solution[0] * center / spread


def class_weights(codes: Array, weights: Array, scoring: str) -> Array:
    """Weights with which all classes count alike, unless the measure is accuracy; they sum to the number of rows."""
    if scoring == "accuracy":
        return weights
    codes = np.asarray(codes).astype(np.intp)
    totals = np.bincount(codes, weights)
    return weights * weights.sum() / (np.count_nonzero(totals) * totals[codes])


class Threshold:
    r"""Decisions relative to the threshold that new points need: :math:`a (f - t)`.

    Two estimates of t are averaged, which err in different ways: where a logistic function of the left-out decisions,
    in which both classes count alike, is one half; and the left-out decision of the same rank as the threshold 0 has
    among the training decisions [1]_. Any increasing correction of a single decision is such a threshold. For two
    classes a = 1; the decisions of several classes, the largest of which wins, need a common unit: their a is the slope
    of the logistic function.

    Parameters
    ----------
    levels, slopes : arrays of shape (k,)
        t and a of each decision.

    References
    ----------
    .. [1] T. J. Abrahamsen, L. K. Hansen, "Variance Inflation in High Dimensional Support Vector Machines", Pattern
       Recognition Letters 34, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.inflation._corrections import Threshold
    >>> codes = np.repeat([0, 1], [30, 10])
    >>> left_out = np.linspace(-1, 1, 40)[:, None] / 10 + codes[:, None] / 2 - 0.4
    >>> Threshold.learned(np.sign(left_out), left_out, codes).levels < 0
    array([ True])
    """

    def __init__(self, levels: Array, slopes: Array) -> None:
        self.levels = np.asarray(levels, dtype=np.float64)
        self.slopes = np.asarray(slopes, dtype=np.float64)

    @classmethod
    def learned(
        cls,
        train: Array,
        left_out: Array,
        codes: Array,
        weights: Array | None = None,
        scoring: str = "balanced_accuracy",
    ) -> "Threshold":
        """From training and left-out decisions, shape (n, k), with k = 1 for two classes."""
        weights = np.ones(len(codes)) if weights is None else weights
        count = left_out.shape[1]
        levels, slopes = np.zeros(count), np.ones(count)
        for k in range(count):
            is_second = codes == (1 if count == 1 else k)
            if is_second.all() or not is_second.any():
                continue
            slope, offset = fit_logistic(left_out[:, k], is_second, class_weights(is_second, weights, scoring))
            below = weights @ (train[:, k] <= 0) / weights.sum()
            by_rank = float(quantiles(left_out[:, k], below, weights))
            low, high = left_out[:, k].min(), left_out[:, k].max()
            # A slope that is not positive orders the classes wrongly: it has no threshold.
            by_odds = float(np.clip(-offset / slope, low, high)) if slope > 0 else by_rank
            levels[k] = (by_odds + by_rank) / 2
            slopes[k] = 1.0 if count == 1 else max(slope, 0.0) or 1.0
        return cls(levels, slopes)

    def __call__(self, values: Array, X: Rows = None) -> Array:
        return self.slopes * (values - self.levels)


class Probabilities:
    r"""Probabilities of the classes from decisions, learned from left-out ones; the class that wins has the largest.

    Decisions f of two classes, with the threshold 0, have :math:`P = \sigma(a f)`; those of several classes, the
    largest of which wins, :math:`P_k = \sigma(a f_k + b) / \sum_j \sigma(a f_j + b)` with a and b common to all. A
    function for each class, or an offset for two, would fit better, and name another class than the decisions.

    Parameters
    ----------
    slopes, offsets : floats
        a > 0, since larger decisions never mean smaller probabilities, and b. Files of version 0.2.0 have one of each
        per decision.
    """

    def __init__(self, slopes: float, offsets: float) -> None:
        self.slopes = slopes
        self.offsets = offsets

    @classmethod
    def learned(
        cls, left_out: Array, codes: Array, weights: Array | None = None, scoring: str = "balanced_accuracy"
    ) -> "Probabilities":
        """From left-out decisions, shape (n, k), with k = 1 for two classes.

        Classes are as frequent as `scoring` counts them: as in the data with accuracy, else all alike.
        """
        weights = np.ones(len(codes)) if weights is None else weights
        weights = class_weights(codes, weights, scoring)
        count = left_out.shape[1]
        if count > 1:
            is_own = codes[:, None] == np.arange(count)
            slope, offset = fit_logistic(left_out.ravel(), is_own.ravel(), np.repeat(weights, count))
        else:
            # Every decision twice, with both signs and classes: then the best offset is zero.
            mirrored, is_second = np.concatenate([left_out[:, 0], -left_out[:, 0]]), np.concatenate([codes, 1 - codes])
            slope, offset = fit_logistic(mirrored, is_second == 1, np.tile(weights, 2) / 2)[0], 0.0
        size = float(np.abs(left_out).max(initial=0.0))
        smallest = SMALLEST_LOG_ODDS / (size if size > np.finfo(float).tiny else 1.0)
        return cls(max(slope, smallest), offset if slope > 0 else 0.0)

    def __call__(self, values: Array) -> Array:
        """Shape (m, 2) for one column of decisions, else one column per class."""
        logits = self.slopes * values + self.offsets
        if values.shape[1] == 1:
            chances = expit(logits)
            P = np.concatenate([1 - chances, chances], axis=1)
        else:
            P = against_rest(logits)
        return most_probable(P, predicted_codes(values))
