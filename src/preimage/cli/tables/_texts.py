"""Columns of a text table: read by pyarrow as they are written, and turned into numbers."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.typing import Array
from preimage.cli._errors import DataError, FileError
from preimage.cli.tables._dialect import Dialect
from preimage.cli.tables._encodings import decoded, raw_blocks
from preimage.cli.tables._lines import Stream, single_blanks, whole_lines, without_comments, without_first, without_last
from preimage.cli.tables._numbers import TRUTHS, Kind, NumberFormat
from preimage.cli.tables._optional import need
from preimage.cli.tables._separators import cells_of

# Bytes that are parsed together.
PARSED = 2**20

# From the number of a row, counted from 1, to words for it.
Where: TypeAlias = Callable[[int], str]


def text_columns(path: Path, dialect: Dialect, first_line: int, width: int, places: list[int]) -> Iterator[list[Any]]:
    """Batches of the rows of a file: one pyarrow array of texts for each column in `places`.

    Parameters
    ----------
    path : Path
    dialect : Dialect
    first_line : int
        Lines before the first row.
    width : int
        Number of columns of the file.
    places : list of int
    """
    arrow, csv = need("pyarrow", "Text tables"), need("pyarrow.csv", "Text tables")
    names = [str(place) for place in range(width)]
    picked = list(dict.fromkeys(names[place] for place in places))
    ragged = _Ragged(first_line, dialect)
    file = io.BufferedReader(Stream(lines_of_rows(path, dialect, first_line, width)), PARSED)
    try:
        reader = csv.open_csv(
            file,
            # One thread: several read ahead without bound, and do not know row numbers.
            read_options=csv.ReadOptions(block_size=_parsed_at_once(width), use_threads=False, column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote,
                newlines_in_values=True,
                invalid_row_handler=ragged,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(picked, arrow.string()),
                include_columns=picked,
                strings_can_be_null=False,
            ),
        )
        for batch in reader:
            if batch.num_rows:
                yield [batch.column(names[place]) for place in places]
    except arrow.ArrowInvalid as error:
        if ragged.message:
            raise DataError(ragged.message) from error
        if "Empty CSV" in str(error):
            return
        if "UTF8" in str(error):
            raise FileError(f"its bytes are not {dialect.encoding}. Try --encoding latin-1.") from error
        raise FileError(" ".join(str(error).split())) from error


def lines_of_rows(path: Path, dialect: Dialect, first_line: int, width: int = 0) -> Iterator[bytes]:
    """The lines of the rows of a file, as the parser wants them; comments that may be rows of `width` are refused."""
    blocks = without_first(whole_lines(decoded(raw_blocks(path), dialect.encoding)), first_line)
    if dialect.comment:
        blocks = without_comments(blocks, dialect.comment, lambda line: _check_comment(line, dialect, width))
    if dialect.delimiter == " ":
        blocks = single_blanks(blocks)
    return without_last(blocks, dialect.skip_footer, dialect.delimiter)


def _check_comment(line: str, dialect: Dialect, width: int) -> None:
    """Refuse a line that begins like a comment, unless the user said that it is one, and has the values of a row."""
    cells, numbers = cells_of([line], dialect.delimiter, dialect.quote)[0], dialect.numbers
    others = cells[1:] or [cells[0].strip().removeprefix(dialect.comment)]
    if len(cells) == width and not dialect.is_comment_given and any(map(numbers.is_number, others)):
        raise FileError(
            f"the line {line.strip()[:60]!r} may be a comment, or a row. Say --comment '{dialect.comment}' to leave "
            "such lines out, or --comment none to take them."
        )


def _parsed_at_once(width: int) -> int:
    """Bytes of a block, in which at least one whole row must fit."""
    return max(PARSED, 64 * width)


class _Ragged:
    """What to do with a line that has too few or too many values."""

    def __init__(self, first_line: int, dialect: Dialect) -> None:
        self.first_line = first_line
        self.dialect = dialect
        self.message = ""

    def __call__(self, row: Any) -> str:
        if self.dialect.skip_ragged:
            return "skip"
        where = "a line" if row.number is None else line_of(row.number, self.first_line, self.dialect)
        self.message = (
            f"{where} has {row.actual_columns} values; {row.expected_columns} are needed. If the table ends there, "
            "leave out the last N lines with --skip-footer N; --skip-ragged leaves out all such lines."
        )
        return "error"


def line_of(row: int, first_line: int, dialect: Dialect) -> str:
    """A row, counted from 1, as a line of the file; where lines are left out, as a row."""
    return f"row {row}" if dialect.comment or dialect.skip_ragged else f"line {row + first_line}"


class Numbers:
    """Texts of one column as numbers; missing ones are NaN."""

    def __init__(self, numbers: NumberFormat, kind: Kind) -> None:
        self.arrow = need("pyarrow", "Text tables")
        self.compute = need("pyarrow.compute", "Text tables")
        self.numbers = numbers
        self.kind = kind

    def __call__(self, texts: Any) -> Array:
        """The numbers, or a `NotANumber`."""
        is_plain = self.kind is Kind.NUMBER and self.numbers.decimal == "." and not self.numbers.thousands
        if is_plain:
            try:
                return self._cast(texts)
            except self.arrow.ArrowInvalid:  # blanks, missing values, or something that is no number
                pass
        texts = self.compute.utf8_trim_whitespace(texts)
        missing = self.compute.is_in(texts, value_set=self.arrow.array(self.numbers.missing, self.arrow.string()))
        texts = self.compute.if_else(missing, self.arrow.scalar(None, self.arrow.string()), texts)
        if self.kind is Kind.TRUTH:
            return self._truths(texts)
        is_number = self.compute.match_substring_regex(texts, f"^{self.numbers.pattern}$")
        self._refuse(texts, is_number)
        if self.numbers.thousands:
            texts = self.compute.replace_substring(texts, self.numbers.thousands, "")
        if self.numbers.decimal != ".":
            texts = self.compute.replace_substring(texts, self.numbers.decimal, ".")
        return self._cast(texts)

    def _cast(self, texts: Any) -> Array:
        return np.asarray(self.compute.cast(texts, self.arrow.float64()).to_numpy(zero_copy_only=False), dtype=float)

    def _truths(self, texts: Any) -> Array:
        lower = self.compute.utf8_lower(texts)
        self._refuse(texts, self.compute.is_in(lower, value_set=self.arrow.array(list(TRUTHS))))
        return np.where(
            lower.is_null().to_numpy(zero_copy_only=False), np.nan, [v == "true" for v in lower.to_pylist()]
        )

    def _refuse(self, texts: Any, is_good: Any) -> None:
        bad = self.compute.and_not(self.compute.is_valid(texts), self.compute.fill_null(is_good, True))
        row = self.compute.index(bad, True).as_py()
        if row >= 0:
            raise NotANumber(row, texts[row].as_py())


class NotANumber(Exception):
    """A text that should be a number, and its place in its batch."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row = row
        self.text = text


def text_matrices(
    batches: Iterator[list[Any]], numbers: NumberFormat, kinds: list[Kind], labels: list[str], where: Where
) -> Iterator[Array]:
    """Batches of columns of texts as matrices; `kinds` and `labels` are those of the columns."""
    convert, row = [Numbers(numbers, kind) for kind in kinds], 0
    for batch in batches:
        columns: list[Array] = []
        try:
            for to_numbers, texts in zip(convert, batch):
                columns.append(to_numbers(texts))
        except NotANumber as error:
            label = labels[len(columns)]
            raise DataError(
                f"{where(row + error.row + 1)}, column {label!r}: {error.text!r} is not a number. If it stands for a "
                f"missing value, add --missing {error.text!r}; or leave the column out: --exclude {label}"
            ) from error
        yield np.column_stack(columns)
        row += len(columns[0])
