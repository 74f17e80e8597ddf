"""Where data files are, and what to do when they are not there."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

VARIABLE = "PREIMAGE_DATA"
# In a source checkout this file is ROOT/src/preimage/datasets/_files.py; an installed copy has no such neighbour.
BESIDE_CHECKOUT = Path(__file__).resolve().parents[4] / "shared" / "data"


def data_directory() -> Path | None:
    """The directory that loaders look in first, or None when there is none.

    It is what the environment variable PREIMAGE_DATA names, otherwise ``../shared/data`` next to a source checkout.
    """
    return next(iter(_directories()), None)


def load(name: str, download: Callable[[], dict[str, Any]] | None = None) -> dict[str, Any]:
    """The arrays of ``<name>.npz``, or what `download()` returns where there is no such file."""
    for directory in _directories():
        path = directory / f"{name}.npz"
        if path.is_file():
            with np.load(path, allow_pickle=False) as arrays:
                return Bunch(**arrays)
    if download is None:
        raise FileNotFoundError(f"{_not_found(name)} OpenML does not have this set. {_what_to_do(name)}")
    try:
        return download()
    except OSError as error:
        raise FileNotFoundError(
            f"{_not_found(name)} OpenML did not deliver it ({error}). {_what_to_do(name)}"
        ) from error


def _directories() -> list[Path]:
    chosen = os.environ.get(VARIABLE)
    if chosen and not Path(chosen).is_dir():
        raise NotADirectoryError(f"{VARIABLE} is {chosen!r}, which is not a directory. Correct or unset it.")
    directories = [Path(chosen)] if chosen else []
    return [*directories, BESIDE_CHECKOUT] if BESIDE_CHECKOUT.is_dir() else directories


def _not_found(name: str) -> str:
    searched = ", ".join(str(directory) for directory in _directories())
    return f"{name}.npz was not found ({'searched ' + searched if searched else 'no data directory'})."


def _what_to_do(name: str) -> str:
    return f"Put {name}.npz in a directory and let the environment variable {VARIABLE} name that directory."
