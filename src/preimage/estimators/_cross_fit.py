"""Which model denoises which row: training rows have models that have not seen them, where that is better."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._engine.arrays import (
    array_namespace,
    as_rows,
    clamp_at_zero,
    from_numpy,
    is_objects,
    is_sparse,
    take_rows,
    to_numpy,
)
from preimage._engine.rows import sum_rows
from preimage._engine.typing import Array, Rows, Seed
from preimage._engine.validation import generator
from preimage._engine.warnings import ignored
from preimage._models.components import LandmarkModel, Wanted, landmark_subspace
from preimage.estimators._robust_denoise import DenoisedRows, Repair, denoised
from preimage.estimators._training_rows import TrainingRows, row_numbers, same_rows
from preimage.exceptions import RankWarning
from preimage.feature_space import KernelMoments, Subspace
from preimage.landmarks._growth import GROWN
from preimage.solvers import Preimage

# Ten folds lower the error of digits by another 1 to 2 % for twice the time; three raise it by 3 %.
FOLDS = 5
# Components over rows is about the fraction of its own noise that a row of the training set keeps. Beyond this value
# that costs more than fitting models to four fifths of the rows: the errors of both ways cross between 1/25 and 1/6 on
# ten data sets (docs/results/training_rows.md).
MOST_PER_ROW = 1 / 12
# Fewer rows have folds of one row, and models of the others are poor.
FEWEST_ROWS = 2 * FOLDS
# In place of a fold, for rows that are not of the training set.
NEW = -1
# Rows whose moments are summed together: many, so that adding m × m matrices costs little, and few enough to hold.
ROWS = 4096
# Sums of moments in another order differ by less than this fraction; one row of a hundred thousand that is not from
# the training set makes a larger difference.
SAME_MOMENTS = 1e-6
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


def needs_folds(n_components: int, n_rows: int) -> bool:
    """Whether so many components take up so much noise of their own rows that models of fewer rows are better."""
    return n_rows >= FEWEST_ROWS and n_components > MOST_PER_ROW * n_rows


def fold_of_rows(X: Array, cross_fit: Any, random_state: Seed) -> np.ndarray:
    """The fold of each row of X, shape (n,): equal rows share one.

    Parameters
    ----------
    X : array of shape (n, d)
    cross_fit : int or array of shape (n,)
        Number of folds of equal size, drawn at random; or labels, such as the runs of scans: each is a fold. Copies of
        a row join the fold of the first one.
    random_state : int, RandomState, Generator or None
    """
    same = same_rows(_plain(X))
    n_distinct = int(same.max()) + 1
    if n_distinct < 3:
        raise ValueError(
            f"cross_fit needs three different rows at least, of which a model is fitted to two; the training set has "
            f"{n_distinct}. Leave cross_fit out."
        )
    if isinstance(cross_fit, Integral) and not isinstance(cross_fit, bool):
        if int(cross_fit) < 2:
            raise ValueError(f"cross_fit must be at least 2 folds; got {cross_fit}.")
        # A random permutation modulo the number of folds: folds of distinct rows differ in size by one at most.
        return (generator(random_state).permutation(n_distinct) % int(cross_fit))[same]
    labels = np.asarray(cross_fit)
    if labels.shape != same.shape:
        raise ValueError(
            f"cross_fit is a number of folds, or one label for each of the {len(same)} rows of the training set; got "
            f"{cross_fit!r}."
            if labels.ndim != 1
            else f"cross_fit has {len(labels)} labels for {len(same)} rows of the training set; each needs one."
        )
    codes, first = np.unique(labels, return_inverse=True)[1], np.unique(same, return_index=True)[1]
    if codes.max() == 0:
        raise ValueError("cross_fit has the same label for all rows; models need rows of another fold to learn from.")
    return codes[first][same]


class RowModels:
    """Which model denoises which row: a function from rows to folds, and one from folds to models.

    Parameters
    ----------
    fold_of : callable
        From an array of shape (q, d) to the fold of each row.
    model_of : callable
        From a fold to the subspace and the solver for its rows, None where nothing is solved. Asked when a row first
        needs it; the answer is kept.
    """

    def __init__(
        self, fold_of: Callable[[Array], np.ndarray], model_of: Callable[[int], tuple[Subspace, Preimage | None]]
    ) -> None:
        self.fold_of = fold_of
        self.model_of = model_of
        self.models: dict[int, tuple[Subspace, Preimage | None]] = {}

    def solve(self, X: Array, repair: Repair | None = None, folds: np.ndarray | None = None) -> DenoisedRows:
        """Denoised X, validated inputs, with gross errors repaired before if asked for; `folds` where they are known.

        The one way in which rows are denoised: whole, by folds, in blocks of lazy rows and in chunks of a file.
        """
        answer = lambda fold, rows: denoised(*self._model(fold), rows, repair)
        return _by_fold(answer, self.fold_of(X) if folds is None else folds, X)

    def errors(self, X: Array) -> Array:
        """Squared distances of the images of X to the subspaces of their models, shape (q,)."""
        return _by_fold(lambda fold, rows: _residuals(self._model(fold)[0], rows), self.fold_of(X), X)

    def prepared(self, folds: np.ndarray) -> "RowModels":
        """This, with the models of these folds at hand: for work in several threads or processes."""
        for fold in np.unique(folds):
            self._model(int(fold))
        return self

    def _model(self, fold: int) -> tuple[Subspace, Preimage | None]:
        if fold not in self.models:
            self.models[fold] = self.model_of(fold)
        return self.models[fold]


def one_model(subspace: Subspace, solver: Preimage) -> RowModels:
    """`RowModels` with the same one for all rows."""
    return RowModels(lambda rows: np.full(rows.shape[0], NEW), lambda fold: (subspace, solver))


def cross_fitted(
    model: Any, X: Rows, cross_fit: Any, n_components: int | None, *, is_parallel: bool, solves: bool = True
) -> RowModels:
    """`RowModels` that have not seen the rows that they are for.

    Parameters
    ----------
    model : KernelPCA, fitted
    X : array, memory map or Dask array of shape (q, d)
        The rows that will be asked for; on landmarks, the whole training set.
    cross_fit : int or array of shape (n,)
        See `fold_of_rows`; on landmarks a number.
    n_components : int or None
        Leading components to project on; None is all.
    is_parallel : bool
        Whether rows are asked for in several threads or processes, so that all models must be at hand.
    solves : bool
        Whether rows are denoised; otherwise only their errors are wanted.
    """
    if model.route_ == "exact":
        return out_of_fold(model, cross_fit, n_components, is_parallel)
    if not isinstance(cross_fit, Integral) or cross_fit < 2:
        raise ValueError(f"cross_fit must be a number of folds, at least 2, on landmarks; got {cross_fit!r}.")
    fitted, n_folds = model._landmark_model, int(cross_fit)
    moments = FoldMoments.of(fitted.moments, X, n_folds)
    require_training_set(moments, fitted, type(model).__name__)
    wanted = Wanted.of(model.n_components if n_components is None else n_components, about_mean=model.center)
    subspaces, points = moments.subspaces(wanted), fitted.landmarks.points
    if not solves:
        return by_values(n_folds, subspaces, dict.fromkeys(subspaces))
    # Solvers that learn do so on landmarks of other folds: the model keeps no more rows than these.
    folds = row_folds(points, n_folds)
    others = {fold: take_rows(points, np.flatnonzero(folds != fold)) for fold in subspaces}
    solvers = {
        fold: model._preimage_solver().fit(subspace, others[fold]).ready(subspace, with_start=True)
        for fold, subspace in subspaces.items()
    }
    return by_values(n_folds, subspaces, solvers)


def by_values(n_folds: int, subspaces: dict[int, Subspace], solvers: dict[int, Any]) -> RowModels:
    """`RowModels` for the folds of `row_folds`: subspaces of `FoldMoments`, and a solver for each."""
    # A fold that no training row fell in has no model of its own; any other has not seen its rows.
    known = lambda fold: fold if fold in subspaces else next(iter(subspaces))
    return RowModels(lambda rows: row_folds(rows, n_folds), lambda fold: (subspaces[known(fold)], solvers[known(fold)]))


def out_of_fold(model: Any, cross_fit: Any, n_components: int | None = None, is_parallel: bool = False) -> RowModels:
    """`RowModels` with a model of all other folds for each, with the kernel and the parameters of `model`."""
    points = model.subspace_.frame.points
    folds = fold_of_rows(points, cross_fit, model.random_state)
    others = lambda fold: fitted_to(model, points, np.flatnonzero(folds != fold))
    models = _of_training_rows(model, folds, others, n_components)
    return models.prepared(folds) if is_parallel else models


def with_own_model(model: Any, other: Any) -> RowModels:
    """`RowModels` with the one model `other` for all rows that `model` was fitted to."""
    return _of_training_rows(model, np.zeros(model.subspace_.frame.points.shape[0], dtype=int), lambda fold: other)


def _of_training_rows(
    model: Any, folds: np.ndarray, other: Callable[[int], Any], n_components: int | None = None
) -> RowModels:
    """`RowModels` that recognise rows that `model` was fitted to exactly, and take it for all others."""
    known = TrainingRows(_plain(model.subspace_.frame.points))

    def fold_of(rows: Array) -> np.ndarray:
        found = known.find(_plain(rows))
        return np.where(found < 0, NEW, folds[found])

    return RowModels(fold_of, lambda fold: leading(model if fold == NEW else other(fold), n_components))


def leading(model: Any, n_components: int | None) -> tuple[Subspace, Preimage]:
    """The subspace of the leading components of a `KernelPCA`, of those that it has, and its solver."""
    count = model.n_components_ if n_components is None else min(n_components, model.n_components_)
    space = model.subspace_
    return space if count == model.n_components_ else space.leading(count), model.preimage_


def _by_fold(answer: Callable[[int, Array], Any], folds: np.ndarray, X: Array) -> Any:
    """The answers of ``answer(fold, rows of the fold)`` for all folds, joined, in the order of the rows of X."""
    parts = {int(fold): np.flatnonzero(folds == fold) for fold in np.unique(folds)}
    if len(parts) < 2:
        return answer(next(iter(parts), NEW), X)
    found = [answer(fold, take_rows(X, rows)) for fold, rows in parts.items()]
    order = np.argsort(np.concatenate(list(parts.values())))
    if isinstance(found[0], DenoisedRows):
        return DenoisedRows.join(found).take(order)
    return take_rows(array_namespace(found[0]).concat(found), order)


def _residuals(subspace: Subspace, X: Array) -> Array:
    """Squared distances to a subspace; rounding alone makes them negative in a Euclidean feature space."""
    residuals = subspace.residuals(X)
    return residuals if subspace.signature is not None else clamp_at_zero(residuals)


def clone_with_kernel(model: Any) -> Any:
    """An unfitted model like a fitted one, with the kernel that this has resolved in place of its parameters."""
    return clone(model).set_params(kernel=model.kernel_, gamma=None, kernel_params=None)


def fitted_to(model: Any, points: Array, rows: np.ndarray | None = None) -> Any:
    """A model like `model`, with its kernel, of points in place of its own, or of some of these, given by numbers."""
    weights = model._relative_weights()
    weights = np.ones(points.shape[0]) if weights is None else to_numpy(weights)[:, 0]
    if rows is not None:
        points, weights = take_rows(points, rows), weights[rows]
    other = clone_with_kernel(model)
    # A fraction of the variance stays one; a number cannot exceed what fewer rows have, which is no news to the user.
    if not isinstance(model.n_components, float):
        other.set_params(n_components=max(1, min(model.n_components_, points.shape[0] - 1)))
    is_weighted = not (weights == weights[0]).all()
    with ignored(RankWarning):
        return other.fit(points, sample_weight=weights / weights.mean()) if is_weighted else other.fit(points)


def _plain(X: Array) -> Array:
    """What rows are recognised by: NumPy or sparse."""
    return X if is_sparse(X) else to_numpy(X)


@dataclass(frozen=True)
class FoldMoments:
    """`KernelMoments` of the rows of each fold; `a + b` are those of both sets of data.

    Rows are in folds by their values, see `row_folds`, so that any split of the data gives the same folds.

    Attributes
    ----------
    n_folds : int
    of_fold : dict of int to KernelMoments
        Of the folds that have rows.
    """

    n_folds: int
    of_fold: dict[int, KernelMoments]

    @classmethod
    def of(cls, like: KernelMoments, X: Rows, n_folds: int) -> "FoldMoments":
        """One pass over X: an array, a memory map or a Dask array. Landmarks and coordinates are those of `like`."""

        def block(rows: Rows) -> "FoldMoments":
            rows = _like(rows, like.points)
            folds = row_folds(rows, n_folds)
            part = lambda fold: take_rows(rows, np.flatnonzero(folds == fold))
            return cls(n_folds, {int(fold): like.batch(part(fold)) for fold in np.unique(folds)})

        return sum_rows(block, X, rows=ROWS)

    def __add__(self, other: "FoldMoments") -> "FoldMoments":
        merged = dict(self.of_fold)
        for fold, moments in other.of_fold.items():
            merged[fold] = merged[fold] + moments if fold in merged else moments
        return FoldMoments(self.n_folds, merged)

    @property
    def count(self) -> float:
        """Number of rows."""
        return sum(part.values.count for part in self.of_fold.values())

    @property
    def total(self) -> KernelMoments:
        """Of all rows."""
        return reduce(add, self.of_fold.values())

    def subspaces(self, wanted: Wanted) -> dict[int, Subspace]:
        """For each fold with rows, the principal subspace of the rows of all others."""
        if len(self.of_fold) < 2:
            raise ValueError(
                "All rows fall in one fold, and models need rows of another one to learn from: the rows are equal, or "
                "very few. Leave cross_fit out."
            )
        others = lambda fold: reduce(add, (part for number, part in self.of_fold.items() if number != fold))
        with ignored(RankWarning):  # fewer rows may have fewer components
            return {fold: landmark_subspace(others(fold), wanted).subspace for fold in self.of_fold}


def row_folds(rows: Rows, n_folds: int) -> np.ndarray:
    """The fold of each row, shape (q,), by its values alone: the same in every chunk, and for equal rows."""
    if n_folds == 1:
        return np.zeros(rows.shape[0], dtype=np.int64)
    return row_numbers(rows if is_sparse(rows) else to_numpy(rows)) % n_folds


def require_training_set(found: FoldMoments, model: LandmarkModel, name: str) -> None:
    """Refuse rows that a model on landmarks was not fitted to: it keeps no rows, so only all of them can be told."""
    ours, theirs = model.moments, found.total
    mean, xp = ours.mean_values(), array_namespace(ours.values.mean)
    # Landmarks that joined during a stream have not seen the rows before; the first one has seen all.
    last = 1 if model.landmarks.reason == GROWN else None
    change = float(xp.max(xp.abs(mean - theirs.mean_values())[:last]))
    if ours.values.count == theirs.values.count and change <= SAME_MOMENTS * float(xp.max(xp.abs(mean))):
        return
    raise ValueError(
        f"{name} on landmarks keeps no rows to recognise, so cross_fit takes the whole training set, "
        f"{ours.values.count:.0f} rows; got {theirs.values.count:.0f} rows, not the same ones, or they were fitted "
        "with sample_weight. New rows need no cross_fit; weights need landmarks=None."
    )


def _like(rows: Rows, points: Array) -> Array:
    """Rows in the precision of the model: their values are what tells folds."""
    rows = as_rows(rows)
    if is_objects(rows):
        return rows
    return (
        rows.astype(points.dtype) if is_sparse(rows) else array_namespace(rows).astype(rows, points.dtype, copy=False)
    )


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
    if model.route_ != "exact" or is_sparse(points) or is_objects(points) or not needs_folds(count, n):
        return None
    if same_rows(to_numpy(points)).max() + 1 < FEWEST_ROWS:  # copies share a fold
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(n)[:MOST_JUDGED])
    folds = fold_of_rows(points, cross_fit, model.random_state)
    models = out_of_fold(model, folds, n_components)
    outside = lambda Z: models.solve(Z, folds=folds[rows]).preimages.points
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
        seen = lambda by, Z: denoised(*leading(by, most), Z).preimages.points
        removed, divergence = judged(seen(model, X), seen(moved_model, there))
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
