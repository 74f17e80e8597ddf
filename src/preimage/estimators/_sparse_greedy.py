"""Regression and classification by least squares on few basis functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import follow_rows, to_numpy
from preimage._engine.finite import finite_result, working_method
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, StrOptions, check_model_inputs, count_rows
from preimage._models.regression import LandmarkRidge
from preimage.estimators._landmark_machine import (
    LANDMARK_MACHINE_CONSTRAINTS,
    ClassesOfMachine,
    LabelledRows,
    LandmarkMachine,
    ValuesOfMachine,
)
from preimage.landmarks import Landmarks, LandmarkSelector


@dataclass(frozen=True)
class SparseGreedyPath:
    """Errors on the first 1, …, m landmarks of a fitted model.

    Attributes
    ----------
    n_landmarks : integer array of shape (m,)
    residual_fraction : array of shape (m,)
        Fraction of the trace of the kernel that the landmarks leave.
    train_error : array of shape (m,)
        Mean squared error on the training targets, weighted as in `fit` (targets are ±1 for classifiers).
    test_error : array of shape (m,) or None
        On the data that were given: mean squared error of a regressor, fraction of mistakes of a classifier.
    """

    n_landmarks: np.ndarray
    residual_fraction: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray | None


class SparseGreedyModel(LandmarkMachine):
    """Least squares on landmarks."""

    _parameter_constraints = {
        **LANDMARK_MACHINE_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
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
        alpha: Any = 1.0,
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
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.random_state = random_state

    def path(self, X: Rows | None = None, y: Targets | None = None) -> SparseGreedyPath:
        """Errors for every number of landmarks up to all, at the price of predictions with all.

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
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise ValueError("`path` takes test inputs and their targets together, or neither.")
        with working_method(f"{type(self).__name__}.path"):
            test_error = None if X is None else finite_result(self._test_errors(X, y))
            train_error = finite_result(self._regression.ridge.errors())
        m, trace = len(self.landmarks_), self.landmarks_.trace
        residual = self.landmarks_.residuals_path / trace if trace > 0 else np.zeros(m)
        return SparseGreedyPath(np.arange(1, m + 1), residual, train_error, test_error)

    def staged_predict(self, X: Rows) -> Iterator[Array]:
        """Predictions on the first 1, 2, …, m landmarks, as a fit on only these would make them, one after another."""
        output = self._kernel_machine().output
        X = check_model_inputs(self, X, fitted=self.expansion_.coefficients)
        for values in self._regression.staged_values(X):
            yield follow_rows(output.predict(values), X)

    def _test_errors(self, X: Rows, y: Targets) -> np.ndarray:
        """Errors on test data for 1, …, m landmarks."""
        y = self._check_y(to_numpy(y) if hasattr(y, "shape") else np.asarray(y), count_rows(X))
        errors_of = (lambda found: y != found) if is_classifier(self) else (lambda found: (y - found) ** 2)
        return np.array([np.mean(errors_of(to_numpy(found))) for found in self.staged_predict(X)])

    def _solve(self, rows: LabelledRows, landmarks: Landmarks, targets: np.ndarray) -> LandmarkRidge:
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
        return fitted


class SparseGreedyRegressor(ValuesOfMachine, SparseGreedyModel):
    r"""Kernel ridge regression on few basis functions: the regularisation network of sparse greedy approximation.

    For landmarks I, chosen by `landmarks`, with :math:`C_{ij} = k(x_i, x_j)` and :math:`W` the kernel among landmarks,

    .. math:: \min_\beta \; \sum_i w_i \bigl(y_i - b - \sum_{j \in I} \beta_j k(x_j, x_i)\bigr)^2
        + \alpha\, \beta^\top W \beta, \qquad \beta = (C^\top C + \alpha W)^{-1} C^\top y

    without weights and intercept (G14), which is kernel ridge regression with the kernel matrix replaced by
    :math:`\tilde K = C W^{-1} C^\top` (G16) [1]_. It is solved in an orthonormal frame of the landmarks by QR
    factorisations of blocks of rows (G15): O(nm²) operations for m landmarks, and memory for m² numbers besides the
    data. A prediction costs m kernel values.

    Parameters
    ----------
    landmarks : int, str or LandmarkSelector, default=100
        Basis functions: a number stands for ``SparseGreedy(number)``; a name ("sparse_greedy", "rpcholesky",
        "pivoted_cholesky", "kmeans", "uniform") for that selector's defaults; or a selector of `preimage.landmarks`,
        such as ``SparseGreedy(None, tol=1e-3)``, which leaves the number to the trace of the kernel.
    kernel, gamma, degree, coef0, kernel_params
        As in `KernelPCA`. The kernel must be positive semidefinite.
    alpha : float, "loo" or array of floats, default=1.0
        Penalty α, as in scikit-learn's `KernelRidge`; λm of [1]_, whose objective is divided by the number m of rows
        there. An array holds candidates, of which the one with the smallest leave-one-out error is taken (for the given
        landmarks; not one penalty for each target, as in `KernelRidge`); "loo" tries 41 that span the singular values.
        Zero is least squares.
    fit_intercept : bool, default=True
        Whether to add a constant b that is not penalised; `KernelRidge` has none.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=0
        For the choice of landmarks. A selector object has its own.

    Attributes
    ----------
    landmarks_ : Landmarks
        The points, their row numbers, and the trace that they leave.
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
        The candidates and their mean squared leave-one-out errors, when α was chosen.
    kernel_ : Kernel
        The kernel with its parameters fixed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    preimage.landmarks.SparseGreedy : The choice of the points.
    LinearProgrammingRegressor : Still fewer functions.
    compress : Makes fitted machines, also this one, still smaller.
    sklearn.kernel_ridge.KernelRidge : All points as basis functions.

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
    """


class SparseGreedyClassifier(ClassesOfMachine, SparseGreedyModel):
    r"""Classification by least squares on few basis functions.

    `SparseGreedyRegressor` fits targets −1 and +1: one function for two classes, one per class against the rest for
    more, of which the largest wins. The squared error is not what a classifier is judged by, but the fit is one
    factorisation for any number of classes, and often as accurate as a support vector machine.

    Parameters
    ----------
    landmarks, kernel, gamma, degree, coef0, kernel_params, alpha, fit_intercept, verbose, random_state
        As in `SparseGreedyRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    dual_coef_ : array of shape (m, 1) for two classes, else (m, n_classes)
    landmarks_, residual_fraction_, expansion_, intercept_, alpha_, alphas_, loo_errors_, kernel_, n_features_in_
        As in `SparseGreedyRegressor`; errors are those of the targets ±1.

    See Also
    --------
    SparseGreedyRegressor : The model, its parameters and attributes.
    LinearProgrammingClassifier : Still fewer functions.
    KernelFisherDiscriminant : Also least squares, with a threshold of its own.
    compress : Makes a fitted support vector machine small.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from preimage import SparseGreedyClassifier
    >>> X, y = make_moons(400, noise=0.15, random_state=0)
    >>> SparseGreedyClassifier(20, gamma=2, alpha=0.1).fit(X, y).score(X, y) > 0.97
    True
    """


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
