"""One-class support vector machines on few basis functions."""

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from sklearn.base import OutlierMixin

from preimage._engine.arrays import epsilon
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, check_labels
from preimage._models.machines import Detection
from preimage._models.regression import ConvexMachine, OneClassLoss
from preimage.estimators._convex_fit import minimized
from preimage.estimators._kernel_input import named_kernel, needs_labels
from preimage.estimators._landmark_machine import LANDMARK_MACHINE_CONSTRAINTS, LabelledRows, LandmarkMachine
from preimage.landmarks import Landmarks, LandmarkSelector

# Rows on the margin, about as many as there are landmarks, have the value ρ up to this fraction of it, or so many
# rounding errors, as iterations leave it. The threshold is lowered by that, so that chance makes no outliers of them.
ON_THE_MARGIN, ROUNDINGS = 1e-7, 10


class SparseGreedyDetector(OutlierMixin, LandmarkMachine):
    r"""One-class support vector machine on few basis functions: finds rows that are unlike most others.

    For landmarks chosen by `landmarks`,

    .. math:: \min_{\beta, \rho} \; \tfrac12 \beta^\top W \beta + \sum_i w_i \max(0, \rho - g(x_i))
        - \nu \rho \sum_i w_i, \qquad g(x) = \sum_j \beta_j k(z_j, x),

    with :math:`W` the kernel among landmarks: the machine of `sklearn.svm.OneClassSVM`, whose kernel matrix is replaced
    by :math:`\tilde K = C W^{-1} C^\top` [1]_; with all rows as landmarks it is the machine itself. A row is an outlier
    where :math:`g(x) < \rho`. At most a fraction ν of the training rows is, up to rounding errors, and about ν of the
    new ones; for small ν the function is close to a density, cut off at ρ.

    It is solved along an orthonormal frame of the landmarks by an interior-point method, as `SparseGreedyClassifier`
    solves the hinge loss: O(nm²) operations in each of about 10 to 20 iterations for m landmarks and n rows, and m
    kernel values for a prediction.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        As in `SparseGreedyRegressor`.
    nu : float, default=0.1
        The fraction ν of training rows that may be outliers, between 0 and 1.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. The kernel must be positive semidefinite.
    tol : float, default=1e-6
        As in `SparseGreedyRegressor`.
    max_iter, max_memory, verbose, random_state
        As in `SparseGreedyRegressor`.

    Attributes
    ----------
    offset_ : float
        The threshold ρ: ``decision_function(X)`` is ``score_samples(X) - offset_``.
    landmarks_ : Landmarks
        The points, their row numbers, and the trace that they leave.
    residual_fraction_ : float
        Fraction of the trace of the kernel that the landmarks leave.
    expansion_ : Expansion
        The function g.
    dual_coef_ : array of shape (m, 1)
        β.
    intercept_ : array of shape (1,)
        −ρ.
    objective_ : array of shape (1,)
        The minimum, which is negative.
    duality_gap_ : array of shape (1,)
        How far below `objective_` the exact minimum may be at most, relative to its size.
    n_iter_ : int
        Iterations.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    KernelNoveltyDetector : Distances to the span of the rows, which leave a training row out of its own score.
    sklearn.svm.OneClassSVM : All points as basis functions.

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import SparseGreedyDetector
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> detector = SparseGreedyDetector(50, nu=0.05, gamma=0.5).fit(X)
    >>> round(float(np.mean(detector.predict(X) == -1)), 2)
    0.05
    >>> detector.predict([[0.0, 0.5], [5.0, 5.0]])
    array([ 1, -1])
    """

    _parameter_constraints = {
        **{name: each for name, each in LANDMARK_MACHINE_CONSTRAINTS.items() if name != "fit_intercept"},
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "max_memory": [Interval(Real, 0, None, closed="neither"), str, None],
    }

    _output: Detection
    objective_: np.ndarray
    duality_gap_: np.ndarray
    n_iter_: int

    def __init__(
        self,
        landmarks: int | str | LandmarkSelector = 100,
        *,
        nu: float = 0.1,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        max_memory: int | str | None = None,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.landmarks = landmarks
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.tol = tol
        self.max_iter = max_iter
        self.max_memory = max_memory
        self.verbose = verbose
        self.random_state = random_state

    def predict(self, X: Rows) -> Array:
        """+1 for rows like most of the training set, −1 for outliers, shape (q,); lazy for a Dask array."""
        return self._map_outputs(lambda output, values: output.predict(values), X)

    def decision_function(self, X: Rows) -> Array:
        """``score_samples(X) - offset_``, shape (q,): negative for outliers; lazy for a Dask array."""
        return self._map_outputs(lambda output, values: output.decision(values), X)

    def score_samples(self, X: Rows) -> Array:
        """g(x), shape (q,): low for outliers; lazy for a Dask array."""
        return self._map_outputs(lambda output, values: cast(Detection, output).scores(values), X)

    @property
    def offset_(self) -> float:
        """The threshold ρ."""
        return self._output.offset

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernel functions, shape (m, 1)."""
        return self.expansion_.coefficients

    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        """Labels are for rules that find a width from them."""
        return check_labels(self, y, n) if needs_labels(named_kernel(self)) else np.zeros(n)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        return np.zeros((y.shape[0], 1))

    def _solve(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> ConvexMachine:
        total = float(targets.shape[0] if rows.weights is None else rows.weights.sum())
        # Multipliers have the sum ν Σ w, so values are of the size of that many kernel values.
        length = landmarks.trace / targets.shape[0]
        nu, unit = float(self.nu), float(self.nu) * total * length if length > 0 else 1.0
        loss = OneClassLoss(nu)
        fitted = minimized(self, rows, landmarks, targets, loss, alpha=0.5, intercept=True, unit=unit)
        rounding = max(ON_THE_MARGIN, ROUNDINGS * epsilon(fitted.intercept.dtype))
        intercept = fitted.intercept + rounding * abs(fitted.intercept)
        self._output = Detection(-float(intercept[0]))
        return replace(fitted, intercept=intercept)
