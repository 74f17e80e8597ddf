"""What is wrong with the arguments of a public call that failed inside: who, what was needed, what came."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from dis import opmap
from functools import cache, wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from sklearn.utils import get_tags

from preimage._engine.arrays import is_chunked, is_foreign, is_masked, is_sparse
from preimage._engine.column_faults import refuse_columns
from preimage._engine.frames import frame_library

P = ParamSpec("P")
R = TypeVar("R")

# The packages whose `raise` statements say what is wrong; errors of NumPy and SciPy speak of what happens inside.
SPEAKING = ("preimage", "sklearn")
# The packages in which wrong arguments fail: this library, what it computes with, and libraries of arrays and data
# frames. What any other file raised is an error of the user's own callback, kernel or estimator.
WORKING = (
    *SPEAKING,
    *("array_api_compat", "array_api_extra", "array_api_strict", "cupy", "cupyx", "dask", "distributed", "jax"),
    *("jaxlib", "joblib", "narwhals", "numba", "numpy", "pandas", "polars", "pyarrow", "scipy", "threadpoolctl"),
    *("torch", "triton", "xarray"),
)
# The module that calls functions of users that are kernels, two rows or objects at a time.
OF_KERNELS = "preimage.kernels._callable"
# Beginnings of messages that these packages pass on in the words of NumPy, which everybody has met.
CONVENTIONAL = ("could not convert string to float", "Unable to convert array of bytes/strings")
# What Python says of an entry that is no number.
NO_NUMBER = "argument must be a string"
# What NumPy says of truth values that cannot be subtracted. Where inputs are validated, they are numbers by then.
NOT_FOR_BOOLEANS = "boolean"
# Errors of NumPy, SciPy and Python that arguments of the wrong kind or shape lead to.
FROM_INSIDE = (LookupError, AttributeError, TypeError, ValueError)
# Parameters that may be text or truth values, since they say to which group a row belongs.
LABELS = ("y", "codes", "groups", "labels", "runs", "blocks")
# Entries up to which an array is searched for NaN after a failure.
MOST_ENTRIES = 10**8
# Longest text of an argument that a message repeats.
LONGEST = 60
# What parameters of these names are where a docstring refers to another one.
USUAL = {"X": "array of shape (n, d)", "y": "array of shape (n,)"}
# The lines of a docstring that describe array parameters, the shapes they name, and the line of a `y` of no effect.
ARRAY_LINES = re.compile(r"^\s*(\w+(?:, \w+)*) : (.*\barrays?\b.*)((?:\n[ \t]+\S.*)*)", re.MULTILINE)
SHAPE = re.compile(r"\(([^()]*)\)")
IGNORED = re.compile(r"^\s*(\w+) : ignored\b", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Wanted:
    """What an array parameter is, in the words of a docstring, and what else it may be."""

    words: str
    are_labels: bool = False
    may_be_none: bool = False
    may_be_sparse: bool = False
    may_have_holes: bool = False


def names_its_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function blame the argument that explains why it failed, in place of an error from inside.

    Nothing is looked at unless the function fails: whether an array has the documented number of dimensions, numbers,
    rows and columns. An error that a `raise` statement of this library made says what is wrong already.
    """

    @wraps(function)
    def answering(*arguments: P.args, **options: P.kwargs) -> R:
        with blaming_arguments(function, arguments, options):
            return function(*arguments, **options)

    return answering


@contextmanager
def blaming_arguments(
    function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Iterator[None]:
    """The same inside a `with` statement."""
    try:
        yield
    except FROM_INSIDE as error:
        refuse_arguments(error, function, function.__qualname__, arguments, options)
        raise


def refuse_arguments(
    error: Exception, function: Callable[..., Any], who: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Raise an error that names the argument with which `function` came to `error`, if there is one to blame."""
    if is_of_users(error):
        return
    X = arguments[1] if len(arguments) > 1 else options.get("X")
    if frame_library(X) is not None and not _is_ours(error):  # of a model of scikit-learn inside
        refuse_columns(arguments[0] if arguments else None, who, X, error)
    if _is_meant_for_users(error):
        return
    try:
        bound = inspect.signature(function).bind(*arguments, **options).arguments
    except TypeError:  # a wrong number of arguments, of which Python's own error tells
        return
    parameters = _parameters_of(function, arguments)
    for name, wanted in parameters.items():
        if name not in bound:
            continue
        fault = _fault(bound[name], wanted, error)
        if fault:
            is_array = hasattr(bound[name], "shape") or isinstance(bound[name], (list, tuple))
            # Entries that Python cannot make numbers of are a TypeError in scikit-learn, in these words.
            no_number = isinstance(error, TypeError) and NO_NUMBER in str(error)
            said = f"{who} needs `{name}`, {wanted.words}; got {fault}"
            raise (ValueError if is_array and not no_number else TypeError)(
                f"{said}: {error}." if no_number else f"{said}."
            ) from error
    if _is_estimator(arguments):
        return
    for name, wanted in parameters.items():  # functions of the theory take arrays alone
        if isinstance(bound.get(name), (list, tuple)) and isinstance(error, (AttributeError, TypeError)):
            kind_of_list = type(bound[name]).__name__
            raise TypeError(
                f"{who} needs `{name}`, {wanted.words}; got {kind_of_list}. Pass np.asarray({name}, dtype=float)."
            ) from error


def _is_meant_for_users(error: Exception) -> bool:
    """Whether a `raise` statement of a speaking package made the error."""
    if str(error).startswith(CONVENTIONAL):
        return False
    last = next(reversed([*_frames(error)]), None)
    if last is None:
        return False
    instruction = last.tb_frame.f_code.co_code[last.tb_lasti]
    return _package(last) in SPEAKING and instruction in (opmap["RAISE_VARARGS"], opmap["RERAISE"])


def _is_ours(error: Exception) -> bool:
    """Whether this library made the error."""
    last = next(reversed([*_frames(error)]), None)
    return last is not None and _package(last) == "preimage"


def is_of_users(error: BaseException) -> bool:
    """Whether code of the user failed, which may be wrong itself, whatever the arguments are.

    The standard library fails on behalf of whoever called it, and so does NumPy where a kernel of the user called it.
    """
    frames = [frame for frame in _frames(error) if _package(frame) not in sys.stdlib_module_names]
    if not frames:
        return False
    called = next((place for place, frame in enumerate(frames) if _module(frame) == OF_KERNELS), len(frames))
    is_in_kernel = any(_package(frame) not in WORKING for frame in frames[called:])
    return is_in_kernel or _package(frames[-1]) not in WORKING


def _frames(error: BaseException) -> Iterator[TracebackType]:
    """From the frame that caught the error to the one that raised it."""
    frame = error.__traceback__
    while frame is not None:
        yield frame
        frame = frame.tb_next


def _module(frame: TracebackType) -> str:
    return frame.tb_frame.f_globals.get("__name__", "")


def _package(frame: TracebackType) -> str:
    return _module(frame).partition(".")[0]


def _is_estimator(arguments: tuple[Any, ...]) -> bool:
    """Whether the call is one of a method of an estimator, which validates its inputs."""
    return bool(arguments) and hasattr(arguments[0], "__sklearn_tags__") and hasattr(arguments[0], "fit")


def _parameters_of(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Wanted]:
    """Array parameters by name; what X of an estimator may be, its tags say as well."""
    parameters = _array_parameters(function)
    if "X" not in parameters or not _is_estimator(arguments):
        return parameters
    try:
        tags = get_tags(arguments[0]).input_tags
    except Exception:  # tags depend on parameters, which may be wrong: the error at hand matters more
        return parameters
    X = parameters["X"]
    return parameters | {
        "X": replace(X, may_be_sparse=X.may_be_sparse or tags.sparse, may_have_holes=X.may_have_holes or tags.allow_nan)
    }


@cache
def _array_parameters(function: Callable[..., Any]) -> dict[str, Wanted]:
    """What the docstring says of the parameters that are arrays, by name."""
    text = (inspect.getdoc(function) or "").partition("\nReturns\n")[0]
    signature = inspect.signature(function).parameters
    found = {name: (words, "") for name, words in USUAL.items() if name in signature}
    for names, words, more in ARRAY_LINES.findall(text):
        found |= {name: (words.split(", optional")[0].split(", default")[0], more) for name in names.split(", ")}
    return {
        name: Wanted(
            words,
            are_labels=name in LABELS,
            may_be_none="None" in words or (name in signature and signature[name].default is None),
            may_be_sparse="sparse" in words + more,
            may_have_holes="missing" in text,
        )
        for name, (words, more) in found.items()
        if name not in IGNORED.findall(text)
    }


def _fault(value: Any, wanted: Wanted, error: Exception) -> str:
    """What is wrong with an argument, given the error that it may have led to; empty if nothing is to be seen."""
    if value is None:
        return "" if wanted.may_be_none else "None"
    if isinstance(value, (str, bytes, dict, int, float, complex, np.generic)) or hasattr(value, "__next__"):
        return f"{type(value).__name__} {_shortened(value)}"
    if is_foreign(value) or is_chunked(value):
        return ""
    if is_sparse(value):
        described = f"a sparse matrix in {value.format.upper()} format of shape {value.shape}"
        return "" if wanted.may_be_sparse else described
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except (TypeError, ValueError):
        return f"a {type(value).__name__} of rows of different lengths, or of entries that are no numbers"
    if wanted.are_labels:
        missing = array.dtype == object and any(each is None for each in array.ravel())
        return "labels of which some are None" if missing else _fault_of_shape(array, wanted.words)
    return _fault_of_shape(array, wanted.words) or _fault_of_numbers(array, wanted, error)


def _fault_of_shape(array: np.ndarray, wanted: str) -> str:
    dimensions = {len([part for part in shape.split(",") if part.strip()]) for shape in SHAPE.findall(wanted)}
    if is_masked(array):
        return "an array with masked entries, which are missing"
    if isinstance(array, np.matrix):
        return "np.matrix, which has two dimensions whatever is taken from it; pass np.asarray of it"
    if dimensions and array.ndim not in dimensions:
        return f"an array of shape {array.shape}"
    return f"an empty array of shape {array.shape}" if array.size == 0 else ""


def _fault_of_numbers(array: np.ndarray, wanted: Wanted, error: Exception) -> str:
    if array.dtype.kind not in "biuf":
        return f"an array of {array.dtype} {_shortened(array.ravel()[:1])}, which are no real numbers"
    may_be_searched = array.dtype.kind == "f" and array.size <= MOST_ENTRIES and not wanted.may_have_holes
    if may_be_searched and not np.isfinite(array).all():
        return "an array with NaN or infinity"
    if array.dtype.kind == "b" and NOT_FOR_BOOLEANS in str(error):
        return "an array of truth values; convert it to numbers"
    return ""


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
