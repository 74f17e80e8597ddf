"""What regression and classification on few basis functions k(x_j, ·) share."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import in_memory, is_lazy, take_rows, to_numpy
from preimage._finite import finite_result, working_method
from preimage._progress import ReportsProgress
from preimage._typing import Array, Rows, Seed, Targets
from preimage._validation import (
    Interval,
    StrOptions,
    check_model_inputs,
    check_parameters,
    check_weights,
    generator,
)
from preimage.estimators._finite_results import FiniteResults
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    check_queries,
    is_precomputed,
    kernel_and_inputs,
    labelled_kernel,
    map_queries,
    named_kernel,
    with_array_tag,
)
from preimage.estimators._landmark_fit import landmark_inputs
from preimage.feature_space import Expansion
from preimage.kernels import Kernel
from preimage.landmarks import LANDMARK_NAMES, Landmarks, LandmarkSelector, SparseGreedy, as_landmarks
from preimage.machines import KernelMachine, Output
from preimage.persistence import Saved
from preimage.regression import LandmarkRidge


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


class SparseGreedyModel(ReportsProgress, FiniteResults, Saved, BaseEstimator, ABC):
    """Least squares on landmarks; subclasses give the targets and what is made of function values."""

    landmarks_: Landmarks
    expansion_: Expansion
    n_features_in_: int
    _output: Output

    _parameter_constraints = {
        "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions(set(LANDMARK_NAMES)), LandmarkSelector],
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state", np.random.Generator],
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
            yield output.predict(values)

    @property
    def residual_fraction_(self) -> float:
        """Fraction of the trace of the kernel that the landmarks leave."""
        return self.landmarks_.residual_fraction

    @abstractmethod
    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        """Labels or targets of n rows, checked."""

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Targets (n, k) of the least squares problem; sets `_output`, which says what values mean."""

    @abstractmethod
    def _test_errors(self, X: Rows, y: np.ndarray) -> np.ndarray:
        """Errors on test data for 1, …, m landmarks."""

    def _fit(self, X: Rows, y: Targets, sample_weight: Targets | None) -> Self:
        check_parameters(self)
        stays = is_lazy(X) and not is_precomputed(self.kernel)  # a precomputed matrix is needed as a whole
        rows = self._lazy_rows(X, y, sample_weight) if stays else self._rows_in_memory(X, y, sample_weight)
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

    def _rows_in_memory(self, X: Rows, y: Targets, sample_weight: Targets | None) -> "_Rows":
        """The rows that count; those of weight zero have no part in anything, as if they were not there."""
        kernel, X = kernel_and_inputs(self, X, y)
        n = X.shape[0]
        y, weights = self._check_y(y, n), check_weights(self, sample_weight, n)
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        if weights is None or kept.size == n:
            return _Rows(kernel, kernel.inputs(X), y, weights, kept)
        if is_precomputed(kernel):  # new points still have all columns
            return _Rows(kernel, take_rows(kernel.inputs(X), kept), y[kept], weights[kept], kept)
        X = take_rows(X, kept)
        kernel = labelled_kernel(self, named_kernel(self), X, y[kept]).resolve(X)
        return _Rows(kernel, kernel.inputs(X), y[kept], weights[kept], kept)

    def _lazy_rows(self, X: Rows, y: Targets, sample_weight: Targets | None) -> "_Rows":
        """Rows that stay where they are; those of weight zero may become landmarks."""
        inputs = landmark_inputs(self, X, in_memory(y), sample_weight, min_samples=1, about_mean=False)
        y = self._check_y(in_memory(y), inputs.X.shape[0])
        return _Rows(inputs.kernel, inputs.X, y, inputs.weights, np.arange(y.shape[0]))

    def _select(self, kernel: Kernel, inputs: Array) -> Landmarks:
        chosen = self.landmarks
        if isinstance(chosen, LandmarkSelector):
            return chosen.select(kernel, inputs)
        selector = SparseGreedy(int(chosen)) if isinstance(chosen, Integral) else as_landmarks(chosen)
        return selector.select(kernel, inputs, rng=generator(self.random_state))

    def _map(self, function: Callable[[Output, Array], Array], X: Rows) -> Array:
        """`function` of the output and of function values at the rows of X; lazy for a Dask array."""
        machine = self._kernel_machine()  # which checks that the model is fitted
        fitted = machine.expansion.coefficients
        return map_queries(
            self, lambda rows: function(machine.output, machine(rows)), check_queries(self, X, fitted), fitted
        )

    def _kernel_machine(self) -> KernelMachine:
        check_is_fitted(self)
        return KernelMachine(
            self.expansion_,
            self.intercept_,
            self._output,
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return with_array_tag(tags)


@dataclass(frozen=True)
class _Rows:
    """What a fit works on: a resolved kernel, rows as it takes them, their targets, weights and numbers."""

    kernel: Kernel
    inputs: Rows
    y: np.ndarray
    weights: np.ndarray | None
    numbers: np.ndarray


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
