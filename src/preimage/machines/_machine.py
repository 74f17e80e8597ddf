"""A kernel machine in the terms of this library: functions of feature space, intercepts, and what they say."""

from dataclasses import dataclass, replace
from typing import Any

from preimage.feature_space import Expansion
from preimage.machines.outputs import Output


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
    intercept: Any
    output: Output
    n_features_in: int
    feature_names_in: Any = None
    weights: Any = None

    def __call__(self, X):
        """Values of all functions at the rows of X, intercepts included; shape (q, k)."""
        return self.expansion(X) + self.intercept

    def with_expansion(self, expansion, intercept=None):
        """The same machine made of other vectors, and other intercepts if given."""
        return replace(self, expansion=expansion, intercept=self.intercept if intercept is None else intercept)
