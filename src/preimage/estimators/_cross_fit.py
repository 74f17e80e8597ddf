"""Rows of the training set, denoised and scored by models that have not seen them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from numbers import Integral
from operator import add
from typing import Any

import numpy as np
from sklearn.base import clone

from preimage._engine.arrays import array_namespace, as_points, clamp_at_zero, is_sparse, take_rows, to_numpy
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
    """Which model denoises which row: those that `model` was fitted to have others, by their folds.

    Parameters
    ----------
    model : KernelPCA, fitted exactly
    folds : array of shape (n,)
        Of the rows that `model` was fitted to; not negative.
    model_of : callable
        From a fold to the fitted model for its rows. Asked when a row first needs it; the answer is kept.
    """

    def __init__(self, model: Any, folds: np.ndarray, model_of: Callable[[int], Any]) -> None:
        self.folds = folds
        self.model_of = model_of
        self.training_rows = TrainingRows(_plain(model.subspace_.frame.points))
        self.models = {NEW: model}

    def solve(
        self,
        X: Array,
        n_components: int | None = None,
        repair: Repair | None = None,
        folds: np.ndarray | None = None,
    ) -> DenoisedRows:
        """Denoised X, validated inputs of the model, with gross errors repaired before if asked for.

        With a number of components, those of the leading ones that a model has. `folds` are those of X where they are
        known; None recognises rows.
        """
        denoise = lambda fold, rows: _denoised(self._model(fold), rows, n_components, repair)
        return _by_fold(denoise, self._folds_of(X) if folds is None else folds, X, DenoisedRows.join)

    def errors(self, X: Array, n_components: int | None = None) -> Array:
        """Squared distances of the images of X to the subspaces of their models, shape (q,); as in `solve`."""
        residuals = lambda fold, rows: _residuals(_leading(self._model(fold), n_components), rows)
        return _by_fold(residuals, self._folds_of(X), X, _concat)

    def prepared(self) -> "RowModels":
        """This, with the models of all folds at hand: for work in several threads or processes."""
        for fold in np.unique(self.folds):
            self._model(int(fold))
        return self

    def _folds_of(self, X: Array) -> np.ndarray:
        found = self.training_rows.find(_plain(X))
        return np.where(found < 0, NEW, self.folds[found])

    def _model(self, fold: int) -> Any:
        if fold not in self.models:
            self.models[fold] = self.model_of(fold)
        return self.models[fold]


def cross_fitted(
    model: Any,
    X: Rows,
    cross_fit: Any,
    n_components: int | None,
    *,
    repair: Repair | None = None,
    is_parallel: bool,
) -> Callable[[Array], DenoisedRows]:
    """A function from validated rows to what models that have not seen them make of them.

    Parameters
    ----------
    model : KernelPCA, fitted
    X : array, memory map or Dask array of shape (q, d)
        The rows that the function will be asked for; on landmarks, the whole training set.
    cross_fit : int or array of shape (n,)
        See `fold_of_rows`; on landmarks a number.
    n_components : int or None
        Leading components to project on; None is all.
    repair : Repair or None
        What is done to rows before.
    is_parallel : bool
        Whether the function is called in several threads or processes, so that all models must be at hand.
    """
    if model.route_ == "landmarks":
        subspaces = _fold_subspaces(model, X, cross_fit, n_components)
        return _denoised_on_landmarks(model, subspaces, int(cross_fit), repair)
    models = out_of_fold(model, cross_fit)
    models = models.prepared() if is_parallel else models
    return lambda rows: models.solve(rows, n_components, repair)


def cross_fitted_errors(
    model: Any, X: Rows, cross_fit: Any, n_components: int | None, *, is_parallel: bool
) -> Callable[[Array], Array]:
    """A function from validated rows to their squared distances to subspaces that have not seen them.

    Parameters are those of `cross_fitted`.
    """
    if model.route_ == "landmarks":
        subspaces, n_folds = _fold_subspaces(model, X, cross_fit, n_components), int(cross_fit)
        residuals = lambda fold, rows: _residuals(_of_fold(subspaces, fold), rows)
        return lambda rows: _by_fold(residuals, row_folds(rows, n_folds), rows, _concat)
    models = out_of_fold(model, cross_fit)
    models = models.prepared() if is_parallel else models
    return lambda rows: models.errors(rows, n_components)


def _fold_subspaces(model: Any, X: Rows, n_folds: Any, n_components: int | None) -> dict[int, Subspace]:
    """For each fold of the training set X, the principal subspace of the others, on the landmarks of a model."""
    if not isinstance(n_folds, Integral) or n_folds < 2:
        raise ValueError(f"cross_fit must be a number of folds, at least 2, on landmarks; got {n_folds!r}.")
    fitted = model._landmark_model
    moments = FoldMoments.of(fitted.moments, X, int(n_folds))
    require_training_set(moments, fitted, type(model).__name__)
    return moments.subspaces(
        Wanted.of(model.n_components if n_components is None else n_components, about_mean=model.center)
    )


def _denoised_on_landmarks(
    model: Any, subspaces: dict[int, Subspace], n_folds: int, repair: Repair | None
) -> Callable[[Array], DenoisedRows]:
    points = model._landmark_model.landmarks.points
    # Solvers that learn do so on landmarks of other folds: the model keeps no more rows than these.
    folds = row_folds(points, n_folds)
    others = {fold: take_rows(points, np.flatnonzero(folds != fold)) for fold in subspaces}
    solvers = {
        fold: model._preimage_solver().fit(subspace, others[fold]).ready(subspace, with_start=True)
        for fold, subspace in subspaces.items()
    }
    return lambda rows: denoised_by_folds(solvers, subspaces, n_folds, rows, repair)


def out_of_fold(model: Any, cross_fit: Any) -> RowModels:
    """`RowModels` with a model of all other folds for each, with the kernel and the parameters of `model`."""
    points = model.subspace_.frame.points
    folds = fold_of_rows(points, cross_fit, model.random_state)
    return RowModels(model, folds, lambda fold: fitted_to(model, points, np.flatnonzero(folds != fold)))


def with_own_model(model: Any, other: Any) -> RowModels:
    """`RowModels` with the one model `other` for all rows that `model` was fitted to."""
    return RowModels(model, np.zeros(model.subspace_.frame.points.shape[0], dtype=int), lambda fold: other)


def _by_fold(answer: Callable[[int, Array], Any], folds: np.ndarray, X: Array, join: Callable[[list[Any]], Any]) -> Any:
    """The answers of ``answer(fold, rows of the fold)`` for all folds, joined, in the order of the rows of X."""
    parts = {int(fold): np.flatnonzero(folds == fold) for fold in np.unique(folds)}
    joined = join([answer(fold, take_rows(X, rows)) for fold, rows in parts.items()])
    order = np.argsort(np.concatenate(list(parts.values())))
    return joined.take(order) if isinstance(joined, DenoisedRows) else take_rows(joined, order)


def _concat(parts: list[Array]) -> Array:
    return array_namespace(parts[0]).concat(parts)


def _leading(model: Any, n_components: int | None) -> Subspace:
    """The subspace of the leading components of a model, of those that it has."""
    count = model.n_components_ if n_components is None else min(n_components, model.n_components_)
    return model.subspace_ if count == model.n_components_ else model.subspace_.leading(count)


def _denoised(model: Any, X: Array, n_components: int | None, repair: Repair | None) -> DenoisedRows:
    return denoised(model.preimage_, _leading(model, n_components), X, repair)


def _residuals(subspace: Subspace, X: Array) -> Array:
    """Squared distances to a subspace; rounding alone makes them negative in a Euclidean feature space."""
    residuals = subspace.residuals(X)
    return residuals if subspace.signature is not None else clamp_at_zero(residuals)


def denoised_inside(model: Any, X: Array, n_components: int | None) -> Array:
    """X denoised by the one model, as if it had not seen it; of leading components, those that the model has."""
    return _denoised(model, X, n_components, None).preimages.points


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


def denoised_by_folds(
    solvers: dict[int, Preimage],
    subspaces: dict[int, Subspace],
    n_folds: int,
    rows: Array,
    repair: Repair | None = None,
) -> DenoisedRows:
    """Denoised rows of the training set, each by the subspace that has not seen its fold.

    Parameters
    ----------
    solvers : dict of int to Preimage
        Fitted, for each of the subspaces.
    subspaces : dict of int to Subspace
        Of `FoldMoments.subspaces`.
    n_folds : int
    rows : array of shape (q, d)
    repair : Repair or None
        What is done to rows before.
    """

    def solve(fold: int, queries: Array) -> DenoisedRows:
        return denoised(_of_fold(solvers, fold), _of_fold(subspaces, fold), queries, repair)

    return _by_fold(solve, row_folds(rows, n_folds), rows, DenoisedRows.join)


def _of_fold(parts: dict[int, Any], fold: int) -> Any:
    """The part of a fold. One that no training row fell in has none of its own; any other has not seen its rows."""
    return parts[fold] if fold in parts else next(iter(parts.values()))


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
    rows = as_points(rows)
    return (
        rows.astype(points.dtype) if is_sparse(rows) else array_namespace(rows).astype(rows, points.dtype, copy=False)
    )
