"""What regression and classification on few basis functions k(x_j, ·) share."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import follow_rows, to_numpy
from preimage._engine.finite import finite_result, working_method
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_model_inputs,
    check_parameters,
)
from preimage._models.regression import LandmarkRidge
from preimage.estimators._landmark_machine import LANDMARK_MACHINE_CONSTRAINTS, LandmarkMachine
from preimage.landmarks import LandmarkSelector


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
    """Least squares on landmarks; subclasses give the targets and what is made of function values."""

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
            return self._path(X, y)

    def _path(self, X: Rows | None, y: Targets | None) -> SparseGreedyPath:
        test_error = None
        if X is not None:
            test_error = finite_result(self._test_errors(X, to_numpy(y) if hasattr(y, "shape") else np.asarray(y)))
        train_error = finite_result(self._regression.ridge.errors())
        m = len(self.landmarks_)
        trace = self.landmarks_.trace
        residual = self.landmarks_.residuals_path / trace if trace > 0 else np.zeros(m)
        return SparseGreedyPath(np.arange(1, m + 1), residual, train_error, test_error)

    def staged_predict(self, X: Rows) -> Iterator[Array]:
        """Predictions on the first 1, 2, …, m landmarks, as a fit on only these would make them, one after another."""
        output = self._kernel_machine().output
        X = check_model_inputs(self, X, fitted=self.expansion_.coefficients)
        for values in self._regression.staged_values(X):
            yield follow_rows(output.predict(values), X)

    @abstractmethod
    def _test_errors(self, X: Rows, y: np.ndarray) -> np.ndarray:
        """Errors on test data for 1, …, m landmarks."""

    def _fit(self, X: Rows, y: Targets, sample_weight: Targets | None) -> Self:
        check_parameters(self)
        rows = self._read(X, y, sample_weight)
        Y = self._targets(rows.y)
        landmarks = self._select(rows.kernel, rows.inputs)
        fitted = LandmarkRidge.fit(
            rows.kernel,
            landmarks.points,
            rows.inputs,
            Y,
            rows.weights,
            alpha=_penalties(self),
            intercept=self.fit_intercept,
        )
        self._regression = fitted
        self.alpha_, self.alphas_, self.loo_errors_ = fitted.alpha, fitted.alphas, fitted.loo_errors
        self.expansion_, self.intercept_, self.kernel_ = fitted.expansion, fitted.intercept, rows.kernel
        indices = None if landmarks.indices is None else rows.numbers[landmarks.indices]
        self.landmarks_ = replace(landmarks, indices=indices, factor=None)
        return self


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
