"""What an installation has and may use, for reports of defects."""

import importlib.metadata
import platform
import re
import sys
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_info

from preimage._engine.memory import free_memory, memory_budget
from preimage._engine.threads import allowed_cores, allowed_threads

# Extras for those who work on the library itself.
NOT_FOR_USERS = {"test", "dev", "docs", "release"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[.*?\])?(?P<range>[^;]*)(?:;.*extra == ['\"](?P<extra>\w+)['\"])?")


def show_versions() -> None:
    """Print versions, linear-algebra libraries, threads and memory, for a report of a defect.

    Packages that are absent come with the line that installs them. Nothing is imported for it, and what cannot be found
    out is said.

    See Also
    --------
    sklearn.show_versions : The same of scikit-learn.

    Examples
    --------
    >>> import preimage
    >>> preimage.show_versions()  # doctest: +ELLIPSIS
    preimage     ...
    """
    facts: dict[str, Callable[[], str]] = {
        "preimage": lambda: importlib.metadata.version("preimage"),
        "python": lambda: f"{platform.python_version()}, {sys.executable}",
        "system": platform.platform,
        "packages": lambda: ", ".join(_packages()),
        "BLAS": lambda: ", ".join(f"{each['internal_api']} {each.get('version')}" for each in threadpool_info()),
        "threads": lambda: f"{allowed_threads()} by default, {allowed_cores()} cores",
        "memory": lambda: f"{free_memory(nothing) / 1e9:.1f} GB free, {memory_budget(None, nothing) / 1e9:.1f} GB used",
    }
    nothing = np.empty(0)
    for name, find in facts.items():
        try:
            said = find()
        except Exception as error:  # a broken library is what one looks for, and must not hide the others
            said = f"not known: {type(error).__name__}: {error}"
        print(f"{name:<12} {said}")


def _packages() -> Iterator[str]:
    """Every package that the installed library names, with its version or the line that installs it."""
    for text in importlib.metadata.requires("preimage") or []:
        match = REQUIREMENT.match(text)
        if match is None or match["name"] == "preimage" or match["extra"] in NOT_FOR_USERS:
            continue
        try:
            yield f"{match['name']} {importlib.metadata.version(match['name'])}"
        except importlib.metadata.PackageNotFoundError:
            extra = f"[{match['extra']}]" if match["extra"] else ""
            yield f'{match["name"]} ABSENT (needs {match["range"].strip()}: pip install "preimage{extra}")'
