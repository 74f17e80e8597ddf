"""Arrays between pages of memory that cannot be read, and limits on memory: reads outside of arrays end the process."""

import contextlib
import ctypes
import math
import mmap
import resource
from pathlib import Path

import numpy as np

_mprotect = ctypes.CDLL(None).mprotect


def guarded_empty(size, dtype, at_end=True):
    """An array of `size` numbers between pages that cannot be read; it touches the one behind it, or before it."""
    dtype, page = np.dtype(dtype), mmap.PAGESIZE
    n_bytes = size * dtype.itemsize
    inner = math.ceil(max(n_bytes, 1) / page) * page
    memory = mmap.mmap(-1, inner + 2 * page)
    start = np.frombuffer(memory, np.uint8).ctypes.data
    for place in (start, start + page + inner):
        if _mprotect(ctypes.c_void_p(place), page, 0):
            raise OSError("the memory around an array cannot be protected")
    offset = page + (inner - n_bytes if at_end else 0)
    return np.frombuffer(memory, dtype, size, offset)


def guarded(array, at_end=True):
    """A copy of an array in such memory, C-contiguous."""
    copied = guarded_empty(array.size, array.dtype, at_end).reshape(array.shape)
    copied[...] = array
    return copied


def lacked_memory(error):
    """Whether an error is a MemoryError, or was raised because of one: a refusal for want of memory is none."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def limited(more):
    """Let this process have so many bytes of memory more than it has at present."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    # "No limit" is −1, which the smaller of two numbers would be.
    limits = [used + more, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
