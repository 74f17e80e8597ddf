"""The types that skops may load in our models: values without code."""

from functools import cache
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules

# Whatever a fitted model is made of comes from here. By name: estimators are a layer above this one.
_MODULES = (
    "kernels",
    "feature_space",
    "solvers",
    "landmarks",
    "reduced_sets",
    "eigensolvers",
    "components",
    "widths",
    "regression",
    "machines",
    "clustering",
    "discriminants",
    "calibration",
    "invariances",
    "interop",
    "estimators",
    "renormalization",
    "model_selection",
)
# These hold a function, which is code: trust them yourself.
_HOLD_FUNCTIONS = {"CallableKernel", "FunctionTransformation"}
# Values of others that are not on skops's own list: sparse points, kernels of Gaussian processes, which a compressed
# model keeps among the parameters of its original, and what calibrated classifiers and searches are made of.
_THEIRS = (
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
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
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.model_selection._split.GroupKFold",
    "sklearn.model_selection._split.KFold",
    "sklearn.model_selection._split.StratifiedGroupKFold",
    "sklearn.model_selection._split.StratifiedKFold",
)


@cache
def skops_types():
    """Names for ``skops.io.load(path, trusted=SKOPS_TYPES)``: every class of ours that holds no function.

    A new estimator, or a new part of one, is among them as soon as it is written. Loading an object of these classes
    sets its fields and runs nothing; functions and classes of others among the fields are for skops to ask about.
    """
    modules = (module for name in _MODULES for module in _with_submodules(f"preimage.{name}"))
    ours = {
        f"{each.__module__}.{each.__qualname__}"
        for module in modules
        for each in vars(module).values()
        if isclass(each) and each.__module__ == module.__name__ and each.__name__ not in _HOLD_FUNCTIONS
    }
    return tuple(sorted({*ours, *filter(_exists, _THEIRS)}))


def _exists(name):
    """Whether the installed version has the type; temperature scaling came late."""
    module, _, attribute = name.rpartition(".")
    return hasattr(import_module(module), attribute)


def _with_submodules(name):
    module = import_module(name)
    yield module
    for _, inner, _ in iter_modules(getattr(module, "__path__", [])):
        yield from _with_submodules(f"{name}.{inner}")
