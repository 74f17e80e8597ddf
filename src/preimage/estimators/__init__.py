"""scikit-learn estimators: they validate, call the algorithms, and store."""

from preimage.estimators._compress import compress
from preimage.estimators._compressed import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
)
from preimage.estimators._empirical_kernel_map import EmpiricalKernelMap
from preimage.estimators._kernel_pca import KernelPCA

__all__ = [
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "CompressedTransformer",
    "EmpiricalKernelMap",
    "KernelPCA",
    "compress",
]
