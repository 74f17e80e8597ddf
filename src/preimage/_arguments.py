"""What is wrong with the arguments of a public call that failed inside: who, what was needed, what came."""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dis import opmap
from functools import cache, wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from preimage._arrays import is_chunked, is_foreign, is_masked, is_sparse

P = ParamSpec("P")
R = TypeVar("R")

# The packages whose `raise` statements say what is wrong; errors of NumPy and SciPy speak of what happens inside.
SPEAKING = ("preimage", "sklearn")
# Beginnings of messages that these packages pass on in the words of NumPy, which everybody has met.
CONVENTIONAL = ("could not convert string to float", "Unable to convert array of bytes/strings")
# What Python says of an entry that is no number.
NO_NUMBER = "argument must be a string"
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
# A line of a docstring that describes array parameters, and the shapes it names.
ARRAY_LINE = re.compile(r"^\s*(\w+(?:, \w+)*) : (.*\barrays?\b.*)$", re.MULTILINE)
SHAPE = re.compile(r"\(([^()]*)\)")


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
    if _is_meant_for_users(error):
        return
    try:
        bound = inspect.signature(function).bind(*arguments, **options).arguments
    except TypeError:  # a wrong number of arguments, of which Python's own error tells
        return
    for name, wanted in _array_parameters(function).items():
        if name not in bound:
            continue
        fault = _fault(bound[name], wanted, are_labels=name in LABELS)
        if fault:
            is_array = hasattr(bound[name], "shape") or isinstance(bound[name], (list, tuple))
            # Entries that Python cannot make numbers of are a TypeError in scikit-learn, in these words.
            no_number = isinstance(error, TypeError) and NO_NUMBER in str(error)
            said = f"{who} needs `{name}`, {wanted}; got {fault}"
            raise (ValueError if is_array and not no_number else TypeError)(
                f"{said}: {error}." if no_number else f"{said}."
            ) from error
    for name, wanted in _array_parameters(function).items():  # functions of the theory take arrays alone
        if isinstance(bound.get(name), (list, tuple)) and isinstance(error, (AttributeError, TypeError)):
            kind_of_list = type(bound[name]).__name__
            raise TypeError(
                f"{who} needs `{name}`, {wanted}; got {kind_of_list}. Pass np.asarray({name}, dtype=float)."
            ) from error


def _is_meant_for_users(error: Exception) -> bool:
    """Whether a `raise` statement of a speaking package made the error."""
    if str(error).startswith(CONVENTIONAL):
        return False
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return False
    package = last.tb_frame.f_globals.get("__name__", "").partition(".")[0]
    instruction = last.tb_frame.f_code.co_code[last.tb_lasti]
    return package in SPEAKING and instruction in (opmap["RAISE_VARARGS"], opmap["RERAISE"])


@cache
def _array_parameters(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says of the parameters that are arrays, by name."""
    text = (inspect.getdoc(function) or "").partition("\nReturns\n")[0]
    found = ARRAY_LINE.findall(text)
    known = {name: wanted for name, wanted in USUAL.items() if name in inspect.signature(function).parameters}
    return known | {
        name: wanted.split(", optional")[0].split(", default")[0]
        for names, wanted in found
        for name in names.split(", ")
    }


def _fault(value: Any, wanted: str, are_labels: bool) -> str:
    """What is wrong with an argument that the docstring describes as `wanted`; empty if nothing is to be seen."""
    if value is None:
        return "" if "None" in wanted else "None"
    if isinstance(value, (str, bytes, dict, int, float, complex, np.generic)) or hasattr(value, "__next__"):
        return f"{type(value).__name__} {_shortened(value)}"
    if is_foreign(value) or is_chunked(value):
        return ""
    if is_sparse(value):
        return f"a sparse matrix in {value.format.upper()} format of shape {value.shape}"
    try:
        array = value if isinstance(value, np.ndarray) else np.asarray(value)
    except (TypeError, ValueError):
        return f"a {type(value).__name__} of rows of different lengths, or of entries that are no numbers"
    if are_labels:
        missing = array.dtype == object and any(each is None for each in array.ravel())
        return "labels of which some are None" if missing else _fault_of_shape(array, wanted)
    return _fault_of_shape(array, wanted) or _fault_of_numbers(array)


def _fault_of_shape(array: np.ndarray, wanted: str) -> str:
    dimensions = {len([part for part in shape.split(",") if part.strip()]) for shape in SHAPE.findall(wanted)}
    if is_masked(array):
        return "an array with masked entries, which are missing"
    if isinstance(array, np.matrix):
        return "np.matrix, which has two dimensions whatever is taken from it; pass np.asarray of it"
    if dimensions and array.ndim not in dimensions:
        return f"an array of shape {array.shape}"
    return f"an empty array of shape {array.shape}" if array.size == 0 else ""


def _fault_of_numbers(array: np.ndarray) -> str:
    if array.dtype.kind not in "biuf":
        return f"an array of {array.dtype} {_shortened(array.ravel()[:1])}, which are no real numbers"
    if array.dtype.kind == "f" and array.size <= MOST_ENTRIES and not np.isfinite(array).all():
        return "an array with NaN or infinity"
    if array.dtype.kind == "b":
        return "an array of truth values; convert it to numbers"
    return ""


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
