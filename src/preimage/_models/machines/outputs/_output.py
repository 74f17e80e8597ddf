"""What every output can do, checks of its fields, which may come from a file of somebody else, and thresholds."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NoReturn, Self

import numpy as np

from preimage._engine.arrays import to_numpy
from preimage._engine.typing import Array, Targets


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


def check_choice(owner: str, name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few strings."""
    if not isinstance(value, str) or value not in choices:
        _fail(owner, name, " or ".join(map(repr, choices)), value)
    return str(value)


def check_vector(owner: str, name: str, value: Any, size: int) -> np.ndarray:
    """`size` finite numbers, as a read-only array."""
    values = _plain_array(value)
    if values is None or values.dtype.kind not in "iuf" or values.shape != (size,) or not np.all(np.isfinite(values)):
        _fail(owner, name, f"{size} finite numbers", value)
    return _frozen(values.astype(np.float64))


def check_optional_vectors(owner: str, size: int, **vectors: Any) -> dict[str, np.ndarray | None]:
    """All of `vectors`, or all of them None."""
    missing = [name for name, value in vectors.items() if value is None]
    if missing and len(missing) < len(vectors):
        raise ValueError(f"{owner} needs {' and '.join(vectors)} together or not at all; {missing[0]} is None.")
    return {name: None if missing else check_vector(owner, name, value, size) for name, value in vectors.items()}


def check_classes(owner: str, classes: Any, *, minimum: int = 2) -> np.ndarray:
    """Distinct labels as a read-only array; strings given as a list become an array of objects."""
    wanted = f"at least {minimum} distinct labels: an array of numbers or strings, or a list of strings"
    values = _labels(classes)
    if values is None or values.size < minimum or len(set(values.tolist())) < values.size:
        _fail(owner, "classes", wanted, classes)
    return _frozen(values.copy())


def _labels(classes: Any) -> np.ndarray | None:
    """A flat array of finite numbers, flags or strings, or None."""
    if isinstance(classes, list):
        are_strings = all(isinstance(label, str) for label in classes)
        return np.array(classes, dtype=object) if are_strings else None
    values = _plain_array(classes, kinds="biufUO")
    if values is None or values.ndim != 1:
        return None
    if values.dtype.kind == "O":
        return values if all(isinstance(label, str) for label in values) else None
    return values if values.dtype.kind != "f" or np.all(np.isfinite(values)) else None


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
