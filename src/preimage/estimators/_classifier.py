"""scikit-learn's mixin for classifiers, for rows and labels on any device."""

from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from preimage._engine.arrays import from_device, in_memory
from preimage._engine.typing import Rows, Targets


class AnyDeviceClassifierMixin(ClassifierMixin):
    """A classifier whose labels may be on a device, where those that they are compared with need not be."""

    def score(self, X: Rows, y: Targets, sample_weight: Targets = None) -> float:
        """Accuracy: the fraction of rows whose labels are right, weighted by `sample_weight`; on rows of any device."""
        found, expected, weights = (from_device(in_memory(each)) for each in (self.predict(X), y, sample_weight))
        return float(accuracy_score(expected, found, sample_weight=weights))
