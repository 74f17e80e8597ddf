"""Dask arrays: work on chunks of rows, on the machines that hold them, and sums over pairs of blocks of rows."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from preimage._engine.kept_memory import KeptMemory
from preimage._engine.threads import at_most
from preimage._engine.typing import Array, Rows

# Pairs of blocks for each thread of a cluster. Threads wait a twentieth of the time for the last pair. With twice as
# many they wait half as long, but the client and the scheduler have twice as many tasks, of a millisecond each, and
# more data travel. With a tenth, threads would wait for as long as they work.
PAIRS_PER_THREAD = 6
# Up to an n-th more blocks where threads then end together: with 14 blocks an eighth of the time of sixteen threads is
# left over, and with 16 nothing.
MORE_BLOCKS = 4
# Fewest rows of such a block: the pairs of two of them take about as long as sending a task and its result.
LEAST_BLOCK_ROWS = 1024
# How often in a row one sum may lose rows with the worker that has them, and the time that the scheduler is given to
# notice. Dask itself gives up a task that loses its worker for the third time.
MOST_LOSSES, SECONDS_AFTER_LOSS = 5, 0.5


def known_rows(X: Rows) -> Rows:
    """X with a known number of rows: where chunks of a Dask array have unknown lengths, workers count them."""
    # On a copy, as the lengths are filled in in place.
    return X.copy().compute_chunk_sizes() if np.isnan(X.shape[0]) else X


def whole_rows(X: Rows) -> Rows:
    """The array with every row in one chunk."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def sum_chunks(function: Callable[..., Any], X: Rows, *others: Array | None) -> Any:
    """Add `function(chunk, *parts of others)` over the chunks that have rows, by a tree of sums.

    `others` are arrays with as many rows as X, or None; each chunk gets its part. Only the total comes here.
    """
    import dask

    X = whole_rows(known_rows(X) if any(other is not None for other in others) else X)
    work, shared = dask.delayed(_term, pure=False), _shared(function)
    parts = zip(X.to_delayed().ravel(), *[_parts(other, X.chunks[0]) for other in others], strict=True)
    terms = [work(shared, *part) for part in parts]
    add = dask.delayed(_add, pure=False)
    while len(terms) > 1:
        pairs = [add(*terms[i : i + 2]) if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
        terms = pairs
    return terms[0].compute()


def map_chunks(function: Callable[..., Array], X: Rows, *others: Array | None) -> Rows:
    """The lazy Dask array whose chunks of rows are `function(chunk, *parts of others)`.

    Nothing is computed, not even sizes of chunks, unless there are `others`, which must be cut alike.
    """
    import dask.array as da

    X = whole_rows(known_rows(X) if any(other is not None for other in others) else X)
    arrays = [X] + [None if other is None else _chunked(other, X.chunks[0]) for other in others]
    example = function(*[None if a is None else np.ones((1, *a.shape[1:]), dtype=a.dtype) for a in arrays])
    empty = np.empty((0, *example.shape[1:]), dtype=example.dtype)
    # Letters for axes: 0 are the rows, those of the result come after all of the operands, which are in one piece.
    operands, letters = [], 1
    for array in arrays:
        rest = 0 if array is None else array.ndim - 1
        operands += [array, None if array is None else (0, *range(letters, letters + rest))]
        letters += rest
    axes = {letters + axis: size for axis, size in enumerate(example.shape[1:])}
    return da.blockwise(
        _image,
        (0, *axes),
        *operands,
        new_axes=axes,
        concatenate=True,
        align_arrays=False,
        dtype=example.dtype,
        meta=empty,
        function=_shared(function),
        empty=empty,
    )


def fetch_rows(X: Rows, numbers: np.ndarray) -> np.ndarray:
    """The rows with the given numbers as a NumPy array, in that order; each chunk sends only those rows."""
    import dask

    X = whole_rows(X)
    bounds = np.concatenate([[0], np.cumsum(X.chunks[0])])
    chunks = X.to_delayed().ravel()
    owner = np.searchsorted(bounds, numbers, side="right") - 1
    take = dask.delayed(_take, pure=False)
    wanted = [(c, np.flatnonzero(owner == c)) for c in np.unique(owner)]
    parts = dask.compute(*[take(chunks[c], numbers[places] - bounds[c]) for c, places in wanted])
    out = np.empty((len(numbers), X.shape[1]), dtype=X.dtype)
    for (_, places), rows in zip(wanted, parts, strict=True):
        out[places] = rows
    return out


def workers_of(X: Rows) -> Workers | None:
    """The worker processes that compute the Dask collection X; None where that happens in this process."""
    import dask.base

    client = getattr(dask.base.get_scheduler(collections=[X]), "__self__", None)
    return Workers(client) if hasattr(client, "scatter") else None


class Workers:
    """The worker processes of a cluster.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def n_threads(self) -> int:
        """Threads of all workers together; one at least, also while workers are still starting."""
        return max(1, sum(self.client.nthreads().values()))

    def pairs(self, within: Callable[..., Array], between: Callable[..., tuple[Array, Array]], X: Array) -> PairSums:
        """Sums over pairs of blocks of the rows of X; see `PairSums`."""
        return PairSums(self, within, between, X)


class PairSums:
    """Sums over all pairs of blocks of rows, each unordered pair once, on the workers of a cluster.

    For blocks X₁ … X_b of the rows of X, and the same blocks of an array V with as many rows, block i of the result is
    within(Xᵢ, Vᵢ) + Σⱼ (what between(Xᵢ, Xⱼ, Vᵢ, Vⱼ) returns for i): a product with a symmetric matrix that nobody
    holds. A task gets two blocks and returns two, so that with b blocks about b copies of V travel, in b²/2 tasks; with
    all of X and V in each of as many tasks it would be b²/2 copies. The blocks of X are sent once.

    Results do not depend on which worker does what: sums have a fixed order. `images` is a pass over the same blocks.

    Parameters
    ----------
    workers : Workers
    within : callable
        Takes a block of X and one of V; returns an array like that of V.
    between : callable
        Takes two blocks of X and the two of V; returns two arrays like those of V.
    X : array or sparse matrix of shape (n, d), in memory
    """

    def __init__(
        self, workers: Workers, within: Callable[..., Array], between: Callable[..., tuple[Array, Array]], X: Array
    ) -> None:
        self.workers, self.functions, self.X = workers, (_Box(within), _Box(between)), X
        count = pair_blocks(X.shape[0], workers.n_threads)
        bounds = np.linspace(0, X.shape[0], count + 1).astype(int)
        self.blocks = [slice(*each) for each in itertools.pairwise(bounds.tolist())]
        self._sent: list[Any] | None = None

    def __call__(self, V: Array) -> np.ndarray:
        return self._persistently(lambda: self._sums(V))

    def images(self, function: Callable[..., Array], *others: Array) -> np.ndarray:
        """Stack `function(block, *others)` over the blocks of X; every worker gets all of the others."""
        return self._persistently(lambda: self._images(function, *others))

    def _persistently(self, passing: Callable[[], np.ndarray]) -> np.ndarray:
        # Dask computes lost results again, but not what it was sent, which is gone with the worker that has it.
        for _ in range(MOST_LOSSES - 1):
            with contextlib.suppress(CancelledError):
                return passing()
            self._sent = None
            time.sleep(SECONDS_AFTER_LOSS)
        return passing()

    def _on_workers(self) -> list[Any]:
        """Both functions and the blocks of X, which are sent once."""
        if self._sent is None:
            self._sent = self._send([*self.functions, *(self.X[block] for block in self.blocks)])
        return self._sent

    def _images(self, function: Callable[..., Array], *others: Array) -> np.ndarray:
        import dask

        _, _, *rows = self._on_workers()
        shared = self._send([_Box(function), *others])
        apply = dask.delayed(_apply, pure=False)
        parts = self.workers.client.compute([apply(shared[0], each, *shared[1:]) for each in rows])
        return np.concatenate(self.workers.client.gather(parts))

    def _sums(self, V: Array) -> np.ndarray:
        import dask

        within, between, *rows = self._on_workers()
        values = self._send([np.ascontiguousarray(V[block]) for block in self.blocks])
        apply, add = dask.delayed(_apply, pure=False), dask.delayed(_sum, pure=False)
        numbers = range(len(rows))
        # Pairs within a block have half of the work: the last ones, so that threads end together.
        terms: list[list[Any]] = [[] for _ in numbers]
        for i in numbers:
            for j in range(i):
                both = apply(between, rows[j], rows[i], values[j], values[i])
                terms[j].append(both[0])
                terms[i].append(both[1])
        for i in numbers:
            terms[i].append(apply(within, rows[i], values[i]))
        sums = self.workers.client.compute([add(each) for each in terms])
        return np.concatenate(self.workers.client.gather(sums))

    def _send(self, pieces: list[Any]) -> list[Any]:
        """Futures of pieces of data, each on one worker, from which others fetch what they need."""
        try:
            return list(self.workers.client.scatter(pieces, hash=False))
        except OSError as failure:  # sent to a worker that is gone and not yet known to be
            raise CancelledError("A worker was lost while data were sent to it.") from failure


def pair_blocks(n_rows: int, n_threads: int) -> int:
    """Into how many blocks to cut so many rows, so that pairs of them keep the threads busy and are worth sending."""
    fewest = math.ceil(math.sqrt(2 * PAIRS_PER_THREAD * n_threads))
    # A pair of a block with itself is half as much work as others. Of some numbers the one with the least left over.
    left_over = lambda count: math.ceil(count**2 / n_threads) / (count**2 / n_threads)
    for_threads = min(range(fewest, fewest + fewest // MORE_BLOCKS + 1), key=lambda count: round(left_over(count), 2))
    return max(1, min(for_threads, n_rows // LEAST_BLOCK_ROWS))


def _apply(function: _Box, *blocks: Array) -> Any:
    """`function` of some blocks, on one thread of this process if other tasks may use the others."""
    from distributed import get_worker

    with at_most(None if get_worker().state.nthreads == 1 else 1), KeptMemory():
        return function.function(*blocks)


def _sum(terms: list[Array]) -> Array:
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


class _Box:
    """A function as a piece of data, so that it travels to each worker once and not with every task."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function


def _shared(function: Callable[..., Any]) -> Any:
    import dask

    return dask.delayed(_Box(function), pure=False)


def _parts(array: Array | None, sizes: tuple[int, ...]) -> Sequence[Any]:
    """Consecutive parts of an array with the given numbers of rows, for one task each."""
    if array is None:
        return [None] * len(sizes)
    if hasattr(array, "dask"):
        return _chunked(array, sizes).to_delayed().ravel()
    return np.split(array, np.cumsum(sizes)[:-1])


def _chunked(array: Array, sizes: tuple[int, ...]) -> Rows:
    """A Dask array that is cut into the given numbers of rows, and along no other axis."""
    import dask.array as da

    chunks = (sizes, *((size,) for size in array.shape[1:]))
    return array.rechunk(chunks) if hasattr(array, "dask") else da.from_array(array, chunks=chunks)


def _term(function: _Box, chunk: Array, *parts: Array) -> Any:
    """The term of one chunk, or None where it has no rows, which `_add` leaves out."""
    with KeptMemory():
        return function.function(np.asarray(chunk), *parts) if len(chunk) else None


def _image(chunk: Array, *parts: Array, function: _Box, empty: Array) -> Array:
    with KeptMemory():
        return function.function(np.asarray(chunk), *parts) if len(chunk) else empty


def _add(left: Any, right: Any) -> Any:
    """The sum of two terms, of which None stands for a chunk without rows."""
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _take(chunk: Array, numbers: np.ndarray) -> np.ndarray:
    return np.asarray(chunk)[numbers]
