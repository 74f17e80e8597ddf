"""Inputs of fitted models: arrays that are held, and memory maps and Dask arrays that are read block by block."""

from sklearn.utils.validation import check_is_fitted

from preimage._arrays import as_points, is_lazy
from preimage._rows import map_rows
from preimage._validation import check_finite_block, check_lazy_points, check_model_inputs

# Rows of a memory map or a chunk that are read together.
LAZY_ROWS = 4096


def check_queries(estimator, X, like):
    """Validate inputs for a fitted model whose arrays are like `like`."""
    check_is_fitted(estimator)
    if is_stream(X):
        raise TypeError(
            f"{type(estimator).__name__} was given an iterator of blocks, which can be read once only. Pass its blocks "
            "one by one."
        )
    if is_lazy(X):
        return check_lazy_points(estimator, X, reset=False)
    return check_model_inputs(estimator, X, fitted=like)


def map_queries(estimator, function, X, like):
    """`function` of validated inputs, or a pass with it over what does not fit into memory."""
    if not is_lazy(X):
        return function(X)
    name, dtype = type(estimator).__name__, like.dtype  # not the estimator: tasks should carry no more than they need
    checked = lambda rows: check_finite_block(name, as_points(rows).astype(dtype, copy=False))
    return map_rows(lambda rows: function(checked(rows)), X, rows=LAZY_ROWS)


def is_stream(X):
    """Whether X is an iterator, whose blocks come one by one."""
    return hasattr(X, "__next__")


def blocks_of(estimator, X):
    """The blocks of an iterator; one without any is refused."""
    count = 0
    for block in X:
        count += 1
        yield block
    if count == 0:
        raise ValueError(f"{type(estimator).__name__} was given an iterator without a single block of rows.")


def refuse_stream(estimator, X, method, remedy):
    """Refuse an iterator where all rows are needed at once, or more than once."""
    if is_stream(X):
        raise TypeError(f"{type(estimator).__name__}.{method} cannot read an iterator of blocks. {remedy}")
