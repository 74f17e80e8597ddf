"""Searches for the number of points."""

from collections.abc import Callable
from typing import TypeVar

from preimage._engine.progress import stage

Result = TypeVar("Result")

# Where every size needs its own reduction, the search stops when the size is known to this fraction: going on would
# double the number of reductions and save a twentieth of the points at most.
RESOLUTION = 0.05
# Smallest size that the search by doubling tries. It meets the size of any machine in a few steps.
FIRST_SIZE = 4


def smallest(
    make: Callable[[int], Result], accepts: Callable[[Result], bool], largest: int, resolution: float
) -> Result | None:
    """The smallest acceptable candidate, by doubling and bisection; None where not even the largest is."""
    if largest == 0:
        return None
    with stage("Sizes tried") as advance:

        def tried(size: int) -> tuple[Result, bool]:
            candidate = make(size)
            advance()
            return candidate, accepts(candidate)

        size, refused = min(FIRST_SIZE, largest), 0
        best, is_enough = tried(size)
        while not is_enough:
            if size == largest:
                return None
            size, refused = min(2 * size, largest), size
            best, is_enough = tried(size)
        # `best` has `size` points and is acceptable; `refused` points, where more than zero, are too few.
        while size - refused > max(1, resolution * size):
            middle = (size + refused) // 2
            candidate, is_enough = tried(middle)
            if is_enough:
                size, best = middle, candidate
            else:
                refused = middle
        return best


def first_acceptable(
    make: Callable[[int], Result], accepts: Callable[[Result], bool], largest: int
) -> tuple[int, Result] | None:
    """The first power of two below `largest` that is acceptable, or the size in the middle of it and the one before.

    The middle is geometric: 3, 6, 11, 23, 45, … Whatever is made need not improve steadily with the size. Whoever
    accepts more still never gets a larger size, because the sizes that are tried do not depend on what is accepted.

    Returns
    -------
    The size and what was made of it; None where none is acceptable.
    """
    with stage("Sizes tried") as advance:

        def tried(size: int) -> tuple[int, Result] | None:
            made = make(size)
            advance()
            return (size, made) if accepts(made) else None

        size = 1
        while size < largest:
            found = tried(size)
            if found is not None:
                middle = round(size / 2**0.5)
                return (tried(middle) if size / 2 < middle < size else None) or found
            size *= 2
    return None
