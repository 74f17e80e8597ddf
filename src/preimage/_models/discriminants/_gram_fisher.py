"""Kernel Fisher discriminants on all points with a penalty on their norm, and their leave-one-out decisions."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from preimage._engine.arrays import epsilon
from preimage._engine.linalg import product, rank_tolerance
from preimage._engine.threads import large_decomposition
from preimage._engine.typing import Array
from preimage._models.discriminants._ridged import Ridged
from preimage.feature_space import ClassMoments

# The smallest ridge, in ε of the trace of K. Coefficients grow like its inverse, and with them the rounding errors of
# the values of discriminants: to about a thousandth of their standard deviation here, to a hundredth at a tenth of it.
# A matrix of condition c changes discriminants by a hundred ε c at this ridge, no more than other errors do; ten times
# larger, it would be the largest error of all.
SMALLEST_RIDGE = 64
# Class differences count as signal above this many rounding errors per class: those of a sum over a few classes are a
# few ε each. Ten times larger, weak but real directions of wide kernels would be dropped.
SIGNAL_FLOOR = 8
# Fraction of their standard deviation by which decisions may differ from a line through least-squares values. Exact
# arithmetic gives zero; small ridges give up to 1e-6. Far larger differences mean that the model was fitted otherwise.
AGREEMENT = 1e-4


class GramFisher:
    r"""Fisher's criterion (F1) for :math:`w = \sum_i \alpha_i \varphi(x_i)` on all points, with :math:`P = \|w\|^2`.

    Neither scatter changes when the images are centred, and no maximiser has a component along their mean, so K is
    centred first: the matrix of a wide kernel is nearly constant, and the differences between its entries would be lost
    in the rounding errors of that constant. Every maximiser has the form (F2), because
    :math:`D (K + \mu I) \alpha = 0` with :math:`D = I - T T^\top` wherever :math:`(N + \mu K) \alpha` lies in the span
    of KT. So one factor of :math:`K + \mu I` and the eigenvectors of (F3), a matrix of the size of the number of
    classes, give all directions, with the condition of K rather than of its square. Two classes give the least-squares
    support vector machine.

    Parameters
    ----------
    K : array of shape (n, n)
    codes : integer array of shape (n,)
        Classes 0 … n_classes − 1.
    n_classes : int
    weights : array of shape (n,), optional
        Positive.
    is_relative : bool, default=True
        Whether ridges are fractions of the variance of the data in feature space (F4).
    n_ridges : int, default=1
        How many ridges will be tried.
    """

    def __init__(
        self,
        K: Array,
        codes: Array,
        n_classes: int,
        weights: Array | None = None,
        *,
        is_relative: bool = True,
        n_ridges: int = 1,
    ) -> None:
        self.K = K
        self.codes, self.n_classes, self.weights = codes, n_classes, weights
        self.is_relative = is_relative
        self.root = np.ones(len(K)) if weights is None else np.sqrt(weights)
        self.indicators = self.root[:, None] * np.eye(n_classes)[codes]
        self.counts = np.sum(self.indicators**2, axis=0)
        # The largest weighted kernel value, to which the rounding errors of centred ones are relative.
        size = max(float(K.max()), -float(K.min())) * float(self.root.max()) ** 2
        self.matrix = Ridged(_weighted_and_centered(K, self.root), n_ridges, size=size)

    def directions(self, ridges: Sequence[float], n_components: int | None = None) -> list[tuple[Array, Array]]:
        """Ratios (k,) and coefficients α (n, k) of (F2) with αᵀ(N + μK)α = ℓ, the sum of weights, for each ridge.

        Largest ratio first. Where classes do not differ, one direction of zeros.
        """
        # S and R of (F3), for class contrasts in place of T: their sum is the identity.
        solutions, S, R, rounding = self.matrix.parts([self.ridge(ridge) for ridge in ridges], self._class_contrasts)
        # S and R have the same eigenvectors; those of the smaller matrix have more correct digits.
        smaller = (np.trace(S, axis1=1, axis2=2) < np.trace(R, axis1=1, axis2=2))[:, None, None]
        chosen = np.where(smaller, S, -R)
        _, vectors = np.linalg.eigh((chosen + chosen.mT) / 2)
        s, r = (np.sum(vectors * (each @ vectors), axis=1) for each in (S, R))
        # Directions whose signal is rounding noise are dropped.
        distinct = s > SIGNAL_FLOOR * np.count_nonzero(self.counts) * rounding[:, None]
        s, r = np.where(distinct, s, 0.0), np.where(distinct, np.maximum(r, np.finfo(float).tiny), 1.0)
        # The quadratic form αᵀ(N + μK)α of the solution for an eigenvector is s r; it becomes ℓ.
        scale = np.sqrt(self.counts.sum() / np.where(distinct, s * r, 1.0))
        coefficients = self._coefficients(solutions @ (vectors * scale[:, None, :]))
        found = []
        for j, ratios in enumerate(s / r):
            order = np.argsort(-ratios, kind="stable")[: np.count_nonzero(distinct[j])][:n_components]
            nothing = (np.zeros(1), np.zeros((len(self.K), 1)))
            found.append((ratios[order], coefficients[j][:, order]) if order.size else nothing)
        return found

    def contrasts(self, ridge: float) -> Array:
        """Coefficients (n, n_classes) of the discriminants of each class against all others, of any length."""
        centered = self.indicators - np.outer(self.root, self.counts / self.counts.sum())
        return self._coefficients(self.matrix.parts([self.ridge(ridge)], centered)[0][0])

    def moments_of(self, coefficients: Array) -> ClassMoments:
        """Moments of the values of discriminants, by class; for coefficients of shape (…, n, k)."""
        return ClassMoments.of(self.values_of(coefficients), self.codes, self.n_classes, self.weights)

    def values_of(self, coefficients: Array) -> Array:
        """Values of discriminants at the points, shape (n, k), or (…, n, k) for a stack of coefficients."""
        return product(self.K, coefficients) if coefficients.ndim == 2 else self.K @ coefficients

    def leave_one_out(self, ridge: float, targets: Array) -> Array:
        """Least-squares values at each point of the discriminant fitted to `targets` (n, k) without it, by (F5).

        Examples
        --------
        >>> import numpy as np
        >>> from preimage._models.discriminants._gram_fisher import GramFisher
        >>> problem = GramFisher(np.eye(3), np.array([0, 0, 1]), 2, is_relative=False)
        >>> problem.leave_one_out(1.0, np.array([[1.0], [1.0], [-1.0]])).ravel().round(6) + 0
        array([0., 0., 1.])
        """
        return self._least_squares(targets, self.ridge(ridge))[1]

    def left_out_decisions(self, ridge: float, decisions: Array) -> tuple[Array, Array] | None:
        r"""Decisions between two classes at each point by the discriminant without it, and their mean levels.

        Decisions of two classes are a line :math:`a f + c` of least-squares values f on targets ±1; the line and the
        ridge stay those of all points. Without point n the mean of all values changes by (F6).

        Parameters
        ----------
        ridge : float
        decisions : array of shape (n,)
            Of the discriminant on all points.

        Returns
        -------
        (values, levels) : arrays of shape (n,), or None
            Decisions, and the weighted mean over all points of the decisions of each discriminant. None where
            `decisions` are no such line.
        """
        signs, mu, fractions = 2.0 * self.codes - 1, self.ridge(ridge), self.root**2 / np.sum(self.root**2)
        fitted, left_out = (each[:, 0] for each in self._least_squares(signs[:, None], mu))
        low, high = (np.mean(fitted[self.codes == c]) for c in (0, 1))
        if not high > low:
            return None
        # The line through the class means of fitted values and decisions.
        below, above = (np.mean(decisions[self.codes == c]) for c in (0, 1))
        slope = (above - below) / (high - low)
        constant = below - slope * low
        if np.abs(slope * fitted + constant - decisions).max() > AGREEMENT * decisions.std():
            return None
        levels = fractions @ fitted + fractions * (left_out - signs)
        return slope * left_out + constant, slope * levels + constant

    def ridge(self, alpha: float) -> float:
        """μ of (F4), but no less than rounding errors demand."""
        unit = self._variance if self.is_relative else 1.0
        smallest = SMALLEST_RIDGE * epsilon(self.K.dtype) * self._trace
        return max(alpha * unit, smallest) or 1.0  # any positive number, for a kernel that vanishes

    @cached_property
    def _trace(self) -> float:
        return float(self.root**2 @ np.diagonal(self.K))

    @cached_property
    def _variance(self) -> float:
        """The variance of the data in feature space, (F4)."""
        weights = self.root**2
        count = weights.sum()
        return max(float(self._trace - weights @ self.K @ weights / count) / count, 0.0)

    def _least_squares(self, targets: Array, mu: float) -> tuple[Array, Array]:
        r"""Kernel ridge regression with a constant: values (n, k) at all points, and at each point without it  (F5).

        With :math:`A = K + \mu W^{-1}` bordered by a row and a column of ones, coefficients are :math:`\alpha = B y`
        where B is the inverse without the border. B does not change when the kernel is centred.
        """
        values, vectors = self._centered_eigen
        along = vectors.T @ (self.root[:, None] * targets)
        coefficients = self.root[:, None] * (vectors @ (along / (values + mu)[:, None]))
        diagonal = self.root**2 * (vectors**2 @ (1 / (values + mu)))
        fitted = targets - (mu / self.root**2)[:, None] * coefficients
        return fitted, targets - coefficients / np.maximum(diagonal, np.finfo(float).tiny)[:, None]

    @cached_property
    def _centered_eigen(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the centred W½ K W½ without the direction of the constant."""
        constant = self.root / np.linalg.norm(self.root)
        # The constant has eigenvalue zero. Moved beyond all others it does not mix with vectors of the null space.
        beyond = 2 * np.linalg.norm(self.matrix.A) + 1.0
        with large_decomposition(len(self.root)):
            values, vectors = np.linalg.eigh(self.matrix.A + beyond * np.outer(constant, constant))
        values, vectors = values[:-1], vectors[:, :-1]
        size = max(np.max(np.abs(values), initial=0.0), self.matrix.size)
        return np.where(values > rank_tolerance(len(self.root), values.dtype) * size, values, 0.0), vectors

    @cached_property
    def _class_contrasts(self) -> Array:
        """Orthonormal combinations of class indicators that are orthogonal to the constant.

        Shape (n, C − 1), for the C classes that have points. The constant itself is left out: the centred kernel does
        not see it.
        """
        present = self.counts > 0
        roots = np.sqrt(self.counts[present])
        combinations = np.linalg.svd(roots[None, :])[2][1:].T
        return self.indicators[:, present] @ (combinations / roots[:, None])

    def _coefficients(self, beta: Array) -> Array:
        # They sum to zero; what rounding makes of that would be added to all values.
        means = self.root @ beta / (self.root @ self.root)
        return self.root[:, None] * (beta - self.root[:, None] * means[..., None, :])


def _weighted_and_centered(K: Array, root: Array) -> Array:
    """W½ H K Hᵀ W½ with H = I − 1wᵀ/ℓ: the origin is the weighted mean of the data in feature space."""
    weights = root**2
    means = K @ (weights / weights.sum())
    centered = K - means[:, None]
    # In place from here on: matrices of n × n dominate the memory of a fit.
    centered -= means - means @ weights / weights.sum()
    centered *= root[:, None]
    centered *= root
    return centered
