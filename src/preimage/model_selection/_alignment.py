"""Components in the order and with the signs of a reference."""

import numpy as np

from preimage._linalg import match, matched
from preimage._typing import Array


def align_maps(maps: Array, reference: Array) -> Array:
    """Permute and flip maps to match those of a reference.

    Components of two halves of the data come in any order and with any sign. The assignment with the largest sum of
    absolute correlations, each map to one of the reference, is the best permutation; pairs matched greedily are not.

    Parameters
    ----------
    maps : array of shape (k, d)
    reference : array of shape (m, d)

    Returns
    -------
    array of shape (m, d)
        Row i is the map that belongs to row i of the reference, with a positive correlation; zero where there are fewer
        maps than in the reference.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.model_selection import align_maps
    >>> reference = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 3.0]])
    >>> np.array_equal(align_maps(-2 * reference[::-1], reference), 2 * reference)
    True
    """
    maps, reference = (np.atleast_2d(np.asarray(values, dtype=np.float64)) for values in (maps, reference))
    if maps.shape[1] != reference.shape[1]:
        raise ValueError(
            f"align_maps compares maps of the same variables; got {maps.shape[1]} and {reference.shape[1]} columns."
        )
    return matched(maps.T, *match(_unit_rows(maps) @ _unit_rows(reference).T)).T


def _unit_rows(maps: Array) -> Array:
    centered = maps - maps.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    return np.divide(centered, lengths, out=np.zeros_like(centered), where=lengths > 0)
