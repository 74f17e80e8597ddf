"""The types that skops may load in our models: values without code."""

from preimage import landmarks, reduced_sets, solvers, spectral
from preimage.feature_space import Expansion, Moments, Subspace
from preimage.interop._machine import KernelMachine
from preimage.interop._outputs import Binary, Coordinates, Detection, OneVsOne, OneVsRest, Regression
from preimage.interop._value_state import KERNELS, SOLVERS

_VALUES = (
    *KERNELS,
    *SOLVERS,
    solvers.LearnedMap,
    solvers.FittedMap,
    solvers.FittedAuto,
    solvers.CoordinateMap,
    reduced_sets.Construct,
    reduced_sets.Distill,
    reduced_sets.Refine,
    reduced_sets.Select,
    reduced_sets.SelectL1,
    spectral.Arpack,
    spectral.BlockKrylov,
    spectral.Dense,
    spectral.EigenResult,
    spectral.KernelMoments,
    spectral.PrincipalSubspace,
    landmarks.KMeans,
    landmarks.Landmarks,
    landmarks.PivotedCholesky,
    landmarks.RandomlyPivotedCholesky,
    landmarks.SparseGreedy,
    landmarks.Uniform,
    Expansion,
    Moments,
    Subspace,
    KernelMachine,
    Binary,
    Coordinates,
    Detection,
    OneVsOne,
    OneVsRest,
    Regression,
)
# Values of others that are not on skops's own list: sparse points, and kernels of Gaussian processes, which a
# compressed model keeps among the parameters of its original.
_THEIRS = (
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.ExpSineSquared",
    "sklearn.gaussian_process.kernels.Exponentiation",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
)
# By name: estimators are a layer above this one.
_ESTIMATORS = (
    "preimage._ridge.Ridge",
    "preimage.estimators._compressed.CompressedClassifier",
    "preimage.estimators._compressed.CompressedDetector",
    "preimage.estimators._compressed.CompressedRegressor",
    "preimage.estimators._compressed.CompressedTransformer",
    "preimage.estimators._empirical_kernel_map.EmpiricalKernelMap",
    "preimage.discriminants._rule.LinearRule",
    "preimage.estimators._kernel_fisher.KernelFisherDiscriminant",
    "preimage.estimators._kernel_kmeans.KernelKMeans",
    "preimage.estimators._kernel_pca.KernelPCA",
    "preimage.estimators._oriented_kernel_pca.OrientedKernelPCA",
    "preimage.estimators._landmark_route.LandmarkModel",
    "preimage.estimators._sparse_greedy_classification.SparseGreedyClassifier",
    "preimage.estimators._sparse_greedy_regression.SparseGreedyRegressor",
)

#: For ``skops.io.load(path, trusted=SKOPS_TYPES)``. Functions as kernels are not among them: trust those yourself.
SKOPS_TYPES = tuple(sorted((*_ESTIMATORS, *_THEIRS, *(f"{each.__module__}.{each.__qualname__}" for each in _VALUES))))
