"""Kernels and solvers taken apart into plain data, and put together again, trusting nothing."""

import math
from numbers import Integral, Real

import numpy as np

from preimage import kernels, solvers
from preimage._arrays import is_foreign, is_sparse, to_numpy
from preimage._validation import check_parameters
from preimage.exceptions import UnsupportedKernelError

# Sums of sums of kernels: nobody writes more by hand, and a file should not exhaust the stack.
DEEPEST = 32
# What is named here can be written and read: parameters in, no code. CallableKernel holds a function and is absent.
KERNELS = (
    kernels.AdditiveChi2,
    kernels.Chi2,
    kernels.Constant,
    kernels.Exponential,
    kernels.Gaussian,
    kernels.InverseMultiquadric,
    kernels.Iterated,
    kernels.Laplacian,
    kernels.Linear,
    kernels.MappedInputs,
    kernels.Matern,
    kernels.Multiquadric,
    kernels.Normalized,
    kernels.Patches,
    kernels.Polynomial,
    kernels.Power,
    kernels.Precomputed,
    kernels.Product,
    kernels.ProfilePower,
    kernels.ProfileProduct,
    kernels.ProfileSum,
    kernels.RationalQuadratic,
    kernels.Scaled,
    kernels.ScaledInputs,
    kernels.ShiftedInputs,
    kernels.ScaledProfile,
    kernels.Sigmoid,
    kernels.Sum,
    kernels.Warped,
)
SOLVERS = (
    solvers.Auto,
    solvers.ConformalMap,
    solvers.DistanceConstraint,
    solvers.ExactInverse,
    solvers.FixedPoint,
    solvers.Gradient,
    solvers.MultiStart,
    solvers.SparsePath,
    solvers.WeightedMean,
)
_ARRAYS = {"weights", "matrix", "reference", "gram", "lower", "upper", "background", "points", "laplacian"}


def value_state(value, arrays, name="value"):
    """A kernel or solver as nested {"class": …, "parameters": …}; arrays go to `arrays.put` under names.

    Raises
    ------
    UnsupportedKernelError
        For objects that hold code, and for classes that this library does not know.
    """
    if type(value) not in KERNELS + SOLVERS:
        raise UnsupportedKernelError(
            f"{type(value).__name__} cannot be written to a file that holds no code: only kernels and solvers of "
            f"preimage without functions can; got {value!r:.200}. Write the kernel with those of preimage.kernels "
            "(sums, products, ScaledInputs, ...), or keep the model with skops or pickle, which store code by name."
        )
    parameters = value.get_params(deep=False)
    return {
        "class": type(value).__name__,
        "parameters": {key: _encoded(item, arrays, key, f"{name}.{key}") for key, item in parameters.items()},
    }


def kernel_from_state(state, arrays):
    """The kernel whose `value_state` was `state`; ValueError for anything else."""
    kernel = _value(state, arrays, {each.__name__: each for each in KERNELS}, "kernel", 0)
    if not kernel.is_resolved:
        raise ValueError(f"The kernel of a stored model has numbers as parameters; got {kernel!r:.200}.")
    return kernel


def solver_from_state(state, arrays):
    """The solver whose `value_state` was `state`; ValueError for anything else."""
    return _value(state, arrays, {each.__name__: each for each in SOLVERS}, "solver", 0)


def _encoded(item, arrays, key, name):
    if isinstance(item, (kernels.Kernel, solvers.Preimage)):
        return value_state(item, arrays, name)
    if is_sparse(item) or is_foreign(item) or isinstance(item, np.ndarray):
        return arrays.put(name, item if is_sparse(item) else to_numpy(item))
    if isinstance(item, (list, tuple)):
        return arrays.put(name, np.asarray(item, dtype=float)) if key in _ARRAYS else [_plain(each) for each in item]
    return _plain(item)


def _plain(item):
    """Numbers, flags, words and None, of Python's own types."""
    if item is None or isinstance(item, (bool, str)):
        return item
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, Integral):
        return int(item)
    if isinstance(item, Real) and math.isfinite(item):
        return float(item)
    raise ValueError(f"Parameters in a file are finite numbers, flags, words or arrays; got {item!r:.100}.")


def _value(state, arrays, known, what, depth):
    if depth > DEEPEST:
        raise ValueError(f"The {what} of the file is nested more than {DEEPEST} deep; that is no file of ours.")
    if not isinstance(state, dict) or set(state) != {"class", "parameters"}:
        raise ValueError(f"A stored {what} has a class and parameters; got {state!r:.100}.")
    if not isinstance(state["class"], str) or state["class"] not in known:
        raise ValueError(f"No {what} has the name {state['class']!r:.60}; known: {', '.join(sorted(known))}.")
    made, given = known[state["class"]], state["parameters"]
    expected = set(made._get_param_names())
    if not isinstance(given, dict) or set(given) != expected:
        found = ", ".join(sorted(given))[:200] if isinstance(given, dict) else type(given).__name__
        raise ValueError(f"{made.__name__} has the parameters {', '.join(sorted(expected)) or 'none'}; got {found}.")
    parts = {name: _decoded(item, arrays, known, what, depth + 1) for name, item in given.items()}
    value = made(**parts)
    check_parameters(value)  # a ValueError that names the parameter
    return value


def _decoded(item, arrays, known, what, depth):
    if isinstance(item, dict):
        return _value(item, arrays, known, what, depth) if "class" in item else arrays.get(item)
    if isinstance(item, list):
        return tuple(_number_or_word(each) for each in item)
    return _number_or_word(item)


def _number_or_word(item):
    usable = item is None or isinstance(item, (bool, str)) or (isinstance(item, (int, float)) and abs(item) < 2**63)
    if not usable:  # not a number, infinite, beyond all that is sensible, or a list in a list
        raise ValueError(f"A parameter in the file is no finite number, flag or word; got {item!r:.60}.")
    return item
