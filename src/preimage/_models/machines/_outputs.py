"""Outputs: from the function values of a kernel machine to what scikit-learn's methods return."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
from scipy.special import expit, softmax

from preimage._engine.arrays import array_namespace, to_numpy
from preimage._engine.typing import Array, Targets
from preimage._models.machines._coupling import class_probabilities
from preimage.calibration._threshold import against_rest, most_probable

# Support vectors of a one-class machine that are on its margin have the value zero, up to libsvm's tolerance of 1e-3.
# Their signs are chance and must not decide the threshold: twice that tolerance leaves them out. Ten times more would
# leave out clear decisions as well.
ON_THE_MARGIN = 2e-3
#: In `constants`: the function of this class is not constant.
NOT_CONSTANT = -1


def check_flag(owner: str, name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        _fail(owner, name, "True or False", value)
    return bool(value)


def check_number(owner: str, name: str, value: Any) -> float:
    """A finite real number."""
    number = _plain_array([value])
    if number is None or not np.isfinite(number[0]):
        _fail(owner, name, "a finite number", value)
    return float(number[0])


def check_count(owner: str, name: str, value: Any) -> int:
    """An integer of at least one."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        _fail(owner, name, "an integer of at least 1", value)
    return int(value)


def one_of(*choices: str) -> Callable[[str, str, Any], str]:
    """A check for one of a few strings."""

    def check(owner: str, name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            _fail(owner, name, " or ".join(map(repr, choices)), value)
        return str(value)

    return check


def check_vector(owner: str, name: str, value: Any, size: int) -> np.ndarray:
    """`size` finite numbers, as a read-only array."""
    values = _plain_array(value)
    if values is None or values.dtype.kind not in "iuf" or values.shape != (size,) or not np.all(np.isfinite(values)):
        _fail(owner, name, f"{size} finite numbers", value)
    return _frozen(values.astype(np.float64))


def check_classes(owner: str, name: str, classes: Any, *, minimum: int = 2) -> np.ndarray:
    """Distinct labels as a read-only array; strings given as a list become an array of objects."""
    strings = isinstance(classes, list) and all(isinstance(label, str) for label in classes)
    given = np.array(classes, dtype=object) if strings else None if isinstance(classes, list) else classes
    values = _plain_array(given, kinds="biufUO")
    flat = np.zeros(0) if values is None or values.ndim != 1 else values
    of_kind = {"f": np.isfinite, "O": np.frompyfunc(lambda label: isinstance(label, str), 1, 1)}.get(flat.dtype.kind)
    known = of_kind is None or bool(np.all(of_kind(flat)))
    if flat.size < minimum or not known or len(set(flat.tolist())) < flat.size:
        wanted = f"at least {minimum} distinct labels: an array of numbers or strings, or a list of strings"
        _fail(owner, name, wanted, classes)
    return _frozen(flat.copy())


def _plain_array(value: Any, kinds: str = "iuf") -> np.ndarray | None:
    """An array of `value` if it is one, or a flat list of numbers; None if it is anything else."""
    if isinstance(value, list) and all(isinstance(item, Real) and not isinstance(item, bool) for item in value):
        try:
            value = np.array(value, dtype=np.float64)
        except OverflowError:  # an integer beyond all floating numbers
            return None
    if not isinstance(value, np.ndarray):
        return None
    return np.asarray(value) if value.dtype.kind in kinds else None


def _frozen(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values


def _fail(owner: str, name: str, wanted: str, value: Any) -> NoReturn:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    raise ValueError(f"{owner} needs `{name}` to be {wanted}; got {shown}.")


class Output(ABC):
    """From function values F of shape (q, k) to decisions, predictions and probabilities.

    An output is a value, a frozen dataclass: its fields, which may come from a file of somebody else, are checked when
    it is made, and never changed. Files keep the fields.
    """

    #: "classifier", "regressor", "detector" or "transformer".
    kind: str

    #: Whether `probabilities` is available.
    has_probabilities: bool = False

    #: Whether the original has a `decision_function`.
    has_decision: bool = True

    #: How fields are checked: functions of the name of the class, that of the field, and its value.
    checks: dict[str, Callable[[str, str, Any], Any]] = {}

    def __post_init__(self) -> None:
        for name, check in self.checks.items():
            object.__setattr__(self, name, check(type(self).__name__, name, getattr(self, name)))

    @property
    @abstractmethod
    def n_functions(self) -> int:
        """The number k of functions."""

    @abstractmethod
    def predict(self, F: Array) -> Array:
        """What `predict` returns, or `transform` for a transformer."""

    def decision(self, F: Array) -> Array:
        """What `decision_function` returns; the values themselves where scikit-learn has no such method."""
        F = self._columns(F)
        return F[:, 0] if self.n_functions == 1 else F

    def probabilities(self, F: Array) -> np.ndarray:
        """What `predict_proba` returns, shape (q, n_classes)."""
        if not self.has_probabilities:
            raise AttributeError(
                f"This {type(self).__name__} output has no probabilities: the model was fitted without them. "
                "`has_probabilities` tells."
            )
        return self._probabilities(self._numpy(F))

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

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        """Probabilities of outputs that have some."""
        raise NotImplementedError

    def _columns(self, F: Array) -> Array:
        if F.ndim != 2 or F.shape[1] != self.n_functions:
            raise ValueError(
                f"{type(self).__name__} needs the values of {self.n_functions} functions, shape (q, "
                f"{self.n_functions}); got shape {tuple(F.shape)}."
            )
        return F

    def _numpy(self, F: Array) -> np.ndarray:
        return to_numpy(self._columns(F))


@dataclass(frozen=True, eq=False)
class Regression(Output):
    """The values themselves.

    Parameters
    ----------
    n_outputs : int, default=1
    flat : bool, default=True
        Whether predictions of a single output are one-dimensional.
    """

    n_outputs: int = 1
    flat: bool = True

    kind = "regressor"
    checks = {"n_outputs": check_count, "flat": check_flag}

    @property
    def n_functions(self) -> int:
        return self.n_outputs

    def decision(self, F: Array) -> Array:
        return self.predict(F)

    def predict(self, F: Array) -> Array:
        F = self._columns(F)
        return F[:, 0] if self.flat and self.n_outputs == 1 else F


@dataclass(frozen=True, eq=False)
class Detection(Output):
    """Inliers, +1, where F > 0; the rest, −1, is novel.

    Parameters
    ----------
    offset : float
        What `scores` have above decisions.
    """

    offset: float

    kind = "detector"
    checks = {"offset": check_number}
    n_functions = 1

    def predict(self, F: Array) -> Array:
        return np.where(self._numpy(F)[:, 0] > 0, 1, -1).astype(np.intp)

    def with_shift(self, shift: Array) -> "Detection":
        return Detection(self.offset - float(shift[0]))

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        clear = np.abs(before) > ON_THE_MARGIN * np.max(np.abs(before))
        shift = shift_keeping_decisions(before, after, clear)
        return shift, self.with_shift(shift)

    def scores(self, F: Array) -> Array:
        """What `score_samples` returns."""
        return self.decision(F) + self.offset


@dataclass(frozen=True, eq=False)
class DistanceDetection(Output):
    """Inliers, +1, where the distance ℓ − Σⱼ Fⱼ² is at most the threshold; the rest, −1, is novel.

    For kernels of which ℓ = k(x, x) is the same everywhere, F are scaled coordinates, and the sum is what combinations
    of training images explain of φ(x).

    Parameters
    ----------
    n_axes : int
        Functions Fⱼ.
    squared_length : float
        ℓ.
    offset : float
        Minus the threshold: what `scores` have above decisions.
    """

    n_axes: int
    squared_length: float
    offset: float

    kind = "detector"
    checks = {"n_axes": check_count, "squared_length": check_number, "offset": check_number}

    @property
    def n_functions(self) -> int:
        return self.n_axes

    def decision(self, F: Array) -> Array:
        return self.scores(F) - self.offset

    def predict(self, F: Array) -> Array:
        return np.where(to_numpy(self.decision(F)) >= 0, 1, -1).astype(np.intp)

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        """Functions keep their constants; the threshold is moved so that the fewest decisions change."""
        old, new = self.decision(before)[:, None], self.decision(after)[:, None]
        shift = float(shift_keeping_decisions(old, new)[0])
        return np.zeros(self.n_axes), replace(self, offset=self.offset - shift)

    def scores(self, F: Array) -> Array:
        """What `score_samples` returns: minus the distance."""
        F = self._columns(F)
        return array_namespace(F).sum(F * F, axis=1) - self.squared_length


@dataclass(frozen=True, eq=False)
class Coordinates(Output):
    """The first coordinates of a transformer.

    Parameters
    ----------
    n_components : int
    """

    n_components: int

    kind = "transformer"
    checks = {"n_components": check_count}

    @property
    def n_functions(self) -> int:
        return self.n_components

    def decision(self, F: Array) -> Array:
        return self.predict(F)

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        """Coordinates keep their origin, which the reduction of axes and mean has approximated."""
        return np.zeros(before.shape[1]), self

    def predict(self, F: Array) -> Array:
        if F.ndim != 2 or F.shape[1] < self.n_components:
            return self._columns(F)  # which says what is wrong
        return F[:, : self.n_components]


class _Classes(Output):
    """One function per class, one for two classes: positive, or the largest, where the class is the right one."""

    classes: Array

    kind = "classifier"
    checks = {"classes": check_classes}

    @property
    def n_functions(self) -> int:
        return 1 if self.classes.size == 2 else self.classes.size

    def signs(self, y: Targets) -> np.ndarray | None:
        members = np.asarray(y)[:, None] == (self.classes[1:] if self.n_functions == 1 else self.classes)
        return np.where(members, 1, -1)


class _PlattClasses(_Classes):
    """Classes of libsvm, whose probabilities are those of Platt's parameters `probA` and `probB`, or not there."""

    probA: Array
    probB: Array

    def __post_init__(self) -> None:
        super().__post_init__()
        owner, given = type(self).__name__, {"probA": self.probA, "probB": self.probB}
        missing = [name for name, value in given.items() if value is None]
        if len(missing) == 1:
            raise ValueError(f"{owner} needs probA and probB together or not at all; {missing[0]} is None.")
        for name, value in given.items():
            checked = None if missing else check_vector(owner, name, value, self.n_functions)
            object.__setattr__(self, name, checked)

    @property
    def has_probabilities(self) -> bool:
        return self.probA is not None

    def recentred(self, before: np.ndarray, after: np.ndarray, y: Targets | None) -> tuple[np.ndarray, Output]:
        # Examples of other classes do not matter to a function that tells two apart. Probabilities move with the
        # threshold.
        signs = None if y is None else self.signs(y)
        return shift_keeping_decisions(before, after, None if signs is None else signs != 0), self


@dataclass(frozen=True, eq=False)
class Binary(_PlattClasses):
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

    n_functions = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes.size != 2:
            raise ValueError(f"Binary needs 2 classes; got {self.classes.size}. OneVsOne and OneVsRest take more.")

    def predict(self, F: Array) -> Array:
        return self.classes[(self._numpy(F)[:, 0] >= 0).astype(np.intp)]

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        return class_probabilities(-F, self.probA, self.probB, 2)


@dataclass(frozen=True, eq=False)
class OneVsOne(_PlattClasses):
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

    checks = {
        "classes": partial(check_classes, minimum=3),
        "decision_function_shape": one_of("ovr", "ovo"),
        "break_ties": check_flag,
    }

    @property
    def n_functions(self) -> int:
        return self.classes.size * (self.classes.size - 1) // 2

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

    def signs(self, y: Targets) -> np.ndarray:
        return ((np.asarray(y)[:, None] == self.classes) @ self._incidence.T).astype(int)

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        return class_probabilities(F, self.probA, self.probB, self.classes.size)

    def _votes(self, for_first: np.ndarray) -> np.ndarray:
        """How many pairs each class wins, shape (q, n_classes)."""
        # A pair that does not vote for its first class votes for its second: votes are counts of seconds plus changes.
        return for_first.astype(float) @ self._incidence + np.sum(self._incidence < 0, axis=0)

    def _votes_with_confidence(self, F: Array) -> np.ndarray:
        r"""Votes plus :math:`c / (3(|c| + 1))` with c the sum of a class's values: less than one vote together."""
        F = self._numpy(F)
        confidence = F @ self._incidence.astype(F.dtype)
        # A value of zero is a vote for the first class here, and for the second one in libsvm's `predict`.
        return self._votes(F >= 0) + confidence / (3 * (np.abs(confidence) + 1))

    @cached_property
    def _incidence(self) -> np.ndarray:
        """+1 for the first class of each pair, −1 for its second, shape (n_pairs, n_classes)."""
        each = np.eye(self.classes.size)
        return np.array([each[i] - each[j] for i, j in combinations(range(self.classes.size), 2)])


@dataclass(frozen=True, eq=False)
class OneVsRest(_PlattClasses):
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

    checks = {"multilabel": check_flag, "classes": partial(check_classes, minimum=1), "threshold": check_number}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.multilabel:
            check_classes("OneVsRest", "classes", self.classes)
        k = self.n_functions
        constants = np.full(k, NOT_CONSTANT) if self.constants is None else self.constants
        constants = check_vector("OneVsRest", "constants", constants, k)
        if not np.all(np.isin(constants, (NOT_CONSTANT, 0, 1))):
            raise ValueError(f"OneVsRest needs `constants` of −1, 0 and 1; got {constants!r}.")
        object.__setattr__(self, "constants", constants)

    @property
    def n_functions(self) -> int:
        return 1 if self._is_binary else self.classes.size

    def predict(self, F: Array) -> Array:
        F = self._numpy(F)
        above = np.greater(F, self.threshold)
        if self.multilabel:
            return above.astype(int)
        return self.classes[above[:, 0].astype(np.intp) if self._is_binary else np.argmax(F, axis=1)]

    def signs(self, y: Targets) -> np.ndarray:
        signs = np.where(np.asarray(y) > 0, 1, -1) if self.multilabel else super().signs(y)
        return signs * (self.constants == NOT_CONSTANT)

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        columns = [class_probabilities(-F[:, [j]], self.probA[j], self.probB[j], 2)[:, 1] for j in range(F.shape[1])]
        P = np.where(self.constants == NOT_CONSTANT, np.stack(columns, axis=1), self.constants)
        if self.n_functions == 1:
            P = np.concatenate([1 - P, P], axis=1)
        if self.multilabel:
            return P
        sums = np.sum(P, axis=1, keepdims=True)
        return np.divide(P, sums, out=P, where=sums != 0)

    @property
    def _is_binary(self) -> bool:
        return not self.multilabel and self.classes.size == 2


@dataclass(frozen=True, eq=False)
class Logistic(_Classes):
    r"""One function per class, one for two classes; the largest value wins, and a link makes probabilities.

    Two classes have P(second) = σ(βF) with :math:`\sigma(F) = 1/(1 + e^{-F})`. More classes have

    - "softmax": :math:`P_c = e^{\beta F_c} / \sum_j e^{\beta F_j}`, as multinomial logistic regression and linear
      discriminants;
    - "one_vs_rest": :math:`P_c = \sigma(\beta F_c) / \sum_j \sigma(\beta F_j)`, as one logistic regression per class.

    With "clipped", (1 + F)/2 between zero and one stands for σ(F): the loss "modified_huber" of `SGDClassifier`. Where
    all classes have probability zero they get equal ones, as in scikit-learn. Where links round values that differ to
    equal probabilities, the class that wins has one rounding unit more: it is always the most probable.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    link : {"softmax", "one_vs_rest", "clipped"}, default="softmax"
    temperature : float, default=1.0
        β, the log-odds of a value of one. Kernel Fisher discriminants have values in units of the distance of class
        means.
    """

    classes: Array
    link: str = "softmax"
    temperature: float = 1.0

    has_probabilities = True
    checks = {
        "classes": check_classes,
        "link": one_of("softmax", "one_vs_rest", "clipped"),
        "temperature": check_number,
    }

    def predict(self, F: Array) -> Array:
        return self.classes[self._winners(self._numpy(F))]

    def signs(self, y: Targets) -> np.ndarray | None:
        # Values of a softmax have no zero: a constant for all classes changes nothing.
        return None if self.link == "softmax" and self.n_functions > 1 else super().signs(y)

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        return most_probable(self._linked(self.temperature * F), self._winners(F))

    def _winners(self, F: np.ndarray) -> np.ndarray:
        """Positions of the classes with the largest values."""
        return (F[:, 0] > 0).astype(np.intp) if self.n_functions == 1 else np.argmax(F, axis=1)

    def _linked(self, F: np.ndarray) -> np.ndarray:
        if self.link == "clipped":
            P = np.clip((F + 1) / 2, 0, 1)
            return np.concatenate([1 - P, P], axis=1) if self.n_functions == 1 else rows_of_sum_one(P)
        if self.n_functions == 1:
            return np.concatenate([expit(-F), expit(F)], axis=1)  # not 1 − σ(F), which has no small numbers
        return softmax(F, axis=1) if self.link == "softmax" else against_rest(F)


@dataclass(frozen=True, eq=False)
class Calibrated(Output):
    r"""Decisions D of a classifier, each made a probability by a curve of its own; the most probable class wins.

    - "sigmoid": :math:`1/(1 + \exp(a_c D_c + b_c))`, with `knots` a and `levels` b, one per class.
    - "isotonic": the straight lines between (knot, level), constant beyond the first and the last; `sizes` says how
      many of them each class has.
    - "temperature": softmax of :math:`\beta D`, with β the only entry of `knots`; two classes have D = (−d, d).

    Two classes have one curve, that of the second. More are divided by their sum, and equal where all are zero.

    Parameters
    ----------
    classifier : Output
        Of the classifier inside, which makes decisions of function values.
    method : {"sigmoid", "isotonic", "temperature"}
    knots, levels : arrays of shape (m,)
    sizes : array of shape (n_curves,)
        The number of knots of each curve.
    """

    classifier: Any  # an Output that has classes
    method: str
    knots: Array
    levels: Array
    sizes: Array

    kind = "classifier"
    has_probabilities = True
    has_decision = False
    checks = {"method": one_of("sigmoid", "isotonic", "temperature")}

    def __post_init__(self) -> None:
        inner = self.classifier
        if not isinstance(inner, Output) or inner.kind != "classifier" or not inner.has_decision:
            raise ValueError(f"Calibrated needs the output of a classifier with decisions; got {inner!r:.100}.")
        super().__post_init__()
        n_curves = 1 if self.method == "temperature" or self.classes.size == 2 else self.classes.size
        sizes = check_vector("Calibrated", "sizes", self.sizes, n_curves)
        if np.any(sizes < 1) or np.any(sizes != np.round(sizes)):
            raise ValueError(f"Calibrated needs at least one knot per curve; got sizes {sizes.tolist()}.")
        object.__setattr__(self, "sizes", sizes)
        for name in ("knots", "levels"):
            checked = check_vector("Calibrated", name, getattr(self, name), int(np.sum(sizes)))
            object.__setattr__(self, name, checked)

    @property
    def classes(self) -> np.ndarray:
        return self.classifier.classes

    @property
    def n_functions(self) -> int:
        return self.classifier.n_functions

    def decision(self, F: Array) -> Array:
        return self.classifier.decision(F)

    def predict(self, F: Array) -> Array:
        return self.classes[np.argmax(self.probabilities(F), axis=1)]

    def _probabilities(self, F: np.ndarray) -> np.ndarray:
        D = self.classifier.decision(F).astype(float)
        D = D[:, None] if D.ndim == 1 else D
        if self.method == "temperature":
            return softmax(self.knots[0] * (np.concatenate([-D, D], axis=1) if D.shape[1] == 1 else D), axis=1)
        # Values of pairs may be more than classes; scikit-learn calibrates the first ones.
        D = D[:, : len(self.sizes)]
        if self.method == "sigmoid":
            P = expit(-(self.knots * D + self.levels))
        else:
            P = np.stack([np.interp(d, *line) for d, line in zip(D.T, self.lines(), strict=True)], axis=1)
        return np.concatenate([1 - P, P], axis=1) if P.shape[1] == 1 else rows_of_sum_one(P)

    def lines(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Knots and levels of each class."""
        ends = np.cumsum(self.sizes).astype(int)[:-1]
        return list(zip(np.split(self.knots, ends), np.split(self.levels, ends), strict=True))

    def with_shift(self, shift: Array) -> Output:
        return replace(self, classifier=self.classifier.with_shift(shift))


def rows_of_sum_one(P: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; equal numbers where a row is zero."""
    sums = np.sum(P, axis=1, keepdims=True)
    return np.divide(P, sums, out=np.full_like(P, 1 / P.shape[1]), where=sums != 0)


def best_threshold(scores: Array, labels: Targets, threshold: float) -> float:
    """The constant b for which sign(score + b) makes fewest errors on labels ±1.

    All cuts between sorted scores are tried. The given `threshold` stays when none is better; else the best cut nearest
    to it is taken.

    Parameters
    ----------
    scores : array of shape (n,)
    labels : array of shape (n,), entries ±1
    threshold : float
        The present b.

    Returns
    -------
    float

    Examples
    --------
    >>> from preimage._models.machines import best_threshold
    >>> best_threshold([-2.0, -1.0, 3.0], [-1, 1, 1], 0.0)
    1.5
    """
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels)
    if scores.size == 0:
        return float(threshold)
    order = np.argsort(scores, kind="stable")
    ranked, positive = scores[order], labels[order] > 0
    # Errors when the first j scores are called negative: the positives among them, and the negatives after them.
    errors = np.concatenate([[0], np.cumsum(positive)]) + np.concatenate([np.cumsum(~positive[::-1])[::-1], [0]])
    cuts = np.concatenate([[ranked[0] - 1], (ranked[1:] + ranked[:-1]) / 2, [ranked[-1] + 1]])
    # Between equal scores there is no cut.
    possible = np.concatenate([[True], ranked[1:] > ranked[:-1], [True]])
    fewest = errors[possible].min()
    if np.sum((scores + threshold > 0) != (labels > 0)) <= fewest:
        return float(threshold)
    best = cuts[possible & (errors == fewest)]
    return float(-best[np.argmin(np.abs(best + threshold))])


def shift_keeping_decisions(before: np.ndarray, after: np.ndarray, relevant: np.ndarray | None = None) -> np.ndarray:
    """Constants for functions `after` that change the fewest signs of the functions `before`; arrays of shape (n, k).

    Not the fewest errors on labels: weights of classes and examples have moved the original's thresholds for a reason.

    Parameters
    ----------
    before, after : arrays of shape (n, k)
    relevant : boolean array of shape (n, k), optional
        Which signs count; all by default.

    Returns
    -------
    array of shape (k,)
    """
    counts = np.ones(before.shape, dtype=bool) if relevant is None else relevant
    columns = zip(before.T, after.T, counts.T, strict=True)
    return np.array([best_threshold(new[rows], np.where(old[rows] > 0, 1, -1), 0.0) for old, new, rows in columns])
