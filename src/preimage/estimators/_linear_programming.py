"""Regression and classification by linear programs on few basis functions."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from preimage._engine.finite import refuse_overflowing_fit
from preimage._engine.typing import Seed
from preimage._engine.validation import Interval
from preimage._engine.warnings import warn_user
from preimage._models.regression import L1Machine
from preimage.estimators._landmark_machine import (
    LANDMARK_MACHINE_CONSTRAINTS,
    ClassesOfMachine,
    LabelledRows,
    LandmarkMachine,
    ValuesOfMachine,
)
from preimage.exceptions import ConvergenceWarning
from preimage.landmarks import Landmarks, LandmarkSelector


class LinearProgrammingModel(LandmarkMachine):
    """Linear-programming machines; subclasses give the intervals in which function values cost nothing."""

    _parameter_constraints: dict[str, list] = {
        **LANDMARK_MACHINE_CONSTRAINTS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "max_gap": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        landmarks: int | str | LandmarkSelector = 100,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        C: float = 3.0,
        max_gap: float | None = None,
        fit_intercept: bool = True,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.C = C
        self.max_gap = max_gap
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _bounds(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest values (n, k) that cost nothing."""

    def _solve(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> L1Machine:
        weights = np.ones(targets.shape[0]) if rows.weights is None else rows.weights
        counts = weights > 0  # lazy rows of weight zero are still there
        lower, upper = self._bounds(targets)
        fitted = L1Machine.fit(
            rows.kernel,
            landmarks.required().points,
            rows.inputs,
            np.where(counts[:, None], lower, -np.inf),
            np.where(counts[:, None], upper, np.inf),
            float(self.C) * np.where(counts, weights, 1.0),
            intercept=self.fit_intercept,
            max_gap=None if self.max_gap is None else float(self.max_gap),
        )
        if not fitted.converged:
            warn_user(
                f"A linear program of {type(self).__name__} stopped short of its minimum, because rounding errors "
                "decide: C is large for so wide a kernel. Scale the data, or choose a smaller C or a narrower kernel.",
                ConvergenceWarning,
            )
        refuse_overflowing_fit("landmarks_.residuals_path", landmarks.residuals_path)
        self.objective_, self.gap_ = fitted.objective, fitted.gap
        offered = np.full(len(landmarks), -1) if landmarks.indices is None else rows.numbers[landmarks.indices]
        self.support_ = np.append(offered, rows.numbers[fitted.joined])[fitted.used]
        self.n_offered_ = offered.size + fitted.joined.size
        return fitted


class LinearProgrammingRegressor(ValuesOfMachine, LinearProgrammingModel):
    r"""Regression with few kernel functions, whose coefficients have a small sum of moduli: a linear program.

    For landmarks z chosen by `landmarks`,

    .. math:: \min_{\beta, b} \; \sum_j |\beta_j| + C \sum_i w_i \bigl(|y_i - f(x_i)| - \varepsilon\bigr)_+,
        \qquad f(x) = \sum_j \beta_j k(z_j, x) + b.

    Support vector machines penalise :math:`\beta^\top K \beta`, and need a function for every error; the sum of moduli
    makes most coefficients zero, also on noisy data. On all n rows the program has n² numbers. On landmarks that
    represent the kernel its solution is nearly as good and much cheaper [1]_, and with `max_gap` the difference is
    bounded: multipliers of the small program that no row exceeds are multipliers of the large one, and bound its
    minimum from below; while they do not, the rows that exceed them most join the landmarks.

    The program is solved by an interior-point method with dense matrices: some 25 steps of O(nm²) operations for m
    landmarks, and memory for a few times nm numbers.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        Basis functions that may be used: a number stands for ``SparseGreedy(number)``; names and selectors as in
        `SparseGreedyRegressor`.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. Landmarks need a positive semidefinite kernel; the program does not.
    C : float, default=3.0
        Cost of an error of one, in units of a coefficient of one. Few rows, or functions with much detail, want more,
        and loud errors less: sets on which the default was measured are in docs/results/defaults.md.
    epsilon : float, default=0.1
        Errors up to ε cost nothing, as in scikit-learn's `SVR`.
    max_gap : float or None, default=None
        Largest relative difference to the minimum on all rows, at most: 0.01 for one per cent. None stays with the
        landmarks; a number takes a pass over all pairs of rows and support vectors per round.
    fit_intercept : bool, default=True
        Whether to add a constant b that is not penalised.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For the choice of landmarks. A selector object has its own.

    Attributes
    ----------
    expansion_ : Expansion
        The functions without their intercepts, on the points whose coefficients are not zero.
    dual_coef_ : array of shape (s,) or (s, n_targets)
        β on these points.
    support_ : integer array of shape (s,)
        Row numbers of these points; -1 for cluster centres.
    intercept_ : array of shape (n_targets,)
    objective_ : array of shape (n_targets,)
        The minimum.
    gap_ : array of shape (n_targets,), or None
        How far, at most, the minimum on all rows is below `objective_`, relative to it; None without `max_gap`.
    landmarks_ : Landmarks
    component_indices_ : integer array of shape (m,)
        Row numbers of the landmarks, where they are rows of X.
    n_offered_ : int
        Landmarks, and rows that have joined them.
    residual_fraction_ : float
        Fraction of the trace of the kernel that the landmarks leave.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    SparseGreedyRegressor : Least squares on all landmarks.
    compress : Makes fitted machines smaller.
    sklearn.svm.SVR : The norm of feature space as penalty.

    References
    ----------
    .. [1] A. J. Smola, B. Schölkopf, "Sparse greedy matrix approximation for machine learning",
       ICML 2000, section 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage import LinearProgrammingRegressor
    >>> X = np.linspace(0, 10, 500)[:, None]
    >>> model = LinearProgrammingRegressor(50, gamma=0.5, C=10, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.1), len(model.support_) < 15
    (True, True)
    """

    _parameter_constraints = {
        **LinearProgrammingModel._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        landmarks: int | str | LandmarkSelector = 100,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict | None = None,
        C: float = 3.0,
        epsilon: float = 0.1,
        max_gap: float | None = None,
        fit_intercept: bool = True,
        verbose: bool = False,
        random_state: Seed = 0,
    ) -> None:
        super().__init__(
            landmarks,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            C=C,
            max_gap=max_gap,
            fit_intercept=fit_intercept,
            verbose=verbose,
            random_state=random_state,
        )
        self.epsilon = epsilon

    def _bounds(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return targets - self.epsilon, targets + self.epsilon


class LinearProgrammingClassifier(ClassesOfMachine, LinearProgrammingModel):
    r"""Classification with few kernel functions, whose coefficients have a small sum of moduli: a linear program.

    For two classes :math:`y_i = \pm 1` and landmarks z chosen by `landmarks`,

    .. math:: \min_{\beta, b} \; \sum_j |\beta_j| + C \sum_i w_i \bigl(1 - y_i f(x_i)\bigr)_+,
        \qquad f(x) = \sum_j \beta_j k(z_j, x) + b,

    and one such function per class against the rest for more, of which the largest wins. It is a support vector machine
    with another norm, whose number of functions does not grow with the number of errors; see
    `LinearProgrammingRegressor` for the program, its solution and `max_gap`.

    Parameters
    ----------
    landmarks, kernel, gamma, degree, coef0, kernel_params, C, max_gap, fit_intercept, verbose, random_state
        As in `LinearProgrammingRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (s, 1) for two classes, else (s, n_classes)
        Coefficients on the points that some function uses.
    expansion_, support_, intercept_, objective_, gap_, landmarks_, component_indices_, n_offered_, residual_fraction_,
    kernel_
        As in `LinearProgrammingRegressor`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    LinearProgrammingRegressor : The program, its solution and `max_gap`.
    SparseGreedyClassifier : Least squares on all landmarks, by one factorisation.
    compress : Makes a fitted support vector machine small.
    sklearn.svm.SVC : The norm of feature space as penalty.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import LinearProgrammingClassifier
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> model = LinearProgrammingClassifier(50, gamma=2, max_gap=0.01).fit(X, y)
    >>> model.score(X, y) > 0.95, len(model.support_) < 20, bool(model.gap_[0] <= 0.01)
    (True, True, True)
    """

    def _bounds(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(targets > 0, 1.0, -np.inf), np.where(targets < 0, -1.0, np.inf)
