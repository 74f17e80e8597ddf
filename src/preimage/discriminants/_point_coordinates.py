"""Coordinates of kernel values in which the penalty of a discriminant is diagonal."""

from functools import cached_property

import numpy as np

from preimage._arrays import epsilon
from preimage._linalg import is_semidefinite
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import distinct_images

# Directions whose eigenvalue is below so many ε of the largest are left out: as low as eigenvalues are determined,
# and lower than the rank of a matrix is commonly decided by: other inputs may reach far along a direction in which the
# points hardly differ. What rounding errors add along it is below the smallest ridge (`PointCoordinates.rounding`).
SHORTEST = 4

INDEFINITE = (
    "Kernel Fisher discriminants with regularizer={!r} need a positive semidefinite kernel; on these data it has an "
    "eigenvalue of {:.2g}, and {:.2g} as the largest. Choose another kernel, or regularizer='identity', which works "
    "with any."
)


class PointCoordinates:
    r"""What discriminants :math:`f = \alpha^\top k_Z` on m points Z know of inputs, before the data are seen.

    Scatters of :math:`k_Z(x)` in terms of α have the square of the condition of K_Z. Sums of squares of coordinates
    :math:`g(x) = B^\top k_Z(x)` in an orthonormal frame of the points have not, provided that rows are transformed
    first and summed afterwards: whitening a sum would divide its rounding errors by the smallest eigenvalues.

    Parameters
    ----------
    gram : array of shape (m, m)
        K_Z.
    regularizer : {"norm", "identity", "both"}
        With "identity" coordinates are the kernel values themselves.
    weights : array of shape (m,), optional
        How often each point counts in the penalty :math:`\sum_j \alpha_j^2 / w_j`, that of repeated points which share
        their coefficients equally.

    Attributes
    ----------
    basis : array of shape (m, r)
        B. α = B a is the discriminant :math:`a^\top g`.
    lift : array of shape (m, r)
        C with :math:`k_Z = C g` for all inputs, up to directions that are left out; :math:`a = C^\top \alpha`.
    values : array of shape (r,) or None
        Eigenvalues of K_Z where coordinates are whitened.
    weights : array of shape (m,)
    """

    def __init__(self, gram, regularizer, weights=None):
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
        if not keep.any():  # a kernel that vanishes: one coordinate, which is zero everywhere
            keep[-1], values = True, np.ones_like(values)
        self.values, roots = values[keep], np.sqrt(values[keep])
        self.basis, self.lift = root[:, None] * vectors[:, keep] / roots, vectors[:, keep] * roots / root[:, None]

    @property
    def rounding(self):
        """What rounding errors of kernel values add to the mean square of a coordinate, at most.

        Their error is ε‖φ‖², that of a whitened coordinate √m times as much over √λ, and λ ≥ 4 ε λ₁ ≥ 4 ε‖φ‖².
        """
        size, unit = float(np.max(np.abs(np.diagonal(self.gram)))), epsilon(self.gram.dtype)
        return self.weights.sum() * (unit * size) ** 2 if self.values is None else unit * size

    @property
    def factor(self):
        """B, or None where coordinates are the kernel values."""
        return None if self.values is None and np.all(self.weights == 1) else self.basis

    def of(self, values):
        """g of rows of kernel values (n, m)."""
        return values if self.factor is None else values @ self.basis

    def scatter_of_values(self, scatter, points):
        """C S Cᵀ for some of the points: a scatter of coordinates as one of kernel values with these."""
        if self.factor is None:
            return scatter[np.ix_(points, points)]
        return self.lift[points] @ (scatter @ self.lift[points].T)

    @cached_property
    def copies(self):
        """The points whose images are distinct, and which of them each point is a copy of."""
        return distinct_images(self.gram)
