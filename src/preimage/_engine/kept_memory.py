"""Memory that a process keeps while it works, where its allocator was told to give it back at once."""

import ctypes
import os
import threading
from functools import cache
from typing import Any

import numpy as np

from preimage._engine.warnings import Guard

# Names of settings of glibc's `mallopt`.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# What glibc begins with where nobody has set it.
USUAL_MMAP_THRESHOLD = 2**17
# Freed memory up to the first stays with the process, and arrays up to the second come from it: the largest size that
# glibc allows. Ten times less, and arrays of some megabytes, which passes over blocks make and free thousands of times,
# come page by page from the system.
KEPT, LARGEST_KEPT_ARRAY = 2**27, 2**25
# What glibc adds to an array, and NumPy to align it: less than a page each.
MMAP_MARGIN = 2**13


@cache
def settle_allocator() -> None:
    """Let glibc know, once in a process, that arrays up to 32 MiB come and go.

    It maps arrays above a threshold anew each time, and raises the threshold when it is given one back, up to this
    size. Until it has seen the largest temporaries, threads wait for each other while the system maps and clears them:
    filling gaps with two threads met sixty times as many new pages. One thread loses a third of its time where descents
    make temporaries of some hundred kilobytes, which end the heap and are given back. The array that teaches it is
    never touched. Where the environment fixes the threshold, and elsewhere, this does nothing.
    """
    np.empty(LARGEST_KEPT_ARRAY - MMAP_MARGIN, dtype=np.uint8)


class KeptMemory(Guard):
    """Freed memory stays with the process inside a `with` statement, for the next array that needs it.

    glibc learns which sizes are asked for again and again, unless ``MALLOC_TRIM_THRESHOLD_`` is set in the environment.
    Dask sets it for its workers, so that they give memory back when they have done a task; but then every temporary
    array is new memory, which the system clears page by page: passes over blocks took up to twice as long. Inside a
    task memory is kept, and after it the settings of the environment hold again. Without that variable, and with other
    C libraries, nothing happens.
    """

    def enter(self) -> None:
        _kept.enter(self)

    def leave(self) -> None:
        _kept.leave(self)


class _Kept:
    """The guards in force in this process, whose settings are one for all threads: the last one restores them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.guards: set[KeptMemory] = set()

    def enter(self, guard: KeptMemory) -> None:
        with self.lock:
            if not self.guards:
                _set(KEPT, LARGEST_KEPT_ARRAY)
            self.guards.add(guard)

    def leave(self, guard: KeptMemory) -> None:
        with self.lock:
            if self.guards == {guard}:
                _set(0, 0)
            self.guards.discard(guard)

    def forget(self) -> None:
        """Start again in a forked child, in which no thread leaves a guard of the parent."""
        kept, self.lock, self.guards = bool(self.guards), threading.Lock(), set()
        if kept:
            _set(0, 0)


_kept = _Kept()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _kept.forget())


def _set(kept: int, largest: int) -> None:
    """Set what is kept at least; zero is what the environment says."""
    if (settings := _settings()) is None:
        return
    mallopt, trim, mmap = settings
    mallopt(TRIM_THRESHOLD, max(trim, kept))
    mallopt(MMAP_THRESHOLD, max(mmap, largest))


@cache
def _settings() -> tuple[Any, int, int] | None:
    """glibc's function, and both thresholds as the environment sets them; None where it sets none."""
    try:
        trim = int(os.environ["MALLOC_TRIM_THRESHOLD_"])
        mmap = int(os.environ.get("MALLOC_MMAP_THRESHOLD_", USUAL_MMAP_THRESHOLD))
        library = ctypes.CDLL(None)
        _ = library.gnu_get_libc_version  # others may have a `mallopt` that means something else
        return library.mallopt, trim, mmap
    except (KeyError, ValueError, OSError, AttributeError, TypeError):
        return None
