"""Kernel values whose squares leave the range of numbers, in other units."""

from math import frexp

from preimage._arrays import array_namespace, itemsize
from preimage._typing import Array
from preimage.feature_space import Gram
from preimage.kernels._combinations import Scaled

# Largest kernel value, and the reciprocal of the smallest, that eigensolvers can work with, by bytes per number: they
# square sums of kernel values, and squares of rounding errors relative to these must be numbers as well.
MODERATE = {8: 1e60, 4: 1e12}


def unit_of(gram: Gram) -> float:
    """One, or a power of four of the size of the largest kernel value where that is not moderate."""
    largest, moderate = _size(gram.diagonal()), MODERATE[itemsize(gram.dtype)]
    if gram.is_held and not gram.kernel.is_positive_semidefinite:  # otherwise no value is larger than k(x, x)
        largest = max(largest, _size(gram.values))
    if largest == 0 or 1 / moderate <= largest <= moderate:
        return 1.0
    return 4.0 ** (frexp(largest)[1] // 2)


def _size(values: Array) -> float:
    """The largest modulus, without an array of moduli."""
    xp = array_namespace(values)
    return max(float(xp.max(values)), -float(xp.min(values)))


def in_units(gram: Gram, unit: float) -> Gram:
    """The symmetric matrix K/unit."""
    multiply, held = gram.multiply, gram.is_held or gram.kernel.points_are_row_numbers
    return Gram(
        Scaled(gram.kernel, 1 / unit),
        gram.X,
        values=gram.dense() / unit if held else None,
        multiply=None if multiply is None else (lambda V: multiply(V) / unit),
    )
