"""The calls that a description asks for: fits and all public methods of estimators, found by looking at the classes."""

import inspect
from functools import cache

import hostile_paths  # noqa: F401
import numpy as np
from all_estimators import public_estimators
from hostile_judge import Finding, judge, not_finite_attributes
from hostile_problem import Case, scaled

ESTIMATORS = {each.__name__: each for each in public_estimators()}
# Methods that are not called, each with its reason.
LEFT_OUT = {
    "get_params": "scikit-learn's",
    "set_params": "scikit-learn's",
    "set_output": "scikit-learn's",
    "get_metadata_routing": "scikit-learn's",
    "set_callbacks": "scikit-learn's",
    "get_feature_names_out": "no numbers",
    "save": "files are tested by mutilation",
    "to_onnx": "files are tested by mutilation",
}
# Methods whose result is another model, which shares arrays with the first, as their docstrings say.
SHARING_MODELS = {"with_components"}
# Methods that fit, or that want the training rows.
FITTING = ("fit", "fit_transform", "fit_predict", "partial_fit", "fit_path", "sparse_path", "decompose", "path")
ROUTES = ("fit", "fit_transform", "fit_predict", "partial_fit")


@cache
def methods_of(cls):
    """Public methods, without those left out and requests of metadata routing."""
    names = [name for name in dir(cls) if name[0] != "_" and name not in LEFT_OUT]
    names = [name for name in names if not (name.startswith("set_") and name.endswith("_request"))]
    # A mean of right answers or a fraction of variance that scikit-learn computes from predictions, which are judged.
    theirs = [name for name in names if name == "score" and cls.score.__module__.startswith("sklearn.")]
    is_data = lambda name: isinstance(inspect.getattr_static(cls, name), (property, str, int, float, tuple))
    return tuple(name for name in names if not name.endswith("_") and name not in theirs and not is_data(name))


def _coordinates(case, model):
    Y = case.coordinates
    with np.errstate(over="ignore"):
        return np.nan_to_num(scaled(Y.astype(float), case.problem.coordinates).astype(Y.dtype))


def _classes(case, model):
    return None if case.y is None else np.unique(np.asarray(case.y))


# Values of arguments by their names: from the data and the fitted model.
ARGUMENTS = {
    "X": lambda case, model: case.Z,
    "Y": _coordinates,
    "A": lambda case, model: _coordinates(case, model)[:1],
    "B": lambda case, model: _coordinates(case, model)[-1:],
    "y": lambda case, model: case.query_y,
    "sample_weight": lambda case, model: case.query_weights,
    "groups": lambda case, model: np.arange(case.problem.n) // 2,
    "n_components": lambda case, model: 1,
    "components": lambda case, model: [model.n_components_ - 1],
    "start": lambda case, model: case.Z,
    "diagonal": lambda case, model: np.ones(len(case.query_values)),
    "cross_fit": lambda case, model: 2,
    "loss": lambda case, model: ("huber", "l1", "cauchy", "tukey")[case.problem.n % 4],
    "scale": lambda case, model: (1e-300, 1e-3, 1.0, 1e300)[case.problem.n % 4],
    "connectivity": lambda case, model: np.eye(model.n_features_in_, k=1),
    "return_outliers": lambda case, model: True,
    "alphas": lambda case, model: [1e-300, 1e-3, 1.0, 1e300],
    "classes": _classes,
    "steps": lambda case, model: 3,
    "beyond": lambda case, model: (0.0, 1e300) if case.problem.seed % 5 == 0 else 0.5,
    "pairs": lambda case, model: case.X,
    "noise_samples": lambda case, model: case.Z,
    "impute": lambda case, model: True,
    "noise": lambda case, model: ("auto", 0.0, 0.5)[case.problem.seed % 3],
    "n_draws": lambda case, model: 2,
    "n_neighbors": lambda case, model: 1,
    "radius": lambda case, model: (0.0, 1e-300, 1.0, 1e300)[case.problem.n % 4],
    "return_distance": lambda case, model: True,
    "return_certain": lambda case, model: True,
    "mode": lambda case, model: ("connectivity", "distance")[case.problem.n % 2],
    "return_std": lambda case, model: True,
    "coverage": lambda case, model: (1e-300, 0.5, 0.9, 1 - 1e-16)[case.problem.n % 4],
}
TRAINING_ARGUMENTS = {
    **ARGUMENTS,
    "X": lambda case, model: case.X,
    "y": lambda case, model: case.y,
    "sample_weight": lambda case, model: case.w,
}
# Arguments that are made from what `transform` returns.
COORDINATES = {"Y", "A", "B"}
# Optional arguments that are never given, each with its reason.
NOT_GIVEN = {
    "input_features": "names of columns",
    "decomposition": "what another method returned",
    "fit_params": "arguments of inner estimators",
    "kwargs": "arguments of inner estimators",
}
OPTIONAL = (
    "sample_weight",
    "groups",
    "n_components",
    "start",
    "diagonal",
    "cross_fit",
    "loss",
    "scale",
    "connectivity",
    "return_outliers",
    "steps",
    "beyond",
    "pairs",
    "noise_samples",
    "n_draws",
)
OPTIONAL += ("classes", "impute", "noise")
OPTIONAL += ("n_neighbors", "radius", "return_distance", "return_certain", "mode", "return_std", "coverage")


def call_of(model, name, case):
    """A method as a function without arguments, and the arguments, which it may not change."""
    makers = TRAINING_ARGUMENTS if name in FITTING else ARGUMENTS
    method = getattr(model, name)
    arguments = {}
    for parameter in inspect.signature(method).parameters.values():
        if parameter.name in NOT_GIVEN:
            continue
        required = parameter.default is inspect.Parameter.empty
        wanted = parameter.name in case.problem.given or (parameter.name == "y" and name in FITTING)
        if name == "path" and parameter.name in ("X", "y"):
            wanted = True
        if required or wanted:
            if parameter.name not in makers:
                raise KeyError(
                    f"{type(model).__name__}.{name} has an argument {parameter.name!r} that is not known here"
                )
            arguments[parameter.name] = makers[parameter.name](case, model)
    return lambda: method(**arguments), list(arguments.values())


def run_estimator(problem):
    """Fit the model of a description, look at what it learned, call its methods; the findings."""
    case = Case(problem)
    cls = ESTIMATORS[problem.name]
    model = cls(**case.params)
    findings = []

    def attempt(name, function, given):
        result, failed, found = judge(
            f"{problem.name}.{name}",
            function,
            given,
            is_finite=case.is_finite,
            owner=None if name in SHARING_MODELS else model,
            parameters=list(case.params.values()),
        )
        findings.extend(found)
        return result, failed

    route = problem.route if hasattr(model, problem.route) else "fit"
    for _ in range(2 if route == "partial_fit" else 1):
        if not hasattr(model, route):
            return findings
        function, given = call_of(model, route, case)
        if attempt(route, function, given)[1]:
            return findings
    where = not_finite_attributes(model)
    if where:
        findings.append(Finding("not finite", f"not finite: {where}", route, f"{where} is not finite"))
    for name in problem.methods:
        if not hasattr(model, name):
            continue
        if COORDINATES & set(inspect.signature(getattr(model, name)).parameters):
            result, failed = attempt("transform", *call_of(model, "transform", case))
            if failed or not np.all(np.isfinite(result)):
                continue
            case.coordinates = np.asarray(result)
        attempt(name, *call_of(model, name, case))
    return findings
