"""Every public function and estimator, with arguments of the wrong kind: a right answer, or an error that says why.

The calls are those of the fuzzer's tables. One of the arrays that they take is replaced at a time.
"""

import json
import sys
import traceback
import warnings
from functools import cache
from json import JSONDecodeError
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from for_each import for_each

sys.path.insert(0, str(Path(__file__).parents[1] / "hostile"))

import hostile_paths  # noqa: F401
from hostile_calls import ESTIMATORS
from hostile_functions import FUNCTIONS, Inputs, NoCall
from hostile_judge import kind_of_error
from hostile_problem import Case
from test_every_callable import problem

import preimage
from preimage import KernelImputer, KernelPCA, report_progress
from preimage._engine.arguments import refuse_arguments
from preimage.kernels import CallableKernel, Gaussian

LIBRARY = str(Path(preimage.__file__).parent)
# What users pass by mistake, or as other libraries would take it, made from rows of numbers.
ROWS = {
    "one dimension": lambda A: A[:, 0].copy(),
    "no dimension": lambda A: np.array(1.0),
    "three dimensions": lambda A: A[None],
    "no rows": lambda A: A[:0],
    "no columns": lambda A: A[:, :0],
    "NaN": lambda A: np.full_like(A, np.nan),
    "infinity": lambda A: np.where(np.arange(A.size).reshape(A.shape) == 3, np.inf, A),
    "text": lambda A: A.astype(str),
    "objects": lambda A: np.full(A.shape, None),
    "complex": lambda A: A + 1j,
    "None": lambda A: None,
    "a number": lambda A: 3.0,
    "a word": lambda A: "rows",
    "a dict": lambda A: {"a": 1},
    "a list": lambda A: A.tolist(),
    "an empty list": lambda A: [],
    "ragged": lambda A: [[1.0], [1.0, 2.0]],
    "masked": lambda A: np.ma.masked_array(A, mask=np.arange(A.size).reshape(A.shape) == 2),
    "np.matrix": np.matrix,
    "DOK": sp.dok_matrix,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_array,
    "integers": lambda A: np.rint(3 * A).astype(int),
    "truth values": lambda A: A > 0,
    "single precision": lambda A: A.astype("float32"),
    "wide": lambda A: np.hstack([A, A]),
    "a generator": lambda A: (row for row in A),
}
# The same for labels and weights, one number per row.
NUMBERS = {
    "no dimension": lambda v: np.array(1.0),
    "two dimensions": lambda v: np.stack([v, v], axis=1),
    "too few": lambda v: v[:-1],
    "none": lambda v: v[:0],
    "NaN": lambda v: np.full(len(v), np.nan),
    "objects": lambda v: np.full(len(v), None),
    "complex": lambda v: v + 1j,
    "None": lambda v: None,
    "a number": lambda v: 3.0,
    "a word": lambda v: "rows",
    "a dict": lambda v: {"a": 1},
    "a list": lambda v: v.tolist(),
    "ragged": lambda v: [[1.0], [1.0, 2.0]],
    "a generator": lambda v: iter(v),
}
SPOILT = {"NaN", "infinity", "objects", "masked", "None"}


class Watched(Inputs):
    """Inputs that know which of them a call has asked for."""

    def __getattribute__(self, name):
        vars_of = super().__getattribute__("__dict__")
        vars_of.setdefault("asked", set()).add(name)
        return super().__getattribute__(name)


@cache
def arrays_of(name):
    """The arrays that a line of the table takes."""
    given = Watched(Case(problem(name)))
    given.asked.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FUNCTIONS[name](given)
    return [each for each in ("A", "B", "X", "y", "w") if each in given.asked]


def fault_of(kind, call, *given):
    """What is wrong with how a call ends; empty for a result, a clear error, or an error of the test itself."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call(*given)
        except NoCall:
            return ""
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            if not any(frame.filename.startswith(LIBRARY) for frame in frames):
                return ""
            found = kind_of_error(error, is_finite=kind not in SPOILT)
            return found and f"{kind}: {found}: {type(error).__name__}: {error}"
    return ""


@for_each("name", FUNCTIONS)
def test_functions_say_which_argument_is_wrong(name):
    faults = []
    for attribute in arrays_of(name):
        for kind, change in (NUMBERS if attribute in "yw" else ROWS).items():
            given = Inputs(Case(problem(name)))
            given.kernel = lambda: Gaussian(1.0)  # resolved, whatever the rows are
            setattr(given, attribute, change(np.asarray(getattr(given, attribute))))
            fault = fault_of(kind, FUNCTIONS[name], given)
            faults += [f"{attribute} is {fault}"] if fault else []
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_say_which_argument_is_wrong(name):
    case = Case(problem(name))
    new = lambda: ESTIMATORS[name](**case.params)
    faults = []
    for kind, change in ROWS.items():
        fault = fault_of(kind, new().fit, change(case.X), case.y)
        faults += [f"X of fit is {fault}"] if fault else []
    for kind, change in NUMBERS.items():
        fault = fault_of(kind, new().fit, case.X, change(case.y))
        faults += [f"y of fit is {fault}"] if fault else []
    model = new().fit(case.X, case.y)
    for method in ("transform", "predict", "decision_function", "predict_proba", "denoise", "score_samples"):
        for kind, change in ROWS.items():
            if hasattr(model, method):
                fault = fault_of(kind, getattr(model, method), change(case.X))
                faults += [f"X of {method} is {fault}"] if fault else []
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", ["KernelPCA", "KernelFisherDiscriminant", "KernelKMeans"])
def test_inverse_transform_and_devices_say_what_is_wrong(name):
    case = Case(problem(name))
    model = ESTIMATORS[name](**case.params).fit(case.X, case.y)
    for kind, change in ROWS.items():
        if hasattr(model, "inverse_transform"):
            assert not fault_of(kind, model.inverse_transform, change(case.X[:, :1]))
    for device in ("no such device", 3, ["cpu"]):
        if "device" in model.get_params():
            assert not fault_of("device", model.set_params(device=device).fit, case.X, case.y)


ROWS_OF_USERS = np.random.default_rng(0).normal(size=(40, 3))
WITH_HOLES = np.where(np.arange(120).reshape(40, 3) == 4, np.nan, ROWS_OF_USERS)
# Arguments with nothing to blame: pipelines pass None for y.
RIGHT = {
    "y is None": lambda **own: KernelPCA(2, **own).fit(ROWS_OF_USERS, None),
    "missing entries": lambda **own: KernelImputer(method="energy", **own).fit(WITH_HOLES),
    "sparse": lambda **own: KernelPCA(2, **own).fit(sp.csr_array(ROWS_OF_USERS)),
    "truth values": lambda **own: KernelPCA(2, **own).fit(ROWS_OF_USERS > 0),
    "a list": lambda **own: KernelPCA(2, **own).fit(ROWS_OF_USERS.tolist()),
}


def buggy(*arguments):
    """A function of the user with a bug of its own."""
    raise KeyError("my own bug")


def buggy_in_the_standard_library(A, B):
    return json.loads("no JSON")


@pytest.mark.parametrize("kind", RIGHT)
def test_errors_of_callbacks_reach_the_user(kind):
    with pytest.raises(KeyError, match="my own bug"), report_progress(buggy):
        RIGHT[kind]()


@pytest.mark.parametrize("kind", ["y is None", "truth values", "a list"])
def test_errors_of_kernels_reach_the_user(kind):
    with pytest.raises(KeyError, match="my own bug"):
        RIGHT[kind](kernel=CallableKernel(buggy, takes="matrices"))
    with pytest.raises(JSONDecodeError):
        RIGHT[kind](kernel=CallableKernel(buggy_in_the_standard_library, takes="matrices"))


def error_of_numpy():
    """An error that a file of NumPy's raised, with no frame of this test in its traceback."""
    try:
        np.stack([np.ones(2), np.ones(3)])
    except ValueError as error:
        return error.with_traceback(error.__traceback__.tb_next)


METHODS = {
    "y is None": (KernelPCA(), "fit", ROWS_OF_USERS, None),
    "y is ignored": (KernelImputer(), "fit", ROWS_OF_USERS, "nothing"),
    "missing entries": (KernelImputer(), "fit", WITH_HOLES),
    "sparse": (KernelPCA(), "fit", sp.csr_array(ROWS_OF_USERS)),
    "truth values": (KernelPCA(), "transform", ROWS_OF_USERS > 0),
    "a list": (KernelPCA(), "transform", ROWS_OF_USERS.tolist()),
}


@pytest.mark.parametrize("kind", METHODS)
def test_arguments_that_are_right_are_not_blamed(kind):
    model, name, *arguments = METHODS[kind]
    for error in (error_of_numpy(), TypeError("an integer is required")):
        refuse_arguments(error, getattr(type(model), name), f"KernelPCA.{name}", (model, *arguments), {})


def documented(A, B, C, given=None):
    """Count entries, of which some may be missing.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, d)
    B : array of shape (n, d)
        Also a sparse matrix.
    C : array of shape (n, d)
    given : array of shape (n,)
    """


def test_words_of_a_docstring_say_what_is_not_to_blame():
    refuse = lambda *arguments: refuse_arguments(error_of_numpy(), documented, "documented", arguments, {})
    rows, sparse = np.ones((3, 2)), sp.csr_array(np.ones((3, 2)))
    refuse(sparse, sparse, np.full((3, 2), np.nan), None)
    with pytest.raises(ValueError, match=r"needs `C`.* got a sparse matrix"):
        refuse(rows, rows, sparse)
    with pytest.raises(TypeError, match=r"needs `C`.* got None"):
        refuse(rows, rows, None)
    with pytest.raises(ValueError, match=r"needs `given`.* got an array of shape"):
        refuse(rows, rows, rows, rows)
