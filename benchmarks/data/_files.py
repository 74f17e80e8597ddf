"""Where data sets are: in a folder of the user's, among earlier downloads, or at a public source."""

import contextlib
import hashlib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from preimage._engine.output_files import replacing

VARIABLE = "PREIMAGE_DATA"

Arrays = Mapping[str, Any]
_REMOVE = "Remove it, and the set is downloaded again."


@dataclass(frozen=True)
class Source:
    """A public place that has a data set: how to name it in a message, and how to get the arrays from there."""

    name: str
    fetch: Callable[[], Arrays]


@dataclass(frozen=True, eq=False)
class DataSet:
    """What is known about a data set before it is loaded.

    Parameters
    ----------
    name : str
        Its file is ``<name>.npz``.
    page : str
        Where people find it, for those who must get it by hand.
    arrays : mapping of names to (shape, type)
        What the file holds.
    sources : tuple of Source
        Tried in this order.
    sha256 : str or None
        The checksum of the contents that the results of this project were obtained with; see `checksum`. None where
        the file that a source delivers has a checksum of its own.
    comparable : callable, default=dict
        Maps the arrays to those that are compared: without differences between sources that do not matter.
    """

    name: str
    page: str
    arrays: Mapping[str, tuple[tuple[int, ...], str]]
    sources: tuple[Source, ...]
    sha256: str | None = None
    comparable: Callable[[Arrays], Arrays] = dict

    @property
    def file(self) -> str:
        return f"{self.name}.npz"

    def check_shapes(self, arrays: Arrays) -> None:
        """Refuse arrays that are not those of this set."""
        for name, (shape, dtype) in self.arrays.items():
            found = arrays[name]
            if found.shape != shape or not np.issubdtype(found.dtype, np.dtype(dtype).type):
                raise ValueError(f"{name} is {found.dtype} of shape {found.shape} instead of {dtype} of shape {shape}")

    def is_as_expected(self, arrays: Arrays) -> bool:
        """Whether the contents are those that the results of this project were obtained with."""
        return self.sha256 is None or checksum(self.comparable(arrays)) == self.sha256


def data_directory() -> Path | None:
    """The folder that loaders look in first: what the environment variable PREIMAGE_DATA names, or None."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return None
    if not Path(chosen).is_dir():
        raise NotADirectoryError(f"{VARIABLE} is {chosen!r}, which is not a folder. Correct or unset it.")
    return Path(chosen)


def download_directory() -> Path:
    """The folder that keeps downloads, within that of scikit-learn; it need not exist yet."""
    return Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser() / "preimage"


def load(data_set: DataSet, download_if_missing: bool = True) -> Bunch:
    """The arrays of a data set: from the user's folder, from an earlier download, or from the first source that works.

    Raises
    ------
    FileNotFoundError
        If no place has it. The message says which file to put where, and what must be in it.
    """
    for folder in _folders():
        path = folder / data_set.file
        if path.is_file():
            arrays = _read(path)
            if folder == download_directory():  # what users put into a folder of their own is theirs
                _check_kept(data_set, path, arrays)
            return arrays
    if not download_if_missing:
        raise FileNotFoundError(f"{_not_found(data_set)}. With download_if_missing=True it is downloaded.")
    return _download(data_set)


def _read(path: Path) -> Bunch:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return Bunch(**arrays)
    except OSError:
        raise  # says itself which file cannot be opened
    except Exception as error:
        raise ValueError(
            f"{path} is damaged or not a file of numpy.savez ({type(error).__name__}: {error}). {_REMOVE}"
        ) from error


def _check_kept(data_set: DataSet, path: Path, arrays: Arrays) -> None:
    """Raise ValueError unless a download is as it was when it was kept: disks fail, and others may write there.

    Downloads of earlier versions have no checksum next to them; their shapes are compared, and their contents where the
    set has a checksum of its own.
    """
    try:
        data_set.check_shapes(arrays)
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged, or holds another set: {error}. {_REMOVE}") from error
    beside = _beside(path)
    written = beside.read_text(encoding="utf-8", errors="replace").strip() if beside.is_file() else None
    if not data_set.is_as_expected(arrays) or (written is not None and written != checksum(arrays)):
        raise ValueError(
            f"{path} is damaged, or was changed: its contents do not have the checksum they were kept with. {_REMOVE}"
        )


def _beside(path: Path) -> Path:
    """The file with the checksum of a download."""
    return path.with_name(f"{path.name}.sha256")


def checksum(arrays: Arrays) -> str:
    """SHA-256 of names, types, shapes and values: it does not depend on the file that the arrays came in."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        digest.update(f"{name} {array.dtype.name} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _folders() -> list[Path]:
    chosen = data_directory()
    return [download_directory()] if chosen is None else [chosen, download_directory()]


def _download(data_set: DataSet) -> Bunch:
    failures: list[str] = []
    unexpected: tuple[str, Bunch] | None = None
    for source in data_set.sources:
        try:
            arrays = Bunch(**source.fetch())
            data_set.check_shapes(arrays)
        # A source may be down, gone, or answer with a page in place of the file: every error means the next source.
        except Exception as error:
            failures.append(f"{source.name}: {type(error).__name__}: {error}")
            continue
        if data_set.is_as_expected(arrays):
            _keep(data_set, arrays)
            return arrays
        unexpected = unexpected or (source.name, arrays)
    if unexpected is None:
        raise FileNotFoundError(_missing(data_set, failures))
    source_name, arrays = unexpected
    # Not kept, so that the warning comes again: what is kept is as expected.
    warnings.warn(
        f"The contents of {data_set.name} from {source_name} differ from those that the results of preimage were "
        f"obtained with, although shapes and types agree. Numbers may differ from the published tables; compare with "
        f"{data_set.page}.",
        stacklevel=4,
    )
    return arrays


def _keep(data_set: DataSet, arrays: Arrays) -> None:
    # A folder that cannot be written costs another download next time, which is no reason to fail.
    with contextlib.suppress(OSError):
        folder = download_directory()
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / data_set.file) as path, open(path, "wb") as file:
            np.savez_compressed(file, **arrays)
        with replacing(_beside(folder / data_set.file)) as path:
            path.write_text(checksum(arrays), encoding="utf-8")


def _not_found(data_set: DataSet) -> str:
    return f"{data_set.file} was not found in {' or in '.join(str(folder) for folder in _folders())}"


def _missing(data_set: DataSet, failures: list[str]) -> str:
    reasons = "".join(f"\n- {failure}" for failure in failures)
    contents = ", ".join(f"{name} {shape} {dtype}" for name, (shape, dtype) in data_set.arrays.items())
    return (
        f"{_not_found(data_set)}, and could not be downloaded:{reasons}\nGet the data from "
        f"{data_set.page}, write them with numpy.savez to a file {data_set.file} that holds {contents}, and let the "
        f"environment variable {VARIABLE} name its folder."
    )
