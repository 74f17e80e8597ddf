"""Tables in files of any size, read in chunks of rows: text, Parquet, Excel and NumPy."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import CommandError, DataError, FileError
from preimage.cli._options import DEFAULTS, NONE, TableOptions
from preimage.cli.tables._cells_of_text import distinct, excel_source, inflation, text_source
from preimage.cli.tables._columns import Columns, listed
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._numbers import Words
from preimage.cli.tables._parquet import open_parquet, parquet_source
from preimage.cli.tables._paths import TABLES, check_regular, format_of, need
from preimage.cli.tables._recognised import check_recognised
from preimage.cli.tables._source import CHUNK_ROWS, Source, blocks_of, of_file, row_number
from preimage.cli.tables._source import regrouped as regrouped

SOURCE_FORMATS = "CSV, TSV, TXT (also .gz, .zst), Excel (.xlsx), NumPy (.npy) or Parquet (.parquet)"


def open_source(
    path: Path,
    options: TableOptions = DEFAULTS,
    label: str | None = None,
    needs_numbers: bool = True,
) -> Source:
    """A file as a `Source`; what can be known without reading all of it is checked.

    Parameters
    ----------
    path : Path
    options : TableOptions
    label : str or None
        A column that holds no values but classes, say.
    needs_numbers : bool
        Whether a table without a column of numbers is refused.
    """
    check_regular(path)
    check_recognised(path)
    kind = format_of(path)
    if kind not in OPENERS:
        what = {
            "folder": "a folder of pictures",
            "picture": "a stack of pictures",
            ".npz": "an NPZ archive",
            ".nii": "a NIfTI scan",
        }[kind]
        raise FileError(f"{path}: {what} cannot be read in chunks. Use {SOURCE_FORMATS}.")
    try:
        source = replace(OPENERS[kind](path, options, label), options=options)
    except (OSError, ValueError, CommandError) as error:
        raise of_file(path, error) from error
    if (source.n_columns == 0 and needs_numbers) or source.n_rows == 0:
        layout = source.layout
        others = [f"{layout.labels[place]} ({layout.kinds[place].value})" for place in layout.passed_over]
        words = f" Not taken are {listed(others)}; --columns A,B takes codes and formulas." if others else ""
        words += " Columns of --keep are values only if --columns has them too." if layout.kept else ""
        raise DataError(
            f"{path} has {source.n_rows} rows and {source.n_columns} columns of measurements; some are needed.{words}"
        )
    return source


def coded(source: Source, categories: Mapping[str, Sequence[str]], names: Sequence[str] | None = None) -> Source:
    """A source that takes columns of categories as well, as numbers 0, 1, 2, ..., one for each of their words.

    Parameters
    ----------
    source : Source
    categories : mapping from names to sequences of str
        Columns, and words that are known; those of the table come after them. Columns of measurements stay numbers.
    names : sequence of str or None
        All columns in their order; None takes categories after the others.
    """
    layout = source.layout
    try:
        places = {layout.find(name): known for name, known in categories.items()}
    except DataError as error:
        raise of_file(source.path, error) from error
    if layout.index in places:
        raise DataError(f"{source.path}: column {layout.labels[layout.index]!r} names rows, and is no category.")
    places = {place: known for place, known in places.items() if layout.kinds[place] is not Kind.MEASUREMENT}
    if not places and names is None:
        return source
    marks, formats = source.marks, list(layout.formats)
    for place, known in places.items():
        found = {text.strip() for (column,) in source.columns([place]) for text in distinct(column)}
        formats[place] = Words((*known, *sorted(found.difference(known, marks))), marks)
    order = [*(place for place in layout.taken if place not in places), *places]
    taken = tuple(order if names is None else map(layout.find, names))
    passed_over = tuple(place for place in layout.passed_over if place not in taken)
    layout = replace(layout, taken=taken, formats=tuple(formats), passed_over=passed_over)
    where = row_number if source.rows is None else source.rows.where
    return replace(source, layout=layout, blocks=blocks_of(layout, source.columns, where))


def with_all_digits(source: Source, places: Collection[int]) -> Source:
    """The formats of some columns of text with as many digits as any row has: the first rows may have fewer."""
    if source.rows is None or not places:
        return source
    formats = list(source.layout.formats)
    for batch in source.columns(list(places)):
        for place, texts in zip(places, batch):
            formats[place] = formats[place].of_more(texts)
    return replace(source, layout=replace(source.layout, formats=tuple(formats)))


def options_like(source: Source, path: Path, options: TableOptions) -> TableOptions:
    """Options that take from the table in `path` the columns of `source`, by their names where both have names.

    Two tables may have the same columns in another order, and one of them further columns.
    """
    if source.names is None or format_of(path) not in TABLES:
        return options
    plain = replace(options, columns=None, exclude=None, keep=None, index=NONE)
    words = (Kind.TEXT, Kind.CATEGORY, Kind.DATE)
    columns = tuple(
        source.layout.labels[place] for place in source.layout.taken if source.layout.kinds[place] not in words
    )
    return options if open_source(path, plain).names is None else replace(plain, columns=columns)


def exceeds(path: Path, n_bytes: int) -> bool:
    """Whether the rows of a file that `open_source` can read would take more memory than this."""
    try:
        kind = format_of(path)
        if kind not in (".csv", ".npy", ".parquet") or not path.is_file():
            return False
        if path.stat().st_size * inflation(path) > n_bytes:
            return True
        about = open_parquet(path).metadata if kind == ".parquet" else None
        return about is not None and 8 * about.num_rows * about.num_columns > n_bytes
    except (OSError, ValueError, FileError):  # reading it will report what is wrong
        return False


def npy_source(path: Path, options: TableOptions, label: str | None) -> Source:
    array = np.lib.format.open_memmap(path, mode="r")
    if array.ndim < 2:
        raise DataError(f"{path} holds an array of shape {array.shape}; a matrix with rows and columns is needed.")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{path} holds values of the type {array.dtype}, which are not numeric.")
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    n_rows, width, row_shape = len(array), int(np.prod(array.shape[1:])), array.shape[1:]
    layout = Columns(None, [Kind.MEASUREMENT] * width).layout(options, label)

    def parts(start: int, rows: int, picked: list[int]) -> Iterator[Array]:
        for first in range(start, n_rows, rows):
            # A map of its own each time: pages of a map that stays open count as memory of this process.
            part = np.lib.format.open_memmap(path, mode="r")[first : first + rows].reshape(-1, width)
            part = part if picked == list(range(width)) else part[:, picked]
            yield np.array(part, dtype=dtype, order="C")

    def read(places: list[int]) -> Iterator[list[Any]]:
        for part in parts(0, CHUNK_ROWS, places):
            yield [need("pyarrow").array(np.ascontiguousarray(column)) for column in part.T]

    whole = len(row_shape) > 1 and list(layout.taken) == list(range(width))
    blocks = lambda start, rows: parts(start, rows, list(layout.taken))
    return Source(path, layout, dtype, n_rows, blocks, read, row_shape if whole else None)


OPENERS = {".csv": text_source, ".xlsx": excel_source, ".npy": npy_source, ".parquet": parquet_source}
