"""Classes whose function values become probabilities by a link, as linear classifiers have them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from preimage.machines.outputs._checks import check_choice, check_classes
from preimage.machines.outputs._output import Output

LINKS = ("softmax", "one_vs_rest", "clipped")


@dataclass(frozen=True, eq=False)
class Logistic(Output):
    r"""One function per class, one for two classes; the largest value wins, and a link makes probabilities.

    Two classes have P(second) = σ(F) with :math:`\sigma(F) = 1/(1 + e^{-F})`. More classes have

    - "softmax": :math:`P_c = e^{F_c} / \sum_j e^{F_j}`, as multinomial logistic regression and linear discriminants;
    - "one_vs_rest": :math:`P_c = \sigma(F_c) / \sum_j \sigma(F_j)`, as one logistic regression per class.

    With "clipped", (1 + F)/2 between zero and one stands for σ(F): the loss "modified_huber" of `SGDClassifier`. Where
    all classes have probability zero they get equal ones, as in scikit-learn.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    link : {"softmax", "one_vs_rest", "clipped"}, default="softmax"
    """

    classes: Any
    link: str = "softmax"

    kind = "classifier"
    has_probabilities = True
    fitted_constants = "values"  # a sign says nothing where classes compete by softmax

    def __post_init__(self):
        self._set(
            classes=check_classes("Logistic", self.classes), link=check_choice("Logistic", "link", self.link, LINKS)
        )

    @property
    def n_functions(self):
        return 1 if self.classes.size == 2 else self.classes.size

    def decision(self, F):
        F = self._columns(F)
        return F[:, 0] if self.n_functions == 1 else F

    def predict(self, F):
        F = self._numpy(F)
        return self.classes[(F[:, 0] > 0).astype(np.intp) if self.n_functions == 1 else np.argmax(F, axis=1)]

    def probabilities(self, F):
        F = self._numpy(F)
        if self.link == "softmax" and self.n_functions > 1:
            return softmax(F, axis=1)
        P = np.clip((F + 1) / 2, 0, 1) if self.link == "clipped" else expit(F)
        return np.concatenate([1 - P, P], axis=1) if self.n_functions == 1 else rows_of_sum_one(P)


def rows_of_sum_one(P):
    """Rows divided by their sums; equal numbers where a row is zero."""
    sums = np.sum(P, axis=1, keepdims=True)
    return np.divide(P, sums, out=np.full_like(P, 1 / P.shape[1]), where=sums != 0)
