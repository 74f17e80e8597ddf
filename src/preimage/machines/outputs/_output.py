"""What every output can do."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from preimage._arrays import to_numpy
from preimage._typing import Array, Targets


class Output(ABC):
    """From function values F of shape (q, k) to decisions, predictions and probabilities.

    An output is a value, a frozen dataclass: its fields are checked when it is made, and never changed. Files keep
    the fields.
    """

    #: "classifier", "regressor", "detector" or "transformer".
    kind: str

    #: Whether `probabilities` is available.
    has_probabilities: bool = False

    #: Whether the original has a `decision_function`.
    has_decision: bool = True

    @property
    @abstractmethod
    def n_functions(self) -> int:
        """The number k of functions."""

    @abstractmethod
    def decision(self, F: Array) -> Array:
        """What `decision_function` returns; the values themselves where scikit-learn has no such method."""

    @abstractmethod
    def predict(self, F: Array) -> Array:
        """What `predict` returns, or `transform` for a transformer."""

    def probabilities(self, F: Array) -> np.ndarray:
        """What `predict_proba` returns, shape (q, n_classes)."""
        raise AttributeError(
            f"This {type(self).__name__} output has no probabilities: the model was fitted without them. "
            "`has_probabilities` tells."
        )

    def signs(self, y: Targets) -> np.ndarray | None:
        """The sign ±1 that each function should have on examples with the labels y, 0 where it does not matter.

        Shape (n, k); None where functions are not decisions.
        """
        return None

    def with_shift(self, shift: Array) -> "Output":
        """The output for functions that had the constants `shift` of shape (k,) added."""
        return self

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, "Output"]:
        """Constants that make the functions of a smaller machine agree with the original, and the output for them.

        Here the mean of each function is kept. Labels are not fitted again: weights of classes and examples have moved
        the constants of the original for a reason.

        Parameters
        ----------
        before, after : arrays of shape (n, k)
            Values of the original and of the smaller machine on data, both with the intercepts of the original.
        y : array of shape (n,) or None
            Labels of the data, which tell a function that separates two classes from data of other classes.

        Returns
        -------
        shift : array of shape (k,)
            To add to the intercepts.
        output : Output
        """
        shift = np.mean(before - after, axis=0)
        return shift, self.with_shift(shift)

    def _columns(self, F: Array) -> Array:
        if F.ndim != 2 or F.shape[1] != self.n_functions:
            raise ValueError(
                f"{type(self).__name__} needs the values of {self.n_functions} functions, shape (q, "
                f"{self.n_functions}); got shape {tuple(F.shape)}."
            )
        return F

    def _numpy(self, F: Array) -> np.ndarray:
        return to_numpy(self._columns(F))

    def _set(self, **checked: Any) -> Self:
        """Replace fields by their checked form; for `__post_init__`, where a frozen value is not finished yet."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        return self
