"""What all estimators share: finite results or an error that says what to do, queries of any kind, and streams."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from math import isfinite
from sys import getrefcount
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from preimage._engine.arguments import FROM_INSIDE, refuse_arguments
from preimage._engine.arrays import (
    as_points,
    canonical,
    describe_values,
    follow_rows,
    is_chunked,
    is_foreign,
    is_lazy,
    is_objects,
    is_sparse,
    on_device,
    to_numpy,
    unshared,
)
from preimage._engine.finite import NOBODY, current_method, finite_result, refuse_overflowing_fit, working_method
from preimage._engine.memory import limited_memory
from preimage._engine.objects import are_objects, as_objects, column_of, describe_objects
from preimage._engine.progress import progress_bar, stage
from preimage._engine.removed import renamed
from preimage._engine.rows import map_rows
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import (
    blocks_of,
    check_finite_block,
    check_lazy_points,
    check_model_inputs,
    check_object_rows,
    is_stream,
)
from preimage._engine.warnings import warn_user
from preimage.estimators._input_frames import IN_INPUT_SPACE, in_frames, remember_types
from preimage.exceptions import UnsupportedKernelError
from preimage.feature_space import Expansion, Subspace
from preimage.kernels import Kernel
from preimage.persistence import Saved
from preimage.solvers import PreimageResult


def _references_of_one_name() -> int:
    result = np.empty(0)
    return getrefcount(result)


# What `getrefcount` says of an array that one local name holds. Nobody else, not even a view, has its memory, which is
# so of most results, and takes a tenth of the time of a look at all attributes of a model.
ONE_NAME = _references_of_one_name()


class Estimator(Saved, BaseEstimator):
    """An estimator of this library: results of public methods, and what fits find, are finite or refused.

    Results share no memory with arguments or with the model: of an array of these the caller gets a copy. NumPy's
    warnings of overflow are off inside the methods, since an error says the same of the result, and more. Sparse
    matrices with several entries for a place, or unsorted ones, are copied: SciPy and scikit-learn add up and sort
    entries inside the matrix they are given. All public methods that this package writes are wrapped when a class is
    made, whatever their names, so that none can be forgotten. scikit-learn wraps `transform` and `fit_transform`
    afterwards, and makes data frames of what was looked at here; of rows that are inputs again they are made here.
    """

    #: Fitted attributes that may be infinite or NaN by their meaning.
    _unbounded_attributes: tuple[str, ...] = ()
    #: Whether rows may be objects, for kernels on objects.
    _takes_objects: bool = False
    #: Methods whose results have the columns of the inputs, and those of them that change no entry but missing ones.
    _in_input_space: frozenset[str] = IN_INPUT_SPACE
    _completing: frozenset[str] = frozenset({"impute"})
    #: Attributes that other libraries, or older versions of scikit-learn, have for the same, and what to read instead.
    _named_elsewhere: dict[str, str] = {}

    if not TYPE_CHECKING:  # or any attribute would be one of all estimators

        def __getattr__(self, name: str) -> Any:
            if name in type(self)._named_elsewhere:
                raise AttributeError(f"{type(self).__name__} has no {name}: {type(self)._named_elsewhere[name]}")
            return object.__getattribute__(self, name)  # which says again why there is none

    def __init_subclass__(cls, **options: Any) -> None:
        for name, method in _own_methods(cls):
            setattr(cls, name, _wrapped(method, name))
        super().__init_subclass__(**options)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name, as in scikit-learn."""
        return super().set_params(**renamed(type(self).__name__, parameters))

    @property
    def _vectors(self) -> Expansion:
        """Vectors of feature space in a fitted model: queries get their library, device and precision."""
        model: Any = self
        if "subspace_" in vars(self):
            return model.subspace_.frame
        return model.expansion_ if "expansion_" in vars(self) else model.centers_

    @property
    def _n_columns(self) -> int:
        """Columns of inputs; objects are one."""
        return getattr(self, "n_features_in_", 1)

    def _check_inputs(self, X: Rows) -> Rows:
        """Inputs for the fitted model: validated, of its library, device and precision."""
        if "n_features_in_" not in vars(self):  # tags take an eighth of the time of one row
            check_is_fitted(self)
        vectors = self._vectors
        return check_queries(self, X, vectors.coefficients, vectors)

    def _map(self, function: Callable[[Array], Array], X: Rows) -> Array:
        """`function` of validated inputs, or a pass with it over what does not fit into memory."""
        with self._working():
            return map_queries(self, function, X, self._vectors.coefficients)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Report progress if the model is `verbose`, and keep temporary arrays within its `max_memory`."""
        limit, array = getattr(self, "max_memory", None), self._vectors.coefficients
        with progress_bar(getattr(self, "verbose", False)), limited_memory(limit, array):
            yield


def is_fit(name: str) -> bool:
    """Whether a method of this name learns from data, by scikit-learn's conventions for names."""
    return name.startswith("fit") or name == "partial_fit"


def _own_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods of this package that a class has and that no base class has wrapped before.

    scikit-learn's methods and those of users' own classes call ours; what else they give, and how, is their affair.
    """
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found.update(vars(base))
    for name, method in found.items():
        is_method = inspect.isfunction(method) or hasattr(method, "fn")  # `fn`: one that exists under a condition
        is_ours = is_method and (getattr(method, "__module__", None) or "").startswith("preimage.")
        if is_ours and not name.startswith("_") and not hasattr(method, "_gives_finite_results"):
            yield name, method


def _wrapped(method: Any, name: str) -> Any:
    """The method or, where it exists under a condition only, the method that exists under it."""
    if inspect.isfunction(method):
        found: Any = _watched(method, is_fit(name))
    else:
        found = available_if(method.check)(_watched(method.fn, is_fit(name)))
    found._gives_finite_results = True
    return found


def _watched(method: Callable[..., Any], fits: bool) -> Callable[..., Any]:
    # Of methods of coordinates, or of the model alone, no row of the result belongs to a row of inputs.
    first = next(iter([*inspect.signature(method).parameters][1:]), "")
    compares_rows = fits or first == "X"

    @wraps(method)
    def watched(self: Any, *arguments: Any, **options: Any) -> Any:
        name = f"{type(self).__name__}.{method.__name__}"
        is_called_by_user = current_method() == NOBODY
        arguments, options = _unharmed(arguments, options)
        before = dict(vars(self)) if fits else None
        try:
            with working_method(name):
                result = method(self, *arguments, **options)
                rows = (arguments[0] if arguments else options.get("X")) if compares_rows else None
                if fits:
                    _let_attributes_follow(self, rows)
                    _look_at_fit(self, rows)
                    remember_types(self, rows)
                    if result is self:
                        return result
                elif isinstance(result, Iterator):
                    return _each_looked_at(self, result, name)
                if type(result) is not np.ndarray or result.base is not None or getrefcount(result) > ONE_NAME:
                    result = unshared(result, [*arguments, *options.values(), *vars(self).values()])
                result = _with_objects(follow_rows(_looked_at(self, result, rows, name), rows))
            given = arguments[0] if arguments else options.get(first)
            return in_frames(self, method.__name__, result, given, is_called_by_user)
        except BaseException as error:
            if before is not None:
                # A model of NaN, or one that Ctrl-C stopped between two attributes, must not answer questions: it is as
                # it was before. In one step, which no second Ctrl-C divides.
                self.__dict__ = before
            if isinstance(error, FROM_INSIDE):
                refuse_arguments(error, method, name, (self, *arguments), options)
            raise

    return watched


def _unharmed(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a method in which the rows, the first of them, are a matrix that nobody changes."""
    if arguments:
        return ((canonical(arguments[0]), *arguments[1:]), options) if is_sparse(arguments[0]) else (arguments, options)
    return arguments, options | {"X": canonical(options["X"])} if is_sparse(options.get("X")) else options


def _looked_at(estimator: Any, result: Any, rows: Rows, name: str) -> Any:
    """The result of a method, of which the numbers are finite; also several models."""
    if isinstance(result, (list, tuple)):
        for part in result:
            _looked_at(estimator, part, rows, name)
        return result
    if isinstance(result, Estimator):
        if result is not estimator:
            _look_at_fit(result, rows)
        return result
    if isinstance(result, PreimageResult):  # squared distances may overflow where points do not
        _looked_at(estimator, result.points, rows, name)
        return result.within_range()
    if is_dataclass(result) and not hasattr(result, "points"):
        for field in fields(result):
            _looked_at(estimator, getattr(result, field.name), None, name)
        return result
    values = getattr(result, "points", result)
    try:
        finite_result(values, who=name)
    except ValueError:  # what was fitted is looked for only now
        finite_result(values, rows, _training_points(estimator), name)
    return result


def _with_objects(result: Any) -> Any:
    """A result in which columns of objects, of shape (q, 1), have the shape (q,), as users pass them."""
    if isinstance(result, PreimageResult):
        return replace(result, points=column_of(result.points))
    return tuple(map(column_of, result)) if type(result) is tuple else column_of(result)


def _each_looked_at(estimator: Any, results: Iterator[Any], name: str) -> Iterator[Any]:
    done = object()
    while True:
        with working_method(name):
            result = next(results, done)
        if result is done:
            return
        yield _looked_at(estimator, unshared(result, vars(estimator).values()), None, name)


def _let_attributes_follow(model: Any, rows: Rows) -> None:
    """Move learned arrays that were computed in NumPy to the device of the rows, as scikit-learn asks of estimators.

    Labels in `classes_` stay: they may be text, and comparisons with labels are made in NumPy.
    """
    if not is_foreign(rows):
        return
    for name, value in list(vars(model).items()):
        if name.endswith("_") and not name.startswith("_") and name != "classes_":
            setattr(model, name, follow_rows(value, rows))


def _look_at_fit(model: Any, rows: Rows) -> None:
    """Refuse a fitted model that has numbers that are not finite."""
    for attribute, values in _fitted_numbers(model):
        if type(values) is np.ndarray and values.dtype.kind == "f" and isfinite(np.add.reduce(values, axis=None)):
            continue  # the usual case in one call
        refuse_overflowing_fit(attribute, values, rows)


_WITHOUT_ARRAYS = (type(None), bool, int, float, str)


def _fitted_numbers(estimator: Any) -> Iterator[tuple[str, Array]]:
    """Names and values of what a fit has found: arrays, and coefficients of vectors in feature space."""
    for name, value in vars(estimator).items():
        if type(value) in _WITHOUT_ARRAYS:
            continue
        if not name.endswith("_") or name.startswith("_") or name in estimator._unbounded_attributes:
            continue
        if type(value) is np.ndarray:
            yield name, value
            continue
        for part in ("points", "residuals"):  # of landmarks and eigensolvers
            if hasattr(found := getattr(value, part, None), "dtype"):
                yield f"{name}.{part}", found
        value = getattr(value, "frame", value)
        value = getattr(value, "coefficients", value)
        if hasattr(value, "dtype"):
            yield name, value


def _training_points(estimator: Any) -> Array | None:
    """Points of the training set, if the model has some and they are inputs."""
    inner = getattr(estimator, "best_estimator_", None) or getattr(estimator, "estimator_", None)
    model = estimator if inner is None else inner
    if hasattr(model, "support_vectors_"):
        return model.support_vectors_
    subspace = getattr(model, "subspace_", None)
    vectors = getattr(model, "expansion_", getattr(model, "centers_", None)) if subspace is None else subspace.frame
    return None if vectors is None or vectors.kernel.points_are_row_numbers else vectors.points


# Rows of a memory map or a chunk that are read together: enough to fill blocks of the kernel, few next to the memory.
LAZY_ROWS = 4096
# Rows that stream through a device together: enough to keep it busy, and 100 MB for 400 columns.
DEVICE_ROWS = 2**15


def check_queries(estimator: Any, X: Rows, like: Array, vectors: Any = None) -> Rows:
    """Validate inputs for a fitted model, whose arrays have the library, device and precision of `like`.

    `vectors`, or anything with a `kernel` and `points`, says whether these are objects.
    """
    if is_stream(X):
        raise TypeError(
            f"{type(estimator).__name__} was given an iterator of blocks, which can be read once only. Pass its blocks "
            "one by one."
        )
    if vectors is not None and is_objects(vectors.points):
        return check_objects(estimator, vectors.kernel, X, like=vectors.points)
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=False)
    return check_model_inputs(estimator, X, fitted=like)


def check_objects(estimator: Any, kernel: Kernel, X: Rows, *, like: Array = None, min_samples: int = 1) -> Array:
    """Validate rows that are objects, for an estimator with a kernel on objects; a column of them, shape (n, 1).

    `like` are points of a fitted model, which X is compared with; None where X is what a model is fitted to.
    """
    who = type(estimator).__name__
    if like is None and not estimator._takes_objects:
        raise UnsupportedKernelError(
            f"{who} needs rows of numbers; the rows are objects for {kernel!r}. KernelPCA, KernelFisherDiscriminant, "
            "KernelKMeans, KernelNoveltyDetector, machines on landmarks and neighbors in feature space take them; the "
            f"features of KernelPCA and EmpiricalKernelMap are numbers, for {who} too."
        )
    if getattr(estimator, "device", None) is not None:
        raise UnsupportedKernelError(
            f"{who} with device={estimator.device!r} moves rows of numbers; objects stay in this process. Leave "
            "`device` out."
        )
    if not (like is None or not kernel.takes_numbers or is_objects(X) or are_objects(X)):
        raise TypeError(
            f"{who} was fitted to {describe_objects(like)}, and takes a list of such objects; got {describe_values(X)}."
        )
    column = kernel.checked_objects(as_objects(who, X))
    return check_object_rows(estimator, column, reset=like is None, min_samples=min_samples)


def map_queries(estimator: Any, function: Callable[[Array], Array], X: Rows, like: Array) -> Array:
    """`function` of validated inputs, or a pass with it over what does not fit into memory."""
    if not is_lazy(X):
        return function(X)
    name, dtype = type(estimator).__name__, like.dtype  # not the estimator: tasks should carry no more than they need
    checked = lambda rows: check_finite_block(name, as_points(rows).astype(dtype, copy=False))
    if is_chunked(X):  # whose progress is for its scheduler to show
        method = current_method()

        def looked_at(rows: Array) -> Array:  # on a worker, and later: nobody else looks at the result
            with working_method(method):
                return finite_result(function(checked(rows)), rows)

        return map_rows(looked_at, X, rows=LAZY_ROWS)
    with stage("Rows of a memory map", X.shape[0]) as advance:

        def counted(rows: Array) -> Array:
            found = function(checked(rows))
            advance(found.shape[0])
            return found

        return map_rows(counted, X, rows=LAZY_ROWS)


def through_device(subspace: Subspace, device: str) -> Callable[[Rows], Array]:
    """A function like ``subspace.coordinates`` that streams NumPy rows through a device and back."""
    moved = lambda array: on_device(to_numpy(array), device)
    there = subspace.converted(moved, moved(subspace.frame.points))
    coordinates = lambda rows: to_numpy(there.coordinates(moved(rows)))
    return lambda X: map_rows(coordinates, X, rows=DEVICE_ROWS, device_of=there.frame.points)


def fit_blocks(estimator: Any, blocks: Iterator[Any], learn: Callable[[Any, Any], Any] | None = None) -> Any:
    """`estimator` after learning from all blocks, from the start; a block that fails leaves it as it was.

    Parameters
    ----------
    estimator : estimator with `partial_fit`
    blocks : iterator
        With one block at least.
    learn : callable, optional
        Takes an estimator and a block, where a block is more than rows.
    """
    model = clone(estimator)
    for block in blocks_of(estimator, blocks):
        model.partial_fit(block) if learn is None else learn(model, block)
    parameters = estimator.get_params(deep=False)
    estimator.__dict__.update({name: value for name, value in vars(model).items() if name not in parameters})
    return estimator


def refuse_weights_of_blocks(estimator: Any, sample_weight: Any) -> None:
    """Refuse weights next to an iterator."""
    if sample_weight is not None:
        raise ValueError(
            f"{type(estimator).__name__} cannot tell which weights of sample_weight belong to which block of an "
            "iterator. Call partial_fit(block, sample_weight=w) for each."
        )


def warn_of_exact_fit(estimator: Any) -> None:
    """Warn that `partial_fit` begins anew after a fit to all rows."""
    if getattr(estimator, "route_", None) == "exact":
        warn_user(
            f"This {type(estimator).__name__} was fitted exactly, which cannot be continued: partial_fit begins anew. "
            "Fit it with landmarks=... to continue from there.",
            UserWarning,
        )
