"""Kernel Fisher discriminants that are expansions on given points, from moments of the data."""

from functools import cached_property

import numpy as np

from preimage._arrays import epsilon
from preimage.discriminants._ridged import Ridged

# Directions of points shorter than this share of the longest (squared) drown in rounding errors.
SHORTEST = 1e-11


class ScatterFisher:
    r"""Fisher's criterion in feature space, :math:`w = \sum_j \alpha_j \varphi(z_j)` on m points Z.

    Maximises :math:`\alpha^\top M \alpha / \alpha^\top (N + \lambda T + \mu P) \alpha` with the scatters M and N of the
    vectors :math:`k_Z(x)` between and within classes, a tangent covariance T, and the penalty :math:`P = K_Z` on
    :math:`\|w\|^2`, :math:`P = I` on :math:`\|\alpha\|^2`, or their sum. In coordinates in which P is the identity,
    :math:`\alpha = B g`, :math:`B^\top P B = I`, all of them are one problem (`preimage.spectral.rayleigh`).

    Parameters
    ----------
    moments : ClassMoments of the vectors k_Z(x)
    gram : array of shape (m, m)
        K_Z.
    regularizer : {"norm", "identity", "both"}
    is_relative : bool
        Whether ridges are shares of the variance of the data: in feature space for the norm, of k_Z(x) on average
        over Z for the identity.
    tangent : array of shape (m, m), optional
        λT, a sum over data like N.
    values_of : callable, optional
        From coefficients (m, k) to the values of discriminants at all data (n, k), for thresholds that need them.
    n_ridges : int, default=1
        How many ridges will be tried.
    """

    def __init__(self, moments, gram, regularizer, *, is_relative=True, tangent=None, values_of=None, n_ridges=1):
        self.moments, self.gram, self.n_classes = moments, gram, len(moments.classes)
        self.within = moments.within if tangent is None else moments.within + tangent
        self.penalty, self.basis, self.unit = _coordinates(moments, gram, regularizer, is_relative)
        self.between = self._reduced(moments.between_factor)
        noise = self.within if self.basis is None else self.basis.T @ self.within @ self.basis
        self.noise = Ridged((noise + noise.T) / 2, n_ridges)
        self.values_of = values_of

    def directions(self, ridge, n_components=None):
        """Ratios (k,) and coefficients α (m, k) with αᵀ(N + λT + μP)α = ℓ, the sum of weights; largest ratio first."""
        most = max(1, min(int(np.sum(self.moments.counts > 0)) - 1, self.between.shape[0]))
        n_components = min(n_components or most, most)
        ratios, reduced = self.noise.rayleigh(self._ridge(ridge), self.between, n_components)
        return ratios, np.sqrt(self.moments.count) * self._coefficients(reduced)

    def contrasts(self, ridge):
        """Coefficients (m, n_classes) of the discriminants of each class against all others, of any length.

        With the scatter of all data S = N + ℓ₁ℓ₂/ℓ μμᵀ in place of that within a class and within the rest, directions
        stay the same, so all classes share one factorisation.
        """
        counts = self.moments.counts
        offsets = np.where((counts > 0)[:, None], self.moments.means - self.moments.mean, 0.0)
        return self._coefficients(self._total.solve(self._ridge(ridge), self._reduced(offsets.T)))

    def regularized(self, ridge):
        """N + λT + μP itself."""
        noise = self.within + self._ridge(ridge) * self.penalty
        # Rounding errors of small eigenvalues of K_Z must not make it indefinite.
        noise[np.diag_indices_from(noise)] += 8 * epsilon(noise.dtype) * np.trace(noise)
        return noise

    def moments_of(self, coefficients):
        """Moments of the values of discriminants, by class."""
        return self.moments.projected(coefficients)

    @cached_property
    def _total(self):
        return Ridged(self.noise.A + self.between @ self.between.T, self.noise.n_ridges)

    def _ridge(self, ridge):
        rounding = 8 * epsilon(self.noise.A.dtype) * float(np.trace(self.noise.A) + np.sum(self.between**2))
        return max(ridge * self.unit, rounding) or epsilon(self.noise.A.dtype)  # zero for constant data

    def _reduced(self, A):
        return A if self.basis is None else self.basis.T @ A

    def _coefficients(self, reduced):
        return reduced if self.basis is None else self.basis @ reduced


def _coordinates(moments, gram, regularizer, is_relative):
    """The penalty P, coordinates B with BᵀPB = I (None is the identity), and what ridges are multiples of."""
    m = gram.shape[0]
    total = moments.within + moments.between_factor @ moments.between_factor.T
    mean_variance = (np.trace(total) / m if is_relative else 0.0) or 1.0
    if regularizer == "identity":
        return np.eye(m), None, mean_variance
    values, vectors = np.linalg.eigh(gram)
    keep = values > max(SHORTEST, m * epsilon(values.dtype)) * values[-1]
    whitener = vectors[:, keep] / np.sqrt(values[keep])
    variance = (np.sum(whitener * (total @ whitener)) / moments.count if is_relative else 0.0) or 1.0
    if regularizer == "norm":
        return gram, whitener, variance
    penalty = variance * gram + mean_variance * np.eye(m)
    return penalty, vectors / np.sqrt(variance * np.maximum(values, 0) + mean_variance), 1.0
