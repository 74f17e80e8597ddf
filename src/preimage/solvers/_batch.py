"""Many small problems worked on together: values with one row per problem, and how many problems to take at once."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import array_api_compat.numpy
import numpy as np

from preimage._arrays import array_namespace, concat_rows, is_host, itemsize, take_rows, to_numpy
from preimage._memory import free_memory
from preimage._rows import cut
from preimage._typing import Array

# Coefficients of targets that are held at once on the host: 256 MiB in float64. Ten times as many would no longer fit
# into memory together with the data on small machines; fewer would only add calls.
TARGET_ENTRIES = 2**25
# Kernel values of one block against all points: 4 MiB stays between the cache of a core and the shared cache. With ten
# times as many, every pass of an iteration reads main memory.
HOST_BYTES = 2**22
# Problems of a block on the host: below 32 matrix products become matrix-vector products; above 1024 blocks are too few
# for the cores, and problems wait for the slowest of their block.
HOST_ROWS = (32, 1024)
# Problems of a block on a device: fewer than 256 leave it idle; the upper limit keeps index arithmetic in 32 bits.
DEVICE_ROWS = (256, 2**17)
# Arrays of the size of the block that are alive at once on a device: coefficients, their moduli, kernel values and
# temporaries are a dozen; the rest is room for the caching allocator.
DEVICE_ARRAYS = 32


class Batched:
    """Base of frozen dataclasses with one row per problem.

    Fields are arrays, other values of this kind, tuples of such values, or None. NumPy arrays and arrays of
    another library may be mixed.
    """

    def take(self, rows: np.ndarray) -> Self:
        """The problems with the given NumPy indices."""
        return _map_arrays(lambda array: take_rows(array, rows), self)

    def where(self, mask: Array, other: Self) -> Self:
        """Row by row, this value where the boolean array `mask` holds and `other` elsewhere."""
        xp, columns = array_namespace(mask), mask[:, None]

        def pick(mine: Array, theirs: Array) -> Array:
            if isinstance(mine, np.ndarray) and xp is not array_api_compat.numpy:
                return np.where(to_numpy(mask if mine.ndim == 1 else columns), mine, theirs)
            return xp.where(mask if mine.ndim == 1 else columns, mine, theirs)

        return _map_arrays(pick, self, other)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """One value from those of consecutive blocks of problems."""
        return parts[0] if len(parts) == 1 else _map_arrays(lambda *arrays: concat_rows(*arrays), *parts)


def _map_arrays(function: Callable, *values: Any) -> Any:
    """`function` applied to the matching arrays of values of one type."""
    first = values[0]
    if first is None:
        return None
    if isinstance(first, Batched):
        parts = zip(*(vars(value).values() for value in values), strict=True)  # a dataclass has its fields in order
        return type(first)(*[_map_arrays(function, *part) for part in parts])
    if isinstance(first, tuple):
        return tuple(_map_arrays(function, *items) for items in zip(*values, strict=True))
    return function(*values)


def target_parts(queries: Array, points: Array) -> list[slice]:
    """Slices of queries whose targets are formed together: each target has as many coefficients as there are points."""
    if not is_host(queries):
        return cut(queries.shape[0], _device_rows(queries, points))
    return cut(queries.shape[0], max(HOST_ROWS[1], TARGET_ENTRIES // points.shape[0]))


def query_blocks(queries: Array, points: Array) -> list[slice]:
    """Slices of queries that are iterated together, on one core of the host or on all of a device."""
    if not is_host(queries):
        return cut(queries.shape[0], _device_rows(queries, points))
    rows = HOST_BYTES // (itemsize(queries.dtype) * points.shape[0])
    fewest, most = HOST_ROWS
    return cut(queries.shape[0], max(fewest, min(rows, most)))


def _device_rows(queries: Array, points: Array) -> int:
    rows = free_memory(queries) // (DEVICE_ARRAYS * itemsize(queries.dtype) * points.shape[0])
    fewest, most = DEVICE_ROWS
    return int(max(fewest, min(rows, most)))
