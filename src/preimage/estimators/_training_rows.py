"""Which rows of X were in the training set."""

from collections.abc import Hashable, Iterable
from hashlib import blake2b

import numpy as np
from scipy import sparse

from preimage._engine.arrays import in_memory, is_lazy, is_objects, is_sparse
from preimage._engine.objects import object_key
from preimage._engine.rows import map_rows
from preimage._engine.typing import Rows
from preimage._engine.validation import count_rows
from preimage.exceptions import UnsupportedKernelError

# A row is one of the training set when its projections on this many random directions agree with those of a training
# row. Four agree by chance, within the tolerances below, once in 10²⁰ pairs; each costs one product with X.
N_DIRECTIONS = 4
# Rows that went through a pipeline twice (`fit_transform`, then `transform`) differ by rounding errors: a few units in
# the last place of the largest entry, and, after steps that divide by small numbers such as whitening, up to this
# fraction of the spread of the data. Ten times more would be a measurable difference between samples.
CLOSE = {8: 1e-8, 4: 1e-5}
UNITS_IN_THE_LAST_PLACE = 16
# Directions are the same in every process, so that models agree about rows after they are saved and loaded.
SEED = 314_159


class TrainingRows:
    """The rows of a training set, as a few projections: enough to recognise them, and small.

    Rows that are not finite numbers are known by digests, to the last bit.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        Or a memory map or a Dask array, which is read once.
    """

    def __init__(self, X: Rows) -> None:
        self.objects: dict[Hashable, int] = {}
        self.projections: np.ndarray | None = None
        self.order: np.ndarray | None = None
        self.tolerance = 0.0
        values = _projections(X)
        finite = np.zeros(count_rows(X), dtype=bool) if values is None else np.isfinite(values).all(axis=1)
        self.digests: dict[str, int] = {}
        if is_objects(X) and not _are_texts(X):
            for row, each in enumerate(X[:, 0]):
                self.objects.setdefault(object_key(each), row)
            return
        for row, key in _digests(X, np.flatnonzero(~finite)):
            self.digests.setdefault(key, row)
        if values is not None and finite.any():
            kept = np.flatnonzero(finite)
            # Sorted along the first direction, where a query looks for its neighbours.
            self.order = kept[np.argsort(values[kept, 0], kind="stable")]
            self.projections = values[self.order]
            precision = _precision(X)
            self.tolerance = max(CLOSE[precision] * values[kept].std(axis=0).max(), _rounding(values[kept], precision))

    def check_fields(self) -> None:
        """Raise ValueError if the fields, which may come from a file, do not belong together."""
        if (self.projections is None) != (self.order is None):
            raise ValueError("TrainingRows have projections and their order, or neither.")
        if self.projections is not None and self.order is not None:
            n = len(self.order)
            if self.projections.shape != (n, N_DIRECTIONS) or self.order.shape != (n,) or self.order.dtype.kind != "i":
                raise ValueError(f"TrainingRows need {n} rows of projections; got shape {self.projections.shape}.")

    def contain(self, X: Rows) -> np.ndarray:
        """Whether each row of X is a row of the training set, up to rounding errors; shape (m,)."""
        return self.find(X) >= 0

    def find(self, X: Rows) -> np.ndarray:
        """The number of the training row that each row of X is, the first of equal ones, or -1; shape (m,)."""
        found = np.full(count_rows(X), -1, dtype=np.intp)
        if getattr(self, "objects", None):  # files of earlier versions have no such field
            return np.array([self.objects.get(object_key(each), -1) for each in X[:, 0]], dtype=np.intp)
        values = _projections(X)
        # Projections of rows with missing values are NaN; such rows are compared by digests of their bytes.
        finite = np.zeros(len(found), dtype=bool) if values is None else np.isfinite(values).all(axis=1)
        if self.digests:
            for row, key in _digests(X, np.flatnonzero(~finite)):
                found[row] = self.digests.get(key, -1)
        if self.projections is None or self.order is None or values is None or not finite.any():
            return found
        # Training rows are sorted by their first projection, so candidates are one slice; the other projections decide.
        low = np.searchsorted(self.projections[:, 0], values[:, 0] - self.tolerance, side="left")
        high = np.searchsorted(self.projections[:, 0], values[:, 0] + self.tolerance, side="right")
        for row in np.flatnonzero((high > low) & finite).tolist():
            near = np.abs(self.projections[low[row] : high[row]] - values[row]).max(axis=1) <= self.tolerance
            if near.any():
                found[row] = self.order[low[row] : high[row]][near].min()
        return found


def same_rows(X: Rows) -> np.ndarray:
    """A number for each row of X, counted from 0 by first appearance; equal rows have the same one. Shape (n,)."""
    if is_objects(X):
        seen: dict[Hashable, int] = {}
        return np.array([seen.setdefault(object_key(each), len(seen)) for each in X[:, 0]], dtype=np.intp)
    n, values = count_rows(X), _projections(X)
    if values is None:
        suspects = np.arange(n)
    else:
        # Only rows that agree along the first direction can be equal; digests are made of those alone.
        finite = np.isfinite(values).all(axis=1)
        order = np.argsort(np.where(finite, values[:, 0], np.inf), kind="stable")
        with np.errstate(invalid="ignore"):
            steps = np.diff(values[order, 0])
        close = ~(steps > _rounding(values[finite], _precision(X)))
        suspects = np.unique(order[np.r_[close, False] | np.r_[False, close]])
    keys = dict(_digests(X, suspects))
    numbers: dict[str | int, int] = {}
    return np.array([numbers.setdefault(keys.get(row, row), len(numbers)) for row in range(n)], dtype=np.intp)


def row_numbers(X: Rows) -> np.ndarray:
    """A pseudorandom number for each row of X that depends on its values only: for equal rows the same. Shape (n,)."""
    if is_objects(X) and not _are_texts(X):
        raise UnsupportedKernelError(
            "cross_fit on landmarks tells rows by their values, which objects other than texts do not show. Use "
            "landmarks=None, where training rows are recognised."
        )
    return np.array([int(key[:15], 16) for _, key in _digests(X, np.arange(count_rows(X)))], dtype=np.int64)


def _are_texts(X: Rows) -> bool:
    return all(isinstance(each, str) for each in X[:, 0])


def _rounding(values: np.ndarray, precision: int) -> float:
    """The largest difference of projections of equal rows."""
    return UNITS_IN_THE_LAST_PLACE * float(np.finfo(f"f{precision}").eps) * float(np.abs(values).max(initial=0.0))


def _digests(X: Rows, rows: np.ndarray) -> Iterable[tuple[int, str]]:
    """Pairs (row, digest) of some rows of X."""
    if rows.size == 0:
        return ()
    if sparse.issparse(X):
        X = X.tocsr()[rows].copy()
        X.sum_duplicates()
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        keys = [_digest(X.indices[start:stop], X.data[start:stop]) for start, stop in bounds]
        return zip(rows.tolist(), keys, strict=True)
    X = np.asarray(X)
    if is_objects(X):  # texts
        keys = [blake2b(str(each).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for each in X[rows, 0]]
        return zip(rows.tolist(), keys, strict=True)
    if X.dtype.kind not in "biuf":
        keys = [blake2b(repr(row.tolist()).encode(), digest_size=16).hexdigest() for row in X[rows]]
    else:
        keys = [_digest(np.flatnonzero(row), row[row != 0]) for row in X[rows]]
    return zip(rows.tolist(), keys, strict=True)


def _digest(positions: np.ndarray, values: np.ndarray) -> str:
    """Of the nonzero entries of a row, so that dense and sparse rows agree."""
    nonzero = values != 0
    key = blake2b(np.asarray(positions, dtype=np.int64)[nonzero].tobytes(), digest_size=16)
    key.update(np.asarray(values, dtype=np.float64)[nonzero].tobytes())
    return key.hexdigest()  # text: skops files have no keys of bytes


def _projections(X: Rows) -> np.ndarray | None:
    """Projections of rows on random directions, shape (n, 4); None where rows are not numbers."""
    if is_lazy(X):
        return in_memory(map_rows(lambda rows: _projections(np.asarray(rows)), X))
    X = X if is_sparse(X) else np.asarray(X)
    if X.dtype.kind not in "biuf" or X.ndim != 2:
        return None
    directions = np.random.default_rng(SEED).normal(size=(X.shape[1], N_DIRECTIONS))
    return np.asarray(X.astype(np.float64, copy=False) @ directions)


def _precision(X: Rows) -> int:
    """Bytes of a number: 4 for single precision, else 8."""
    kind = X.dtype if hasattr(X, "dtype") else np.asarray(X).dtype
    return 4 if kind.kind == "f" and kind.itemsize <= 4 else 8
