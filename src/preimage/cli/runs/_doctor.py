"""What an installation has and may use, gathered without ever failing."""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

import preimage
from preimage._memory import free_memory, memory_budget
from preimage._threads import allowed_cores, allowed_threads
from preimage.cli._console import one_line
from preimage.datasets._files import VARIABLE, data_directory

# Extras for those who work on the library itself.
NOT_FOR_USERS = {"test", "dev", "docs", "release"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[.*?\])?(?P<range>[^;]*)(?:;.*extra == ['\"](?P<extra>\w+)['\"])?")
# Variables that change how many threads are used, where files are looked for, or what is shown.
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "SCIPY_ARRAY_API",
    "SCIKIT_LEARN_DATA",
    VARIABLE,
    "PREIMAGE_DEBUG",
)


def examined() -> dict[str, Any]:
    """Facts about this installation, as plain values; one that cannot be found says why."""
    facts: dict[str, Callable[[], Any]] = {
        "preimage": lambda: preimage.__version__,
        "python": lambda: f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}",
        "system": platform.platform,
        "packages": _packages,
        "extras": _extras,
        "blas": _blas,
        "cores": _cores,
        "memory": _memory,
        "gpu": _gpus,
        "data": _data_folders,
        "environment": lambda: {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    return {name: _guarded(find) for name, find in facts.items()}


def _guarded(find: Callable[[], Any]) -> Any:
    try:
        return find()
    except Exception as error:  # a broken library is what one looks for, and must not hide the others
        return {"error": f"{type(error).__name__}: {one_line(error)}"}


def _packages() -> dict[str, Any]:
    """Versions of what the library always needs."""
    return {name: _version(name) for name, _, extra in _requirements() if extra is None}


def _extras() -> dict[str, Any]:
    """For each extra its packages, whether all are there and new enough, and how to install it."""
    found: dict[str, Any] = {}
    for name, wanted, extra in _requirements():
        if extra is not None and extra not in NOT_FOR_USERS:
            about = found.setdefault(extra, {"complete": True, "packages": {}, "install": ""})
            version = _version(name)
            about["packages"][name] = version or f"absent (needs {wanted})"
            if version is not None and not _is_new_enough(version, wanted):
                about["packages"][name] = f"{version} (needs {wanted})"
            if version is None or not _is_new_enough(version, wanted):
                about["complete"], about["install"] = False, f'pip install "preimage[{extra}]"'
    return found


def _requirements() -> list[tuple[str, str, str | None]]:
    """Name, versions and extra of every requirement that the installed package declares."""
    matches = (REQUIREMENT.match(text) for text in importlib.metadata.requires("preimage") or [])
    return [
        (match["name"], match["range"].strip(), match["extra"])
        for match in matches
        if match is not None and match["name"] != "preimage"
    ]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_new_enough(version: str, wanted: str) -> bool:
    least = re.search(r">=\s*([\d.]+)", wanted)
    return least is None or _numbers(version) >= _numbers(least[1])


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3]]


def _blas() -> list[dict[str, Any]]:
    wanted = ("internal_api", "version", "num_threads", "threading_layer", "architecture")
    return [
        {key: library[key] for key in wanted if library.get(key) is not None} | {"file": Path(library["filepath"]).name}
        for library in threadpool_info()
    ]


def _cores() -> dict[str, Any]:
    scheduled = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {
        "in_the_machine": os.cpu_count(),
        "this_process_may_be_scheduled_on": scheduled,
        "within_the_quota_of_its_container": allowed_cores(),
        "threads_used_by_default": allowed_threads(),
    }


def _memory() -> dict[str, int]:
    nothing = np.empty(0)
    return {"free_bytes": free_memory(nothing), "default_max_memory_bytes": memory_budget(None, nothing)}


def _gpus() -> dict[str, Any]:
    """What torch and CuPy see, where they are installed; importing them takes seconds."""
    libraries = {"torch": _torch_devices, "cupy": _cupy_devices}
    return {
        name: _guarded(devices) if importlib.util.find_spec(name) is not None else "not installed"
        for name, devices in libraries.items()
    }


def _torch_devices() -> list[str]:
    import torch

    if not torch.cuda.is_available():
        return []
    return [
        _described(torch.cuda.get_device_name(k), *torch.cuda.mem_get_info(k)) for k in range(torch.cuda.device_count())
    ]


def _cupy_devices() -> list[str]:
    runtime = importlib.import_module("cupy").cuda.runtime
    names = [runtime.getDeviceProperties(k)["name"].decode() for k in range(runtime.getDeviceCount())]
    return [_described(name, *runtime.memGetInfo()) for name in names]


def _described(name: str, free: int, total: int) -> str:
    return f"{name}, {free / 1e9:.1f} of {total / 1e9:.1f} GB free"


def _data_folders() -> dict[str, Any]:
    """Where data sets are looked for, and where scikit-learn keeps those that it downloads."""
    downloads = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    existing = next(folder for folder in (downloads, *downloads.absolute().parents) if folder.exists())
    found = _guarded(data_directory)
    return {
        "folder": str(found) if isinstance(found, Path) else found,
        "downloads": str(downloads),
        "downloads_are_writable": existing.is_dir() and os.access(existing, os.W_OK),
    }
