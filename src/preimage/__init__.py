"""Kernel methods with pre-images: into feature space and back to inputs, with scikit-learn's interface."""

from preimage._engine.progress import report_progress
from preimage._engine.show_versions import show_versions
from preimage.estimators import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
    EmpiricalKernelMap,
    KernelFisherDiscriminant,
    KernelFisherDiscriminantCV,
    KernelImputer,
    KernelImputerCV,
    KernelKMeans,
    KernelNoveltyDetector,
    KernelPCA,
    KernelProjectionPursuit,
    LinearProgrammingClassifier,
    LinearProgrammingRegressor,
    OrientedKernelPCA,
    PenalizedDiscriminant,
    SemiSupervisedKernelPCA,
    SparseGreedyClassifier,
    SparseGreedyRegressor,
    SparseKernelFeatureAnalysis,
    compress,
)
from preimage.explorer import explore
from preimage.inflation import Renormalized, inflation_report
from preimage.interop import to_onnx
from preimage.persistence import load, save

__version__ = "0.2.0"

__all__ = [
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "CompressedTransformer",
    "EmpiricalKernelMap",
    "KernelFisherDiscriminant",
    "KernelFisherDiscriminantCV",
    "KernelImputer",
    "KernelImputerCV",
    "KernelKMeans",
    "KernelNoveltyDetector",
    "KernelPCA",
    "KernelProjectionPursuit",
    "LinearProgrammingClassifier",
    "LinearProgrammingRegressor",
    "OrientedKernelPCA",
    "PenalizedDiscriminant",
    "Renormalized",
    "SemiSupervisedKernelPCA",
    "SparseGreedyClassifier",
    "SparseGreedyRegressor",
    "SparseKernelFeatureAnalysis",
    "__version__",
    "compress",
    "explore",
    "inflation_report",
    "load",
    "report_progress",
    "save",
    "show_versions",
    "to_onnx",
]
