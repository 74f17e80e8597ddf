"""Data in memory from files of any format, among them pictures, scans and archives, and writers for all of them."""

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import DEFAULTS, TableOptions
from preimage.cli.tables._columns import Layout
from preimage.cli.tables._frames import Frame, write_frame
from preimage.cli.tables._paths import (
    TABLES,
    check_declared,
    check_regular,
    check_unchanged,
    check_unpacked,
    format_of,
    identity_of,
)
from preimage.cli.tables._pictures import read_pictures
from preimage.cli.tables._recognised import check_recognised
from preimage.cli.tables._source import Source
from preimage.cli.tables._sources import OPENERS, open_source
from preimage.neuro._denoise_image import mask_scans

# Bytes that any archive may unpack to, however small it is. Its arrays become float64, of bytes 8 times as much: 1 GiB.
# At 2**30 an archive of 1 MB would take more than 8 GB.
MOST_UNPACKED = 2**27


def read(
    path: str | Path,
    array: str | None = None,
    label: str | None = None,
    mask: Any = None,
    options: TableOptions = DEFAULTS,
) -> Source:
    """The data of a file or folder, with all rows in memory.

    Parameters
    ----------
    path : Path
    array : str or None
        Which array of an NPZ archive; None takes the only one.
    label : str or None
        Which column of a table, or array of an archive, holds classes and not inputs: its name, or for a table without
        names its number, counted from 1.
    mask : Path, image or None
        Which voxels of a scan to take; None takes those that look like a brain.
    options : TableOptions
        How to read a table.
    """
    path = Path(path)
    inputs = [each for each in (path, mask) if isinstance(each, Path)]
    for each in inputs:
        check_regular(each)
        check_recognised(each)
    kind, with_missing = format_of(path), options.impute is not None
    if mask is not None and kind != ".nii":
        raise FileError(f"{path} is no scan: --mask is for NIfTI files (.nii, .nii.gz).")
    if label is not None and kind not in (*TABLES, ".npz"):
        raise FileError(f"{path} has no place for labels. Put them in a column of a table, or in an NPZ archive.")
    before = [identity_of(each) for each in inputs]
    try:
        if kind in OPENERS:
            source = open_source(path, options, label).held(with_missing)
            classes = None if label is None else _classes(path, label, source.classes_of(label))
            source = replace(source, classes=classes)
        else:
            readers = {".npz": lambda: _archive(path, array, label), ".nii": lambda: _scans(path, mask)}
            source = readers.get(kind, lambda: _pictures(path))().held(with_missing)
    except ImportError as error:
        raise FileError(str(error)) from error
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path} cannot be read: {error}") from error
    for known in before:
        check_unchanged(known)
    return replace(source, options=options)


def write(path: Path, matrices: Iterator[Array], frame: Frame, kind: str, output: Path, outside: str = "keep") -> None:
    """Write rows to an empty file or folder in a format of `format_of`.

    Parameters
    ----------
    path : Path
    matrices : iterator of arrays
    frame : Frame
        The columns, for formats that have some, and the source with what the rows were in it.
    kind : str
    output : Path
        The name that the file will have.
    outside : {"keep", "zero"}
        What is written for voxels of scans outside the mask: what they were, or zero.
    """
    source = frame.source
    if kind in TABLES:
        write_frame(path, matrices, frame, kind, output)
        return
    values = np.concatenate(list(matrices))
    if kind == "folder":
        source.pictures.write_folder(path, values)
    elif kind == "picture":
        source.pictures.write_file(path, values)
    elif kind == ".nii":
        source.scans.unmask(values, outside).to_filename(path)
    else:
        shape = source.row_shape if source.row_shape and values.shape[1] == source.n_columns else values.shape[1:]
        array = values.reshape(len(values), *shape)
        with open(path, "wb") as file:
            if kind == ".npy":
                np.save(file, array)
            else:
                arrays: dict[str, Any] = {source.array: array, **source.others}
                np.savez(file, **arrays)


def _of_array(path: Path, found: Array, **fields: Any) -> Source:
    """An array as rows of floating-point numbers; float32 stays float32."""
    if found.dtype.kind not in "fiub":
        raise ValueError(f"its values have the type {found.dtype}, which is not numeric.")
    if found.ndim < 2 or found.size == 0:
        raise DataError(f"{path} holds an array of shape {found.shape}; a matrix with rows and columns is needed.")
    values = found.astype(found.dtype if found.dtype in (np.float32, np.float64) else np.float64)
    row_shape = found.shape[1:] if found.ndim > 2 else None
    values = values.reshape(len(values), -1)
    blocks = lambda start, rows: iter([values[start:]])
    layout = Layout.plain(values.shape[1])
    return Source(path, layout, values.dtype, len(values), blocks, row_shape=row_shape, values=values, **fields)


def _archive(path: Path, array: str | None, label: str | None) -> Source:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an NPZ archive.")
    with zipfile.ZipFile(path) as packed:  # small, and what it unpacks to, or declares, may fill the memory
        check_unpacked(packed, path.stat().st_size, MOST_UNPACKED, "If it is yours, write it with numpy.savez.")
        for member in packed.infolist():
            with packed.open(member) as file:
                check_declared(file, member.file_size)
    with np.load(path, allow_pickle=False) as archive:
        names = archive.files
        if label is not None and label not in names:
            raise DataError(f"{path} has no array {label!r} for labels; it holds {', '.join(names)}.")
        inputs = [name for name in names if name != label]
        if array is None and len(inputs) != 1:
            raise FileError(f"{path} holds the arrays {', '.join(names)}. Choose one with --array NAME.")
        array = array or inputs[0]
        if array not in names:
            raise FileError(f"{path} has no array {array!r}; it holds {', '.join(names)}.")
        others = {name: archive[name] for name in names if name != array}
        classes = None if label is None else _classes(path, label, others.pop(label))
        return _of_array(path, archive[array], array=array, others=others, classes=classes)


def _classes(path: Path, name: str, classes: Array) -> Array:
    """Labels as a vector of numbers or words, none of them missing."""
    is_missing = classes.dtype.kind == "f" and np.isnan(classes).any()
    if classes.ndim != 1 or classes.dtype.kind not in "biufU" or is_missing:
        raise DataError(f"{path} has labels {name!r} that are missing, mixed, or no vector. Give one label a row.")
    return classes


def _scans(path: Path, mask: Any) -> Source:
    """The scans of a 4D image inside a mask, which is found by intensities if there is none."""
    try:
        scans = mask_scans(path, mask)
    except (ImportError, OSError, MemoryError, ValueError):
        raise
    except Exception as error:  # nibabel and nilearn have many kinds for a file that is broken
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return _of_array(path, scans.X, scans=scans)


def _pictures(path: Path) -> Source:
    values, pictures = read_pictures(path)
    return _of_array(path, values.reshape(-1, *pictures.shape), pictures=pictures)
