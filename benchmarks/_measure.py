"""Timing side by side, a description of what it ran on, and records of what was measured."""

import datetime
import gc
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from pathlib import Path

import _data  # noqa: F401 (where loaders look for data sets)
import numpy as np
import scipy
import sklearn
from threadpoolctl import threadpool_info

import preimage

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "results" / "records"
STARTED = time.perf_counter()


def commit():
    """The commit of this tree, with a plus where the library differs from it; nothing in a copy without its history.

    The environment variable PREIMAGE_COMMIT says it for a copy.
    """
    if said := os.environ.get("PREIMAGE_COMMIT"):
        return said
    try:
        found = _git("rev-parse", "--short=8", "HEAD")
        return found + ("+" if _git("status", "--porcelain", "--", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def describe_version():
    """This library and its commit, which `results.py` compares with the version of the tree."""
    return f"preimage {preimage.__version__}" + (f" ({commit()})" if commit() else "")


def describe_machine():
    """One line on this library, the machine and other libraries, to be printed above every table."""
    threads = {f"{lib['internal_api']}:{lib['num_threads']}" for lib in threadpool_info() if lib["user_api"] == "blas"}
    return (
        f"{describe_version()}; {platform.machine()}, {os.cpu_count()} cores, BLAS {', '.join(sorted(threads))}; "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def duration():
    """How long the script has run."""
    seconds = time.perf_counter() - STARTED
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.1f} minutes"


def timed(function, repeats=1):
    """Median wall-clock seconds of `function()`, and its last result."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def timed_in_turn(functions, repeats):
    """Seconds of every run, {name: array of shape (repeats,)}, and last results, {name: result}.

    Each round runs every function once, so that what slows the machine for a while slows all of them. There is no rest
    between runs: any rest favours one side or the other.
    """
    seconds, results = {name: [] for name in functions}, {}
    for _ in range(repeats):
        for name, function in functions.items():
            results.pop(name, None)
            elapsed, results[name] = timed(function)
            seconds[name].append(elapsed)
    return {name: np.array(values) for name, values in seconds.items()}, results


def script():
    """The running script, seen from the root of the repository."""
    return Path(sys.argv[0]).resolve().relative_to(ROOT).as_posix()


def command():
    """What was typed, seen from the root of the repository; where another machine kept the record does not matter."""
    arguments = sys.argv[1:]
    if "--folder" in arguments:
        place = arguments.index("--folder")
        arguments = arguments[:place] + arguments[place + 2 :]
    return shlex.join(["python", script(), *arguments])


def record(name, values, settings, folder=RECORDS, machine=None, taken=None):
    """Keep measured numbers for the texts that quote them, with how they were obtained.

    `docs/claims.toml` ties sentences of the README and of pages to these files, and `tests/test_claims.py` compares.

    Parameters
    ----------
    name : str
        The record's file is ``docs/results/records/<name>.json``.
    values : dict of str to float
        What was measured.
    settings : dict
        Sizes, seeds and whatever else is needed to obtain `values` again.
    machine : str or None
        What they were measured on, as `describe_machine` says it; None is this machine.
    taken : str or None
        How long it took, as `duration` says it; None is this run.
    """
    contents = {
        "script": script(),
        "command": command(),
        "machine": machine or describe_machine(),
        "date": datetime.date.today().isoformat(),
        "duration": taken or duration(),
        "settings": settings,
        "values": {key: float(f"{value:.4g}") for key, value in values.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(contents, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"recorded in {path}")


def peak_memory():
    """Peak resident memory of this process in bytes."""
    # Not getrusage: a child inherits the peak of the process that started it there.
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
