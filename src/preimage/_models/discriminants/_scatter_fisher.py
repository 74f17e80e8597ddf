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


class PointCoordinates:
    r"""Coordinates (F11) of inputs for discriminants :math:`f = \alpha^\top k_Z` on m points Z.

    Scatters of :math:`k_Z(x)` in terms of α have the square of the condition of K_Z. Scatters of the coordinates
    :math:`g(x) = B^\top k_Z(x)` in an orthonormal frame of the points do not, provided that rows are transformed
    before they are summed: whitening a sum would divide its rounding errors by the smallest eigenvalues.

    Parameters
    ----------
    gram : array of shape (m, m)
        K_Z.
    regularizer : {"norm", "identity"}
        With "identity" the coordinates are the kernel values themselves.
    weights : array of shape (m,), optional
        How often each point counts in the penalty :math:`\sum_j \alpha_j^2 / w_j` of "identity", which is that of
        repeated points with equal coefficients.

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
        if regularizer == "identity":
            root = np.sqrt(self.weights)
            self.values, self.basis, self.lift = None, np.diag(root), np.diag(1 / root)
            return
        values, vectors = np.linalg.eigh(gram)
        shortest = SHORTEST * epsilon(values.dtype) * np.max(np.abs(values))
        if not is_semidefinite(values):
            raise UnsupportedKernelError(
                "Kernel Fisher discriminants with regularizer='norm' need a positive semidefinite kernel; on these "
                f"data it has an eigenvalue of {values[0]:.2g}, and {values[-1]:.2g} as the largest. Choose another "
                "kernel, or regularizer='identity', which works with any."
            )
        keep = values > shortest
        if not keep.any():  # a kernel that vanishes gets one coordinate, which is zero everywhere
            keep[-1], values = True, np.ones_like(values)
        self.values, roots = values[keep], np.sqrt(values[keep])
        self.basis, self.lift = vectors[:, keep] / roots, vectors[:, keep] * roots

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


# Multiple of ε of the trace that is added to the diagonal on distinct points: rounding errors of the small eigenvalues
# of K_Z must not make the matrix indefinite. Ten times larger, it would act like a ridge on well-conditioned problems.
INDEFINITENESS = 8


class ScatterFisher:
    r"""Fisher's criterion (F1) for :math:`w = \sum_j \alpha_j \varphi(z_j)` on m points Z.

    Maximises :math:`\alpha^\top M \alpha / \alpha^\top (N + \lambda T + \mu P) \alpha` with the scatters M and N of the
    vectors :math:`k_Z(x)` between and within classes, a tangent covariance T, and the penalty :math:`P = K_Z` on
    :math:`\|w\|^2` or :math:`P = I` on :math:`\|\alpha\|^2`. Everything is computed in the coordinates g of
    `PointCoordinates`, in which P is the identity (F11).

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
    codes, weights : arrays of shape (n,), optional
        Of these data.
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
        codes: Array | None = None,
        weights: Array | None = None,
        n_ridges: int = 1,
    ) -> None:
        self.moments, self.coordinates, self.n_classes = moments, coordinates, len(moments)
        self.codes, self.weights, self._values_of = codes, weights, values_of
        noise = moments.within if tangent is None else moments.within + tangent
        self.between = moments.between_factor
        self.noise = Ridged((noise + noise.T) / 2, n_ridges)
        self.unit = self._variance() if is_relative else 1.0

    def directions(self, ridges: Sequence[float], n_components: int | None = None) -> list[tuple[Array, Array]]:
        """Ratios (k,) and coefficients α (m, k) with αᵀ(N + λT + μP)α = ℓ, the sum of weights, for each ridge.

        Largest ratio first. Where classes do not differ, one direction of zeros.
        """
        most = max(1, min(int(np.sum(self.moments.counts > 0)) - 1, self.between.shape[0]))
        n_components, basis = min(n_components or most, most), self.coordinates.basis
        if not self._has_signal:
            return [(np.zeros(1), np.zeros((basis.shape[0], 1)))] * len(ridges)
        found = [self.noise.rayleigh(self._ridge(ridge), self.between, n_components) for ridge in ridges]
        length = np.sqrt(self.moments.count)
        return [(ratios, length * (basis @ reduced)) for ratios, reduced in found]

    def contrasts(self, ridge: float) -> Array:
        """Coefficients (m, n_classes) of the discriminants of each class against all others, of any length.

        The scatter of all data, S = N + (ℓ₁ℓ₂/ℓ) μμᵀ, in place of the scatter within the class and within the rest
        gives the same directions, so that all classes share one factorisation.
        """
        counts = self.moments.counts if self._has_signal else np.zeros(self.n_classes)
        offsets = np.where((counts > 0)[:, None], self.moments.means - self.moments.mean, 0.0)
        return self.coordinates.basis @ self._total.solve(self._ridge(ridge), offsets.T)

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
        coordinates = self.coordinates
        first, copy_of = distinct_images(coordinates.gram)
        ridge, lift = self._ridge(ridge), coordinates.lift[first]
        noise = lift @ (self.noise.A @ lift.T)
        diagonal: Array | float = 0.0
        if coordinates.regularizer == "norm":
            noise = noise + ridge * coordinates.gram[np.ix_(first, first)]
        else:  # c copies of a point share its coefficient α equally, which makes the penalty α²/c
            diagonal = ridge / np.bincount(copy_of, coordinates.weights)
        noise[np.diag_indices_from(noise)] += diagonal + INDEFINITENESS * epsilon(noise.dtype) * np.trace(noise)
        return (noise + noise.T) / 2, self.moments.means @ lift.T, lift @ self.between, first

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
        return self.coordinates.rounding * self.moments.count

    @property
    def _has_signal(self) -> bool:
        """Whether class means differ by more than rounding errors."""
        return bool(np.sum(self.between**2) > self._rounding)

    def _ridge(self, ridge: float) -> float:
        total = float(np.trace(self.noise.A) + np.sum(self.between**2))
        rounding = SMALLEST_RIDGE * max(epsilon(self.noise.A.dtype) * total, self._rounding)
        return max(ridge * self.unit, rounding) or 1.0  # any positive number, for constant data

    def _variance(self) -> float:
        """The unit of relative ridges; one for constant data."""
        moments, coordinates = self.moments, self.coordinates
        totals = float(np.sum(np.diagonal(moments.within)) + np.sum(self.between**2))
        return totals / (moments.count if coordinates.values is not None else coordinates.weights.sum()) or 1.0
