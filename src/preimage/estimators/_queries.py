"""Inputs of fitted models: arrays in memory, memory maps and Dask arrays read block by block."""

from collections.abc import Callable
from typing import Any

from preimage._arrays import as_points, is_lazy, on_device, to_numpy
from preimage._rows import map_rows
from preimage._typing import Array, Rows
from preimage._validation import check_finite_block, check_lazy_points, check_model_inputs, is_stream
from preimage.feature_space import Subspace

# Rows of a memory map or a chunk that are read together: enough to fill blocks of the kernel, few next to the memory.
LAZY_ROWS = 4096
# Rows that stream through a device together: enough to keep it busy, and 100 MB for 400 columns.
DEVICE_ROWS = 2**15


def check_queries(estimator: Any, X: Rows, like: Array) -> Rows:
    """Validate inputs for a fitted model, whose arrays have the library, device and precision of `like`."""
    if is_stream(X):
        raise TypeError(
            f"{type(estimator).__name__} was given an iterator of blocks, which can be read once only. Pass its blocks "
            "one by one."
        )
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=False)
    return check_model_inputs(estimator, X, fitted=like)


def map_queries(estimator: Any, function: Callable[[Array], Array], X: Rows, like: Array) -> Array:
    """`function` of validated inputs, or a pass with it over what does not fit into memory."""
    if not is_lazy(X):
        return function(X)
    name, dtype = type(estimator).__name__, like.dtype  # not the estimator: tasks should carry no more than they need
    checked = lambda rows: check_finite_block(name, as_points(rows).astype(dtype, copy=False))
    return map_rows(lambda rows: function(checked(rows)), X, rows=LAZY_ROWS)


def through_device(subspace: Subspace, device: str) -> Callable[[Rows], Array]:
    """A function like ``subspace.coordinates`` that streams NumPy rows through a device and back."""
    moved = lambda array: on_device(to_numpy(array), device)
    there = subspace.converted(moved, moved(subspace.frame.points))
    coordinates = lambda rows: to_numpy(there.coordinates(moved(rows)))
    return lambda X: map_rows(coordinates, X, rows=DEVICE_ROWS, device_of=there.frame.points)
