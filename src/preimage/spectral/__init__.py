"""Leading eigenpairs of symmetric operators, and exact kernel PCA made of them."""

from preimage.spectral._arpack import Arpack
from preimage.spectral._auto import EIGENSOLVER_NAMES, as_eigensolver
from preimage.spectral._block_krylov import BlockKrylov
from preimage.spectral._dense import Dense
from preimage.spectral._eigensolver import EigenResult, Eigensolver
from preimage.spectral._principal import PrincipalSubspace, principal_subspace

__all__ = [
    "EIGENSOLVER_NAMES",
    "Arpack",
    "BlockKrylov",
    "Dense",
    "EigenResult",
    "Eigensolver",
    "PrincipalSubspace",
    "as_eigensolver",
    "principal_subspace",
]
