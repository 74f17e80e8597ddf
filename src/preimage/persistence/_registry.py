"""The classes that files may hold, by name: one table for `save`, `load` and skops; and which fields they know."""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import isabstract, isclass, isfunction
from pkgutil import iter_modules
from types import CodeType, ModuleType
from typing import Any

from preimage._engine.removed import REMOVED, RENAMED_PARAMETERS

# Rooms of this library whose classes may be part of a fitted model. By name, because some are in layers above this one;
# a room is imported when a file needs it.
ROOMS = (
    "kernels",
    "feature_space",
    "descent",
    "solvers",
    "landmarks",
    "reduced_sets",
    "eigensolvers",
    "components",
    "completion",
    "widths",
    "regression",
    "machines",
    "clustering",
    "neighbors",
    "discriminants",
    "invariances",
    "interop",
    "estimators",
    "inflation",
    "model_selection",
)
# Of these, the ones in the private folder of models.
MODELS = ("components", "completion", "regression", "machines", "clustering", "neighbors", "discriminants")
# Names in files of earlier versions, of classes that have another room or name since.
RENAMED: dict[str, str] = {
    "calibration.IncreasingMap": "inflation.IncreasingMap",
    "calibration.Probabilities": "inflation.Probabilities",
    "calibration.Threshold": "inflation.Threshold",
    "calibration.TrainingSpan": "inflation.TrainingSpan",
    "renormalization.Calibration": "inflation.Calibration",
    "renormalization.Columns": "inflation.Columns",
    "renormalization.Histogram": "inflation.Histogram",
    "renormalization.OneVsRestSVC": "inflation.OneVsRestSVC",
    "renormalization.Orthogonal": "inflation.Orthogonal",
    "renormalization.Renormalized": "inflation.Renormalized",
    "kernels.ProfilePower": "kernels.Power",
    "kernels.ProfileProduct": "kernels.Product",
    "kernels.ProfileSum": "kernels.Sum",
    "kernels.ScaledProfile": "kernels.Scaled",
    "solvers.PreimageResult": "descent.PreimageResult",
    "solvers.Reason": "descent.Reason",
}
# These hold a function, which is code; skops users may trust them on their own responsibility.
HOLD_FUNCTIONS = ("CallableKernel", "FunctionFamily", "FunctionTransformation")
# Modules of scikit-learn whose public classes may be steps before or after our models, or inside them. Left out are
# modules whose fitted models keep compiled objects (trees, neighbours), which numbers and names cannot describe.
SKLEARN_MODULES = (
    "sklearn.calibration",
    "sklearn.compose",
    "sklearn.covariance",
    "sklearn.cross_decomposition",
    "sklearn.decomposition",
    "sklearn.discriminant_analysis",
    "sklearn.feature_selection",
    "sklearn.frozen",
    "sklearn.gaussian_process",
    "sklearn.gaussian_process.kernels",
    "sklearn.impute",
    "sklearn.kernel_approximation",
    "sklearn.kernel_ridge",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.multiclass",
    "sklearn.naive_bayes",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.random_projection",
    "sklearn.svm",
)
# Parts of scikit-learn's fitted models that have no public name.
SKLEARN_PARTS = (
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.metrics._scorer._PassthroughScorer",
)


def name_of(cls: type) -> str | None:
    """The name of a class in files, such as "kernels.Gaussian" or "sklearn.svm.SVC"; None if it is not registered."""
    library, _, rest = cls.__module__.partition(".")
    if library == "preimage":
        room = rest.removeprefix("_models.").split(".")[0]
        name = f"{room}.{cls.__name__}"
    else:
        # Classes are defined in private modules of scikit-learn, and public under the name of the package.
        public = [part for part in cls.__module__.split(".") if not part.startswith("_")]
        name = f"{'.'.join(public)}.{cls.__name__}"
        if f"{cls.__module__}.{cls.__name__}" in SKLEARN_PARTS:
            name = f"{cls.__module__}.{cls.__name__}"
    try:
        return name if class_named(name) is cls else None
    except ValueError:
        return None


def class_named(name: object) -> type:
    """The registered class of a name; ValueError for any other. Nothing outside the table is imported."""
    if isinstance(name, str):
        name = RENAMED.get(name, name)
        module, _, attribute = name.rpartition(".")
        if module in ROOMS and attribute in _classes_of(module):
            return _classes_of(module)[attribute]
        if module in SKLEARN_MODULES or name in SKLEARN_PARTS:
            try:
                found = getattr(import_module(module), attribute, None)
            except ImportError:  # experimental classes of scikit-learn, which are there only after another import
                found = None
            if isclass(found) and (name in SKLEARN_PARTS or _is_model_of_sklearn(found, attribute)):
                return found
    raise ValueError(f"The file names a class that this library does not store: {name!r:.80}.")


def registered_classes() -> tuple[type, ...]:
    """Every class of this library that a file may hold."""
    return tuple(each for room in ROOMS for each in _classes_of(room).values())


@cache
def skops_types() -> tuple[str, ...]:
    """`preimage.interop.SKOPS_TYPES`: every registered class by name, none of which holds a function.

    A new estimator, or a new part of one, is among them as soon as it is written. Loading an object of these classes
    sets its fields and runs nothing; functions and classes of others among the fields are for skops to ask about.
    """
    ours = {f"{each.__module__}.{each.__qualname__}" for each in registered_classes()}
    return tuple(sorted({*ours, *filter(_exists, _SKOPS_LACKS)}))


# Classes of other libraries that are not on skops's own list: sparse points, kernels of Gaussian processes, which a
# compressed model keeps among the parameters of its original, and parts of calibrated classifiers and searches.
_SKOPS_LACKS = (
    *SKLEARN_PARTS,
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.DotProduct",
    "sklearn.gaussian_process.kernels.ExpSineSquared",
    "sklearn.gaussian_process.kernels.Exponentiation",
    "sklearn.gaussian_process.kernels.Matern",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.RBF",
    "sklearn.gaussian_process.kernels.RationalQuadratic",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "sklearn.model_selection._split.GroupKFold",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedGroupKFold",
    "sklearn.model_selection._split.StratifiedKFold",
    # Searches fitted with scikit-learn before 1.8 keep names of arguments in these two.
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)


@cache
def _classes_of(room: str) -> dict[str, type]:
    """Classes that one package of ours defines, private ones and interfaces left out."""
    found: dict[str, type] = {}
    folder = "preimage._models" if room in MODELS else "preimage"
    for module in _with_submodules(f"{folder}.{room}"):
        for each in vars(module).values():
            if isclass(each) and each.__module__ == module.__name__ and _is_storable(each):
                # Two of one name would be read as each other.
                assert found.setdefault(each.__name__, each) is each, f"{room} has two classes {each.__name__}"
    return found


def _is_model_of_sklearn(cls: type, name: str) -> bool:
    """Whether a class is an estimator, a kernel or a splitter: modules of scikit-learn import others as well."""
    is_theirs = cls.__module__.startswith("sklearn.") and not name.startswith("_") and not isabstract(cls)
    return is_theirs and (hasattr(cls, "get_params") or hasattr(cls, "get_n_splits"))


def _is_storable(cls: type) -> bool:
    if cls.__name__.startswith("_") or cls.__name__ in HOLD_FUNCTIONS or isabstract(cls):
        return False
    return not issubclass(cls, BaseException) and (not issubclass(cls, Enum) or len(cls) > 0)


def _with_submodules(name: str) -> "list[ModuleType]":
    module = import_module(name)
    inner = (f"{name}.{each.name}" for each in iter_modules(getattr(module, "__path__", [])))
    return [module, *(found for each in inner for found in _with_submodules(each))]


def _exists(name: str) -> bool:
    """Whether the installed version has the class; temperature scaling came late."""
    module, _, attribute = name.rpartition(".")
    return hasattr(import_module(module), attribute)


# Libraries whose classes files hold; their methods are written in Python, so that their names can be read.
_LIBRARIES = ("preimage.", "sklearn.")
# What scikit-learn's functions set on every estimator.
_SET_BY_VALIDATION = ("n_features_in_", "feature_names_in_")


def unknown_fields(cls: type, names: Any) -> list[str]:
    """Those of `names` that nothing mentions in the modules which define `cls`, its bases, and what they import.

    No version of the code that wrote such a field is installed, so nothing here will read it. Parameters that have left
    the library are known.
    """
    return sorted(
        name for name in set(names) - _names_in(cls) if f"{cls.__name__}.{name}" not in REMOVED | RENAMED_PARAMETERS
    )


@cache
def _names_in(cls: type) -> frozenset[str]:
    found = set(_SET_BY_VALIDATION)
    for base in cls.__mro__:
        if base.__module__.startswith(_LIBRARIES):
            found |= _names_in_module(base.__module__)
        found.update(getattr(base, "__annotations__", ()))
    return frozenset(found)


@cache
def _names_in_module(module: str) -> frozenset[str]:
    """Attributes, arguments and words in functions of a module, and in those of others that it imports."""
    members = vars(import_module(module)).values()
    functions = [each for each in members if isfunction(each) and each.__module__.startswith(_LIBRARIES)]
    classes = [each for each in members if isclass(each) and each.__module__ == module]
    functions += [function for each in classes for function in _functions_of(each)]
    return frozenset(name for function in functions for name in _names_in_code(function.__code__))


def _functions_of(cls: type) -> Iterator[Any]:
    for member in vars(cls).values():
        for each in (
            member,
            getattr(member, "__func__", None),
            getattr(member, "fget", None),
            getattr(member, "func", 0),
        ):
            while each is not None and hasattr(each, "__wrapped__"):
                each = each.__wrapped__
            if isfunction(each):
                yield each


def _names_in_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_varnames
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple):
            yield from (word for word in constant if isinstance(word, str))
        elif isinstance(constant, CodeType):
            yield from _names_in_code(constant)
