"""Data files: readers and writers."""

import csv
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage._typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli.tables._nifti import SUFFIXES, is_nifti, read_nifti, write_nifti
from preimage.cli.tables._optional import need
from preimage.cli.tables._pictures import read_folder, write_folder
from preimage.neuro import MaskedScans

FORMATS = "CSV (.csv), NumPy (.npy, .npz), Parquet (.parquet), NIfTI (.nii, .nii.gz) or a folder of PNG pictures"


@dataclass(frozen=True)
class Dataset:
    """A matrix with one row a sample, and what it takes to write it back as it was.

    Attributes
    ----------
    values : float array of shape (n, d)
    columns : list of d str or None
        Header of a table.
    image_shape : two ints or None
        Height and width, when rows are pictures.
    row_shape : tuple of int or None
        Shape of a row in an array of more than two dimensions.
    pictures : list of (file name, mode)
        Of a folder.
    array : str
        Name of the matrix in an archive.
    others : dict of str to array
        What else the archive holds.
    labels : array of shape (n,) or None
        The column or array that was asked for as labels.
    scans : MaskedScans or None
        The image and the mask that the rows come from.
    """

    values: np.ndarray
    columns: list | None = None
    image_shape: tuple | None = None
    row_shape: tuple | None = None
    pictures: list = field(default_factory=list)
    array: str = "X"
    others: dict = field(default_factory=dict)
    labels: np.ndarray | None = None
    scans: MaskedScans | None = None

    def with_values(self, values: Array) -> "Dataset":
        return replace(self, values=values)


def read(path: str | Path, array: str | None = None, labels: str | None = None, mask: Any = None) -> Dataset:
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

    Returns
    -------
    Dataset
    """
    path = Path(path)
    for needed in (path, mask):
        if isinstance(needed, Path) and not needed.exists():
            raise FileError(f"{needed} does not exist.")
    kind = format_of(path)
    readers = {
        "folder": lambda: _read_pictures(path),
        ".csv": lambda: _read_csv(path, labels),
        ".npy": lambda: _read_npy(path),
        ".npz": lambda: _read_npz(path, array, labels),
        ".parquet": lambda: _read_parquet(path, labels),
        ".nii": lambda: _read_nifti(path, mask),
    }
    if mask is not None and kind != ".nii":
        raise FileError(f"{path} is no scan: --mask is for NIfTI files (.nii, .nii.gz).")
    if labels is not None and kind in ("folder", ".npy", ".nii"):
        raise FileError(f"{path} has no place for labels. Put them in a column of a table, or in an NPZ archive.")
    try:
        data = readers[kind]()
    except ImportError as error:
        raise FileError(str(error)) from error
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    _check_numbers(path, data)
    return data


def write(path: Path, data: Dataset, kind: str) -> None:
    """Write data to an empty file or folder in a format of `format_of`."""
    writers = {
        "folder": _write_pictures,
        ".csv": _write_csv,
        ".npy": _write_npy,
        ".npz": _write_npz,
        ".parquet": _write_parquet,
        ".nii": lambda path, data: write_nifti(path, data.scans, data.values),
    }
    writers[kind](path, data)


def format_of(path: Path) -> str:
    """ ".csv", ".npy", ".npz", ".parquet", ".nii" or "folder" (no suffix, or an existing folder)."""
    suffix = path.suffix.lower()
    if is_nifti(path) and not path.is_dir():
        return ".nii"
    if path.is_dir() or not suffix:
        return "folder"
    if suffix not in {".csv", ".npy", ".npz", ".parquet"}:
        raise FileError(f"{path} has the unknown format {path.suffix!r}. Use {FORMATS}.")
    return suffix


def stem_of(path: Path) -> str:
    """The name of a file without its suffix, or both suffixes of a compressed scan."""
    double = next((suffix for suffix in SUFFIXES if path.name.lower().endswith(suffix)), "")
    return path.name[: -len(double)] if double else path.stem


def _check_numbers(path: Path, data: Dataset) -> None:
    if data.values.ndim != 2 or data.values.size == 0:
        raise DataError(
            f"{path} holds an array of shape {data.values.shape}; a matrix with rows and columns is needed."
        )
    rows, columns = np.nonzero(~np.isfinite(data.values))
    if rows.size:
        name = repr(data.columns[columns[0]]) if data.columns else str(columns[0] + 1)
        raise DataError(
            f"{path} has {rows.size} missing or infinite values in {len(set(rows))} rows; the first is in row "
            f"{rows[0] + 1}, column {name}. Remove those rows or fill them in."
        )


def _matrix(array: Any) -> Array:
    """An array as float rows; float32 stays float32."""
    array = np.asarray(array)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"its values have the type {array.dtype}, which is not numeric.")
    values = array.astype(array.dtype if array.dtype in (np.float32, np.float64) else np.float64)
    return values.reshape(len(values), -1) if values.ndim > 2 else values


def _of_array(values: Array, **fields: Any) -> Dataset:
    """Arrays of shape (n, height, width) are pictures."""
    row_shape = values.shape[1:] if values.ndim > 2 else None
    return Dataset(_matrix(values), row_shape=row_shape, image_shape=row_shape if values.ndim == 3 else None, **fields)


def _read_npy(path: Path) -> Dataset:
    return _of_array(np.load(path, allow_pickle=False))


def _write_npy(path: Path, data: Dataset) -> None:
    with open(path, "wb") as file:
        np.save(file, _array(data))


def _read_npz(path: Path, array: str | None, labels: str | None) -> Dataset:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an NPZ archive.")
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


def _write_npz(path: Path, data: Dataset) -> None:
    with open(path, "wb") as file:
        np.savez(file, **{data.array: _array(data)}, **data.others)


def _array(data: Dataset) -> Array:
    return data.values.reshape(-1, *data.row_shape) if data.row_shape else data.values


def _read_csv(path: Path, labels: str | None = None) -> Dataset:
    arrow = need("pyarrow.csv", "CSV files")
    with open(path, newline="", encoding="utf-8-sig") as file:
        first = next(csv.reader(file), [])
    # A first line of numbers alone is data.
    options = arrow.ReadOptions(autogenerate_column_names=all(is_number(cell) for cell in first))
    table = arrow.read_csv(path, read_options=options)
    if options.autogenerate_column_names:
        table = table.rename_columns([str(number + 1) for number in range(table.num_columns)])
    return _of_table(path, table, keep_names=not options.autogenerate_column_names, labels=labels)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _write_csv(path: Path, data: Dataset) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if data.columns is not None:
            writer.writerow(data.columns)
        writer.writerows(data.values.tolist())


def _read_parquet(path: Path, labels: str | None = None) -> Dataset:
    return _of_table(path, need("pyarrow.parquet", "Parquet files").read_table(path), labels=labels)


def _write_parquet(path: Path, data: Dataset) -> None:
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = data.columns or [f"x{number}" for number in range(data.values.shape[1])]
    columns = [np.ascontiguousarray(column) for column in data.values.T]
    parquet.write_table(arrow.table(columns, names=[str(name) for name in names]), path)


def _of_table(path: Path, table: Any, keep_names: bool = True, labels: str | None = None) -> Dataset:
    """A pyarrow table as a matrix; missing values become NaN and are found later."""
    _require_name(path, labels, table.column_names, "column")
    found = None
    if labels is not None:
        found = _flat(path, labels, np.asarray(table.column(labels).to_pylist()))
        table = table.drop_columns([labels])
    check_columns(path, table.column_names, table.schema.types)
    columns = [column.to_numpy().astype(float) for column in table.columns]
    names = list(table.column_names) if keep_names else None
    return Dataset(np.column_stack(columns) if columns else np.empty((0, 0)), columns=names, labels=found)


def check_columns(path: Path, names: list[str], types: list[Any]) -> None:
    """Refuse columns of a pyarrow table that hold text, or the index of a data frame."""
    known = need("pyarrow", "Tables").types
    # A column without any value has no type; it is found as missing values.
    usable = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean, known.is_null)
    text = [name for name, kind in zip(names, types) if not any(test(kind) for test in usable)]
    if text:
        raise DataError(
            f"{path} has columns that are not numeric: {', '.join(map(repr, text))}. "
            f"Remove them first; embed can leave them out: --exclude {','.join(text)}"
        )
    if any(name.startswith("__index_level_") for name in names):
        raise FileError(f"{path} has an index among its columns. Write it without: to_parquet(..., index=False).")


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
    values, shape, pictures = read_folder(path)
    return Dataset(values, image_shape=shape, pictures=pictures)


def _write_pictures(path: Path, data: Dataset) -> None:
    assert data.image_shape is not None  # rows are pictures
    write_folder(path, data.values, data.image_shape, data.pictures)
