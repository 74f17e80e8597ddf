"""Kernel PCA of rows with missing entries: fits and fillings in turn."""

from dataclasses import dataclass, replace

import numpy as np

from preimage._engine.arrays import array_namespace, take_rows, to_numpy, with_rows
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._models.completion._fill import fill
from preimage._models.completion._model import NoisySubspace, SubspaceFit
from preimage.descent import Box
from preimage.landmarks import as_landmarks

# Rows up to which the first sweeps go by folds, how many folds, and how many sweeps. More folds leave more rows to
# learn from, and cost as many fits: on tables of 200 and 600 rows two folds give errors larger by a twentieth. Of more
# rows few landmarks do as well, in less time. After these numbers of sweeps errors change by a hundredth.
FOLDED_ROWS, FOLDS, FOLD_SWEEPS = 700, 5, 2
ROUGH_LANDMARKS, LANDMARK_SWEEPS = 200, 2
# Fraction of the variance that first sweeps on landmarks keep at most where the noise follows from it: axes beyond it
# matter for the last digits only. With noise that is given, and wide kernels, they matter: errors on tables grow by a
# quarter without them.
ROUGH_FRACTION = 0.95
# Tolerance of `fill` in the first sweeps, three times that of the joint rounds that follow.
ROUGH_TOLERANCE = 3e-3


@dataclass(frozen=True)
class IncompleteFit:
    """A subspace fitted to rows with missing entries, and the rows as they were filled.

    Attributes
    ----------
    model : NoisySubspace
    rows : array of shape (n, d)
    path : list of float
        The objective `NoisySubspace.objective` before the joint rounds and after each; it never rises.
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
    rows = _first_filled(fit, observed, start, incomplete, box, rng)
    landmarks = fit.landmarks(rows)
    model = fit.on(landmarks, rows)
    same = fit.like(model)
    known = take_rows(observed, incomplete)
    path = [model.objective()]
    with stage("Filling and fitting", max_iter) as advance:
        for _ in range(max_iter):
            found = fill(model.energy, known, take_rows(rows, incomplete), box=box)
            filled = with_rows(rows, incomplete, found.points)
            refitted = same.on(landmarks, filled)
            advance()
            if refitted.objective() <= path[-1]:  # not so by rounding errors, where the kernel hardly tells rows apart
                rows, model = filled, refitted
            path.append(model.objective())
            if path[-2] - path[-1] <= tol * _unit(model, path[-1]):
                return IncompleteFit(model, rows, path, len(path) - 1, True)
    return IncompleteFit(model, rows, path, len(path) - 1, False)


def _unit(model: NoisySubspace, objective: float) -> float:
    """What decreases of the objective are compared with: the number of dimensions, or the mean energy itself."""
    return model.principal.count - 1 if model.noise else abs(objective)


def _first_filled(
    fit: SubspaceFit, observed: Array, start: Array, incomplete: np.ndarray, box: Box, rng: np.random.Generator
) -> Array:
    """Rows after the first sweeps, in which no row is held by its own image."""
    n = start.shape[0]
    everything = np.arange(n)
    if n > FOLDED_ROWS and fit.kernel.is_positive_semidefinite:
        fit = replace(fit.rough(ROUGH_FRACTION), selector=as_landmarks(ROUGH_LANDMARKS))
        pairs, n_sweeps = [(everything, incomplete)], LANDMARK_SWEEPS
    else:
        parts = np.array_split(rng.permutation(incomplete), min(FOLDS, incomplete.size))
        pairs = [(np.setdiff1d(everything, part), np.sort(part)) for part in parts]
        n_sweeps = FOLD_SWEEPS if min(others.size for others, _ in pairs) > 1 else 0
    rows = start
    for _ in range(n_sweeps):
        for others, part in pairs:
            model = fit(take_rows(rows, others))
            known, first = take_rows(observed, part), take_rows(rows, part)
            found = fill(model.energy, known, first, box=box, tol=ROUGH_TOLERANCE)
            rows = with_rows(rows, part, found.points)
    return rows
