"""scikit-learn estimators: they validate, call the algorithms, and store."""

from typing import TYPE_CHECKING

from preimage._engine.lazy import lazy_names

if TYPE_CHECKING:  # what `__getattr__` imports when it is asked for
    from preimage.estimators._empirical_kernel_map import EmpiricalKernelMap
    from preimage.estimators._feature_space_neighbors import (
        FeatureSpaceNeighbors,
        FeatureSpaceNeighborsClassifier,
        FeatureSpaceNeighborsRegressor,
    )
    from preimage.estimators._kernel_fisher import KernelFisherDiscriminant
    from preimage.estimators._kernel_fisher_cv import KernelFisherDiscriminantCV
    from preimage.estimators._kernel_imputer import KernelImputer
    from preimage.estimators._kernel_imputer_cv import KernelImputerCV
    from preimage.estimators._kernel_kmeans import KernelKMeans
    from preimage.estimators._kernel_novelty_detector import KernelNoveltyDetector
    from preimage.estimators._kernel_pca import KernelPCA
    from preimage.estimators._kernel_projection_pursuit import KernelProjectionPursuit
    from preimage.estimators._linear_programming import LinearProgrammingClassifier, LinearProgrammingRegressor
    from preimage.estimators._oriented_kernel_pca import OrientedKernelPCA
    from preimage.estimators._penalized_discriminant import PenalizedDiscriminant
    from preimage.estimators._semisupervised_kernel_pca import SemiSupervisedKernelPCA
    from preimage.estimators._sparse_greedy import SparseGreedyClassifier, SparseGreedyPath, SparseGreedyRegressor
    from preimage.estimators._sparse_greedy_detector import SparseGreedyDetector
    from preimage.estimators._sparse_kernel_feature_analysis import SparseKernelFeatureAnalysis
    from preimage.estimators.compressed._compress import compress
    from preimage.estimators.compressed._models import (
        CompressedClassifier,
        CompressedDetector,
        CompressedRegressor,
        CompressedTransformer,
    )

_PLACES = {
    "preimage.estimators._empirical_kernel_map": ["EmpiricalKernelMap"],
    "preimage.estimators._feature_space_neighbors": [
        "FeatureSpaceNeighbors",
        "FeatureSpaceNeighborsClassifier",
        "FeatureSpaceNeighborsRegressor",
    ],
    "preimage.estimators._kernel_fisher": ["KernelFisherDiscriminant"],
    "preimage.estimators._kernel_fisher_cv": ["KernelFisherDiscriminantCV"],
    "preimage.estimators._kernel_imputer": ["KernelImputer"],
    "preimage.estimators._kernel_imputer_cv": ["KernelImputerCV"],
    "preimage.estimators._kernel_kmeans": ["KernelKMeans"],
    "preimage.estimators._kernel_novelty_detector": ["KernelNoveltyDetector"],
    "preimage.estimators._kernel_pca": ["KernelPCA"],
    "preimage.estimators._kernel_projection_pursuit": ["KernelProjectionPursuit"],
    "preimage.estimators._linear_programming": ["LinearProgrammingClassifier", "LinearProgrammingRegressor"],
    "preimage.estimators._oriented_kernel_pca": ["OrientedKernelPCA"],
    "preimage.estimators._penalized_discriminant": ["PenalizedDiscriminant"],
    "preimage.estimators._semisupervised_kernel_pca": ["SemiSupervisedKernelPCA"],
    "preimage.estimators._sparse_greedy": ["SparseGreedyClassifier", "SparseGreedyPath", "SparseGreedyRegressor"],
    "preimage.estimators._sparse_greedy_detector": ["SparseGreedyDetector"],
    "preimage.estimators._sparse_kernel_feature_analysis": ["SparseKernelFeatureAnalysis"],
    "preimage.estimators.compressed._compress": ["compress"],
    "preimage.estimators.compressed._models": [
        "CompressedClassifier",
        "CompressedDetector",
        "CompressedRegressor",
        "CompressedTransformer",
    ],
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
