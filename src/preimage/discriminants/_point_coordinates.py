"""Coordinates of kernel values in which the penalty of a discriminant is diagonal."""

from functools import cached_property

import numpy as np

from preimage._arrays import epsilon
from preimage._linalg import is_semidefinite
from preimage._typing import Array
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import distinct_images

# Directions whose eigenvalue is below this many ε of the largest are left out. That is as low as eigenvalues are
# determined, and lower than ranks are commonly decided: other inputs may reach far along a direction in which the
# points hardly differ. What rounding errors add along such a direction is below the smallest ridge
# (`PointCoordinates.rounding`). Ten times larger, discriminants of wide kernels lose directions that data determine.
SHORTEST = 4

INDEFINITE = (
    "Kernel Fisher discriminants with regularizer={!r} need a positive semidefinite kernel; on these data it has an "
    "eigenvalue of {:.2g}, and {:.2g} as the largest. Choose another kernel, or regularizer='identity', which works "
    "with any."
)


class PointCoordinates:
    r"""Coordinates (F11) of inputs for discriminants :math:`f = \alpha^\top k_Z` on m points Z.

    Scatters of :math:`k_Z(x)` in terms of α have the square of the condition of K_Z. Scatters of the coordinates
    :math:`g(x) = B^\top k_Z(x)` in an orthonormal frame of the points do not, provided that rows are transformed
    before they are summed: whitening a sum would divide its rounding errors by the smallest eigenvalues.

    Parameters
    ----------
    gram : array of shape (m, m)
        K_Z.
    regularizer : {"norm", "identity", "both"}
        With "identity" the coordinates are the kernel values themselves.
    weights : array of shape (m,), optional
        How often each point counts in the penalty :math:`\sum_j \alpha_j^2 / w_j`, which is that of repeated points
        with equal coefficients.

    Attributes
    ----------
    basis : array of shape (m, r)
        B. α = B a is the discriminant :math:`a^\top g`.
    lift : array of shape (m, r)
        C with :math:`k_Z = C g` for all inputs, up to the directions left out; :math:`a = C^\top \alpha`.
    values : array of shape (r,) or None
        Eigenvalues of K_Z where coordinates are whitened.
    weights : array of shape (m,)
    """

    def __init__(self, gram: Array, regularizer: str, weights: Array | None = None) -> None:
        self.gram, self.regularizer = gram, regularizer
        self.weights = np.ones(gram.shape[0]) if weights is None else weights
        root = np.sqrt(self.weights) if regularizer != "norm" else np.ones(gram.shape[0])
        if regularizer == "identity":
            self.values, self.basis, self.lift = None, np.diag(root), np.diag(1 / root)
            return
        values, vectors = np.linalg.eigh(root[:, None] * gram * root)
        shortest = SHORTEST * epsilon(values.dtype) * np.max(np.abs(values))
        if not is_semidefinite(values):
            raise UnsupportedKernelError(INDEFINITE.format(regularizer, values[0], values[-1]))
        keep = values > shortest
        if not keep.any():  # a kernel that vanishes gets one coordinate, which is zero everywhere
            keep[-1], values = True, np.ones_like(values)
        self.values, roots = values[keep], np.sqrt(values[keep])
        self.basis, self.lift = root[:, None] * vectors[:, keep] / roots, vectors[:, keep] * roots / root[:, None]

    @property
    def rounding(self) -> float:
        """An upper bound of what rounding errors of kernel values add to the mean square of a coordinate.

        Kernel values have the error ε‖φ‖², whitened coordinates √m times as much over √λ, and λ ≥ 4 ε λ₁ ≥ 4 ε‖φ‖².
        """
        size, unit = float(np.max(np.abs(np.diagonal(self.gram)))), epsilon(self.gram.dtype)
        return self.weights.sum() * (unit * size) ** 2 if self.values is None else unit * size

    @property
    def factor(self) -> Array | None:
        """B, or None where coordinates are the kernel values."""
        return None if self.values is None and np.all(self.weights == 1) else self.basis

    def of(self, values: Array) -> Array:
        """g of rows of kernel values (n, m)."""
        return values if self.factor is None else values @ self.basis

    def scatter_of_values(self, scatter: Array, points: Array) -> Array:
        """C S Cᵀ for some of the points: the scatter of kernel values with them, from a scatter S of coordinates."""
        if self.factor is None:
            return scatter[np.ix_(points, points)]
        return self.lift[points] @ (scatter @ self.lift[points].T)

    @cached_property
    def copies(self) -> tuple[Array, Array]:
        """Indices of the points with distinct images, and for every point which of these it is a copy of."""
        return distinct_images(self.gram)
