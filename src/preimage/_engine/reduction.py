"""The reduction of a symmetric matrix to a tridiagonal one, column by column: what LAPACK does, able to stop early."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from preimage._engine.lapack import INTEGER, address_of, published
from preimage._engine.linalg import FEW_COLUMNS
from preimage._engine.typing import Array

LOWER, UPPER, NO, LEFT = b"L", b"U", b"N", b"L"
# Routines by letters: c for a character, i for an integer, a for an array.
ROUTINES = {
    "latrd": (cython_lapack, "ciiaiaaai"),
    "sytrd": (cython_lapack, "ciaiaaaaii"),
    "ormqr": (cython_lapack, "cciiiaiaaiaii"),
    "syr2": (cython_blas, "ciaaiaiai"),
    "syr2k": (cython_blas, "cciiaaiaiaai"),
    "symv": (cython_blas, "ciaaiaiaai"),
    "symm": (cython_blas, "cciiaaiaiaai"),
}
# Columns of reflectors that LAPACK applies together, and its work space for them.
BLOCK, BLOCK_WORK = 64, 65 * 64
# Vectors up to which reflectors one by one take less time than blocks of them, whose products are made beforehand: for
# two vectors a fifth of it.
FEW_VECTORS = 40
# Rows that are copied together.
STRIP = 64


class Reduction:
    """A symmetric matrix A of which the first vectors of a Lanczos iteration are known, by Householder's reflections.

    After j steps A = Q diag(T, R) Qᵀ but for one entry that couples the tridiagonal matrix T of j rows with the
    remainder R. The first j columns of the orthogonal Q are the vectors of a Lanczos iteration, orthogonal to rounding
    without any care, for the price of LAPACK's own reduction, which goes on to the end.

    Parameters
    ----------
    A : NumPy array of shape (n, n)
        In C order; one triangle and the diagonal are overwritten.
    start : array of shape (n,), optional
        The first vector, of any length but zero; by default the first axis, where all steps are made in any case.

    Attributes
    ----------
    size : int
        Steps made.
    dtype : numpy.dtype
    coupling : float
        Modulus of the entry that couples T and R.
    """

    def __init__(self, A: Array, start: Array | None = None) -> None:
        n, dtype = len(A), A.dtype
        self._call = _routines(dtype)
        self.size, self.dtype, self._n = 0, dtype, n
        # One triangle is read and written: by columns, as LAPACK counts, the lower one. The other one stays as it is.
        self._A, self._original_diagonal = A, np.einsum("ii->i", A).copy()
        self._item, self._address = dtype.itemsize, address_of(A)
        # One piece of memory, so that addresses of its parts are known.
        numbers = np.empty(3 * n + 3, dtype)
        self._diagonal, self._beside, self._tau = numbers[:n], numbers[n : 2 * n], numbers[2 * n : 3 * n]
        numbers[-3:] = 1, -1, 0
        self._numbers = address_of(numbers)
        self._one, self._minus, self._zero = (self._numbers + (3 * n + place) * self._item for place in range(3))
        self._u, self._factor = None, 0.0
        if start is not None:
            self._reflect(np.array(start, dtype))

    def _reflect(self, u: Array) -> None:
        """PAP for the reflection P = I − βuuᵀ that takes the start vector to the first axis."""
        length = float(u @ u) ** 0.5
        u /= length
        u[0] += np.copysign(1, u[0])
        self._u, self._factor = u, 1 / abs(float(u[0]))
        p = np.empty_like(u)
        self._call["symv"](LOWER, self._n, self._one, self._A, self._n, u, 1, self._zero, p, 1)
        p *= self._factor
        p -= (self._factor / 2 * float(u @ p)) * u
        self._call["syr2"](LOWER, self._n, self._minus, u, 1, p, 1, self._A, self._n)

    @property
    def n_left(self) -> int:
        """Rows of R."""
        return self._n - self.size

    @property
    def coupling(self) -> float:
        return abs(float(self._beside[self.size - 1]))

    @property
    def tridiagonal(self) -> tuple[Array, Array]:
        """The diagonal of T, and the entries next to it."""
        return self._diagonal[: self.size], self._beside[: self.size - 1]

    def advance(self, count: int) -> None:
        """Make so many more steps, fewer than are left."""
        j, m = self.size, self._n - self.size
        W = np.empty((count, m), self._A.dtype)
        at = self._at(j, j)
        start = address_of(W)
        self._call["latrd"](LOWER, m, count, at, self._n, *self._parts(j)[1:], start, m)
        self.size = j + count
        self._diagonal[j : self.size] = np.einsum("ii->i", self._A[j : self.size, j : self.size])
        self._call["syr2k"](
            *(LOWER, NO, m - count, count, self._minus, self._at(self.size, j), self._n),
            *(start + count * self._item, m, self._one, self._at(self.size, self.size), self._n),
        )

    def finish(self) -> None:
        """Make all steps that are left."""
        j, m = self.size, self.n_left
        work = np.empty(m * BLOCK, self.dtype)
        self._call["sytrd"](LOWER, m, self._at(j, j), self._n, *self._parts(j), work, work.size, 0)
        self.size, self._beside[-1] = self._n, 0

    def expanded(self, weights: Array) -> Array:
        """Q applied to columns of which the entries from `size` on are zero: weights of shape (size, k)."""
        j, k, n = self.size, weights.shape[1], self._n
        rows = np.zeros((k, n), self._A.dtype)  # columns of LAPACK
        rows[:, :j] = weights.T
        # Without work space for blocks LAPACK applies reflectors one by one.
        work = np.empty(k if k <= FEW_VECTORS else k * BLOCK + BLOCK_WORK, self._A.dtype)
        count, start = min(j, n - 1), address_of(rows)
        self._call["ormqr"](
            *(LEFT, NO, n - 1, k, count, self._at(1, 0), n, self._parts(0)[2], start + self._item, n),
            *(work, work.size, 0),
        )
        if self._u is not None:
            rows -= (self._factor * (rows @ self._u))[:, None] * self._u
        return rows.T

    def product(self, V: Array) -> Array:
        """A V for columns whose transpose is in C order, by the triangle that is as it was."""
        n, k = V.shape
        rows, out = V.T, np.empty((k, n), V.dtype)
        if k > FEW_COLUMNS:
            self._call["symm"](LEFT, UPPER, n, k, self._one, self._A, n, rows, n, self._zero, out, n)
        else:
            length, start, end = n * self._item, address_of(rows), address_of(out)
            for at in range(0, k * length, length):
                self._call["symv"](UPPER, n, self._one, self._A, n, start + at, 1, self._zero, end + at, 1)
        out += (self._original_diagonal - np.einsum("ii->i", self._A)) * rows
        return out.T

    def restored(self) -> Array:
        """A itself as it was, in its own memory; the reduction is over."""
        n = self._n
        for start in range(0, n, STRIP):
            rows = slice(start, start + STRIP)
            square = np.tril(self._A[rows, rows], -1)
            self._A[rows, rows] = square + square.T
            self._A[rows, start + STRIP :] = self._A[start + STRIP :, rows].T
        np.einsum("ii->i", self._A)[...] = self._original_diagonal
        return self._A

    def rest_multiplier(self) -> Callable[[Array, Array], None]:
        """A function that writes the product of R with a vector into another one."""
        symv: Any = published(cython_blas, "symv", self.dtype)[0]
        integers = (ctypes.c_int * 3)(self.n_left, self._n, 1)
        rows, stride, step = (ctypes.addressof(integers) + 4 * place for place in range(3))
        before = LOWER, rows, self._one, self._at(self.size, self.size), stride
        between = step, self._zero

        def multiply(vector: Array, out: Array, held: Any = (self, integers)) -> None:
            symv(*before, address_of(vector), *between, address_of(out), step)

        return multiply

    def rest_trace(self) -> float:
        """The trace of R: at least its largest eigenvalue where A has none below zero."""
        return float(np.diagonal(self._A)[self.size :].sum(dtype=np.float64))

    def rest(self) -> Array:
        """A copy of R, of which the triangle that LAPACK calls the lower one has a meaning."""
        return self._A[self.size :, self.size :].copy()

    def _parts(self, first: int) -> list[int]:
        """The addresses of the diagonal, the entries next to it and the factors of reflections, from a row on."""
        return [self._numbers + (part * self._n + first) * self._item for part in range(3)]

    def _at(self, row: int, column: int) -> int:
        """The address of an entry, as LAPACK counts."""
        return self._address + (column * self._n + row) * self._item


@cache
def _routines(dtype: Any) -> dict[str, Callable[..., None]]:
    """What `Reduction` needs of BLAS and LAPACK, by name; empty where something is unknown."""
    found = {name: _routine(module, name, letters, dtype) for name, (module, letters) in ROUTINES.items()}
    known = {name: routine for name, routine in found.items() if routine is not None}
    return known if len(known) == len(ROUTINES) else {}


def can_reduce(dtype: Any) -> bool:
    """Whether SciPy publishes the routines for matrices of this type."""
    return bool(_routines(np.dtype(dtype)))


def _routine(module: Any, name: str, letters: str, dtype: Any) -> Callable[..., None] | None:
    """A routine that takes bytes, integers, and arrays or addresses."""
    function, kinds = published(module, name, dtype)
    if function is None or kinds != [{"c": "char", "i": "int", "a": "array"}[letter] for letter in letters]:
        return None
    places = [place for place, letter in enumerate(letters) if letter == "i"]

    of_integers = ctypes.c_int * len(places)

    def call(*arguments: Any) -> None:
        integers = of_integers(*[arguments[place] for place in places])
        base = ctypes.addressof(integers)
        addresses = [address_of(each) if type(each) is np.ndarray else each for each in arguments]
        for place in places:
            addresses[place] = base
            base += INTEGER
        function(*addresses)

    return call
