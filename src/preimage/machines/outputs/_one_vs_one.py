"""Several classes, told apart in pairs."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from preimage.machines.outputs._checks import check_choice, check_classes, check_flag, check_optional_vectors
from preimage.machines.outputs._output import Output
from preimage.machines.outputs._platt import class_probabilities


@dataclass(frozen=True, eq=False)
class OneVsOne(Output):
    """One function a pair (i, j), i < j, in the order (0, 1), (0, 2), …; positive values vote for i.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        At least three; for two classes there is `Binary`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decisions are one a class, votes with a share of confidence added, or one a pair, the values themselves.
    break_ties : bool, default=False
        Whether confidence decides between classes with as many votes; otherwise the first of them wins.
    probA, probB : arrays of shape (n_pairs,), or None
        Platt's parameters: P(i of i and j) = 1/(1 + exp(AF + B)).
    """

    classes: Any
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    probA: Any = None
    probB: Any = None

    kind = "classifier"

    def __post_init__(self):
        self._set(
            classes=check_classes("OneVsOne", self.classes, minimum=3),
            decision_function_shape=check_choice(
                "OneVsOne", "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
            ),
            break_ties=check_flag("OneVsOne", "break_ties", self.break_ties),
        )
        self._set(**check_optional_vectors("OneVsOne", self.n_functions, probA=self.probA, probB=self.probB))

    @property
    def n_functions(self):
        return self.classes.size * (self.classes.size - 1) // 2

    @property
    def has_probabilities(self):
        return self.probA is not None

    def decision(self, F):
        return self._votes_with_confidence(F) if self.decision_function_shape == "ovr" else self._columns(F)

    def predict(self, F):
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': values of pairs do not rank classes. "
                "Choose decision_function_shape='ovr'."
            )
        scores = self._votes_with_confidence(F) if self.break_ties else self._votes(self._numpy(F) > 0)
        return self.classes[np.argmax(scores, axis=1)]

    def with_threshold_shift(self, shift):
        return self if self.probA is None else replace(self, probB=self.probB - self.probA * shift)

    def signs(self, y):
        members = np.asarray(y)[:, None] == self.classes
        return np.stack([members[:, i].astype(int) - members[:, j] for i, j in self._pairs()], axis=1)

    def probabilities(self, F):
        if not self.has_probabilities:
            return super().probabilities(F)
        return class_probabilities(self._numpy(F), self.probA, self.probB, self.classes.size)

    def _votes(self, for_first):
        """How many pairs each class wins, shape (q, n_classes)."""
        # A pair that does not vote for its first class votes for its second: votes are counts of seconds plus changes.
        incidence = self._incidence
        return for_first.astype(float) @ incidence + np.sum(incidence < 0, axis=0)

    def _votes_with_confidence(self, F):
        r"""Votes plus :math:`c / (3(|c| + 1))` with c the sum of a class's values: less than one vote together."""
        F = self._numpy(F)
        confidence = F @ self._incidence.astype(F.dtype)
        # A value of zero is a vote for the first class here, and for the second one in libsvm's `predict`.
        return self._votes(F >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    @cached_property
    def _incidence(self):
        """+1 for the first class of each pair, −1 for its second, shape (n_pairs, n_classes)."""
        pairs = np.array(list(self._pairs()))
        matrix = np.zeros((len(pairs), self.classes.size))
        matrix[np.arange(len(pairs)), pairs[:, 0]] = 1
        matrix[np.arange(len(pairs)), pairs[:, 1]] = -1
        return matrix

    def _pairs(self):
        return combinations(range(self.classes.size), 2)
