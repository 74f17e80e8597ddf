"""Leading eigenpairs of symmetric operators, with measured residuals."""

from preimage.eigensolvers._block_krylov import EIGENSOLVERS, BlockKrylov, EigenOptions
from preimage.eigensolvers._eigensolver import Arpack, Dense, EigenResult, Eigensolver, measured_result

__all__ = ["Arpack", "BlockKrylov", "Dense", "EigenResult", "Eigensolver", "measured_result"]
