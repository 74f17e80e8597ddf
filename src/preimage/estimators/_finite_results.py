"""Public methods of estimators give finite numbers, or an error that says what to do, and leave their inputs alone."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from sys import getrefcount
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from preimage._engine.arguments import FROM_INSIDE, refuse_arguments
from preimage._engine.arrays import canonical, follow_rows, is_foreign, is_sparse, unshared
from preimage._engine.finite import finite_result, refuse_overflowing_fit, working_method
from preimage._engine.typing import Array, Rows
from preimage.solvers import PreimageResult


def _references_of_one_name() -> int:
    result = np.empty(0)
    return getrefcount(result)


# What `getrefcount` says of an array that one local name holds. Nobody else, not even a view, has its memory, which is
# so of most results, and takes a tenth of the time of a look at all attributes of a model.
ONE_NAME = _references_of_one_name()


class FiniteResults:
    """Mixed into estimators: results of public methods, and what fits find, are finite or refused.

    Results share no memory with arguments or with the model: of an array of these the caller gets a copy. NumPy's
    warnings of overflow are off inside the methods, since an error says the same of the result, and more. Sparse
    matrices with several entries for a place, or unsorted ones, are copied: SciPy and scikit-learn add up and sort
    entries inside the matrix they are given. All public methods that this package writes are wrapped when a class is
    made, whatever their names, so that none can be forgotten. scikit-learn wraps `transform` and `fit_transform`
    afterwards, and makes data frames of what was looked at here.
    """

    #: Fitted attributes that may be infinite or NaN by their meaning.
    _unbounded_attributes: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        for name, method in _own_methods(cls):
            setattr(cls, name, _wrapped(method, _fitting if is_fit(name) else _answering))
        super().__init_subclass__(**options)


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


def _wrapped(method: Any, wrap: Callable[[Any], Any]) -> Any:
    """The method or, where it exists under a condition only, the method that exists under it."""
    if inspect.isfunction(method):
        found: Any = wrap(method)
    else:
        found = available_if(method.check)(wrap(method.fn))
    found._gives_finite_results = True
    return found


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    # Of methods of coordinates, or of the model alone, no row of the result belongs to a row of inputs.
    compares_rows = [*inspect.signature(method).parameters][1:2] == ["X"]

    @wraps(method)
    def answering(self: Any, *arguments: Any, **options: Any) -> Any:
        name = f"{type(self).__name__}.{method.__name__}"
        arguments, options = _unharmed(arguments, options)
        with working_method(name):
            try:
                result = method(self, *arguments, **options)
            except FROM_INSIDE as error:
                refuse_arguments(error, method, name, (self, *arguments), options)
                raise
            if isinstance(result, Iterator):
                return _each_looked_at(self, result, name)
            if type(result) is not np.ndarray or result.base is not None or getrefcount(result) > ONE_NAME:
                result = unshared(result, [*arguments, *options.values(), *vars(self).values()])
            rows = (arguments[0] if arguments else options.get("X")) if compares_rows else None
            return follow_rows(_looked_at(self, result, rows, name), rows)

    return answering


def _fitting(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def fitting(self: Any, *arguments: Any, **options: Any) -> Any:
        name = f"{type(self).__name__}.{method.__name__}"
        arguments, options = _unharmed(arguments, options)
        before = dict(vars(self))
        try:
            with working_method(name):
                result = method(self, *arguments, **options)
                rows = arguments[0] if arguments else options.get("X")
                _let_attributes_follow(self, rows)
                _look_at_fit(self, rows)
                if result is self:
                    return result
                result = unshared(result, [*arguments, *options.values(), *vars(self).values()])
                return _looked_at(self, result, rows, name)
        except BaseException as error:
            # A model of NaN, or one that Ctrl-C stopped between two attributes, must not answer questions: it is as it
            # was before. In one step, which no second Ctrl-C divides.
            self.__dict__ = before
            if isinstance(error, FROM_INSIDE):
                refuse_arguments(error, method, name, (self, *arguments), options)
            raise

    return fitting


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
    if isinstance(result, FiniteResults):
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
        refuse_overflowing_fit(attribute, values, rows)


def _fitted_numbers(estimator: Any) -> Iterator[tuple[str, Array]]:
    """Names and values of what a fit has found: arrays, and coefficients of vectors in feature space."""
    for name, value in vars(estimator).items():
        if not name.endswith("_") or name.startswith("_") or name in estimator._unbounded_attributes:
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
