"""Points with the same image in feature space."""

import numpy as np

from preimage._arrays import epsilon, from_numpy, take_rows, to_numpy
from preimage.feature_space._expansion import Expansion
from preimage.feature_space._gram import Gram
from preimage.feature_space._union import merged

# Units of rounding, relative to ‖φ(x)‖² + ‖φ(z)‖², up to which two images count as the same: kernel values of copies of
# a row, which come from products in different blocks, differ by up to about ten.
ROUNDING = 64


def merged_images(expansion):
    """The same vectors with points of equal image counted once; the kernel may ignore what distinguishes inputs."""
    expansion = merged(expansion)
    first, numbers = distinct_images(to_numpy(Gram(expansion.kernel, expansion.points).dense()))
    if first.size == numbers.size:
        return expansion
    coefficients = np.zeros((first.size, len(expansion)))
    np.add.at(coefficients, numbers, to_numpy(expansion.coefficients))
    points = take_rows(expansion.points, first)
    return Expansion(expansion.kernel, points, from_numpy(coefficients, expansion.coefficients))


def distinct_images(gram):
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
    lengths = np.abs(np.diagonal(gram))
    numbers, first = np.full(lengths.size, -1), []
    for point in range(lengths.size):
        if numbers[point] >= 0:
            continue
        both = lengths[point] + lengths
        squared = gram[point, point] + np.diagonal(gram) - 2 * gram[point]
        same = (np.abs(squared) <= ROUNDING * epsilon(gram.dtype) * both) & (numbers < 0)
        same[point] = True
        numbers[same] = len(first)
        first.append(point)
    return np.array(first), numbers
