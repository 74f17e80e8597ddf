"""Small dense algebra, and every decision about numerical rank, definiteness and variance."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from scipy import linalg
from scipy.optimize import linear_sum_assignment

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, in_double, in_precision, is_host, itemsize
from preimage._engine.finite import NOBODY, REMEDY, current_method, is_finite
from preimage._engine.lapack import largest_eigenpairs, symmetric_multiplier
from preimage._engine.threads import available_threads, large_decomposition, run_parallel
from preimage._engine.typing import Array
from preimage.exceptions import UnsupportedKernelError

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


def difference_in(fresh: Array, B: Array) -> Array:
    """A − B for an array A that nobody else holds, in whose memory the result is stored."""
    if isinstance(fresh, np.ndarray):
        fresh -= B
        return fresh
    return fresh - B


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


# Rows up to which eigenvectors on CUDA are computed in double precision. torch iterates up to 512 and takes a direct
# method, which is right, beyond. Ten times more would be slow on cards that have little double precision.
ITERATED_ROWS = 1024


def eigh(A: Array) -> tuple[Array, Array]:
    """All eigenpairs of a symmetric matrix, or of each of a stack, smallest eigenvalue first."""
    # Not SciPy's: it brings a BLAS of its own, whose idle threads spin for a while and halve the speed of NumPy's.
    in_namespace = array_namespace(A).linalg.eigh
    decompose = in_double_precision(in_namespace) if is_iterated(A) and A.shape[-1] <= ITERATED_ROWS else in_namespace
    with large_decomposition(A.shape[-1]), _explained(A):
        values, vectors = decompose(A)
    return values, vectors


def eigvalsh(A: Array) -> Array:
    """The eigenvalues alone, smallest first."""
    careful = is_iterated(A) and A.shape[-1] <= ITERATED_ROWS
    with large_decomposition(A.shape[-1]), _explained(A):
        return in_precision(array_namespace(A).linalg.eigvalsh(in_double(A) if careful else A), A.dtype)


def svd(A: Array) -> tuple[Array, Array, Array]:
    """U, the singular values, largest first, and Vᵀ; as many of each as A has rows or columns, whichever are fewer."""
    in_namespace = array_namespace(A).linalg.svd
    decompose = in_double_precision(in_namespace) if is_iterated(A) else in_namespace
    with large_decomposition(min(A.shape)), _explained(A):
        U, values, Vt = decompose(A, full_matrices=False)
    return U, values, Vt


def cholesky(A: Array) -> Array | None:
    """L of A = LLᵀ, lower triangular; None where A is not positive definite to rounding."""
    xp = array_namespace(A)
    try:
        factor = xp.linalg.cholesky(A)
    except (np.linalg.LinAlgError, RuntimeError):  # NumPy's, and that of torch
        return None
    return factor if bool(xp.all(xp.isfinite(factor))) else None


def inverse_of_triangle(L: Array) -> Array:
    """L⁻¹ for a lower triangular matrix; what is above its diagonal has no part in it."""
    if isinstance(L, np.ndarray):
        return np.asarray(linalg.solve_triangular(L, np.eye(len(L), dtype=L.dtype), lower=True, check_finite=False))
    xp = array_namespace(L)
    identity = xp.eye(L.shape[0], dtype=L.dtype, **device_kwargs(L))
    if is_torch_array(L):
        import torch

        return torch.linalg.solve_triangular(L, identity, upper=False)
    return xp.linalg.solve(xp.tril(L), identity)


def solve_factored(L: Array, R: Array) -> Array:
    """(LLᵀ)⁻¹ R for the lower triangular factor of a matrix on a device, and R of shape (p,) or (p, k)."""
    if is_torch_array(L):
        import torch

        return torch.cholesky_solve(R[:, None], L)[:, 0] if R.ndim == 1 else torch.cholesky_solve(R, L)
    xp = array_namespace(L)
    return xp.linalg.solve(L.T, xp.linalg.solve(L, R))


@contextmanager
def _explained(A: Array) -> Iterator[None]:
    """Say why NumPy gives a matrix up, in calls below the public ones, which say it of themselves."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        if current_method() == NOBODY and not is_finite(A):
            raise ValueError(
                "A matrix has entries that are not finite and cannot be decomposed: points have NaN or infinity, or "
                f"kernel values overflow. {REMEDY}."
            ) from error
        raise


def is_iterated(A: Array) -> bool:
    """Whether the array library iterates for vectors of A, and stops above rounding errors."""
    return is_torch_array(A) and A.device.type == "cuda" and itemsize(A.dtype) == 4


def in_double_precision(decompose: Callable[..., tuple[Array, ...]]) -> Callable[..., tuple[Array, ...]]:
    """The same function, computing in double precision what it returns in the precision of its argument."""
    return lambda A, **options: tuple(in_precision(part, A.dtype) for part in decompose(in_double(A), **options))


# A Cholesky factor is trusted without computing eigenvalues when its smallest pivot exceeds this fraction of the
# largest diagonal entry: the condition number is then about 1e3, so that inverting the factor loses three digits.
# Ten times smaller would lose another digit; ten times larger would send well-conditioned matrices to `eigh`, which
# is several times slower.
TRUSTED_PIVOT = 1e-3
# Eigenvalues of a Gram matrix below this fraction of the largest are not whitened, by bytes per number of the data.
# Coordinates along them are kernel values divided by √λ, so rounding errors ε become ε/√λ: about 7e-11 in double and
# 1e-3 in single precision. Ten times larger drops directions of smooth kernels that hold structure; a hundred times
# smaller, eigenvalues on all rows are nearer to those without landmarks (4e-5 instead of 1e-3 of the weakest), and
# fewer components are determined, since their coefficients are larger.
WHITENING = {8: 1e-11, 4: 1e-8}
# Largest error of a coordinate, relative to the standard deviation of the coordinate, with which a component counts as
# determined by the data, by bytes per number. Ten times larger keeps components of which one digit less is right.
DETERMINED = {8: 1e-6, 4: 1e-2}
# Rounding errors of the entries of a scatter matrix that was summed over rows, in units of ε√(Sᵢᵢ Sⱼⱼ). Measured for
# 100 to 10⁶ rows: 0.2 to 1.5 on average, 6 at most. Ten times more would leave out components that are right.
SCATTER_ROUNDING = 4
# Eigenvalues below this fraction of the largest are computed once more among themselves: LAPACK's errors are ε times
# the largest, and leave eleven digits of those above. Ten times smaller leaves ten; ten times larger repeats
# decompositions of which nobody would see a difference.
GRADE = 1e-5
# Stripes of columns in which a device computes one triangle of YᵀY: with four, five eighths of all products. With ten
# times as many each would be too narrow to keep a device busy; so would those of few columns.
STRIPES, FEWEST_STRIPED_COLUMNS = 4, 1024
# Variances up to this many rounding units of the squared lengths are rounding: a squared length is a sum whose error
# is a few units. Ten times larger refuses data far from the origin whose variance still has two digits.
NO_VARIANCE = 8
# Columns up to which a product with a symmetric matrix goes vector by vector: that reads one triangle, while products
# of matrices rearrange all entries first, which takes as long as so many columns. Larger matrices are for all threads.
FEW_COLUMNS, FEW_ROWS = 4, 3000
# Rows of a matrix that BLAS rearranges in less time than calls for single vectors take.
PACKED_ROWS = 128
# Fraction of all eigenpairs, as a divisor and by bytes per number, up to which LAPACK's driver for some of them beats
# the one for all: it takes the same time for each pair, in double precision a good deal more.
SUBSET_FRACTION = {8: 6, 4: 2}


# Rows up to which all eigenpairs of a matrix take only milliseconds, so that looking for a low rank gains nothing.
SMALL_RANK = 300


def rank_tolerance(size: int, dtype: Any) -> float:
    """Eigenvalues below this fraction of the largest are rounding errors of a matrix with `size` rows.

    The norm of a matrix of rounding errors is at most its size times ε.
    """
    return size * epsilon(dtype)


def numerical_rank(values: Array, size: int, scale: float = 0.0, tolerance: float = 0.0) -> int:
    """How many descending eigenvalues (or singular values) of a matrix with `size` rows exceed rounding errors.

    Rounding errors are relative to the largest value, or to `scale` where the matrix is a difference of larger ones.
    A `tolerance` above `rank_tolerance` is for callers that divide by what they keep.
    """
    xp = array_namespace(values)
    if values.shape[0] == 0:
        return 0
    relative = max(rank_tolerance(size, values.dtype), tolerance)
    threshold = relative * max(float(xp.max(xp.abs(values))), scale)
    return int(xp.sum(xp.astype(values > threshold, xp.int64)))


def semidefinite_tolerance(dtype: Any) -> float:
    """Negative eigenvalues up to this fraction of the largest do not make a matrix indefinite: half of the digits.

    Kernel values from elsewhere often carry errors well above ε, which only ε itself would call indefinite; a kernel
    that is indefinite by its formula has negative eigenvalues of per cents.
    """
    return epsilon(dtype) ** 0.5


def is_semidefinite(values: Array, dtype: Any = None, allowed: float = 0.0) -> bool:
    """Whether eigenvalues, in any order, are those of a positive semidefinite matrix up to its errors.

    Parameters
    ----------
    values : array of shape (n,)
    dtype : floating type, optional
        The precision of the entries of the matrix, where eigenvalues were computed in another.
    allowed : float, default=0.0
        A modulus of negative eigenvalues that the caller accepts in any case, such as a ridge.
    """
    if values.shape[0] == 0:
        return True
    xp = array_namespace(values)
    largest = float(xp.max(xp.abs(values)))
    tolerance = semidefinite_tolerance(values.dtype if dtype is None else dtype)
    return float(xp.min(values)) >= -max(tolerance * largest, allowed)


def require_semidefinite(kernel: Any, gram: Array, who: str, advice: str, dtype: Any = None) -> None:
    """Refuse a kernel that has negative eigenvalues on these data; kernels that promise to have none are trusted.

    `who` needs a positive semidefinite kernel, `advice` says what to do instead; see `is_semidefinite` for `dtype`.
    """
    if kernel.is_positive_semidefinite:
        return
    kernel.require_symmetry(who)
    values = eigvalsh(gram)
    if not is_semidefinite(values, gram.dtype if dtype is None else dtype):
        raise UnsupportedKernelError(
            f"{who} needs a positive semidefinite kernel; {kernel!r} has negative eigenvalues on these data (smallest "
            f"{float(values[0]):.2g}, largest {float(values[-1]):.2g}). {advice}"
        )


def require_variance(kernel: Any, variance: float, squared_length: float, dtype: Any) -> None:
    """Refuse points whose `variance` in feature space is rounding of their `squared_length`, in the same units."""
    if variance <= NO_VARIANCE * epsilon(dtype) * squared_length:
        raise no_variance(kernel)


def no_variance(kernel: Any) -> ValueError:
    """The error for points that a kernel cannot tell apart."""
    if not kernel.takes_numbers:
        return ValueError(
            f"The points have no variance in feature space: all objects are equal, or {kernel!r} finds nothing in "
            "common, or no difference. Texts may be shorter than the substrings that are counted: Strings.blended(p) "
            "counts single letters, too."
        )
    return ValueError(
        "The points have no variance in feature space beyond rounding: all rows are equal, or the kernel "
        f"{kernel!r} cannot tell them apart (a gamma that is far too small makes every value equal; inner products of "
        "rows far from the origin leave their differences to rounding). Center and scale the data, or choose another "
        "gamma, for instance gamma='median'."
    )


def determined_count(errors: Array | float, deviations: Array, dtype: Any) -> int:
    """How many leading components have coordinates that the data determine, and not rounding errors.

    A component is determined while the error of its coordinates is at most `DETERMINED` times their standard
    deviation; those after the first that is not are left out.

    Parameters
    ----------
    errors : float or array of shape (k,)
        Rounding errors of coordinates along each component.
    deviations : array of shape (k,)
        Standard deviations of the coordinates, in the same units.
    dtype : floating type
        The precision of the data.
    """
    return leading_count(errors <= DETERMINED[itemsize(dtype)] * deviations)


def are_determined(
    coefficients: Array, deviations: Array, squared_lengths: Array | float, rounding: float, largest: float, dtype: Any
) -> Array:
    """Which functions Σ cᵢ k(zᵢ, ·) have values on the data, and lengths, that are not rounding errors; booleans (k,).

    Where kernel values have rounding errors δ, values of the functions have errors δ√Σcᵢ². The squared length
    Σ cᵢcⱼ k(zᵢ, zⱼ) has errors of Σcᵢ² times those of kernel values in double precision, from which it comes whatever
    the precision of the data.

    Parameters
    ----------
    coefficients : array of shape (m, k)
    deviations : array of shape (k,)
        Standard deviations of the values.
    squared_lengths : float or array of shape (k,)
    rounding : float
        Rounding errors δ of kernel values as `transform` computes them, relative to the largest.
    largest : float
        The largest kernel value.
    dtype : floating type
        The precision of the data.
    """
    xp, allowed = array_namespace(deviations), DETERMINED[itemsize(dtype)]
    squares = xp.sum(coefficients * coefficients, axis=0)
    errors, length_errors = rounding * largest * xp.sqrt(squares), epsilon(squares.dtype) * largest * squares
    return (errors <= allowed * deviations) & (length_errors <= allowed * squared_lengths)


def leading_count(is_kept: Array) -> int:
    """How many entries are true before the first that is not."""
    if isinstance(is_kept, np.ndarray):
        return is_kept.size if is_kept.all() else int(is_kept.argmin())
    xp = array_namespace(is_kept)
    lost = xp.astype(~is_kept, xp.int64)
    return int(xp.sum(xp.astype(xp.cumulative_sum(lost) == 0, xp.int64)))


def eigh_descending(A: Array) -> tuple[Array, Array]:
    """All eigenpairs of a symmetric matrix, largest eigenvalue first."""
    xp, (values, vectors) = array_namespace(A), eigh(A)
    return xp.flip(values), xp.flip(vectors, axis=1)


def top_eigh(A: Array, k: int | None) -> tuple[Array, Array]:
    """The k eigenpairs of a symmetric matrix with the largest eigenvalues, largest first; all for None."""
    n = A.shape[0]
    k = n if k is None else k
    if isinstance(A, np.ndarray) and k < n // SUBSET_FRACTION[itemsize(A.dtype)]:
        # LAPACK's subset driver skips most of the back-transformation.
        with large_decomposition(n):
            values, vectors = largest_eigenpairs(A, k)
        if values.shape[0] == k:
            return values[::-1], vectors[:, ::-1]
        # The driver silently returns fewer pairs where eigenvalues coincide; the full decomposition does not.
    values, vectors = eigh_descending(A)
    return values[:k], vectors[:, :k]


def graded_eigh(S: Array, k: int | None) -> tuple[Array, Array]:
    """The k leading eigenpairs (None: all) of a positive semidefinite S whose entries have errors ε√(Sᵢᵢ Sⱼⱼ).

    Scatter matrices have, and their small eigenvalues are known far better than ε times the largest, which is what
    LAPACK is right to. Eigenvectors of small eigenvalues are therefore freed of the large ones, with which S must not
    connect them, and computed once more among themselves; eigenvalues are Rayleigh quotients, whose errors are the
    squares of those of the vectors.
    """
    xp, start = array_namespace(S), 0
    values, vectors = top_eigh(S, k)
    if k is not None and k < S.shape[0] and float(values[-1]) < GRADE * float(values[0]):
        values, vectors = eigh_descending(S)
    least = epsilon(S.dtype) ** 2 * max(float(values[0]), 0.0)  # deviations of ε times the largest are nobody's
    while values.shape[0] == S.shape[0] and float(values[start]) > least:
        large = xp.astype(values >= GRADE * float(values[start]), xp.int64)
        start = max(start + 1, int(xp.sum(large)))
        if start >= values.shape[0]:
            break
        strong, weak = vectors[:, :start], vectors[:, start:]
        weak = weak - strong @ ((strong.T @ (S @ weak)) / values[:start, None])
        small, turn = eigh_descending(weak.T @ (S @ weak))
        values, vectors = xp.concat([values[:start], small]), xp.concat([strong, weak @ turn], axis=1)
    vectors = vectors[:, :k]
    return xp.sum(vectors * (S @ vectors), axis=0), vectors


def symmetric_product(A: Array, V: Array) -> Array:
    """A V for a symmetric matrix A, of which one triangle may be all that is read."""
    if isinstance(A, np.ndarray) and A.shape[0] <= PACKED_ROWS:
        return (V.T @ A).T
    if isinstance(A, np.ndarray) and V.shape[1] <= FEW_COLUMNS and A.shape[0] <= FEW_ROWS and A.dtype == V.dtype:
        multiply = symmetric_multiplier(A)
        if multiply is not None:
            rows, out = np.ascontiguousarray(V.T), np.empty((V.shape[1], A.shape[0]), dtype=A.dtype)
            for vector, image in zip(rows, out, strict=True):
                multiply(vector, image)
            return out.T
    if is_shared(A, V):
        return product(A, V)  # pieces of rows, each of which is one piece of memory
    # For a symmetric matrix in C order, BLAS is a quarter faster on Vᵀ A than on A V.
    return (V.T @ A).T


def low_rank_eigenpairs(K: Array) -> tuple[Array, Array] | None:
    """Eigenpairs of a positive semidefinite K above rounding errors, largest first, where they are few; else None.

    A pivoted Cholesky factorisation K = LLᵀ stops where only rounding errors are left. With L = QR and the singular
    value decomposition R = UΣVᵀ the eigenvectors of K are QU, orthonormal to rounding, and the eigenvalues Σ². For a
    rank r this costs about 4 n r² + 20 r³ multiplications, all eigenpairs 9 n³: worthwhile up to three fifths of
    the full rank.
    """
    n = K.shape[0]
    if not isinstance(K, np.ndarray) or n <= SMALL_RANK:
        return None
    with large_decomposition(n):
        factorise = linalg.get_lapack_funcs("pstrf", (K,))
        factor, pivots, rank, info = factorise(np.array(K, order="F"), lower=1)
        if info < 0 or not 0 < rank <= 3 * n // 5:
            return None
        L = np.empty((n, rank), K.dtype)
        L[pivots - 1] = np.tril(factor[:, :rank])
        Q, R = np.linalg.qr(L)
        U, singular_values, _ = np.linalg.svd(R)
    return singular_values**2, Q @ U


def orthonormal_columns(W: Array, floor: float = 0.0, inner: Array | None = None) -> Array:
    """An orthonormal basis of the columns of a tall W, by the eigenvectors of WᵀW.

    Directions of length at most `floor` are dropped. One pass keeps orthogonality to about ε·cond(W)²; call it again
    on its own result (as `orthogonalize` does) for full precision. Unlike a QR factorisation it consists of products
    with tall matrices, which are fast on every device, and it notices rank deficiency. `inner` is WᵀW where known.
    """
    xp = array_namespace(W)
    inner = product(W.T, W) if inner is None else inner
    root = _inverse_root_near_identity(inner) if floor < 1 else None
    if root is not None:
        return product(W, root)
    values, vectors = eigh(inner)
    floor = max(floor**2, epsilon(W.dtype) * float(values[-1]))
    if not float(values[0]) > floor:  # some are too short
        keep = int(xp.sum(xp.astype(values > floor, xp.int64)))
        values, vectors = values[values.shape[0] - keep :], vectors[:, values.shape[0] - keep :]
    return product(W, vectors / xp.sqrt(values)) if values.shape[0] else W[:, :0]


def _inverse_root_near_identity(A: Array) -> Array | None:
    """A^(−1/2) = I − E/2 + 3E²/8 of a NumPy matrix A = I + E, exact to rounding where E³ is; None for others.

    Columns that are orthonormal but for rounding need no eigenvectors, which take longer than all products with them.
    """
    if not isinstance(A, np.ndarray) or A.shape[0] == 0:
        return None
    E = A.copy()
    E.flat[:: A.shape[0] + 1] -= 1
    # The largest sum of moduli in a row bounds all eigenvalues; NaN is not smaller.
    if not float(np.abs(E).sum(axis=1).max()) < epsilon(A.dtype) ** (1 / 3):
        return None
    root = (3 / 8) * (E @ E) - E / 2
    root.flat[:: A.shape[0] + 1] += 1
    return root


def orthogonalize(
    W: Array, basis: Array, floor: float = 0.0, recent: Array | None = None, inner: Array | None = None
) -> Array:
    """Orthonormal columns that span W without its part in the orthonormal `basis`.

    Two passes, because the first leaves rounding errors of the size of what it removed. When W is known to lie in all
    but a few directions of the basis only up to rounding, `recent` holds those, and the first pass needs no others.
    Where it needs none, `inner` is WᵀW if that is known.
    """
    for directions in (basis if recent is None else recent, basis):
        if directions.shape[1]:
            W, inner = difference(W, product(directions, product(directions.T, W))), None
        W, inner = orthonormal_columns(W, floor, inner), None
        if W.shape[1] == 0:
            break
        # Columns have length one after the first pass. One that the second pass shortens to less than half was rounding
        # noise that lies in the basis.
        floor = 0.5
    return W


def triangular_factor(A: Array) -> Array:
    """R of A = QR with orthonormal columns of Q; as many rows as A, or as columns if these are fewer."""
    if isinstance(A, np.ndarray):
        with large_decomposition(min(A.shape)):
            return np.linalg.qr(A, mode="r")
    return array_namespace(A).linalg.qr(A, mode="reduced")[1]


def squares(Y: Array) -> Array:
    """YᵀY; on a device one triangle in stripes of columns, and its mirror image. BLAS on the host does that itself."""
    m = Y.shape[1]
    if is_host(Y) or m < FEWEST_STRIPED_COLUMNS:
        return Y.T @ Y
    out = array_namespace(Y).empty((m, m), dtype=Y.dtype, **device_kwargs(Y))
    step = -(-m // STRIPES)
    for start in range(0, m, step):
        stop = min(start + step, m)
        stripe = Y[:, start:stop].T @ Y[:, start:]
        out[start:stop, start:] = stripe
        out[stop:, start:stop] = stripe[:, stop - start :].T
    return out


def orthonormal_factor(K: Array, scale: float = 0.0, tolerance: float = 0.0) -> Array:
    """F with Fᵀ K F = I that spans the range of a positive semidefinite K; shape (n, rank).

    Columns are eigenvectors over √λ: dividing by the roots of rounding errors would destroy everything, so
    eigenvalues below `rank_tolerance`, or a larger `tolerance`, are left out. Where K is a difference of larger
    matrices, `scale` is the size of those, and of their rounding.
    """
    xp = array_namespace(K)
    values, vectors = eigh_descending(K)
    rank = numerical_rank(values, K.shape[0], scale, tolerance)
    return vectors[:, :rank] / xp.sqrt(values[:rank])


def whitening_factor(K: Array, dtype: Any) -> Array:
    """F with Fᵀ K F = I for a Gram matrix K of data of precision `dtype`, at least one column.

    Directions whose eigenvalue is below `WHITENING` times the largest are left out: coordinates along them would
    consist of rounding errors of the data. Where all pivots are long, F is the inverse of a Cholesky factor, which is
    several times faster than eigenvectors.
    """
    if (inverse := _trusted_inverse_factor(K)) is not None:
        return inverse.T
    xp = array_namespace(K)
    values, vectors = eigh_descending(K)
    rank = max(1, numerical_rank(values, K.shape[0], tolerance=WHITENING[itemsize(dtype)]))
    roots = xp.sqrt(xp.where(values > 0, values, xp.ones_like(values)))
    return vectors[:, :rank] / roots[:rank]


def has_long_pivots(K: Array) -> bool:
    """Whether K is so well-conditioned that `whitening_factor` trusts its Cholesky factor."""
    return _trusted_factor(K) is not None


def _trusted_factor(K: Array) -> Array | None:
    """The Cholesky factor L of K; None where a pivot is short, or the array library has no way to fail."""
    if isinstance(K, np.ndarray):
        with large_decomposition(K.shape[0]):
            try:
                L = np.linalg.cholesky(K)
            except np.linalg.LinAlgError:
                return None
        return L if np.diagonal(L).min() ** 2 > TRUSTED_PIVOT * np.diagonal(K).max() else None
    if not is_torch_array(K):
        return None
    import torch

    L, failure = torch.linalg.cholesky_ex(K)
    if int(failure) or not float(L.diagonal().min()) ** 2 > TRUSTED_PIVOT * float(K.diagonal().max()):
        return None
    return L


def _trusted_inverse_factor(K: Array) -> Array | None:
    """L⁻¹ for the trusted Cholesky factor L of K; None where there is none."""
    if (L := _trusted_factor(K)) is None:
        return None
    if isinstance(L, np.ndarray):
        with large_decomposition(K.shape[0]):
            return np.linalg.inv(L)
    return inverse_of_triangle(L)


def fix_signs(vectors: Array) -> Array:
    """Signs ±1, one per column of a matrix or of a stack of them, that make the entry of largest modulus positive."""
    if isinstance(vectors, np.ndarray):
        highest, lowest = vectors.max(axis=-2), vectors.min(axis=-2)
        if not (highest == -lowest).any():  # the usual case, in a third of the time
            return np.copysign(1.0, highest + lowest)
    xp = array_namespace(vectors)
    highest, lowest = xp.max(vectors, axis=-2), xp.min(vectors, axis=-2)
    first_high, first_low = xp.argmax(vectors, axis=-2), xp.argmin(vectors, axis=-2)
    # Equal moduli of both signs: the smallest index decides.
    negative = (highest < -lowest) | ((highest == -lowest) & (first_low < first_high))
    return xp.where(negative, -xp.ones_like(highest), xp.ones_like(highest))


def match(overlaps: Array) -> tuple[Array, Array]:
    """Which axis of one model stands for each axis of another, and with which sign; in NumPy.

    The assignment with the largest sum of absolute overlaps, in which no axis stands for two.

    Parameters
    ----------
    overlaps : array of shape (p, q), or (n, p, q) for n pairs of models
        Inner products or correlations of p axes of the one with q axes of the other.

    Returns
    -------
    order : integer array of shape (q,) or (n, q)
        Entry k is the axis that stands for axis k; where there are fewer axes than q, entries from p on mean none.
    signs : array of the same shape
        ±1.
    """
    if overlaps.ndim == 2:
        order, signs = match(overlaps[None])
        return order[0], signs[0]
    n, p, q = overlaps.shape
    if q == 0:
        return np.empty((n, 0), dtype=np.intp), np.empty((n, 0))
    if p < q:
        overlaps = np.concatenate([overlaps, np.zeros((n, q - p, q))], axis=1)
    sizes = np.abs(overlaps)
    if not np.isfinite(sizes).all():
        raise ValueError("Axes of two models cannot be compared: their inner products overflow. Scale the inputs.")
    order = sizes.argmax(axis=1)  # the best of each column, and the best assignment where no two want the same axis
    wanted = np.sort(order, axis=1)
    for row in np.flatnonzero((wanted[:, 1:] == wanted[:, :-1]).any(axis=1)):
        order[row] = linear_sum_assignment(sizes[row].T, maximize=True)[1]
    chosen = overlaps[np.arange(n)[:, None], order, np.arange(q)]
    return order, np.where(chosen < 0, -1.0, 1.0)


def matched(columns: Array, order: Array, signs: Array) -> Array:
    """Columns in the order and with the signs of `match`; zero where `order` means none."""
    missing = max(0, int(np.max(order, initial=-1)) + 1 - columns.shape[1])
    return signs * np.pad(columns, ((0, 0), (0, missing)))[:, order]


def quantiles(values: Array, levels: Array, weights: Array | None = None) -> Array:
    """Quantiles of a sample with weights, those of `numpy.quantile` for equal weights of one."""
    if weights is None or (weights == 1).all():
        return np.quantile(values, levels)
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    # Value i occupies the ranks from `starts` to `ends - 1`, of `ends[-1]` ranks counted from zero.
    starts = ends - weights[order]
    ranks = np.stack([starts, np.maximum(ends - 1, starts)], axis=1).ravel()
    return np.interp(np.asarray(levels) * max(ends[-1] - 1, 0), ranks, np.repeat(values[order], 2))
