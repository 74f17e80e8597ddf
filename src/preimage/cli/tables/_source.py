"""A table in a file, whatever its format: what its columns are for, and its rows in chunks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._console import how_many
from preimage.cli._errors import CommandError, DataError, FileError, UsageError
from preimage.cli._options import DEFAULTS, TableOptions
from preimage.cli.tables._columns import DESCRIBED, Layout, is_whole
from preimage.cli.tables._conventions import remedy
from preimage.cli.tables._excel import Sheet
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._numbers import (
    MISSING_WORDS,
    WRITTEN,
    NotANumber,
    NumberFormat,
    Words,
    numbers_of,
    starts_with_zero,
)
from preimage.cli.tables._paths import TABLES, format_of, identity_of
from preimage.cli.tables._text import Dialect, TextRows

# A chunk is a few megabytes, and no more rows than this, so that bars move and little is lost in an interruption.
CHUNK_ROWS, CHUNK_BYTES = 2**15, 2**23
# Fewest rows of a chunk, however long they are: products of matrices with fewer rows are slow.
FEWEST_CHUNK_ROWS = 64

# From the places of columns to batches of rows: one pyarrow array for each column, as it is in the file.
ReadColumns: TypeAlias = Callable[[list[int]], Iterator[list[Any]]]


@dataclass(frozen=True)
class Source:
    """A table in a file, of which only a few chunks are in memory at a time, or all rows where `values` has them.

    Attributes
    ----------
    path : Path
    layout : Layout
        What its columns are for.
    dtype : dtype
        float32 for such NumPy files, else float64.
    n_rows : int
        Rows of the file; an estimate for text, which only reading counts.
    blocks : callable
        ``blocks(start, rows)`` yields matrices of any number of rows, from row `start` on; missing values are NaN.
    columns : callable
        From places of columns to batches of them, as they are in the file.
    row_shape : tuple of int or None
        Shape of a row in an array of more than two dimensions.
    is_estimate : bool
        Whether `n_rows` is one.
    options : TableOptions
        What the user said about the table.
    rows : TextRows or None
        Those of a text file, and how it is written.
    sheet : Sheet or None
        Where the table is in a workbook, without its cells.
    schema : pyarrow schema or None
        Types of the columns, where the file has such.
    values : array of shape (n, d) or None
        All rows, where they are in memory.
    classes : array of shape (n,) or None
        The column or array that was asked for as labels.
    pictures : Pictures or None
        The files that pictures come from, and their kinds.
    scans : MaskedScans or None
        The image and the mask that rows come from.
    array, others : str, and dict of str to array
        Of an archive, the name of the matrix and what else it holds.
    """

    path: Path
    layout: Layout
    dtype: np.dtype
    n_rows: int
    blocks: Callable[[int, int], Iterator[Array]]
    columns: ReadColumns = lambda places: iter([])
    row_shape: tuple[int, ...] | None = None
    is_estimate: bool = False
    options: TableOptions = DEFAULTS
    rows: TextRows | None = None
    sheet: Sheet | None = None
    schema: Any = None
    values: Any = None
    classes: Any = None
    pictures: Any = None
    scans: Any = None
    array: str = "X"
    others: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> list[str]:
        """What to call the columns with values."""
        return self.layout.called(self.layout.taken)

    @property
    def names(self) -> list[str] | None:
        """Header of the columns with values; None for files without names."""
        return None if self.layout.names is None else self.labels

    @property
    def words(self) -> dict[str, tuple[str, ...]]:
        """Columns of categories among those with values, and their words."""
        formats = {label: self.layout.formats[place] for label, place in zip(self.labels, self.layout.taken)}
        return {label: form.categories for label, form in formats.items() if isinstance(form, Words)}

    @property
    def marks(self) -> tuple[str, ...]:
        """What stands for a missing value in columns of words."""
        return tuple(sorted(MISSING_WORDS.union(self.options.missing or ())))

    @property
    def n_columns(self) -> int:
        return len(self.layout.taken)

    @property
    def dialect(self) -> Dialect | None:
        """How a text file is written."""
        return None if self.rows is None else self.rows.dialect

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Shape of rows that are pictures: height and width, and 3 for their colours, if they have any."""
        shape = self.row_shape or ()
        return shape if len(shape) == 2 or (len(shape) == 3 and shape[2] == 3) else None

    @property
    def is_table(self) -> bool:
        """Whether it has columns of several kinds, rather than an array, all of whose columns may well be of one."""
        return format_of(self.path) in TABLES

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk where the user gives no number."""
        return max(FEWEST_CHUNK_ROWS, min(CHUNK_ROWS, CHUNK_BYTES // (self.n_columns * self.dtype.itemsize)))

    def chunks(self, rows: int, start: int = 0, with_missing: bool = False) -> Iterator[Array]:
        """Matrices of `rows` rows each from row `start` on, the last one shorter.

        Values are finite, or a `FileError` is raised; `with_missing` allows for NaN.
        """
        try:
            for chunk in regrouped(self.blocks(start, rows), rows):
                self._check_finite(chunk, start, with_missing)
                yield chunk
                start += len(chunk)
        except (OSError, ValueError, CommandError) as error:
            raise of_file(self.path, error) from error

    def held(self, with_missing: bool = False) -> "Source":
        """The same with all rows in memory: one chunk."""
        values = self.values
        if values is None:
            chunks = [np.empty((0, self.n_columns), self.dtype), *self.chunks(CHUNK_ROWS, with_missing=True)]
            values = np.concatenate(chunks)
        blocks = lambda start, rows: iter([values[start:]])
        held = replace(self, blocks=blocks, values=values, n_rows=len(values), is_estimate=False)
        held._check_finite(values, 0, with_missing)
        return held

    def classes_of(self, name: str) -> Array:
        """The classes in a column: whole numbers, numbers or words; NaN for all words where one is missing."""
        found = self.values_of(name)
        if any(value is None for value in found):
            return np.array([value if isinstance(value, int | float) else np.nan for value in found])
        return np.asarray(found)

    def values_of(self, name: str) -> list[Any]:
        """What a column holds, row by row: numbers, or words; None where there is nothing."""
        place = self.layout.find(name)
        try:
            found = [value for batch in self.columns([place]) for value in batch[0].to_pylist()]
        except CommandError as error:
            raise of_file(self.path, error) from error
        form, is_text = self.layout.formats[place], any(isinstance(value, str) for value in found)
        if self.layout.kinds[place] in (Kind.MEASUREMENT, Kind.CODE) and is_text:
            texts = [None if text is None or form.is_missing(text) else text for text in found]
            if not any(text is not None and starts_with_zero(text) for text in texts):
                are_whole = all(text is None or is_whole(text) for text in texts)
                convert = int if are_whole else lambda text: form.value(text) if form.is_number(text) else None
                return [None if text is None else convert(text) for text in texts]
        is_missing = lambda value: value != value or (isinstance(value, str) and value.strip() in self.marks)
        return [None if is_missing(value) else value for value in found]

    def identity(self) -> dict[str, Any]:
        """What tells this file from another one, or from itself after a change."""
        return identity_of(self.path)

    def about(self) -> dict[str, Any]:
        """What was understood, as plain values."""
        dialect, has_header = self.dialect, self.layout.names is not None
        about = {"input": str(self.path), "rows": self.n_rows, "estimate": self.is_estimate, "header": has_header}
        if dialect is not None:
            numbers = {"decimal": dialect.numbers.decimal, "thousands": dialect.numbers.thousands}
            about |= {"delimiter": dialect.delimiter, **numbers, "encoding": dialect.encoding}
        return {**about, "columns": self.layout.about()}

    def described(self, most: int = DESCRIBED) -> str:
        """What was understood: a line about the file, and one for each of its first columns."""
        layout = self.layout
        rows = f"{'about ' if self.is_estimate else ''}{how_many(self.n_rows, 'row')}"
        header = "" if layout.names is not None else "no "
        units = ", a line of units" if layout.units is not None else ""
        dialect = "" if self.dialect is None else self.dialect.described()
        sheet = f"sheet {self.sheet.name!r}, " if self.sheet is not None and self.sheet.others else ""
        first = self.rows.first_line if self.rows is not None else self.sheet.first_row if self.sheet is not None else 0
        above = first - (layout.names is not None) - (layout.units is not None)
        titles = f", {how_many(above, 'line')} above left out" if above > 0 else ""
        columns = how_many(len(layout.labels), "column")
        about = f"{self.path.name}: {sheet}{rows}, {columns}, {header}header{units}{titles}{dialect}."
        return "\n  ".join([about, *layout.described(most)]) if self.is_table else about

    def _check_finite(self, chunk: Array, start: int, with_missing: bool) -> None:
        bad = np.isinf(chunk) if with_missing else ~np.isfinite(chunk)
        if not bad.any():
            return
        row, column = np.argwhere(bad)[0]
        what, name = ("a missing", "an infinite")[int(np.isinf(chunk[row, column]))] + " value", self.labels[column]
        if self.values is not None and bad.sum() > 1:
            rows = bad.any(axis=1).sum()
            what = f"{bad.sum()} missing or infinite values in {rows} row{'s' if rows > 1 else ''}; the first is"
        advice = "Remove such rows, or fill missing values in with --impute kernel, median or mean"
        if np.isinf(chunk[row, column]):
            advice = f"Leave the column out: --exclude {name}"
        raise DataError(f"{self.path} has {what} in row {start + row + 1}, column {name!r}. {advice}.")


def of_file(path: Path, error: Exception) -> CommandError:
    """An error that names the file."""
    text, kind = str(error), type(error) if isinstance(error, CommandError) else FileError
    if isinstance(error, UsageError) or text.startswith(str(path)):
        return kind(text)
    return kind(f"{path} {text}" if text.startswith("has ") else f"{path} cannot be read: {text}")


def regrouped(blocks: Iterator[Array], rows: int) -> Iterator[Array]:
    """The rows of `blocks`, `rows` at a time."""
    held: list[Array] = []
    count = 0  # rows in `held`, fewer than `rows`
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


def blocks_of(layout: Layout, read: ReadColumns, where: Callable[[int], str]) -> Callable[[int, int], Iterator[Array]]:
    """The matrices of a source from its columns; `where` gives words for a row, counted from 1."""

    def blocks(start: int, rows: int) -> Iterator[Array]:
        seen = 0
        for batch in read(list(layout.taken)):
            matrix = matrix_of(layout, batch, partial(after, where, seen))
            skip, seen = max(0, start - seen), seen + len(matrix)
            if start < seen:
                yield matrix[skip:]

    return blocks


def row_number(number: int) -> str:
    return f"row {number}"


def after(where: Callable[[int], str], seen: int, row: int) -> str:
    return where(seen + row)


def matrix_of(layout: Layout, batch: list[Any], where: Callable[[int], str]) -> Array:
    """Columns with values as a matrix."""
    columns: list[Array] = []
    try:
        for place, values in zip(layout.taken, batch):
            columns.append(numbers_of(values, layout.formats[place]))
    except NotANumber as error:
        place = layout.taken[len(columns)]
        about = f"{where(error.row + 1)}, column {layout.labels[place]!r}: "
        raise DataError(about + _advice(error, layout.labels[place], layout.formats[place])) from error
    return np.column_stack(columns)


def _advice(error: NotANumber, label: str, form: NumberFormat | Words) -> str:
    """What is wrong with a text among numbers, and what to do."""
    if isinstance(form, NumberFormat) and not error.why and (found := remedy(error.text, form)):
        return found
    advice = f"If it stands for a missing value, add --missing {error.text!r}; or leave the column out"
    advice = "Leave the column out" if error.why or WRITTEN.fullmatch(error.text.strip()) else advice
    return f"{error.text!r} {error.why or 'is not a number as others are'}. {advice}: --exclude {label}"
