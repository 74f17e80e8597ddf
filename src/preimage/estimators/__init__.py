"""scikit-learn estimators: they validate, call the algorithms, and store."""

from preimage.estimators._compress import compress
from preimage.estimators._compressed import (
    CompressedClassifier,
    CompressedDetector,
    CompressedRegressor,
    CompressedTransformer,
)
from preimage.estimators._compressed_files import load
from preimage.estimators._empirical_kernel_map import EmpiricalKernelMap
from preimage.estimators._inflation_report import inflation_report
from preimage.estimators._kernel_fisher import KernelFisherDiscriminant
from preimage.estimators._kernel_fisher_cv import KernelFisherDiscriminantCV
from preimage.estimators._kernel_kmeans import KernelKMeans
from preimage.estimators._kernel_pca import KernelPCA
from preimage.estimators._oriented_kernel_pca import OrientedKernelPCA
from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
from preimage.estimators._renormalized import Renormalized
from preimage.estimators._semisupervised_kernel_pca import SemiSupervisedKernelPCA
from preimage.estimators._sparse_greedy_classification import SparseGreedyClassifier
from preimage.estimators._sparse_greedy_model import SparseGreedyPath
from preimage.estimators._sparse_greedy_regression import SparseGreedyRegressor

__all__ = [
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "CompressedTransformer",
    "EmpiricalKernelMap",
    "KernelFisherDiscriminant",
    "KernelFisherDiscriminantCV",
    "KernelKMeans",
    "KernelPCA",
    "OrientedKernelPCA",
    "PenalizedDiscriminant",
    "Renormalized",
    "SemiSupervisedKernelPCA",
    "SparseGreedyClassifier",
    "SparseGreedyPath",
    "SparseGreedyRegressor",
    "compress",
    "inflation_report",
    "load",
]
