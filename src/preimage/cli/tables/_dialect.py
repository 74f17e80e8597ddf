"""What a text table is: guessed from its beginning, or given by the user."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from preimage.cli._errors import FileError
from preimage.cli.tables._encodings import check_encoding, guess_encoding, open_bytes, unified
from preimage.cli.tables._formats import inner_suffix
from preimage.cli.tables._headers import has_units, is_header
from preimage.cli.tables._lines import check_length, check_values, comment_pattern, lines_of, whole_lines, without_last
from preimage.cli.tables._numbers import MISSING, NumberFormat
from preimage.cli.tables._separators import (
    LINES,
    Table,
    cells_of,
    guess_delimiter,
    guess_number_format,
    numbered_cells,
)
from preimage.cli.tables._table_options import NO_COMMENT, TableOptions

# Bytes and lines at the beginning of a file from which everything is guessed, and the most bytes where lines are long.
FEWEST_BYTES, FEWEST_LINES, MOST_BYTES = 2**17, 20, 2**24
COMMENTS = ("#", "%")
SUFFIXES = {".tsv": "\t", ".tab": "\t"}
# Words for delimiters that are hard to type.
DELIMITER_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " ", "blanks": " ", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text.

    Attributes
    ----------
    encoding : str
    delimiter : str
        A blank stands for any run of blanks and tabs.
    quote : str
    comment : str
        What begins lines that are left out; empty for nothing.
    numbers : NumberFormat
    skip_footer : int or None
        Lines after the table; None for none, and a last line that looks like a total is refused.
    skip_ragged : bool
    is_comment_given : bool
        Whether the user said what begins comments.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    comment: str = ""
    numbers: NumberFormat = field(default_factory=NumberFormat)
    skip_footer: int | None = None
    skip_ragged: bool = False
    is_comment_given: bool = False


@dataclass(frozen=True)
class Beginning:
    """The first rows of a text table, and how it is written.

    Attributes
    ----------
    dialect : Dialect
    names : list of str or None
        The header; the name of a column may be empty.
    units : list of str or None
        A line of words below the header.
    rows : list of list of str
        The first rows, all of one length.
    first_line : int
        Lines of the file before the first row.
    is_whole : bool
        Whether there are no more rows.
    """

    dialect: Dialect
    names: list[str] | None
    units: list[str] | None
    rows: list[list[str]]
    first_line: int
    is_whole: bool

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else len(self.names or [])


def read_beginning(path: Path, options: TableOptions) -> Beginning:
    """The beginning of a text file, understood."""
    start, is_whole = _first_bytes(path)
    encoding = guess_encoding(start) if options.encoding is None else check_encoding(options.encoding)
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        text = unified(decoder.decode(start, final=is_whole).encode()).decode()
    except UnicodeError as error:
        raise FileError(f"its bytes are not {encoding}. Leave --encoding out, or give another one.") from error
    if "\0" in text:
        raise FileError("it has zero bytes, so it is no text; it may be damaged, or of another format.")
    lines = lines_of(text)
    if not is_whole and len(lines) > 1:
        lines.pop()  # it may be cut off
    if not any(line.strip() for line in lines):
        raise FileError("it is empty.")
    check_values(lines)
    return understand(lines, is_whole, options, encoding, inner_suffix(path))


def understand(
    lines: list[str], is_whole: bool, options: TableOptions, encoding: str = "utf-8", suffix: str = ""
) -> Beginning:
    """What the first lines of a table say about it; the suffix of its name may say what separates values."""
    skipped, hint = _skipped(lines, options)
    body = lines[skipped:]
    comment = _comment(body) if options.comment is None else "" if options.comment == NO_COMMENT else options.comment
    quote = "'" if _has_single_quotes(body) else '"'
    plain = [
        (skipped + place, line)
        for place, line in enumerate(body)
        if line.strip() and not (comment and re.match(comment_pattern(comment), line))
    ]
    if not plain:
        raise FileError("it has no lines but comments.")
    shown = [line for _, line in plain]
    delimiter = _given_delimiter(options) or hint or guess_delimiter(shown, quote, SUFFIXES.get(suffix, ""))
    if is_whole:
        blocks = whole_lines(iter(["".join(shown).encode()]))
        shown = lines_of(b"".join(without_last(blocks, options.skip_footer, delimiter)).decode())
    numbered = [(plain[place][0], cells) for place, cells in numbered_cells(shown, delimiter, quote)]
    if not numbered:
        raise FileError("it is empty.")
    table = Table.of([cells for _, cells in numbered[:LINES]])
    dialect = Dialect(encoding, delimiter, quote, comment, NumberFormat(), options.skip_footer, options.skip_ragged)
    dialect = replace(dialect, is_comment_given=options.comment is not None)
    above = 0
    if options.skip is None and table.first:
        above = table.first - _has_short_header(numbered, table, delimiter, options)
    draft = _Draft(dialect, numbered[above:], table.width, is_whole, options)
    found = _with_names(draft, _commented_names(body, dialect, table))
    if above and found.names is None and options.header is None:
        _check_preamble(numbered[above - 1], numbered[above], table)
    return found


def _check_preamble(last: tuple[int, list[str]], first: tuple[int, list[str]], table: Table) -> None:
    """Refuse a table without names right below a line that may have them, although it has another number."""
    if len(last[1]) > 1 and first[0] == last[0] + 1:
        raise FileError(
            f"line {last[0] + 1} has {len(last[1])} values, and {table.width} are below it: names, of which some are "
            f"missing or hold the delimiter? Correct that line, or read the rows without names: --skip {first[0]} "
            "--no-header"
        )


@dataclass(frozen=True)
class _Draft:
    """Rows of a table, each with the number of lines before it, of which the header is not known yet."""

    dialect: Dialect
    numbered: list[tuple[int, list[str]]]
    width: int
    is_whole: bool
    options: TableOptions


def _with_names(draft: _Draft, commented: list[str] | None) -> Beginning:
    options, rows = draft.options, _regular([cells for _, cells in draft.numbered], draft.width)
    numbers = _numbers(rows[1:] or rows, draft.dialect.delimiter, options)
    dialect = replace(draft.dialect, numbers=numbers)
    header = options.header
    if header is None:
        header = False if commented is not None else is_header(rows[0], rows[1:], numbers)
        header = True if header is None and has_units(rows[0], rows[1:], numbers) else header
    if header is None:
        raise FileError(
            f"its first line, {_shown(rows[0])}, may have the names of the columns, or be the first row. "
            "Say --header or --no-header."
        )
    names = [cell.strip() for cell in rows[0]] if header else commented if options.header is None else None
    rows = rows[1:] if header else rows
    units = None
    if header and names is not None and has_units(names, rows, numbers):
        _check_one_header(names, rows[0], draft.numbered)
        units, rows = rows[0], rows[1:]
    above = int(header) + (units is not None)
    last = draft.numbered[-1][0] + 1
    first_line = draft.numbered[above][0] if above < len(draft.numbered) else last
    return Beginning(dialect, names, units, rows, first_line, draft.is_whole)


def _check_one_header(names: list[str], below: list[str], numbered: list[tuple[int, list[str]]]) -> None:
    """Refuse two lines of names, as pandas writes several levels of columns."""
    named = [name for name in names if name]
    if len(set(named)) < len(named):
        raise FileError(
            f"it has two lines of names, {_shown(names)} and {_shown(below)}. Say --skip {numbered[1][0]} to take the "
            "second one."
        )


def _first_bytes(path: Path) -> tuple[bytes, bool]:
    """Bytes of the beginning, decompressed, and whether these are all."""
    found = b""
    with open_bytes(path) as file:
        while True:
            block = bytes(file.read(FEWEST_BYTES))
            found += block
            ends = found.count(b"\n") + found.count(b"\r")
            check_length(len(found) - 1 - max(found.rfind(b"\n"), found.rfind(b"\r")))
            if not block:
                return found, True
            if len(found) >= MOST_BYTES or (len(found) >= FEWEST_BYTES and ends > FEWEST_LINES):
                return found, not file.read(1)


def _skipped(lines: list[str], options: TableOptions) -> tuple[int, str | None]:
    """Lines before the table that are known at once, and the delimiter of a line such as Excel's "sep=;"."""
    if options.skip is not None:
        return min(options.skip, len(lines)), None
    found = re.fullmatch(r'"?sep=(.)"?', lines[0].strip("\n"))
    return (1, found[1]) if found else (0, None)


def _comment(lines: list[str]) -> str:
    """What begins comments: a sign that some lines begin with, but fewer than half."""
    shown = [line for line in lines if line.strip()]
    for sign in COMMENTS:
        count = sum(re.match(comment_pattern(sign), line) is not None for line in shown)
        if count and (2 * count < len(shown) or len(shown) - count < 3):
            return sign if count < len(shown) else ""
    return ""


def _has_single_quotes(lines: list[str]) -> bool:
    """Whether values stand between single quotes, and none between double ones."""
    return not any('"' in line for line in lines) and any(
        re.search(r"(?:^|[,;\t| ])'[^']*'(?:[,;\t| ]|$)", line.strip("\n")) for line in lines
    )


def _has_short_header(
    numbered: list[tuple[int, list[str]]], table: Table, delimiter: str, options: TableOptions
) -> bool:
    """Whether the line before the table has a name for every column but one: R does so, where rows have names."""
    rows = [cells for _, cells in numbered[table.first : LINES] if len(cells) == table.width]
    if len(numbered[table.first - 1][1]) != table.width - 1 or table.width == 1:
        return False
    return is_header(rows[0], rows[1:], _numbers(rows[1:] or rows, delimiter, options)) is not True


def _regular(rows: list[list[str]], width: int) -> list[list[str]]:
    """Rows of `width` values; a header that lacks one gets an empty name at the right end."""
    if len(rows[0]) == width - 1 and len(rows) > 1:
        last_is_empty = all(not row[-1].strip() for row in rows[1:] if len(row) == width)
        rows = [[*rows[0], ""] if last_is_empty else ["", *rows[0]], *rows[1:]]
    return [row for row in rows if len(row) == width]


def _commented_names(lines: list[str], dialect: Dialect, table: Table) -> list[str] | None:
    """The names in the last comment before the table, if it has as many as there are columns."""
    if not dialect.comment or table.first:
        return None
    last = None
    for line in lines:
        if not line.lstrip().startswith(dialect.comment):
            if line.strip():
                break
            continue
        last = line
    if last is None:
        return None
    cells = cells_of([re.sub(rf"^\s*(?:{re.escape(dialect.comment)})+[ \t]*", "", last)], dialect.delimiter)
    names = [cell.strip() for cell in cells[0]] if cells else []
    if len(names) != table.width or any(NumberFormat().is_number(name) for name in names):
        return None
    return [names[0] or dialect.comment, *names[1:]]


def _given_delimiter(options: TableOptions) -> str | None:
    if options.delimiter is None:
        return None
    given = DELIMITER_WORDS.get(options.delimiter, options.delimiter)
    if len(given) != 1:
        raise FileError(f"--delimiter {options.delimiter} is not one character. Use , ; tab or space, say.")
    return given


def _numbers(rows: Sequence[Sequence[str]], delimiter: str, options: TableOptions) -> NumberFormat:
    missing = (*MISSING, *options.missing)
    if options.decimal is None and options.thousands is None:
        return guess_number_format((cell for row in rows for cell in row), delimiter, missing)
    decimal = options.decimal or ("." if options.thousands != "." else ",")
    if decimal not in (".", ",") or decimal == options.thousands:
        raise FileError("--decimal is . or , and differs from --thousands.")
    return NumberFormat(decimal, options.thousands or "", missing)


def _shown(cells: Sequence[str]) -> str:
    text = ", ".join(cells[:6]) + (", ..." if len(cells) > 6 else "")
    return repr(text)
