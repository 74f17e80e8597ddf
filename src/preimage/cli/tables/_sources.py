"""Tables in files of any size, read in chunks of rows: text, Parquet, Excel and NumPy."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._console import how_many
from preimage.cli._errors import CommandError, DataError, FileError, UsageError
from preimage.cli._options import DEFAULTS, NONE, TableOptions
from preimage.cli.tables._columns import (
    DESCRIBED,
    INDEX_NAMES,
    Columns,
    Layout,
    counts_rows,
    index_place,
    is_whole,
    listed,
)
from preimage.cli.tables._conventions import remedy
from preimage.cli.tables._dialect import Beginning, read_beginning, understand
from preimage.cli.tables._excel import DATE, TEXT, Sheet, read_sheet
from preimage.cli.tables._kinds import Kind, kind_of
from preimage.cli.tables._numbers import (
    MISSING_WORDS,
    WRITTEN,
    NotANumber,
    NumberFormat,
    Words,
    numbers_of,
    starts_with_zero,
)
from preimage.cli.tables._paths import TABLES, check_regular, compression_of, format_of, identity_of, need
from preimage.cli.tables._recognised import check_recognised
from preimage.cli.tables._text import Dialect, TextRows

SOURCE_FORMATS = "CSV, TSV, TXT (also .gz, .zst), Excel (.xlsx), NumPy (.npy) or Parquet (.parquet)"
# A chunk is a few megabytes, and no more rows than this, so that bars move and little is lost in an interruption.
CHUNK_ROWS, CHUNK_BYTES = 2**15, 2**23
# Fewest rows of a chunk, however long they are: products of matrices with fewer rows are slow.
FEWEST_CHUNK_ROWS = 64
# Pages of Parquet are read through a buffer of this size, so that a file with one large row group needs no more memory.
PARQUET_BUFFER = 2**20
# Lines of files up to this size are counted, which takes a tenth of a second; of larger ones they are estimated.
COUNTED_BYTES = 2**24
# Bytes of text per byte of a compressed file, about: for bars, and for whether it fits into memory.
COMPRESSION = 4

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
        found = {text.strip() for (column,) in source.columns([place]) for text in _distinct(column)}
        formats[place] = Words((*known, *sorted(found.difference(known, marks))), marks)
    order = [*(place for place in layout.taken if place not in places), *places]
    taken = tuple(order if names is None else map(layout.find, names))
    passed_over = tuple(place for place in layout.passed_over if place not in taken)
    layout = replace(layout, taken=taken, formats=tuple(formats), passed_over=passed_over)
    where = _row if source.rows is None else source.rows.where
    return replace(source, layout=layout, blocks=_blocks(layout, source.columns, where))


def with_all_digits(source: Source, places: Collection[int]) -> Source:
    """The formats of some columns of text with as many digits as any row has: the first rows may have fewer."""
    if source.rows is None or not places:
        return source
    formats = list(source.layout.formats)
    for batch in source.columns(list(places)):
        for place, texts in zip(places, batch):
            formats[place] = formats[place].of_more(texts)
    return replace(source, layout=replace(source.layout, formats=tuple(formats)))


def _distinct(column: Any) -> list[str]:
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    texts = compute.unique(compute.cast(column, arrow.string())).to_pylist()
    return [text for text in texts if text is not None]


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
        if path.stat().st_size * _inflation(path) > n_bytes:
            return True
        about = _open_parquet(path).metadata if kind == ".parquet" else None
        return about is not None and 8 * about.num_rows * about.num_columns > n_bytes
    except (OSError, ValueError, FileError):  # reading it will report what is wrong
        return False


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


def _inflation(path: Path) -> int:
    """About how many bytes of text a byte of a file is."""
    return 1 if compression_of(path) is None else COMPRESSION


def _layout_of_texts(
    beginning: Beginning,
    options: TableOptions,
    label: str | None,
    told: Mapping[int, Kind] | None = None,
    later: Mapping[int, list[str]] | None = None,
) -> Layout:
    """What the columns are for.

    `told` are the kinds of columns of numbers that the file says to be no measurements, and `later` has values of
    columns that have none in the first rows.
    """
    numbers, names, later = beginning.dialect.numbers, beginning.names, later or {}
    columns = [later.get(place) or [row[place] for row in beginning.rows] for place in range(beginning.width)]
    formats: list[NumberFormat | Words] = []
    kinds, odd, notes, counters = [], dict[int, str](), dict[int, int](), []
    for place, texts in enumerate(columns):
        name = "" if names is None else names[place]
        form = numbers.of_column(texts)
        kind = kind_of(name, texts, form)
        kind = (told or {}).get(place, kind) if kind is Kind.MEASUREMENT else kind
        if (
            place in later
            and kind in (Kind.TEXT, Kind.MIXED)
            and (advice := max(remedy(text, numbers) for text in texts))
        ):
            raise FileError(advice)
        filled = [row for row, text in enumerate(texts) if not form.is_missing(text)]
        if place and names is not None and kind is Kind.MEASUREMENT and not name and 2 * len(filled) < len(texts):
            kind = Kind.TEXT  # numbers here and there next to a table are notes
        more_may_come = replace(form, is_beginning=not beginning.is_whole)
        formats.append(Words.of_truths(texts) if kind is Kind.TRUTH else more_may_come)
        kinds.append(kind)
        row = next((row for row in filled if not form.is_number(texts[row])), None)
        if row is not None:
            odd[place] = texts[row]
            below = [cells for cells in beginning.rows[row:] if any(map(str.strip, cells))]
            if beginning.is_whole and all(sum(map(bool, map(str.strip, cells))) == 1 for cells in below):
                notes[place] = len(below)
        if place and name.startswith("Unnamed: ") and counts_rows(texts):
            counters.append(place)
    index = index_place(names, columns, kinds) if options.index is None else None
    units = None if beginning.units is None else tuple(beginning.units)
    return Columns(names, kinds, formats, index, odd, tuple(counters), notes).layout(options, label, units=units)


def _text_source(path: Path, options: TableOptions, label: str | None) -> Source:
    beginning = read_beginning(path, options)
    rows = TextRows(path, beginning.dialect, beginning.first_line, beginning.width)
    n_rows, is_estimate = len(beginning.rows), False
    if not beginning.is_whole:
        # A value between quotes may go over several lines.
        is_estimate = any("\n" in cell for row in beginning.rows for cell in row)
        if path.stat().st_size <= COUNTED_BYTES:
            n_rows = sum(block.count(b"\n") for block in rows.lines())
        else:
            row_bytes = sum(len(cell) + 1 for row in beginning.rows for cell in row) / max(1, n_rows)
            n_rows = max(1, round(path.stat().st_size * _inflation(path) / max(1.0, row_bytes)))
            is_estimate = True
    layout = _layout_of_texts(beginning, options, label, later=_first_values(beginning, rows))
    blocks = _blocks(layout, rows.columns, rows.where)
    return Source(path, layout, np.dtype(float), n_rows, blocks, rows.columns, is_estimate=is_estimate, rows=rows)


def _first_values(beginning: Beginning, rows: TextRows) -> dict[int, list[str]]:
    """By place, values of columns that have none in the first rows; columns without a name hold none."""
    numbers, found = beginning.dialect.numbers, dict[int, list[str]]()
    columns = [] if beginning.is_whole else enumerate(zip(*beginning.rows))
    is_named = lambda place: beginning.names is None or beginning.names[place]
    empty = [place for place, texts in columns if is_named(place) and all(map(numbers.is_missing, texts))]
    for batch in rows.columns(empty) if empty else []:
        for place, texts in zip(empty, batch):
            values = [] if place in found else [text for text in _distinct(texts) if not numbers.is_missing(text)]
            found |= {place: values} if values else {}
        if len(found) == len(empty):
            break
    return found


def _excel_source(path: Path, options: TableOptions, label: str | None) -> Source:
    """A sheet, which is in memory as a whole; its cells are read as if they were text."""
    arrow = need("pyarrow", "Excel files")
    sheet = read_sheet(path, options.sheet)
    beginning = understand(sheet.lines(), True, replace(options, delimiter="\t", decimal=options.decimal or "."))
    first = beginning.first_line
    rows = sheet.rows[first : first + len(beginning.rows)]
    if [[cell.replace("\n", " ") for cell in row] for row in rows] != beginning.rows:
        raise FileError("cells stand next to its table, or between titles and the table. Delete them, or add --skip N.")
    sheet = sheet.of_table(first)
    by_column = [arrow.array(texts, arrow.string()) for texts in zip(*rows)]
    read = lambda places: iter([[by_column[place] for place in places]] if rows else [])
    told = {frozenset(TEXT): Kind.CODE, frozenset(DATE): Kind.DATE}
    kinds = {place: told[kinds] for place, kinds in enumerate(map(frozenset, sheet.columns)) if kinds in told}
    kinds |= dict.fromkeys(sheet.computed, Kind.FORMULA)
    layout = replace(_layout_of_texts(beginning, options, label, kinds), shown_units=sheet.units)
    sheet.check_merged({place: layout.labels[place] for place in layout.taken})
    blocks = _blocks(layout, read, _row)
    return Source(path, layout, np.dtype(float), len(rows), blocks, read, sheet=sheet)


def _blocks(layout: Layout, read: ReadColumns, where: Callable[[int], str]) -> Callable[[int, int], Iterator[Array]]:
    """The matrices of a source from its columns; `where` gives words for a row, counted from 1."""

    def blocks(start: int, rows: int) -> Iterator[Array]:
        seen = 0
        for batch in read(list(layout.taken)):
            matrix = _matrix(layout, batch, partial(_after, where, seen))
            skip, seen = max(0, start - seen), seen + len(matrix)
            if start < seen:
                yield matrix[skip:]

    return blocks


def _row(number: int) -> str:
    return f"row {number}"


def _after(where: Callable[[int], str], seen: int, row: int) -> str:
    return where(seen + row)


def _matrix(layout: Layout, batch: list[Any], where: Callable[[int], str]) -> Array:
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


def _npy_source(path: Path, options: TableOptions, label: str | None) -> Source:
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


def _parquet_source(path: Path, options: TableOptions, label: str | None) -> Source:
    file = _open_parquet(path)
    schema, names = file.schema_arrow, list(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise DataError(
            f"has two columns called {next(name for name in names if names.count(name) > 1)!r}. Rename one."
        )
    first = _first_rows(file, max(1, min(CHUNK_ROWS, PARQUET_BUFFER // len(names))))
    kinds = [_kind_of_values(name, first.column(name), schema.field(name).type) for name in names]
    index = _parquet_index(path, schema, names) if options.index is None else []
    words = {place: "words" for place, name in enumerate(names) if not _holds_numbers(schema.field(name).type)}
    found = Columns(names, kinds, (), index[0] if index else None, words, tuple(index[1:]))
    layout = found.layout(options, label)
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    firsts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)  # first row of every group, and the number of rows
    picked = [names[place] for place in layout.taken]

    def blocks(start: int, rows: int) -> Iterator[Array]:
        group = int(np.searchsorted(firsts, start, side="right")) - 1
        skip = start - int(firsts[group])
        if start >= firsts[-1]:
            return
        batches = _open_parquet(path).iter_batches(rows, row_groups=list(range(group, len(sizes))), columns=picked)
        first = int(firsts[group])
        for batch in batches:
            columns = [batch.column(name) for name in picked]
            yield _matrix(layout, columns, partial(_after, _row, first))[skip:]
            skip, first = max(0, skip - batch.num_rows), first + batch.num_rows

    def read(places: list[int]) -> Iterator[list[Any]]:
        for batch in _open_parquet(path).iter_batches(CHUNK_ROWS, columns=[names[place] for place in places]):
            yield [batch.column(names[place]) for place in places]

    return Source(path, layout, np.dtype(np.float64), int(firsts[-1]), blocks, read, schema=schema)


def _first_rows(file: Any, count: int) -> Any:
    """About so many rows at the beginning of a Parquet file, however small its groups of rows are."""
    batches, rows = [], 0
    for batch in file.iter_batches(count):
        batches.append(batch)
        rows += batch.num_rows
        if rows >= count:
            break
    return need("pyarrow").Table.from_batches(batches, file.schema_arrow)


def _holds_numbers(kind: Any) -> bool:
    known = need("pyarrow").types
    tests = (known.is_integer, known.is_floating, known.is_decimal, known.is_boolean, known.is_null)
    return any(test(kind) for test in tests)


def _kind_of_values(name: str, values: Any, kind: Any) -> Kind:
    """What a column of some type of pyarrow holds, as its first values say."""
    known = need("pyarrow").types
    if known.is_boolean(kind):
        return Kind.TRUTH
    if known.is_temporal(kind):
        return Kind.DATE
    if known.is_null(kind) or values.null_count == len(values):
        return Kind.EMPTY if known.is_null(kind) or not _holds_numbers(kind) else Kind.MEASUREMENT
    if known.is_dictionary(kind):
        return Kind.CATEGORY
    if known.is_string(kind) or known.is_large_string(kind):
        kind_of_texts = kind_of(name, [text or "" for text in values.to_pylist()], NumberFormat())
        return kind_of_texts if kind_of_texts in (Kind.CODE, Kind.CATEGORY, Kind.DATE) else Kind.TEXT
    if known.is_integer(kind):
        return kind_of(name, ["" if value is None else str(value) for value in values.to_pylist()], NumberFormat())
    return Kind.MEASUREMENT if _holds_numbers(kind) else Kind.TEXT


def _parquet_index(path: Path, schema: Any, names: list[str]) -> list[int]:
    """Columns that pandas says are the index, or a first one that has the name of one and counts rows."""
    about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    found = [name for name in about.get("index_columns", []) if isinstance(name, str) and name in names]
    if found:
        return [names.index(name) for name in found]
    if len(names) > 1 and INDEX_NAMES.fullmatch(names[0]):
        batch = next(_open_parquet(path).iter_batches(CHUNK_ROWS, columns=names[:1]), None)
        return [0] if batch is not None and counts_rows([str(value) for value in batch.column(0).to_pylist()]) else []
    return []


def compression_of_parquet(path: Path) -> str:
    """How the columns of a Parquet file are compressed."""
    about = _open_parquet(path).metadata
    is_known = about.num_row_groups and about.num_columns
    found = about.row_group(0).column(0).compression.lower() if is_known else "snappy"
    return {"uncompressed": "none"}.get(found, found)


def _open_parquet(path: Path) -> Any:
    return need("pyarrow.parquet", "Parquet files").ParquetFile(path, buffer_size=PARQUET_BUFFER, pre_buffer=False)


OPENERS = {".csv": _text_source, ".xlsx": _excel_source, ".npy": _npy_source, ".parquet": _parquet_source}
