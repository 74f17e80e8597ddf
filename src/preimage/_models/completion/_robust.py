"""Rows with gross errors, brought near a subspace by entries that agree with it; the others are distrusted."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, epsilon, take_rows, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.completion._fill import fill
from preimage._models.completion._losses import OUTLIER, Loss, as_loss
from preimage._models.completion._neighborhoods import Neighborhoods
from preimage._models.completion._robust_start import RobustStart
from preimage.descent import (
    Batched,
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    QuasiNewton,
    for_query_blocks,
    minimize_rows,
    spread,
)

# A row is done when a gradient step is shorter than this fraction of the spread of the data, as in `fill`.
TOLERANCE = 1e-3
# Steps of a row at most; digits with a fifth of the pixels wrong take thirty.
MOST_STEPS = 100


@dataclass(frozen=True)
class RobustResult(Batched):
    """Rows without their gross errors, and how far their entries were believed.

    Attributes
    ----------
    preimages : PreimageResult
        `objective` is the energy plus the loss.
    trust : array of shape (q, d)
        Weights of the entries in [0, 1]: zero where an entry is missing.
    outliers : boolean array of shape (q, d)
        The entries that were distrusted: those with less trust than a residual of three scales has, and missing ones.
    scale : array of shape (q, d)
        The residuals, in units of the inputs, beyond which entries count less.
    """

    preimages: PreimageResult
    trust: Array
    outliers: Array
    scale: Array


@dataclass(frozen=True)
class RobustObjective(Objective):
    r"""The energy plus the loss, :math:`E(z) + \lambda \sum_j s_j^2 \rho(u_j)`, of rows x with scales s.

    :math:`u_j^2 = \sum_k N_{jk} (z_k - x_k)^2 / s_k^2` is the mean over the neighbourhood of column j, over known
    entries; without neighbourhoods :math:`u_j = (z_j - x_j) / s_j`. The derivative of the loss is that of
    :math:`\lambda \sum_k c_k (z_k - x_k)^2` with the weights :math:`c_k = \sum_j N_{jk} s_j^2 \rho'_j / s_k^2`, held
    fixed. Scales have the shape (q, d), or (q, 1) where those of a row are equal.
    """

    energy: SubspaceEnergy
    loss: Loss
    neighborhoods: Neighborhoods
    penalty: float
    X: Array
    known: Array
    scale: Array

    def at(self, Z: Array) -> Evaluation:
        xp, here = array_namespace(Z), self.energy.at(Z)
        residuals, squares = self._residuals(Z)
        added = self.penalty * xp.sum(self.scale**2 * self.loss.values(squares), axis=1)
        weights = self.neighborhoods.returned(self.scale**2 * self.loss.weights(squares)) / self.scale**2
        curvature = None if here.safe_curvature is None else here.safe_curvature + 2 * self.penalty
        return Evaluation(
            here.value + added,
            here.gradient + 2 * self.penalty * weights * residuals,
            here.noise + epsilon(Z.dtype) * added,
            None,
            curvature,
        )

    def take(self, rows: np.ndarray) -> "RobustObjective":
        parts = (take_rows(array, rows) for array in (self.X, self.known, self.scale))
        return RobustObjective(self.energy, self.loss, self.neighborhoods, self.penalty, *parts)

    def trust(self, Z: Array) -> Array:
        """How far the entries of the rows are believed, given the results Z: one for entries without a residual.

        An average over the neighbourhoods that an entry is in. Those in the middle are in more of them than others.
        """
        trust = self.loss.trust(self._residuals(Z)[1])
        shares = self.neighborhoods.returned(array_namespace(Z).ones_like(trust[:1, :]))
        return self.known * self.neighborhoods.returned(trust) / shares

    def _residuals(self, Z: Array) -> tuple[Array, Array]:
        """Residuals of known entries, and mean squares of neighbourhoods in units of the scale."""
        residuals = self.known * (Z - self.X)
        return residuals, self.neighborhoods.averages((residuals / self.scale) ** 2)


def default_penalty(energy: SubspaceEnergy) -> float:
    """The variance of the points in feature space over that in input space.

    A row that is as far from its input as points are from each other then costs as much as one whose image has nothing
    in common with the subspace. It is the unit of squared distances for linear kernels, and 2γ for wide Gaussians.
    """
    xp = array_namespace(energy.subspace.frame.coefficients)
    points = energy.points
    nothing = energy.with_weights(xp.zeros_like(energy.subspace.frame.coefficients[0, :]))
    return max(float(xp.mean(nothing.at(to_dense(points)).value)), 0.0) / spread(points) ** 2


@gives_finite_numbers("objective")
def repair(
    energy: SubspaceEnergy,
    X: Array,
    known: Array,
    *,
    loss: str | Loss = "cauchy",
    scale: float | Array | None = None,
    penalty: float | None = None,
    connectivity: Any = None,
    tol: float = TOLERANCE,
    max_iter: int = MOST_STEPS,
) -> RobustResult:
    r"""Rows near the subspace that agree with most entries of X, whatever the others are.

    .. math:: \min_z E(z) + \lambda \sum_j s_j^2 \rho\big((z_j - x_j)/s_j\big)

    by L-BFGS on all rows together, over known entries. The objective never ends above that of the start, an average of
    points by a loss that gross errors do not move (`RobustStart`). Rows without any known entry get the pre-image of
    the mean.

    Parameters
    ----------
    energy : SubspaceEnergy
    X : array of shape (q, d)
        Numbers also where entries are unknown.
    known : boolean array of shape (q, d)
    loss : {"huber", "l1", "cauchy", "tukey"} or Loss, default="cauchy"
    scale : float, array of shape (d,) or (q, d), or None, default=None
        s, the same for all entries, or for each column, or for each entry; None finds one per row, the robust deviation
        of its entries from the start.
    penalty : float or None, default=None
        λ; None is `default_penalty`.
    connectivity : array or sparse matrix of shape (d, d), optional
        Columns that are likely to be wrong together: see `Neighborhoods`.
    tol : float, default=1e-3
    max_iter : int, default=100

    Returns
    -------
    RobustResult

    Examples
    --------
    Of the four equal numbers that the subspace expects, one is wrong:

    >>> import numpy as np
    >>> from preimage._models.completion import SubspaceEnergy, repair
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Linear
    >>> equal = Subspace(Expansion(Linear(), np.array([[0.5] * 4, [1.5] * 4]), np.array([[1.0], [0.0]])))
    >>> X = np.array([[1.0, 1.0, 9.0, 1.0]])
    >>> result = repair(SubspaceEnergy(equal), X, np.isfinite(X), loss="tukey", scale=0.5)
    >>> result.preimages.points.round(3), result.outliers
    (array([[1., 1., 1., 1.]]), array([[False, False,  True, False]]))
    """
    xp = array_namespace(X)
    chosen, neighborhoods = as_loss(loss), Neighborhoods.of(connectivity, X)
    penalty = default_penalty(energy) if penalty is None else float(penalty)
    weights = xp.astype(known, X.dtype)
    first, scales = RobustStart.of(energy.points, neighborhoods).at(X, weights, scale)
    box = Box.of_inputs(None, None, energy.kernel, X)
    rule = QuasiNewton(spread(energy.points), tol)
    least = chosen.trust(xp.full_like(scales[:1, :1], OUTLIER**2))
    with stage("Removing gross errors", X.shape[0]) as advance:

        def work(rows: slice) -> RobustResult:
            data = X[rows, :], weights[rows, :], scales[rows, :]
            objective = RobustObjective(energy, chosen, neighborhoods, penalty, *data)
            found = minimize_rows(objective, first[rows, :], box, rule, max_iter)
            itself = xp.where(known[rows, :], X[rows, :], first[rows, :])
            # A row that costs less as it is than repaired has no gross errors that show: it starts at itself. Not all
            # rows do: from a row with gross errors, descents end at worse minima, often with lower objectives.
            sound = np.flatnonzero(to_numpy(objective.at(itself).value < found.objective))
            if sound.size:
                again = minimize_rows(objective.take(sound), take_rows(itself, sound), box, rule, max_iter)
                found = found.replaced(sound, again)
            advance(rows.stop - rows.start)
            trust = objective.trust(found.points)
            return RobustResult(found, trust, ~(trust > least), scales[rows, :])

        result = RobustResult.join(for_query_blocks(work, X.shape[0], energy.points, X))
    nothing = np.flatnonzero(~to_numpy(xp.any(known, axis=1)))
    if not nothing.size:
        return result
    middle = fill(energy, take_rows(known, nothing), take_rows(result.preimages.points, nothing))
    points = result.preimages.replaced(nothing, middle)
    return RobustResult(points, result.trust, result.outliers, result.scale)
