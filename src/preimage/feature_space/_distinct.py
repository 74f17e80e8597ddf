"""Which points are equal, and which have the same image in feature space."""

import numpy as np

from preimage._arrays import epsilon, is_sparse, to_numpy
from preimage._typing import Array

# Units of rounding, relative to ‖φ(x)‖² + ‖φ(z)‖², up to which two images count as the same: kernel values of copies of
# a row, which come from products in different blocks, differ by up to about ten.
ROUNDING = 64


def distinct_rows(points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct row comes first, and for every row which of the distinct ones it is.

    The order of the distinct rows depends on their values alone, not on the order in which they come.
    """
    _, first, numbers = np.unique(_comparable(points), axis=0, return_index=True, return_inverse=True)
    return first, numbers.reshape(-1)


def distinct_images(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct image comes first, and for every point which of the distinct ones it has.

    Parameters
    ----------
    gram : array of shape (m, m)
        Kernel values among the points.

    Returns
    -------
    first : integer array of shape (u,), ascending
    numbers : integer array of shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.feature_space import distinct_images
    >>> distinct_images(np.array([[1.0, 0.2, 1.0], [0.2, 1.0, 0.2], [1.0, 0.2, 1.0]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    diagonal = np.diagonal(gram)
    lengths = np.abs(diagonal)
    numbers = np.full(lengths.size, -1)
    first: list[int] = []
    for point in range(lengths.size):
        if numbers[point] >= 0:
            continue
        squared_distances = diagonal[point] + diagonal - 2 * gram[point]
        rounding = ROUNDING * epsilon(gram.dtype) * (lengths[point] + lengths)
        same = (np.abs(squared_distances) <= rounding) & (numbers < 0)
        same[point] = True
        numbers[same] = len(first)
        first.append(point)
    return np.array(first), numbers


def _comparable(points: Array) -> np.ndarray:
    """Rows of numbers that are equal exactly for equal points; −0 is 0."""
    if not is_sparse(points):
        return to_numpy(points) + 0
    points = points.tocsr(copy=True)
    points.data = points.data + 0
    points.sum_duplicates()  # sorts the entries of a row as well
    points.eliminate_zeros()
    spans = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    keys = [(points.indices[a:b].tobytes(), points.data[a:b].tobytes()) for a, b in spans]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([order[key] for key in keys])[:, None]
