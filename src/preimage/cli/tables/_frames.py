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
from preimage.cli.tables._encodings import compression_of
from preimage.cli.tables._excel import INSTALL
from preimage.cli.tables._filled import Filled, first_truth
from preimage.cli.tables._formats import inner_suffix
from preimage.cli.tables._numbers import Kind, NumberFormat
from preimage.cli.tables._optional import need
from preimage.cli.tables._sources import Source
from preimage.cli.tables._texts import NotANumber, Numbers

# Formats that have room for columns other than numbers.
FRAMES = (".csv", ".parquet", ".xlsx")
_SUFFIX_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".csv": ","}


@dataclass(frozen=True)
class Frame:
    """The columns of an output, in their order.

    Attributes
    ----------
    names : list of str or None
        The header.
    values : list of int or None
        For each column of the output the column of the result; None for those that are copied.
    source : Source or None
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
    source: Source | None = None
    copied: list[int] = field(default_factory=list)
    units: list[str] | None = None
    gaps: list[int] | None = None
    rounded: bool = False
    codes: tuple[int, ...] = ()
    truths: dict[int, str] = field(default_factory=dict)

    @classmethod
    def plain(cls, names: list[str] | None, width: int) -> "Frame":
        """The columns of a result alone."""
        return cls(names, list(range(width)))

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
        """All columns of a table as they are, but for gaps in those with values, where the result stands.

        Parameters
        ----------
        source : Source
        gaps : list of int
            Columns of the result that have gaps in the table.
        rounded : bool
            Whether numbers in the gaps of columns of whole numbers are whole.
        codes : tuple of int
            Columns of the result that are categories.
        """
        whole = cls.of_whole(source)
        places = [place for place in source.layout.taken if source.layout.kinds[place] is Kind.TRUTH]
        truths = {place: first_truth(source.columns([place])) for place in places}
        copied = list(range(len(whole.values)))
        return replace(whole, copied=copied, gaps=gaps, rounded=rounded, codes=codes, truths=truths)

    @classmethod
    def next_to_kept(cls, source: Source, names: list[str]) -> "Frame":
        """The index and kept columns of a table, and the result under new names."""
        layout = source.layout
        kept = [layout.labels[place] if layout.names is None else layout.names[place] for place in layout.copied]
        values: list[int | None] = [*(None for _ in layout.copied), *range(len(names))]
        return cls([*kept, *names], values, source, list(layout.copied))

    def batches(self, matrices: Iterator[Array]) -> Iterator[list[Any]]:
        """Columns of the output, some rows at a time: NumPy's of the result, pyarrow's of the table, or `Filled`."""
        rows = self._copied_rows() if self.copied and self.source is not None else None
        for matrix in matrices:
            others = [] if rows is None else rows.take(len(matrix))
            if self.gaps is not None:
                yield [self._filled(place, there, matrix) for place, there in enumerate(others)]
            else:
                copied = iter(others)
                yield [next(copied) if column is None else matrix[:, column] for column in self.values]

    def _filled(self, place: int, there: Any, matrix: Array) -> Any:
        column = self.values[place]
        if column is None:
            return there
        assert self.source is not None and self.gaps is not None
        kind, numbers = self.source.layout.kinds[place], self.source.numbers
        truth = self.truths.get(place, "true")
        is_whole = self.rounded or column in self.codes
        return Filled(there, matrix[:, column], kind, numbers, column in self.gaps, is_whole, truth)

    def _copied_rows(self) -> "_Rows":
        assert self.source is not None
        return _Rows(self.source.columns(self.copied), len(self.copied))


class _Rows:
    """Batches of columns, taken in any number of rows."""

    def __init__(self, batches: Iterator[list[Any]], width: int) -> None:
        self.batches = batches
        self.held: list[Any] = []
        self.count = 0
        self.width = width

    def take(self, rows: int) -> list[Any]:
        arrow = need("pyarrow", "Tables")
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
        return [arrow.concat_arrays([part[place] for part in parts]) for place in range(self.width)]


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
    def of(cls, frame: Frame, output: Path) -> "_Style":
        dialect = None if frame.source is None else frame.source.layout.dialect
        suffix = inner_suffix(output)
        if dialect is None or frame.source is None or inner_suffix(frame.source.path) != suffix:
            return cls(_SUFFIX_DELIMITERS.get(suffix, "\t"))
        return cls(dialect.delimiter, dialect.numbers.decimal, dialect.encoding, is_own=True)

    def quoted(self, texts: Any) -> Any:
        """Texts between quotes where they need them."""
        compute = need("pyarrow.compute", "Tables")
        # Between blanks, which stand for tabs too, nothing at all would be no value.
        marks = r"[ \t]|^$" if self.delimiter == " " else re.escape(self.delimiter)
        special = compute.match_substring_regex(texts, rf'["\n\r]|{marks}')
        if not compute.any(special).as_py():
            return texts
        doubled = compute.replace_substring(texts, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), texts)

    def texts(self, column: Any) -> Any:
        """A column as texts, as they stand in the file."""
        arrow, compute = need("pyarrow", "Tables"), need("pyarrow.compute", "Tables")
        if isinstance(column, Filled):
            return self._filled(column)
        if isinstance(column, np.ndarray):
            texts = compute.cast(arrow.array(np.ascontiguousarray(column)), arrow.string())
            return texts if self.decimal == "." else compute.replace_substring(texts, ".", self.decimal)
        if not arrow.types.is_string(column.type):
            column = compute.cast(column, arrow.string())
        return self.quoted(compute.fill_null(column, ""))

    def _filled(self, column: Filled) -> Any:
        """Texts of the table where it has some, numbers in its gaps."""
        if not column.is_text:
            return self.texts(column.typed())
        if column.kind is Kind.TRUTH:
            new = column.words()
        else:
            new = self.texts(column.numbers)
            # Numbers between others that are written in another way would be read as something else.
            if column.format.decimal != self.decimal or (column.format.thousands and not self.is_own):
                return new
        return need("pyarrow.compute", "Tables").if_else(column.gaps(), new, self.texts(column.there))


def _write_text(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow, compute = need("pyarrow", "Text tables"), need("pyarrow.compute", "Text tables")
    style = _Style.of(frame, output)
    encode = codecs.getincrementalencoder(style.encoding)().encode
    joined = lambda columns: compute.binary_join_element_wise(*columns, style.delimiter)
    with arrow.output_stream(str(path), compression=compression_of(output)) as file:
        for line in (frame.names, frame.units):
            if line is not None:
                texts = style.quoted(arrow.array(line, arrow.string())).to_pylist()
                file.write(encode(style.delimiter.join(texts) + "\n"))
        for batch in frame.batches(matrices):
            lines = joined([style.texts(column) for column in batch]) if len(batch) > 1 else style.texts(batch[0])
            if len(lines):
                file.write(encode("\n".join(lines.to_pylist()) + "\n"))


def _write_parquet(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    arrow, parquet = need("pyarrow", "Parquet files"), need("pyarrow.parquet", "Parquet files")
    names = frame.names or [f"x{number}" for number in range(len(frame.values))]
    names = [name or f"row names {number + 1}".removesuffix(" 1") for number, name in enumerate(names)]
    typed, writer = _Types(frame), None
    try:
        for batch in frame.batches(matrices):
            columns = typed(batch)
            rows = arrow.RecordBatch.from_arrays(columns, names=names)
            writer = writer or parquet.ParquetWriter(path, rows.schema)
            writer.write_batch(rows)
    finally:
        if writer is not None:
            writer.close()


class _Types:
    """Columns with types: texts of numbers become numbers, whole ones if the first batch has no others."""

    def __init__(self, frame: Frame) -> None:
        self.kinds: list[Kind | None] = []
        copied = iter(frame.copied)
        for column in frame.values:
            place = next(copied) if column is None or frame.gaps is not None else None
            self.kinds.append(None if place is None or frame.source is None else frame.source.layout.kinds[place])
        dialect = None if frame.source is None else frame.source.layout.dialect
        self.numbers = NumberFormat() if dialect is None else dialect.numbers
        self.types: dict[int, Any] = {}

    def __call__(self, batch: list[Any]) -> list[Any]:
        return [self._typed(place, kind, column) for place, (kind, column) in enumerate(zip(self.kinds, batch))]

    def _typed(self, place: int, kind: Kind | None, column: Any) -> Any:
        arrow, compute = need("pyarrow", "Tables"), need("pyarrow.compute", "Tables")
        if isinstance(column, Filled):
            if column.has_gaps or not column.is_text or column.kind is Kind.TRUTH:
                return column.typed()
            column = column.there
        if isinstance(column, np.ndarray):
            return arrow.array(np.ascontiguousarray(column))
        if kind is not Kind.NUMBER or not arrow.types.is_string(column.type):
            return column
        if place not in self.types:
            trimmed = compute.utf8_trim_whitespace(column)
            is_whole = compute.all(compute.match_substring_regex(trimmed, r"^-?\d{1,18}$")).as_py()
            self.types[place] = arrow.int64() if is_whole else arrow.float64()
        try:
            if self.types[place] == arrow.int64():
                return compute.cast(compute.utf8_trim_whitespace(column), arrow.int64())
            return arrow.array(Numbers(self.numbers, kind)(column), from_pandas=True)
        except (NotANumber, arrow.ArrowInvalid) as error:
            raise FileError(f"A column that begins with numbers has also {error}; write to .csv instead.") from error


def _write_excel(path: Path, matrices: Iterator[Array], frame: Frame, output: Path) -> None:
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(INSTALL) from error
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    for line in (frame.names, frame.units):
        if line is not None:
            sheet.append(line)
    typed = _Types(frame)
    for batch in frame.batches(matrices):
        for row in zip(*(column.to_pylist() for column in typed(batch))):
            sheet.append([_no_formula(sheet, value) for value in row])
    with open(path, "wb") as file:
        book.save(file)


def _no_formula(sheet: Any, value: Any) -> Any:
    """A text that begins as formulas do stays a text."""
    if not (isinstance(value, str) and value.startswith("=")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
