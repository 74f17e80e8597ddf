"""Dask arrays: work for each chunk of rows, wherever it lives; only small results travel."""

import numpy as np


def known_rows(X):
    """The array with chunks of known numbers of rows; they are counted on the workers where nobody knows them."""
    return X.copy().compute_chunk_sizes() if np.isnan(X.shape[0]) else X  # a copy: it fills in sizes in place


def whole_rows(X):
    """The array with every row in one piece."""
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def one_column_chunk(X):
    """The array with every row in one piece, and with chunk sizes that are known."""
    return whole_rows(known_rows(X))


def sum_chunks(function, X):
    """Add `function(chunk)` over the chunks that have rows, by a tree of sums; only the total comes here."""
    import dask

    work, shared = dask.delayed(_term, pure=False), _shared(function)
    terms = [work(chunk, shared) for chunk in whole_rows(X).to_delayed().ravel()]
    add = dask.delayed(_add, pure=False)
    while len(terms) > 1:
        pairs = [add(*terms[i : i + 2]) if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
        terms = pairs
    return terms[0].compute()


def map_chunks(function, X):
    """The lazy Dask array whose chunks of rows are `function(chunk)`; nothing is computed, not even sizes of chunks."""
    X = whole_rows(X)
    like = function(np.ones((1, X.shape[1]), dtype=X.dtype))
    chunks = (X.chunks[0], *((size,) for size in like.shape[1:]))
    empty = np.empty((0, *like.shape[1:]), dtype=like.dtype)
    drop = [1] if like.ndim == 1 else None
    meta = np.empty((0,) * like.ndim, dtype=like.dtype)
    return X.map_blocks(
        _image, function=_shared(function), empty=empty, dtype=like.dtype, chunks=chunks, drop_axis=drop, meta=meta
    )


def fetch_rows(X, numbers):
    """The rows with the given numbers as a NumPy array, in that order; each chunk sends only its own."""
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
    """A function as a piece of data: it travels to each worker once, not with every task."""

    def __init__(self, function):
        self.function = function


def _shared(function):
    import dask

    return dask.delayed(_Box(function), pure=False)


def _term(chunk, function):
    return function.function(np.asarray(chunk)) if len(chunk) else None  # which `_add` passes over


def _image(chunk, function, empty):
    return function.function(np.asarray(chunk)) if len(chunk) else empty


def _add(left, right):
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _take(chunk, numbers):
    return np.asarray(chunk)[numbers]
