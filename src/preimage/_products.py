"""Products of large host matrices on our own threads, and long sums on devices."""

import numpy as np
from array_api_compat import is_torch_array

from preimage._threads import available_threads, run_parallel
from preimage._typing import Array

# Multiplications of a piece: a tenth of a millisecond and more, several times what it takes to call a thread. Ten times
# more, and products of the orthogonalisation in a fit of a few thousand points stay serial; ten times fewer gain
# nothing on sixteen threads, which then wait for each other more often.
FEWEST_MULTIPLICATIONS = 2**22
# Pieces per thread: the two of a thread that is held up are then done by two others. Ten times as many are so small
# that BLAS spends its time on preparing them, and threads spend it on waiting for the interpreter.
PIECES_PER_THREAD = 2
# Pieces of a sum. Each needs an array of the size of the result.
SUMMANDS = 16
# Length of float32 sums that a device adds up in one go, and from which on sums are cut into such pieces, which are
# added in float64: a sum of a million positive numbers loses two digits otherwise. Ten times shorter pieces would take
# longer to add than to make.
PIECE_OF_SUM, LONG_SUM = 2**14, 2**17


def product(A: Array, B: Array) -> Array:
    """A @ B; large products of NumPy arrays are shared among the threads of the caller."""
    if not is_shared(A, B):
        return _summed_in_pieces(A, B) if _has_long_sums(A, B) else A @ B
    (n, m), k = A.shape, B.shape[1]
    if m > 4 * max(n, k):
        return _summed(A, B)
    if n >= k:
        return _stacked(A, B)
    return _stacked(B.T, A.T).T


def difference(A: Array, fresh: Array) -> Array:
    """A − B for an array B that nobody else holds, in whose memory the result is stored."""
    if isinstance(A, np.ndarray) and isinstance(fresh, np.ndarray) and A.dtype == fresh.dtype:
        return np.subtract(A, fresh, out=fresh)
    return A - fresh


def is_shared(A: Array, B: Array) -> bool:
    """Whether several threads work on A @ B: NumPy arrays that are large enough, and threads that may be used."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.ndim == B.ndim == 2):
        return False
    return A.shape[0] * A.shape[1] * B.shape[1] >= 2 * FEWEST_MULTIPLICATIONS and available_threads() > 1


def _stacked(A: Array, B: Array) -> Array:
    """Rows of the result piece by piece; stored by columns, because BLAS is faster when the long side comes first."""
    (n, m), k = A.shape, B.shape[1]
    out = np.empty((k, n), np.result_type(A, B))
    # A multiple of eight rows, which the inner loops of BLAS take at a time.
    step = max(-(-n // (PIECES_PER_THREAD * available_threads())), -(-FEWEST_MULTIPLICATIONS // (m * k)))
    step = -(-step // 8) * 8

    def fill(start: int) -> None:
        np.matmul(B.T, A[start : start + step].T, out=out[:, start : start + step])

    run_parallel(fill, range(0, n, step))
    return out.T


def _summed(A: Array, B: Array) -> Array:
    """A small result with long sums: partial sums are added in a fixed order."""
    (n, m), k = A.shape, B.shape[1]
    step = max(-(-m // SUMMANDS), -(-FEWEST_MULTIPLICATIONS // (n * k)))
    step = -(-step // 8) * 8
    parts = run_parallel(lambda start: A[:, start : start + step] @ B[start : start + step], range(0, m, step))
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def _has_long_sums(A: Array, B: Array) -> bool:
    """Whether entries of A @ B are long sums of float32 numbers in tensors."""
    if not (is_torch_array(A) and is_torch_array(B) and A.ndim == B.ndim == 2 and A.shape[1] >= LONG_SUM):
        return False
    import torch

    return A.dtype == B.dtype == torch.float32


def _summed_in_pieces(A: Array, B: Array) -> Array:
    """A @ B of tensors, by products of pieces that are added in double precision."""
    import torch

    (n, m), k = A.shape, B.shape[1]
    count = m // PIECE_OF_SUM
    whole = count * PIECE_OF_SUM
    left = A[:, :whole].reshape(n, count, PIECE_OF_SUM).permute(1, 0, 2)
    parts = torch.bmm(left, B[:whole, :].reshape(count, PIECE_OF_SUM, k))
    total = torch.sum(parts, dim=0, dtype=torch.float64) + A[:, whole:] @ B[whole:, :]
    return total.to(A.dtype)
