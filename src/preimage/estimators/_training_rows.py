"""Which rows of X were in the training set."""

from hashlib import blake2b

import numpy as np
from scipy import sparse


class TrainingRows:
    """The rows of a training set, as digests: enough to recognise them, and small beside the data.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
    """

    def __init__(self, X):
        self.digests = {key: row for row, key in enumerate(_digests(X))}

    def contain(self, X):
        """Whether each row of X is a row of the training set, to the last bit; shape (m,)."""
        return np.fromiter((key in self.digests for key in _digests(X)), dtype=bool)


def _digests(X):
    if sparse.issparse(X):
        X = X.tocsr().copy()
        X.sum_duplicates()
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        return [_digest(X.indices[start:stop], X.data[start:stop]) for start, stop in bounds]
    X = np.asarray(X)
    if X.dtype.kind not in "biuf":
        return [blake2b(repr(row.tolist()).encode(), digest_size=16).digest() for row in X]
    return [_digest(np.flatnonzero(row), row[row != 0]) for row in X]


def _digest(positions, values):
    """Of the nonzero entries of a row, so that dense and sparse rows agree."""
    nonzero = values != 0
    key = blake2b(np.asarray(positions, dtype=np.int64)[nonzero].tobytes(), digest_size=16)
    key.update(np.asarray(values, dtype=np.float64)[nonzero].tobytes())
    return key.digest()
