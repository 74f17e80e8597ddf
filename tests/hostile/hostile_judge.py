"""The judgement of one call: a finite result of its own or a clear error, no warnings of NumPy, inputs as they were."""

import dataclasses
import itertools
import linecache
import re
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import hostile_paths  # noqa: F401
import numpy as np
import scipy.sparse as sp
from folders import LIBRARY, SCIKIT_LEARN
from hostile_containers import fingerprint, pd
from hostile_memory import VALUES, learned, shared

from preimage.exceptions import UnsupportedKernelError

# Seconds of computing after which a call on some dozens of rows counts as a hang; most take milliseconds.
LIMIT = 20.0
# A refusal names who, what and why; that takes more characters than this.
SHORTEST_MESSAGE = 20
# Errors that say what is wrong to somebody who has not read the source, if they are raised on purpose. AttributeError
# is how scikit-learn says that a fitted model lacks a method.
CLEAR = (ValueError, TypeError, UnsupportedKernelError, AttributeError)
# What scikit-learn says of NaN and infinity in its input. About finite input it is wrong, whoever called it.
SAYS_NOT_FINITE = re.compile(r"Input.* contains (NaN|infinity)|contains NaN or infinity")
# Passes over data of any size look at their results only: they name both reasons, of which the second is right.
NAMES_OVERFLOW = "or values so large that the kernel"
# Numbers that are documented not to be finite: patterns of where they are found, each with its reason.
MAY_BE_INFINITE = {
    r"compression_?\.error$": "NaN for kernels without a norm",
    r"cv_results_\['training_error'\]$": "NaN for numbers of components at which it is not estimated",
    r"DenoisingSearch.cv_results_\['(error|mean_test_score)'\]$": "candidates that overflow are never chosen",
    r"landmarks_?\.(residual_trace|residual_bound|standard_error)$": "NaN where no row estimates it",
    r"preimage.explore .*\['solver'\]\['(lower|upper)'\]$": "infinite where inputs have no bound",
    r"geometry.log_volume_element the result$": "minus infinity where volumes vanish",
    r"geometry.mercer_report .*margin$": "NaN where there is no margin to tell",
    r"inflation_report the result\.dependence\.(information|p_values)$": "NaN on the diagonal",
    r"neuro.fdr_threshold the result$": "infinite where nothing counts",
    r"neuro.pr_curve the result\.(maps|map_reproducibility)": "NaN for maps that one value has not",
    r"best_estimator_\.missing_values$": "NaN is what stands for a missing entry",
}
_MAY_BE_INFINITE = re.compile("|".join(MAY_BE_INFINITE))
# What the checks of scikit-learn say of text and complex numbers, in its own words from NumPy: everybody has met it.
CONVENTIONAL = (
    "could not convert string to float",
    "Unable to convert array of bytes/strings",
    "float() argument must be a string or a real number, not 'complex'",
)


class Hang(BaseException):
    """The call took too long. Not an Exception, so that no handler of the library stops it."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with one call: `cause` is the same for findings that one change would mend."""

    kind: str
    cause: str
    call: str
    message: str


@contextmanager
def limited(seconds):
    """Raise `Hang` in the main thread after so many seconds of computing, of all threads together."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number, frame):
        raise Hang

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def watched(shown):
    """Collect the warnings that a user would see, each with the place in the library that it came from."""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, filename, lineno, file=None, line=None: shown.append(
            (category, str(message), _place(_frames(sys._getframe(1))))
        )
        yield


def _frames(frame):
    """(file, function, line) from the innermost frame outwards."""
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_code.co_name, frame.f_lineno
        frame = frame.f_back


def _place(frames):
    """The innermost line of the library among frames, innermost first.

    What an estimator of scikit-learn, which the user handed over, says of its own fit is said `ELSEWHERE`: it says the
    same to users who call it themselves.
    """
    theirs = False
    for file, function, line in frames:
        if file.startswith(LIBRARY):
            text = linecache.getline(file, line).strip()
            before = f"{ELSEWHERE}, called at " if theirs else ""
            return f"{before}{_name(file)}:{line} in {function}: {text}"
        theirs = file.startswith(SCIKIT_LEARN) and function in ("wrapper", "fit", "fit_transform", "fit_predict")
    return "outside of the library"


def _name(file):
    """The name of a file of the library within the library."""
    return file.removeprefix(LIBRARY).replace("\\", "/")


ELSEWHERE = "an estimator of the user"


_calls = itertools.count()


def calls_so_far():
    """How many calls this process has judged."""
    return _calls.__reduce__()[1][0]


def judge(call, function, given, *, is_finite, limit=LIMIT, owner=None, parameters=(), judges_memory=True):
    """Call `function` and return its result, or None, with the findings.

    `given` is all that it may not change, and that its result, or what a fit has learned, may not share memory with;
    neither may they with `parameters`, nor results of a method with its `owner`.
    """
    next(_calls)
    before = [fingerprint(each) for each in given]
    findings, shown, result, error = [], [], None, None
    try:
        with limited(limit), watched(shown):
            result = function()
            if isinstance(result, Iterator):
                result = list(result)
    except Hang as hang:
        place = _place(_of_traceback(hang.__traceback__))
        return None, True, [Finding("hang", f"hang at {_function(place)}", call, f"over {limit} s")]
    except Exception as raised:
        error = raised
    if error is not None:
        place = _place(_of_traceback(error.__traceback__))
        kind = "" if place.startswith(ELSEWHERE) else kind_of_error(error, is_finite)
        if kind:
            text = "".join(traceback.format_exception(error)[-6:])[-1500:]
            findings.append(Finding(kind, f"{kind} {type(error).__name__} at {_function(place)}", call, text))
    for category, message, place in shown:
        if issubclass(category, RuntimeWarning) and not place.startswith(ELSEWHERE):
            findings.append(
                Finding("warning", f"{category.__name__} at {_function(place)}", call, f"{message}: {place}")
            )
    if any(fingerprint(each) != old for each, old in zip(given, before)):
        findings.append(Finding("changed input", f"changed input in {call}", call, ""))
    if error is None and judges_memory:
        is_model = hasattr(result, "fit") and hasattr(result, "get_params")
        where = shared(learned(result) if is_model else result, [*given, *parameters])
        if not where and owner is not None and result is not owner:
            where = shared(result, [learned(owner)], VALUES)
        if where:
            findings.append(Finding("aliased", f"aliased: {call}", call, f"{where} has memory of somebody else"))
    if error is None and not hasattr(result, "get_params"):  # what a fit learned is looked at on its own
        where = not_finite(result, f"{call} the result")
        if where:
            findings.append(Finding("not finite", f"not finite: {call}", call, f"{where} is not finite"))
    return result, error is not None, findings


def _function(place):
    """A place without its line, which changes with every edit above it."""
    return re.sub(r":\d+ in (\w+|<\w+>): .*", r" in \1", place, count=1)


def _of_traceback(tb):
    frames = traceback.extract_tb(tb)
    return ((frame.filename, frame.name, frame.lineno) for frame in reversed(frames))


def kind_of_error(error, is_finite):
    """Empty for a refusal: an error that the library, or scikit-learn below it, raises on purpose and explains."""
    if isinstance(error, MemoryError) and "max_memory" in str(error):  # the budget that the user gave
        return ""
    if isinstance(error, np.linalg.LinAlgError) or not isinstance(error, CLEAR):
        return "raw error"
    last = traceback.extract_tb(error.__traceback__)[-1]
    on_purpose = linecache.getline(last.filename, last.lineno).strip().startswith("raise ")
    known = last.filename.startswith((LIBRARY, SCIKIT_LEARN))
    if last.filename.startswith(SCIKIT_LEARN) and str(error).startswith(CONVENTIONAL):
        return ""
    if not (on_purpose and known):
        return "raw error"
    if len(str(error)) <= SHORTEST_MESSAGE:
        return "short message"
    if is_finite and SAYS_NOT_FINITE.search(str(error)) and NAMES_OVERFLOW not in str(error):
        return "misleading error"
    return ""


def not_finite(value, name="the result", depth=0, seen=None):
    """Where in a result, or in the attributes of a fitted model, a number is not finite; empty if nowhere."""
    seen = set() if seen is None else seen
    if depth > 6 or id(value) in seen or _MAY_BE_INFINITE.search(name):
        return ""
    if isinstance(value, (float, complex, np.floating, np.complexfloating)):
        return "" if np.isfinite(value) else name
    if isinstance(value, (str, bytes, int, np.generic, type(None), type)):
        return ""
    seen.add(id(value))
    if sp.issparse(value):
        return not_finite(value.tocoo().data, name, depth + 1, seen)
    if pd is not None and isinstance(value, (pd.DataFrame, pd.Series)):
        return not_finite(value.to_numpy(), name, depth + 1, seen)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "fc":
            return "" if np.all(np.isfinite(value)) else name
        parts = ((f"{name}[{i}]", each) for i, each in enumerate(value.ravel())) if value.dtype == object else ()
    elif isinstance(value, dict):
        parts = ((f"{name}[{key!r}]", each) for key, each in value.items())
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = ((f"{name}[{i}]", each) for i, each in enumerate(value))
    elif type(value).__module__.startswith("preimage"):
        parts = [(f"{name}.{key}", each) for key, each in vars_of(value).items()]
    else:
        return ""
    return next(filter(None, (not_finite(each, path, depth + 1, seen) for path, each in parts)), "")


def vars_of(value):
    """What an object stores, by name."""
    names = list(getattr(value, "__dict__", {}))
    names += [each for cls in type(value).__mro__ for each in getattr(cls, "__slots__", ()) if hasattr(value, each)]
    return {name: getattr(value, name) for name in names if isinstance(name, str)}


def not_finite_attributes(model):
    """The same for what a fit stored: attributes that end in an underscore."""
    learned = {name: value for name, value in vars_of(model).items() if name.endswith("_") and name[0] != "_"}
    owner = type(model).__name__
    return next(filter(None, (not_finite(value, f"{owner}.{name}") for name, value in learned.items())), "")
