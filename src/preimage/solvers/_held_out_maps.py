"""Errors of regressions of inputs on coordinates, on rows that were held out."""

from dataclasses import dataclass

import numpy as np

from preimage._rows import cut
from preimage._validation import generator
from preimage.kernels import Kernel, Linear

# Ridges as multiples of the mean of l(β, β). A wide Gaussian carries its curvature in eigenvalues of (1/width)², far
# below one; below 1e-15 nothing is left of the ridge in double precision.
RIDGES = np.logspace(-15, 1, 17)
# Entries of the arrays in which several ridges are tried at once: 8 MiB. Ten times more would not fit into caches, and
# the memory of sixteen threads would show.
MOST_ENTRIES = 2**20
# Largest relative error of predictions that rounding may cause, so that data in memory, in chunks and on devices give
# the same map. It is an upper bound; errors that were observed are a thirtieth of it. With ten times more, maps of the
# same data in chunks differ visibly.
ROUNDING = 1e-8
# Directions of coordinates that are shorter than this fraction of the longest are rounding errors.
SHORTEST = 1e-10
# Columns in which errors are measured: that many random combinations of the inputs have the same squared lengths on
# average, and sums over some hundred rows agree to 2 %; differences between candidates agree better still.
MEASURED_COLUMNS = 32


class LinearFit:
    """The linear regression of X on Y by a thin singular value decomposition; both of n rows, without their means.

    With a ridge λ the map is A = V diag(s/(s² + λ)) Uᵀ X. Directions of rounding errors are left out.
    """

    def __init__(self, Y: np.ndarray, X: np.ndarray) -> None:
        left, lengths, right = np.linalg.svd(Y, full_matrices=False)
        kept = lengths > SHORTEST * max(float(lengths[0]), np.finfo(float).tiny)
        self.left, self.lengths, self.right = left[:, kept], lengths[kept], right[kept]
        self.projected = self.left.T @ X

    def map(self, ridge: float = 0.0) -> np.ndarray:
        """A, shape (k, d)."""
        return self.right.T @ ((self.lengths / (self.lengths**2 + ridge))[:, None] * self.projected)

    def weights(self, ridge: float = 0.0) -> np.ndarray:
        """W with A = Yᵀ W, shape (n, d): those of kernel ridge regression with the linear kernel, less null vectors."""
        return self.left @ ((1 / (self.lengths**2 + ridge))[:, None] * self.projected)


@dataclass(frozen=True)
class Fold:
    """Coordinates Y and inputs X that regressions learn from, and those, Z and `truth`, that judge them."""

    Y: np.ndarray
    X: np.ndarray
    Z: np.ndarray
    truth: np.ndarray

    @classmethod
    def of(cls, Y: np.ndarray, X: np.ndarray, Z: np.ndarray, truth: np.ndarray, center: bool) -> "Fold":
        """With the means of what is learned from taken away, if `center`."""
        if not center:
            return cls(Y, X, Z, truth)
        shift, mean = Y.mean(axis=0), X.mean(axis=0)
        return cls(Y - shift, X - mean, Z - shift, truth - mean)

    def linear_errors(self, fit: LinearFit) -> np.ndarray:
        """Squared errors at the rows of Z of linear maps, shape (ridges, rows)."""
        ridges = RIDGES * mean_diagonal(Linear(), self.Y)
        gains = fit.lengths / (fit.lengths**2 + ridges[:, None])
        predicted = (self.Z @ fit.right.T) @ (gains[:, :, None] * fit.projected)
        return np.sum((predicted - self.truth) ** 2, axis=2)

    def errors(self, kernel: Kernel, fit: LinearFit) -> np.ndarray:
        """Squared errors of regressions with a kernel, alone and after a linear map, shape (2, ridges, rows).

        Infinite for ridges whose weights would amplify rounding errors.
        """
        linear = fit.map()
        targets = np.concatenate([self.X, self.X - self.Y @ linear], axis=1)
        wanted = np.concatenate([self.truth, self.truth - self.Z @ linear], axis=1)
        values, vectors = np.linalg.eigh(kernel(self.Y))
        projected, across = vectors.T @ targets, kernel(self.Z, self.Y) @ vectors
        ridges = RIDGES * mean_diagonal(kernel, self.Y)

        def errors_of(some: np.ndarray) -> np.ndarray:
            # Eigenvalues below zero are rounding errors of a semidefinite matrix.
            inverse = 1 / (np.maximum(values, 0) + some[:, None])
            residual = across @ (inverse[:, :, None] * projected)
            residual -= wanted
            np.square(residual, out=residual)
            return np.stack([np.sum(part, axis=2) for part in np.split(residual, 2, axis=2)])

        # Several ridges in one call: threads would wait for each other between calls.
        together = max(1, MOST_ENTRIES // projected.size)
        totals = np.concatenate([errors_of(ridges[part]) for part in cut(ridges.size, together)], axis=1)
        largest, total = float(np.max(kernel.diagonal(self.Y))), float(np.sum(self.X**2))
        for part, found in zip(np.split(projected, 2, axis=1), totals, strict=True):
            found[~sound_ridges(values, np.sum(part**2, axis=1), ridges, largest, total=total)] = np.inf
        return np.where(np.isfinite(totals), totals, np.inf)


def measured_columns(X: np.ndarray) -> np.ndarray:
    """X, or random combinations of its columns where they are many: squared lengths of differences agree on average."""
    if X.shape[1] <= 2 * MEASURED_COLUMNS:
        return X
    mixing = generator(0).normal(scale=MEASURED_COLUMNS**-0.5, size=(X.shape[1], MEASURED_COLUMNS))
    return X @ mixing


def mean_diagonal(kernel: Kernel, coordinates: np.ndarray) -> float:
    """The mean of l(β, β), in which ridges are measured."""
    return max(float(np.mean(kernel.diagonal(coordinates))), np.finfo(float).tiny)


def sound_ridges(
    values: np.ndarray,
    lengths: np.ndarray,
    ridges: np.ndarray,
    largest: float,
    rounding: float = ROUNDING,
    total: float | None = None,
) -> np.ndarray:
    """Which ridges give weights whose cancellation does not amplify rounding errors beyond `rounding`.

    Rounding errors of coordinates and of kernel values are multiplied by the size of the weights. `values` are
    eigenvalues of the kernel matrix, `lengths` the squared lengths of the outputs along its eigenvectors, `largest` the
    largest kernel value, `rounding` the largest error relative to √`total`, by default √Σ lengths.
    """
    weights = np.sqrt(np.sum(lengths / (np.maximum(values, 0) + ridges[:, None]) ** 2, axis=1))
    noise = np.finfo(float).eps * len(values) * largest * weights
    return noise <= rounding * np.sqrt(np.sum(lengths) if total is None else total)
