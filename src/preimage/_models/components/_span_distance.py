"""How far the image of a point is from combinations of the images of others."""

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
