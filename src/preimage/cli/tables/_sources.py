"""Tables in files of any size, read in chunks of rows."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from preimage.cli._console import FileError
from preimage.cli.tables._files import format_of
from preimage.cli.tables._source_csv import csv_layout
from preimage.cli.tables._source_parquet import parquet_layout

SOURCE_FORMATS = "CSV (.csv), NumPy (.npy) or Parquet (.parquet)"
# A chunk is a few megabytes, and no more rows than this, so that bars move and little is lost in an interruption.
CHUNK_ROWS, CHUNK_BYTES = 2**15, 2**23


@dataclass(frozen=True)
class Source:
    """A table in a file, of which only a few chunks are in memory at a time.

    Attributes
    ----------
    path : Path
    names : list of str or None
        Header of the chosen columns; None for files without names.
    labels : list of str
        What to call the chosen columns in messages: names or, without, numbers from 1.
    dtype : dtype
        float32 for such NumPy files, else float64.
    n_rows : int
        Rows of the file; an estimate if it is a CSV file, which only reading counts.
    blocks : callable
        ``blocks(start, rows)`` yields matrices of any number of rows, from row `start` on.
    row_shape : tuple of int or None
        Shape of a row in an array of more than two dimensions.
    """

    path: Path
    names: Any
    labels: list
    dtype: Any
    n_rows: int
    blocks: Callable
    row_shape: Any = None

    @property
    def n_columns(self):
        return len(self.labels)

    @property
    def chunk_rows(self):
        """Rows of a chunk when nobody says how many."""
        return max(64, min(CHUNK_ROWS, CHUNK_BYTES // (self.n_columns * self.dtype.itemsize)))

    def chunks(self, rows, start=0):
        """Matrices of `rows` rows each from row `start` on, the last one shorter; finite, or a `FileError`."""
        try:
            for chunk in regrouped(self.blocks(start, rows), rows):
                self._check_finite(chunk, start)
                yield chunk
                start += len(chunk)
        except (OSError, ValueError) as error:
            raise FileError(f"{self.path} cannot be read: {error}") from error

    def identity(self):
        """What tells this file from another one, or from itself after a change."""
        return identity_of(self.path)

    def _check_finite(self, chunk, start):
        if np.isfinite(chunk).all():
            return
        row, column = np.argwhere(~np.isfinite(chunk))[0]
        raise FileError(
            f"{self.path} has a missing or infinite value in row {start + row + 1}, column {self.labels[column]!r}. "
            "Remove such rows or fill them in."
        )


def open_source(path, columns=None, exclude=None):
    """A file as a `Source`; what can be known without reading all of it is checked.

    Parameters
    ----------
    path : Path
    columns, exclude : list of str or None
        Which columns to take, in this order, and which not; names, or numbers from 1 where there are none.

    Returns
    -------
    Source
    """
    if not path.exists():
        raise FileError(f"{path} does not exist.")
    layouts = {".csv": csv_layout, ".npy": _npy_layout, ".parquet": parquet_layout}
    kind = format_of(path)
    if kind not in layouts:
        what = {"folder": "a folder of pictures", ".npz": "an NPZ archive", ".nii": "a NIfTI scan"}[kind]
        raise FileError(f"{path}: {what} cannot be read in chunks. Use {SOURCE_FORMATS}.")
    choose = lambda labels: _chosen(path, labels, columns, exclude)
    try:
        source = Source(path, **layouts[kind](path, choose))
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    if source.n_columns == 0 or source.n_rows == 0:
        raise FileError(f"{path} has {source.n_rows} rows and {source.n_columns} columns to read; some are needed.")
    return source


def identity_of(path):
    """What tells a file from another one, or from itself after a change."""
    status = path.stat()
    return {"path": str(path.resolve()), "size": status.st_size, "modified": status.st_mtime_ns}


def can_be_chunked(path):
    """Whether `path` names a file of a format that `open_source` reads."""
    return path.suffix.lower() in {".csv", ".npy", ".parquet"} and path.is_file()


def regrouped(blocks, rows):
    """The rows of `blocks`, `rows` at a time."""
    held, count = [], 0
    for block in blocks:
        while len(block):
            held.append(block[: rows - count])
            count += len(held[-1])
            block = block[len(held[-1]) :]
            if count == rows:
                yield held[0] if len(held) == 1 else np.concatenate(held)
                held, count = [], 0
    if held:
        yield np.concatenate(held)


def _chosen(path, labels, columns, exclude):
    """Positions of the columns to read."""
    for name in [*(columns or []), *(exclude or [])]:
        if name not in labels:
            known = ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")
            raise FileError(f"{path} has no column {name!r}; it has {known}.")
    doubled = sorted({name for name in columns or labels if (columns or labels).count(name) > 1})
    if doubled:
        raise FileError(f"{path}: column {doubled[0]!r} occurs twice.")
    return [labels.index(name) for name in columns or labels if name not in (exclude or [])]


def _npy_layout(path, choose):
    array = np.lib.format.open_memmap(path, mode="r")
    if array.ndim < 2:
        raise FileError(f"{path} holds an array of shape {array.shape}; a matrix with rows and columns is needed.")
    if array.dtype.kind not in "fiub":
        raise FileError(f"{path} holds values of the type {array.dtype}, which are not numeric.")
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    n_rows, width, row_shape = len(array), int(np.prod(array.shape[1:])), array.shape[1:]
    labels = [str(number + 1) for number in range(width)]
    picked = choose(labels)

    def blocks(start, rows):
        for first in range(start, n_rows, rows):
            # A map of its own each time: pages of a map that stays open count as memory of this process.
            part = np.lib.format.open_memmap(path, mode="r")[first : first + rows].reshape(-1, width)
            part = part if picked == list(range(width)) else part[:, picked]
            yield np.array(part, dtype=dtype, order="C")

    whole = len(row_shape) > 1 and picked == list(range(width))
    return {
        "names": None,
        "labels": [labels[place] for place in picked],
        "dtype": dtype,
        "n_rows": n_rows,
        "blocks": blocks,
        "row_shape": row_shape if whole else None,
    }
