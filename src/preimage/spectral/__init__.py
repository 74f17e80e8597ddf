"""Leading eigenpairs of symmetric operators, and kernel PCA made of them: exact, and on landmarks."""

from preimage.spectral._arpack import Arpack
from preimage.spectral._auto import EIGENSOLVER_NAMES, as_eigensolver
from preimage.spectral._block_krylov import BlockKrylov
from preimage.spectral._dense import Dense
from preimage.spectral._eigensolver import EigenResult, Eigensolver
from preimage.spectral._landmark_principal import KernelMoments, landmark_subspace
from preimage.spectral._oriented import (
    OrientedFeatures,
    coordinate_moments,
    oriented_features,
    pair_moment,
    span_of_points,
)
from preimage.spectral._principal import PrincipalSubspace, principal_subspace
from preimage.spectral._rayleigh import rayleigh
from preimage.spectral._secular import SecularMinimum, secular_minimum
from preimage.spectral._semi_supervised import (
    FeatureSample,
    SemiSupervisedSubspace,
    narrowed,
    semi_supervised_subspace,
)

__all__ = [
    "EIGENSOLVER_NAMES",
    "Arpack",
    "BlockKrylov",
    "Dense",
    "EigenResult",
    "Eigensolver",
    "FeatureSample",
    "KernelMoments",
    "OrientedFeatures",
    "PrincipalSubspace",
    "SecularMinimum",
    "SemiSupervisedSubspace",
    "as_eigensolver",
    "coordinate_moments",
    "landmark_subspace",
    "narrowed",
    "oriented_features",
    "pair_moment",
    "principal_subspace",
    "rayleigh",
    "secular_minimum",
    "semi_supervised_subspace",
    "span_of_points",
]
