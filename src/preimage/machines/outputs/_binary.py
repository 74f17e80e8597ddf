"""Two classes, told apart by the sign of one function."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from preimage.machines.outputs._checks import check_classes, check_optional_vectors
from preimage.machines.outputs._output import Output
from preimage.machines.outputs._platt import class_probabilities


@dataclass(frozen=True, eq=False)
class Binary(Output):
    """The second class where F ≥ 0, else the first.

    Zero belongs to the second class, because libsvm, whose function has the other sign, gives the first class only
    what is positive.

    Parameters
    ----------
    classes : array of shape (2,)
    probA, probB : arrays of shape (1,), or None
        Platt's parameters in libsvm's sign: P(first class) = 1/(1 + exp(−AF + B)).
    """

    classes: Any
    probA: Any = None
    probB: Any = None

    kind = "classifier"
    n_functions = 1

    def __post_init__(self):
        classes = check_classes("Binary", self.classes)
        if classes.size != 2:
            raise ValueError(f"Binary needs 2 classes; got {classes.size}. OneVsOne and OneVsRest take more.")
        self._set(classes=classes, **check_optional_vectors("Binary", 1, probA=self.probA, probB=self.probB))

    @property
    def has_probabilities(self):
        return self.probA is not None

    def decision(self, F):
        return self._columns(F)[:, 0]

    def predict(self, F):
        return self.classes[(self._numpy(F)[:, 0] >= 0).astype(np.intp)]

    def with_threshold_shift(self, shift):
        return self if self.probA is None else replace(self, probB=self.probB + self.probA * shift)

    def signs(self, y):
        return np.where(np.asarray(y) == self.classes[1], 1, -1)[:, None]

    def probabilities(self, F):
        if not self.has_probabilities:
            return super().probabilities(F)
        return class_probabilities(-self._numpy(F), self.probA, self.probB, 2)
