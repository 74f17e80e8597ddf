"""Kernel PCA of rows with missing entries: fits and fillings in turn."""

from dataclasses import dataclass

import numpy as np

from preimage._arrays import array_namespace, take_rows, to_numpy, with_rows
from preimage._progress import stage
from preimage._typing import Array
from preimage.completion._fill import fill
from preimage.completion._model import NoisySubspace, SubspaceFit
from preimage.solvers._descent import Box

# Folds of the first sweeps, by the number of rows up to which there are so many: more folds leave more rows to learn
# from, and cost as many fits. With two folds errors on tables of 500 rows are up to a tenth larger than with five.
FOLDS = ((700, 5), (float("inf"), 2))
# Sweeps over the folds: after three of them errors change by a hundredth with half of the entries missing.
SWEEPS = 3


@dataclass(frozen=True)
class IncompleteFit:
    """A subspace fitted to rows with missing entries, and the rows as they were filled.

    Attributes
    ----------
    model : NoisySubspace
    rows : array of shape (n, d)
    path : list of float
        The objective `NoisySubspace.objective` after each joint round; it never rises.
    n_rounds : int
        Joint rounds of filling and fitting.
    converged : bool
        Whether the last round lowered the objective by less than the tolerance.
    """

    model: NoisySubspace
    rows: Array
    path: list[float]
    n_rounds: int
    converged: bool


def fit_incomplete(
    fit: SubspaceFit,
    observed: Array,
    start: Array,
    *,
    box: Box,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> IncompleteFit:
    r"""Fit a subspace to rows of which some entries are missing, and fill them.

    Joint rounds fill all rows given the subspace, which lowers every energy E, and fit the subspace to the filled rows,
    which lowers :math:`\sum_i \log\lambda_i + (n - 1 - k)\log\sigma^2 + \frac{1}{n\sigma^2}\sum_j E(z_j)` (without
    noise, the mean of E) over mean, axes, variances and noise. The kernel, the number of components and landmarks stay
    the same, so the objective never rises. Rounds end when it falls by less than `tol` per dimension.

    The image of a row is itself among those that its subspace is fitted to, and holds the row where it is: joint rounds
    move slowly. So the first sweeps fill the rows of each fold with a subspace of the others.

    Parameters
    ----------
    fit : SubspaceFit
    observed : boolean array of shape (n, d)
    start : array of shape (n, d)
        Known entries, and a first guess of the others.
    box : Box
        Bounds on missing entries.
    tol : float
    max_iter : int
        Joint rounds at most.
    rng : numpy.random.Generator
        Draws the folds.

    Returns
    -------
    IncompleteFit
    """
    xp = array_namespace(start)
    incomplete = np.flatnonzero(~to_numpy(xp.all(observed, axis=1)))
    if not incomplete.size:
        return IncompleteFit(fit(start), start, [], 0, True)
    rows = _cross_filled(fit, observed, start, incomplete, box, rng)
    on_points = fit.on_points(rows)
    model = on_points(rows)
    on_points = fit.like(model).on_points(rows)
    known = take_rows(observed, incomplete)
    path: list[float] = []
    with stage("Filling and fitting", max_iter) as advance:
        for _ in range(max_iter):
            found = fill(model.energy, known, take_rows(rows, incomplete), box=box)
            rows = with_rows(rows, incomplete, found.points)
            model = on_points(rows)
            path.append(model.objective(model.energy.at(rows).value))
            advance()
            if len(path) > 1 and path[-2] - path[-1] <= tol * _unit(model, path[-1]):
                return IncompleteFit(model, rows, path, len(path), True)
    return IncompleteFit(model, rows, path, len(path), False)


def _unit(model: NoisySubspace, objective: float) -> float:
    """What decreases of the objective are compared with: the number of dimensions, or the mean energy itself."""
    return model.principal.count - 1 if model.noise else abs(objective)


def _cross_filled(
    fit: SubspaceFit,
    observed: Array,
    start: Array,
    incomplete: np.ndarray,
    box: Box,
    rng: np.random.Generator,
) -> Array:
    """Rows filled fold by fold, each with the subspace of the complete rows and of the other folds."""
    n = start.shape[0]
    n_folds = min(next(folds for most, folds in FOLDS if n <= most), incomplete.size)
    parts = [np.sort(part) for part in np.array_split(rng.permutation(incomplete), n_folds)]
    if n_folds < 2 or n - max(part.size for part in parts) < 2:
        return start
    rows = start
    for _ in range(SWEEPS):
        for part in parts:
            others = np.setdiff1d(np.arange(n), part)
            model = fit(take_rows(rows, others))
            found = fill(model.energy, take_rows(observed, part), take_rows(rows, part), box=box)
            rows = with_rows(rows, part, found.points)
    return rows
