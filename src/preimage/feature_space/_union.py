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


def merged(expansion):
    """The same vectors with equal points counted once, in an order that depends on the points alone."""
    return join([expansion])


def distinct_rows(points):
    """Where each distinct row comes first, and for every row which of the distinct ones it is.

    Distinct rows are in an order of their own, whatever the order in which they come.
    """
    _, first, numbers = np.unique(_comparable(points), axis=0, return_index=True, return_inverse=True)
    return first, numbers.reshape(-1)


def _comparable(points):
    """Rows of numbers that are equal exactly for equal points; −0 is 0."""
    if not is_sparse(points):
        return to_numpy(points) + 0
    points = points.tocsr(copy=True)
    points.data = points.data + 0
    points.sum_duplicates()  # which sorts as well
    points.eliminate_zeros()
    spans = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    keys = [(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in spans]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys])[:, None]
