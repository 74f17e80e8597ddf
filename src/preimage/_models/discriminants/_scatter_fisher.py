"""Kernel Fisher discriminants that are expansions on given points, from moments of the data."""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.linalg import is_semidefinite
from preimage._engine.typing import Array
from preimage._models.discriminants._gram_fisher import SMALLEST_RIDGE
from preimage._models.discriminants._ridged import Ridged
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import ClassMoments, distinct_images

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
        size, unit = np.max(np.abs(np.diagonal(self.gram))), epsilon(self.gram.dtype)
        return float(self.weights.sum() * (unit * size) ** 2 if self.values is None else unit * size)

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


# Multiple of ε of the trace that is added to the diagonal on distinct points: rounding errors of the small eigenvalues
# of K_Z must not make the matrix indefinite. Ten times larger, it would act like a ridge on well-conditioned problems.
INDEFINITENESS = 8


class ScatterFisher:
    r"""Fisher's criterion (F1) for :math:`w = \sum_j \alpha_j \varphi(z_j)` on m points Z.

    Maximises :math:`\alpha^\top M \alpha / \alpha^\top (N + \lambda T + \mu P) \alpha` with the scatters M and N of the
    vectors :math:`k_Z(x)` between and within classes, a tangent covariance T, and the penalty :math:`P = K_Z` on
    :math:`\|w\|^2`, :math:`P = I` on :math:`\|\alpha\|^2`, or their sum. Everything is computed in the coordinates g
    of `PointCoordinates`, in which P is diagonal (F11).

    Parameters
    ----------
    moments : ClassMoments of the coordinates g
    coordinates : PointCoordinates
    is_relative : bool
        Whether ridges are fractions of the variance of the data: in feature space for the norm, of k_Z(x) on average
        over Z for the identity.
    tangent : array of shape (r, r), optional
        λℓT in the coordinates g, a sum over data like N.
    values_of : callable, optional
        From coefficients (m, k) to the values of discriminants at all data (n, k), for thresholds that need them.
    n_ridges : int, default=1
        How many ridges will be tried.
    """

    def __init__(
        self,
        moments: ClassMoments,
        coordinates: PointCoordinates,
        *,
        is_relative: bool = True,
        tangent: Array | None = None,
        values_of: Callable[[Array], Array] | None = None,
        n_ridges: int = 1,
    ) -> None:
        self.moments, self.coordinates, self.n_classes = moments, coordinates, len(moments)
        self.within = noise = moments.within if tangent is None else moments.within + tangent
        self.of_norm, self.of_identity, self.unit = _penalty(moments, coordinates, is_relative)
        # In the coordinates g the penalty is the identity, except for the sum of both penalties.
        self.scale = np.ones(len(noise))
        if coordinates.regularizer == "both" and coordinates.values is not None:
            self.scale = 1 / np.sqrt(self.of_norm + self.of_identity / coordinates.values)
        self.between = self.scale[:, None] * moments.between_factor
        noise = self.scale[:, None] * noise * self.scale
        self.noise = Ridged((noise + noise.T) / 2, n_ridges)
        self._values_of = values_of

    def directions(self, ridge: float, n_components: int | None = None) -> tuple[Array, Array]:
        """Ratios (k,) and coefficients α (m, k) with αᵀ(N + λT + μP)α = ℓ, the sum of weights.

        Largest ratio first. Where classes do not differ, one direction of zeros.
        """
        return self.directions_of_each([ridge], n_components)[0]

    def directions_of_each(self, ridges: Sequence[float], n_components: int | None = None) -> list[tuple[Array, Array]]:
        """The `directions` of several ridges."""
        most = max(1, min(int(np.sum(self.moments.counts > 0)) - 1, self.between.shape[0]))
        n_components = min(n_components or most, most)
        if not self._has_signal:
            return [(np.zeros(1), np.zeros((self.coordinates.basis.shape[0], 1)))] * len(ridges)
        found = [self.noise.rayleigh(self._ridge(ridge), self.between, n_components) for ridge in ridges]
        length = np.sqrt(self.moments.count)
        return [(ratios, length * self._coefficients(reduced)) for ratios, reduced in found]

    def contrasts(self, ridge: float) -> Array:
        """Coefficients (m, n_classes) of the discriminants of each class against all others, of any length.

        The scatter of all data, S = N + (ℓ₁ℓ₂/ℓ) μμᵀ, in place of the scatter within the class and within the rest
        gives the same directions, so that all classes share one factorisation.
        """
        counts = self.moments.counts if self._has_signal else np.zeros(self.n_classes)
        offsets = np.where((counts > 0)[:, None], self.moments.means - self.moments.mean, 0.0)
        return self._coefficients(self._total.solve(self._ridge(ridge), self.scale[:, None] * offsets.T))

    def on_distinct_points(self, ridge: float) -> tuple[Array, Array, Array, Array]:
        """N + λT + μP for coefficients on points with distinct images, and means and between-class factor there.

        Returns
        -------
        noise : array of shape (u, u)
        means : array of shape (n_classes, u)
        between : array of shape (u, n_classes)
        first : integer array of shape (u,)
            Indices of these points.
        """
        first, copy_of = self.coordinates.copies
        ridge, lift = self._ridge(ridge), self.coordinates.lift[first]
        noise = self.coordinates.scatter_of_values(self.within, first)
        noise = noise + ridge * self.of_norm * self.coordinates.gram[np.ix_(first, first)]
        # c copies of a point share its coefficient α equally, which makes the penalty α²/c.
        diagonal = ridge * self.of_identity / np.bincount(copy_of, self.coordinates.weights)
        diagonal = diagonal + INDEFINITENESS * epsilon(noise.dtype) * np.trace(noise)
        noise[np.diag_indices_from(noise)] += diagonal
        return (noise + noise.T) / 2, self.moments.means @ lift.T, lift @ self.moments.between_factor, first

    def moments_of(self, coefficients: Array) -> ClassMoments:
        """Moments of the values of discriminants, by class; for coefficients of shape (…, m, k)."""
        return self.moments.projected(self.coordinates.lift.T @ coefficients)

    def values_of(self, coefficients: Array) -> Array:
        """Values of discriminants at all data, shape (n, k), for thresholds that need them."""
        if self._values_of is None:
            raise ValueError("This problem was made from moments alone; it does not know the values at the data.")
        return self._values_of(coefficients)

    @cached_property
    def _total(self) -> Ridged:
        return Ridged(self.noise.A + self.between @ self.between.T, self.noise.n_ridges)

    @cached_property
    def _rounding(self) -> float:
        """What rounding errors of kernel values add to a scatter."""
        return float(self.coordinates.rounding * self.moments.count * np.max(self.scale) ** 2)

    @property
    def _has_signal(self) -> bool:
        """Whether class means differ by more than rounding errors."""
        return bool(np.sum(self.between**2) > self._rounding)

    def _ridge(self, ridge: float) -> float:
        total = float(np.trace(self.noise.A) + np.sum(self.between**2))
        rounding = SMALLEST_RIDGE * max(epsilon(self.noise.A.dtype) * total, self._rounding)
        return max(ridge * self.unit, rounding) or 1.0  # any positive number, for constant data

    def _coefficients(self, reduced: Array) -> Array:
        return self.coordinates.basis @ (self.scale[:, None] * reduced)


def _penalty(moments: ClassMoments, coordinates: PointCoordinates, is_relative: bool) -> tuple[float, float, float]:
    """The factors a and b of P = a K_Z + b W⁻¹, and the unit that ridges are multiples of."""
    totals = np.diagonal(moments.within) + np.sum(moments.between_factor**2, axis=1)
    variance = (float(np.sum(totals)) / moments.count if is_relative else 0.0) or 1.0
    if coordinates.regularizer == "norm":
        return 1.0, 0.0, variance
    lengths = 1.0 if coordinates.values is None else coordinates.values
    of_values = (float(np.sum(lengths * totals) / coordinates.weights.sum()) if is_relative else 0.0) or 1.0
    return (0.0, 1.0, of_values) if coordinates.regularizer == "identity" else (variance, of_values, 1.0)
