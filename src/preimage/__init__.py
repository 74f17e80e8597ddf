"""Kernel methods with pre-images: into feature space and back to inputs, with scikit-learn's interface."""

from typing import TYPE_CHECKING

from preimage._engine.lazy import lazy_names

if TYPE_CHECKING:  # what `__getattr__` imports when it is asked for
    from preimage._engine.progress import report_progress
    from preimage._engine.show_versions import show_versions
    from preimage.estimators import (
        CompressedClassifier,
        CompressedDetector,
        CompressedRegressor,
        CompressedTransformer,
        EmpiricalKernelMap,
        FeatureSpaceNeighbors,
        FeatureSpaceNeighborsClassifier,
        FeatureSpaceNeighborsRegressor,
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
        SparseGreedyDetector,
        SparseGreedyRegressor,
        SparseKernelFeatureAnalysis,
        compress,
    )
    from preimage.explorer import explore
    from preimage.inflation import Renormalized, inflation_report
    from preimage.interop import to_onnx
    from preimage.persistence import load, save

__version__ = "1.0.0"

# What is public: `__all__` here, and that of these modules. Everything else may change without notice.
PUBLIC_MODULES = {
    "kernels": "kernels and their algebra",
    "solvers": "pre-images",
    "landmarks": "few points for many rows",
    "reduced_sets": "fewer points for a machine",
    "eigensolvers": "leading components",
    "model_selection": "searches",
    "inflation": "more variables than rows",
    "widths": "widths from labels",
    "invariances": "what models should ignore",
    "geometry": "the surface φ(x)",
    "feature_space": "vectors and subspaces, for those who extend",
    "explorer": "a model as a web page",
    "plotting": "figures",
    "neuro": "brain scans, split halves",
    "interop": "other libraries and formats",
    "testing": "contracts for parts of your own",
    "exceptions": "errors and warnings",
}

__all__ = [
    "CompressedClassifier",
    "CompressedDetector",
    "CompressedRegressor",
    "CompressedTransformer",
    "EmpiricalKernelMap",
    "FeatureSpaceNeighbors",
    "FeatureSpaceNeighborsClassifier",
    "FeatureSpaceNeighborsRegressor",
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
    "SparseGreedyDetector",
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

_ELSEWHERE = {
    "preimage._engine.progress": ["report_progress"],
    "preimage._engine.show_versions": ["show_versions"],
    "preimage.explorer": ["explore"],
    "preimage.inflation": ["Renormalized", "inflation_report"],
    "preimage.interop": ["to_onnx"],
    "preimage.persistence": ["load", "save"],
}
_ESTIMATORS = {*__all__} - {"__version__"} - {name for names in _ELSEWHERE.values() for name in names}

# Importing everything takes half a second, and most programs use an estimator or two.
__getattr__, __dir__ = lazy_names(
    __name__,
    _ELSEWHERE | {"preimage.estimators": _ESTIMATORS},
    [*PUBLIC_MODULES, "estimators", "persistence", "calibration"],
)
