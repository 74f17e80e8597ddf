"""What regression and classification on few basis functions k(x_j, ·) share."""

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from preimage._arrays import from_numpy, take_rows, to_numpy
from preimage._rows import block_shape, sum_rows
from preimage._validation import Interval, StrOptions, check_model_inputs, check_weights, generator
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    is_precomputed,
    kernel_and_inputs,
    labelled_kernel,
    named_kernel,
    with_array_tag,
)
from preimage.feature_space import Expansion
from preimage.landmarks import LANDMARK_NAMES, LandmarkSelector, SparseGreedy, as_landmarks
from preimage.machines import KernelMachine
from preimage.persistence import Saved
from preimage.regression import nested_frame
from preimage.regression._least_squares import LeastSquares

# Penalties that "loo" tries, as shares of the largest squared singular value of the features.
LOO_SHARES = np.geomspace(1e-10, 1, 41)

# Rows of a block, in units of its columns: a triangular factor of fewer costs more to merge than to make.
BLOCK_ROWS = 4


@dataclass(frozen=True)
class SparseGreedyPath:
    """Errors on the first 1, …, m landmarks of a fitted model.

    Attributes
    ----------
    n_landmarks : integer array of shape (m,)
    residual_share : array of shape (m,)
        Share of the trace of the kernel that the landmarks leave.
    train_error : array of shape (m,)
        Mean squared error on the training targets, weighted as in `fit` (targets are ±1 for classifiers).
    test_error : array of shape (m,) or None
        On the data that were given: mean squared error of a regressor, share of mistakes of a classifier.
    """

    n_landmarks: Any
    residual_share: Any
    train_error: Any
    test_error: Any


class SparseGreedyModel(Saved, BaseEstimator):
    """What regression and classification on landmarks share."""

    _parameter_constraints = {
        "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions(set(LANDMARK_NAMES)), LandmarkSelector],
        **KERNEL_CONSTRAINTS,
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"loo"}), "array-like"],
        "fit_intercept": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        landmarks=100,
        *,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1.0,
        kernel_params=None,
        alpha=1.0,
        fit_intercept=True,
        random_state=0,
    ):
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def path(self, X=None, y=None):
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
        test_error = None if X is None else self._test_errors(X, to_numpy(y) if hasattr(y, "shape") else np.asarray(y))
        m = len(self.landmarks_)
        trace = self.landmarks_.trace
        share = self.landmarks_.residuals_path / trace if trace > 0 else np.zeros(m)
        return SparseGreedyPath(np.arange(1, m + 1), share, self._ridge.errors(), test_error)

    def staged_predict(self, X):
        """Predictions on the first 1, 2, …, m landmarks, as a fit on only these would make them, one after another."""
        output = self._kernel_machine().output
        for values in self._staged_values(X):
            yield output.predict(values)

    @property
    def residual_share_(self):
        """Share of the trace of the kernel that the landmarks leave."""
        return self.landmarks_.residual_share

    def _fit(self, X, y, sample_weight):
        kernel, X = kernel_and_inputs(self, X, y)
        kernel, inputs, y, weights, kept = self._weighted_rows(kernel, X, y, sample_weight)
        Y = self._targets(y)
        landmarks = self._select(kernel, inputs)
        frame = nested_frame(kernel, landmarks.points)
        like = frame.coefficients
        problem = _over_rows(
            lambda rows, w: LeastSquares.of(
                frame(inputs[rows, :]),
                from_numpy(Y[rows, :], like),
                None if w is None else from_numpy(w, like),
                intercept=self.fit_intercept,
            ),
            frame,
            weights,
            inputs.shape[0],
        )
        self.alpha_ = self._choose_alpha(problem, frame, inputs, Y, weights)
        self._ridge = problem.ridge(self.alpha_)
        self._stages = frame @ from_numpy(self._ridge.directions, like)
        self.kernel_ = kernel
        self.landmarks_ = replace(
            landmarks, indices=None if landmarks.indices is None else kept[landmarks.indices], factor=None
        )
        coefficients = from_numpy(to_numpy(like).astype(np.float64) @ self._ridge.coefficients, like)
        self.expansion_: Expansion = Expansion(kernel, landmarks.points, coefficients)
        self.intercept_ = from_numpy(self._ridge.intercept, like)
        return self

    def _weighted_rows(self, kernel, X, y, sample_weight):
        """Rows that count: those of weight zero have no part in anything, as if they were not there."""
        n = X.shape[0]
        y, weights = self._check_y(y, n), check_weights(self, sample_weight, n)
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        if kept.size == n:
            return kernel, kernel.inputs(X), y, weights, kept
        if is_precomputed(kernel):  # whose columns new points still have
            return kernel, take_rows(kernel.inputs(X), kept), y[kept], weights[kept], kept
        X = take_rows(X, kept)
        kernel = labelled_kernel(self, named_kernel(self), X, y[kept]).resolve(X)
        return kernel, kernel.inputs(X), y[kept], weights[kept], kept

    def _select(self, kernel, inputs):
        chosen = self.landmarks
        if isinstance(chosen, LandmarkSelector):
            return chosen.select(kernel, inputs)
        selector = SparseGreedy(int(chosen)) if isinstance(chosen, Integral) else as_landmarks(chosen)
        return selector.select(kernel, inputs, rng=generator(self.random_state))

    def _choose_alpha(self, problem, frame, inputs, Y, weights):
        self.alphas_, self.loo_errors_ = None, None
        if isinstance(self.alpha, Real):
            return float(self.alpha)
        self.alphas_ = LOO_SHARES * problem.spectrum[0][0] ** 2 if isinstance(self.alpha, str) else _grid(self)
        errors = _over_rows(
            lambda rows, w: problem.leave_one_out(
                to_numpy(frame(inputs[rows, :])).astype(np.float64), Y[rows, :], w, self.alphas_
            ),
            frame,
            weights,
            inputs.shape[0],
        )
        self.loo_errors_ = errors / (Y.shape[1] * problem.count)
        return float(self.alphas_[int(np.argmin(self.loo_errors_))])

    def _values(self, X):
        check_is_fitted(self)
        machine = self._kernel_machine()
        return machine(check_model_inputs(self, X, fitted=machine.expansion.coefficients))

    def _staged_values(self, X):
        check_is_fitted(self)
        X = check_model_inputs(self, X, fitted=self.expansion_.coefficients)
        ridge, like = self._ridge, self.expansion_.coefficients
        along = self._stages(X) - from_numpy(ridge.offsets, like)  # (q, m)
        steps = from_numpy(ridge.steps, like)
        values = 0 * along[:, :1] + from_numpy(ridge.constant, like)
        for p in range(along.shape[1]):
            values = values + along[:, p : p + 1] * steps[p : p + 1, :]
            yield values

    def _kernel_machine(self):
        check_is_fitted(self)
        return KernelMachine(
            self.expansion_,
            self.intercept_,
            self._output,
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return with_array_tag(tags)


def _grid(estimator):
    alphas = np.asarray(estimator.alpha, dtype=float)
    if alphas.ndim != 1 or alphas.size == 0 or not np.all(np.isfinite(alphas)) or alphas.min() < 0:
        raise ValueError(
            f"`alpha` of {type(estimator).__name__} is a number, 'loo', or a list of candidates that are finite and "
            f"not negative; got {estimator.alpha!r}."
        )
    return alphas


def _over_rows(function, frame, weights, n):
    """Sum function(rows, weights of the rows) over blocks of n rows that are tall against the frame."""
    like = frame.coefficients
    size = max(BLOCK_ROWS * (len(frame) + 1), block_shape(like, len(frame))[0])
    return sum_rows(function, range(n), weights, rows=size, device_of=like)
