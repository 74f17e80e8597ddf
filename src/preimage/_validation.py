"""Checks at the door: parameters, data, and the only place that touches scikit-learn's private names."""

import array_api_compat
import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import _check_feature_names, check_array, validate_data
from sklearn.utils.validation import _num_samples as count_rows

from preimage._arrays import (
    array_namespace,
    describe_home,
    epsilon,
    floating_type,
    is_foreign,
    is_sparse,
    without_frame,
)
from preimage._dask import known_rows

__all__ = [
    "Interval",
    "Options",
    "StrOptions",
    "check_coordinates",
    "check_finite_block",
    "check_gram",
    "check_lazy_points",
    "check_model_inputs",
    "check_parameters",
    "check_points",
    "count_rows",
]


def check_parameters(owner):
    """Compare the parameters of an estimator or value object with its constraint table."""
    validate_parameter_constraints(
        owner._parameter_constraints, owner.get_params(deep=False), caller_name=type(owner).__name__
    )


def check_points(estimator, X, *, reset, min_samples=1, accept_sparse=True):
    """Validate rows of inputs for `estimator`: two-dimensional, finite, floating, the right number of columns.

    NumPy arrays, data frames, lists and sparse matrices go through scikit-learn's checks; arrays of other libraries
    stay where they are and meet the same conditions.
    """
    if is_foreign(X):
        return _check_foreign_points(estimator, X, reset=reset, min_samples=min_samples)
    if not reset and _is_plainly_right(estimator, X, min_samples):
        return X
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_min_samples=min_samples,
    )


def _is_plainly_right(estimator, X, min_samples):
    """Whether a NumPy array has nothing that scikit-learn's checks, slow on single rows, would object to or change."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.shape[0] >= min_samples
        and X.shape[1] == estimator.n_features_in_ > 0
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X).all() if X.size < 10_000 else np.isfinite(X.sum()))
    )


def check_lazy_points(estimator, X, *, reset, min_samples=0):
    """Validate what can be seen of a memory map or Dask collection without reading it; passes over it see the rest.

    Where the number of rows matters, `min_samples`, it is counted if nobody knows it.
    """
    name = type(estimator).__name__
    _check_feature_names(estimator, getattr(X, "_meta", X), reset=reset)  # those of a Dask data frame
    X = without_frame(X)
    if X.ndim != 2:
        raise ValueError(
            f"{name} expects 2D data of shape (n_samples, n_features); got shape {tuple(X.shape)}. Reshape a single "
            "feature with `X.reshape(-1, 1)`."
        )
    if np.dtype(X.dtype).kind not in "biuf":
        raise ValueError(f"{name} needs real numbers; got dtype {X.dtype}.")
    if min_samples:
        X = known_rows(X)
        if X.shape[0] < min_samples:
            raise ValueError(
                f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum of {min_samples} is "
                f"required by {name}."
            )
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )
    return X


def check_finite_block(name, rows):
    """Refuse NaN and infinity in rows that a pass over lazy data has read."""
    if not np.all(np.isfinite(rows)):
        raise ValueError(f"Input X contains NaN or infinity. {name} needs finite values: impute or drop them first.")
    return rows


def check_same_home(estimator, X, fitted):
    """Refuse data of one array library or device for a model fitted on another."""
    same_kind = is_foreign(X) == is_foreign(fitted)
    if same_kind and (not is_foreign(X) or _home(X) == _home(fitted)):
        return
    name = type(estimator).__name__
    raise TypeError(
        f"{name} was fitted on {describe_home(fitted)}, but was given {describe_home(X)}. "
        f"Convert the data ({_remedy(fitted)}) or fit {name} again on data of the new kind."
    )


def _check_foreign_points(estimator, X, *, reset, min_samples):
    xp = array_namespace(X)
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(
            f"{name} expects 2D data of shape (n_samples, n_features); got an array of shape {tuple(X.shape)}."
        )
    if X.shape[0] < min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum of {min_samples} is "
            f"required by {name}."
        )
    if not xp.isdtype(X.dtype, ("real floating", "integral", "bool")):
        raise ValueError(f"{name} needs real numbers; got dtype {X.dtype}.")
    if array_api_compat.is_torch_array(X):
        X = X.detach()  # a model is no part of a graph of gradients
    X = xp.astype(X, floating_type(X), copy=False)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"Input X contains NaN or infinity. {name} needs finite values: impute or drop them first.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input."
        )
    return X


def _home(array):
    return type(array).__module__.split(".")[0], str(array_api_compat.device(array))


def _remedy(fitted):
    if is_sparse(fitted) or not is_foreign(fitted):
        return "for a tensor, `tensor.cpu().numpy()`"
    library, device = _home(fitted)
    return f"`{library}.asarray(X, device={device!r})`"


def check_model_inputs(estimator, X, *, like):
    """Validate inputs for a fitted model whose arrays are like `like`: same library, device and precision."""
    X = check_points(estimator, X, reset=False)
    check_same_home(estimator, X, like)
    return (
        X.astype(like.dtype, copy=False) if not is_foreign(X) else array_namespace(X).astype(X, like.dtype, copy=False)
    )


def check_coordinates(estimator, Y, n_components, *, like):
    """Validate coordinates for a fitted model: finite, at most `n_components` columns, same library and precision."""
    name = type(estimator).__name__
    if not is_foreign(Y):
        Y = check_array(Y, dtype=[np.float64, np.float32], input_name="Y")
    check_same_home(estimator, Y, like)
    check_coordinate_shape(estimator, Y, n_components)
    xp = array_namespace(Y)
    if not bool(xp.all(xp.isfinite(Y))):
        raise ValueError(f"The coordinates given to {name} contain NaN or infinity.")
    return xp.astype(Y, like.dtype, copy=False)


def check_coordinate_shape(estimator, Y, n_components):
    """Refuse coordinates that are not along the first of `n_components` axes."""
    if Y.ndim != 2 or not 1 <= Y.shape[1] <= n_components:
        raise ValueError(
            f"{type(estimator).__name__} has {n_components} components; the coordinates have shape {tuple(Y.shape)}. "
            "inverse_transform takes what transform returns, or the first columns of it."
        )


def check_gram(estimator, K, *, centered=False):
    """Validate a precomputed kernel matrix for fitting: dense, square and symmetric up to rounding.

    For methods that look at the `centered` matrix alone, that one must be symmetric. K is then made so by adding a
    number to each row: new rows come with the numbers that were added to its columns, which must stay.
    """
    name = type(estimator).__name__
    if is_sparse(K):
        K = K.toarray()
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} with kernel='precomputed' fits on a square matrix k(X_train, X_train); got shape "
            f"{tuple(K.shape)}. New points are transformed as k(X_new, X_train)."
        )
    xp = array_namespace(K)
    difference = K - K.T
    if centered:
        means = xp.mean(difference, axis=1)  # minus those of columns, whose mean is zero
        difference = difference - means[:, None] + means[None, :]
    asymmetry, scale = float(xp.max(xp.abs(difference))), float(xp.max(xp.abs(K)))
    if asymmetry > 1e3 * epsilon(K.dtype) * scale:
        raise ValueError(
            f"{name} needs a symmetric kernel matrix; K and its transpose differ by up to {asymmetry:.2g} "
            f"(largest entry {scale:.2g}). If the difference is noise, pass (K + K.T) / 2."
        )
    if not centered or not bool(xp.any(K != K.T)):
        return K
    K = K - means[:, None]
    return (K + K.T) / 2  # the rest is rounding
