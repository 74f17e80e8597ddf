"""Classes told apart in pairs, as libsvm does it; two classes are one pair."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from preimage._typing import Array, Targets
from preimage.machines.outputs._output import (
    Output,
    check_choice,
    check_classes,
    check_flag,
    check_optional_vectors,
    shift_keeping_decisions,
)
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

    classes: Array
    probA: Array = None
    probB: Array = None

    kind = "classifier"
    n_functions = 1

    def __post_init__(self) -> None:
        classes = check_classes("Binary", self.classes)
        if classes.size != 2:
            raise ValueError(f"Binary needs 2 classes; got {classes.size}. OneVsOne and OneVsRest take more.")
        self._set(classes=classes, **check_optional_vectors("Binary", 1, probA=self.probA, probB=self.probB))

    @property
    def has_probabilities(self) -> bool:
        return self.probA is not None

    def decision(self, F: Array) -> Array:
        return self._columns(F)[:, 0]

    def predict(self, F: Array) -> Array:
        return self.classes[(self._numpy(F)[:, 0] >= 0).astype(np.intp)]

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        shift = shift_keeping_decisions(before, after)
        # Probabilities stay those of the values before the threshold moved.
        return shift, self if self.probA is None else replace(self, probB=self.probB + self.probA * shift)

    def signs(self, y: Targets) -> np.ndarray:
        return np.where(np.asarray(y) == self.classes[1], 1, -1)[:, None]

    def probabilities(self, F: Array) -> np.ndarray:
        if not self.has_probabilities:
            return super().probabilities(F)
        return class_probabilities(-self._numpy(F), self.probA, self.probB, 2)


@dataclass(frozen=True, eq=False)
class OneVsOne(Output):
    """One function per pair (i, j), i < j, in the order (0, 1), (0, 2), …; positive values vote for i.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        At least three; for two classes there is `Binary`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Whether decisions are votes per class, with a fraction of a vote of confidence added, or the values per pair.
    break_ties : bool, default=False
        Whether confidence decides between classes with as many votes; otherwise the first of them wins.
    probA, probB : arrays of shape (n_pairs,), or None
        Platt's parameters: P(i of i and j) = 1/(1 + exp(AF + B)).
    """

    classes: Array
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    probA: Array = None
    probB: Array = None

    kind = "classifier"

    def __post_init__(self) -> None:
        self._set(
            classes=check_classes("OneVsOne", self.classes, minimum=3),
            decision_function_shape=check_choice(
                "OneVsOne", "decision_function_shape", self.decision_function_shape, ("ovr", "ovo")
            ),
            break_ties=check_flag("OneVsOne", "break_ties", self.break_ties),
        )
        self._set(**check_optional_vectors("OneVsOne", self.n_functions, probA=self.probA, probB=self.probB))

    @property
    def n_functions(self) -> int:
        return self.classes.size * (self.classes.size - 1) // 2

    @property
    def has_probabilities(self) -> bool:
        return self.probA is not None

    def decision(self, F: Array) -> Array:
        return self._votes_with_confidence(F) if self.decision_function_shape == "ovr" else self._columns(F)

    def predict(self, F: Array) -> Array:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': values of pairs do not rank classes. "
                "Choose decision_function_shape='ovr'."
            )
        scores = self._votes_with_confidence(F) if self.break_ties else self._votes(self._numpy(F) > 0)
        return self.classes[np.argmax(scores, axis=1)]

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        # Examples of other classes do not matter to a function that tells two apart.
        shift = shift_keeping_decisions(before, after, None if y is None else self.signs(y) != 0)
        return shift, self if self.probA is None else replace(self, probB=self.probB - self.probA * shift)

    def signs(self, y: Targets) -> np.ndarray:
        members = np.asarray(y)[:, None] == self.classes
        return np.stack([members[:, i].astype(int) - members[:, j] for i, j in self._pairs()], axis=1)

    def probabilities(self, F: Array) -> np.ndarray:
        if not self.has_probabilities:
            return super().probabilities(F)
        return class_probabilities(self._numpy(F), self.probA, self.probB, self.classes.size)

    def _votes(self, for_first: np.ndarray) -> np.ndarray:
        """How many pairs each class wins, shape (q, n_classes)."""
        # A pair that does not vote for its first class votes for its second: votes are counts of seconds plus changes.
        incidence = self._incidence
        return for_first.astype(float) @ incidence + np.sum(incidence < 0, axis=0)

    def _votes_with_confidence(self, F: Array) -> np.ndarray:
        r"""Votes plus :math:`c / (3(|c| + 1))` with c the sum of a class's values: less than one vote together."""
        F = self._numpy(F)
        confidence = F @ self._incidence.astype(F.dtype)
        # A value of zero is a vote for the first class here, and for the second one in libsvm's `predict`.
        return self._votes(F >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    @cached_property
    def _incidence(self) -> np.ndarray:
        """+1 for the first class of each pair, −1 for its second, shape (n_pairs, n_classes)."""
        pairs = np.array(list(self._pairs()))
        matrix = np.zeros((len(pairs), self.classes.size))
        matrix[np.arange(len(pairs)), pairs[:, 0]] = 1
        matrix[np.arange(len(pairs)), pairs[:, 1]] = -1
        return matrix

    def _pairs(self) -> Iterator[tuple[int, int]]:
        return combinations(range(self.classes.size), 2)
