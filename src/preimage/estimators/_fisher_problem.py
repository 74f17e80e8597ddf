"""The problems whose solutions are Fisher discriminants, as estimators call them: points, kernel values, tables."""

from dataclasses import replace

import numpy as np
from sklearn.model_selection import StratifiedKFold

from preimage._arrays import (
    array_namespace,
    as_points,
    from_numpy,
    in_double,
    in_memory,
    is_chunked,
    is_foreign,
    is_lazy,
    own_copy,
    take_rows,
    to_dense,
    to_numpy,
)
from preimage._memory import memory_budget
from preimage._rows import map_rows
from preimage._validation import generator, require_in_memory
from preimage.discriminants import (
    GramFisher,
    KernelTable,
    PointCoordinates,
    ScatterFisher,
    sparsity_by_cross_validation,
)
from preimage.estimators._fisher_data import solves_by_gram
from preimage.estimators._kernel_input import is_precomputed
from preimage.estimators._landmark_fit import as_selector
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import ClassMoments, Expansion, Gram, require_finite
from preimage.invariances import TangentCovariance, as_tangent_covariance
from preimage.landmarks import LandmarkSelector

# Folds and candidates of a choice of the number of coefficients.
N_FOLDS, N_COUNTS = 5, 16
# Matrices of the size of the Gram matrix that a fit on all points holds: itself, centred, a factor, and temporaries.
GRAM_COPIES = 3.5


def expansion_points(estimator, data, chosen):
    """The points that discriminants are expansions on, as `landmarks` means, and the `Landmarks` object, if any."""
    X = data.X
    if chosen is None:
        advice = "Give landmarks=500, say, to fit a Dask array, or pass X.compute()."
        require_in_memory(X, "Discriminants on all points need all rows", advice)
        return X, None
    if isinstance(chosen, (int, np.integer, str, LandmarkSelector)):
        rng = None if isinstance(chosen, LandmarkSelector) else generator(estimator.random_state)
        # In double precision: the same rows are chosen whatever the type of the data.
        rows = X if is_lazy(X) or is_precomputed(data.kernel) else in_double(X)
        landmarks = as_selector(chosen).select(data.kernel, rows, rng=rng).required()
        return landmarks.points, replace(landmarks, factor=None)
    points = own_copy(as_points(chosen if is_foreign(chosen) else np.asarray(to_dense(chosen))), chosen)
    if is_precomputed(data.kernel) or points.ndim != 2 or points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"{type(estimator).__name__} takes points as landmarks in an array of shape "
            f"(m, {estimator.n_features_in_}), for a kernel that is not precomputed; got shape {tuple(points.shape)} "
            f"and {data.kernel!r}."
        )
    return from_numpy(points, X) if not is_chunked(X) and not is_foreign(points) else points, None


def point_coordinates(estimator, data, points):
    """What discriminants on the expansion points know of inputs; points that are the data count like these."""
    weights = data.weights if points is data.X else None
    return PointCoordinates(gram_matrix(data.kernel, points), estimator.regularizer, weights)


def fisher_problem(estimator, data, points):
    """The problem whose solutions are the discriminants: on all points, or from moments of their coordinates."""
    if points is data.X:
        require_memory(estimator, data.X)
        if solves_by_gram(estimator):
            K, is_relative = gram_matrix(data.kernel, points), estimator.alpha_scale == "relative"
            return GramFisher(K, data.codes, data.n_classes, data.weights, is_relative=is_relative)
    coordinates = point_coordinates(estimator, data, points)
    moments = class_moments(data, points, coordinates)
    return scatter_problem(
        estimator, data, points, coordinates, moments, tangent_moment(estimator, data, points, coordinates)
    )


def scatter_problem(estimator, data, points, coordinates, moments, tangent):
    """The problem of discriminants on the expansion points, from what is known of the data."""
    return ScatterFisher(
        moments,
        coordinates,
        is_relative=estimator.alpha_scale == "relative",
        tangent=tangent,
        values_of=lambda A: values_at(coefficients_on(data.kernel, points, A), data.X),
    )


def kernel_table(estimator, data, points):
    """Kernel values of all rows with the expansion points, for cross-validation."""
    exact = points is data.X
    if exact:
        require_memory(estimator, data.X)
    tangent = tangent_moment(estimator, data, points)
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


def chosen_sparsity(estimator, data, points):
    """The number of coefficients that `sparsity` means: itself, or the choice of cross-validation, with its scores."""
    if not isinstance(estimator.sparsity, str):
        return estimator.sparsity, None
    require_in_memory(data.X, "sparsity='cv' needs X", "Give a number of coefficients.")
    counts = np.unique(np.geomspace(1, max(1, points.shape[0] // 2), N_COUNTS).astype(int))
    count, scores = sparsity_by_cross_validation(
        kernel_table(estimator, data, points),
        stratified_folds(data, N_FOLDS),
        float(estimator.alpha),
        counts,
        estimator.regularizer,
        is_relative=estimator.alpha_scale == "relative",
        one_vs_rest=estimator.multiclass == "one_vs_rest",
        threshold=estimator.threshold,
    )
    return count, {"n_nonzero": counts, "mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}


def class_moments(data, points, coordinates):
    """Moments of the coordinates of the data, by class."""
    moments = ClassMoments.of_kernel_values(
        data.kernel, points, data.X, data.codes, data.n_classes, data.weights, factor=coordinates.factor
    )
    if not np.all(np.isfinite(moments.means)):
        raise ValueError(
            "Input X contains NaN or infinity, or values so large that the kernel overflows. Impute or drop such rows, "
            "and scale the data."
        )
    return moments


def tangent_moment(estimator, data, points, coordinates=None):
    """λℓT: what transformations change, as a sum over data like the scatters; or None.

    In the coordinates of the points, or of kernel values with them where None are given.
    """
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
        basis = np.eye(points.shape[0]) if coordinates is None else coordinates.basis
        moment = double(invariances.moment_of(coefficients_on(data.kernel, points, basis), data.X, data.weights))
    else:
        X = data.X if data.weights is None else take_rows(data.X, np.flatnonzero(data.weights))
        factor = double(invariances.tangent_factor(data.kernel, points, X))
        factor = factor if coordinates is None else coordinates.basis.T @ factor
        moment = factor @ factor.T
    return estimator.invariance_weight * data.count * moment


def values_at(expansion, X):
    """Function values at rows that may be lazy, in NumPy."""
    in_points = lambda rows: rows if is_precomputed(expansion.kernel) else in_double(as_points(rows))
    values = map_rows(lambda rows: expansion(in_points(rows)), X, rows=4096) if is_lazy(X) else expansion(in_points(X))
    return to_numpy(in_memory(values)).astype(np.float64)


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
    needed = GRAM_COPIES * 8 * n * n
    if needed > budget:
        raise MemoryError(
            f"{type(estimator).__name__} on all {n} points needs {needed / 1e9:.1f} GB; max_memory allows "
            f"{budget / 1e9:.1f} GB. Give landmarks=1000, say: discriminants on a few points need little memory."
        )


def coefficients_on(kernel, points, coefficients):
    """The vectors with the given coefficients, on the device of the points and in double precision.

    Coefficients of a small ridge are large and cancel; in single precision nothing would be left of the values.
    """
    points = points if is_precomputed(kernel) else in_double(points)
    return Expansion(kernel, points, from_numpy(coefficients, points, dtype=array_namespace(points).float64))


def double(array):
    return to_numpy(array).astype(np.float64, copy=False)
