"""The problems whose solutions are Fisher discriminants, as estimators call them: points, kernel values, tables."""

from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from preimage._arrays import (
    as_points,
    from_numpy,
    in_double,
    is_dask,
    is_foreign,
    is_lazy,
    own_copy,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._memory import memory_budget
from preimage._random import generator
from preimage._rows import map_rows
from preimage.discriminants import GramFisher, KernelTable, ScatterFisher, sparsity_by_cross_validation
from preimage.estimators._kernel_input import is_precomputed
from preimage.estimators._landmark_route import as_selector
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import ClassMoments, Expansion, Gram, require_finite
from preimage.invariances import TangentCovariance, as_tangent_covariance
from preimage.landmarks import LandmarkSelector

# Folds and candidates of a choice of the number of coefficients.
N_FOLDS, N_COUNTS = 5, 16


def expansion_points(estimator, data, chosen):
    """The points that discriminants are expansions on, as `landmarks` means, and the `Landmarks` object, if any."""
    X = data.X
    if chosen is None and is_dask(X):
        raise TypeError(
            "Discriminants on all points need all rows in one place. Give landmarks=500, say, to fit a Dask array, or "
            "pass X.compute()."
        )
    if chosen is None:
        return X, None
    if isinstance(chosen, (int, np.integer, str, LandmarkSelector)):
        rng = None if isinstance(chosen, LandmarkSelector) else generator(estimator.random_state)
        landmarks = as_selector(chosen).select(data.kernel, X, rng=rng)
        return landmarks.points, replace(landmarks, factor=None)
    points = own_copy(as_points(chosen if is_foreign(chosen) else np.asarray(to_dense(chosen))), chosen)
    if is_precomputed(data.kernel) or points.ndim != 2 or points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{type(estimator).__name__} takes points as landmarks in an array of shape "
            f"(m, {estimator.n_features_in_}), for a kernel that is not precomputed; got shape {tuple(points.shape)} "
            f"and {data.kernel!r}."
        )
    return from_numpy(points, X) if not is_dask(X) and not is_foreign(points) else points, None


def fisher_problem(estimator, data, points, *, moments=None, tangent=None):
    """The problem whose solutions are the discriminants: on all points, or from moments of kernel values."""
    is_relative = estimator.alpha_scale == "relative"
    if points is data.X:
        require_memory(estimator, data.X)
    if points is data.X and moments is None and solves_by_gram(estimator):
        K = gram_matrix(data.kernel, points)
        return GramFisher(K, data.codes, data.n_classes, data.weights, is_relative=is_relative)
    if moments is None:
        moments = class_moments(data, points)
    return ScatterFisher(
        moments,
        gram_matrix(data.kernel, points),
        estimator.regularizer,
        is_relative=is_relative,
        tangent=tangent,
        values_of=lambda A: values_at(coefficients_on(data.kernel, points, A), data.X),
    )


def kernel_table(estimator, data, points, tangent):
    """Kernel values of all rows with the expansion points, for cross-validation."""
    exact = points is data.X
    if exact:
        require_memory(estimator, data.X)
    return KernelTable(
        gram_matrix(data.kernel, points) if exact else gram_matrix(data.kernel, data.X, points),
        None if exact else gram_matrix(data.kernel, points),
        data.codes,
        data.n_classes,
        data.weights,
        None if tangent is None else tangent / data.count,
    )


def stratified_folds(data, n_folds):
    """At most so many folds, fewer where the smallest class has fewer rows."""
    folds = StratifiedKFold(int(min(n_folds, max(2, np.bincount(data.codes).min()))))
    return list(folds.split(np.zeros((len(data.codes), 1)), data.codes))


def chosen_sparsity(estimator, data, points, tangent):
    """The number of coefficients that `sparsity` means: itself, or the choice of cross-validation, with its scores."""
    if not isinstance(estimator.sparsity, str):
        return estimator.sparsity, None
    if is_dask(data.X):
        raise TypeError("sparsity='cv' needs X in memory; a Dask array is not. Give a number of coefficients.")
    counts = np.unique(np.geomspace(1, max(1, points.shape[0] // 2), N_COUNTS).astype(int))
    count, scores = sparsity_by_cross_validation(
        kernel_table(estimator, data, points, tangent),
        stratified_folds(data, N_FOLDS),
        float(estimator.alpha),
        counts,
        estimator.regularizer,
        is_relative=estimator.alpha_scale == "relative",
        one_vs_rest=estimator.multiclass == "one_vs_rest",
        threshold=estimator.threshold,
    )
    return count, {"n_nonzero": counts, "mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}


def solves_by_gram(estimator):
    """Whether discriminants on all points have the short form of `GramFisher`."""
    return estimator.regularizer == "norm" and estimator.sparsity is None and estimator.invariances is None


def class_moments(data, points):
    moments = ClassMoments.of_kernel_values(data.kernel, points, data.X, data.codes, data.n_classes, data.weights)
    if not np.all(np.isfinite(moments.means)):
        raise ValueError(
            "Input X contains NaN or infinity, or values so large that the kernel overflows. Impute or drop such rows, "
            "and scale the data."
        )
    return moments


def tangent_moment(estimator, data, points):
    """λℓT on the expansion points: what transformations change, as a sum over data like the scatters; or None."""
    invariances = estimator.invariances
    if invariances is None:
        return None
    if is_precomputed(data.kernel):
        raise UnsupportedKernelError(
            "`invariances` need kernel values of transformed rows, which a precomputed kernel does not have. Give the "
            "kernel itself and the inputs."
        )
    if is_lazy(data.X):
        raise TypeError("`invariances` transform all rows, which must be in memory; a Dask array or memory map is not.")
    if not hasattr(invariances, "tangent_factor"):
        invariances = as_tangent_covariance(invariances)
    if isinstance(invariances, TangentCovariance):
        moment = double(invariances.tangent_moment(data.kernel, points, data.X, data.weights))
    else:
        X = data.X if data.weights is None else take_rows(data.X, np.flatnonzero(data.weights))
        factor = double(invariances.tangent_factor(data.kernel, points, X))
        moment = factor @ factor.T
    return estimator.invariance_weight * data.count * moment


def values_at(expansion, X):
    """Function values at rows that may be lazy, in NumPy."""
    values = map_rows(lambda rows: expansion(as_points(rows)), X, rows=4096) if is_lazy(X) else expansion(X)
    return to_numpy(values.compute() if is_dask(values) else values).astype(np.float64)


def gram_matrix(kernel, points, others=None):
    """Kernel values in NumPy, in double precision from the start: small ridges are below rounding errors of single."""
    if not is_precomputed(kernel):
        points = in_double(points)
        others = None if others is None else in_double(others)
    values = double(Gram(kernel, points, others).dense())
    require_finite(values, kernel)
    return values


def require_memory(estimator, X):
    """Refuse a Gram matrix, and the factor of it, that do not fit."""
    n, budget = X.shape[0], memory_budget(estimator.max_memory, X)
    if 2.5 * 8 * n * n > budget:
        raise MemoryError(
            f"{type(estimator).__name__} on all {n} points needs {2.5 * 8 * n * n / 1e9:.1f} GB; max_memory allows "
            f"{budget / 1e9:.1f} GB. Give landmarks=1000, say: discriminants on a few points need little memory."
        )


def coefficients_on(kernel, points, coefficients):
    """The vectors with the given coefficients, beside the points and in the precision of the kernel on them."""
    return Expansion(kernel, points, from_numpy(coefficients, points, dtype=kernel.value_type(points)))


def double(array):
    return to_numpy(array).astype(np.float64, copy=False)
