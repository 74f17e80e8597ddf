"""Checks of what users pass: parameters, inputs, targets, weights, seeds.

The only module that touches scikit-learn's private names.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from operator import attrgetter
from typing import Any

import array_api_compat
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    Interval,
    MissingValues,
    Options,
    RealNotInt,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._set_output import _auto_wrap_is_configured, _get_output_config, check_library_installed
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_feature_names_in,
    check_array,
    column_or_1d,
    validate_data,
)
from sklearn.utils.validation import _num_samples as count_rows

from preimage._engine.arrays import (
    array_namespace,
    canonical,
    describe_device,
    epsilon,
    floating_type,
    from_device,
    in_memory,
    in_precision,
    is_chunked,
    is_foreign,
    is_masked,
    is_sparse,
    known_rows,
    own_copy,
    take_rows,
    without_frame,
)
from preimage._engine.column_faults import refuse_columns, refuse_texts, refuse_words
from preimage._engine.finite import NOBODY, current_method, is_finite, is_moderate, refuse_far_queries, training_inputs
from preimage._engine.frames import frame_library
from preimage._engine.memory import memory_budget
from preimage._engine.removed import refuse_removed
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.warnings import unwarned

# Names of scikit-learn that other modules take from here.
__all__ = ["Interval", "MissingValues", "Options", "RealNotInt", "StrOptions", "count_rows"]

# Largest difference of a precomputed kernel matrix and its transpose, in rounding units of its largest entry. Values
# from products of a thousand columns differ by about as many units; ten times more would let matrices pass that were
# filled from two different formulas in single precision (1e4 units are 1e-3).
ASYMMETRY = 1e3
# Sizes from which on sums of weights, of their squares, and products with squared kernel values may overflow or vanish.
EXTREME_WEIGHT = 1e60
# Fraction of the largest weight that changes no sum, not even the square of one, in double precision.
NO_WEIGHT = 1e-40
# Types of parameters that cannot change, and how many sets of them are remembered as accepted: a search over many
# widths has some hundreds; a set is some hundred bytes.
PLAIN = frozenset({int, float, str, bool, type(None), np.float64, np.float32, np.int64, np.int32, np.bool_})
MOST_ACCEPTED = 1000
_accepted: set[tuple[type, tuple[type, ...], tuple[Any, ...]]] = set()


def check_parameters(owner: Any) -> None:
    """Compare the parameters of an estimator or value object with its constraint table.

    Plain values that were accepted once are accepted again without a look at the table, which takes as long as a fit
    of a hundred points.
    """
    values = parameters(owner)
    given = tuple(values.values())
    types, key = tuple(map(type, given)), None
    if PLAIN.issuperset(types):
        key = type(owner), types, given
        if key in _accepted:
            return
    for name, value in values.items():
        refuse_removed(type(owner).__name__, name, value)
    validate_parameter_constraints(owner._parameter_constraints, values, caller_name=type(owner).__name__)
    if key is not None:
        if len(_accepted) >= MOST_ACCEPTED:
            _accepted.clear()
        _accepted.add(key)


def parameters(owner: Any) -> dict[str, Any]:
    """The parameters of an estimator or value object by name, without those of its parts.

    As `get_params(deep=False)` gives them, which reads the signature of the class on every call.
    """
    if type(owner).get_params is not BaseEstimator.get_params:
        return owner.get_params(deep=False)
    cls: Any = type(owner)
    names, read = _parameter_names(cls)
    return dict(zip(names, read(owner), strict=True))


@cache
def _parameter_names(cls: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of the parameters of a class, and a function that reads all of them in one call."""
    names = tuple(cls._get_param_names())
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda owner: tuple(getattr(owner, name) for name in names)


def own_parameters(value: Any) -> Any:
    """A value object, such as a kernel, with copies of the arrays and lists among its parameters, also of its parts.

    A model keeps it: what the caller writes into an array that was a parameter must not reach the model. Without such
    parameters it is the object itself.
    """
    if isinstance(value, np.ndarray) or is_sparse(value) or is_foreign(value):
        return own_copy(value, value)
    if type(value) in (list, tuple):
        parts = [own_parameters(part) for part in value]
        is_same = type(value) is tuple and all(part is old for part, old in zip(parts, value, strict=True))
        return value if is_same else type(value)(parts)
    if type(value) is dict:
        return {name: own_parameters(part) for name, part in value.items()}
    if not isinstance(value, BaseEstimator):
        return value
    given = parameters(value)
    if PLAIN.issuperset(map(type, given.values())):
        return value
    changed = {name: own for name, part in given.items() if (own := own_parameters(part)) is not part}
    if not changed:
        return value
    copied = object.__new__(type(value))
    copied.__dict__ = {**value.__dict__, **changed}  # with what the object has computed so far
    return copied


def generator(random_state: Seed) -> np.random.Generator:
    """A NumPy generator from what scikit-learn's users pass as `random_state`.

    Random numbers always come from NumPy and are moved to the device, so that a seed means the same on every device.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def check_points(
    estimator: Any,
    X: Rows,
    *,
    reset: bool,
    min_samples: int = 1,
    accept_sparse: bool = True,
    allow_missing: bool = False,
    precision: Any = None,
) -> Array:
    """Validate rows of inputs for `estimator`: two-dimensional, finite, floating, the right number of columns.

    Rows to fit (`reset`) come back in double precision if their squares are not numbers in single precision. Queries
    must have squares in the `precision` of the fitted model, float64 by default.

    NumPy arrays, data frames, lists and sparse matrices go through scikit-learn's checks; arrays of other libraries
    stay on their device and meet the same conditions. With `allow_missing` entries may be NaN, and masked ones are.
    """
    if is_foreign(X):
        return _check_foreign_points(estimator, X, reset, min_samples, allow_missing, precision)
    if is_chunked(X):
        X = all_rows(type(estimator).__name__, X, getattr(estimator, "max_memory", None))
    if _is_plainly_right(X, min_samples, precision, reset) and _has_known_columns(estimator, X, reset):
        return X
    if is_masked(X) and allow_missing:
        X = X.astype(np.result_type(X.dtype, np.float32)).filled(np.nan)
    if is_masked(X):  # scikit-learn would take what is behind the mask for numbers
        raise ValueError(f"{type(estimator).__name__} got masked entries, which are missing values: fill or drop them.")
    if getattr(X, "shape", (1, 1))[1:] == (0,):  # scikit-learn's checks of frames fail on them
        raise ValueError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    who = type(estimator).__name__ if current_method() == NOBODY else current_method()
    refuse_texts(estimator, who, X)
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)  # of which scikit-learn says better what is wrong, such as complex numbers
    with unwarned(), _blaming_columns(estimator, X, allow_missing):
        # Numbers of more digits, or larger than any float64, are refused as infinite.
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr" if accept_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if allow_missing else True,
            ensure_min_samples=min_samples,
        )
    return _in_range(estimator, canonical(checked) if is_sparse(checked) else checked, reset, precision)


def check_object_rows(estimator: Any, X: Array, *, reset: bool, min_samples: int = 1) -> Array:
    """Validate a column of objects for `estimator`: as many as it needs.

    Objects have no columns with numbers or names, so that `estimator` has neither `n_features_in_` nor
    `feature_names_in_` afterwards, as scikit-learn's vectorizers of texts have none.
    """
    if reset:
        for name in ("n_features_in_", "feature_names_in_"):
            estimator.__dict__.pop(name, None)
    _check_row_count(estimator, X, min_samples)
    return X


def feature_names_in(estimator: Any, names: Any = None) -> np.ndarray:
    """Names of the columns that `estimator` was fitted to, as scikit-learn makes them, or `names` if they fit."""
    return _check_feature_names_in(estimator, names)


def output_library(estimator: Any) -> str | None:
    """The library of data frames in which `estimator` should answer, by `set_output` or by scikit-learn's settings.

    None means arrays. A search, and a correction of another model, answer as their models do.
    """
    if not _auto_wrap_is_configured(estimator):
        inner = [getattr(estimator, name, None) for name in ("best_estimator_", "estimator_")]
        return next((output_library(each) for each in inner if each is not None), None)
    library = _get_output_config("transform", estimator)["dense"]
    if library == "default":
        return None
    check_library_installed(library)
    return str(library)


def check_lazy_points(estimator: Any, X: Rows, *, reset: bool, min_samples: int = 0) -> Rows:
    """Validate what can be seen of a memory map or Dask collection without reading it; passes over it see the rest.

    If the number of rows matters, `min_samples` > 0, chunks of unknown lengths are counted.
    """
    # The empty frame `_meta` has the column names of a Dask data frame.
    _check_feature_names(estimator, getattr(X, "_meta", X), reset=reset)
    X = without_frame(X)
    _check_shape_and_type(estimator, X, np.dtype(X.dtype).kind in "biuf")
    if min_samples:
        X = known_rows(X)
        _check_row_count(estimator, X, min_samples)
    _check_columns(estimator, X, reset)
    return X


def all_rows(who: str, X: Rows, max_memory: float | str | None, instead: str = "Fit to some of the rows.") -> Rows:
    """All rows of a Dask collection in this process; anything else as it is.

    Whether they fit `max_memory` (see `memory_budget`) is seen before they come; `instead` is what to do otherwise.
    """
    if not is_chunked(X):
        return X
    rows = known_rows(without_frame(X))
    needed, budget = math.prod(rows.shape) * rows.dtype.itemsize, memory_budget(max_memory, np.empty(0))
    if needed > budget:
        raise ValueError(
            f"{who} needs all rows in this process: {' × '.join(map(str, rows.shape))} numbers take "
            f"{needed / 1e9:.2g} GB, and {'max_memory' if max_memory else 'half of the free memory'} allows "
            f"{budget / 1e9:.2g} GB. {instead}"
        )
    return in_memory(X)


def check_finite_block(name: str, rows: Array) -> Array:
    """Refuse NaN and infinity in rows that a pass over lazy data has read."""
    if not is_finite(rows):
        raise _not_finite(name)
    refuse_far_queries(name, rows, rows.dtype, is_block=True)
    return rows


def check_model_inputs(estimator: Any, X: Rows, *, fitted: Array) -> Array:
    """Validate inputs of a fitted model: same library, device and precision as its array `fitted`."""
    X = check_points(estimator, X, reset=False, precision=fitted.dtype)
    check_same_device(estimator, X, fitted)
    return in_precision(X, fitted.dtype)


def check_same_device(estimator: Any, X: Array, fitted: Array) -> None:
    """Refuse data of one array library or device for a model fitted on another."""
    same_kind = is_foreign(X) == is_foreign(fitted)
    if same_kind and (not is_foreign(X) or _library_and_device(X) == _library_and_device(fitted)):
        return
    name = type(estimator).__name__
    if is_foreign(fitted):
        library, device = _library_and_device(fitted)
        conversion = f"`{library}.asarray(X, device={device!r})`"
    else:
        conversion = "for a tensor, `tensor.cpu().numpy()`"
    raise ValueError(
        f"Inputs passed to {current_method()}() must use the same namespace and the same device as those passed to "
        f"fit(): {name} was fitted on {describe_device(fitted)}, but was given {describe_device(X)}. Convert the data "
        f"({conversion}) or fit {name} again on data of the new kind."
    )


def check_coordinates(estimator: Any, Y: Array, n_components: int, *, fitted: Array) -> Array:
    """Validate coordinates for a fitted model: finite, at most `n_components` columns, same library and precision."""
    is_plain = type(Y) is np.ndarray and Y.ndim == 2 and Y.dtype in (np.float64, np.float32) and Y.size > 0
    if not is_plain and not is_foreign(Y):
        Y = check_array(Y, dtype=[np.float64, np.float32], input_name="Y")
    check_same_device(estimator, Y, fitted)
    check_coordinate_shape(estimator, Y, n_components)
    xp = array_namespace(Y)
    if not bool(xp.all(xp.isfinite(Y))):
        raise ValueError(f"The coordinates given to {type(estimator).__name__} contain NaN or infinity.")
    return xp.astype(Y, fitted.dtype, copy=False)


def check_coordinate_shape(estimator: Any, Y: Array, n_components: int) -> None:
    """Refuse coordinates that are not along the first of `n_components` axes."""
    if Y.ndim != 2 or not 1 <= Y.shape[1] <= n_components:
        raise ValueError(
            f"{type(estimator).__name__} has {n_components} components; the coordinates have shape {tuple(Y.shape)}. "
            "inverse_transform takes what transform returns, or the first columns of it."
        )


def check_gram(estimator: Any, K: Array, *, centered: bool = False) -> Array:
    """Validate a precomputed kernel matrix for fitting: dense, square and symmetric up to rounding.

    Methods that use only the `centered` matrix need only that one to be symmetric. K is then made symmetric by adding
    a number to each row, never to a column: new rows of kernel values come with whatever was added to the columns.
    The result is a copy, which the model may keep.
    """
    name = type(estimator).__name__
    is_own = is_sparse(K)
    if is_own:
        K = K.toarray()
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{name} with kernel='precomputed' fits on a square matrix k(X_train, X_train); got shape "
            f"{tuple(K.shape)}. New points are transformed as k(X_new, X_train)."
        )
    xp = array_namespace(K)
    difference = K - K.T
    # Row means of K − Kᵀ are minus its column means, and add up to zero: centring removes both.
    means = xp.mean(difference, axis=1)
    if centered:
        difference = difference - means[:, None] + means[None, :]
    asymmetry, scale = float(xp.max(xp.abs(difference))), float(xp.max(xp.abs(K)))
    if asymmetry > ASYMMETRY * epsilon(K.dtype) * scale:
        raise ValueError(
            f"{name} needs a symmetric kernel matrix; K and its transpose differ by up to {asymmetry:.2g} "
            f"(largest entry {scale:.2g}). If the difference is noise, pass (K + K.T) / 2."
        )
    if not centered or not bool(xp.any(K != K.T)):
        return K if is_own else xp.asarray(K, copy=True)
    K = K - means[:, None]
    return (K + K.T) / 2  # what is left of the difference is rounding


def check_targets(estimator: Any, y: Targets, n: int) -> np.ndarray:
    """Validate targets of a regression: finite numbers in NumPy, shape (n,) or (n, k)."""
    y = check_array(_given(estimator, y), dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="y")
    if y.ndim not in (1, 2):
        raise ValueError(f"{type(estimator).__name__} needs targets of shape (n,) or (n, k); got shape {y.shape}.")
    return _of_length(estimator, "y", y, n)


def check_labels(estimator: Any, y: Targets, n: int) -> np.ndarray:
    """Validate class labels: shape (n,), in NumPy."""
    y = check_array(_given(estimator, y), dtype=None, ensure_2d=False, input_name="y")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    return _of_length(estimator, "y", y, n)


def check_weights(estimator: Any, weights: Targets | None, n: int) -> np.ndarray | None:
    """Validate sample weights: finite, not negative, not all zero, in NumPy.

    A single number is the weight of every row; None stays None, which means weights of one.
    """
    if weights is None:
        return None
    given = weights = from_device(weights)
    weights = np.full(n, float(weights)) if np.isscalar(weights) or getattr(weights, "ndim", 1) == 0 else weights
    weights = check_array(weights, dtype=np.float64, ensure_2d=False, allow_nd=True, input_name="sample_weight")
    name = type(estimator).__name__
    if weights.ndim != 1:
        raise ValueError(f"{name} needs sample weights of shape ({n},); got shape {weights.shape}.")
    if weights.min() < 0 or not weights.any():
        raise ValueError(
            f"{name} needs sample weights that are not negative and not all zero; the smallest is "
            f"{weights.min():.3g}, the largest {weights.max():.3g}."
        )
    return own_copy(moderate_weights(_of_length(estimator, "sample_weight", weights, n)), given)


def moderate_weights(weights: np.ndarray) -> np.ndarray:
    """Weights whose sums and squares are numbers: those of extreme size count by their proportions, around one.

    Of the others, those that are below `NO_WEIGHT` of the largest change nothing and become zero.
    """
    largest = float(weights.max())
    if not 1 / EXTREME_WEIGHT < largest < EXTREME_WEIGHT:
        weights = weights / largest
        weights = weights / weights[weights > NO_WEIGHT].mean()
    negligible = (weights > 0) & (weights < NO_WEIGHT * weights.max())
    return np.where(negligible, 0.0, weights) if negligible.any() else weights


def with_weight(estimator: Any, X: Rows, weights: Array, least: int = 2) -> tuple[Rows, Array]:
    """The rows of positive weight, of which there must be at least `least`, and their weights."""
    rows = np.flatnonzero(weights)
    if rows.size < least:
        raise ValueError(
            f"{type(estimator).__name__} needs at least {least} rows of positive sample_weight; got {rows.size}."
        )
    return (X, weights) if rows.size == weights.size else (take_rows(X, rows), weights[rows])


def is_stream(X: Any) -> bool:
    """Whether X is an iterator, whose blocks come one by one."""
    return hasattr(X, "__next__")


def blocks_of(estimator: Any, X: Iterator[Rows]) -> Iterator[Rows]:
    """The blocks of an iterator; one without any is refused."""
    count = 0
    for block in X:
        count += 1
        yield block
    if count == 0:
        raise ValueError(f"{type(estimator).__name__} was given an iterator without a single block of rows.")


def refuse_stream(estimator: Any, X: Any, method: str, remedy: str) -> None:
    """Refuse an iterator where all rows are needed at once, or more than once."""
    if is_stream(X):
        raise TypeError(f"{type(estimator).__name__}.{method} cannot read an iterator of blocks. {remedy}")


def require_in_memory(X: Rows, needs: str, advice: str = "Pass X.compute().") -> None:
    """Refuse Dask arrays and data frames: `needs` says who needs what, as in "navigate needs arrays"."""
    if is_chunked(X):
        raise TypeError(f"{needs} in memory; got a Dask collection. {advice}")


def require_on_host(who: str, X: Rows, advice: str = "Pass a NumPy array.") -> None:
    """Refuse tensors where the work is done on the host: moving them there is for the user to decide."""
    if is_foreign(X):
        raise TypeError(f"{who} works on the host; got {describe_device(X)}. {advice}")


@contextmanager
def _blaming_columns(estimator: Any, X: Rows, allow_missing: bool) -> Iterator[None]:
    """Say which columns of X have no numbers, and which have missing or infinite entries, where that is an error.

    Of data frames this is looked at before: some libraries make numbers of dates and of text.
    """
    who = type(estimator).__name__ if current_method() == NOBODY else current_method()
    if frame_library(X) is not None:
        refuse_words(who, X, takes_categories=hasattr(estimator, "categorical_features"))
    try:
        yield
    except (ValueError, TypeError) as error:
        refuse_columns(estimator, who, X, error, allows_nan=allow_missing)
        raise


def _is_plainly_right(X: Rows, min_samples: int, precision: Any, reset: bool) -> bool:
    """Whether a NumPy array has nothing that scikit-learn's checks, slow on few rows, would object to or change."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.shape[0] >= min_samples
        and X.shape[1] > 0
        and is_moderate(X, precision, may_be_tiny=not reset)
    )


def _in_range(estimator: Any, X: Array, reset: bool, precision: Any) -> Array:
    """Finite rows, some entries possibly missing, with squares that are numbers."""
    if reset:
        return training_inputs(type(estimator).__name__, X)
    refuse_far_queries(type(estimator).__name__, X, np.float64 if precision is None else precision)
    return X


def _has_known_columns(estimator: Any, X: np.ndarray, reset: bool) -> bool:
    """Whether the columns of an array without names are those of a fit; with `reset` they become them."""
    if reset:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return True
    return X.shape[1] == estimator.n_features_in_ and not hasattr(estimator, "feature_names_in_")


def _check_foreign_points(
    estimator: Any, X: Array, reset: bool, min_samples: int, allow_missing: bool, precision: Any
) -> Array:
    xp = array_namespace(X)
    _check_shape_and_type(estimator, X, xp.isdtype(X.dtype, ("real floating", "integral", "bool")))
    _check_row_count(estimator, X, min_samples)
    if array_api_compat.is_torch_array(X):
        X = X.detach()  # a fitted model has no part in automatic differentiation
    X = xp.astype(X, floating_type(X), copy=False)
    _check_columns(estimator, X, reset)
    if is_moderate(X, precision, may_be_tiny=not reset):
        return X
    if not bool(xp.all(~xp.isinf(X) if allow_missing else xp.isfinite(X))):
        raise _not_finite(type(estimator).__name__)
    return _in_range(estimator, X, reset, precision)


def _check_shape_and_type(estimator: Any, X: Rows, is_real: bool) -> None:
    name = type(estimator).__name__
    if X.ndim != 2:
        raise ValueError(
            f"{name} expects 2D data of shape (n_samples, n_features); got shape {tuple(X.shape)}. Reshape a single "
            "feature with `X.reshape(-1, 1)`."
        )
    if not is_real:
        raise ValueError(f"{name} needs real numbers; got dtype {X.dtype}.")


def _check_row_count(estimator: Any, X: Rows, min_samples: int) -> None:
    if X.shape[0] < min_samples:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) (shape={tuple(X.shape)}) while a minimum of {min_samples} is "
            f"required by {type(estimator).__name__}."
        )


def _check_columns(estimator: Any, X: Rows, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def _not_finite(name: str) -> ValueError:
    return ValueError(f"Input X contains NaN or infinity. {name} needs finite values: impute or drop them first.")


def _library_and_device(array: Array) -> tuple[str, str]:
    return type(array).__module__.split(".")[0], str(array_api_compat.device(array))


def _given(estimator: Any, y: Targets) -> Targets:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    return from_device(y)


def _of_length(estimator: Any, what: str, values: np.ndarray, n: int) -> np.ndarray:
    if values.shape[0] != n:
        name = type(estimator).__name__
        raise ValueError(f"{name} got {n} rows of X but {values.shape[0]} of {what}; each row needs one.")
    return values
