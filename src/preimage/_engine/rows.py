"""The two passes over data: map rows to rows, and sum over rows, block by block, on all cores."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, is_dask, is_host, itemsize
from preimage._engine.dask import PairSums as PairSums
from preimage._engine.dask import Workers as Workers
from preimage._engine.dask import map_chunks, sum_chunks
from preimage._engine.dask import workers_of as workers_of
from preimage._engine.memory import free_memory
from preimage._engine.progress import stage
from preimage._engine.threads import available_threads, run_parallel
from preimage._engine.typing import Array, Rows

# A host tile of 256 × 512 entries is one MiB in float64: it stays in a second-level cache, where an elementwise profile
# costs a fraction of what it costs in main memory. Ten times larger goes through main memory at every step; ten times
# smaller spends its time in calls, for which all threads share one interpreter.
HOST_ROWS = 256
HOST_COLUMNS = 512
# Blocks that need no temporary arrays may be larger, and threads then wait less often for the interpreter: eight MiB in
# float64, a part of the last cache. Ten times larger leaves that cache between two steps; ten times smaller is a tile.
# Panels have at least so many rows, with which a matrix of a few hundred points is filled fastest, and a matrix has at
# most so many panels of more rows than that: two for each of sixteen threads. Products, for which each thread needs a
# panel of its own, cut them into so many columns.
PANEL_ENTRIES = 2**20
PANEL_ROWS = 128
PANEL_COLUMNS = 4096
MOST_PANELS = 32
# A device works on all columns, and as many rows as memory allows. Beyond 16,384 rows it is busy anyway; below 64 it
# would wait for calls, and running out of memory is then the clearer answer.
FEWEST_DEVICE_ROWS, MOST_DEVICE_ROWS = 64, 2**14
# Seconds of work that are worth calling threads for: ten times what that takes. Ten times less and calls take as long
# as the work, ten times more and one thread does what several could do in a fraction of the time.
WORTH_THREADS = 5e-4

_forced: ContextVar[tuple[int, int] | None] = ContextVar("forced_block_shape", default=None)


def map_rows(
    function: Callable[..., Array], X: Rows, *others: Array | None, rows: int | None = None, device_of: Array = None
) -> Array:
    """Stack `function(block, *blocks of others)` over consecutive blocks of rows.

    Parameters
    ----------
    function : callable
        Takes a block of rows of X, and the same rows of each of the `others`; returns an array with as many rows.
    X : array, sparse matrix, Dask array, or range
        What is cut into blocks. A range stands for row numbers, which the function gets as a slice: for work that is
        prepared once for all rows.
    *others : arrays or None
        Arrays with as many rows as X that travel with it, such as weights, codes or row numbers. None stays None.
    rows : int, optional
        Rows per block; by default `block_shape` chooses.
    device_of : array, optional
        An array on the device where the work is done, when X is elsewhere.

    Returns
    -------
    array
        Lazy when X is a Dask array: nothing is computed here.
    """
    if is_dask(X):
        return map_chunks(lambda *parts: map_rows(function, *parts, rows=rows, device_of=device_of), X, *others)
    work, blocks = _on_blocks(function, (X, *others)), _cut(X, rows)
    begun = time.perf_counter()
    first = work(blocks[0])
    if len(blocks) == 1:
        return first
    seconds_left = (len(blocks) - 1) * (time.perf_counter() - begun)
    xp = array_namespace(first)
    out = xp.empty((_length(X), *first.shape[1:]), dtype=first.dtype, **device_kwargs(first))
    out[blocks[0], ...] = first

    def fill(block: slice) -> None:
        out[block, ...] = work(block)

    if seconds_left < WORTH_THREADS:
        for block in blocks[1:]:
            fill(block)
    else:
        for_blocks(fill, blocks[1:], X if device_of is None else device_of, out)
    return out


def sum_rows(
    function: Callable[..., Any],
    X: Rows,
    *others: Array | None,
    rows: int | None = None,
    device_of: Array = None,
    message: str | None = None,
) -> Any:
    """Add `function(block, *blocks of others)` over consecutive blocks of rows; the terms need only know `+`.

    Parameters are those of `map_rows`. Chunks of a Dask array are summed where they are, and their sums by a tree. A
    pass over an array reports its progress under the name `message`; that of a Dask array is for its scheduler to show.
    """
    if is_dask(X):
        return sum_chunks(lambda *parts: sum_rows(function, *parts, rows=rows, device_of=device_of), X, *others)
    if message is not None:
        with stage(message, _length(X)) as advance:

            def counted(block: Array, *parts: Array) -> Any:
                found = function(block, *parts)
                advance(_length(block))
                return found

            return sum_rows(counted, X, *others, rows=rows, device_of=device_of)
    work, blocks = _on_blocks(function, (X, *others)), _cut(X, rows)
    device_of = X if device_of is None else device_of
    stride, total = _groups(len(blocks), device_of), _OrderedSum()

    def add_group(start: int) -> None:
        group = _OrderedSum()
        for number, block in enumerate(blocks[start::stride]):
            group.add(number, work(block))
        total.add(start, group.total)

    for_blocks(add_group, range(stride), device_of)
    return total.total


def accumulate_rows(
    add: Callable[[slice, Array], None], zeros: Callable[[], Array], size: int, rows: int, device_of: Array
) -> Array:
    """The sum of what `add(block, total)` adds to `total` over blocks of row numbers, for large sums.

    As `sum_rows`, but a thread has one array for all its blocks, which begins as `zeros()`. With a term for each block,
    making and adding terms of a hundred thousand rows takes a tenth of the time.
    """
    blocks = cut(size, rows)
    stride, total = _groups(len(blocks), device_of), _OrderedSum()

    def add_group(start: int) -> None:
        group = zeros()
        for block in blocks[start::stride]:
            add(block, group)
        total.add(start, group)

    for_blocks(add_group, range(stride), device_of)
    return total.total


def _groups(n_blocks: int, device_of: Array) -> int:
    """How many partial sums of blocks there are.

    Two per thread, not one per block, as sums may be large. Each consists of every so-many-th block, which balances
    blocks of growing cost.
    """
    threads = available_threads() if is_host(device_of) else 1
    return 1 if threads == 1 else min(n_blocks, 2 * threads)


class _OrderedSum:
    """A sum of numbered terms that come in any order, each added when all before it have been.

    The order of additions, and with it the rounding, does not depend on which thread is the fastest.
    """

    def __init__(self) -> None:
        self.total: Any = None
        self._lock = threading.Lock()
        self._count = 0
        self._early: dict[int, Any] = {}

    def add(self, number: int, term: Any) -> None:
        with self._lock:
            self._early[number] = term
            while self._count in self._early:
                term = self._early.pop(self._count)
                if self._count == 0:
                    self.total = term
                elif self._count > 1 and _can_hold(self.total, term):  # the second made a sum that nobody else has
                    self.total += term
                else:  # the first term may be somebody else's array
                    self.total = self.total + term
                self._count += 1


def _can_hold(total: Any, term: Any) -> bool:
    """Whether `term` can be added to `total` in place, which saves new memory for every sum."""
    if type(total) is not np.ndarray or type(term) is not np.ndarray:
        return getattr(type(total), "adds_in_place", False)
    return bool(total.dtype == term.dtype and total.shape == term.shape)


def for_blocks(work: Callable[[Any], Any], blocks: Iterable[Any], *arrays: Array) -> list[Any]:
    """Run `work` on every block: on all cores for host arrays, in turn where the device is parallel itself."""
    if all(is_host(array) for array in arrays):
        return run_parallel(work, blocks)
    return [work(block) for block in blocks]


def stacked_blocks(work: Callable[[slice], Array], size: int, step: int, like: Array) -> Array:
    """Stack `work(block)` over blocks of `step` of `size` rows, all of them side by side, on the device of `like`.

    For few blocks that take milliseconds each: `map_rows` has done the first one before it calls threads.
    """
    parts = for_blocks(work, cut(size, step) or [slice(0, 0)], like)
    return parts[0] if len(parts) == 1 else array_namespace(parts[0]).concat(parts, axis=0)


def cut(size: int, step: int) -> list[slice]:
    """Consecutive slices of `step` that cover range(size); the last one may be shorter."""
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def block_shape(array: Array, n_columns: int) -> tuple[int, int]:
    """Rows and columns of the kernel blocks that suit the device of `array`."""
    if (forced := _forced.get()) is not None:
        return forced
    if is_host(array):
        return HOST_ROWS, HOST_COLUMNS
    # A profile needs about four temporaries of the block's size; an eighth of what is free is left for them.
    rows = free_memory(array) // (8 * 4 * itemsize(array.dtype) * max(n_columns, 1))
    return max(FEWEST_DEVICE_ROWS, min(int(rows), MOST_DEVICE_ROWS)), max(n_columns, 1)


class ThreadBuffer(threading.local):
    """A matrix of work space for every thread that asks, the same one each time.

    New memory costs more than the work on a tile: the system clears it page by page, and one thread at a time.
    """

    def __init__(self, n_rows: int, n_columns: int, dtype: Any) -> None:
        # Rows of one cache line more than a multiple of 256 bytes: those of powers of two would push each other's
        # columns out of the cache when the matrix is transposed.
        self._shape = n_rows, n_columns, dtype
        line = 64 // itemsize(dtype)
        width = -(-n_columns // (4 * line)) * 4 * line + line
        self._values = np.empty((n_rows, width), dtype)

    def part(self, n_rows: int, n_columns: int) -> Array:
        """The matrix, cut to a size."""
        return self._values[:n_rows, :n_columns]

    def __reduce__(self) -> tuple[Any, ...]:
        return ThreadBuffer, self._shape  # work space is not sent to workers


def panel_rows(n_rows: int, n_columns: int) -> int:
    """Rows of the panels, of all columns, in which a host matrix is filled in place.

    It does not depend on the number of threads, so that values do not either.
    """
    rows = max(PANEL_ROWS, -(-n_rows // MOST_PANELS))
    return max(1, min(rows, PANEL_ENTRIES // max(n_columns, 1)))


def is_block_shape_forced() -> bool:
    """Whether `forced_block_shape` is in force."""
    return _forced.get() is not None


@contextlib.contextmanager
def forced_block_shape(rows: int, columns: int) -> Iterator[None]:
    """Fix the block shape inside a `with` statement; results do not depend on it, which tests show."""
    token = _forced.set((rows, columns))
    try:
        yield
    finally:
        _forced.reset(token)


def _cut(X: Rows, rows: int | None) -> list[slice]:
    n_columns = 1 if isinstance(X, range) or X.ndim == 1 else X.shape[1]
    return cut(_length(X), rows or block_shape(X, n_columns)[0]) or [slice(0, 0)]


def _length(X: Rows) -> int:
    return len(X) if isinstance(X, range) else X.shape[0]


def _on_blocks(function: Callable[..., Any], arrays: Sequence[Rows]) -> Callable[[slice], Any]:
    """`function` of the rows of a block, for all arrays that travel together."""
    first, *others = map(_part, arrays)
    if not others:
        return lambda block: function(first(block))
    return lambda block: function(first(block), *[part(block) for part in others])


def _part(array: Rows) -> Callable[[slice], Any]:
    """A function from blocks to their rows of `array`."""
    if array is None:
        return lambda block: None
    if isinstance(array, range):
        return lambda block: slice(array[block].start, array[block].stop)
    return (lambda block: array[block]) if array.ndim == 1 else (lambda block: array[block, :])
