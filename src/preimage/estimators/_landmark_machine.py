"""What machines on few basis functions k(x_j, ·) share, and what makes them regressors or classifiers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arrays import from_device, in_memory, is_lazy, take_rows
from preimage._engine.progress import ReportsProgress, reports_progress
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import (
    Interval,
    StrOptions,
    check_labels,
    check_parameters,
    check_targets,
    check_weights,
    generator,
    refuse_stream,
)
from preimage._models.machines import KernelMachine, OneVsRest, Output, Regression, determination
from preimage.estimators._classifier import AnyDeviceClassifierMixin, require_classes
from preimage.estimators._estimator import Estimator, check_queries, map_queries
from preimage.estimators._has_landmarks import HasLandmarks, numbered
from preimage.estimators._kernel_input import (
    KERNEL_CONSTRAINTS,
    is_precomputed,
    kernel_and_inputs,
    labelled_kernel,
    landmark_inputs,
    named_kernel,
    with_array_tag,
    with_object_tags,
)
from preimage.estimators._relevant_kernel import learns_relevance, relevant_kernel
from preimage.feature_space import Expansion
from preimage.kernels import Kernel
from preimage.landmarks import SELECTORS, Landmarks, LandmarkSelector, SparseGreedy, as_landmarks

LANDMARK_MACHINE_CONSTRAINTS = {
    "landmarks": [Interval(Integral, 1, None, closed="left"), StrOptions(set(SELECTORS.names)), LandmarkSelector],
    **KERNEL_CONSTRAINTS,
    "fit_intercept": ["boolean"],
    "verbose": ["verbose"],
    "random_state": ["random_state", np.random.Generator],
}


@dataclass(frozen=True)
class LabelledRows:
    """What a fit works on: a resolved kernel, rows as it takes them, their targets, weights and numbers."""

    kernel: Kernel
    inputs: Rows
    y: np.ndarray
    weights: np.ndarray | None
    numbers: np.ndarray


class LandmarkMachine(HasLandmarks, ReportsProgress, Estimator, ABC):
    """Functions on landmarks; subclasses say how they are fitted, and what their values mean."""

    _takes_objects = True

    landmarks: int | str | LandmarkSelector
    kernel: Any
    random_state: Seed
    landmarks_: Landmarks
    expansion_: Expansion
    intercept_: Array
    kernel_: Kernel
    n_features_in_: int
    _output: Output

    @reports_progress
    def fit(self, X: Rows, y: Targets | None = None, sample_weight: Targets | None = None) -> Self:
        """Choose landmarks among the rows of X, and fit functions on them to y.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            Or a symmetric matrix of shape (n, n) for a precomputed kernel, or a list of n objects for a kernel on
            objects. A memory map or a Dask array is read block
            by block, where its blocks are: once, and once more where a penalty is chosen by leave-one-out errors.
            Linear programs hold its kernel values with the landmarks in memory.
        y : array of shape (n,), or (n, k) for a regressor
            Targets, or class labels, held in memory.
        sample_weight : array of shape (n,), optional
            How often each row counts in the errors; rows of weight zero are left out. The choice of landmarks looks at
            rows, whatever their weight; in memory maps and Dask arrays also at those of weight zero.

        Returns
        -------
        self
        """
        check_parameters(self)
        remedy = "Pass a memory map or a Dask array, which are read block by block."
        if hasattr(self, "partial_fit"):
            remedy = "Call partial_fit(X, y) with one block and its targets after the other."
        refuse_stream(self, X, "fit", remedy)
        rows = self._read(X, y, sample_weight)
        targets = self._targets(rows.y)
        fitted, landmarks = self._solve_on(rows, self._select(rows.kernel, rows.inputs), targets)
        self.expansion_, self.intercept_, self.kernel_ = fitted.expansion, fitted.intercept, rows.kernel
        self.landmarks_ = replace(numbered(landmarks, rows.numbers), factor=None)
        return self

    @property
    def residual_fraction_(self) -> float:
        """Fraction of the trace of the kernel that the landmarks leave."""
        return self.landmarks_.residual_fraction

    def _solve_on(self, rows: "LabelledRows", landmarks: Landmarks, targets: np.ndarray) -> tuple[Any, Landmarks]:
        """The functions, and those of the landmarks that they are on."""
        return self._solve(rows, landmarks, targets), landmarks

    @abstractmethod
    def _solve(self, rows: "LabelledRows", landmarks: Landmarks, targets: np.ndarray) -> Any:
        """The functions on landmarks, an object with `expansion` and `intercept`; sets what else the fit has found."""

    @abstractmethod
    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        """Labels or targets of n rows, checked."""

    def _row_weights(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Weights of rows, checked, given those of the user."""
        return weights

    @abstractmethod
    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Targets (n, k) of the functions; sets `_output`, which says what values mean."""

    def _read(self, X: Rows, y: Targets, sample_weight: Targets | None) -> LabelledRows:
        """What a fit works on; a precomputed matrix is needed as a whole, other lazy rows stay where they are.

        Rows of weight zero have no part in anything, as if they were not there; lazy ones may become landmarks.
        """
        learns = learns_relevance(named_kernel(self))
        if is_lazy(X) and not is_precomputed(self.kernel):
            y = in_memory(y)
            inputs = landmark_inputs(self, X, y, sample_weight, min_samples=1, about_mean=False, resolved=not learns)
            y = self._check_y(y, inputs.X.shape[0])
            weights = self._row_weights(y, inputs.weights)
            kernel = self._relevant(inputs.kernel, inputs.X, y, weights) if learns else inputs.kernel
            return LabelledRows(kernel, inputs.X, y, weights, np.arange(y.shape[0]))
        kernel, X = kernel_and_inputs(self, X, y, resolved=not learns)
        n = X.shape[0]
        y = self._check_y(y, n)
        weights = self._row_weights(y, check_weights(self, sample_weight, n))
        kept = np.arange(n) if weights is None else np.flatnonzero(weights)
        if learns:
            if weights is not None and kept.size < n:
                X, y, weights = take_rows(X, kept), y[kept], weights[kept]
            return LabelledRows(self._relevant(kernel, X, y, weights), X, y, weights, kept)
        if weights is None or kept.size == n:
            return LabelledRows(kernel, kernel.inputs(X), y, weights, kept)
        if is_precomputed(kernel):  # new points still have all columns
            return LabelledRows(kernel, take_rows(kernel.inputs(X), kept), y[kept], weights[kept], kept)
        X = take_rows(X, kept)
        kernel = labelled_kernel(self, named_kernel(self), X, y[kept]).resolve(X)
        return LabelledRows(kernel, kernel.inputs(X), y[kept], weights[kept], kept)

    def _relevant(self, kernel: Kernel, X: Rows, y: np.ndarray, weights: np.ndarray | None) -> Kernel:
        """The kernel with a width per column, judged by machines on landmarks of this estimator."""
        number = (
            self.landmarks if isinstance(self.landmarks, Integral) else getattr(self.landmarks, "n_landmarks", None)
        )
        options = self._judging_options() | ({} if number is None else {"n_landmarks": int(number)})
        select = lambda each, inputs: self._select(each, inputs).points
        return relevant_kernel(self, kernel, X, y, weights, select=select, **options)

    def _judging_options(self) -> dict[str, Any]:
        """Penalty and intercept of the machines that judge widths; the penalty is chosen for each."""
        return {"alpha": "loo"}

    def _select(self, kernel: Kernel, inputs: Array) -> Landmarks:
        rng = None if isinstance(self.landmarks, LandmarkSelector) else generator(self.random_state)
        return self._selector().select(kernel, inputs, rng=rng)

    def _selector(self) -> LandmarkSelector:
        """What `landmarks` means."""
        return (
            SparseGreedy(int(self.landmarks)) if isinstance(self.landmarks, Integral) else as_landmarks(self.landmarks)
        )

    def _map_outputs(self, function: Callable[[Output, Array], Array], X: Rows) -> Array:
        """`function` of the output and of function values at the rows of X; lazy for a Dask array."""
        machine = self._kernel_machine()  # which checks that the model is fitted
        fitted = machine.expansion.coefficients
        return map_queries(
            self,
            lambda rows: function(machine.output, machine(rows)),
            check_queries(self, X, fitted, machine.expansion),
            fitted,
        )

    def _kernel_machine(self) -> KernelMachine:
        check_is_fitted(self)
        return KernelMachine(
            self.expansion_,
            self.intercept_,
            self._output,
            self._n_columns,
            getattr(self, "feature_names_in_", None),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags = with_object_tags(tags, self.kernel)
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return with_array_tag(tags)


class ValuesOfMachine(RegressorMixin):
    """Mixed into machines whose functions are predictions."""

    expansion_: Expansion
    _output: Output
    _map_outputs: Callable[[Callable[[Output, Array], Array], Rows], Array]

    def predict(self, X: Rows) -> Array:
        """Predicted values, shape (q,) or (q, k) like y; lazy for a Dask array."""
        return self._map_outputs(lambda output, values: output.predict(values), X)

    def score(self, X: Rows, y: Targets, sample_weight: Targets = None) -> float:
        """The coefficient of determination R², on rows of any device; it compares with their mean, so two at least."""
        found = from_device(in_memory(self.predict(X)))
        n = found.shape[0]
        expected, weights = check_targets(self, in_memory(y), n), check_weights(self, sample_weight, n)
        who = f"{type(self).__name__}.score"
        if n < 2:
            raise ValueError(
                f"{who} needs two rows at least, as R² compares errors with those of their mean; got {n}. `predict` "
                "answers for one."
            )
        score = determination(expected, found, weights)
        if not np.isfinite(score):
            raise ValueError(
                f"{who} leaves the range of numbers: predictions are up to {np.max(np.abs(found)):.2g} for targets up "
                f"to {np.max(np.abs(expected)):.2g}."
            )
        return score

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernel functions, shape (m,) or (m, k) like y."""
        return self._output.predict(self.expansion_.coefficients)

    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        return check_targets(self, y, n)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self._output = Regression(1 if y.ndim == 1 else y.shape[1], y.ndim == 1)
        return y[:, None] if y.ndim == 1 else y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ClassesOfMachine(AnyDeviceClassifierMixin):
    """Mixed into machines that have one function for two classes, and one per class against the rest for more."""

    classes_: np.ndarray
    expansion_: Expansion
    _output: Output
    _map_outputs: Callable[[Callable[[Output, Array], Array], Rows], Array]

    def decision_function(self, X: Rows) -> Array:
        """Function values: shape (q,) for two classes, positive for the second; else (q, n_classes).

        Lazy for a Dask array, as predictions are.
        """
        return self._map_outputs(lambda output, values: output.decision(values), X)

    def predict(self, X: Rows) -> Array:
        """Class labels."""
        return self._map_outputs(lambda output, values: output.predict(values), X)

    @property
    def dual_coef_(self) -> Array:
        """Coefficients of the kernel functions, shape (m, 1) for two classes, else (m, n_classes)."""
        return self.expansion_.coefficients

    def _check_y(self, y: Targets, n: int) -> np.ndarray:
        return check_labels(self, y, n)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        self.classes_ = np.unique(y)
        require_classes(self, self.classes_)
        self._output = OneVsRest(self.classes_)
        return self._signs(y)

    def _signs(self, y: np.ndarray) -> np.ndarray:
        """Targets ±1 of labels, shape (n, 1) for two classes, else (n, n_classes)."""
        return OneVsRest(self.classes_).signs(y).astype(np.float64)
