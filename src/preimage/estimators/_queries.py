"""Inputs of fitted models: arrays in memory, memory maps and Dask arrays read block by block, and streams."""

from collections.abc import Callable, Iterator
from typing import Any

from preimage._arrays import as_points, is_lazy, on_device, to_numpy
from preimage._rows import map_rows
from preimage._typing import Array, Rows
from preimage._validation import check_finite_block, check_lazy_points, check_model_inputs
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


def is_stream(X: Any) -> bool:
    """Whether X is an iterator, whose blocks come one by one."""
    return hasattr(X, "__next__")


def blocks_of(estimator: Any, X: Iterator[Rows]) -> Iterator[Rows]:
    """The blocks of an iterator; one without any is refused."""
    count = 0
    for block in X:
        count += 1
        yield block
    if count == 0:
        raise ValueError(f"{type(estimator).__name__} was given an iterator without a single block of rows.")


def refuse_stream(estimator: Any, X: Any, method: str, remedy: str) -> None:
    """Refuse an iterator where all rows are needed at once, or more than once."""
    if is_stream(X):
        raise TypeError(f"{type(estimator).__name__}.{method} cannot read an iterator of blocks. {remedy}")


def through_device(subspace: Subspace, device: str) -> Callable[[Rows], Array]:
    """A function like ``subspace.coordinates`` that streams NumPy rows through a device and back."""
    moved = lambda array: on_device(to_numpy(array), device)
    there = subspace.converted(moved, moved(subspace.frame.points))
    coordinates = lambda rows: to_numpy(there.coordinates(moved(rows)))
    return lambda X: map_rows(coordinates, X, rows=DEVICE_ROWS, device_of=there.frame.points)
