"""Leading eigenpairs of symmetric operators, and kernel PCA made of them: exact, and on landmarks."""

from preimage.spectral._arpack import Arpack
from preimage.spectral._auto import EIGENSOLVER_NAMES, as_eigensolver
from preimage.spectral._block_krylov import BlockKrylov
from preimage.spectral._dense import Dense
from preimage.spectral._eigensolver import EigenResult, Eigensolver
from preimage.spectral._landmark_principal import KernelMoments, landmark_subspace
from preimage.spectral._principal import PrincipalSubspace, principal_subspace

__all__ = [
    "EIGENSOLVER_NAMES",
    "Arpack",
    "BlockKrylov",
    "Dense",
    "EigenResult",
    "Eigensolver",
    "KernelMoments",
    "PrincipalSubspace",
    "as_eigensolver",
    "landmark_subspace",
    "principal_subspace",
]
