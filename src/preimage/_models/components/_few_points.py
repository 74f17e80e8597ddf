"""Exact kernel PCA of few points: the usual case in one function, where calls take as long as arithmetic."""

import math

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.linalg import (
    DETERMINED,
    NO_VARIANCE,
    fix_signs,
    leading_count,
    top_eigh,
)
from preimage._engine.typing import Array
from preimage.eigensolvers._eigensolver import SOLVER_ROUNDING, EigenResult
from preimage.feature_space import Expansion, Gram, Subspace

# Points up to which functions in between would take a tenth of a fit.
MOST_POINTS = 500


def is_few(gram: Gram) -> bool:
    """Whether `FewPoints` knows a Gram matrix: held by NumPy, of a positive semidefinite kernel, and small."""
    values = gram.values
    return type(values) is np.ndarray and len(values) <= MOST_POINTS and gram.kernel.is_positive_semidefinite


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
        self.gram, K = gram, gram.values
        n = len(K)
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

    def leading_pairs(self, k: int) -> EigenResult:
        """The k leading pairs by LAPACK."""
        C = self.gram.values - self.means
        C -= (self.means - self.mean)[:, None]
        values, vectors = top_eigh(C, k)
        products = C @ vectors
        rest = products - vectors * values
        residuals = np.sqrt(np.einsum("ij,ij->j", rest, rest))
        return EigenResult(values, vectors, products, residuals, True, len(C), "direct method", is_direct=True)

    def determined(self, eigen: EigenResult, amplification: float, narrow: float) -> int:
        """How many pairs are determined by the data, zero where variances are rounding; see `_determined`."""
        values, eps = eigen.values, epsilon(eigen.values.dtype)
        if not float(values[0]) > NO_VARIANCE * eps * self.length:
            return 0
        error = float(eigen.residuals.max())
        if not eigen.is_direct:
            error = min(error, SOLVER_ROUNDING * eps * float(values[0]))
        units, rounding = self.gram.unit_error(), self.gram.rounding_error()
        error = amplification * (units + error) + narrow * max(0.0, rounding - units)
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
