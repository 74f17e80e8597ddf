"""The types that skops may load in our models: values without code."""

from functools import cache
from importlib import import_module
from inspect import isclass

# Packages whose public classes may be in a fitted model. By name: estimators are a layer above this one.
_PACKAGES = (
    "kernels",
    "feature_space",
    "solvers",
    "landmarks",
    "reduced_sets",
    "spectral",
    "clustering",
    "discriminants",
    "calibration",
    "invariances",
    "interop",
    "estimators",
    "model_selection",
)
# Public classes that hold a function, which is code: trust those yourself.
_HOLD_FUNCTIONS = {"CallableKernel", "FunctionTransformation"}
# Private parts of fitted models.
_PARTS = (
    "preimage._enclosing_ball.Ball",
    "preimage._ridge.Ridge",
    "preimage.estimators._landmark_route.LandmarkModel",
)
# Values of others that are not on skops's own list: sparse points, and kernels of Gaussian processes, which a
# compressed model keeps among the parameters of its original.
_THEIRS = (
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
)


@cache
def skops_types():
    """Names for ``skops.io.load(path, trusted=SKOPS_TYPES)``: every public class of ours that holds no function.

    A new estimator, kernel or solver is among them as soon as its package lists it.
    """
    public = (
        getattr(package, name)
        for package in (import_module(f"preimage.{name}") for name in _PACKAGES)
        for name in package.__all__
        # The list asks for itself.
        if name not in _HOLD_FUNCTIONS | {"SKOPS_TYPES"}
    )
    ours = {f"{each.__module__}.{each.__qualname__}" for each in public if isclass(each)}
    return tuple(sorted({*ours, *_PARTS, *_THEIRS}))
