"""Probabilities that a calibrator learned from decisions, as `CalibratedClassifierCV` has them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from preimage.machines.outputs._checks import check_choice, check_vector
from preimage.machines.outputs._logistic import rows_of_sum_one
from preimage.machines.outputs._output import Output

METHODS = ("sigmoid", "isotonic", "temperature")


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

    classifier: Any
    method: str
    knots: Any
    levels: Any
    sizes: Any

    kind = "classifier"
    has_probabilities = True
    has_decision = False
    fitted_constants = "values"  # the border between classes is where probabilities cross, not where decisions vanish

    def __post_init__(self):
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
    def classes(self):
        return self.classifier.classes

    @property
    def n_functions(self):
        return self.classifier.n_functions

    def decision(self, F):
        return self.classifier.decision(F)

    def predict(self, F):
        return self.classes[np.argmax(self.probabilities(F), axis=1)]

    def probabilities(self, F):
        D = self.classifier.decision(self._numpy(F)).astype(float)
        D = D[:, None] if D.ndim == 1 else D
        if self.method == "temperature":
            return softmax(self.knots[0] * (np.concatenate([-D, D], axis=1) if D.shape[1] == 1 else D), axis=1)
        # Values of pairs may be more than classes; scikit-learn calibrates the first ones.
        P = np.stack([curve(d) for curve, d in zip(self.curves(), D.T)], axis=1)
        return np.concatenate([1 - P, P], axis=1) if P.shape[1] == 1 else rows_of_sum_one(P)

    def curves(self):
        """The calibrating function of each class."""
        if self.method == "sigmoid":
            return [lambda d, a=a, b=b: expit(-(a * d + b)) for a, b in zip(self.knots, self.levels)]
        return [lambda d, x=x, y=y: np.interp(d, x, y) for x, y in self.lines()]

    def lines(self):
        """Knots and levels of each class."""
        ends = np.cumsum(self.sizes).astype(int)[:-1]
        return list(zip(np.split(self.knots, ends), np.split(self.levels, ends)))

    def with_shift(self, shift):
        return replace(self, classifier=self.classifier.with_shift(shift))
