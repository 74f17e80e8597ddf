"""Fitted models made small."""

from preimage.estimators.compressed._compress import compress
from preimage.estimators.compressed._models import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
)
