"""Every public callable: results have memory of their own, inputs stay what they were, read-only inputs are taken.

The tables of calls are those of the fuzzer (tests/hostile), here with plain data that every call accepts; a public name
without a line fails a test below. Constructors keep their arguments, as scikit-learn's conventions ask,
and values of the theory (kernels, expansions, subspaces) that are made from others share arrays with them.
"""

import inspect
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from for_each import for_each
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).parents[1] / "hostile"))

import hostile_paths  # noqa: F401
from hostile_calls import ARGUMENTS, COORDINATES, ESTIMATORS, NOT_GIVEN, OPTIONAL, SHARING_MODELS, call_of, methods_of
from hostile_containers import fingerprint
from hostile_functions import FUNCTIONS, MODULES, NOT_CALLED
from hostile_memory import VALUES, learned, shared
from hostile_methods import METHODS, NOT_MADE, OWNERS, SHARING, WRITING, api, public_classes
from hostile_problem import Case, Problem
from hostile_run import run
from hostile_strategies import KEPT, strategy_of

from preimage import (
    KernelPCA,
    PenalizedDiscriminant,
    SparseGreedyClassifier,
    compress,
    inflation_report,
    neuro,
    plotting,
)
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels import Gaussian
from preimage.model_selection import WidthSearch
from preimage.neuro import pr_curve

# What functions and estimators need to be called at all, and few points and candidates where more would only take time.
PARAMETERS = {
    "preimage.compress": {"estimator": "=SVC()"},
    "preimage.explore": {"estimator": "=KernelPCA(2)"},
    "preimage.inflation_report": {"estimator": "=KernelPCA(2)"},
    "interop.machine_of": {"estimator": "=SVC()"},
    "model_selection.capacity_report": {"estimator": "=SVC()"},
    "neuro.sensitivity_map": {"estimator": "=SVC()"},
    "CompressedClassifier": {"estimator": "=SVC()", "n_points": 3},
    "CompressedRegressor": {"estimator": "=SVR()", "n_points": 3},
    "CompressedDetector": {"estimator": "=OneClassSVM()", "n_points": 3},
    "CompressedTransformer": {"estimator": "=KernelPCA(2)", "n_points": 3},
    "DenoisingSearch": {"n_components": [1, 2], "gammas": [0.5]},
    "KernelFisherDiscriminantCV": {"gammas": [0.1, 1.0], "alphas": [0.01]},
    "KernelImputerCV": {"gammas": [0.1], "noises": [1e-3], "cv": 2},
    "Renormalized": {"estimator": "=KernelPCA(2)"},
    "WidthSearch": {"estimator": "=SVC()"},
}
# Parameters with arrays of the user, and those that lead to other code, by the name of the route.
ROUTES = {
    "plain": {},
    "landmarks": {"landmarks": 3},
    "a matrix": {"kernel": "precomputed"},
    "mapped inputs": {"kernel": "=MappedInputs(Gaussian(1.0), X[:2])"},
    "kept rows": {"kernel": "=Iterated(Gaussian(1.0))"},
    "a graph": {"kernel": "=Warped(Gaussian(1.0), X)"},
    "bounds": {"preimage": "=Gradient(lower=X.min(axis=0), upper=X.max(axis=0))"},
    "templates": {"preimage": "=Parametrized(Mixtures(X[:3]), max_iter=3)"},
    "points": {"points": "=X"},
}


def problem(name, **fields):
    params = PARAMETERS.get(name, {}) | fields.pop("params", {})
    if "kernel" in params:
        params.pop("gammas", None)  # such kernels have no width to choose
    target = "numbers" if name.endswith("Regressor") else "two classes"
    return Problem(name, params=params, target=target, n=12, **fields)


@for_each("name", METHODS)
def test_methods_of_values_share_nothing_and_change_nothing(name):
    findings = run(problem(name))
    assert not findings, findings[0].message


@for_each("name", FUNCTIONS)
def test_functions_share_nothing_and_change_nothing(name):
    findings = run(problem(name))
    assert not findings, findings[0].message


def test_every_public_function_is_called_or_left_out_for_a_reason():
    for name, module in MODULES.items():
        functions = [each for each in module.__all__ if inspect.isfunction(getattr(module, each))]
        missing = [each for each in functions if f"{name}.{each}" not in {*FUNCTIONS, *NOT_CALLED}]
        assert not missing, f"{name}: {missing}"


def test_every_public_module_has_its_functions_called():
    drawn = {"plotting", "exceptions"}  # figures are below, errors are no functions
    without = {"reduced_sets", "invariances"}
    modules = {each.removeprefix("preimage.") for each in api.PUBLIC}
    assert modules - drawn - without <= set(MODULES)


def test_every_public_class_is_an_estimator_or_has_an_object_or_a_reason():
    missing = set(public_classes()) - {*OWNERS, *NOT_MADE}
    assert not missing


def test_exceptions_are_of_methods_that_exist():
    names = {each for full in METHODS for each in (full.split(".")[-1], ".".join(full.split(".")[1:]))}
    assert not {*SHARING, *WRITING} - names


@for_each("name", ESTIMATORS)
def test_every_parameter_and_argument_is_varied_or_left_out_for_a_reason(name):
    cls = ESTIMATORS[name]
    for parameter in inspect.signature(cls).parameters:
        assert parameter in KEPT or strategy_of(cls, parameter) is not None, f"no values for {name}({parameter}=…)"
    for method in methods_of(cls):
        function = inspect.getattr_static(cls, method)
        signature = inspect.signature(getattr(function, "fn", function))
        for argument in list(signature.parameters)[1:]:
            assert argument in ARGUMENTS or argument in NOT_GIVEN, f"no values for {name}.{method}({argument}=…)"


def fitted(name, case):
    """A model of plain data."""
    model = ESTIMATORS[name](**case.params)
    function, given = call_of(model, "fit", case)
    before = [fingerprint(each) for each in given]
    function()
    assert [fingerprint(each) for each in given] == before
    where = shared(learned(model), [given, case.values, list(case.params.values())])
    assert not where, f"{name}.fit: {where} is an array of the caller"
    return model


# Estimators that have no such route, although they have the parameter.
REFUSED = {
    ("EmpiricalKernelMap", "a matrix"),
    ("KernelImputer", "a matrix"),
    ("KernelImputerCV", "a matrix"),
    ("KernelNoveltyDetector", "a matrix"),
    ("OrientedKernelPCA", "a matrix"),
}


def routes(*names):
    """Pairs of estimators and routes that their parameters allow."""
    return [
        (name, route)
        for name, cls in ESTIMATORS.items()
        for route in names
        if set(ROUTES[route]) <= set(inspect.signature(cls).parameters) and (name, route) not in REFUSED
    ]


@pytest.mark.parametrize(("name", "route"), routes(*ROUTES))
def test_models_share_nothing_with_their_data_and_their_answers_nothing_with_them(name, route):
    case = Case(problem(name, params=ROUTES[route], container="read-only"))
    model = fitted(name, case)
    for method in methods_of(ESTIMATORS[name]):
        for given in ((), OPTIONAL):
            case.problem = case.problem.but(given=given)
            if not hasattr(model, method):
                continue
            if COORDINATES & set(inspect.signature(getattr(model, method)).parameters):
                case.coordinates = np.asarray(model.transform(case.Z))
            function, given = call_of(model, method, case)
            before = [fingerprint(each) for each in given]
            try:
                answer = function()
            except (UnsupportedKernelError, ValueError, TypeError):
                continue
            assert [fingerprint(each) for each in given] == before, method
            answer = list(answer) if hasattr(answer, "__next__") else answer
            where = shared(learned(answer) if answer is model else answer, [given])
            if answer is not model and method not in SHARING_MODELS:
                where = where or shared(answer, [learned(model)], VALUES)
            assert not where, f"{name}.{method}: {where} is an array of somebody else"


@pytest.mark.parametrize(("name", "route"), routes("plain", "landmarks", "a matrix", "a graph", "points"))
def test_a_model_does_not_notice_what_becomes_of_its_data(name, route):
    case = Case(problem(name, params=ROUTES[route]))
    model = fitted(name, case)
    asked = [each for each in ("transform", "predict", "decision_function") if hasattr(model, each)]
    queries = case.Z.copy()
    before = answers(model, asked, queries)
    for array in (case.X, case.values, case.w):
        array[...] = -7
    for old, new in zip(before, answers(model, asked, queries), strict=True):
        np.testing.assert_array_equal(old, new)


def answers(model, asked, queries):
    found = []
    for each in asked:
        with suppress(UnsupportedKernelError):  # distances of new points are not known to a matrix
            found.append(getattr(model, each)(queries.copy()))
    return found


RNG = np.random.default_rng(0)
POINTS, PICTURES, CLASSES = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 4)), np.arange(30) % 2
VALUES_OF_MAP, EIGENVALUES = RNG.normal(size=4), np.array([3.0, 2.0, 1.0])
# One line per way to a figure.
FIGURES = {
    "ComponentContourDisplay.from_estimator": lambda cls, model: cls.from_estimator(model, POINTS, grid_resolution=8),
    "CompressionDisplay.from_estimator": lambda cls, model: cls.from_estimator(
        SVC().fit(POINTS, CLASSES), POINTS, CLASSES, sizes=[2, 3], methods=["select"]
    ),
    "DenoisingDisplay.from_images": lambda cls, model: cls.from_images(
        PICTURES, {"a": PICTURES}, (2, 2), clean=PICTURES, n_images=3
    ),
    "InflationDisplay.from_estimator": lambda cls, model: cls.from_estimator(
        KernelPCA(2), POINTS, CLASSES, X_test=POINTS, y_test=CLASSES, n_permutations=5
    ),
    "InflationDisplay.from_report": lambda cls, model: cls.from_report(
        inflation_report(KernelPCA(2), POINTS, CLASSES, n_permutations=5), X_test=POINTS, y_test=CLASSES
    ),
    "KernelGeometryDisplay.from_kernel": lambda cls, model: cls.from_kernel(
        Gaussian(1.0), POINTS, quantity="log_volume_element", grid_resolution=5
    ),
    "MapDisplay.from_maps": lambda cls, model: cls.from_maps({"a": VALUES_OF_MAP}, image_shape=(2, 2)),
    "NavigationDisplay.from_estimator": lambda cls, model: cls.from_estimator(
        KernelPCA(2).fit(PICTURES), PICTURES[:1], PICTURES[1:2], (2, 2), steps=3
    ),
    "NavigationDisplay.from_images": lambda cls, model: cls.from_images(PICTURES[:3], (2, 2)),
    "ReducedSetDisplay.from_estimator": lambda cls, model: cls.from_estimator(
        compress(SVC().fit(PICTURES, CLASSES), 3, X=PICTURES), (2, 2)
    ),
    "RelevanceDisplay.from_estimator": lambda cls, model: cls.from_estimator(
        SparseGreedyClassifier(5, gamma="relevance").fit(POINTS, CLASSES)
    ),
    "SpectrumDisplay.from_estimator": lambda cls, model: cls.from_estimator(model),
    "SpectrumDisplay.from_eigenvalues": lambda cls, model: cls.from_eigenvalues(EIGENVALUES),
    "SplitHalfDisplay.from_curves": lambda cls, model: cls.from_curves(
        pr_curve(PenalizedDiscriminant(), PICTURES, CLASSES, np.arange(30) % 4, param_range=[1e-3, 1.0], n_splits=2)
    ),
    "WidthCurveDisplay.from_search": lambda cls, model: cls.from_search(WidthSearch(SVC()).fit(POINTS, CLASSES)),
}


def test_every_way_to_a_figure_has_a_line():
    classes = [getattr(module, name) for module in (neuro, plotting) for name in module.__all__ if "Display" in name]
    found = {f"{cls.__name__}.{name}" for cls in classes for name in vars(cls) if name.startswith("from_")}
    assert found == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.filterwarnings("ignore")
def test_figures_keep_copies(name):
    plt = pytest.importorskip("matplotlib.pyplot")
    cls = getattr(neuro if name.startswith(("Map", "SplitHalf")) else plotting, name.split(".")[0])
    model = KernelPCA(2).fit(POINTS)
    given = [POINTS, PICTURES, CLASSES, VALUES_OF_MAP, EIGENVALUES]
    before = [fingerprint(each) for each in given]
    figure = FIGURES[name](cls, model)
    plt.close("all")
    assert [fingerprint(each) for each in given] == before
    assert not shared(figure, [*given, learned(model)])
