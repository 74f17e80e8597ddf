"""Corrections of values that a fitted model gives new points: scores of transformers, decisions of classifiers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.finite import finite_result
from preimage._engine.linalg import quantiles
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import warn_user
from preimage.inflation._inflation import inflation
from preimage.inflation._inputs import as_inputs, transformed
from preimage.inflation._orthogonal import TrainingSpan, left_out_distances, restore_lost_projection
from preimage.inflation._transfer import renormalize, transfer_function

METHODS = ("auto", "threshold", "transfer", "isotonic", "affine", "orthogonal", "histogram", "none")
KINDS = {"transfer": "pchip", "isotonic": "isotonic", "affine": "affine"}
# Fewer new rows than this say little about a distribution: the quantiles of ten rows are known to about a third of the
# standard deviation. The result is then used, with a warning.
SMALL_BATCH = 10


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
    choice : dict
        A record of what was compared.
    train, left_out : arrays of shape (n, k)
        Values of training points by the model of all, and by models without them; decisions of two classes are one
        column, and left-out ones have the level of the model of all (see `LeftOutDecisions.leveled`).
    corrected : array of shape (n, k)
        The left-out values, corrected.
    weights : array of shape (n,) or None
    """

    method: str
    correction: Callable[[Array, Rows], Array] | None
    train: Array
    left_out: Array
    corrected: Array
    choice: dict[str, Any]
    weights: Array | None = None

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


class Orthogonal:
    """Restores the factor that values of Gaussian kernels lose outside the span of the training inputs, (V3)."""

    def __init__(self, steps: Sequence, span: TrainingSpan, gamma: float, constant: Array) -> None:
        self.steps = steps
        self.span = span
        self.gamma = gamma
        self.constant = constant

    @classmethod
    def learned(
        cls, inputs: Array, steps: Sequence, gamma: float, constant: Array, left_out: Array
    ) -> tuple["Orthogonal", Array]:
        """The correction for a model of `inputs`, which `steps` make of X, and the left-out values after it."""
        # Affine hulls: centred points lie in the linear span of the others, which would leave nothing outside.
        centered = inputs - inputs.mean(axis=0)
        distances = left_out_distances(finite_result(centered @ centered.T, inputs), affine=True)
        corrected = restore_lost_projection(left_out, constant, distances, gamma)
        return cls(steps, TrainingSpan(inputs, affine=True), gamma, constant), corrected

    def __call__(self, values: Array, X: Rows) -> Array:
        distances = self.span.squared_distances(as_inputs(transformed(self.steps, X)))
        return restore_lost_projection(values, self.constant, distances, self.gamma)
