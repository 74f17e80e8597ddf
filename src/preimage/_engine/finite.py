"""The range of numbers: sizes of inputs are settled where data come in, and results that are not finite are noticed."""

import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import array_api_compat
import numpy as np
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence
from scipy.special import log_expit, softmax

from preimage._engine.arguments import blaming_arguments, is_of_users
from preimage._engine.arrays import (
    array_namespace,
    in_double,
    is_chunked,
    is_foreign,
    is_sparse,
    itemsize,
    to_numpy,
    unshared,
)
from preimage._engine.typing import Array, Rows
from preimage._engine.warnings import Guard, Setting, Unwarned

P = ParamSpec("P")
R = TypeVar("R")

# Limits by bytes per number: the largest modulus, of which the reciprocal is the lower limit. Squares of inputs, sums
# of squares, and derivatives of kernels, which have the reciprocal of a square as a factor, must be numbers with room
# for squares of rounding errors. A thousand times more, and descents in single precision lose their way.
INPUTS = {8: 1e110, 4: 1e12}
# Algorithms square kernel values as well, and add up n² squares: with 1e12 and single precision 1e14 of them. Squares
# of rounding errors of values as small as the reciprocal are numbers, too.
VALUES = {8: 1e120, 4: 1e12}
# Queries are compared with inputs once: their squares must be numbers, and may be much larger than those of inputs.
QUERIES = {8: 1e150, 4: 1e18}
# Half of the largest distance of which the square is a number; that of two rows of d entries up to a is 2a√d at most.
FARTHEST = {8: 5e153, 4: 4e18}
# Parameters of kernels in single precision, such as γ, which is multiplied by squares of inputs.
PARAMETERS = 1e30

# Entries up to which finite values are looked for one by one: below it the call costs more than the work. A sum over
# more entries is faster, and is not finite if one of them is not; where it overflows by itself, the slow check decides.
FEW_ENTRIES = 10_000

# The logarithm of a probability of zero: that of the smallest number, so that sums of logarithms are numbers.
LOG_OF_NOTHING = float(np.log(np.finfo(np.float64).tiny))

# Probabilities that differ by less, in units of rounding errors, are equal: logarithms, exponentials and a division.
EQUAL_UNITS = 8

REMEDY = "Scale the inputs (StandardScaler), choose a bounded kernel such as the Gaussian, a lower degree or gamma"

# What is said of calculations that no public method or function has begun.
NOBODY = "This calculation"
# The public method that a user called and that works at present, as "KernelPCA.transform", for messages.
_method: ContextVar[str] = ContextVar("method", default=NOBODY)


def current_method() -> str:
    """Estimator and public method that a user called and that work at present, as "KernelPCA.transform"."""
    return _method.get()


class working_method(Guard):
    """Say that a public method works inside the `with` statement; NumPy does not warn there of what becomes an error.

    A method that another public method calls, as searches call their models, works in the name of the first. Threads
    that work for this one inherit both. A decomposition that LAPACK or ARPACK gives up, which algorithms expect where
    there is another way, is an error of the data here. Also a decorator.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings = Setting(_method, name if _method.get() == NOBODY else _method.get()), Unwarned()

    def enter(self) -> None:
        for setting in self.settings:
            setting.enter()

    def leave(self) -> None:
        for setting in self.settings:
            setting.leave()

    def explain(self, error: BaseException | None) -> None:
        if isinstance(error, ArpackNoConvergence):  # which says what to do
            return
        if error is None or is_of_users(error):
            return
        if isinstance(error, (np.linalg.LinAlgError, ArpackError)):
            raise ValueError(
                f"{self.name} cannot decompose a matrix that the data lead to ({str(error).rstrip('.')}): its numbers "
                f"overflow, or differ by rounding errors only. {REMEDY}."
            ) from error
        if isinstance(error, ArithmeticError):  # of numbers that are no arrays: overflow, division by zero
            raise ValueError(f"{self.name} leaves the range of floating numbers ({error}). {REMEDY}.") from error

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def working(*arguments: P.args, **options: P.kwargs) -> R:
            with working_method(self.name):
                return function(*arguments, **options)

        return working


def gives_finite_numbers(*may_be_infinite: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a public function answer with finite numbers, or with an error that says what to do; never with warnings.

    Its result shares no memory with its arguments. `may_be_infinite` names the attributes of its result that are
    documented to be infinite or NaN. Called by another public function or method, which looks at its own result, the
    function is left alone.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def answering(*arguments: P.args, **options: P.kwargs) -> R:
            if _method.get() != NOBODY:
                return function(*arguments, **options)
            with working_method(function.__qualname__), blaming_arguments(function, arguments, options):
                result = unshared(function(*arguments, **options), [*arguments, *options.values()])
            if not all(is_finite(np.asarray(values)) for values in _numbers_in(result, may_be_infinite)):
                raise ValueError(
                    f"{function.__qualname__} gives numbers that are not finite: inputs, or values of the kernel, "
                    f"leave the range of floating numbers. {REMEDY}."
                )
            return result

        return answering

    return decorate


def _numbers_in(result: Any, may_be_infinite: tuple[str, ...]) -> Iterator[Array]:
    """Floating numbers of a result: of an array, a number, a collection of them, or a value with such fields."""
    is_array = is_sparse(result) or array_api_compat.is_array_api_obj(result)
    if isinstance(result, float) or (is_array and _is_floating(result)):
        yield to_numpy(result) if is_sparse(result) or is_foreign(result) else result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from _numbers_in(part, may_be_infinite)
    elif isinstance(result, dict):
        yield from _numbers_in(list(result.values()), may_be_infinite)
    elif is_dataclass(result) and not isinstance(result, type):
        for field in fields(result):
            if field.name not in may_be_infinite:
                yield from _numbers_in(getattr(result, field.name), may_be_infinite)


def is_finite(values: Array) -> bool:
    """Whether an array of floating numbers, dense or sparse, of any library, has neither NaN nor infinity."""
    if type(values) is not np.ndarray:
        values = values.data if is_sparse(values) else values
        xp = array_namespace(values)
        return bool(xp.all(xp.isfinite(values)))
    if values.size >= FEW_ENTRIES:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(values.sum()):
                return True
    return bool(np.isfinite(values).all())


def finite_result(values: Array, rows: Rows = None, training: Array = None, who: str | None = None) -> Array:
    """`values`, which come from `rows`; refused if they are not finite, with the first row and how large it is.

    Parameters
    ----------
    values : array of shape (q, ...)
        Of any library. What is not floating, or lazy, comes back unseen.
    rows : array of shape (q, d), optional
        The inputs that the values belong to.
    training : array of shape (n, d), optional
        Inputs that the model was fitted to.
    who : str, optional
        Estimator and method; by default those that work at present.
    """
    if not _is_floating(values) or is_finite(values):
        return values
    bad = ~np.isfinite(to_numpy(values))
    row = int(np.argmax(bad.reshape(bad.shape[0], -1).any(axis=1))) if bad.ndim else 0
    raise ValueError(
        f"{who or current_method()} gives numbers that are not finite, first for row {row}"
        f"{_size_of_row(rows, row, bad.shape, training)}. {_remedy(values)}"
    )


def finite_log(probabilities: Array) -> Array:
    """Logarithms of probabilities of any library in NumPy, at least `LOG_OF_NOTHING`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(to_numpy(probabilities)), LOG_OF_NOTHING)


def against_rest(logits: Array) -> Array:
    r"""Probabilities :math:`\sigma(F_c) / \sum_j \sigma(F_j)`, also where all σ(F) are below any number."""
    return softmax(log_expit(logits), axis=1)


def most_probable(P: Array, codes: Array) -> Array:
    """Probabilities of which that of the class given for each row is the first of the largest.

    Decisions decide between classes, and links round: σ(40) and σ(80) are both one. Where the class has the largest
    probability to rounding, and `argmax` would find another one, it gets one rounding unit more than the others.

    Parameters
    ----------
    P : array of shape (m, n_classes)
    codes : array of shape (m,)
        Positions of the classes that have won.
    """
    eps, largest = np.finfo(P.dtype).eps, P.max(axis=1)
    own = P[np.arange(len(P)), codes]
    rows = np.flatnonzero((P.argmax(axis=1) != codes) & (own >= (1 - EQUAL_UNITS * eps) * largest))
    if rows.size:
        P = P.copy()
        P[rows, codes[rows]] = (1 + eps) * largest[rows]
    return P


def refuse_overflowing_fit(name: str, values: Array, X: Rows = None) -> None:
    """Refuse a fit of which the attribute `name` is not finite; X is what was fitted."""
    if not _is_floating(values) or is_finite(values):
        return
    size = _largest(X)
    inputs = "" if size is None else f" Entries of X reach {size:.3g} in absolute value."
    raise ValueError(
        f"{current_method()} has no finite solution for these data: `{name}` overflows or is undefined.{inputs} "
        f"{_remedy(values)}"
    )


def _is_floating(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "f"
    if is_chunked(values) or not hasattr(values, "dtype"):
        return False
    return "float" in str(values.dtype)


def _size_of_row(rows: Rows, row: int, shape: tuple[int, ...], training: Array) -> str:
    """How large a row is, and the training data: part of a sentence, empty where nothing is known."""
    values, known = _numbers(rows), _largest(training)
    if values is None or not shape or values.ndim != 2 or values.shape[0] != shape[0]:
        return ""
    size = np.nanmax(np.abs(values[row]), initial=0.0)  # missing entries have none
    found = f", whose entries reach {size:.3g} in absolute value"
    return found if known is None else f"{found} (those of the training data {known:.3g})"


def _largest(X: Any) -> float | None:
    """The largest absolute value, where X has numbers that can be looked at."""
    values = _numbers(X)
    return None if values is None else float(np.nanmax(np.abs(values), initial=0.0))


def _numbers(X: Any) -> np.ndarray | None:
    """X as an array of numbers, for a message; None where it has none, or none in memory."""
    if X is None or is_chunked(X) or hasattr(X, "__next__"):
        return None
    try:
        return np.asarray(to_numpy(X) if is_sparse(X) or is_foreign(X) else X, dtype=float)
    except Exception:  # text, or rows that only the estimator understands, whose own methods NumPy calls
        return None


def _remedy(values: Array) -> str:
    precise = ", or pass float64, whose range is larger" if itemsize(values.dtype) == 4 else ""
    return f"Kernel values overflow where inputs are too large. {REMEDY}{precise}."


def is_moderate(X: Array, dtype: Any = None, *, may_be_tiny: bool = False) -> bool:
    """Whether all entries of X are finite, and the largest modulus is within the limits of inputs of a precision.

    On a device the norm is looked at, which is at least the largest modulus and at most that times the root of their
    number; so False may also mean that a closer look is needed. The precision is that of X unless it is given.
    """
    limit, values = INPUTS[itemsize(X.dtype if dtype is None else dtype)], X.data if is_sparse(X) else X
    if isinstance(values, np.ndarray):
        # Not the norm by BLAS, whose threads would go on to wait where ours begin to work.
        norm, size = largest_entry(values), 1
    else:
        size = math.prod(values.shape)
        norm = float(array_namespace(values).linalg.vector_norm(values)) if size else 0.0
    return norm <= limit and (may_be_tiny or size**0.5 / limit <= norm)


def largest_entry(X: Array) -> float:
    """The largest modulus in X, dense or sparse, of any library; NaN where an entry is, zero where there are none."""
    values = X.data if is_sparse(X) else X
    if 0 in values.shape:
        return 0.0
    if isinstance(values, np.ndarray):  # without the detour of `np.min`, which one row would notice
        low, high = float(values.min()), float(values.max())
    else:
        xp = array_namespace(values)
        low, high = float(xp.min(values)), float(xp.max(values))
    return high if high >= -low else -low


def training_inputs(who: str, X: Array) -> Array:
    """Rows to fit, of which entries may be missing: in double precision where single precision has no squares of them.

    Refused where double precision has none either.
    """
    if is_moderate(X):
        return X
    size, largest = itemsize(X.dtype), largest_entry(_filled(X))
    if _is_within(largest, INPUTS[size]):
        return X
    if size == 4:
        return in_double(X)  # in which all numbers of single precision have squares
    raise _out_of_range(who, X, INPUTS[8], "sums of squares, and derivatives, of such numbers leave")


def largest_query(n_columns: int, dtype: Any) -> float:
    """The largest entry of rows of so many columns whose squared distances are numbers in a precision."""
    return min(QUERIES[itemsize(dtype)], FARTHEST[itemsize(dtype)] / max(1, n_columns) ** 0.5)


def refuse_far_queries(who: str, X: Array, dtype: Any, *, is_block: bool = False) -> None:
    """Refuse rows, of which entries may be missing, without squares in the precision `dtype` of a fitted model.

    Where they are a block of more rows, the message does not number them.
    """
    limit, precision = largest_query(X.shape[1], dtype), "single" if itemsize(dtype) == 4 else ""
    if not is_moderate(X, dtype, may_be_tiny=True) and largest_entry(_filled(X)) > limit:
        raise _out_of_range(who, X, limit, "squares of such rows leave", precision, is_block)


def compared_inputs(kernel: Any, X: Array, Y: Array) -> tuple[Array, Array]:
    """Rows that a kernel compares: in double precision where single precision is not enough, or refused."""
    is_single = itemsize(X.dtype) == 4
    are_moderate = is_moderate(X, may_be_tiny=True) and (Y is X or is_moderate(Y, may_be_tiny=True))
    if are_moderate and not (is_single and kernel.has_extreme_parameters):
        return X, Y
    for rows in (X, Y):
        refuse_far_queries(repr(kernel), rows, np.float64)
    if is_single:
        X, Y = in_double(X), in_double(Y) if Y is not X else None
    return X, X if Y is None else Y


def are_moderate_values(largest: float, dtype: Any) -> bool:
    """Whether kernel values up to a largest modulus have squares in a precision, and sums of squares."""
    return _is_within(largest, VALUES[itemsize(dtype)])


def _is_within(largest: float, limit: float) -> bool:
    return largest == 0 or 1 / limit <= largest <= limit


def _filled(X: Array) -> Array:
    """X with zeros for missing entries."""
    if is_sparse(X):
        return X
    xp = array_namespace(X)
    return xp.where(xp.isnan(X), xp.zeros_like(X), X)


def _out_of_range(
    who: str, X: Array, limit: float, why: str, precision: str = "", is_block: bool = False
) -> ValueError:
    entries = X.tocoo() if is_sparse(X) else None
    sizes = np.abs(to_numpy(_filled(X)) if entries is None else entries.data)
    place = int(np.argmax(sizes))
    row, column = np.unravel_index(place, X.shape) if entries is None else (entries.row[place], entries.col[place])
    largest = float(sizes.ravel()[place])
    beyond = f"beyond {limit:.0e}" if largest > limit else f"below {1 / limit:.0e}"
    where = f"in column {column}" if is_block else f"in row {row}, column {column}"
    of_precision = f" of {precision} precision" if precision else ""
    wider = ", or fit in double precision, on float64 data" if precision else ""
    return ValueError(
        f"{who} needs inputs of moderate size, and the largest entry of X, {largest:.3g} {where}, is {beyond}: {why} "
        f"the range of numbers{of_precision}. Scale the data, for instance with StandardScaler{wider}."
    )
