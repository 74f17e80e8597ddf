"""Who owns memory: arrays inside of anything, and which of them are those of somebody else."""

import functools
import types

import numpy as np
import scipy.sparse as sp
from hostile_containers import pd

from preimage.feature_space import Expansion, Gram, GrowingSpan, Subspace
from preimage.kernels import Kernel, Prepared
from preimage.landmarks import Landmarks
from preimage.solvers import Family, Preimage

# Values of the theory, which never change: those that are made from others share arrays with them, as documented.
VALUES = (Kernel, Prepared, Expansion, Subspace, Gram, GrowingSpan, Landmarks, Preimage, Family)

# How deep results are looked into, and how many steps the search for a common byte of two strided arrays may take.
DEEPEST, WORK = 8, 10_000


def arrays_in(value, name="the result", closed=(), depth=0, seen=None):
    """Names and NumPy arrays of all that a value holds; objects of `closed` classes are not looked into."""
    seen = set() if seen is None else seen
    if depth > DEEPEST or id(value) in seen or value is None or isinstance(value, (str, bytes, int, float, type)):
        return
    seen.add(id(value))
    if isinstance(value, np.ma.MaskedArray):
        value = value.data
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            yield name, value
            return
        parts = [(f"{name}[{i}]", each) for i, each in enumerate(value.ravel()) if not isinstance(each, (str, float))]
    elif pd is not None and isinstance(value, (pd.DataFrame, pd.Series)):
        columns = [value[each] for each in value.columns] if isinstance(value, pd.DataFrame) else [value]
        parts = [(name, each.to_numpy()) for each in columns]
    elif sp.issparse(value):
        parts = [(f"{name}.{each}", part) for each, part in vars(value).items()]
    elif isinstance(value, dict):
        parts = [(f"{name}[{key!r}]", each) for key, each in value.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = [(f"{name}[{i}]", each) for i, each in enumerate(value)]
    elif isinstance(value, functools.partial):
        parts = [(f"{name}.args", value.args), (f"{name}.keywords", value.keywords), (name, value.func)]
    elif isinstance(value, types.MethodType):
        parts = [(name, value.__self__)]
    elif type(value).__module__.split(".")[0] in ("preimage", "sklearn", "scipy") and not isinstance(value, closed):
        parts = [(f"{name}.{key}", each) for key, each in _stored(value).items()]
    else:
        return
    for path, each in parts:
        yield from arrays_in(each, path, closed, depth + 1, seen)


def _stored(value):
    if hasattr(value, "fit") and hasattr(value, "get_params") and not isinstance(value, VALUES):
        return learned(value)
    names = list(getattr(value, "__dict__", {}))
    names += [each for cls in type(value).__mro__ for each in getattr(cls, "__slots__", ())]
    return {name: getattr(value, name, None) for name in names if isinstance(name, str)}


def learned(model):
    """What a fit has stored: all attributes that are no parameters, which stay those of the caller."""
    return {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}


def shared(result, given, closed=(), writable=False):
    """Where in a result an array, or a `writable` one, has memory in common with one of `given`; empty if nowhere."""
    theirs = [array for each in given for _, array in arrays_in(each) if array.size]
    for name, array in arrays_in(result, closed=closed):
        if array.size and (array.flags.writeable or not writable) and any(_overlap(array, other) for other in theirs):
            return name
    return ""


def _overlap(array, other):
    if not np.may_share_memory(array, other):
        return False
    try:
        return np.shares_memory(array, other, max_work=WORK)
    except np.exceptions.TooHardError:
        return True
