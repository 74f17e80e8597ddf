"""Whether rows of the training set are better denoised by models that have not seen them."""

from typing import Any

import numpy as np

from preimage._engine.arrays import from_numpy, is_sparse, take_rows, to_numpy
from preimage._engine.typing import Array
from preimage.estimators._cross_fit import FEWEST_ROWS, FOLDS, denoised_inside, fitted_to, needs_folds, out_of_fold
from preimage.estimators._training_rows import same_rows

# Rows that judge: the estimated difference of 500 pictures has a standard error of a few per cent.
MOST_JUDGED = 500
# The variance of the noise is what a model leaves of its own rows, divided by the fraction of their freedom that it
# leaves them. Models with fewer components leave signal as well, and those with more nothing to divide by. With a
# quarter of the rows this is at most 1.2 times the variance on the development sets of docs/results/defaults.md, and
# 0.8 of it made the error larger in no run (0.5 to 2 times the noise, a ninth to all of the rows as components).
FRACTION_OF_ROWS, CAUTION = 1 / 4, 0.8
# Freedom below which rows come back as they were, and tell nothing of their noise.
LEAST_FREEDOM = 0.02
# The step of a finite difference, relative to what is removed from rows.
STEP = 0.1


def automatic_folds(
    model: Any, n_components: int | None = None, cross_fit: Any = FOLDS, deviation: float | None = None
) -> Any:
    r"""Folds, where models of the other folds have the smaller error by more than its standard error; else None.

    Stein's formula estimates the difference of the squared errors of two denoisers a and b of rows x with noise of
    variance :math:`\sigma^2`, without the rows being known that it was added to:

    .. math:: \|b(x) - x\|^2 - \|a(x) - x\|^2
        + 2 \sigma^2 \bigl(\operatorname{div} b(x) - \operatorname{div} a(x)\bigr).

    The divergence of the model that has seen the row includes how the model changes with it. Few components, and models
    on landmarks, which keep no rows that could judge, are not compared: the answer is None.

    Parameters
    ----------
    model : KernelPCA, fitted
    n_components : int or None
        Leading components to project on; None is all.
    cross_fit : int or array of shape (n,)
        The folds, see `fold_of_rows`; returned where they are better.
    deviation : float or None
        Standard deviation σ of the noise, where it is known; None takes a variance that is rather too small.
    """
    count = model.n_components_ if n_components is None else n_components
    points = model.subspace_.frame.points
    n = points.shape[0]
    if model.route_ != "exact" or is_sparse(points) or not needs_folds(count, n):
        return None
    if same_rows(to_numpy(points)).max() + 1 < FEWEST_ROWS:  # copies share a fold
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(n)[:MOST_JUDGED])
    models = out_of_fold(model, cross_fit)
    outside = lambda Z: models.solve(Z, n_components, folds=models.folds[rows]).preimages.points
    X = take_rows(points, rows)
    seen_by_others = outside(X)
    step = STEP * float(np.sqrt(np.mean(_squares(seen_by_others, X))))
    if step == 0:
        return None
    probe = rng.choice([-1.0, 1.0], points.shape)
    moved = points + from_numpy(step * probe, points)
    there, moved_model = take_rows(moved, rows), fitted_to(model, moved)

    def judged(before: Array, after: Array) -> tuple[np.ndarray, np.ndarray]:
        """What is removed of each row, and its divergence, both per column, from results before and after the move."""
        divergence = np.mean(probe[rows] * (to_numpy(after) - to_numpy(before)), axis=1) / step
        return _squares(before, X), np.clip(divergence, 0.0, 1.0)  # beyond, pre-images have jumped

    def inside(most: int | None) -> tuple[np.ndarray, np.ndarray]:
        removed, divergence = judged(denoised_inside(model, X, most), denoised_inside(moved_model, there, most))
        # Jumps raise the mean, and folds would seem better: a few rows must not decide.
        return removed, divergence - max(0.0, float(np.mean(divergence) - np.median(divergence)))

    removed, divergence = inside(n_components)
    if deviation is None:
        few = max(1, min(count, int(FRACTION_OF_ROWS * n)))
        variance = CAUTION * _variance(*(inside(few) if few < count else (removed, divergence)))
    else:
        variance = deviation**2
    removed_outside, divergence_outside = judged(seen_by_others, outside(there))
    gain = removed - removed_outside + 2 * variance * (divergence - divergence_outside)
    return cross_fit if np.mean(gain) > np.std(gain) / np.sqrt(len(gain)) else None


def _squares(Z: Array, X: Array) -> np.ndarray:
    """Squared differences of rows, per column."""
    return np.mean((to_numpy(Z).astype(float) - to_numpy(X)) ** 2, axis=1)


def _variance(removed: np.ndarray, divergence: np.ndarray) -> float:
    freedom = 1 - float(np.mean(divergence))
    return float(np.mean(removed)) / freedom if freedom > LEAST_FREEDOM else 0.0
