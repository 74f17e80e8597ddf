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

__all__ = [
    "EIGENSOLVER_NAMES",
    "Arpack",
    "BlockKrylov",
    "Dense",
    "EigenResult",
    "Eigensolver",
    "KernelMoments",
    "OrientedFeatures",
    "PrincipalSubspace",
    "as_eigensolver",
    "coordinate_moments",
    "landmark_subspace",
    "oriented_features",
    "pair_moment",
    "principal_subspace",
    "rayleigh",
    "span_of_points",
]
