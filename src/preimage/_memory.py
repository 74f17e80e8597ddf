"""Memory budgets: what the user allows, what the machine has."""

import os
import re

import array_api_compat

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def memory_budget(max_memory, like):
    """Bytes that a computation on arrays such as `like` may hold at once.

    `max_memory` is a number of bytes, a string such as "1GB" or "512MiB", or None for half of what is free on the
    device of `like`.
    """
    if max_memory is None:
        return free_memory(like) // 2
    if not isinstance(max_memory, str):
        return int(max_memory)
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?I?)B?\s*", max_memory.upper())
    try:
        return int(float(match[1]) * _UNITS[match[2]])
    except (TypeError, ValueError, KeyError):
        raise ValueError(
            f"max_memory must be a number of bytes or a size such as '1GB', '512MiB'; got {max_memory!r}."
        ) from None


def free_memory(like):
    """Bytes free on the device that holds `like`."""
    if array_api_compat.is_torch_array(like) and like.device.type == "cuda":
        import torch

        # What the caching allocator holds but does not use is free for us as well.
        unused = torch.cuda.memory_reserved(like.device) - torch.cuda.memory_allocated(like.device)
        return torch.cuda.mem_get_info(like.device)[0] + unused
    if array_api_compat.is_cupy_array(like):
        import cupy

        return cupy.cuda.Device(like.device.id).mem_info[0] + cupy.get_default_memory_pool().free_bytes()
    return _free_host_memory()


def _free_host_memory():
    try:
        with open("/proc/meminfo") as lines:
            free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
        except (ValueError, OSError, AttributeError):
            free = 4 * 2**30
    return min(free, _container_limit())


def _container_limit():
    try:
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            return max(int(limit.read()) - int(used.read()), 0)
    except (OSError, ValueError):
        return 2**63
