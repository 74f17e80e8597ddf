"""Results written next to columns of the table that they come from: text, Parquet and Excel."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import FileError
from preimage.cli.tables._excel import ERROR, NOTHING, NUMBER, TEXT, TRUTH, Sheet
from preimage.cli.tables._excel_cells import Change, write_cells
from preimage.cli.tables._kinds import Kind
from preimage.cli.tables._numbers import TRUTHS, NotANumber, NumberFormat, Words, gaps_of
from preimage.cli.tables._parquet import compression_of_parquet
from preimage.cli.tables._paths import compression_of, inner_suffix, need
from preimage.cli.tables._rewrite import Rewriter
from preimage.cli.tables._source import Source
from preimage.cli.tables._sources import with_all_digits

_SUFFIX_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}


@dataclass(frozen=True)
class Cells:
    """Some rows of a column of an output: values of the table, numbers of a result, or these in the gaps of those.

    Attributes
    ----------
    there : pyarrow array or None
        The column as it is in the table: texts, or values of some type.
    numbers : array of shape (rows,) or None
        Those of the result.
    form : NumberFormat, Words or None
        How numbers are written in the column of the table; None for other columns, and for new ones.
    type : pyarrow type or None
        Of the column of the table, if it has one other than text.
    only_gaps : bool
        Whether numbers stand only where the table has no value.
    """

    there: Any = None
    numbers: Array | None = None
    form: NumberFormat | Words | None = None
    type: Any = None
    only_gaps: bool = False

    @property
    def is_text(self) -> bool:
        return self.type is None and self.form is not None

    def typed(self, types: dict[int, Any], place: int) -> Any:
        """All rows with one type: that of the table or, of texts of numbers, one for numbers.

        Numbers are whole if those of the first rows are: `types` remembers it by place.
        """
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        if self.form is None:
            return self.there if self.numbers is None else arrow.array(np.ascontiguousarray(self.numbers))
        if self.is_text and isinstance(self.form, NumberFormat):
            return self._numbers(types, place)
        if self.numbers is None:
            return self.there
        known = arrow.string() if self.type is None else self.type
        new = _of_type(self.form.rounded(self.numbers), self.form, known)
        if not self.only_gaps:
            return new
        is_coded = arrow.types.is_dictionary(known)
        there = self.there.dictionary_decode() if is_coded else self.there
        merged = compute.if_else(gaps_of(there, self.form), new.dictionary_decode() if is_coded else new, there)
        return _coded(merged, known, self.there.dictionary) if is_coded else merged

    def _numbers(self, types: dict[int, Any], place: int) -> Any:
        """Texts of numbers, and those in their gaps, as numbers."""
        arrow, numbers = need("pyarrow"), self.numbers
        assert isinstance(self.form, NumberFormat)
        try:
            known = None if self.there is None else self.form.values(self.there)
            if numbers is None:
                numbers = known
            else:
                new = self.form.rounded(numbers)
                numbers = np.where(np.isnan(known), new, known) if self.only_gaps and known is not None else new
            types.setdefault(place, arrow.int64() if self.form.is_whole else arrow.float64())
            return arrow.array(numbers, from_pandas=True).cast(types[place])
        except (NotANumber, arrow.ArrowInvalid) as error:
            raise FileError(f"A column that begins with numbers has also {error}; write to .csv instead.") from error

    def texts(self, style: "_Style") -> Any:
        """A column as texts, as they stand in the file: those of the table where it has some, numbers elsewhere."""
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        if not self.is_text:
            if self.form is None and self.there is None:
                return style.numbers(self.numbers)
            return style.values(self.typed({}, 0))
        assert self.form is not None
        form = self.form if style.is_own or isinstance(self.form, Words) else self.form.plain()
        of_numbers = lambda numbers: style.quoted(arrow.array(form.texts(numbers), arrow.string()))
        if self.numbers is not None and not self.only_gaps:
            return of_numbers(self.numbers)
        # Numbers between others that are written in another way would be read as something else.
        there = style.values(self.there) if form == self.form else of_numbers(self.form.values(self.there))
        if self.numbers is None:
            return there
        return compute.if_else(gaps_of(self.there, self.form), of_numbers(self.numbers), there)


def _of_type(numbers: Array, form: NumberFormat | Words, known: Any) -> Any:
    """Numbers as values of a type of pyarrow, whole ones for types of these; NaN is null."""
    arrow, types = need("pyarrow"), need("pyarrow").types
    if types.is_boolean(known):
        return arrow.array([None if number != number else number >= 0.5 for number in numbers.tolist()], known)
    if isinstance(form, Words):
        found = arrow.array([text or None for text in form.texts(numbers)], arrow.string())
        return _coded(found, known) if types.is_dictionary(known) else found.cast(known)
    if types.is_floating(known):
        return arrow.array(np.ascontiguousarray(numbers)).cast(known, safe=False)
    if types.is_decimal(known):
        texts = [None if number != number else f"{number:.{max(known.scale, 0)}f}" for number in numbers.tolist()]
        return arrow.array(texts, arrow.string()).cast(known)
    limits = np.iinfo(known.to_pandas_dtype())
    whole = np.clip(np.round(numbers), limits.min, limits.max)
    return arrow.array(whole, from_pandas=True).cast(known, safe=False)


def _coded(texts: Any, known: Any, first: Any = ()) -> Any:
    """Texts as a dictionary of some type, whose `first` words keep their order: categories may go from low to high."""
    arrow, compute, texts = need("pyarrow"), need("pyarrow.compute"), texts.cast(known.value_type)
    words = arrow.array(list(dict.fromkeys([*first, *texts.unique().drop_null()])), known.value_type)
    indices = compute.index_in(texts, value_set=words).cast(known.index_type)
    return arrow.DictionaryArray.from_arrays(indices, words, ordered=known.ordered)


@dataclass(frozen=True)
class Frame:
    """The columns of an output, in their order.

    Attributes
    ----------
    names : list of str or None
        The header.
    values : list of int or None
        For each column of the output the column of the result; None for those that are copied.
    source : Source
        The table to copy from.
    copied : list of int
        Places in `source` of the columns that are copied, in their order.
    units : list of str or None
        The line below the header.
    gaps : list of int or None
        Where the result stands only where the table has no value, the columns of the result with such gaps: values that
        are there stay as they are written, and all columns are copied. None replaces columns by those of the result.
    is_whole : bool
        Whether the columns are those of the table, in their order.
    """

    names: list[str] | None
    values: list[int | None]
    source: Source
    copied: list[int]
    units: list[str] | None = None
    gaps: list[int] | None = None
    is_whole: bool = False

    @classmethod
    def of_whole(cls, source: Source) -> "Frame":
        """All columns of a table, those with values replaced by the result."""
        layout = source.layout
        column = {place: number for number, place in enumerate(layout.taken)}
        values = [column.get(place) for place in range(len(layout.labels))]
        names = None if layout.names is None else list(layout.names)
        units = None if layout.units is None else list(layout.units)
        return cls(names, values, source, list(layout.untouched), units, is_whole=True)

    @classmethod
    def of_filled(cls, source: Source, gaps: list[int]) -> "Frame":
        """All columns of a table as they are, but for gaps in those with values, where the result stands."""
        whole = cls.of_whole(source)
        return replace(whole, copied=list(range(len(whole.values))), gaps=gaps)

    @classmethod
    def next_to_kept(cls, source: Source, names: list[str]) -> "Frame":
        """The index and kept columns of a table, and the result under new names."""
        layout = source.layout
        kept = [layout.labels[place] if layout.names is None else layout.names[place] for place in layout.copied]
        values: list[int | None] = [*(None for _ in layout.copied), *range(len(names))]
        return cls([*kept, *names], values, source, list(layout.copied))

    @cached_property
    def changed(self) -> dict[int, int]:
        """For places of the table whose cells change, the column of the result."""
        if not self.is_whole:
            return {}
        columns = {place: column for place, column in enumerate(self.values) if column is not None}
        wanted = set(columns.values() if self.gaps is None else self.gaps)
        return {place: column for place, column in columns.items() if column in wanted}

    def batches(self, matrices: Iterator[Array]) -> Iterator[list[Cells]]:
        """Columns of the output, some rows at a time."""
        rows = _Rows(self.source.columns(self.copied), len(self.copied)) if self.copied else None
        for matrix in matrices:
            there = dict(zip(self.copied, [] if rows is None else rows.take(len(matrix))))
            if self.is_whole:
                yield [self._cells(place, there.get(place), matrix) for place in range(len(self.values))]
            else:
                copied = [self._cells(place, there[place], matrix) for place in self.copied]
                yield [*copied, *(Cells(numbers=column) for column in matrix.T)]

    def _cells(self, place: int, there: Any, matrix: Array) -> Cells:
        source, column = self.source, self.changed.get(place) if self.is_whole else None
        is_number = source.layout.has_values(place) or source.layout.kinds[place] is Kind.MEASUREMENT
        known = None if source.schema is None else source.schema.field(place).type
        form = source.layout.formats[place] if is_number and (column is not None or known is None) else None
        numbers = None if column is None else matrix[:, column]
        return Cells(there, numbers, form, known, self.gaps is not None)


class _Rows:
    """Batches of columns, taken in any number of rows."""

    def __init__(self, batches: Iterator[list[Any]], width: int) -> None:
        self.batches = batches
        self.held: list[Any] = []
        self.count = 0
        self.width = width

    def take(self, rows: int) -> list[Any]:
        parts: list[list[Any]] = []
        while rows:
            if not self.count:
                batch = next(self.batches, None)
                if batch is None:
                    raise FileError("The input has fewer rows than before: it has changed. Run the command again.")
                self.held, self.count = batch, len(batch[0])
            size = min(rows, self.count)
            parts.append([column.slice(0, size) for column in self.held])
            self.held, self.count = [column.slice(size) for column in self.held], self.count - size
            rows -= size
        return [need("pyarrow").concat_arrays([part[place] for part in parts]) for place in range(self.width)]


def write_frame(path: Path, matrices: Iterator[Array], frame: Frame, kind: str, output: Path | None = None) -> None:
    """Write a result; `output` is the name that the file will have, where `path` is another one."""
    frame = replace(frame, source=with_all_digits(frame.source, frame.changed))
    writers = {".csv": _write_text, ".parquet": _write_parquet, ".xlsx": _write_excel}
    writers[kind](path, matrices, frame, path if output is None else output)


@dataclass(frozen=True)
class _Style:
    """How text is written: as the input was, if both have the same suffix."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    is_own: bool = False

    @classmethod
    def of(cls, source: Source, output: Path) -> "_Style":
        dialect, suffix = source.dialect, inner_suffix(output)
        if dialect is None or inner_suffix(source.path) != suffix:
            return cls(_SUFFIX_DELIMITERS.get(suffix, "\t"))
        return cls(dialect.delimiter, dialect.numbers.decimal, dialect.encoding, is_own=True)

    def quoted(self, texts: Any) -> Any:
        """Texts between quotes where they need them."""
        compute = need("pyarrow.compute")
        # Between blanks, which stand for tabs too, nothing at all would be no value.
        marks = r"[ \t]|^$" if self.delimiter == " " else re.escape(self.delimiter)
        special = compute.match_substring_regex(texts, rf'["\n\r]|{marks}')
        if not compute.any(special).as_py():
            return texts
        doubled = compute.replace_substring(texts, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), texts)

    def numbers(self, numbers: Any) -> Any:
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        texts = compute.cast(arrow.array(np.ascontiguousarray(numbers)), arrow.string())
        return self.quoted(texts if self.decimal == "." else compute.replace_substring(texts, ".", self.decimal))

    def values(self, column: Any) -> Any:
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        if not arrow.types.is_string(column.type):
            column = compute.cast(column, arrow.string())
        return self.quoted(compute.fill_null(column, ""))


def _write_text(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow = need("pyarrow", "Text tables")
    source = frame.source
    is_edit = frame.is_whole and source.rows is not None and inner_suffix(source.path) == inner_suffix(output)
    blocks = _edited(matrices, frame) if is_edit else _lines(matrices, frame, _Style.of(source, output))
    with arrow.output_stream(str(path), compression=compression_of(output)) as file:
        for block in blocks:
            file.write(block)


def _edited(matrices: Iterator[Array], frame: Frame) -> Iterator[bytes]:
    """The table byte for byte but for new cells."""
    rows, formats, changed = frame.source.rows, frame.source.layout.formats, frame.changed
    assert rows is not None
    texts = lambda matrix: {place: formats[place].texts(matrix[:, column]) for place, column in changed.items()}
    rewriter = Rewriter(rows, formats, frame.gaps is not None)
    return rewriter.blocks((len(matrix), texts(matrix)) for matrix in matrices)


def _lines(matrices: Iterator[Array], frame: Frame, style: _Style) -> Iterator[bytes]:
    arrow, compute = need("pyarrow"), need("pyarrow.compute")
    encode = codecs.getincrementalencoder(style.encoding)().encode
    # A function, so that its columns are gone when the next ones are made.
    joined = lambda columns: (
        compute.binary_join_element_wise(*columns, style.delimiter) if len(columns) > 1 else columns[0]
    )
    for line in (frame.names, frame.units):
        if line is not None:
            yield encode(style.delimiter.join(style.quoted(arrow.array(line, arrow.string())).to_pylist()) + "\n")
    for batch in frame.batches(matrices):
        lines = joined([cells.texts(style) for cells in batch])
        if len(lines):
            yield encode("\n".join(lines.to_pylist()) + "\n")


def _write_parquet(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    source = frame.source
    names = frame.names or [f"x{number}" for number in range(len(frame.values))]
    names = [name or f"row names {number + 1}".removesuffix(" 1") for number, name in enumerate(names)]
    schema = source.schema if frame.is_whole else None
    compression = "snappy" if schema is None else compression_of_parquet(source.path)
    types: dict[int, Any] = {}
    writer = None
    try:
        for batch in frame.batches(matrices):
            columns = [cells.typed(types, place) for place, cells in enumerate(batch)]
            like = {"names": names} if schema is None else {"schema": schema}
            rows = arrow.RecordBatch.from_arrays(columns, **like)
            writer = writer or parquet.ParquetWriter(path, rows.schema, compression=compression)
            writer.write_batch(rows)
    finally:
        if writer is not None:
            writer.close()


def _write_excel(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    source = frame.source
    if frame.is_whole and source.sheet is not None:
        write_cells(source.path, path, source.sheet, _changed_cells(matrices, frame, source.sheet))
        return
    openpyxl = need("openpyxl", "Excel files")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    for line in (frame.names, frame.units):
        if line is not None:
            sheet.append(line)
    types: dict[int, Any] = {}
    for batch in frame.batches(matrices):
        for row in zip(*(cells.typed(types, place).to_pylist() for place, cells in enumerate(batch))):
            sheet.append([_no_formula(sheet, value) for value in row])
    with open(path, "wb") as file:
        book.save(file)


def _changed_cells(matrices: Iterator[Array], frame: Frame, sheet: Sheet) -> Iterator[Change]:
    """The cells of a sheet that get new values, which are text where all others of the column are."""
    row = sheet.first_row
    for batch in frame.batches(matrices):
        new = {place: _new_values(cells, sheet, row, place) for place, cells in enumerate(batch) if cells.form}
        for values in zip(*new.values()):
            yield from ((row, place, value) for place, value in zip(new, values) if value is not None)
            row += 1


def _new_values(cells: Cells, sheet: Sheet, first: int, place: int) -> list[Any]:
    """The values for cells of a column from some row on, of the types that they had, and None for those that stay."""
    if cells.numbers is None or cells.form is None:
        return [None] * len(cells.there)
    texts, numbers = cells.form.texts(cells.numbers), cells.form.rounded(cells.numbers).tolist()
    are_new = gaps_of(cells.there, cells.form).to_pylist() if cells.only_gaps else [True] * len(texts)
    # Cells that were empty, or errors, become what the others are.
    common = next(iter(sheet.columns[place])) if len(sheet.columns[place]) == 1 else NUMBER
    known = (kinds[place] for kinds in sheet.kinds[first : first + len(texts)])
    kinds = (common if kind in (NOTHING, ERROR) else kind for kind in known)
    values = map(partial(_typed, isinstance(cells.form, Words)), kinds, texts, numbers)
    return [value if is_new and text else None for value, is_new, text in zip(values, are_new, texts)]


def _typed(is_word: bool, kind: str, text: str, number: float) -> Any:
    """A value for a cell of some kind."""
    if kind == TRUTH and text.lower() in TRUTHS:
        return bool(TRUTHS[text.lower()])
    return text if is_word or kind == TEXT else number


def _no_formula(sheet: Any, value: Any) -> Any:
    """A text that begins as formulas do stays a text."""
    if not (isinstance(value, str) and value.startswith("=")):
        return value
    cell = need("openpyxl.cell").WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
