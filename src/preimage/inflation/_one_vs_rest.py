"""Support vector machines of one class against the rest, whose decisions can be corrected class by class."""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer
from sklearn.svm import SVC

from preimage._engine.threads import run_parallel, within_n_jobs
from preimage._engine.typing import Array, Rows, Targets


class OneVsRestSVC(OneVsRestClassifier):
    """scikit-learn's `OneVsRestClassifier` of an `SVC`, with weights of samples and of classes.

    Weights of classes in a dictionary become weights of samples; "balanced" is taken by each machine for its two
    classes. `n_jobs` limits threads, not processes; None is all that are available.
    """

    @within_n_jobs
    def fit(self, X: Rows, y: Targets, sample_weight: Targets = None) -> "OneVsRestSVC":
        y = np.asarray(y)
        self.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(y)
        if not hasattr(type(self), "classes_"):  # a property in earlier versions of scikit-learn
            self.classes_ = self.label_binarizer_.classes_
        weights, machine = self.row_weights(y, sample_weight), clone(self.estimator)
        if isinstance(machine.class_weight, dict):
            machine.set_params(class_weight=None)
        # libsvm leaves the interpreter to other threads while it fits.
        self.estimators_ = run_parallel(
            lambda name: clone(machine).fit(X, (y == name).astype(int), sample_weight=weights),
            self.label_binarizer_.classes_,
        )
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def row_weights(self, y: Targets, sample_weight: Array | None = None) -> Array | None:
        """What rows weigh in every machine, shape (n,); None where all weigh the same."""
        classes = self.estimator.class_weight
        if not isinstance(classes, dict):
            return sample_weight
        weights = np.array([classes.get(name, 1.0) for name in np.asarray(y).tolist()], dtype=np.float64)
        return weights if sample_weight is None else weights * sample_weight


def is_multiclass_svc(estimator: Any) -> bool:
    """Whether decisions of a fitted classifier are votes of pairs of classes of an SVC, one per class."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last) is SVC and len(last.classes_) > 2 and last.decision_function_shape == "ovr"


def one_vs_rest(estimator: Any) -> Any:
    """An unfitted copy of a classifier that is or ends with an SVC, with one machine per class instead."""
    if not isinstance(estimator, Pipeline):
        return OneVsRestSVC(clone(estimator))
    name, last = estimator.steps[-1]
    return Pipeline([*clone(estimator).steps[:-1], (name, OneVsRestSVC(clone(last)))], memory=estimator.memory)
