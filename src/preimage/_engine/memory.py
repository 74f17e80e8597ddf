"""Memory budgets: what the user allows, what the machine has."""

import os
import re
import time
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from math import isqrt

import array_api_compat

from preimage._engine.typing import Array
from preimage._engine.warnings import Setting

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


# Memory in bytes that is assumed to be free where the system does not tell: 4 GiB, what nearly every machine has. With
# ten times more, small machines would hold matrices that they must swap.
UNKNOWN = 4 * 2**30
# Seconds for which the number of free bytes is used again: too short for much memory to be filled.
SECONDS_VALID = 0.02
_last_asked: tuple[float, int] | None = None
# Bytes for temporary arrays where nobody limits them: calls on larger ones are not faster, and ten times more would not
# be there on small machines.
WORK = 2**30
# Bytes for temporary arrays where a limit is smaller: a tile in the cache of a core, far less than the process holds
# before it begins. A hundredth of it cuts dozens of rows into blocks of a few, and less cuts them into single rows, for
# which searches take four times as long, and some ten times.
LEAST_WORK = 2**21

# Rows of a matrix that no machine can hold.
UNLIMITED = 2**31

_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


def memory_budget(max_memory: float | str | None, array: Array) -> int:
    """Bytes that a computation may hold at once on the device of `array`.

    `max_memory` is a number of bytes, a string such as "1GB" or "512MiB", or None for half of what is free there.
    """
    if max_memory is None:
        return free_memory(array) // 2
    if not isinstance(max_memory, str):
        return int(max_memory)
    refusal = f"max_memory must be a number of bytes or a size such as '1GB', '512MiB'; got {max_memory!r}."
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", max_memory.upper())
    if match is None:
        raise ValueError(refusal)
    try:
        return int(float(match[1]) * _UNITS[match[2]])
    except (ValueError, KeyError):
        raise ValueError(refusal) from None


def require_square_matrices(who: str, n_rows: int, count: int, array: Array, instead: str) -> None:
    """Refuse to hold `count` matrices of all pairs of rows if they take more than half of what is free.

    `who` is the method and `instead` what to do, as messages say them; `array` is on the device of the matrices.
    """
    needed, budget = count * 8 * n_rows**2, memory_budget(None, array)
    if needed > budget:
        raise MemoryError(
            f"{who} on {n_rows} points needs {needed / 1e9:.2g} GB of memory, more than half of what is free, "
            f"{budget / 1e9:.2g} GB. {instead}"
        )


def limited_memory(max_memory: float | str | None, array: Array) -> AbstractContextManager[None]:
    """Let `work_memory` be at most `max_memory`, see `memory_budget`, inside a `with` statement."""
    return nullcontext() if max_memory is None else Setting(_limit, memory_budget(max_memory, array))


def work_memory(array: Array) -> int:
    """Bytes that temporary arrays may take on the device of `array`: at most 1 GiB, and half of what is free.

    A limit that the user sets is kept down to `LEAST_WORK`.
    """
    limit = _limit.get()
    return min(free_memory(array) // 2, WORK) if limit is None else max(limit, LEAST_WORK)


def largest_square(n_matrices: int) -> int:
    """Rows of so many square matrices in double precision that fit into the limit together."""
    limit = _limit.get()
    return UNLIMITED if limit is None else max(1, isqrt(limit // (8 * n_matrices)))


def free_memory(array: Array) -> int:
    """Bytes free on the device that holds `array`."""
    if array_api_compat.is_torch_array(array) and array.device.type == "cuda":
        import torch

        # What torch's caching allocator has reserved and does not use is free for us as well.
        unused = torch.cuda.memory_reserved(array.device) - torch.cuda.memory_allocated(array.device)
        return torch.cuda.mem_get_info(array.device)[0] + unused
    if array_api_compat.is_cupy_array(array):
        import cupy

        return cupy.cuda.Device(array.device.id).mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    return _free_host_memory()


def _free_host_memory() -> int:
    """What the system says, or said a moment ago: asking takes as long as a fit of few points."""
    global _last_asked
    now = time.monotonic()
    if _last_asked is None or now > _last_asked[0] + SECONDS_VALID:
        _last_asked = now, _ask_for_free_memory()
    return _last_asked[1]


def _ask_for_free_memory() -> int:
    try:
        with open("/proc/meminfo") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):  # not Linux: half of what is built in
        try:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (ValueError, OSError, AttributeError):
            free = UNKNOWN
    return min(free, _container_limit())


def _container_limit() -> int:
    """Bytes that the control group of this process has left; without a limit, more than any machine has."""
    try:
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            return max(int(limit.read()) - int(used.read()), 0)
    except (OSError, ValueError):
        return 2**63
