"""Kernel Fisher discriminants that are expansions on all points, with a penalty on their norm."""

import numpy as np

from preimage._arrays import epsilon
from preimage.discriminants._ridged import Ridged
from preimage.feature_space import ClassMoments

# The smallest ridge, in ε of the trace of K. Coefficients grow like its inverse, and with them the rounding errors of
# values of discriminants: to about a thousandth of their deviation here, and to a hundredth at a tenth of it. Where a
# matrix has the condition c, it changes discriminants by a hundred ε c, as little as other errors do.
SMALLEST_RIDGE = 64


class GramFisher:
    r"""Fisher's criterion in feature space, :math:`w = \sum_i \alpha_i \varphi(x_i)` on all points.

    Maximises :math:`\alpha^\top M \alpha / \alpha^\top (N + \mu K) \alpha` with the scatters between and within
    classes, :math:`N = K D K`. Neither scatter changes when the images are centred, and no maximiser has a part along
    their mean, so K is centred first: that of a wide kernel is nearly constant, and what it differs by from a constant
    would drown in the rounding errors of the rest. With the normalised indicators T of the classes,
    :math:`D = I - T T^\top`, every maximiser has the form :math:`\alpha = (K + \mu I)^{-1} T c`, because
    :math:`D (K + \mu I) \alpha = 0` wherever :math:`(N + \mu K) \alpha` lies in the span of KT. Then

    .. math:: \alpha^\top M \alpha = c^\top S^2 c, \quad \alpha^\top (N + \mu K) \alpha = c^\top S R c, \quad
       S = T^\top K (K + \mu I)^{-1} T, \quad R = \mu\, T^\top (K + \mu I)^{-1} T = I - S,

    so one factor of :math:`K + \mu I` and the eigenvectors of a matrix of the size of the number of classes give all
    directions, with the ratios s/r of the eigenvalues, in the condition of K rather than of its square; for two classes
    it is the least-squares support vector machine. Weights w become :math:`W^{1/2} K W^{1/2}` and
    :math:`\alpha = W^{1/2} \beta`.

    Parameters
    ----------
    K : array of shape (n, n)
    codes : integer array of shape (n,)
        Classes 0 … n_classes − 1.
    n_classes : int
    weights : array of shape (n,), optional
        Positive.
    is_relative : bool, default=True
        Whether ridges are shares of the variance of the data in feature space.
    n_ridges : int, default=1
        How many ridges will be tried.
    """

    def __init__(self, K, codes, n_classes, weights=None, *, is_relative=True, n_ridges=1):
        self.K = K
        self.codes, self.n_classes, self.weights = codes, n_classes, weights
        self.is_relative = is_relative
        self.root = np.ones(len(K)) if weights is None else np.sqrt(weights)
        self.indicators = self.root[:, None] * np.eye(n_classes)[codes]
        self.counts = np.sum(self.indicators**2, axis=0)
        self.matrix = Ridged(weighted_and_centered(K, weights), n_ridges, size=largest_value(K, weights))

    def directions(self, ridge, n_components=None):
        """Ratios (k,) and coefficients α (n, k) with αᵀ(N + μK)α = ℓ, the sum of weights; largest ratio first."""
        present = self.counts > 0
        roots = np.sqrt(self.counts[present])
        # Without the direction of all data together, which the centred kernel does not see.
        contrasts = np.linalg.svd(roots[None, :])[2][1:].T / roots[:, None]
        G, seen, rest, rounding = self.matrix.parts(self._ridge(ridge), self.indicators[:, present] @ contrasts)
        # The smaller of the two has the better digits.
        vectors = np.linalg.eigh(_symmetric(seen if np.trace(seen) < np.trace(rest) else -rest))[1]
        seen, rest = (np.sum(vectors * (each @ vectors), axis=0) for each in (seen, rest))
        keep = np.flatnonzero(seen > 8 * roots.size * rounding)
        order = keep[np.argsort(-seen[keep] / np.maximum(rest[keep], np.finfo(float).tiny), kind="stable")]
        most = max(1, order.size)
        n_components = min(n_components or most, most)
        if order.size == 0:
            return np.zeros(1), np.zeros((len(self.K), 1))
        order = order[:n_components]
        seen, rest = seen[order], np.maximum(rest[order], np.finfo(float).tiny)
        scale = np.sqrt(self.counts.sum() / (seen * rest))
        return seen / rest, self._coefficients(G @ (vectors[:, order] * scale))

    def contrasts(self, ridge):
        """Coefficients (n, n_classes) of the discriminants of each class against all others, of any length."""
        centered = self.indicators - np.outer(self.root, self.counts / self.counts.sum())
        return self._coefficients(self.matrix.parts(self._ridge(ridge), centered)[0])

    def moments_of(self, coefficients):
        """Moments of the values of discriminants, by class."""
        return ClassMoments.of(self.values_of(coefficients), self.codes, self.n_classes, self.weights)

    def values_of(self, coefficients):
        """Values of discriminants at the points, shape (n, k)."""
        return self.K @ coefficients

    def _ridge(self, ridge):
        return absolute_ridge(ridge, self.K, self.weights, is_relative=self.is_relative)

    def _coefficients(self, beta):
        # They sum to zero; what rounding makes of that would be added to all values.
        beta = beta - np.outer(self.root, self.root @ beta / (self.root @ self.root))
        return self.root[:, None] * beta


def weighted_and_centered(K, weights=None):
    """W½ H K Hᵀ W½ with the mean of weighted data in feature space as the origin, H = I − 1wᵀ/ℓ."""
    weights = np.ones(len(K)) if weights is None else weights
    means = K @ (weights / weights.sum())
    centered = K - means[:, None]
    centered -= means - means @ weights / weights.sum()
    root = np.sqrt(weights)
    centered *= root[:, None]
    centered *= root
    return centered


def largest_value(K, weights=None):
    """The largest modulus of weighted kernel values, to which rounding errors of the centred ones are relative."""
    return max(float(K.max()), -float(K.min())) * (1.0 if weights is None else float(weights.max()))


def absolute_ridge(alpha, K, weights=None, *, is_relative=True):
    """μ of a ridge α: a share of the variance of the data in feature space or α itself, and no less than rounding."""
    weights = np.ones(len(K)) if weights is None else weights
    count, diagonal = weights.sum(), np.diagonal(K)
    trace = float(weights @ diagonal)
    unit = max((trace - weights @ K @ weights / count) / count, 0.0) if is_relative else 1.0
    return max(alpha * unit, SMALLEST_RIDGE * epsilon(K.dtype) * trace) or 1.0  # any, for a kernel that vanishes


def _symmetric(A):
    return (A + A.T) / 2
