"""Dask arrays: work on chunks of rows, on the machines that hold them; only small results travel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from preimage._typing import Array, Rows


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
    return function.function(np.asarray(chunk), *parts) if len(chunk) else None


def _image(chunk: Array, *parts: Array, function: _Box, empty: Array) -> Array:
    return function.function(np.asarray(chunk), *parts) if len(chunk) else empty


def _add(left: Any, right: Any) -> Any:
    """The sum of two terms, of which None stands for a chunk without rows."""
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _take(chunk: Array, numbers: np.ndarray) -> np.ndarray:
    return np.asarray(chunk)[numbers]
