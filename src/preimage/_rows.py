"""The two passes over data: map rows to rows, and sum over rows; block by block, on all cores."""

import contextlib
from contextvars import ContextVar

from preimage._arrays import array_namespace, device_kwargs, is_dask, is_host, itemsize
from preimage._dask import map_chunks, sum_chunks
from preimage._memory import free_memory
from preimage._threads import available_threads, run_parallel

# A host tile of 256 × 256 entries is half a MiB in float64: block, temporaries and operands stay in
# a second-level cache, where an elementwise profile costs a fraction of what it costs in main memory.
HOST_ROWS = 256
HOST_COLUMNS = 256

_forced = ContextVar("forced_block_shape", default=None)


def map_rows(function, X, *, rows=None, home=None):
    """Stack `function(block)` over consecutive blocks of rows of `X`.

    Parameters
    ----------
    function : callable
        Takes a block of rows and returns an array with as many rows.
    X : array, sparse matrix, or range
        What is cut in blocks. A range stands for row numbers, for work that is prepared once for all rows.
    rows : int, optional
        Rows of a block; by default `block_shape` chooses.
    home : array, optional
        An array on the device where the work is done, when X is a range.

    Returns
    -------
    array
        Lazy when X is a Dask array: nothing is computed here.
    """
    if is_dask(X):
        return map_chunks(lambda chunk: map_rows(function, chunk, rows=rows), X)
    blocks = _cut(X, rows)
    first = function(_take(X, blocks[0]))
    if len(blocks) == 1:
        return first
    xp = array_namespace(first)
    out = xp.empty((_length(X), *first.shape[1:]), dtype=first.dtype, **device_kwargs(first))
    out[blocks[0], ...] = first

    def fill(block):
        out[block, ...] = function(_take(X, block))

    for_blocks(fill, blocks[1:], X if home is None else home, out)
    return out


def sum_rows(function, X, *, rows=None, home=None):
    """Add `function(block)` over consecutive blocks of rows of `X`; the terms need only know `+`.

    Chunks of a Dask array are summed where they are, and their sums by a tree.
    """
    if is_dask(X):
        return sum_chunks(lambda chunk: sum_rows(function, chunk, rows=rows), X)
    blocks = _cut(X, rows)
    # One partial sum a thread, not one a block: sums may be large. Striding balances blocks of growing cost.
    home = X if home is None else home
    stride = min(len(blocks), available_threads() if is_host(home) else 1)
    groups = [blocks[start::stride] for start in range(stride)]

    def add_group(group):
        total = function(_take(X, group[0]))
        for block in group[1:]:
            total = total + function(_take(X, block))
        return total

    partial = for_blocks(add_group, groups, home)
    total = partial[0]
    for term in partial[1:]:
        total = total + term
    return total


def for_blocks(work, blocks, *arrays):
    """Run `work` on every block: on all cores for host arrays, in turn where the device is parallel itself."""
    if all(is_host(array) for array in arrays):
        return run_parallel(work, blocks)
    return [work(block) for block in blocks]


def cut(size, step):
    """Consecutive slices of `step` that cover range(size); the last one may be shorter."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def block_shape(like, n_columns):
    """Rows and columns of the kernel blocks that suit the device of `like`."""
    if (forced := _forced.get()) is not None:
        return forced
    if is_host(like):
        return HOST_ROWS, HOST_COLUMNS
    # A profile needs about four temporaries of the block's size; use an eighth of what is free.
    rows = free_memory(like) // (8 * 4 * itemsize(like.dtype) * max(n_columns, 1))
    return max(64, min(int(rows), 2**14)), max(n_columns, 1)


@contextlib.contextmanager
def forced_block_shape(rows, columns):
    """Fix the block shape inside a `with` statement; results do not depend on it, which tests show."""
    token = _forced.set((rows, columns))
    try:
        yield
    finally:
        _forced.reset(token)


def _cut(X, rows):
    n_columns = 1 if isinstance(X, range) else X.shape[1]
    return cut(_length(X), rows or block_shape(X, n_columns)[0]) or [slice(0, 0)]


def _length(X):
    return len(X) if isinstance(X, range) else X.shape[0]


def _take(X, block):
    return X[block] if isinstance(X, range) else X[block, :]
