"""What every output can do."""

from abc import ABC, abstractmethod

from preimage._arrays import to_numpy


class Output(ABC):
    """From function values F of shape (q, k) to decisions, predictions and probabilities.

    An output is a value, a frozen dataclass: its fields are checked when it is made, and never changed. Files keep
    the fields.
    """

    #: "classifier", "regressor", "detector" or "transformer".
    kind: str

    #: Whether `probabilities` is available.
    has_probabilities = False

    #: Whether the original has a `decision_function`.
    has_decision = True

    #: How the constants of a reduced machine are chosen: for the "signs" of its functions, for their mean "values", or
    #: not at all, because coordinates keep their "origin".
    fitted_constants = "signs"

    @property
    @abstractmethod
    def n_functions(self):
        """The number k of functions."""

    @abstractmethod
    def decision(self, F):
        """What `decision_function` returns; the values themselves where scikit-learn has no such method."""

    @abstractmethod
    def predict(self, F):
        """What `predict` returns, or `transform` for a transformer."""

    def probabilities(self, F):
        """What `predict_proba` returns, shape (q, n_classes)."""
        raise AttributeError(
            f"This {type(self).__name__} output has no probabilities: the model was fitted without them. "
            "`has_probabilities` tells."
        )

    def signs(self, y):
        """The sign ±1 that each function should have on examples with the labels y, 0 where it does not matter.

        Shape (n, k); None where functions are not decisions.
        """
        return None

    def with_shift(self, shift):
        """The output for functions that had constants added."""
        return self

    def with_threshold_shift(self, shift):
        """The output that gives the probabilities of before for functions whose thresholds moved by `shift`."""
        return self

    def _columns(self, F):
        if F.ndim != 2 or F.shape[1] != self.n_functions:
            raise ValueError(
                f"{type(self).__name__} needs the values of {self.n_functions} functions, shape (q, "
                f"{self.n_functions}); got shape {tuple(F.shape)}."
            )
        return F

    def _numpy(self, F):
        return to_numpy(self._columns(F))

    def _set(self, **checked):
        """Replace fields by their checked form; for `__post_init__`, where a frozen value is not finished yet."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)
