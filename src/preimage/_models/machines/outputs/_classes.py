"""Classes told apart in pairs, as libsvm does it, or each from the rest; probabilities of classes from pairs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.special import expit

from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Targets
from preimage._models.machines.outputs._output import (
    Output,
    check_choice,
    check_classes,
    check_flag,
    check_number,
    check_optional_vectors,
    check_vector,
    shift_keeping_decisions,
)


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
        return shift_keeping_decisions(before, after), self  # probabilities move with the threshold

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
        return shift_keeping_decisions(before, after, None if y is None else self.signs(y) != 0), self

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
        return shift_keeping_decisions(before, after, None if y is None else self.signs(y) != 0), self

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


# Constants of libsvm, whose numbers these are: pairwise probabilities stay MARGIN away from zero and one, and
# the coupling of n classes stops when derivatives agree to STOPPING_GAP/n, or after so many sweeps (n if more).
MARGIN = 1e-7
STOPPING_GAP = 0.005
MOST_SWEEPS = 100

# Coupling holds a matrix of classes by classes for each row, 1.6 MB for ten classes and this many rows. Ten times more
# would only take more memory.
BLOCK_ROWS = 2048


def class_probabilities(F: np.ndarray, probA: Array, probB: Array, n_classes: int) -> np.ndarray:
    r"""P(class t) from values of the functions that separate pairs, shape (q, n_classes).

    Each pair (i, j), i < j, has the probability :math:`r_{ij} = 1/(1 + \exp(A f + B))` of its first class [1]_; the
    pairs are coupled by method 2 of [2]_.

    References
    ----------
    .. [1] J. Platt, "Probabilistic Outputs for Support Vector Machines",
       1999.
    .. [2] T.-F. Wu, C.-J. Lin, R. C. Weng, "Probability Estimates for Multi-class Classification by Pairwise Coupling",
       JMLR 5, 2004.
    """
    first_wins = np.clip(expit(-(F * probA + probB)), MARGIN, 1 - MARGIN)
    return map_rows(lambda rows: couple(rows, n_classes), first_wins, rows=BLOCK_ROWS)


def couple(first_wins: np.ndarray, n_classes: int) -> np.ndarray:
    r"""Minimise :math:`\sum_t \sum_{j \ne t} (r_{jt} p_t - r_{tj} p_j)^2` over distributions p, for every row.

    The minimum of pᵀQp is where all (Qp)ₜ equal pᵀQp. Coordinates are updated in turn and p is normalised after each,
    until they agree to 0.005/n_classes: not a minimum to the last digit, but libsvm's numbers.
    """
    p = np.full((first_wins.shape[0], n_classes), 1 / n_classes)
    Q = _quadratic_form(first_wins, n_classes)
    rows = np.arange(p.shape[0])  # those that have not converged
    for _ in range(max(MOST_SWEEPS, n_classes)):
        Qp = np.einsum("qtj,qj->qt", Q[rows], p[rows])
        pQp = np.sum(p[rows] * Qp, axis=1)
        unfinished = np.max(np.abs(Qp - pQp[:, None]), axis=1) >= STOPPING_GAP / n_classes
        if not unfinished.any():
            break
        rows = rows[unfinished]
        p[rows] = _sweep(Q[rows], p[rows], Qp[unfinished], pQp[unfinished])
    return p


def _sweep(Q: np.ndarray, p: np.ndarray, Qp: np.ndarray, pQp: np.ndarray) -> np.ndarray:
    """One update of each coordinate."""
    for t in range(p.shape[1]):
        curvature = Q[:, t, t]
        # Solves (Qp)ₜ = pᵀQp for coordinate t with pᵀQp held fixed; then p, Qp and pQp are rescaled to Σp = 1.
        step = (pQp - Qp[:, t]) / curvature
        p[:, t] += step
        pQp = (pQp + step * (step * curvature + 2 * Qp[:, t])) / (1 + step) / (1 + step)
        Qp = (Qp + step[:, None] * Q[:, t]) / (1 + step)[:, None]
        p = p / (1 + step)[:, None]
    return p


def _quadratic_form(first_wins: np.ndarray, n_classes: int) -> np.ndarray:
    """Q with Qₜₜ = Σⱼ rⱼₜ² and Qₜⱼ = −rⱼₜ rₜⱼ."""
    first, second = np.triu_indices(n_classes, 1)
    R = np.zeros((first_wins.shape[0], n_classes, n_classes))
    R[:, first, second] = first_wins
    R[:, second, first] = 1 - first_wins
    Q = -R * R.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    Q[:, diagonal, diagonal] = np.sum(R**2, axis=1)
    return Q
