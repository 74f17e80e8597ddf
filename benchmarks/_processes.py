"""Fresh processes with a given number of threads: BLAS libraries read it once, when they are loaded."""

import os
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def environment(threads):
    """The environment of a process with so many threads, set as users set it."""
    return os.environ | {name: str(threads) for name in THREADS}


def again_with_threads(threads):
    """Start the running script again with this number of threads, unless it already has it; None changes nothing.

    To be called before NumPy is imported.
    """
    if threads is not None and any(os.environ.get(name) != str(threads) for name in THREADS):
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv], environment(threads))
