"""Kernel Fisher discriminants that are expansions on all points, with a penalty on their norm."""

import numpy as np

from preimage._arrays import epsilon
from preimage.discriminants._ridged import Ridged
from preimage.feature_space import ClassMoments


class GramFisher:
    r"""Fisher's criterion in feature space, :math:`w = \sum_i \alpha_i \varphi(x_i)` on all points.

    Maximises :math:`\alpha^\top M \alpha / \alpha^\top (N + \mu K) \alpha` with the scatters between and within
    classes, :math:`N = K D K`. With the normalised indicators T of the classes, :math:`D = I - T T^\top`, every
    maximiser has the form :math:`\alpha = (K + \mu I)^{-1} T c`, because :math:`D (K + \mu I) \alpha = 0` wherever
    :math:`(N + \mu K) \alpha` lies in the span of KT. So one Cholesky factor of :math:`K + \mu I` and a problem of the
    size of the number of classes give all directions, in the condition of K rather than of its square; for two
    classes it is the least-squares support vector machine. Weights w become
    :math:`W^{1/2} K W^{1/2}` and :math:`\alpha = W^{1/2} \beta`.

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
        self.root = None if weights is None else np.sqrt(weights)
        indicators = np.eye(n_classes)[codes]
        self.indicators = indicators if weights is None else self.root[:, None] * indicators
        self.counts = np.sum(self.indicators**2, axis=0)
        weighted = K if weights is None else self.root[:, None] * K * self.root
        self.matrix = Ridged(weighted, n_ridges)
        self.unit = self._variance() if is_relative else 1.0

    def directions(self, ridge, n_components=None):
        """Ratios (k,) and coefficients α (n, k) with αᵀ(N + μK)α = ℓ, the sum of weights; largest ratio first."""
        present = self.counts > 0
        roots = np.sqrt(self.counts[present])
        ridge, G, overlap = self._solved(ridge)
        overlap = overlap[np.ix_(present, present)] / np.outer(roots, roots)  # Tᵀ(K + μI)⁻¹T
        values, vectors = np.linalg.eigh((overlap + overlap.T) / 2)
        seen = 1 - ridge * values  # eigenvalues of TᵀK(K + μI)⁻¹T: what the kernel sees of the classes
        keep = seen > epsilon(seen.dtype) * max(8 * roots.size, float(np.trace(self.matrix.A)) / ridge)
        values, vectors, seen = values[keep], vectors[:, keep], seen[keep]
        share = roots / np.linalg.norm(roots)
        between = vectors.T - np.outer(vectors.T @ share, share)  # without the direction of the common mean
        U, singular, _ = np.linalg.svd(np.sqrt(seen / (ridge * values))[:, None] * between, full_matrices=False)
        most = max(1, min(roots.size - 1, int(keep.sum())))
        n_components = min(n_components or most, most)
        small = vectors @ (U[:, :n_components] / np.sqrt(ridge * values * seen)[:, None])
        return singular[:n_components] ** 2, self._coefficients(
            np.sqrt(self.counts.sum()) * G[:, present] @ (small / roots[:, None])
        )

    def contrasts(self, ridge):
        """Coefficients (n, n_classes) of the discriminants of each class against all others, of any length."""
        _, G, overlap = self._solved(ridge)
        columns = []
        for c, count in enumerate(self.counts):
            groups = np.column_stack([np.arange(self.counts.size) != c, np.arange(self.counts.size) == c]).astype(float)
            if not 0 < count < self.counts.sum():
                columns.append(np.zeros(G.shape[0]))
                continue
            # (K + μI)⁻¹ U b with Uᵀ(K + μI)⁻¹U b = ±1 for the indicators U of the two groups.
            columns.append(G @ groups @ np.linalg.solve(groups.T @ overlap @ groups, np.array([-1.0, 1.0])))
        return self._coefficients(np.column_stack(columns))

    def moments_of(self, coefficients):
        """Moments of the values of discriminants, by class."""
        return ClassMoments.of(self.values_of(coefficients), self.codes, self.n_classes, self.weights)

    def values_of(self, coefficients):
        """Values of discriminants at the points, shape (n, k)."""
        return self.K @ coefficients

    def _variance(self):
        """Of the data in feature space."""
        K, ones = self.matrix.A, np.sum(self.indicators, axis=1)
        count = self.counts.sum()
        return (np.trace(K) - ones @ K @ ones / count) / count

    def _solved(self, ridge):
        rounding = 8 * epsilon(self.matrix.A.dtype) * float(np.trace(self.matrix.A))
        ridge = max(ridge * self.unit, rounding)
        G = self.matrix.solve(ridge, self.indicators)
        return ridge, G, self.indicators.T @ G

    def _coefficients(self, beta):
        return beta if self.root is None else self.root[:, None] * beta
