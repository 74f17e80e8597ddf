"""Rows with gross errors, brought near a subspace by entries that agree with it; the others are distrusted."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from preimage._engine.arrays import (
    array_namespace,
    epsilon,
    from_numpy,
    is_host,
    itemsize,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array
from preimage._models.completion._energy import MOST_STEPS, TOLERANCE, SubspaceEnergy, fill
from preimage._models.completion._losses import OUTLIER, Loss
from preimage.descent import (
    TILE_BYTES,
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

# Points that starts are averaged from. Every entry of each is compared with every entry of a row: ten times as many
# take longer than the descent, and on digits a thousand are as good as all.
MOST_POINTS = 1000
# The same for rows of many columns, in numbers of all points: 32 MiB in float64, of which a block holds a few copies.
MOST_NUMBERS = 2**22
# The nearest points in the sum of absolute differences, whose mean gives the first residuals.
NEAREST = 10
# Averages weigh a point by exp(−number of entries that are further from it than so many scales). A single point is off
# by more than the mean of ten, which gave the scale; means over neighbourhoods are off by less. Half and twice as much
# raise errors of digits with gross errors by a tenth to a half.
START_SCALE, START_SCALE_OF_MEANS = 2.0, 1.0
# Scales are at least this fraction of the root mean squared deviation of a column: rows that repeat a point have none.
SMALLEST_SCALE = 1e-3
# Bytes of a block on a device, of rows × points × columns.
DEVICE_BYTES = 2**28


@dataclass(frozen=True)
class Neighborhoods:
    """Averages over each column and its neighbours.

    Attributes
    ----------
    matrix : sparse matrix of SciPy, or array of shape (d, d), or None
        Row j has the weights of the average of column j, which sum to one. None averages nothing.
    """

    matrix: Any = None

    @classmethod
    def of(cls, connectivity: Any, like: Array) -> "Neighborhoods":
        """Means over the neighbours that a (d, d) matrix connects, and the column itself, for arrays like `like`.

        As in scikit-learn's `FeatureAgglomeration`: what counts of an entry is whether it is zero.
        """
        if connectivity is None:
            return cls()
        d = like.shape[1]
        if not hasattr(connectivity, "shape"):
            connectivity = np.asarray(connectivity, dtype=float)
        if tuple(connectivity.shape) != (d, d):
            raise ValueError(
                f"`connectivity` says which of the {d} columns are neighbours and needs the shape ({d}, {d}); got "
                f"{tuple(connectivity.shape)}. For images, sklearn.feature_extraction.image.grid_to_graph makes it."
            )
        links = sparse.csr_array(connectivity)
        if not np.isfinite(links.data).all():
            raise ValueError("`connectivity` has entries that are not finite; 1 connects two columns, 0 does not.")
        dtype = np.float32 if "32" in str(like.dtype) else np.float64
        links = sparse.csr_array((abs(links) + abs(links).T + sparse.eye_array(d)) != 0).astype(dtype)
        averages = sparse.csr_array(sparse.diags_array(1 / links.sum(axis=1)) @ links).astype(dtype)
        return cls(averages if is_host(like) else from_numpy(averages.toarray(), like))

    def averages(self, values: Array) -> Array:
        """Averages along the last axis."""
        return self._times(values, None if self.matrix is None else self.matrix.T)

    def returned(self, values: Array) -> Array:
        """The transpose of `averages`: each column gets back its part of the averages that it is in."""
        return self._times(values, self.matrix)

    def _times(self, values: Array, matrix: Any) -> Array:
        if matrix is None:
            return values
        if not sparse.issparse(matrix):
            return values @ matrix
        xp = array_namespace(values)
        return xp.reshape(xp.reshape(values, (-1, values.shape[-1])) @ matrix, values.shape)


ALONE = Neighborhoods()


@dataclass(frozen=True)
class RobustStart:
    """Averages of points that agree with most entries of a row.

    Attributes
    ----------
    points : array of shape (m, d)
    neighborhoods : Neighborhoods
    least : float
        The smallest scale.
    """

    points: Array
    neighborhoods: Neighborhoods
    least: float

    @classmethod
    def of(cls, points: Array, neighborhoods: Neighborhoods) -> "RobustStart":
        """From at most `MOST_POINTS` of the points, evenly spaced; fewer where rows are long."""
        n = points.shape[0]
        most = max(NEAREST, min(MOST_POINTS, MOST_NUMBERS // points.shape[1]))
        if n > most:
            points = take_rows(points, np.unique(np.linspace(0, n - 1, most).astype(int)))
        points = to_dense(points)
        return cls(points, neighborhoods, SMALLEST_SCALE * spread(points) / points.shape[1] ** 0.5)

    def at(self, X: Array, known: Array, scales: Array) -> Array:
        """Starts of rows X with `known` entries (1.0 or 0.0) and scales of all entries, shape (q, d)."""
        xp = array_namespace(X)
        factor = START_SCALE if self.neighborhoods.matrix is None else START_SCALE_OF_MEANS

        def starts(X: Array, known: Array, scales: Array) -> Array:
            width = (scales * factor)[:, None, :]
            squares = self.neighborhoods.averages((self._differences(X, known) / width) ** 2)
            disagreeing = xp.sum(1 - xp.exp(-squares / 2), axis=2)
            weights = xp.exp(xp.min(disagreeing, axis=1, keepdims=True) - disagreeing)
            return weights @ self.points / xp.sum(weights, axis=1, keepdims=True)

        return map_rows(starts, X, known, scales, rows=self._block_rows(X))

    def nearest_means(self, X: Array) -> Array:
        """Means of the points nearest to each row in the sum of absolute differences, shape (q, d)."""
        xp, count = array_namespace(X), min(NEAREST, self.points.shape[0])

        def means(X: Array) -> Array:
            squares = self._differences(X, xp.ones_like(X)) ** 2
            distances = xp.sum(xp.sqrt(self.neighborhoods.averages(squares)), axis=2)
            limit = xp.sort(distances, axis=1)[:, count - 1 : count]
            nearest = xp.astype(distances <= limit, X.dtype)
            return nearest @ self.points / xp.sum(nearest, axis=1, keepdims=True)

        return map_rows(means, X, rows=self._block_rows(X))

    def _differences(self, X: Array, known: Array) -> Array:
        return known[:, None, :] * (X[:, None, :] - self.points[None, :, :])

    def _block_rows(self, X: Array) -> int:
        n, d = self.points.shape
        return max(1, (TILE_BYTES if is_host(X) else DEVICE_BYTES) // (itemsize(X.dtype) * n * d))


@dataclass(frozen=True)
class RobustResult(Batched):
    """Rows without their gross errors, and which entries were distrusted.

    Attributes
    ----------
    preimages : PreimageResult
        `objective` is the energy plus the loss.
    outliers : boolean array of shape (q, d)
        Entries with less trust than a residual of three scales has, and missing ones.
    """

    preimages: PreimageResult
    outliers: Array


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
    points = to_dense(energy.points)
    mean = float(array_namespace(points).mean(energy.of_the_mean().at(points).value))
    return max(mean, 0.0) / spread(energy.points) ** 2


@gives_finite_numbers("objective")
def repair(
    energy: SubspaceEnergy,
    X: Array,
    known: Array,
    *,
    loss: Loss,
    scale: float | Array,
    neighborhoods: Neighborhoods = ALONE,
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
    loss : Loss
    scale : float or array of shape (d,)
        s, the same for all entries, or for each column. The penalty λ is `default_penalty`.
    neighborhoods : Neighborhoods, optional
        Columns that are likely to be wrong together; by default each is alone.
    tol : float, default=1e-3
    max_iter : int, default=100

    Returns
    -------
    RobustResult

    Examples
    --------
    Of the four equal numbers that the subspace expects, one is wrong:

    >>> import numpy as np
    >>> from preimage._models.completion import SubspaceEnergy, as_loss, repair
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Linear
    >>> equal = Subspace(Expansion(Linear(), np.array([[0.5] * 4, [1.5] * 4]), np.array([[1.0], [0.0]])))
    >>> X = np.array([[1.0, 1.0, 9.0, 1.0]])
    >>> result = repair(SubspaceEnergy(equal), X, np.isfinite(X), loss=as_loss("tukey"), scale=0.5)
    >>> result.preimages.points.round(3), result.outliers
    (array([[1., 1., 1., 1.]]), array([[False, False,  True, False]]))
    """
    xp, rule = array_namespace(X), QuasiNewton(spread(energy.points), tol)
    weights = xp.astype(known, X.dtype)
    scales = xp.zeros_like(X) + scale
    first = RobustStart.of(energy.points, neighborhoods).at(X, weights, scales)
    whole = RobustObjective(energy, loss, neighborhoods, default_penalty(energy), X, weights, scales)
    box = Box.of_inputs(None, None, energy.kernel, X)
    least = loss.trust(xp.full_like(scales[:1, :1], OUTLIER**2))
    with stage("Removing gross errors", X.shape[0]) as advance:

        def work(rows: slice) -> RobustResult:
            objective = replace(whole, X=X[rows, :], known=weights[rows, :], scale=scales[rows, :])
            found = minimize_rows(objective, first[rows, :], box, rule, max_iter)
            itself = xp.where(known[rows, :], X[rows, :], first[rows, :])
            # A row that costs less as it is than repaired has no gross errors that show: it starts at itself. Not all
            # rows do: from a row with gross errors, descents end at worse minima, often with lower objectives.
            sound = np.flatnonzero(to_numpy(objective.at(itself).value < found.objective))
            if sound.size:
                again = minimize_rows(objective.take(sound), take_rows(itself, sound), box, rule, max_iter)
                found = found.replaced(sound, again)
            advance(rows.stop - rows.start)
            return RobustResult(found, ~(objective.trust(found.points) > least))

        result = RobustResult.join(for_query_blocks(work, X.shape[0], energy.points, X))
    nothing = np.flatnonzero(~to_numpy(xp.any(known, axis=1)))
    if not nothing.size:
        return result
    middle = fill(energy, take_rows(known, nothing), take_rows(result.preimages.points, nothing))
    return replace(result, preimages=result.preimages.replaced(nothing, middle))
