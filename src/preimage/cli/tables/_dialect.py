"""What a text table is: separators, numbers and names, guessed from its beginning or given by the user."""

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from preimage.cli._errors import FileError
from preimage.cli._options import NONE, TableOptions
from preimage.cli.tables._conventions import convention_of, with_first
from preimage.cli.tables._delimiters import DOT, LINES, Table, guess_delimiter
from preimage.cli.tables._headers import are_two_headers, has_units, is_header
from preimage.cli.tables._numbers import NumberFormat
from preimage.cli.tables._paths import inner_suffix
from preimage.cli.tables._text import (
    COMMENTS,
    ZERO_BYTES,
    Dialect,
    cells_of,
    check_length,
    check_values,
    comment_test,
    guess_encoding,
    lines_of,
    numbered_cells,
    open_bytes,
    row_pattern,
    unified,
    whole_lines,
    without_last,
)
from preimage.cli.tables._titles import check_preamble, count_titles, first_cells, has_short_header
from preimage.cli.tables._totals import check_last, check_subtotals

# Bytes and lines at the beginning of a file from which everything is guessed, and the most bytes where lines are long.
FEWEST_BYTES, FEWEST_LINES, MOST_BYTES = 2**17, 20, 2**24
SUFFIXES = {".tsv": "\t", ".tab": "\t"}
# Words for delimiters that are hard to type.
DELIMITER_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " ", "blanks": " ", "comma": ",", "semicolon": ";"}


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
    encoding = options.encoding or guess_encoding(start)
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
        text = unified(decoder.decode(start, final=is_whole).encode()).decode()
    except LookupError as error:
        raise FileError(f"--encoding {encoding} is unknown. Use utf-8, latin-1, cp1252 or utf-16, say.") from error
    except UnicodeError as error:
        raise FileError(f"its bytes are not {encoding}. Leave --encoding out, or give another one.") from error
    if "\0" in text:
        raise FileError(ZERO_BYTES)
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
    quote = "'" if _has_single_quotes(body) else '"'
    inner = _lines_within_values(body, (_given_delimiter(options) or hint or ",;\t|"), quote)
    outer = [line for place, line in enumerate(body) if place not in inner]
    comment = _comment(outer) if options.comment is None else "" if options.comment == NONE else options.comment
    is_comment = comment_test(comment)
    plain = [
        (skipped + place, line)
        for place, line in enumerate(body)
        if place in inner or (line.strip() and not is_comment(line))
    ]
    if not plain:
        raise FileError("it has no lines but comments.")
    # What begins no line here, and comments in other files: lines further down that it begins are asked about.
    is_late = options.comment is None and not is_whole and not comment
    late = "".join(sign for sign in COMMENTS if is_late and not any(line.lstrip().startswith(sign) for line in outer))
    shown = [line for _, line in plain]
    delimiter = _given_delimiter(options) or hint or guess_delimiter(shown, quote, SUFFIXES.get(suffix, ""))
    if is_whole:
        blocks = whole_lines(iter(["".join(shown).encode()]))
        shown = lines_of(b"".join(without_last(blocks, options.skip_footer, delimiter)).decode())
    numbered = [(plain[place][0], cells) for place, cells in numbered_cells(shown, delimiter, quote)]
    if not numbered:
        raise FileError("it is empty.")
    table, is_given = Table.of([cells for _, cells in numbered[:LINES]]), options.comment is not None
    footer, ragged = options.skip_footer, options.skip_ragged
    dialect = Dialect(encoding, delimiter, quote, comment, NumberFormat(), footer, ragged, is_given, late)
    above = 0
    if options.skip is None:
        is_short = table.first and has_short_header(numbered, table, lines, options)
        above = table.first - is_short
        above += 0 if is_short else count_titles(numbered[above : above + LINES], lines, table, dialect, options)
    commented = _commented_names(body, dialect, table)
    found = _with_names(dialect, numbered[above:], table.width, is_whole, options, commented)
    if options.comment is None:
        check_subtotals(line for place, line in plain if place >= found.first_line)
    if is_whole and options.skip_footer is None:
        check_last(found.rows, found.dialect.numbers)
    if above and found.names is None and options.header is None:
        check_preamble(numbered[above - 1], numbered[above], table)
    return found


def _with_names(
    dialect: Dialect,
    numbered: list[tuple[int, list[str]]],
    width: int,
    is_whole: bool,
    options: TableOptions,
    commented: list[str] | None,
) -> Beginning:
    """Rows, each with the number of lines before it, and the names among them, or those of a comment."""
    rows = _regular([cells for _, cells in numbered], width)
    below = convention_of(rows[1:] or rows, options)
    numbers = with_first(below, rows, options)
    header = options.header
    if len(rows) > 1 and header is not False and are_two_headers(rows, numbers):  # levels of pandas, merged cells
        raise FileError(
            f"it has two lines of names, {first_cells(rows[0])} and {first_cells(rows[1])}. Say --skip "
            f"{numbered[1][0]} to take the second one."
        )
    if header is None:
        header = is_header(rows[0], rows[1:], numbers)
        header = header is True if commented is not None else header
        header = True if header is None and has_units(rows[0], rows[1:], numbers) else header
    if header is None:
        raise FileError(
            f"its first line, {first_cells(rows[0])}, may have the names of the columns, or be the first row. "
            "Say --header or --no-header."
        )
    numbers = below if header else convention_of(rows, options)
    names = [cell.strip() for cell in rows[0]] if header else commented if options.header is None else None
    rows = rows[1:] if header else rows
    units = None
    if header and names is not None and has_units(names, rows, numbers):
        units, rows = rows[0], rows[1:]
    above = int(header) + (units is not None)
    first_line = numbered[above][0] if above < len(numbered) else numbered[-1][0] + 1
    numbers = replace(numbers, is_open=numbers.is_open and not is_whole)
    return Beginning(replace(dialect, numbers=numbers), names, units, rows, first_line, is_whole)


def _first_bytes(path: Path) -> tuple[bytes, bool]:
    """Bytes of the beginning, decompressed, and whether these are all."""
    found = b""
    with open_bytes(path) as file:
        while True:
            block = bytes(file.read(FEWEST_BYTES))
            found += block
            ends = max(found.count(b"\n"), found.count(b"\r"))
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
        count = sum(map(bool, map(comment_test(sign), shown)))
        if count and (2 * count < len(shown) or len(shown) - count < 3):
            return sign if count < len(shown) else ""
    return ""


def _lines_within_values(lines: list[str], delimiters: str, quote: str) -> set[int]:
    """The places of lines that begin between quotes."""
    if not any(quote in line for line in lines):
        return set()
    found, place = set[int](), 0
    text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    row = re.compile(row_pattern(delimiters, quote), re.M)
    start = 0
    while start < len(text):
        match = row.match(text, start)
        end = text.index("\n", start) + 1 if match is None else match.end()
        count = text.count("\n", start, end)
        found.update(range(place + 1, place + count))
        start, place = end, place + count
    return found


def _has_single_quotes(lines: list[str]) -> bool:
    """Whether values stand between single quotes, none begins with a double one or with one without end."""
    text = "".join(lines)
    # Between blanks stand quoted words of a sentence, unless nothing else separates values.
    marks = ",;\t|" if re.search(r"[,;\t|]", text) else " "
    # A value over several lines has no delimiter: apostrophes stand in words.
    value = rf"(?:^|(?<=[{marks}]))'(?:(?:[^'\n]|'')*|[^',;\t|]*)'(?=[{marks}]|$)"
    rest, count = re.subn(value, "", text, flags=re.M)
    return bool(count) and re.search(rf"(?:^|[{marks}])[\"']", rest, re.M) is None


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
    last = ""
    for line in filter(str.strip, lines):
        if not line.lstrip().startswith(dialect.comment):
            break
        last = line
    cells = cells_of([re.sub(rf"^\s*(?:{re.escape(dialect.comment)})+[ \t]*", "", last)], dialect.delimiter)
    names = [cell.strip() for cell in cells[0]] if last and cells else []
    are_words = any(name.endswith((":", ",", ".")) for name in names) and dialect.delimiter == " "
    # "Operator: A. Nobody, Berlin" is one entry of a protocol.
    are_words = are_words or [": " in name for name in names] == [True, *(False for _ in names[1:])]
    if len(names) != table.width or are_words or any(map(DOT.is_number, names)):
        return None
    return [names[0] or dialect.comment, *names[1:]]


def _given_delimiter(options: TableOptions) -> str | None:
    if options.delimiter is None:
        return None
    given = DELIMITER_WORDS.get(options.delimiter, options.delimiter)
    if len(given) != 1:
        raise FileError(f"--delimiter {options.delimiter} is not one character. Use , ; tab or space, say.")
    return given
