"""Regression and classification by any convex loss on few basis functions."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import follow_rows, in_memory, to_numpy
from preimage._engine.finite import finite_log, finite_result, working_method
from preimage._engine.progress import reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    count_rows,
    generator,
)
from preimage._models.machines import Logistic
from preimage._models.regression import (
    CLASSIFICATION_LOSSES,
    REGRESSION_LOSSES,
    ConvexMachine,
    LandmarkRidge,
    LeftOutCurve,
    Loss,
    RowDerivatives,
    SoftmaxLoss,
    nested_frame,
)
from preimage.estimators._automatic_landmarks import as_left_out_losses_ask, curve_of_doubled
from preimage.estimators._classifier import class_codes, with_class_weights
from preimage.estimators._convex_fit import minimized
from preimage.estimators._kernel_input import DEFAULT_LANDMARKS, is_auto
from preimage.estimators._landmark_machine import (
    LANDMARK_MACHINE_CONSTRAINTS,
    ClassesOfMachine,
    LabelledRows,
    LandmarkMachine,
    ValuesOfMachine,
)
from preimage.estimators._machine_streams import (
    Batch,
    check_stream_settings,
    learn,
    learns_from_streams,
    next_batch,
    warn_of_fit,
)
from preimage.estimators._predictive_intervals import PredictiveIntervals, left_out_variance
from preimage.estimators._refined_fit import Fitted, measured, refined, values_of_rows
from preimage.landmarks import Landmarks, LandmarkSelector, SparseGreedy

#: The loss whose minimum is a system of equations, with its own machinery for numbers of landmarks.
SQUARED = "squared"


@dataclass(frozen=True)
class SparseGreedyPath:
    """Errors on the first 1, …, m landmarks of a fitted model.

    Attributes
    ----------
    n_landmarks : integer array of shape (m,)
    residual_fraction : array of shape (m,) or None
        Fraction of the trace of the kernel that the landmarks leave; None after several batches of a stream.
    train_error : array of shape (m,)
        Mean squared error on the training targets, weighted as in `fit` (targets are ±1 for classifiers).
    test_error : array of shape (m,) or None
        On the data that were given: mean squared error of a regressor, fraction of mistakes of a classifier.
    """

    n_landmarks: np.ndarray
    residual_fraction: np.ndarray | None
    train_error: np.ndarray
    test_error: np.ndarray | None


def _has_probabilities(estimator: Any) -> bool:
    return bool(estimator.loss == "logistic")


class SparseGreedyModel(LandmarkMachine):
    """Functions on landmarks that minimise a loss; subclasses have losses."""

    _parameter_constraints: dict[str, list] = {
        **LANDMARK_MACHINE_CONSTRAINTS,
        "landmarks": [*LANDMARK_MACHINE_CONSTRAINTS["landmarks"], StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "refine": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    loss: str
    alpha: Any
    alpha_: float
    alphas_: np.ndarray | None
    loo_errors_: np.ndarray | None
    objective_: np.ndarray | None
    duality_gap_: np.ndarray | None
    left_out_curve_: LeftOutCurve | None
    refinement_losses_: np.ndarray | None
    n_iter_: int
    n_samples_seen_: int
    _regression: LandmarkRidge | None
    fit_intercept: bool
    refine: int
    tol: float
    max_iter: int
    max_memory: int | str | None
    random_state: Seed

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, where it is not the squared one."""

    @abstractmethod
    def _unit(self, targets: np.ndarray) -> float:
        """The size of the targets."""

    def path(self, X: Rows | None = None, y: Targets | None = None) -> SparseGreedyPath:
        """Errors for every number of landmarks up to all, at the price of predictions with all; for the squared loss.

        Parameters
        ----------
        X : array of shape (q, d), optional
            Data to test on.
        y : array of shape (q,) or (q, k)
            Their targets or labels.

        Returns
        -------
        SparseGreedyPath
        """
        regression = self._require_path("path")
        if (X is None) != (y is None):
            raise ValueError("`path` takes test inputs and their targets together, or neither.")
        with working_method(f"{type(self).__name__}.path"):
            test_error = None if X is None else finite_result(self._test_errors(X, y))
            train_error = finite_result(regression.ridge.errors())
        m, trace, left = len(self.landmarks_), self.landmarks_.trace, self.landmarks_.residuals_path
        residual = None if left is None else left / trace if trace > 0 else np.zeros(m)
        return SparseGreedyPath(np.arange(1, m + 1), residual, train_error, test_error)

    def staged_predict(self, X: Rows) -> Iterator[Array]:
        """Predictions on the first 1, 2, …, m landmarks, as a fit on only these would make them, one after another.

        For the squared loss, whose fits on all numbers of landmarks come from one factorisation.
        """
        regression = self._require_path("staged_predict")
        output = self._kernel_machine().output
        X = self._check_inputs(X)
        for values in regression.staged_values(X):
            yield follow_rows(output.predict(values), X)

    def _test_errors(self, X: Rows, y: Targets) -> np.ndarray:
        """Errors on test data for 1, …, m landmarks."""
        y = self._check_y(to_numpy(y) if hasattr(y, "shape") else np.asarray(y), count_rows(X))
        errors_of = (lambda found: y != found) if is_classifier(self) else (lambda found: (y - found) ** 2)
        return np.array([np.mean(errors_of(to_numpy(found))) for found in self.staged_predict(X)])

    def _require_path(self, method: str) -> LandmarkRidge:
        check_is_fitted(self)
        if self._regression is None:
            raise ValueError(
                f"{type(self).__name__}.{method} needs loss='squared', whose fits on all numbers of landmarks come "
                "from one factorisation; this model was fitted with another loss. Fit one model for each number of "
                "landmarks."
            )
        return self._regression

    def _learn(self, X: Rows, y: Targets, sample_weight: Targets, classes: Targets = None) -> None:
        """Learn from a batch of a stream."""
        check_parameters(self)
        check_stream_settings(self)
        if (stream := getattr(self, "_stream", None)) is None:
            warn_of_fit(self)
            X = np.asarray(X) if isinstance(X, np.memmap) else in_memory(X)
            rows = self._read(X, y, in_memory(sample_weight))
            batch = Batch(rows.inputs, self._targets_of_batch(rows.y, classes, True), rows.weights)
            learn(self, batch, rows.kernel, self._selector(), lambda: self._select(rows.kernel, rows.inputs))
        else:
            X, y, weights = next_batch(self, X, y, sample_weight)
            batch = Batch(X, self._targets_of_batch(y, classes, False), weights)
            learn(self, batch, stream.kernel, self._selector(), None)

    def _targets_of_batch(self, y: np.ndarray, classes: Targets, is_first: bool) -> np.ndarray:
        """Targets (n, k) of the rows of a batch."""
        return self._targets(y)

    def _selector(self) -> LandmarkSelector:
        return SparseGreedy(DEFAULT_LANDMARKS) if is_auto(self.landmarks) else super()._selector()

    def _solve_on(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> tuple[Any, Landmarks]:
        self.left_out_curve_ = self.refinement_losses_ = None
        self.n_samples_seen_ = targets.shape[0]
        is_automatic = is_auto(self.landmarks) and len(landmarks) > 0
        if is_automatic and self.loss == SQUARED:
            fitted = self._least_squares(rows, landmarks, targets)
            self.left_out_curve_ = fitted.left_out_curve(
                rows.inputs, targets, rows.weights, intercept=self.fit_intercept
            )
            landmarks = as_left_out_losses_ask(landmarks, self.left_out_curve_)
        elif is_automatic:
            fit = partial(self._minimized, rows, targets=targets, alpha=_penalties(self), warns=False)
            self.left_out_curve_ = curve_of_doubled(landmarks, fit, rows.weights)
            landmarks = as_left_out_losses_ask(landmarks, self.left_out_curve_)
        fitted = self._solve(rows, landmarks, targets)
        if not self.refine or len(landmarks) >= targets.shape[0]:
            return fitted, landmarks
        rng = generator(self.random_state)
        better, self.refinement_losses_ = refined(
            rows, targets, landmarks, self._refit, self._loss_of_values(), self.alpha_, self.refine, rng
        )
        if better is landmarks:
            return fitted, landmarks
        return self._solve(rows, better, targets), measured(better, rows, nested_frame(rows.kernel, better.points))

    def _loss_of_values(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        return (lambda F, Y: (F - Y) ** 2) if self.loss == SQUARED else self._loss().value

    def _refit(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray, alpha: float) -> Fitted:
        """The functions on landmarks for one penalty, with the derivatives of their losses."""
        if self.loss != SQUARED:
            machine = self._minimized(rows, landmarks, targets=targets, alpha=alpha, warns=False)
            found = RowDerivatives(machine.multipliers, machine.stiffness.mean(axis=1), alpha)
            return Fitted(machine.expansion, machine.intercept, found)
        weights = np.ones(targets.shape[0]) if rows.weights is None else rows.weights
        given = (rows.kernel, landmarks.points, rows.inputs, targets, rows.weights)
        ridge = LandmarkRidge.fit(*given, alpha=alpha, intercept=self.fit_intercept)
        errors = targets - values_of_rows(ridge.expansion, ridge.intercept, rows.inputs)
        found = RowDerivatives(2 * weights[:, None] * errors, 2 * weights, alpha)
        return Fitted(ridge.expansion, ridge.intercept, found)

    def _minimized(
        self,
        rows: LabelledRows,
        landmarks: Landmarks,
        *,
        targets: np.ndarray,
        alpha: Any,
        start: np.ndarray | None = None,
        warns: bool = True,
    ) -> ConvexMachine:
        return minimized(
            self,
            rows,
            landmarks,
            targets,
            self._loss(),
            alpha=alpha,
            intercept=self.fit_intercept,
            unit=self._unit(targets),
            start=start,
            warns=warns,
        )

    def _solve(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> Any:
        self.__dict__.pop("_stream", None)
        if self.loss == SQUARED:
            return self._least_squares(rows, landmarks, targets)
        fitted = self._minimized(rows, landmarks, targets=targets, alpha=_penalties(self))
        self._regression = None
        self.alpha_, self.alphas_, self.loo_errors_ = fitted.alpha, fitted.alphas, fitted.loo_errors
        return fitted

    def _judging_options(self) -> dict[str, Any]:
        alpha = _penalties(self) if self.loss == SQUARED else "loo"
        return {"alpha": alpha, "intercept": self.fit_intercept}

    def _least_squares(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> LandmarkRidge:
        self._regression = fitted = LandmarkRidge.fit(
            rows.kernel,
            landmarks.points,
            rows.inputs,
            targets,
            rows.weights,
            alpha=_penalties(self),
            intercept=self.fit_intercept,
        )
        self.alpha_, self.alphas_, self.loo_errors_ = fitted.alpha, fitted.alphas, fitted.loo_errors
        self.objective_, self.duality_gap_, self.n_iter_ = None, None, 1
        return fitted


class SparseGreedyRegressor(PredictiveIntervals, ValuesOfMachine, SparseGreedyModel):
    r"""Regression on few basis functions by any of several losses: sparse greedy approximation of kernel machines.

    For landmarks chosen by `landmarks`,

    .. math:: \min_{\beta, b} \; \sum_i w_i\, \ell\bigl(y_i, f(x_i)\bigr) + \alpha\, \beta^\top W \beta,
        \qquad f(x) = \sum_j \beta_j k(z_j, x) + b,

    with :math:`W` the kernel among landmarks (G21). In terms of rows it is the machine of `loss` with the kernel matrix
    replaced by :math:`\tilde K = C W^{-1} C^\top` [1]_, :math:`C_{ij} = k(x_i, z_j)`: with all rows as landmarks, the
    machine itself. The losses :math:`\ell(y, f)`, for errors :math:`e = y - f`, are

    - "squared", :math:`e^2`: kernel ridge regression;
    - "huber", :math:`e^2` up to :math:`|e| = \varepsilon`, :math:`2\varepsilon|e| - \varepsilon^2` beyond: large errors
      count less;
    - "epsilon_insensitive", :math:`\max(0, |e| - \varepsilon)`: support vector regression, with
      :math:`C = 1/(2\alpha)` of scikit-learn's `SVR`;
    - "quantile", :math:`q\,e` for :math:`e > 0` and :math:`(q - 1)\,e` otherwise: f has a fraction q of the targets
      below it.

    **The squared loss** has, without weights and intercept, the minimum
    :math:`\beta = (C^\top C + \alpha W)^{-1} C^\top y` (G14), whose fitted values are those of kernel ridge regression
    with :math:`\tilde K` (G16) [1]_. It is solved in an orthonormal frame of the landmarks by QR
    factorisations of blocks of rows (G15): O(nm²) operations for m landmarks, and memory for m² numbers besides the
    data.

    It is also the mean of a Gaussian process, whose standard deviations `predict` returns with ``return_std=True``
    (G27); `predict_interval` has intervals that contain new targets with a given probability, from residuals of rows
    that are left out (G28), of a sample of 4,096 rows where there are more. Weights say how often rows count there as
    well: those of sum n are n rows. `to_onnx` and `compress` give predictions alone.

    **Other losses** are minimised along the same frame: "huber" by Newton's method, losses with kinks by an
    interior-point method, whose systems with :math:`\tilde K + D`, D diagonal, are of the size of the landmarks (G17),
    as section 6.1 of [1]_ proposes. An iteration costs O(nm²), and there are about 10 to 20. `duality_gap_` bounds how
    far the result is from the minimum. A prediction costs m kernel values with any loss.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        Basis functions: a number stands for ``SparseGreedy(number)``; a name ("sparse_greedy", "rpcholesky",
        "pivoted_cholesky", "kmeans", "uniform") for that selector's defaults; or a selector of `preimage.landmarks`,
        such as ``SparseGreedy(None, tol=1e-3)``, which leaves the number to the trace of the kernel. "auto" finds the
        smallest number up to 1,000 whose mean left-out loss is within a standard error of the best: of all numbers for
        the squared loss, of 16, 32, 64, … for others, until more do not help. (Elsewhere "auto" may mean all rows,
        which machines for many rows never use.)
    loss : {"squared", "huber", "epsilon_insensitive", "quantile"}, default="squared"
        What an error costs.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. The kernel must be positive semidefinite. ``gamma="relevance"`` learns a width for each
        column from the targets, with kernels of the squared distance: columns that do not help get no weight. Widths
        have the largest evidence on at most 1,500 rows  (K21). Left-out errors of least squares on landmarks, at other
        rows, choose a factor of all weights, and one width, of columns as they are or divided by their standard
        deviations, is kept unless errors with widths per column are smaller beyond the standard error. Best with
        ``alpha="loo"``.
    alpha : float, "loo" or array of floats, default=1.0
        Penalty α, as in scikit-learn's `KernelRidge`; λm of [1]_, whose objective is divided by the number m of rows
        there, and 1/(2C) for the C of support vector machines. An array holds candidates, of which the one with the
        smallest leave-one-out error is taken (for the given landmarks; not one penalty for each target, as in
        `KernelRidge`); "loo" tries up to 41 that span the singular values. The errors are exact for the squared loss.
        For others they are the losses of values without a row to first order (G22), from one factorisation for each
        candidate. Zero is least squares, or the smallest penalty that is no rounding error.
    epsilon : float, default=0.1
        Errors up to ε cost nothing with loss="epsilon_insensitive", and only larger ones are not squared with "huber".
    quantile : float, default=0.5
        The fraction q, between 0 and 1, of loss="quantile"; 0.5 is the median.
    fit_intercept : bool, default=True
        Whether to add a constant b that is not penalised; `KernelRidge` has none.
    refine : int, default=0
        The most rounds in which landmarks are replaced: a quarter as many rows join that lower the objective most, and
        those leave without which it rises least. Rounds are tried on four fifths of the rows first, and as many are
        made as lower the loss of the others most, none if none does. A round takes two further fits.
    tol : float, default=1e-6
        Largest gap to the minimum, relative to the objective, for losses other than "squared". Iterations go on to a
        ten-thousandth of it where rounding errors allow, since values differ from those of the minimum by about its
        root.
    max_iter : int, default=200
        Most iterations, for losses other than "squared".
    max_memory : int, str or None, default=None
        Memory for the coordinates of all rows, n × m numbers, such as "1GB"; None is half of what is free. Where they
        take more, they are computed again in each pass, block by block. The squared loss keeps none.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For the choice of landmarks. A selector object has its own.

    Attributes
    ----------
    landmarks_ : Landmarks
        The points, their row numbers, and the trace that they leave.
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    n_samples_seen_ : int
        Rows of the fit, or of all batches so far, without those of weight zero: where a stream that stopped goes on.
    residual_fraction_ : float
        Fraction of the trace of the kernel that the landmarks leave: what the model cannot express of the full network.
    expansion_ : Expansion
        The functions without their intercepts.
    dual_coef_ : array of shape (m,) or (m, n_targets)
        β.
    intercept_ : array of shape (n_targets,)
    alpha_ : float
        The penalty that was used.
    alphas_, loo_errors_ : arrays, or None
        The candidates and their mean leave-one-out errors or losses, when α was chosen. With "loo" and another loss
        than the squared one, from the largest candidate down to where losses have become worse.
    left_out_curve_ : LeftOutCurve, or None
        With ``landmarks="auto"``: the numbers of landmarks, `n_landmarks`, their mean left-out losses, `loss`, and the
        `standard_error` of these means over rows.
    refinement_losses_ : array, or None
        With `refine`: mean losses of the rows on which rounds were judged, after 0, 1, 2, … rounds; empty where there
        are too few rows to judge by.
    objective_ : array of shape (n_targets,), or None
        The minimum; None for the squared loss.
    duality_gap_ : array of shape (n_targets,), or None
        How far below `objective_` the exact minimum may be at most, relative to it: the difference of the primal and a
        dual objective. None for the squared loss.
    n_iter_ : int
        Iterations of the last fit; one for the squared loss.
    noise_variance_ : array of shape (n_targets,)
        Variance of the noise around the functions, for the squared loss: what left-out residuals have beyond the
        variance of the functions.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    relevance_ : array of shape (d,)
        With ``gamma="relevance"``, how much the function changes with each column: the mean squared derivative, in
        units of the standard deviation of the column, of kernel ridge regression on the rows that decided. The sum is
        one, and columns without weight have zero. `preimage.plotting.RelevanceDisplay` draws it.
    has_column_widths_ : bool
        With ``gamma="relevance"``, whether widths per column were taken, and not one width.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.landmarks.SparseGreedy : The choice of the points.
    LinearProgrammingRegressor : Still fewer functions.
    compress : Makes fitted machines, also this one, still smaller.
    sklearn.kernel_ridge.KernelRidge, sklearn.svm.SVR : All points as basis functions.

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import SparseGreedyRegressor
    >>> X = np.linspace(0, 10, 500)[:, None]
    >>> model = SparseGreedyRegressor(20, gamma=0.5, alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
    True
    >>> bool(model.path().train_error[4] > model.path().train_error[19])
    True

    Standard deviations of the function, and intervals for new targets, in the middle of the rows and beyond them:

    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=500)
    >>> model = SparseGreedyRegressor(20, gamma=0.5, alpha="loo").fit(X, y)
    >>> model.predict([[5.0], [12.0]], return_std=True)[1].round(2)
    array([0.02, 0.25])
    >>> model.predict_interval([[5.0]], coverage=0.9).round(1)
    array([[-1.1, -0.8]])

    A curve with nine tenths of the targets below it:

    >>> y = np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=500)
    >>> upper = SparseGreedyRegressor(20, loss="quantile", quantile=0.9, gamma=0.5, alpha=0.01).fit(X, y)
    >>> round(float(np.mean(y < upper.predict(X))), 2)
    0.9

    Two of six columns matter:

    >>> X = np.random.default_rng(0).normal(size=(300, 6))
    >>> model = SparseGreedyRegressor(50, gamma="relevance", alpha="loo").fit(X, np.sin(2 * X[:, 0]) * X[:, 3])
    >>> model.has_column_widths_, np.flatnonzero(model.relevance_ > 0.05)
    (True, array([0, 3]))
    """

    _parameter_constraints = {
        **SparseGreedyModel._parameter_constraints,
        "loss": [StrOptions({SQUARED, *REGRESSION_LOSSES.names})],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        landmarks: int | str | LandmarkSelector = 100,
        *,
        loss: str = SQUARED,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        alpha: Any = 1.0,
        epsilon: float = 0.1,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        refine: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_memory: int | str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.landmarks = landmarks
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.refine = refine
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.verbose = verbose
        self.random_state = random_state

    def _least_squares(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> LandmarkRidge:
        fitted = super()._least_squares(rows, landmarks, targets)
        self._predictive = left_out_variance(self, rows, landmarks, targets, fitted)
        return fitted

    @available_if(learns_from_streams)
    @reports_progress
    def partial_fit(self, X: Rows, y: Targets, sample_weight: Targets | None = None) -> Self:
        """Learn from a further batch of rows, with the squared loss; any split of the data gives the same model.

        The first batch fixes the width of the kernel and gives the first landmarks; later ones add landmarks as in
        `KernelPCA.partial_fit`, while they are fewer than `landmarks` asks for and leave much of the batch. Meanwhile
        rows are kept, up to ten for each landmark. If landmarks join after more rows than that, the part of these along
        them is unknown and counts as zero, with a warning: shuffle a sorted stream, or begin with a large batch. After
        `fit` it begins anew, with a warning.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,) or (n, k)
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from preimage import SparseGreedyRegressor
        >>> X = np.random.default_rng(0).uniform(0, 10, size=(500, 1))
        >>> model = SparseGreedyRegressor(20, gamma=0.5, alpha=0.01)
        >>> for batch in np.array_split(X, 5):
        ...     model = model.partial_fit(batch, np.sin(batch[:, 0]))
        >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.02)
        True
        """
        self._learn(X, y, sample_weight)
        return self

    def _targets_of_batch(self, y: np.ndarray, classes: Targets, is_first: bool) -> np.ndarray:
        before = None if is_first else self._output
        targets = self._targets(y)
        if before is not None and vars(before) != vars(self._output):
            raise ValueError(
                f"{type(self).__name__}.partial_fit needs targets as in the batches before; got an array of shape "
                f"{y.shape}."
            )
        return targets

    def _loss(self) -> Loss:
        part = REGRESSION_LOSSES[self.loss]
        return part.made(**{name: float(getattr(self, name)) for name in part.parameters})

    def _unit(self, targets: np.ndarray) -> float:
        return float(np.abs(targets).max()) or 1.0


class SparseGreedyClassifier(ClassesOfMachine, SparseGreedyModel):
    r"""Classification on few basis functions by any of several losses: kernel machines for many rows.

    For two classes :math:`y_i = \pm 1` it is the problem of `SparseGreedyRegressor`, with the losses
    :math:`\ell(y, f)`

    - "squared", :math:`(y - f)^2`: one factorisation for any number of classes, and often as accurate as a support
      vector machine;
    - "logistic", :math:`\log(1 + e^{-yf})`: logistic regression, with probabilities. More than two classes have one
      loss together, :math:`-\log(e^{f_c} / \sum_j e^{f_j})` for a row of class c (multinomial);
    - "hinge", :math:`\max(0, 1 - yf)`: the support vector machine;
    - "squared_hinge", :math:`\max(0, 1 - yf)^2`: nearly the same machine, in fewer and cheaper iterations, as only rows
      within the margin count.

    With all rows as landmarks these are the machines of all points, with :math:`C = 1/(2\alpha)` of scikit-learn's
    `SVC`, `LogisticRegression` and `LinearSVC`. There is one function for two classes, and one per class against the
    rest for more, of which the largest wins.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        As in `SparseGreedyRegressor`.
    loss : {"squared", "logistic", "hinge", "squared_hinge"}, default="squared"
        What a value costs on the side of the other class, or close to it.
    kernel, gamma, degree, coef0, kernel_params, alpha
        As in `SparseGreedyRegressor`.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows; "balanced" gives all classes the same total.
    fit_intercept, refine, tol, max_iter, max_memory, verbose, random_state
        As in `SparseGreedyRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (m, 1) for two classes, else (m, n_classes)
    objective_, duality_gap_ : arrays, or None
        One number per function, and one for all with loss="logistic".
    landmarks_, component_indices_, residual_fraction_, expansion_, intercept_, alpha_, alphas_, loo_errors_,
    left_out_curve_, refinement_losses_, n_iter_, n_samples_seen_, kernel_, relevance_, has_column_widths_,
    n_features_in_
        As in `SparseGreedyRegressor`; errors are those of the targets ±1.

    See Also
    --------
    SparseGreedyRegressor : The model, its parameters and attributes.
    LinearProgrammingClassifier : Still fewer functions.
    KernelFisherDiscriminant : Also least squares, with a threshold of its own.
    compress : Makes a fitted support vector machine small.
    sklearn.svm.SVC : All points as basis functions.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import SparseGreedyClassifier
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> SparseGreedyClassifier(20, gamma=2, alpha=0.1).fit(X, y).score(X, y) > 0.97
    True
    >>> model = SparseGreedyClassifier(20, loss="logistic", gamma=2, alpha="loo").fit(X, y)
    >>> bool(model.duality_gap_[0] <= model.tol), model.predict_proba(X[:2]).round(1)
    (True, array([[1., 0.],
           [1., 0.]]))
    """

    _parameter_constraints = {
        **SparseGreedyModel._parameter_constraints,
        "loss": [StrOptions({SQUARED, *CLASSIFICATION_LOSSES.names})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        landmarks: int | str | LandmarkSelector = 100,
        *,
        loss: str = SQUARED,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        alpha: Any = 1.0,
        class_weight: dict | str | None = None,
        fit_intercept: bool = True,
        refine: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_memory: int | str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.landmarks = landmarks
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.refine = refine
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.verbose = verbose
        self.random_state = random_state

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows) -> Array:
        """Probabilities of the classes with loss="logistic", shape (q, n_classes); lazy for a Dask array.

        They are those whose likelihood the fit maximises: σ(f) for the second of two classes, a softmax of more.
        """
        return self._map_outputs(lambda output, values: output.probabilities(values), X)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Rows) -> Array:
        """Logarithms of `predict_proba`, of the smallest positive number where a probability is zero."""
        return self._map_outputs(lambda output, values: finite_log(output.probabilities(values)), X)

    @available_if(learns_from_streams)
    @reports_progress
    def partial_fit(self, X: Rows, y: Targets, classes: Targets = None, sample_weight: Targets | None = None) -> Self:
        r"""Learn from a further batch of rows, with the squared or the logistic loss.

        Landmarks are those of `SparseGreedyRegressor.partial_fit`. With the squared loss any split of the data gives
        the same model on the same landmarks. With the logistic loss, rows that are gone count by a parabola,

        .. math:: \min_v \; \sum_i w_i\, \ell(y_i, 	ilde g_i^	op v)
            + 	frac12 (v - v_0)^	op \Lambda_0 (v - v_0),

        with the functions :math:`v_0` of the batches before and the second derivative :math:`\Lambda_0` of the
        objective there (G23): for one batch it is `fit`, for several that show the same it is close to that of all
        rows. It forgets what only early batches showed: shuffle a sorted stream, or use the squared loss. Memory for
        the square of classes times landmarks is needed.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels, of some of the classes.
        classes : array of shape (n_classes,), optional
            All classes of the stream; needed in the first call unless its batch contains all of them.
        sample_weight : array of shape (n,), optional

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from preimage import SparseGreedyClassifier
        >>> X, y = make_moons(400, noise=0.15, random_state=0)
        >>> model = SparseGreedyClassifier(20, loss="logistic", gamma=2, alpha=0.1)
        >>> for rows in np.array_split(np.arange(400), 4):
        ...     model = model.partial_fit(X[rows], y[rows], classes=[0, 1])
        >>> model.score(X, y) > 0.97
        True
        """
        self._learn(X, y, sample_weight, classes)
        return self

    def _targets_of_batch(self, y: np.ndarray, classes: Targets, is_first: bool) -> np.ndarray:
        given = None if classes is None else np.unique(check_labels(self, in_memory(classes), count_rows(classes)))
        if is_first:
            self._targets(y if given is None else given)
        elif given is not None and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"`classes` is {given.tolist()!r}; the first call of partial_fit had {self.classes_.tolist()!r}. Leave "
                "it out, or give the same."
            )
        class_codes(y, self.classes_)  # which refuses labels of no class
        return self._signs(y)

    def _row_weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        return with_class_weights(self, y, weights)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        signs = super()._targets(y)
        if self.loss == "logistic":
            self._output = Logistic(self.classes_)
        return signs

    def _loss(self) -> Loss:
        is_joint = self.loss == "logistic" and self.classes_.size > 2
        return SoftmaxLoss() if is_joint else CLASSIFICATION_LOSSES.made(self.loss)

    def _unit(self, targets: np.ndarray) -> float:
        return 1.0


def _penalties(estimator: SparseGreedyModel) -> float | str | np.ndarray:
    if isinstance(estimator.alpha, Real):
        return float(estimator.alpha)
    if isinstance(estimator.alpha, str):
        return estimator.alpha
    alphas = np.asarray(estimator.alpha, dtype=float)
    if alphas.ndim != 1 or alphas.size == 0 or not np.all(np.isfinite(alphas)) or alphas.min() < 0:
        raise ValueError(
            f"`alpha` of {type(estimator).__name__} is a number, 'loo', or a list of candidates that are finite and "
            f"not negative; got {estimator.alpha!r}."
        )
    return alphas
