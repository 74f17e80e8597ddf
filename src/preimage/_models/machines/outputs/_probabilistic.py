"""Classes with probabilities by a link or a calibrating curve, as linear and calibrated classifiers have them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from preimage._engine.finite import against_rest, most_probable
from preimage._engine.typing import Array, Targets
from preimage._models.machines.outputs._output import Output, check_choice, check_classes, check_number, check_vector

LINKS = ("softmax", "one_vs_rest", "clipped")
METHODS = ("sigmoid", "isotonic", "temperature")


@dataclass(frozen=True, eq=False)
class Logistic(Output):
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

    kind = "classifier"
    has_probabilities = True

    def __post_init__(self) -> None:
        self._set(
            classes=check_classes("Logistic", self.classes),
            link=check_choice("Logistic", "link", self.link, LINKS),
            temperature=check_number("Logistic", "temperature", self.temperature),
        )

    @property
    def n_functions(self) -> int:
        return 1 if self.classes.size == 2 else self.classes.size

    def decision(self, F: Array) -> Array:
        F = self._columns(F)
        return F[:, 0] if self.n_functions == 1 else F

    def predict(self, F: Array) -> Array:
        return self.classes[self._winners(self._numpy(F))]

    def signs(self, y: Targets) -> np.ndarray | None:
        if self.link == "softmax" and self.n_functions > 1:
            return None  # values have no zero: a constant for all classes changes nothing
        members = np.asarray(y)[:, None] == (self.classes[1:] if self.n_functions == 1 else self.classes)
        return np.where(members, 1, -1)

    def probabilities(self, F: Array) -> np.ndarray:
        F = self._numpy(F)
        return most_probable(self._linked(self.temperature * F), self._winners(F))

    def _winners(self, F: np.ndarray) -> np.ndarray:
        """Positions of the classes with the largest values."""
        return (F[:, 0] > 0).astype(np.intp) if self.n_functions == 1 else np.argmax(F, axis=1)

    def _linked(self, F: np.ndarray) -> np.ndarray:
        if self.link == "softmax" and self.n_functions > 1:
            return softmax(F, axis=1)
        if self.link == "one_vs_rest" and self.n_functions > 1:
            return against_rest(F)
        if self.link != "clipped":
            return np.concatenate([expit(-F), expit(F)], axis=1)  # not 1 − σ(F), which has no small numbers
        P = np.clip((F + 1) / 2, 0, 1)
        return np.concatenate([1 - P, P], axis=1) if self.n_functions == 1 else rows_of_sum_one(P)


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

    def __post_init__(self) -> None:
        inner = self.classifier
        if not isinstance(inner, Output) or inner.kind != "classifier" or not inner.has_decision:
            raise ValueError(f"Calibrated needs the output of a classifier with decisions; got {inner!r:.100}.")
        method = check_choice("Calibrated", "method", self.method, METHODS)
        n_curves = 1 if method == "temperature" or self.classes.size == 2 else self.classes.size
        sizes = check_vector("Calibrated", "sizes", self.sizes, n_curves)
        if np.any(sizes < 1) or np.any(sizes != np.round(sizes)):
            raise ValueError(f"Calibrated needs at least one knot per curve; got sizes {sizes.tolist()}.")
        m = int(np.sum(sizes))
        self._set(
            method=method,
            sizes=sizes,
            knots=check_vector("Calibrated", "knots", self.knots, m),
            levels=check_vector("Calibrated", "levels", self.levels, m),
        )

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

    def probabilities(self, F: Array) -> np.ndarray:
        D = self.classifier.decision(self._numpy(F)).astype(float)
        D = D[:, None] if D.ndim == 1 else D
        if self.method == "temperature":
            return softmax(self.knots[0] * (np.concatenate([-D, D], axis=1) if D.shape[1] == 1 else D), axis=1)
        # Values of pairs may be more than classes; scikit-learn calibrates the first ones.
        P = np.stack([curve(d) for curve, d in zip(self.curves(), D.T)], axis=1)
        return np.concatenate([1 - P, P], axis=1) if P.shape[1] == 1 else rows_of_sum_one(P)

    def curves(self) -> list[Callable[[np.ndarray], Any]]:
        """The calibrating function of each class."""
        if self.method == "sigmoid":
            return [partial(_sigmoid, a, b) for a, b in zip(self.knots, self.levels)]
        return [partial(np.interp, xp=knots, fp=levels) for knots, levels in self.lines()]

    def lines(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Knots and levels of each class."""
        ends = np.cumsum(self.sizes).astype(int)[:-1]
        return list(zip(np.split(self.knots, ends), np.split(self.levels, ends)))

    def with_shift(self, shift: Array) -> Output:
        return replace(self, classifier=self.classifier.with_shift(shift))


def _sigmoid(a: float, b: float, d: np.ndarray) -> np.ndarray:
    return expit(-(a * d + b))


def rows_of_sum_one(P: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; equal numbers where a row is zero."""
    sums = np.sum(P, axis=1, keepdims=True)
    return np.divide(P, sums, out=np.full_like(P, 1 / P.shape[1]), where=sums != 0)
