"""How many problems are worked on together: by the caches, the cores and the memory of the machine."""

from collections.abc import Callable
from math import ceil, isqrt
from typing import Any, NamedTuple

from preimage._engine.arrays import is_host, itemsize
from preimage._engine.memory import free_memory, work_memory
from preimage._engine.rows import cut, for_blocks
from preimage._engine.threads import available_threads
from preimage._engine.typing import Array

# Coefficients of one block of problems against all points: 4 MiB per core stay in a shared cache. With ten times as
# many, every step of an iteration reads them from main memory.
BLOCK_BYTES = 2**22
# Kernel values that a step computes at once: 2 MiB stay in the cache of a core. Ten times more go through main memory;
# ten times fewer are so many calls that threads wait for each other between them.
TILE_BYTES = 2**21
# Problems of a block: below 32 matrix products become matrix-vector products; above 1024 problems wait for the slowest
# of their block.
FEWEST, MOST = 32, 1024
# Arrays alive at once per problem of a descent on the host: of the size of the points (coefficients in both precisions,
# and copies of those that stay when others leave) and of the size of an input (points, gradients, eight past steps).
ARRAYS_OF_POINTS, ARRAYS_OF_INPUTS = 4, 24
# Multiplications that a core does in the time for which one step of a block keeps the interpreter busy, or waits for
# it: about half a millisecond. One thread at a time has the interpreter: with p blocks a step takes at least p such
# times, and at least 1/p of the work. Measured on 16 cores, 4,000 problems of 1,000 × 64 points take least time with
# eight blocks at work; ten times smaller numbers let sixteen work, which take twice as long.
WORK_OF_A_STEP, WORK_OF_A_ROUGH_STEP = 10**7, 7 * 10**6
# Problems of a block on a device: fewer than 256 leave it idle; the upper limit keeps index arithmetic in 32 bits.
DEVICE_ROWS = (256, 2**17)
# Arrays of the size of the block that are alive at once on a device: coefficients, kernel values and temporaries are a
# dozen; the rest is room for the caching allocator.
DEVICE_ARRAYS = 32
# Arrays of the size of the targets that closed formulas hold at once.
FORMULA_ARRAYS = 12


class BlockPlan(NamedTuple):
    """How a batch of problems is divided.

    Attributes
    ----------
    rows : int
        Problems per block.
    workers : int
        Blocks in work at the same time.
    """

    rows: int
    workers: int


def plan_blocks(
    n_problems: int,
    n_points: int,
    n_columns: int,
    *,
    threads: int,
    budget: int,
    bytes_each: int = 8,
    work_of_a_step: int = WORK_OF_A_STEP,
) -> BlockPlan:
    """Blocks of a descent on the host, for `n_problems` targets on `n_points` points with `n_columns` columns.

    Parameters
    ----------
    threads : int
        Cores that may be used.
    budget : int
        Bytes that may be allocated.
    bytes_each : int
        Bytes of a number.
    work_of_a_step : int
        Multiplications that a core does while the interpreter is busy with one step of a block.

    Returns
    -------
    BlockPlan
    """
    per_problem = bytes_each * (ARRAYS_OF_POINTS * n_points + ARRAYS_OF_INPUTS * n_columns)
    per_worker = 4 * max(TILE_BYTES, bytes_each * n_points)
    # Narrow blocks use the hardware badly: where memory is scarce, rather fewer at a time.
    workers = max(1, min(threads, budget // (FEWEST * per_problem + per_worker)))
    affordable = max(1, (budget // workers - per_worker) // per_problem)
    # Few problems have few kernel values, less than a tile: where memory is scarce, as many as fit with these.
    affordable = max(affordable, budget // workers // (per_problem + 4 * bytes_each * n_points))
    cached = max(FEWEST, min(MOST, BLOCK_BYTES // (bytes_each * max(n_points, n_columns))))
    # Where p blocks share the work of a step w and the interpreter (o each), max(w/p, p·o) is least at p = √(w/o).
    useful = isqrt(2 * n_problems * n_points * n_columns // work_of_a_step)
    workers = max(1, min(workers, useful))
    blocks = max(workers, ceil(n_problems / min(cached, affordable)))
    if blocks > workers:
        blocks = workers * ceil(blocks / workers)  # all workers have the same number of blocks
    return BlockPlan(max(1, ceil(n_problems / blocks)), workers)


def for_query_blocks(
    work: Callable[[slice], Any],
    n_queries: int,
    points: Array,
    like: Array,
    work_of_a_step: int = WORK_OF_A_STEP,
) -> list[Any]:
    """`work` on consecutive slices of queries that are iterated together: on one core each, or on all of a device.

    `like` has the device and the precision of the work; for `work_of_a_step` see `plan_blocks`.
    """
    if not is_host(like):
        return [work(block) for block in cut(n_queries, _device_rows(like, points))]
    n, d = points.shape
    threads, budget = available_threads(), work_memory(like)
    plan = plan_blocks(
        n_queries,
        n,
        d,
        threads=threads,
        budget=budget,
        bytes_each=itemsize(like.dtype),
        work_of_a_step=work_of_a_step,
    )
    blocks = cut(n_queries, plan.rows)
    if plan.workers >= len(blocks):
        return for_blocks(work, blocks, like)
    # Not all blocks at once: each worker takes every so-many-th, one after the other.
    numbers = [range(first, len(blocks), plan.workers) for first in range(plan.workers)]
    found = for_blocks(lambda mine: [(number, work(blocks[number])) for number in mine], numbers, like)
    return [result for _, result in sorted((pair for part in found for pair in part), key=lambda pair: pair[0])]


def tiles(n_rows: int, n_points: int, like: Array) -> list[slice]:
    """Slices of the rows of a block whose kernel values are computed together."""
    step = tile_rows(n_points, like)
    return [slice(0, n_rows)] if step is None else cut(n_rows, step)


def tile_rows(n_columns: int, like: Array) -> int | None:
    """Rows of a tile with so many columns, of the precision of `like`; None on a device, which needs no tiles."""
    rows = TILE_BYTES // (itemsize(like.dtype) * n_columns)
    return min(MOST, max(FEWEST // 4, rows)) if is_host(like) else None


def target_parts(queries: Array, points: Array) -> list[slice]:
    """Slices of queries whose targets are formed together: each target has as many coefficients as there are points."""
    if not is_host(queries):
        return cut(queries.shape[0], _device_rows(queries, points))
    per_target = FORMULA_ARRAYS * itemsize(queries.dtype) * points.shape[0]
    return cut(queries.shape[0], max(1, work_memory(queries) // per_target))


def _device_rows(queries: Array, points: Array) -> int:
    rows = free_memory(queries) // (DEVICE_ARRAYS * itemsize(queries.dtype) * points.shape[0])
    fewest, most = DEVICE_ROWS
    return int(max(fewest, min(rows, most)))
