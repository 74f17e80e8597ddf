"""Dense factorisations and products on the host that leave the interpreter to other threads while they run.

SciPy's own functions hold the interpreter lock for as long as LAPACK works, so that threads of ours would wait for each
other. The same routines are called here through the pointers that SciPy publishes for compiled code; where these do
not have the form that is expected, SciPy's functions do the work.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import cython_blas, cython_lapack

from preimage._engine.typing import Array

NOT_POSITIVE = "The matrix is not positive definite: its leading minor of order {} is not."
# Numbers that the driver for some eigenvectors needs as work space, by rows and type; each entry is a hundred bytes.
_work_sizes: dict[tuple[int, Any], tuple[int, int]] = {}
# Rows of a tridiagonal matrix for each wanted pair up to which all pairs by divide and conquer take less time than the
# wanted ones alone; and rows up to which they always do. Measured for 20 to 500 rows with all kinds of spectra.
FEW_PAIRS, LEAST_ROWS = 6.5, 24
# Bytes of an integer of LAPACK.
INTEGER = ctypes.sizeof(ctypes.c_int)
LETTERS = {np.dtype(np.float64): "d", np.dtype(np.float32): "s"}


def cholesky_factor(A: Array, *, overwrite: bool = False) -> Array:
    """U in the upper triangle with A = UᵀU, for a symmetric positive definite A; what is below is of no meaning.

    Parameters
    ----------
    A : NumPy array of shape (n, n)
    overwrite : bool, default=False
        Whether the memory of A may be used for the result.

    Raises
    ------
    LinAlgError
        Where A is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._engine.lapack import cholesky_factor, cholesky_solve
    >>> U = cholesky_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> np.triu(U), cholesky_solve(U, np.array([[2.0], [5.0]])).ravel()
    (array([[2., 1.],
           [0., 2.]]), array([0., 1.]))
    """
    _check_shapes(A)
    potrf, overwrite = _routine("potrf", A.dtype), overwrite and A.flags.writeable
    if potrf is None:
        return linalg.cho_factor(A.T, lower=True, overwrite_a=overwrite, check_finite=False)[0].T
    U = A if overwrite and A.flags.c_contiguous else np.array(A, order="C")
    # LAPACK stores by columns: what it calls the lower triangle is the upper one here.
    info = potrf(b"L", len(U), U, max(1, len(U)))
    if info:
        raise np.linalg.LinAlgError(NOT_POSITIVE.format(info))
    return U


def cholesky_solve(U: Array, B: Array) -> Array:
    """A⁻¹ B for the factor U of `cholesky_factor` and B of shape (n, k)."""
    potrs = _routine("potrs", U.dtype)
    if potrs is None:
        return linalg.cho_solve((U.T, True), B, check_finite=False)
    U, X = np.ascontiguousarray(U), np.array(B, dtype=U.dtype, order="F")
    _check_shapes(U, X)
    potrs(b"L", len(U), X.shape[1], U, max(1, len(U)), X, max(1, len(U)))
    return X


def positive_solve(A: Array, B: Array) -> Array:
    """A⁻¹ B for a symmetric positive definite A, whose memory is used, and B of shape (n, k): factor and solve at once.

    Raises
    ------
    LinAlgError
        Where A is not positive definite.
    """
    posv = _routine("posv", A.dtype)
    if posv is None or not A.flags.c_contiguous:
        return cholesky_solve(cholesky_factor(A, overwrite=True), B)
    X, size = np.array(B, dtype=A.dtype, order="F"), max(1, len(A))
    _check_shapes(A, X)
    if info := posv(b"L", len(A), X.shape[1], A, size, X, size):
        raise np.linalg.LinAlgError(NOT_POSITIVE.format(info))
    return X


def triangular_solve(L: Array, B: Array, *, transposed: bool = False) -> Array:
    """L⁻¹ B, or L⁻ᵀ B, for a lower triangular L of shape (n, n) and B of shape (n, k)."""
    trtrs = _routine("trtrs", L.dtype)
    if trtrs is None:
        return linalg.solve_triangular(L, B, lower=True, trans=int(transposed), check_finite=False)
    L, X = np.ascontiguousarray(L), np.array(B, dtype=L.dtype, order="F")
    _check_shapes(L, X)
    # By columns L is Lᵀ, an upper triangle.
    size = max(1, len(L))
    if trtrs(b"U", b"N" if transposed else b"T", b"N", len(L), X.shape[1], L, size, X, size):
        raise np.linalg.LinAlgError("A triangular matrix with a zero on its diagonal has no inverse.")
    return X


def largest_eigenpairs(A: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric A of shape (n, n), ascending, and eigenvectors of shape (n, k).

    Fewer where eigenvalues coincide and LAPACK's driver for some of them misses one.
    """
    return eigenpairs_between(A, len(A) - k, len(A) - 1)


def eigenpairs_between(A: Array, first: int, last: int) -> tuple[Array, Array]:
    """The eigenpairs number `first` … `last` in ascending order, counted from zero; see `largest_eigenpairs`."""
    _check_shapes(A)
    syevr, n, k = _routine("syevr", A.dtype), len(A), last - first + 1
    if syevr is None or not 0 < k <= n:
        return linalg.eigh(A, subset_by_index=[first, last], check_finite=False)
    matrix, unused, found = np.array(A, order="C"), np.zeros(1, A.dtype), np.zeros(1, np.intc)
    values, vectors, support = np.empty(n, A.dtype), np.empty((k, n), A.dtype), np.empty(2 * k, np.intc)

    def run(work: Array, iwork: Array, n_work: int, n_iwork: int) -> int:
        choice = (b"V", b"I", b"L", n, matrix, n, unused, unused, first + 1, last + 1, unused)
        return syevr(*choice, found, values, vectors, n, support, work, n_work, iwork, n_iwork)

    sizes = _work_sizes.get((n, A.dtype))
    if sizes is None:  # with sizes of −1 the driver says how much memory it wants for so many rows
        work, iwork = np.empty(1, A.dtype), np.empty(1, np.intc)
        run(work, iwork, -1, -1)
        sizes = _work_sizes[n, A.dtype] = int(work[0]), int(iwork[0])
    work, iwork = np.empty(sizes[0], A.dtype), np.empty(sizes[1], np.intc)
    if run(work, iwork, work.size, iwork.size):
        raise np.linalg.LinAlgError("LAPACK found no eigenvectors; does the matrix have NaN or infinity in it?")
    return values[: found[0]], vectors[: found[0]].T


def tridiagonal_eigenpairs(diagonal: Array, beside: Array, first: int, last: int) -> tuple[Array, Array]:
    """Eigenpairs number `first` … `last`, ascending from zero, of a symmetric tridiagonal matrix; vectors (n, k).

    By LAPACK's relatively robust representations, which take a time of n for each pair.
    """
    n, k, dtype = len(diagonal), last - first + 1, diagonal.dtype
    stemr = _routine("stemr", dtype)
    if stemr is None or not 0 <= first <= last < n:
        select = {"select": "i", "select_range": (first, last)}
        return linalg.eigh_tridiagonal(diagonal, beside, check_finite=False, **select)
    # One piece of memory for all numbers: to ask each array for its address takes its time.
    numbers, vectors = np.empty(21 * n, dtype), np.empty((k, n), dtype)
    numbers[:n], numbers[n : 2 * n - 1] = diagonal, beside
    d, length = address_of(numbers), n * dtype.itemsize
    found, is_tried, integers = np.zeros(1, np.intc), np.ones(1, np.intc), np.empty(2 * k + 10 * n, np.intc)
    # The limits of values are not read where pairs are chosen by numbers.
    choice = (b"V", b"I", n, d, d + length, d, d, first + 1, last + 1, found)
    rest = (n, k, integers[: 2 * k], is_tried, d + 3 * length, 18 * n, integers[2 * k :], 10 * n)
    if stemr(*choice, d + 2 * length, vectors, *rest) or found[0] != k:
        raise np.linalg.LinAlgError("LAPACK found no eigenvectors of a tridiagonal matrix.")
    return numbers[2 * n : 2 * n + k], vectors.T


def bisected_tridiagonal(diagonal: Array, beside: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric tridiagonal matrix, descending, and vectors of shape (n, k).

    By bisection and inverse iteration: the smallest residuals, and fast in single precision.
    """
    n, dtype = len(diagonal), diagonal.dtype
    stebz, stein = _routine("stebz", dtype), _routine("stein", dtype)
    if stebz is None or stein is None or not 0 < k <= n:
        return _reversed(*tridiagonal_eigenpairs(diagonal, beside, n - k, n - 1))
    numbers, vectors = np.zeros(8 * n + 1, dtype), np.empty((k, n), dtype)
    numbers[:n], numbers[n : 2 * n - 1] = diagonal, beside
    d, length = address_of(numbers), n * dtype.itemsize
    e, values, work, zero = (d + place * length for place in (1, 2, 3, 8))
    integers, found, blocks = np.empty(5 * n + k, np.intc), np.zeros(1, np.intc), np.zeros(1, np.intc)
    block, split, iwork, failed = integers[:n], integers[n : 2 * n], integers[2 * n : 5 * n], integers[5 * n :]
    # By blocks, as inverse iteration wants them; a tolerance of zero is the smallest one.
    choice = (b"I", b"B", n, zero, zero, n - k + 1, n, zero, d, e, found, blocks)
    is_found = not stebz(*choice, values, block, split, work, iwork) and found[0] == k
    if not is_found or stein(n, d, e, k, values, block, split, vectors, n, work, iwork, failed):
        return _reversed(*tridiagonal_eigenpairs(diagonal, beside, n - k, n - 1))
    order = numbers[2 * n : 2 * n + k].argsort(kind="stable")[::-1]  # they ascend within each block
    return numbers[2 * n : 2 * n + k][order], vectors[order].T


def leading_tridiagonal(diagonal: Array, beside: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric tridiagonal matrix, descending, and vectors of shape (n, k).

    All pairs by divide and conquer where that takes less time than k of them one by one.
    """
    n, dtype = len(diagonal), diagonal.dtype
    takes_all = n <= LEAST_ROWS or k * FEW_PAIRS > n
    stevd = _routine("stevd", dtype) if takes_all else None
    if stevd is None and dtype.itemsize == 4:
        return bisected_tridiagonal(diagonal, beside, k)
    if stevd is None:
        return _reversed(*tridiagonal_eigenpairs(diagonal, beside, n - k, n - 1))
    n_work, n_iwork = 1 + 4 * n + n * n, 3 + 5 * n
    numbers, vectors, integers = np.empty(2 * n + n_work, dtype), np.empty((n, n), dtype), np.empty(n_iwork, np.intc)
    numbers[:n], numbers[n : 2 * n - 1] = diagonal, beside
    d, length = address_of(numbers), n * dtype.itemsize
    if stevd(b"V", n, d, d + length, vectors, n, d + 2 * length, n_work, integers, n_iwork):
        raise np.linalg.LinAlgError("LAPACK found no eigenvectors of a tridiagonal matrix.")
    return _reversed(numbers[n - k : n], vectors[n - k :].T)


def _reversed(values: Array, vectors: Array) -> tuple[Array, Array]:
    return values[::-1], vectors[:, ::-1]


def symmetric_multiplier(A: Array) -> Callable[[Array, Array], None] | None:
    """A function that writes the product of a symmetric A in C order with its first argument into its second.

    It reads one triangle of A. The arguments are vectors in one piece, of the type of A. None where it cannot be made.
    """
    symv = _symv(A.dtype)
    if symv is None or not A.flags.c_contiguous:
        return None
    _check_shapes(A)
    n, one, zero, step = ctypes.c_int(len(A)), np.ones(1, A.dtype), np.zeros(1, A.dtype), ctypes.c_int(1)
    before = b"L", ctypes.addressof(n), one.ctypes.data, A.ctypes.data, ctypes.addressof(n)
    between = ctypes.addressof(step), zero.ctypes.data

    def multiply(vector: Array, out: Array, held: Any = (A, n, one, zero, step)) -> None:
        symv(*before, vector.ctypes.data, *between, out.ctypes.data, between[0])

    return multiply


@cache
def _symv(dtype: Any) -> Callable[..., None] | None:
    """BLAS' product of a symmetric matrix and a vector, which takes addresses; None where it is unknown."""
    function, kinds = published(cython_blas, "symv", dtype)
    number = "array"
    return function if kinds == ["char", "int", number, number, "int", number, "int", number, number, "int"] else None


@cache
def _routine(name: str, dtype: Any) -> Callable[..., int] | None:
    """A LAPACK routine that returns its `info`; None where it is unknown.

    It takes bytes, numbers or arrays of them where it wants integers, and arrays or addresses for the rest.
    """
    function, kinds = published(cython_lapack, name, dtype)
    if function is None or None in kinds or kinds[-1] != "int":
        return None
    places = [place for place, kind in enumerate(kinds[:-1]) if kind == "int"]

    def call(*arguments: Any) -> int:
        integers = (ctypes.c_int * (len(places) + 1))()
        start = ctypes.addressof(integers)
        addresses = [address_of(each) if type(each) is np.ndarray else each for each in arguments]
        for number, place in enumerate(places, 1):
            if type(arguments[place]) is not np.ndarray:
                integers[number] = arguments[place]
                addresses[place] = start + number * INTEGER
        function(*addresses, start)
        return int(integers[0])

    return call


@cache
def published(module: Any, name: str, dtype: Any) -> tuple[Callable[..., None] | None, list[str | None]]:
    """A routine that a module of SciPy publishes and that takes addresses, and what these are of; None without one."""
    try:
        capsule = module.__pyx_capi__[LETTERS[np.dtype(dtype)] + name]
        of_capsule = lambda function, result, *types: ctypes.CFUNCTYPE(result, ctypes.py_object, *types)(
            (function, ctypes.pythonapi)
        )
        signature = of_capsule("PyCapsule_GetName", ctypes.c_char_p)(capsule)
        address = of_capsule("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_char_p)(capsule, signature)
    except (AttributeError, KeyError):
        return None, []
    kinds = [_kind(each) for each in signature.decode().removeprefix("void (").removesuffix(")").split(", ")]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(address), kinds


def _kind(argument: str) -> str | None:
    """What an argument of a signature such as "char *, int *, __pyx_t_…_cython_lapack_d *" points to."""
    pointed = argument.removesuffix(" *")
    if pointed in ("char", "int"):
        return pointed
    return "array" if pointed.endswith(("_lapack_d", "_lapack_s", "_blas_d", "_blas_s")) else None


def _check_shapes(A: Array, B: Array | None = None) -> None:
    """Raise unless A is square and B has as many rows: LAPACK gets addresses, and would read outside of the arrays."""
    if A.ndim != 2 or A.shape[0] != A.shape[1] or (B is not None and (B.ndim != 2 or len(B) != len(A))):
        other = "" if B is None else f" and {B.shape}"
        raise ValueError(f"A square matrix and columns of its length are needed; got the shapes {A.shape}{other}.")


def address_of(array: np.ndarray) -> int:
    """Where the first entry of an array is; valid as long as the caller holds the array."""
    buffer: Any = array
    try:  # ten times faster than `array.ctypes`, whose price shows where matrices are small
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    except (TypeError, ValueError, BufferError):  # without entries, not in C order, or read-only
        return array.ctypes.data
