"""Several classes or labels, each told apart from the rest."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._typing import Array, Targets
from preimage.machines.outputs._output import (
    Output,
    check_classes,
    check_flag,
    check_number,
    check_optional_vectors,
    check_vector,
    shift_keeping_decisions,
)
from preimage.machines.outputs._platt import class_probabilities

#: In `constants`: the function of this class is not constant.
NOT_CONSTANT = -1


@dataclass(frozen=True, eq=False)
class OneVsRest(Output):
    """One function per class; the largest value wins, the first one of equals.

    Two classes share one function, and labels (`multilabel`) do not compete: there values above `threshold` count.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    multilabel : bool, default=False
    threshold : float, default=0.0
        scikit-learn's is 0, and 0.5 when the first label is constant.
    constants : array of shape (k,), or None
        1 for a label that all, 0 for one that no training example had: their probabilities. −1 for all others.
    probA, probB : arrays of shape (k,), or None
        Platt's parameters of each function, as in `Binary`.
    """

    classes: Array
    multilabel: bool = False
    threshold: float = 0.0
    constants: Array = None
    probA: Array = None
    probB: Array = None

    kind = "classifier"

    def __post_init__(self) -> None:
        multilabel = check_flag("OneVsRest", "multilabel", self.multilabel)
        self._set(
            multilabel=multilabel,
            classes=check_classes("OneVsRest", self.classes, minimum=1 if multilabel else 2),
            threshold=check_number("OneVsRest", "threshold", self.threshold),
        )
        k = self.n_functions
        constants = np.full(k, NOT_CONSTANT) if self.constants is None else self.constants
        constants = check_vector("OneVsRest", "constants", constants, k)
        if not np.all(np.isin(constants, (NOT_CONSTANT, 0, 1))):
            raise ValueError(f"OneVsRest needs `constants` of −1, 0 and 1; got {constants!r}.")
        self._set(constants=constants, **check_optional_vectors("OneVsRest", k, probA=self.probA, probB=self.probB))

    @property
    def n_functions(self) -> int:
        return 1 if self._is_binary else self.classes.size

    @property
    def has_probabilities(self) -> bool:
        return self.probA is not None

    def decision(self, F: Array) -> Array:
        F = self._columns(F)
        return F[:, 0] if self.n_functions == 1 else F

    def predict(self, F: Array) -> Array:
        F = self._numpy(F)
        above = np.greater(F, self.threshold)
        if self.multilabel:
            return above.astype(int)
        return self.classes[above[:, 0].astype(np.intp) if self._is_binary else np.argmax(F, axis=1)]

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        shift = shift_keeping_decisions(before, after, None if y is None else self.signs(y) != 0)
        # Probabilities stay those of the values before the threshold moved.
        return shift, self if self.probA is None else replace(self, probB=self.probB + self.probA * shift)

    def signs(self, y: Targets) -> np.ndarray:
        y = np.asarray(y)
        members = y > 0 if self.multilabel else y[:, None] == self.classes
        members = members[:, 1:] if self._is_binary else members
        return np.where(members, 1, -1) * (self.constants == NOT_CONSTANT)

    def probabilities(self, F: Array) -> np.ndarray:
        if not self.has_probabilities:
            return super().probabilities(F)
        F = self._numpy(F)
        columns = [self._probability(F[:, [j]], j) for j in range(self.n_functions)]
        if self.n_functions == 1:
            columns = [1 - columns[0], columns[0]]
        P = np.stack(columns, axis=1)
        if self.multilabel:
            return P
        sums = np.sum(P, axis=1, keepdims=True)
        return np.divide(P, sums, out=P, where=sums != 0)

    @property
    def _is_binary(self) -> bool:
        return not self.multilabel and self.classes.size == 2

    def _probability(self, values: np.ndarray, j: int) -> np.ndarray:
        if self.constants[j] != NOT_CONSTANT:
            return np.full(values.shape[0], self.constants[j])
        return class_probabilities(-values, self.probA[j], self.probB[j], 2)[:, 1]
