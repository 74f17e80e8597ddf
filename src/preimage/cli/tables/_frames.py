"""Results written next to columns of the table that they come from: text, Parquet and Excel."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import FileError
from preimage.cli.tables._columns import TRUTHS, Kind, NotANumber, NumberFormat
from preimage.cli.tables._paths import compression_of, inner_suffix, need
from preimage.cli.tables._sources import Source

_SUFFIX_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}
# A number in the gap of a column of truth values is the fraction of similar rows in which it is true.
TRUE_FROM = 0.5


@dataclass(frozen=True)
class Cells:
    """Some rows of a column of an output: values of the table, numbers of a result, or these in the gaps of those.

    Attributes
    ----------
    there : pyarrow array or None
        The column as it is in the table: texts, or values of some type.
    numbers : array of shape (rows,) or None
        Those of the result; where there are values of the table too, the same numbers, and others in the gaps.
    kind : Kind or None
        Of the column of the table.
    format : NumberFormat
        How its texts are written.
    has_gaps : bool
        Whether the column, in these rows or in others, has gaps.
    rounded : bool
        Whether numbers in the gaps of columns of whole numbers are whole.
    truth : str
        The first truth value of the column, if it is one of texts.
    """

    there: Any = None
    numbers: Array | None = None
    kind: Kind | None = None
    format: NumberFormat = NumberFormat()  # noqa: RUF009  a value that does not change
    has_gaps: bool = False
    rounded: bool = False
    truth: str = "true"

    @property
    def is_text(self) -> bool:
        return self.there is not None and need("pyarrow").types.is_string(self.there.type)

    def gaps(self) -> Any:
        """Where the table has no value, as a pyarrow array."""
        if self.is_text:
            assert self.kind is not None
            return need("pyarrow").array(np.isnan(self.format.values(self.there, self.kind)))
        return need("pyarrow.compute").is_null(self.there, nan_is_null=True)

    def typed(self, types: dict[int, Any], place: int) -> Any:
        """All rows with one type: that of the table where it holds the numbers, else double precision.

        Texts of numbers become numbers, whole ones if the first rows have no others: `types` remembers it by place.
        """
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        if self.there is None:
            return arrow.array(np.ascontiguousarray(self.numbers))
        if self.numbers is not None and self.kind is Kind.TRUTH:
            return arrow.array(self.numbers >= TRUE_FROM)
        if self.numbers is None or not self.has_gaps:
            return self._number_texts(types, place) if self.is_text and self.kind is Kind.NUMBER else self.there
        numbers, known = arrow.array(np.ascontiguousarray(self.numbers, dtype=float)), self.there.type
        if self.is_text or not (arrow.types.is_floating(known) or (self.rounded and arrow.types.is_integer(known))):
            return numbers
        new = compute.cast(compute.if_else(self.gaps(), numbers, None), known, safe=False)
        return compute.if_else(self.gaps(), new, self.there)

    def _number_texts(self, types: dict[int, Any], place: int) -> Any:
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        trimmed = compute.utf8_trim_whitespace(self.there)
        if place not in types:
            is_whole = compute.all(compute.match_substring_regex(trimmed, r"^-?\d{1,18}$")).as_py()
            types[place] = arrow.int64() if is_whole else arrow.float64()
        try:
            if types[place] == arrow.int64():
                return compute.cast(trimmed, arrow.int64())
            return arrow.array(self.format.values(self.there, Kind.NUMBER), from_pandas=True)
        except (NotANumber, arrow.ArrowInvalid) as error:
            raise FileError(f"A column that begins with numbers has also {error}; write to .csv instead.") from error

    def words(self) -> Any:
        """Texts for the gaps of a column of truth values, written as those that it has."""
        change = next((f for f in (str.lower, str.upper) if f(self.truth) == self.truth), str.capitalize)
        assert self.numbers is not None
        return need("pyarrow").array([change("true" if value >= TRUE_FROM else "false") for value in self.numbers])


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
    rounded : bool
        Whether numbers in the gaps of columns of whole numbers are whole.
    codes : tuple of int
        Columns of the result that are categories, whose gaps get values of the column.
    truths : dict of int to str
        For places of columns of truth values, the first of these, as it is written.
    """

    names: list[str] | None
    values: list[int | None]
    source: Source
    copied: list[int]
    units: list[str] | None = None
    gaps: list[int] | None = None
    rounded: bool = False
    codes: tuple[int, ...] = ()
    truths: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of_whole(cls, source: Source) -> "Frame":
        """All columns of a table, those with values replaced by the result."""
        layout = source.layout
        column = {place: number for number, place in enumerate(layout.taken)}
        values = [column.get(place) for place in range(len(layout.labels))]
        names = None if layout.names is None else list(layout.names)
        units = None if layout.units is None else list(layout.units)
        return cls(names, values, source, list(layout.untouched), units)

    @classmethod
    def of_filled(cls, source: Source, gaps: list[int], rounded: bool = False, codes: tuple[int, ...] = ()) -> "Frame":
        """All columns of a table as they are, but for gaps in those with values, where the result stands."""
        whole = cls.of_whole(source)
        places = [place for place in source.layout.taken if source.layout.kinds[place] is Kind.TRUTH]
        truths = {place: _first_truth(source.columns([place])) for place in places}
        copied = list(range(len(whole.values)))
        return replace(whole, copied=copied, gaps=gaps, rounded=rounded, codes=codes, truths=truths)

    @classmethod
    def next_to_kept(cls, source: Source, names: list[str]) -> "Frame":
        """The index and kept columns of a table, and the result under new names."""
        layout = source.layout
        kept = [layout.labels[place] if layout.names is None else layout.names[place] for place in layout.copied]
        values: list[int | None] = [*(None for _ in layout.copied), *range(len(names))]
        return cls([*kept, *names], values, source, list(layout.copied))

    def batches(self, matrices: Iterator[Array]) -> Iterator[list[Cells]]:
        """Columns of the output, some rows at a time."""
        rows = _Rows(self.source.columns(self.copied), len(self.copied)) if self.copied else None
        for matrix in matrices:
            copied = iter(zip(self.copied, [] if rows is None else rows.take(len(matrix))))
            yield [self._cells(column, copied, matrix) for column in self.values]

    def _cells(self, column: int | None, copied: Iterator[tuple[int, Any]], matrix: Array) -> Cells:
        if column is not None and self.gaps is None:
            return Cells(numbers=matrix[:, column])
        place, there = next(copied)
        cells = Cells(there, None, self.source.layout.kinds[place], self.source.numbers)
        if column is None or self.gaps is None:
            return cells
        is_whole, truth = self.rounded or column in self.codes, self.truths.get(place, "true")
        gaps = column in self.gaps
        return replace(cells, numbers=matrix[:, column], has_gaps=gaps, rounded=is_whole, truth=truth)


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


def _first_truth(batches: Iterator[list[Any]]) -> str:
    """The first truth value of batches of one column of texts, or "true"."""
    texts = (text.strip() for (column,) in batches for text in column.to_pylist() if isinstance(text, str))
    return next((text for text in texts if text.lower() in TRUTHS), "true")


def write_frame(path: Path, matrices: Iterator[Array], frame: Frame, kind: str, output: Path | None = None) -> None:
    """Write a result; `output` is the name that the file will have, where `path` is another one."""
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

    def texts(self, cells: Cells) -> Any:
        """A column as texts, as they stand in the file: those of the table where it has some, numbers elsewhere."""
        if cells.there is None:
            return self._numbers(cells.numbers)
        if cells.numbers is None:
            return self._values(cells.there)
        if not cells.is_text:
            return self._values(cells.typed({}, 0))
        if cells.kind is Kind.TRUTH:
            new = cells.words()
        else:
            new = self._numbers(cells.numbers)
            # Numbers between others that are written in another way would be read as something else.
            if cells.format.decimal != self.decimal or (cells.format.thousands and not self.is_own):
                return new
        return need("pyarrow.compute").if_else(cells.gaps(), new, self._values(cells.there))

    def _numbers(self, numbers: Any) -> Any:
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        texts = compute.cast(arrow.array(np.ascontiguousarray(numbers)), arrow.string())
        return texts if self.decimal == "." else compute.replace_substring(texts, ".", self.decimal)

    def _values(self, column: Any) -> Any:
        arrow, compute = need("pyarrow"), need("pyarrow.compute")
        if not arrow.types.is_string(column.type):
            column = compute.cast(column, arrow.string())
        return self.quoted(compute.fill_null(column, ""))


def _write_text(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow, compute = need("pyarrow", "Text tables"), need("pyarrow.compute", "Text tables")
    style = _Style.of(frame.source, output)
    encode = codecs.getincrementalencoder(style.encoding)().encode
    # A function, so that its columns are gone when the next ones are made.
    joined = lambda columns: (
        compute.binary_join_element_wise(*columns, style.delimiter) if len(columns) > 1 else columns[0]
    )
    with arrow.output_stream(str(path), compression=compression_of(output)) as file:
        for line in (frame.names, frame.units):
            if line is not None:
                texts = style.quoted(arrow.array(line, arrow.string())).to_pylist()
                file.write(encode(style.delimiter.join(texts) + "\n"))
        for batch in frame.batches(matrices):
            lines = joined([style.texts(cells) for cells in batch])
            if len(lines):
                file.write(encode("\n".join(lines.to_pylist()) + "\n"))


def _write_parquet(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = frame.names or [f"x{number}" for number in range(len(frame.values))]
    names = [name or f"row names {number + 1}".removesuffix(" 1") for number, name in enumerate(names)]
    types: dict[int, Any] = {}
    writer = None
    try:
        for batch in frame.batches(matrices):
            columns = [cells.typed(types, place) for place, cells in enumerate(batch)]
            rows = arrow.RecordBatch.from_arrays(columns, names=names)
            writer = writer or parquet.ParquetWriter(path, rows.schema)
            writer.write_batch(rows)
    finally:
        if writer is not None:
            writer.close()


def _write_excel(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
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


def _no_formula(sheet: Any, value: Any) -> Any:
    """A text that begins as formulas do stays a text."""
    if not (isinstance(value, str) and value.startswith("=")):
        return value
    cell = need("openpyxl.cell").WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
