"""Public methods of estimators give finite numbers, or an error that says what to do, and leave their inputs alone."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

from sklearn.utils.metaestimators import available_if

from preimage._arrays import canonical, is_sparse
from preimage._finite import finite_result, refuse_overflowing_fit, working_method
from preimage._typing import Array, Rows
from preimage.solvers import PreimageResult

FITS = ("fit", "partial_fit", "fit_transform", "fit_predict")
# Those of inputs, of coordinates, and of the model alone.
QUERIES = (
    "transform",
    "decision_function",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "score_samples",
    "reconstruction_error",
    "denoise",
    "impute",
    "staged_predict",
)
OTHERS = (
    "inverse_transform",
    "find_preimages",
    "navigate",
    "component_preimages",
    "component_images",
    "cluster_preimages",
    "decompose",
    "fit_path",
    "path",
    "sparse_path",
    "score",
)


class FiniteResults:
    """Mixed into estimators: results of public methods, and what fits find, are finite or refused.

    NumPy's warnings of overflow are off inside the methods, since an error says the same of the result, and more.
    Sparse matrices with several entries for a place, or unsorted ones, are copied: SciPy and scikit-learn add up and
    sort entries inside the matrix they are given. Methods are wrapped when a class is made, so that none can be
    forgotten. scikit-learn wraps `transform` and `fit_transform` afterwards, and makes data frames of what was looked
    at here.
    """

    #: Fitted attributes that may be infinite or NaN by their meaning.
    _unbounded_attributes: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        for name in (*FITS, *QUERIES, *OTHERS):
            method = inspect.getattr_static(cls, name, None)
            if method is not None and not _is_left_alone(method):
                setattr(cls, name, _wrapped(method, _fitting if name in FITS else _answering))
        super().__init_subclass__(**options)


def _is_left_alone(method: Any) -> bool:
    """Whether a method was wrapped in a base class, or is not of this package.

    scikit-learn's methods and those of users' own classes call ours; what else they give, and how, is their affair.
    """
    is_ours = (getattr(method, "__module__", None) or "").startswith("preimage.")
    return not is_ours or hasattr(method, "_gives_finite_results")


def _wrapped(method: Any, wrap: Callable[[Any], Any]) -> Any:
    """The method or, where it exists under a condition only, the method that exists under it."""
    if inspect.isfunction(method):
        found: Any = wrap(method)
    else:
        found = available_if(method.check)(wrap(method.fn))
    found._gives_finite_results = True
    return found


def _answering(method: Callable[..., Any]) -> Callable[..., Any]:
    compares_rows = method.__name__ in QUERIES

    @wraps(method)
    def answering(self: Any, *arguments: Any, **options: Any) -> Any:
        name = f"{type(self).__name__}.{method.__name__}"
        arguments, options = _unharmed(arguments, options)
        with working_method(name):
            result = method(self, *arguments, **options)
            if isinstance(result, Iterator):
                return _each_looked_at(self, result, name)
            rows = (arguments[0] if arguments else options.get("X")) if compares_rows else None
            return _looked_at(self, result, rows, name)

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
                _look_at_fit(self, rows)
                return result if result is self else _looked_at(self, result, rows, name)
        except BaseException:
            # A model of NaN, or one that Ctrl-C stopped between two attributes, must not answer questions: it is as it
            # was before. In one step, which no second Ctrl-C divides.
            self.__dict__ = before
            raise

    return fitting


def _unharmed(arguments: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a method in which the rows, the first of them, are a matrix that nobody changes."""
    if arguments:
        return ((canonical(arguments[0]), *arguments[1:]), options) if is_sparse(arguments[0]) else (arguments, options)
    return arguments, options | {"X": canonical(options["X"])} if is_sparse(options.get("X")) else options


def _looked_at(estimator: Any, result: Any, rows: Rows, name: str) -> Any:
    """The result of a method, of which the numbers are finite; also several models."""
    if isinstance(result, list):
        for model in result:
            if isinstance(model, FiniteResults):
                _look_at_fit(model, rows)
            elif is_dataclass(model):
                _looked_at(estimator, model, rows, name)
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
        yield _looked_at(estimator, result, None, name)


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
