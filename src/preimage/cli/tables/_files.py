"""Data files: readers and writers."""

import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli.tables._archives import check_declared, check_unpacked
from preimage.cli.tables._formats import format_of
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._nifti import read_nifti, write_nifti
from preimage.cli.tables._pictures import Pictures, read_pictures
from preimage.cli.tables._sources import CHUNK_ROWS, Source, open_source
from preimage.cli.tables._streams import check_regular
from preimage.cli.tables._table_options import DEFAULTS, TableOptions
from preimage.neuro._denoise_image import MaskedScans

# Bytes that any archive may unpack to, however small it is. Its arrays become float64, of bytes 8 times as much: 1 GiB.
# At 2**30 an archive of 1 MB would take more than 8 GB.
MOST_UNPACKED = 2**27


@dataclass(frozen=True)
class Dataset:
    """A matrix with one row a sample, and what it takes to write it back as it was.

    Attributes
    ----------
    values : float array of shape (n, d)
    columns : list of d str or None
        Header of a table.
    image_shape : two or three ints or None
        Height and width, when rows are pictures, and 3 for their colours, if they have any.
    row_shape : tuple of int or None
        Shape of a row in an array of more than two dimensions.
    pictures : Pictures or None
        The files that pictures come from, and their kinds.
    array : str
        Name of the matrix in an archive.
    others : dict of str to array
        What else the archive holds.
    labels : array of shape (n,) or None
        The column or array that was asked for as labels.
    scans : MaskedScans or None
        The image and the mask that the rows come from.
    outside : {"keep", "zero"}
        What is written for voxels outside the mask: what they were, or zero.
    source : Source or None
        The table that the rows come from.
    """

    values: np.ndarray
    columns: list | None = None
    image_shape: tuple | None = None
    row_shape: tuple | None = None
    pictures: Pictures | None = None
    array: str = "X"
    others: dict = field(default_factory=dict)
    labels: np.ndarray | None = None
    scans: MaskedScans | None = None
    outside: str = "keep"
    source: Source | None = None

    def with_values(self, values: Array) -> "Dataset":
        return replace(self, values=values)


def read(
    path: str | Path,
    array: str | None = None,
    labels: str | None = None,
    mask: Any = None,
    options: TableOptions = DEFAULTS,
) -> Dataset:
    """The data of a file or folder.

    Parameters
    ----------
    path : Path
    array : str or None
        Which array of an NPZ archive; None takes the only one.
    labels : str or None
        Which column of a table, or array of an archive, holds labels and not inputs: its name, or for a table without
        names its number, counted from 1.
    mask : Path, image or None
        Which voxels of a scan to take; None takes those that look like a brain.
    options : TableOptions
        How to read a table.

    Returns
    -------
    Dataset
    """
    path = Path(path)
    for needed in (path, mask):
        if isinstance(needed, Path):
            check_regular(needed)
    kind = format_of(path)
    readers = {
        "folder": lambda: _read_pictures(path),
        "picture": lambda: _read_pictures(path),
        ".csv": lambda: _read_table(path, labels, options),
        ".xlsx": lambda: _read_table(path, labels, options),
        ".npy": lambda: _read_npy(path),
        ".npz": lambda: _read_npz(path, array, labels),
        ".parquet": lambda: _read_table(path, labels, options),
        ".nii": lambda: _read_nifti(path, mask),
    }
    if mask is not None and kind != ".nii":
        raise FileError(f"{path} is no scan: --mask is for NIfTI files (.nii, .nii.gz).")
    if labels is not None and kind in ("folder", "picture", ".npy", ".nii"):
        raise FileError(f"{path} has no place for labels. Put them in a column of a table, or in an NPZ archive.")
    try:
        data = readers[kind]()
    except ImportError as error:
        raise FileError(str(error)) from error
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    _check_numbers(path, data, options.impute is not None)
    return data


def write(path: Path, data: Dataset, kind: str, output: Path | None = None) -> None:
    """Write data to an empty file or folder in a format of `format_of`; `output` is the name that it will have."""
    frame = lambda path, data: write_frame(path, iter([data.values]), _frame_of(data), kind, output)
    writers = {
        "folder": lambda path, data: data.pictures.write_folder(path, data.values),
        "picture": lambda path, data: data.pictures.write_file(path, data.values),
        ".csv": frame,
        ".npy": _write_npy,
        ".npz": _write_npz,
        ".parquet": frame,
        ".xlsx": frame,
        ".nii": lambda path, data: write_nifti(path, data.scans, data.values, data.outside),
    }
    writers[kind](path, data)


def _check_numbers(path: Path, data: Dataset, with_missing: bool) -> None:
    if data.values.ndim != 2 or data.values.size == 0:
        raise DataError(
            f"{path} holds an array of shape {data.values.shape}; a matrix with rows and columns is needed."
        )
    rows, columns = np.nonzero(np.isinf(data.values) if with_missing else ~np.isfinite(data.values))
    if rows.size:
        name = repr(data.columns[columns[0]]) if data.columns else str(columns[0] + 1)
        raise DataError(
            f"{path} has {rows.size} missing or infinite values in {len(set(rows))} rows; the first is in row "
            f"{rows[0] + 1}, column {name}. Remove those rows, or fill missing values in with --impute mean or "
            "--impute median."
        )


def _matrix(array: Any) -> Array:
    """An array as float rows; float32 stays float32."""
    array = np.asarray(array)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"its values have the type {array.dtype}, which is not numeric.")
    values = array.astype(array.dtype if array.dtype in (np.float32, np.float64) else np.float64)
    return values.reshape(len(values), -1) if values.ndim > 2 else values


def _of_array(values: Array, **fields: Any) -> Dataset:
    """Arrays of shape (n, height, width) and (n, height, width, 3) are pictures."""
    row_shape = values.shape[1:] if values.ndim > 2 else None
    are_pictures = values.ndim == 3 or (values.ndim == 4 and values.shape[3] == 3)
    return Dataset(_matrix(values), row_shape=row_shape, image_shape=row_shape if are_pictures else None, **fields)


def _read_npy(path: Path) -> Dataset:
    # A map compares the declared shape with the file; np.load would ask for the memory first.
    return _of_array(np.array(np.lib.format.open_memmap(path, mode="r")))


def _write_npy(path: Path, data: Dataset) -> None:
    with open(path, "wb") as file:
        np.save(file, _array(data))


def _read_npz(path: Path, array: str | None, labels: str | None) -> Dataset:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an NPZ archive.")
    _check_archive(path)
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        _require_name(path, labels, names, "array")
        inputs = [name for name in names if name != labels]
        if array is None and len(inputs) != 1:
            raise FileError(f"{path} holds the arrays {', '.join(names)}. Choose one with --array NAME.")
        array = array or inputs[0]
        if array not in names:
            raise FileError(f"{path} has no array {array!r}; it holds {', '.join(names)}.")
        others = {name: archive[name] for name in names if name != array}
        found = None if labels is None else _flat(path, labels, others.pop(labels))
        return _of_array(archive[array], array=array, others=others, labels=found)


def _check_archive(path: Path) -> None:
    """Refuse an archive that would fill the memory: it is small, and what it unpacks to, or declares, is not."""
    with zipfile.ZipFile(path) as archive:
        check_unpacked(archive, path.stat().st_size, MOST_UNPACKED, "If it is yours, write it with numpy.savez.")
        for member in archive.infolist():
            with archive.open(member) as file:
                check_declared(file, member.file_size)


def _write_npz(path: Path, data: Dataset) -> None:
    with open(path, "wb") as file:
        np.savez(file, **{data.array: _array(data)}, **data.others)


def _array(data: Dataset) -> Array:
    return data.values.reshape(-1, *data.row_shape) if data.row_shape else data.values


def _frame_of(data: Dataset) -> Frame:
    """All columns of the table that the data come from, or the values alone."""
    return Frame.plain(data.columns, data.values.shape[1]) if data.source is None else Frame.of_whole(data.source)


def _read_table(path: Path, labels: str | None, options: TableOptions) -> Dataset:
    """All rows of a table; missing values are NaN and are found later."""
    source = open_source(path, options, labels)
    chunks = list(source.chunks(CHUNK_ROWS, with_missing=True))
    values = np.concatenate(chunks) if chunks else np.empty((0, source.n_columns))
    found = None if labels is None else _flat(path, labels, source.labels_of(labels))
    source = replace(source, n_rows=len(values), is_estimate=False)
    return Dataset(values, columns=source.names, labels=found, source=source)


def _require_name(path: Path, labels: str | None, names: list[str], what: str) -> None:
    if labels is not None and labels not in names:
        raise DataError(f"{path} has no {what} {labels!r} for labels; it holds {', '.join(map(str, names))}.")


def _flat(path: Path, name: str, labels: Array) -> Array:
    """Labels as a vector of numbers or words, none of them missing."""
    if labels.ndim != 1 or labels.dtype.kind not in "biufU" or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise DataError(f"{path} has labels {name!r} that are missing, mixed, or no vector. Give one label a row.")
    return labels


def _read_nifti(path: Path, mask: Any) -> Dataset:
    scans = read_nifti(path, mask)
    return Dataset(scans.X, scans=scans)


def _read_pictures(path: Path) -> Dataset:
    values, pictures = read_pictures(path)
    return Dataset(values, image_shape=pictures.shape, row_shape=pictures.shape, pictures=pictures)
