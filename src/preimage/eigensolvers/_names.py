"""The choice of an eigensolver."""

from preimage._validation import check_parameters
from preimage.eigensolvers._arpack import Arpack
from preimage.eigensolvers._block_krylov import BlockKrylov
from preimage.eigensolvers._dense import Dense
from preimage.eigensolvers._eigensolver import Eigensolver

EIGENSOLVER_NAMES = ("auto", "dense", "block_krylov", "arpack")

# Up to this size one block of an iteration is the whole matrix.
TINY = 32
# Below this size LAPACK takes a fraction of a second and gives every digit.
DENSE_SIZE = 1000
# Share of all eigenpairs from which on a direct method wins.
DENSE_SHARE = 0.15


def as_eigensolver(eigensolver, *, size, k, held=True, tol=None, max_iter=None):
    """The solver that a name means for the k leading pairs of a matrix of the given size; "auto" chooses."""
    if isinstance(eigensolver, Eigensolver):
        if hasattr(eigensolver, "_parameter_constraints"):
            check_parameters(eigensolver)
        return eigensolver
    if eigensolver in EIGENSOLVER_NAMES and size <= TINY:
        eigensolver = "dense"
    if eigensolver == "auto":
        direct = held and (size <= DENSE_SIZE or k > DENSE_SHARE * size)
        eigensolver = "dense" if direct else "block_krylov"
    if eigensolver == "dense":
        return Dense()
    if eigensolver == "block_krylov":
        return BlockKrylov(tol=tol, max_iter=max_iter)
    if eigensolver == "arpack":
        return Arpack(tol=tol or 0.0, max_iter=max_iter)
    raise ValueError(f"Unknown eigensolver {eigensolver!r}; known: {', '.join(EIGENSOLVER_NAMES)}.")
