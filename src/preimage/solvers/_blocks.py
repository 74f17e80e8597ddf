"""How many problems to work on at once."""

from preimage._arrays import is_host, itemsize
from preimage._memory import free_memory
from preimage._rows import cut

# Coefficients of targets held at once on the host: 256 MiB in float64.
TARGET_ENTRIES = 2**25
# Kernel values of a block against all points: between a core's cache and the shared one.
HOST_BYTES = 2**22
LARGEST_DEVICE_BLOCK = 2**17


def target_parts(queries, points):
    """Slices of queries whose targets are made together: each has as many coefficients as there are points."""
    rows = max(1024, TARGET_ENTRIES // points.shape[0]) if is_host(queries) else _device_rows(queries, points)
    return cut(queries.shape[0], rows)


def query_blocks(queries, points):
    """Slices of queries that are iterated together, on one core of the host or on the whole of a device."""
    if is_host(queries):
        rows = HOST_BYTES // (itemsize(queries.dtype) * points.shape[0])
        return cut(queries.shape[0], max(32, min(rows, 1024)))
    return cut(queries.shape[0], _device_rows(queries, points))


def _device_rows(queries, points):
    # Coefficients, their moduli, kernel values and temporaries: a dozen arrays of the size of the block.
    rows = free_memory(queries) // (32 * itemsize(queries.dtype) * points.shape[0])
    return int(max(256, min(rows, LARGEST_DEVICE_BLOCK)))
