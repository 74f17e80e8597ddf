"""Where data come from: files in a directory, or OpenML, and what to do when neither has them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml
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


def fetch_images(data_id: int) -> Any:
    """Rows of pixels and their numeric labels."""
    images = _fetch(data_id)
    return images.data, images.target.astype(np.int64)


def fetch_table(data_id: int) -> Any:
    """A dictionary of columns, categories as OpenML spells them, and the target."""
    table = _fetch(data_id)
    columns = dict(zip(table.feature_names, table.data.T))
    for name, categories in table.categories.items():
        columns[name] = np.asarray(categories)[columns[name].astype(np.intp)]
    return columns, table.target


def _fetch(data_id: int) -> Any:
    # scikit-learn keeps the file, so only the first call downloads it. Its own parser takes seconds where that of
    # pandas takes one, but it needs no pandas, and it tells which category a code stands for.
    return fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff")
