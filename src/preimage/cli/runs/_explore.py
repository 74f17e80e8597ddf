"""A page to explore a file: its rows, classes and columns to colour by, and a model of them."""

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from preimage._engine.typing import Array
from preimage.cli._console import one_line
from preimage.cli._errors import DataError, FileError
from preimage.cli._options import AUTO
from preimage.cli.runs._compress import inputs_for
from preimage.cli.runs._embed import Embedding
from preimage.cli.runs._file_model import load_model
from preimage.cli.runs._preparation import Preparation, prepared_for
from preimage.cli.runs._sizes import is_large
from preimage.cli.tables._files import Dataset, read
from preimage.cli.tables._formats import TABLES, format_of
from preimage.cli.tables._identity import unchanged
from preimage.cli.tables._sources import Source, open_source
from preimage.cli.tables._table_options import DEFAULTS, NO_INDEX, TableOptions
from preimage.estimators import KernelPCA
from preimage.explorer import Explorer, explore

# Formats whose rows have no place for classes; those of an archive are arrays.
WITHOUT_COLUMNS = ("folder", "picture", ".npy", ".nii")
# Arguments of `preimage.explore` in its messages, and the options that say the same here.
OPTIONS = {
    r"`?image_shape`?=\(height, width\)": "--image-shape HxW",
    r"`?image_shape`?=\((\d+), (\d+)\)": r"--image-shape \1x\2",
    r'`?kind`?="(\w+)"': r"--kind \1",
    r"`?axis`?=… sets": "numbers as names of columns say",
    r"`image_shape`": "--image-shape",
    r"`(mask|kind|widths)`": r"--\1",
}
# What a file says about one kind of view alone.
KIND_OF = {"image_shape": "image", "mask": "volume"}


@dataclass(frozen=True)
class Files:
    """What is read.

    Attributes
    ----------
    data : Path
    about : Path or None
        A table with one row for every row of `data`, for classes and colours of data without columns for them.
    label : str or None
        The column with classes, or array of an archive.
    array : str or None
        Of an archive.
    mask : Path or None
        Of scans.
    model : Path or None
        A fitted model.
    table : TableOptions
        What it keeps are further columns to colour by.
    """

    data: Path
    about: Path | None = None
    label: str | None = None
    array: str | None = None
    mask: Path | None = None
    model: Path | None = None
    table: TableOptions = DEFAULTS

    @property
    def paths(self) -> list[Path]:
        return [path for path in (self.data, self.about, self.mask, self.model) if path is not None]


@dataclass(frozen=True)
class Rows:
    """Rows to draw, in their units and without gaps.

    Attributes
    ----------
    X : array of shape (n, d)
    model : estimator
        Fitted to the rows or read from a file.
    y : array of shape (n,) or None
        Classes.
    label : str or None
        What they are called.
    colors : dict of str to array of shape (n,)
    view : dict of str to object
        What is known about columns: keywords of `preimage.explore`.
    """

    X: Array
    model: Any
    y: Array | None = None
    label: str | None = None
    colors: Mapping[str, Array] = field(default_factory=dict)
    view: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Page:
    """What the user said about the page: keywords of `preimage.explore`, None for what it finds itself."""

    title: str
    kind: str = AUTO
    image_shape: tuple[int, ...] | None = None
    widths: list[Any] | None = None
    n_points: int | None = None
    max_samples: int = 5000
    seed: int = 0


def rows_and_model(files: Files, wish: Embedding, tell: Callable[[str], None] = lambda text: None) -> Rows:
    """The rows of a file, what they are coloured by, and a model of them or the one that is there."""
    if is_large(files.data):
        raise DataError(
            f"{files.data} takes more than a quarter of the free memory, and all of its rows are read. A page draws "
            "some thousand rows: give a part of it."
        )
    model = None if files.model is None else load_model(files.model)
    with unchanged(files.paths):
        data = _read(files)
        y, colors = _looks(files, data)
    _tell_about(data, files, tell)
    if model is not None:
        data = _with_columns_of(model, data)
    view = _view(data)
    options = files.table if model is None else replace(files.table, standardize=False)
    why_not = "--gamma is a number" if isinstance(wish.gamma, float) else ""
    preparation = prepared_for(data, options, tell, why_not)
    X = replace(preparation, mean=None, scale=None)(data.values)  # gaps filled in, in units of the file
    if model is None:
        model = _fitted(X, replace(preparation, imputer=None), wish, files.data)
    return Rows(X, model, y, files.label, colors, view)


def explorer_of(rows: Rows, page: Page) -> Explorer:
    """The page of the library; what the user says about the view comes before what the file says."""
    view = {key: value for key, value in rows.view.items() if page.kind in (AUTO, KIND_OF.get(key, page.kind))}
    if page.image_shape is not None:
        view["image_shape"] = page.image_shape
    try:
        with warnings.catch_warnings():
            # Columns of models from files have names, and are in their order here: see `_with_columns_of`.
            warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
            return explore(
                rows.model,
                rows.X,
                rows.y,
                label_name=rows.label,
                kind=page.kind,
                colors=rows.colors or None,
                title=page.title,
                widths=page.widths,
                n_points=page.n_points,
                max_samples=page.max_samples,
                random_state=page.seed,
                **view,
            )
    except (ValueError, TypeError) as error:
        raise DataError(with_options(one_line(error))) from error


def with_options(message: str) -> str:
    """A message of the library with options of the command line in place of arguments."""
    for pattern, option in OPTIONS.items():
        message = re.sub(pattern, option, message)
    return message


def _read(files: Files) -> Dataset:
    kind, table = format_of(files.data), files.table
    if kind in WITHOUT_COLUMNS and files.about is None and (files.label is not None or table.keep):
        raise FileError(
            f"{files.data} has no columns for --label and --keep. Give a table that has them, with one row for each "
            "row, picture or scan: --about FILE."
        )
    if files.about is not None and kind not in WITHOUT_COLUMNS:
        raise FileError(f"{files.data} has columns for --label and --keep itself; --about is for pictures and arrays.")
    if kind in TABLES and files.label is not None:
        # As a column that is left out: classes may be missing here, other than in commands that learn from them.
        table = replace(table, exclude=(*(table.exclude or ()), files.label))
    label = files.label if kind == ".npz" else None
    return read(files.data, files.array, label, files.mask, table)


def _looks(files: Files, data: Dataset) -> tuple[Array | None, dict[str, Array]]:
    """Classes, and further columns to colour by."""
    keep = files.table.keep or ()
    if format_of(files.data) == ".npz":
        absent = [name for name in keep if name not in data.others]
        if absent:
            raise DataError(f"{files.data} has no array {absent[0]!r} for --keep; it holds {', '.join(data.others)}.")
        return data.labels, {name: _vector(data.others[name], name, data) for name in keep}
    table = data.source if files.about is None else _about(files.about, files.table)
    if table is None:
        return None, {}
    order = slice(None) if files.about is None else _order(table, data, files)
    values = lambda name: _array(table.values_of(name))[order]
    return None if files.label is None else values(files.label), {name: values(name) for name in keep}


def _about(path: Path, options: TableOptions) -> Source:
    plain = replace(options, columns=None, exclude=None, keep=None, index=NO_INDEX)
    return open_source(path, plain, needs_numbers=False)


def _order(table: Source, data: Dataset, files: Files) -> Any:
    """The rows of a table about rows: by names of pictures where a column has them, else as they are."""
    columns = {name: table.values_of(name) for name in table.layout.labels}
    n_rows = len(next(iter(columns.values())))
    files_of = [] if data.pictures is None else [file.name for file in data.pictures.files for _ in file.pages]
    for texts in columns.values():
        places = {str(text): place for place, text in enumerate(texts)}
        if files_of and len(set(files_of)) == len(files_of) and set(files_of) <= set(places):
            return [places[name] for name in files_of]
    if n_rows != len(data.values):
        raise DataError(
            f"{files.about} has {n_rows} rows and {files.data} has {len(data.values)}; --about needs one row for each."
        )
    return slice(None)


def _array(values: list[Any]) -> Array:
    """Numbers or words; missing numbers are NaN, missing words None."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, int | float) for value in known):
        if len(known) == len(values):
            return np.asarray(values)
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def _vector(array: Array, name: str, data: Dataset) -> Array:
    if array.ndim != 1 or len(array) != len(data.values):
        raise DataError(f"--keep {name} needs one value for each of {len(data.values)} rows; got {array.shape}.")
    return array


def _view(data: Dataset) -> dict[str, Any]:
    if data.scans is not None:
        return {"mask": data.scans.mask_image}
    view: dict[str, Any] = {}
    if data.image_shape is not None:
        view["image_shape"] = data.image_shape
    elif data.columns is not None:
        view["names"] = list(data.columns)
        units = None if data.source is None else data.source.layout.units
        if data.source is not None and units is not None:
            view["units"] = [units[data.source.layout.find(name)] for name in data.columns]
    return view


def _with_columns_of(model: Any, data: Dataset) -> Dataset:
    """Data with the columns that a model wants."""
    values, names = inputs_for(model, data), getattr(model, "feature_names_in_", None)
    columns = data.columns if names is None or data.columns is None else [str(name) for name in names]
    return replace(data, values=values, columns=columns)


def _fitted(X: Array, scaling: Preparation, wish: Embedding, path: Path) -> Any:
    if len(X) < 2:
        raise DataError(f"{path} has {len(X)} row. Kernel PCA learns from many.")
    # Frozen: models of other widths see the same inputs, though gaps are filled in now.
    steps = [(name, FrozenEstimator(step)) for name, step in scaling.steps(None, len(X))]
    model = _unfitted(wish)
    try:
        model.fit(scaling(X))
    except (ValueError, TypeError) as error:
        raise DataError(one_line(error)) from error
    return Pipeline([*steps, ("kernel_pca", model)]) if steps else model


def _unfitted(wish: Embedding) -> KernelPCA:
    """By the name of its kernel, so that others of other widths can be made of it."""
    return KernelPCA(
        wish.components,
        kernel=wish.kernel,
        gamma=wish.gamma,
        degree=wish.degree,
        coef0=wish.coef0,
        landmarks=wish.landmarks,
        random_state=wish.seed,
    )


def _tell_about(data: Dataset, files: Files, tell: Callable[[str], None]) -> None:
    if data.source is not None:
        tell(data.source.described())
    for note in data.pictures.passed_over if data.pictures is not None else []:
        tell(note)
    if data.scans is not None and files.mask is None:
        tell(f"No --mask was given. {int(data.scans.mask.sum())} of {data.scans.mask.size} voxels look like a brain.")
