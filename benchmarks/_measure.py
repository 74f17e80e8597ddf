"""Timing side by side: the same rest before each run, medians, and a description of what it ran on."""

import gc
import os
import platform
import time

import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

# Idle BLAS threads of the previous run spin for a while; both sides start from rest.
REST = 0.1


def describe_machine():
    """One line on the machine and the libraries, to be printed above every table."""
    threads = {f"{lib['internal_api']}:{lib['num_threads']}" for lib in threadpool_info() if lib["user_api"] == "blas"}
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, BLAS {', '.join(sorted(threads))}; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def timed(function, repeats=1):
    """Median wall-clock seconds of `function()`, and its last result."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None
        gc.collect()
        time.sleep(REST)
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def peak_memory():
    """Peak resident memory of this process in bytes."""
    # Not getrusage: a child inherits the peak of the process that started it there.
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
