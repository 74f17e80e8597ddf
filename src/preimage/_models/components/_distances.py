"""How far the image of a point is from combinations of the images of others, or from their mean."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from preimage._engine.arrays import array_namespace, clamp_at_zero
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.feature_space import Expansion, Subspace


@dataclass(frozen=True)
class SpanDistance:
    r"""Squared distance of φ(x) to combinations of training images with penalised coefficients.

    .. math:: d(x) = \min_a \Bigl\| \varphi(x) - \sum_i a_i \varphi(x_i) \Bigr\|^2 + \lambda \sum_i \frac{a_i^2}{w_i}
                   = k(x, x) - \sum_j \frac{l_j}{l_j + \lambda} \beta_j(x)^2,

    with weights w of the rows, one by default, and the coordinates β along the principal axes through zero, whose
    second moments, summed over the rows, are l. Axes along which the data vary much less than λ count little, so that
    no number of components need be chosen. It is also the variance of a Gaussian process at x after noisy observations
    at the training rows.

    Attributes
    ----------
    subspace : Subspace
        All principal axes, through zero.
    moments : array of shape (k,)
        l, not negative.
    ridge : float
        λ > 0.
    """

    subspace: Subspace
    moments: Array
    ridge: float

    def __call__(self, X: Array) -> Array:
        """d(x), shape (q,)."""
        inside, outside = self.parts(X, self.subspace.coordinates(X))
        return inside + outside

    def functions(self) -> Expansion:
        """F, the axes scaled by the root of what counts of them: d(x) = k(x, x) − Σⱼ Fⱼ(x)²."""
        frame, xp = self.subspace.frame, array_namespace(self.moments)
        scales = xp.sqrt(self.moments / (self.moments + self.ridge))
        return Expansion(frame.kernel, frame.points, frame.coefficients * scales)

    @unwarned()
    def parts(self, X: Array, coordinates: Array) -> tuple[Array, Array]:
        """d(x) within the span of the axes, and the squared distance to that span; shape (q,) each.

        `coordinates` are those of X along the axes.
        """
        xp = array_namespace(coordinates)
        squares = coordinates * coordinates
        inside = squares @ (self.ridge / (self.moments + self.ridge))
        diagonal = self.subspace.frame.kernel.diagonal(X)
        return inside, clamp_at_zero(xp.astype(diagonal, inside.dtype) - xp.sum(squares, axis=1))

    def left_out(self, inside: np.ndarray, weights: np.ndarray) -> np.ndarray:
        r"""What `inside` would be without one copy of the row itself, exactly, for rows of the given weights.

        Without a row of weight w the variance d becomes :math:`1 / (1/d - w/\lambda)`, by the formula of Sherman and
        Morrison. Of rows that count more than once, one copy is left out.

        Parameters
        ----------
        inside : NumPy array of shape (n,)
            First of `parts`, of training rows.
        weights : NumPy array of shape (n,)
            Zero for rows that are not of the training set, whose distances stay.
        """
        # The leverage of a row is below one; its rounding errors are some units in the last place.
        remaining = 1 - np.minimum(weights, 1) * inside / self.ridge
        return inside / np.maximum(remaining, 4 * np.finfo(remaining.dtype).eps)


def robust_mean_distances(
    evaluate: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    r"""Squared distances of images to a mean of the other rows, in which each counts by the density at it.

    .. math:: d_i = \Bigl\| \varphi(x_i) - \frac{\sum_{j \ne i} w_j f_j \varphi(x_j)}{\sum_{j \ne i} w_j f_j} \Bigr\|^2,
              \qquad f_i = \max\Bigl(0, \frac{\sum_{j \ne i} w_j k(x_i, x_j)}{\sum_{j \ne i} w_j}\Bigr).

    With a kernel of distances, f is the usual estimate of the density, and d falls as a smoother one grows: a group of
    outliers is far from the mean as long as most rows are elsewhere, however near to each other its members are. This
    is the first step from the plain mean to the robust density estimate of [1]_.

    Parameters
    ----------
    evaluate : callable
        Takes masses m of shape (n,), returns :math:`\sum_j m_j k(x_i, x_j)` for all rows i, shape (n,).
    diagonal : array of shape (n,)
        k(x, x).
    weights : array of shape (n,)
        w, how often each row counts. Of rows that count more than once, one copy is left out.

    Returns
    -------
    array of shape (n,)

    References
    ----------
    .. [1] J. Kim and C. D. Scott, "Robust kernel density estimation", Journal of Machine Learning Research 13, 2012. We
       take one step, and leave the row itself out.
    """
    one_copy = np.minimum(weights, 1)
    density, _ = _to_mean_of_others(evaluate(weights), diagonal, weights, one_copy)
    density = np.maximum(density, 0)
    masses = weights * density
    return _to_mean_of_others(evaluate(masses), diagonal, masses, one_copy * density)[1]


def _to_mean_of_others(
    values: np.ndarray, diagonal: np.ndarray, masses: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Inner products with the mean of the others and squared distances to it; `own` is the mass that is left out."""
    others = masses.sum() - own
    # Rows that are far from everything have no mass, and the mean of nothing is zero.
    exist = others > np.finfo(np.float64).eps * masses.sum()
    others = np.where(exist, others, 1.0)
    inner = np.where(exist, (values - own * diagonal) / others, 0.0)
    squared_norm = (masses @ values - 2 * own * values + own**2 * diagonal) / others**2
    return inner, diagonal - 2 * inner + np.where(exist, squared_norm, 0.0)
