"""Exact kernel PCA of few points: the usual case in one function, where calls take as long as arithmetic."""

import math
import threading
from functools import cached_property
from typing import Any

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.linalg import DETERMINED, NO_VARIANCE, fix_signs, leading_count
from preimage._engine.reduction import can_reduce
from preimage._engine.threads import large_decomposition
from preimage._engine.typing import Array, Seed
from preimage.eigensolvers._eigensolver import SOLVER_ROUNDING, EigenResult, relative_tolerance
from preimage.eigensolvers._names import CACHED_TOLERANCE, SINGLE_FRACTION
from preimage.eigensolvers._reduced_pairs import direct_pairs, reduced_pairs
from preimage.feature_space import Expansion, Gram, Subspace
from preimage.feature_space._gram import CenteredGram

# Points up to which functions in between would take a tenth of a fit, and memory of a matrix is kept for the next fit;
# and most points of all, whose matrix stays in the cache.
FEW_POINTS, MOST_POINTS = 500, 2000
# Points from which on the reduction of the matrix may stop early: the whole of fewer takes as long as looks.
FEWEST_REDUCED = 100
# Rows that are centred together: a hundredth of a millisecond and more, some calls.
CENTERED_ROWS = 128
# Squares of rounding errors below which they underflow, by bytes per number.
TINY = {8: float(np.finfo(np.float64).tiny), 4: float(np.finfo(np.float32).tiny)}


class _Memory(threading.local):
    """A matrix of each thread, for one fit after the other.

    Fresh memory of a system takes longer to come, page by page, than the values that are written to it.
    """

    buffer: np.ndarray | None = None


_memory = _Memory()


def is_few(gram: Gram, k: int, max_bytes: int | None) -> bool:
    """Whether `FewPoints` is the fastest way to k components, and knows the Gram matrix.

    That has few points, or not so many that a Lanczos iteration takes less time for k pairs; a positive semidefinite
    kernel; and it is NumPy's, in memory.
    """
    n = gram.shape[0]
    if n > MOST_POINTS or (n > FEW_POINTS and k <= SINGLE_FRACTION * n):
        return False
    if not gram.kernel.is_positive_semidefinite or gram.multiply is not None:
        return False
    if gram.is_held:
        return type(gram.values) is np.ndarray
    return type(gram.X) is np.ndarray and gram.is_symmetric and (max_bytes is None or gram.fits(max_bytes))


class FewPoints:
    """The centred Gram matrix of few points, with what kernel PCA asks of it computed once.

    Parameters
    ----------
    gram : Gram
        For which `is_few`.

    Attributes
    ----------
    means : array of shape (n,)
        ⟨φ(xᵢ), mean⟩.
    mean : float
        Their mean: ‖mean‖².
    diagonal : array of shape (n,)
        k(xᵢ, xᵢ).
    largest, trace : float
        The largest k(xᵢ, xᵢ), and the trace of the centred matrix.
    """

    def __init__(self, gram: Gram) -> None:
        self.gram, n = gram, gram.shape[0]
        self._buffer: np.ndarray | None = None
        if n <= FEW_POINTS:
            self._buffer, _memory.buffer = _memory.buffer, None  # nobody else in this thread has it meanwhile
            if self._buffer is None:
                self._buffer = np.empty(FEW_POINTS**2)
            K = gram._dense_into(self._buffer.view(gram.dtype)[: n * n].reshape(n, n))
        else:
            K = gram.dense()
            if gram.is_held or K is gram.kernel.known_values(gram.X, gram.X):
                K = np.array(K, order="C")
        self._own: Array | None = K
        self.means = np.add.reduce(K, axis=1) / n
        self.mean = float(np.add.reduce(self.means)) / n
        self.diagonal = gram.diagonal()
        self.largest = gram.largest_diagonal()
        self.length = float(np.add.reduce(self.diagonal))
        self.trace = self.length - n * self.mean

    def is_usual(self) -> bool:
        """Whether kernel values are finite, points have variance, and some are like others: nothing to be said."""
        n, rounding = len(self.means), epsilon(self.means.dtype) * self.largest
        if not (math.isfinite(self.mean) and math.isfinite(n * self.largest)):
            return False
        # Sums of rows without their diagonal entries.
        return n <= 2 or float(np.abs(self.means * n - self.diagonal).max()) > n * rounding

    @cached_property
    def rounding(self) -> float:
        """Norm of the rounding errors of the matrix."""
        return self.gram.rounding_error()

    def described(self) -> CenteredGram:
        """The matrix for messages, which need no product with it."""
        centered = self.gram.centered()
        centered._row_means = self.means
        return centered

    def release(self) -> None:
        """Give the memory to the next fit, after the last call of a method."""
        self._own = None
        if self._buffer is not None:
            _memory.buffer = self._buffer

    def leading_pairs(self, k: int, tol: float | None, rng: Seed, amplification: float) -> EigenResult:
        """The k leading pairs, or those that may be determined, by LAPACK, which stops early if it can; called once."""
        C: Any = self._own
        n, n_bytes, others = len(C), C.itemsize, (self.means - self.mean)[:, None]
        for start in range(0, n, CENTERED_ROWS):  # which stay in the cache between the two
            rows = C[start : start + CENTERED_ROWS]
            rows -= self.means
            rows -= others[start : start + CENTERED_ROWS]
        if n < FEWEST_REDUCED or not can_reduce(C.dtype) or self.rounding**2 < TINY[n_bytes]:
            return direct_pairs(C, k)
        tolerance = relative_tolerance(CACHED_TOLERANCE[n_bytes] if tol is None else tol, C.dtype)
        floor = amplification * self.gram.unit_error() / DETERMINED[n_bytes]
        with large_decomposition(n):
            return reduced_pairs(C, k, tolerance, self.rounding, rng, floor)

    def determined(self, eigen: EigenResult, amplification: float, narrow: float) -> int:
        """How many pairs are determined by the data, zero where variances are rounding; see `_determined`."""
        values, eps = eigen.values, epsilon(eigen.values.dtype)
        if not float(values[0]) > NO_VARIANCE * eps * self.length:
            return 0
        error = float(eigen.residuals.max())
        if not eigen.is_direct:
            error = min(error, SOLVER_ROUNDING * eps * float(values[0]))
        units = self.gram.unit_error()
        error = amplification * (units + error) + narrow * max(0.0, self.rounding - units)
        return leading_count((values > 0) & (error <= DETERMINED[values.itemsize] * values))

    def subspace(self, vectors: Array, values: Array) -> tuple[Subspace, Array]:
        """The mean and the unit axes Hu/√λ of pairs of positive eigenvalues, and what u is multiplied with."""
        kernel, X, n = self.gram.kernel, self.gram.X, len(self.means)
        scale = fix_signs(vectors) / np.sqrt(values)
        frame = (vectors - np.add.reduce(vectors, axis=0) / n) * scale
        origin = np.full((n, 1), 1 / n, dtype=frame.dtype)
        space = Subspace(
            Expansion(kernel, X, frame),
            Expansion(kernel, X, origin),
            offset=self.means @ frame,
            origin_squared_norm=self.mean,
        )
        return space, scale
