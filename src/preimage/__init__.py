"""Kernel methods that go into feature space and back, with scikit-learn's habits."""

from preimage.estimators import EmpiricalKernelMap, KernelPCA

__version__ = "0.1.0"

__all__ = ["EmpiricalKernelMap", "KernelPCA", "__version__"]
