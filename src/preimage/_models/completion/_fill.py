"""Missing entries of rows, filled so that the images lie as near as possible to a subspace of feature space."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, take_rows, to_dense, to_numpy
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.completion._energy import SubspaceEnergy
from preimage.descent import (
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    QuasiNewton,
    for_query_blocks,
    minimize_rows,
    spread,
)

# A row is done when a gradient step is shorter than this fraction of the spread of the data: errors of imputed entries
# are a hundred times larger. At ten times as much, wide kernels, whose energies are flat, stop at their starts.
TOLERANCE = 1e-3
# Steps of a row at most; images and tables with half of the entries missing take twenty to forty.
MOST_STEPS = 100


@dataclass(frozen=True)
class FreeEntries(Objective):
    """An objective of rows of which some entries are held fixed: its gradient is zero along them.

    Attributes
    ----------
    objective : Objective
    free : array of shape (q, d)
        One where an entry may move, zero where it is held.
    """

    objective: Objective
    free: Array

    def at(self, Z: Array) -> Evaluation:
        found = self.objective.at(Z)
        return replace(found, gradient=found.gradient * self.free)

    def take(self, rows: np.ndarray) -> "FreeEntries":
        return FreeEntries(self.objective.take(rows), take_rows(self.free, rows))


@gives_finite_numbers("objective")
def fill(
    energy: SubspaceEnergy,
    observed: Array,
    start: Array,
    *,
    box: Box | None = None,
    tol: float = TOLERANCE,
    max_iter: int = MOST_STEPS,
) -> PreimageResult:
    r"""Minimise the energy of each row over its missing entries, from `start`; known entries stay as they are.

    .. math:: \min_z E(z) \quad\text{with}\quad z_j = x_j \text{ where } x_j \text{ is known}

    by L-BFGS on all rows together (`minimize_rows`): the energy of a row never ends above that of its start. Rows
    without any known entry get the pre-image of the mean in feature space, the minimum of
    :math:`\|\varphi(z) - \bar\varphi\|^2`: nothing says where else on the subspace they should be.

    Parameters
    ----------
    energy : SubspaceEnergy
    observed : boolean array of shape (q, d)
        Which entries of `start` are known.
    start : array of shape (q, d)
        The known entries, and a first guess of the others (see `neighbor_start`).
    box : Box, optional
        Bounds on the missing entries; by default the smallest input of the kernel, where it has one.
    tol : float, default=1e-3
        A row is done when a gradient step is shorter than this fraction of the spread of the points.
    max_iter : int, default=100

    Returns
    -------
    PreimageResult
        `objective` is the energy.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage._models.completion import SubspaceEnergy, fill
    >>> from preimage.feature_space import Expansion, Subspace
    >>> from preimage.kernels import Linear
    >>> diagonal = Expansion(Linear(), np.array([[1.0, 1.0]]), np.array([[0.5**0.5]]))  # points with x = y
    >>> known = np.array([[True, False]])
    >>> fill(SubspaceEnergy(Subspace(diagonal)), known, np.array([[3.0, 0.0]])).points.round(6)
    array([[3., 3.]])
    """
    box = Box.of_inputs(None, None, energy.kernel, start) if box is None else box
    descend = _descent(box, QuasiNewton(spread(energy.points), tol), max_iter)
    nothing = np.flatnonzero(~to_numpy(array_namespace(observed).any(observed, axis=1)))
    result = descend(energy, observed, start)
    if nothing.size:
        xp = array_namespace(start)
        middle = xp.mean(to_dense(energy.points), axis=0)[None, :]
        unweighted = energy.with_weights(xp.zeros_like(energy.subspace.frame.coefficients[0, :]))
        mean = descend(unweighted, take_rows(observed, nothing[:1]), box.clip(middle))
        result = result.replaced(nothing, mean.take(np.zeros(nothing.size, int)))
    return result


def _descent(box: Box, rule: QuasiNewton, max_iter: int) -> Callable[..., PreimageResult]:
    def descend(energy: SubspaceEnergy, observed: Array, start: Array) -> PreimageResult:
        xp = array_namespace(start)
        free = xp.astype(~observed, start.dtype)
        with stage("Filling missing entries", start.shape[0]) as advance:

            def work(rows: slice) -> PreimageResult:
                known, first = observed[rows, :], start[rows, :]
                objective = FreeEntries(energy, free[rows, :])
                found = minimize_rows(objective, first, box, rule, max_iter)
                advance(rows.stop - rows.start)
                return replace(found, points=xp.where(known, first, found.points))

            return PreimageResult.join(for_query_blocks(work, start.shape[0], energy.points, start))

    return descend
