"""Rows of the training set, denoised by models that have not seen them."""

import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone

from preimage._arrays import is_sparse, take_rows, to_numpy
from preimage._random import generator
from preimage.estimators._training_rows import TrainingRows, same_rows
from preimage.exceptions import RankWarning
from preimage.solvers import PreimageResult

# Ten folds lower the error of digits by another 1 to 2 % for twice the time; three raise it by 3 %.
FOLDS = 5


def fold_of_rows(X, cross_fit, random_state):
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
    if isinstance(cross_fit, Integral) and not isinstance(cross_fit, bool):
        if not cross_fit >= 2:
            raise ValueError(f"cross_fit must be at least 2 folds; got {cross_fit}.")
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


def models_for(model, X, cross_fit):
    """Pairs of row numbers of X and the model that denoises these rows.

    Rows that `model` was fitted to get a model with the same kernel and parameters that was fitted to the rows of the
    other folds; all others get `model` itself. Models are fitted when their turn comes: one is in memory at a time.

    Parameters
    ----------
    model : KernelPCA, fitted exactly
    X : array of shape (q, d)
        As `model` has validated it.
    cross_fit : int or array of shape (n,)
        As for `fold_of_rows`.
    """
    points = model.subspace_.frame.points
    folds = fold_of_rows(points, cross_fit, model.random_state)
    found = TrainingRows(_plain(points)).find(_plain(X))
    new = np.flatnonzero(found < 0)
    if len(new):
        yield new, model
    of_query = np.where(found < 0, -1, folds[found])
    for fold in np.unique(of_query[found >= 0]):
        yield np.flatnonzero(of_query == fold), _fitted_to(model, take_rows(points, np.flatnonzero(folds != fold)))


def cross_fitted(model, X, cross_fit, denoise):
    """The `PreimageResult` of denoising X, rows of the training set out of their own basis.

    Parameters
    ----------
    model, X, cross_fit
        As for `models_for`.
    denoise : callable
        From a model and rows to a `PreimageResult`.
    """
    parts, results = [], []
    for rows, other in models_for(model, X, cross_fit):
        parts.append(rows)
        results.append(denoise(other, take_rows(X, rows)))
    return PreimageResult.join(results).take(np.argsort(np.concatenate(parts)))


def _fitted_to(model, X):
    count = model.n_components_
    other = clone(model).set_params(kernel=model.kernel_, gamma=None, kernel_params=None)
    # A fraction of the variance stays one; a number cannot exceed what fewer rows have, which is no news to the user.
    if not isinstance(model.n_components, float):
        other.set_params(n_components=max(1, min(count, X.shape[0] - 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        return other.fit(X)


def _plain(X):
    """What rows are recognised by: NumPy or sparse."""
    return X if is_sparse(X) else to_numpy(X)
