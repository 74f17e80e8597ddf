"""A kernel machine in the terms of this library: functions of feature space, intercepts, and what they say."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage._engine.finite import finite_result
from preimage._engine.typing import Array
from preimage._models.machines.outputs import Output
from preimage.feature_space import Expansion


@dataclass(frozen=True)
class KernelMachine:
    """A fitted model of the form output(Σᵢ αᵢ k(xᵢ, ·) + b).

    Attributes
    ----------
    expansion : Expansion of k vectors
        The functions of the machine, on shared points.
    intercept : array of shape (k,)
    output : Output
        From function values to decisions, predictions and probabilities.
    n_features_in : int
        Columns that the model expects.
    feature_names_in : array of str, or None
    weights : array of shape (k,), or None
        How much an error of each function counts; None is the same for all.
    """

    expansion: Expansion
    intercept: Array
    output: Output
    n_features_in: int
    feature_names_in: Array | None = None
    weights: Array | None = None

    def __call__(self, X: Array) -> Array:
        """Values of all functions at the rows of X, intercepts included; shape (q, k)."""
        # Looked at here, since predictions and probabilities of NaN are wrong but finite.
        return finite_result(self.expansion(X) + self.intercept, X)

    @cached_property
    def multiplications(self) -> int:
        """What a prediction of one row costs.

        A kernel value costs as many multiplications as there are columns, and a function as many as it has
        coefficients; kernel values that several functions share count once.
        """
        expansion = self.expansion.merged()
        n, d = expansion.points.shape
        return n * d + int(np.count_nonzero(to_numpy(expansion.coefficients)[:, : self.output.n_functions]))

    def with_expansion(self, expansion: Expansion) -> "KernelMachine":
        """The same machine made of other vectors."""
        return replace(self, expansion=expansion)

    def with_shift(self, shift: Array, output: Output | None = None) -> "KernelMachine":
        """The machine with constants added to its functions, and the output that goes with them."""
        output = self.output.with_shift(shift) if output is None else output
        return replace(self, intercept=self.intercept + shift, output=output)
