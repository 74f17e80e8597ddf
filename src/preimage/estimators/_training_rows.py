"""Which rows of X were in the training set."""

from hashlib import blake2b

import numpy as np
from scipy import sparse

from preimage._arrays import is_sparse

# A row is one of the training set when its projections on this many random directions agree with those of a training
# row. Four agree by chance, within the tolerances below, once in 10²⁰ pairs; each costs one product with X.
N_DIRECTIONS = 4
# Rows that went through a pipeline twice (`fit_transform`, then `transform`) differ by rounding errors: a few units in
# the last place of the largest entry, and, after steps that divide by small numbers such as whitening, up to this
# fraction of the spread of the data. Ten times more would be a measurable difference between samples.
CLOSE = {8: 1e-8, 4: 1e-5}
UNITS_IN_THE_LAST_PLACE = 16
SEED = 314_159


class TrainingRows:
    """The rows of a training set, as digests and a few projections: enough to recognise them, and small.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
    """

    def __init__(self, X):
        keys = _digests(X)
        self.digests = {}
        for row, key in enumerate(keys):
            self.digests.setdefault(key, row)
        first = [self.digests[key] for key in keys]
        self.projections, self.tolerance, self.order = None, 0.0, None
        values = _projections(X)
        if values is not None and len(values):
            finite = np.isfinite(values).all(axis=1)
            spread = values[finite].std(axis=0).max(initial=0.0)
            kept = np.flatnonzero(finite & (np.arange(len(values)) == first))
            # Sorted along the first direction, where a query looks for its neighbours.
            self.order = kept[np.argsort(values[kept, 0], kind="stable")]
            self.projections = values[self.order]
            size = np.abs(values[finite]).max(initial=0.0)
            precision = _precision(X)
            self.tolerance = max(
                CLOSE[precision] * spread, UNITS_IN_THE_LAST_PLACE * np.finfo(f"f{precision}").eps * size
            )

    def contain(self, X):
        """Whether each row of X is a row of the training set, up to rounding errors; shape (m,)."""
        return self.find(X) >= 0

    def find(self, X):
        """The number of the training row that each row of X is, the first of equal ones, or -1; shape (m,)."""
        found = np.fromiter((self.digests.get(key, -1) for key in _digests(X)), dtype=np.intp)
        values = _projections(X) if self.projections is not None else None
        if values is None:
            return found
        low = np.searchsorted(self.projections[:, 0], values[:, 0] - self.tolerance, side="left")
        high = np.searchsorted(self.projections[:, 0], values[:, 0] + self.tolerance, side="right")
        for row in np.flatnonzero((found < 0) & (high > low) & np.isfinite(values).all(axis=1)):
            near = np.abs(self.projections[low[row] : high[row]] - values[row]).max(axis=1) <= self.tolerance
            if near.any():
                found[row] = self.order[low[row] : high[row]][near].min()
        return found


def same_rows(X):
    """A number for each row of X, counted from 0 by first appearance; equal rows have the same one. Shape (n,)."""
    numbers = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in _digests(X)], dtype=np.intp)


def row_numbers(X):
    """A pseudorandom number for each row of X that depends on its values only: for equal rows the same. Shape (n,)."""
    return np.array([int(key[:15], 16) for key in _digests(X)], dtype=np.int64)


def _digests(X):
    if sparse.issparse(X):
        X = X.tocsr().copy()
        X.sum_duplicates()
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [_digest(X.indices[start:stop], X.data[start:stop]) for start, stop in bounds]
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        return [blake2b(repr(row.tolist()).encode(), digest_size=16).hexdigest() for row in X]
    return [_digest(np.flatnonzero(row), row[row != 0]) for row in X]


def _digest(positions, values):
    """Of the nonzero entries of a row, so that dense and sparse rows agree."""
    nonzero = values != 0
    key = blake2b(np.asarray(positions, dtype=np.int64)[nonzero].tobytes(), digest_size=16)
    key.update(np.asarray(values, dtype=np.float64)[nonzero].tobytes())
    return key.hexdigest()  # text: skops files have no keys of bytes


def _projections(X):
    """Rows along random directions of unit length per column, shape (n, 4); None where rows are not numbers."""
    X = X if is_sparse(X) else np.asarray(X)
    if X.dtype.kind not in "biuf" or X.ndim != 2:
        return None
    directions = np.random.default_rng(SEED).normal(size=(X.shape[1], N_DIRECTIONS))
    return np.asarray(X.astype(np.float64, copy=False) @ directions)


def _precision(X):
    kind = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return 4 if kind.kind == "f" and kind.itemsize <= 4 else 8
