"""Cross-fitting on landmarks: the models of all folds come from one pass over the training set."""

import warnings
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from preimage._arrays import array_namespace, as_points, is_sparse, take_rows, to_numpy
from preimage._rows import sum_rows
from preimage.components import KernelMoments, landmark_subspace
from preimage.estimators._training_rows import row_numbers
from preimage.exceptions import RankWarning
from preimage.solvers import PreimageResult

# Rows whose moments are summed together: many, so that adding m × m matrices costs little, and few enough to hold.
ROWS = 4096
# Sums of moments in another order differ by less than this fraction; one row of a hundred thousand that is not from
# the training set makes a larger difference.
SAME_MOMENTS = 1e-6


@dataclass(frozen=True)
class FoldMoments:
    """`KernelMoments` of the rows of each fold; `a + b` are those of both sets of data.

    Rows are in folds by their values, see `row_folds`, so that any split of the data gives the same.

    Attributes
    ----------
    n_folds : int
    of_fold : dict of int to KernelMoments
        Of the folds that have rows.
    """

    n_folds: int
    of_fold: dict

    @classmethod
    def of(cls, kernel, points, X, n_folds):
        """One pass over X: an array, a memory map or a Dask array."""

        def block(rows):
            rows = _like(rows, points)
            folds = row_folds(rows, n_folds)
            part = lambda fold: take_rows(rows, np.flatnonzero(folds == fold))
            return cls(n_folds, {int(fold): KernelMoments.of(kernel, points, part(fold)) for fold in np.unique(folds)})

        return sum_rows(block, X, rows=ROWS)

    def __add__(self, other):
        merged = dict(self.of_fold)
        for fold, moments in other.of_fold.items():
            merged[fold] = merged[fold] + moments if fold in merged else moments
        return FoldMoments(self.n_folds, merged)

    @property
    def total(self):
        return reduce(add, self.of_fold.values())

    def subspaces(self, n_components):
        """For each fold with rows, the principal subspace of the rows of all others."""
        if len(self.of_fold) < 2:
            raise ValueError(
                "All rows fall in one fold, and models need rows of another one to learn from: the rows are equal, or "
                "very few. Denoise without cross_fit."
            )
        others = lambda fold: reduce(add, (part for number, part in self.of_fold.items() if number != fold))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)  # fewer rows may have fewer components
            return {fold: landmark_subspace(others(fold), n_components).subspace for fold in self.of_fold}


def row_folds(rows, n_folds):
    """The fold of each row, shape (q,), by its values alone: the same in every chunk, and for equal rows."""
    if n_folds == 1:
        return np.zeros(rows.shape[0], dtype=np.int64)
    return row_numbers(rows if is_sparse(rows) else to_numpy(rows)) % n_folds


def without_fold(subspaces, points, n_folds):
    """(fold, its subspace, the points that are not in the fold) for each fold with a subspace."""
    folds = row_folds(points, n_folds)
    for fold, subspace in subspaces.items():
        yield fold, subspace, take_rows(points, np.flatnonzero(folds != fold))


def denoised_by_folds(solvers, subspaces, n_folds, rows):
    """The `PreimageResult` of rows of the training set, each from the subspace that has not seen its fold.

    Parameters
    ----------
    solvers : dict of int to Preimage
        Fitted, for each of the subspaces.
    subspaces : dict of int to Subspace
        Of `FoldMoments.subspaces`.
    n_folds : int
    rows : array of shape (q, d)
    """
    folds, parts, results = row_folds(rows, n_folds), [], []
    for fold in np.unique(folds):
        # A fold that no training row fell in has no subspace of its own; any of the others has not seen the row.
        known = int(fold) if int(fold) in subspaces else next(iter(subspaces))
        subspace = subspaces[known]
        parts.append(np.flatnonzero(folds == fold))
        queries = take_rows(rows, parts[-1])
        results.append(solvers[known].inverse(subspace, subspace.coordinates(queries), queries))
    return PreimageResult.join(results).take(np.argsort(np.concatenate(parts)))


def require_training_set(found, model, name):
    """Refuse rows that a model on landmarks was not fitted to: it keeps no rows, so only all of them can be told."""
    ours, theirs = model.moments.values, found.total.values
    xp = array_namespace(ours.mean)
    # Landmarks that joined during a stream have not seen the rows before; the first one has seen all.
    last = 1 if model.landmarks.reason == "grown with the data" else None
    change = float(xp.max(xp.abs(ours.mean - theirs.mean)[:last]))
    if ours.count == theirs.count and change <= SAME_MOMENTS * float(xp.max(xp.abs(ours.mean))):
        return
    raise ValueError(
        f"{name} on landmarks keeps no rows to recognise, so cross_fit takes the whole training set, "
        f"{ours.count:.0f} rows; got {theirs.count:.0f} rows, not the same ones, or they were fitted with "
        "sample_weight. Denoise new rows without cross_fit; weights need landmarks=None."
    )


def _like(rows, points):
    """Rows in the precision of the model: their values are what tells folds."""
    rows = as_points(rows)
    return (
        rows.astype(points.dtype) if is_sparse(rows) else array_namespace(rows).astype(rows, points.dtype, copy=False)
    )
