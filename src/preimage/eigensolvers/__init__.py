"""Leading eigenpairs of symmetric operators, with measured residuals."""

from preimage.eigensolvers._block_krylov import BlockKrylov
from preimage.eigensolvers._eigensolver import Arpack, Dense, EigenResult, Eigensolver, measured_result
from preimage.eigensolvers._names import EIGENSOLVERS, EigenOptions

__all__ = ["Arpack", "BlockKrylov", "Dense", "EigenResult", "Eigensolver", "measured_result"]
