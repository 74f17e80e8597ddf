"""Several expansions as one, on the union of their points."""

import numpy as np

from preimage._arrays import concat_rows, from_numpy, is_sparse, take_rows, to_numpy
from preimage.feature_space._expansion import Expansion


def join(expansions):
    """All vectors of `expansions` of one kernel as one expansion, each distinct point once."""
    points = concat_rows(*[expansion.points for expansion in expansions])
    kept, numbers = distinct_rows(points)
    coefficients = np.zeros((kept.size, sum(map(len, expansions))))
    row = column = 0
    for expansion in expansions:
        n, k = expansion.coefficients.shape
        # Points of one machine may be equal as well: their coefficients add up.
        np.add.at(coefficients[:, column : column + k], numbers[row : row + n], to_numpy(expansion.coefficients))
        row, column = row + n, column + k
    return Expansion(
        expansions[0].kernel, take_rows(points, kept), from_numpy(coefficients, expansions[0].coefficients)
    )


def distinct_rows(points):
    """Where each distinct row comes first, and for every row which of the distinct ones it is."""
    first = {}
    numbers = np.empty(points.shape[0], dtype=np.intp)
    kept = []
    for i, key in enumerate(_row_keys(points)):
        if key not in first:
            first[key] = len(kept)
            kept.append(i)
        numbers[i] = first[key]
    return np.array(kept, dtype=np.intp), numbers


def _row_keys(points):
    """Bytes that are equal exactly for equal rows."""
    if not is_sparse(points):
        rows = np.ascontiguousarray(to_numpy(points) + 0)  # −0 becomes 0
        return (row.tobytes() for row in rows)
    points = points.tocsr(copy=True)
    points.sum_duplicates()
    points.eliminate_zeros()
    spans = zip(points.indptr[:-1], points.indptr[1:])
    return ((points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in spans)
