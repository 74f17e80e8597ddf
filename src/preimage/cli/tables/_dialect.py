"""What a text table is: separators, numbers and names, guessed from its beginning or given by the user."""

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from preimage.cli._errors import FileError
from preimage.cli._options import NONE, TableOptions
from preimage.cli.tables._columns import counts_on, counts_rows, is_whole
from preimage.cli.tables._kinds import Kind, are_codes, are_dates, kind_of_numbers
from preimage.cli.tables._numbers import (
    BLANKS,
    GROUP,
    MINUS,
    MISSING,
    MONEY,
    THOUSANDS,
    TRUTHS,
    UNITS,
    WRITTEN,
    NumberFormat,
    ask_group,
    body_of,
)
from preimage.cli.tables._paths import inner_suffix
from preimage.cli.tables._text import (
    COMMENTS,
    ZERO_BYTES,
    Dialect,
    cells_of,
    check_length,
    check_values,
    comment_pattern,
    guess_encoding,
    lines_of,
    numbered_cells,
    open_bytes,
    row_pattern,
    unified,
    whole_lines,
    without_last,
)
from preimage.cli.tables._totals import check_last, check_subtotals

# Bytes and lines at the beginning of a file from which everything is guessed, and the most bytes where lines are long.
FEWEST_BYTES, FEWEST_LINES, MOST_BYTES = 2**17, 20, 2**24
SUFFIXES = {".tsv": "\t", ".tab": "\t"}
# Words for delimiters that are hard to type.
DELIMITER_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "blank": " ", "blanks": " ", "comma": ",", "semicolon": ";"}
# In the order of preference where two fit equally well. A blank stands for any run of blanks and tabs.
DELIMITERS = ("\t", ";", ",", "|", " ")
# Lines by which delimiters are judged: enough to tell them apart, few enough to try all of them.
LINES = 200
# The fraction of lines, or of values, that leaves little doubt.
MOSTLY = 0.9
# So many numbers increase by chance in one of 720 rows.
FEW_CHANCES = 6
# Of so many decimals one begins with a zero, but for one case in a thousand.
MANY_PAIRS = 65
# Lines from which on an empty one does not end titles.
MOST_TITLES = 10
_TWO_NUMBERS = re.compile(rf"\s*\d+[{BLANKS}\t]+[{MINUS}+]?\d[\d{BLANKS}]*").fullmatch
_DOT, _COMMA = NumberFormat("."), NumberFormat(",")
# The simplest first: of several in which all numbers are the same, it is taken.
_CONVENTIONS = [
    *(_DOT, _COMMA),
    *(NumberFormat(decimal, group) for decimal in (".", ",") for group in THOUSANDS if group != decimal),
    NumberFormat(".", ",", is_lakh=True),
]
_GROUPED = [NumberFormat(*marks) for marks in ((".", ","), (",", "."), (".", "'"), (",", " "))]

Rows = Sequence[Sequence[str]]


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
    plain = [
        (skipped + place, line)
        for place, line in enumerate(body)
        if place in inner or (line.strip() and not (comment and re.match(comment_pattern(comment), line)))
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
        is_short = table.first and _has_short_header(numbered, table, lines, options)
        above = table.first - is_short
        above += 0 if is_short else _titles(numbered[above : above + LINES], lines, table, dialect, options)
    commented = _commented_names(body, dialect, table)
    found = _with_names(dialect, numbered[above:], table.width, is_whole, options, commented)
    if options.comment is None:
        check_subtotals(line for place, line in plain if place >= found.first_line)
    if is_whole and options.skip_footer is None:
        check_last(found.rows, found.dialect.numbers)
    if above and found.names is None and options.header is None:
        _check_preamble(numbered[above - 1], numbered[above], table)
    return found


def _titles(
    numbered: list[tuple[int, list[str]]], lines: list[str], table: "Table", dialect: Dialect, options: TableOptions
) -> int:
    """The number of rows at the beginning that are titles.

    Spreadsheets write as many separators below a title as in the table; between blanks, words of a title are values.
    """
    rows = [cells for _, cells in numbered]
    are_alone = [not any(map(str.strip, cells[1:])) and WRITTEN.fullmatch(cells[0].strip()) is None for cells in rows]
    alone = are_alone.index(False) if table.width > 1 and False in are_alone else 0
    is_worded = lambda cells: not any(map(_DOT.is_number, cells))
    closed = [end for end in _empty_lines(numbered, lines) if 2 * sum(map(is_worded, rows[:end])) >= end]
    if dialect.delimiter != " ":  # words and numbers side by side: above names alone they are no table
        closed = [end for end in closed if is_header(rows[end], rows[end + 1 :], _numbers(rows[end + 1 :], options))]
    count = max([alone, *closed])
    below = [cells for cells in rows[count:] if len(cells) == table.width]
    if not count or not below:
        return 0
    is_closed = not any(map(str.strip, rows[count - 1])) and any(map(str.strip, rows[0]))
    if is_closed or is_header(below[0], below[1:], _numbers(below[1:] or below, options)):
        return count
    if options.header is not None:
        return 0
    # Rows that lack all values but the first look like titles, too: only the user knows how many of the lines are some.
    lines_above = numbered[count][0]
    few, ones = ("first line", "it is one") if count == 1 else (f"first {lines_above} lines", "N of them are")
    raise FileError(
        f"its {few}, {_shown(rows[0])}{', ...' if count > 1 else ''}, may be titles, or belong to the table. Say "
        f"--skip {lines_above if count == 1 else 'N'} --no-header if {ones}, --header if the first has names, or "
        "--no-header if it has values."
    )


def _empty_lines(numbered: list[tuple[int, list[str]]], lines: list[str]) -> list[int]:
    """The places of rows near the beginning with an empty line above them."""
    near = range(1, min(len(numbered), MOST_TITLES))
    return [place for place in near if not lines[numbered[place][0] - 1].strip()]


def _check_preamble(last: tuple[int, list[str]], first: tuple[int, list[str]], table: "Table") -> None:
    """Refuse a table without names right below a line that may have them, although it has another number."""
    if len(last[1]) > 1 and any(map(str.strip, last[1])) and first[0] == last[0] + 1:
        raise FileError(
            f"line {last[0] + 1} has {len(last[1])} values, and {table.width} are below it: names, of which some are "
            f"missing or hold the delimiter? Correct that line, or read the rows without names: --skip {first[0]} "
            "--no-header"
        )


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
    numbers = _numbers(rows[1:] or rows, options)
    header = options.header
    if len(rows) > 1 and header is not False and _are_two_headers(rows, numbers):  # levels of pandas, merged cells
        raise FileError(
            f"it has two lines of names, {_shown(rows[0])} and {_shown(rows[1])}. Say --skip {numbered[1][0]} to "
            "take the second one."
        )
    if header is None:
        header = is_header(rows[0], rows[1:], numbers)
        header = header is True if commented is not None else header
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


def _has_short_header(
    numbered: list[tuple[int, list[str]]], table: "Table", lines: list[str], options: TableOptions
) -> bool:
    """Whether the line before the table has a name for every column but one: R does so, where rows have names."""
    rows = [cells for _, cells in numbered[table.first : LINES] if len(cells) == table.width]
    is_next = bool(lines[numbered[table.first][0] - 1].strip())
    firsts = [cells[0].strip() for cells in rows]
    are_names = len(set(firsts)) == len(firsts) and all(map(_may_name_a_row, firsts))
    are_names = are_names or not any(cells[-1].strip() for cells in rows)  # a delimiter at the end of rows
    names = numbered[table.first - 1][1]
    # R writes words between quotes; without them they are one title.
    is_title = len(names) == 1 and " " in names[0].strip() and '"' not in lines[numbered[table.first - 1][0]]
    if len(names) != table.width - 1 or table.width == 1 or is_title or not (is_next and are_names):
        return False
    return is_header(rows[0], rows[1:], _numbers(rows[1:] or rows, options)) is not True


def _may_name_a_row(text: str) -> bool:
    """Whether a text is a word, or a whole number."""
    return is_whole(text) or WRITTEN.fullmatch(text) is None


def _regular(rows: list[list[str]], width: int) -> list[list[str]]:
    """Rows of `width` values; a header that lacks one gets an empty name at the right end."""
    if len(rows[0]) == width - 1 and len(rows) > 1:
        last_is_empty = all(not row[-1].strip() for row in rows[1:] if len(row) == width)
        rows = [[*rows[0], ""] if last_is_empty else ["", *rows[0]], *rows[1:]]
    return [row for row in rows if len(row) == width]


def _commented_names(lines: list[str], dialect: Dialect, table: "Table") -> list[str] | None:
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
    if len(names) != table.width or are_words or any(map(_DOT.is_number, names)):
        return None
    return [names[0] or dialect.comment, *names[1:]]


def _given_delimiter(options: TableOptions) -> str | None:
    if options.delimiter is None:
        return None
    given = DELIMITER_WORDS.get(options.delimiter, options.delimiter)
    if len(given) != 1:
        raise FileError(f"--delimiter {options.delimiter} is not one character. Use , ; tab or space, say.")
    return given


def _numbers(rows: Rows, options: TableOptions) -> NumberFormat:
    decimal, thousands = options.decimal, options.thousands
    if decimal not in (None, ".", ",") or (decimal is not None and decimal == thousands):
        raise FileError("--decimal is . or , and differs from --thousands.")
    if thousands is not None and thousands not in ("", *THOUSANDS):
        raise FileError(f"--thousands {thousands} is none of . , ' and blanks.")
    return guess_number_format(list(zip(*rows)), (*MISSING, *(options.missing or ())), decimal, thousands)


def _shown(cells: Sequence[str]) -> str:
    return repr(", ".join(cells[:6]) + (", ..." if len(cells) > 6 else ""))


@dataclass(frozen=True)
class Table:
    """The regular part of a text, as one delimiter divides it.

    Attributes
    ----------
    first : int
        Lines before it that have another number of values.
    width : int
        Number of values of its lines.
    regular : float
        Fraction of its lines that have this number.
    numeric : float
        Fraction of its values that are numbers.
    """

    first: int
    width: int
    regular: float
    numeric: float

    @classmethod
    def of(cls, rows: list[list[str]]) -> "Table":
        counts = [len(row) for row in rows]
        width = Counter(counts).most_common(1)[0][0]
        first = _first_regular(counts, width)
        inside = [row for row in rows[first:] if len(row) == width]
        # A line with text for names says nothing about the values.
        found = [cell.strip() for row in inside[1:] or inside for cell in row if not _DOT.is_missing(cell)]
        bodies = [body_of(part) for text in found if (part := WRITTEN.fullmatch(text)) and _is_known(part)]
        numeric = (
            max(sum(map(test, bodies)) for test in (_DOT.is_number, _COMMA.is_number, _is_grouped)) if found else 0
        )
        return cls(first, width, len(inside) / (len(rows) - first), numeric / max(1, len(found)))


def _first_regular(counts: list[int], width: int) -> int:
    """The place from which on most lines have `width` values."""
    for place, count in enumerate(counts):
        following = counts[place : place + 4]
        if count == width and 2 * sum(other == width for other in following) > len(following):
            return place
    return 0


def guess_delimiter(lines: list[str], quote: str = '"', expected: str = "") -> str:
    """What separates the values of these lines, without comments; a comma where there is one value per line.

    `expected` is what the name of the file says: it is taken wherever it divides lines at all. Blanks are for files
    with nothing else: they also stand in names and words.
    """
    lines = lines[:LINES]
    names = cells_of(lines[:1], ",", quote)
    are_amounts = all(map(_is_amount, lines[1:])) and (_is_amount(lines[0]) or len(names[0]) == 1)
    if len(lines) > 1 and (are_amounts or _are_grouped(lines[1:])):
        return next((mark for mark in DELIMITERS if not any(mark in line for line in lines)), ";")
    bare = _without_quoted(lines, quote)
    marks = [mark for mark in DELIMITERS if 2 * sum(mark in line for line in bare) >= len(bare)]
    rows = {delimiter: cells_of(lines, delimiter, quote) for delimiter in marks}
    found = {delimiter: Table.of(cells) for delimiter, cells in rows.items() if cells}
    tables = {mark: table for mark, table in found.items() if table.width > 1 and table.regular > 0.5}
    if not tables:
        return ","
    if expected in tables:
        return expected
    if " " in tables:
        words = _without_titles(rows[" "], tables[" "].width)
        is_strong = _is_strong(Table.of(words), words)
        below = lines[len(rows[" "]) - len(words) :]
        is_aligned = is_strong and sum("  " in line.strip() for line in below) >= MOSTLY * len(below)
        are_between = "," in tables and tables[","].regular >= MOSTLY and _are_commas_between(Table.of(words), words)
        if are_between or any(_beats_blanks(mark, tables, is_strong, is_aligned) for mark in tables):
            tables.pop(" ")
        elif is_strong:
            tables.pop(",", None)
    # Regular lines of numbers: the number of lines counts least, since lines of text may come before the table.
    score = lambda mark: (round(tables[mark].regular, 1), tables[mark].numeric, -DELIMITERS.index(mark))
    # Commas also separate decimals, and stand in words; tabs, semicolons and bars do so less.
    strong = [mark for mark in tables if mark not in ", " and _is_strong(tables[mark], rows[mark])]
    best = max(strong or tables, key=score)
    if best == ",":
        _check_blanks_between(rows[","], tables[","])
    is_one = best == "," and tables[","].width == 2 and Table.of([[line.rstrip("\n")] for line in lines]).numeric > 0.99
    if is_one and _is_one_column(rows[","], cells_of(lines[1:], ",", quote)):
        return ";"
    return best


def _without_quoted(lines: list[str], quote: str) -> list[str]:
    """Lines without the values that stand between quotes, in which marks separate nothing."""
    marks = "".join(DELIMITERS)
    value = rf"(?:^|(?<=[{marks}])){quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*{quote}(?=[{marks}]|$)"
    return lines_of(re.sub(value, "", "".join(lines), flags=re.M))


def _are_grouped(lines: list[str]) -> bool:
    """Whether every line is one number with groups of digits where it is large: commas divide some lines alone."""
    texts = [line.strip("\n\"' ") for line in lines]
    return all(map(_is_grouped, texts)) and len({text.count(",") for text in texts}) > 1


def _is_known(part: re.Match[str]) -> bool:
    """Whether what stands behind a number is a sign of money or percent, or nothing."""
    return part["suffix"] is None or re.search(rf"(?:{MONEY}|{UNITS})$", part["suffix"]) is not None


def _is_amount(line: str) -> bool:
    """Whether a line is one number with a sign of money or percent, and nothing else."""
    part = WRITTEN.fullmatch(line.strip("\n\"' "))
    if part is None or not any(test(body_of(part)) for test in (_DOT.is_number, _COMMA.is_number, _is_grouped)):
        return False
    return _is_known(part) and bool(part["prefix"] or part["suffix"])


def _is_strong(table: Table, rows: list[list[str]]) -> bool:
    """Whether lines are regular and hold numbers, and no column has commas everywhere that are no decimal commas."""
    return table.regular >= MOSTLY and bool(table.numeric) and not _are_commas_between(table, rows)


def _are_commas_between(table: Table, rows: list[list[str]]) -> bool:
    """Whether a column has commas everywhere that are no decimal commas: they separate values, perhaps."""
    for column in zip(*(row for row in rows[table.first + 1 :] if len(row) == table.width)):
        cells = [cell for cell in column if "," in cell]
        bodies = [body_of(part) for cell in cells if (part := WRITTEN.fullmatch(cell.strip())) is not None]
        is_number = any(_COMMA.is_number(body) or _is_grouped(body) for body in bodies)
        if len(cells) >= MOSTLY * len(column) and not is_number:
            return True
    return False


def _without_titles(rows: list[list[str]], width: int) -> list[list[str]]:
    """The rows below the last line near the beginning with another number of values."""
    near = rows[: min(MOST_TITLES, len(rows) // 2)]
    return rows[max((place + 1 for place, row in enumerate(near) if len(row) != width), default=0) :]


def _beats_blanks(mark: str, tables: dict[str, Table], is_strong: bool, is_aligned: bool) -> bool:
    """Whether a delimiter divides lines regularly; a comma also separates decimals, between blanks.

    Then the names decide, which blanks divide as they do rows; without these, numbers that are not cut to pieces.
    """
    blanks, table = tables[" "], tables[mark]
    if mark == " " or table.regular < MOSTLY:
        return False
    if mark != "," or not is_strong:
        return mark != "," or table.numeric >= blanks.numeric or table.first < blanks.first
    if is_aligned or table.first != blanks.first:
        return not is_aligned and table.first < blanks.first
    return table.width >= blanks.width and table.numeric > blanks.numeric


def _check_blanks_between(rows: list[list[str]], table: Table) -> None:
    """Refuse lines in which commas seem to stand in numbers, and blanks between these and between thousands."""
    for column in zip(*(row for row in rows[table.first :] if len(row) == table.width)):
        if sum(_TWO_NUMBERS(cell) is not None for cell in column) >= MOSTLY * len(column):
            raise FileError(
                f"{column[0]!r} may be one value between commas, or decimals and the number behind them. Say "
                "--delimiter , for commas between values. If blanks separate these, and thousands too, nobody can tell "
                "one from the other: write them with semicolons, or numbers between quotes."
            )


def _is_one_column(rows: list[list[str]], below: list[list[str]]) -> bool:
    """Whether pairs of whole numbers are one with a decimal comma each; it is asked where they may be either."""
    pairs = [row for row in rows if len(row) == 2 and all(map(is_whole, row))]
    # Decimals begin with zeros, and numbers do not; these end with zeros, as decimals do only if all are equally long,
    # or where programs write 12.0 next to 12.75.
    have_zeros = any(re.match(r"0\d", second) for _, second in pairs)
    is_uneven = len({len(second) for _, second in pairs}) > 1
    are_numbers = is_uneven and any(re.search(r"\d0$", second) for _, second in pairs)
    if len(rows[0]) == 1:
        # R leaves the name of a column out that counts the lines after the first.
        if counts_on([row[0] for row in below], ("1",)) or (are_numbers and not have_zeros):
            return False
        # A word is the name of a column, several are its name or a title. A tenth of decimals begin with zeros.
        is_doubtful = " " in rows[0][0].strip() or len(pairs) > MANY_PAIRS
        if have_zeros or not is_doubtful:
            return True
    else:
        is_one = lambda text: _COMMA.is_number(text) or _is_grouped(text)
        could_be_one = len(rows[0]) == 2 and all(is_one(",".join(row)) for row in rows if len(row) == 2)
        if not could_be_one or (counts_rows([row[0] for row in rows if len(row) == 2]) and not have_zeros):
            return False
    raise FileError(
        f"{','.join((pairs or rows)[0])!r} may be two numbers, or one with a decimal comma. Say --delimiter , for two, "
        "or --delimiter ';' --decimal , for one."
    )


def guess_number_format(
    columns: Rows, missing: tuple[str, ...] = MISSING, decimal: str | None = None, thousands: str | None = None
) -> NumberFormat:
    """The one convention in which all columns of numbers can be read.

    Where there are two, in which numbers differ, or none, the user is asked. Dates and codes have a say in neither.
    """
    known = [each for each in _CONVENTIONS if decimal in (None, each.decimal) and thousands in (None, each.thousands)]
    found = {place: numbers for place, column in enumerate(columns) if (numbers := _bare_numbers(column, missing))}
    telling = {place: [text for text in set(texts) if not text.isdecimal()] for place, texts in found.items()}
    fitting = {place: [each for each in known if all(map(each.is_number, texts))] for place, texts in telling.items()}
    fitting = {place: conventions for place, conventions in fitting.items() if conventions}
    votes = Counter(each for conventions in fitting.values() for each in conventions)
    best = max(known, key=lambda each: votes[each])
    if votes[best] < len(fitting) and decimal is None:
        raise _contradiction(found, fitting, best)
    texts = [text for place, conventions in fitting.items() if best in conventions for text in found[place]]
    grouped = [text for text in texts if re.fullmatch(GROUP, text)]
    for other in known:
        # Numbers differ where a mark separates decimals in one convention and thousands in the other.
        if votes[other] < votes[best] or (other.decimal == best.decimal and other.thousands not in (",", ".")):
            continue
        differs = lambda text, other=other: other.is_number(text) and best.value(text) != other.value(text)
        if doubtful := next(filter(differs, grouped), None):
            raise FileError(ask_group(doubtful))
    is_open = any(votes[other] == votes[best] and other.thousands == best.decimal for other in known)
    return replace(best, missing=missing, is_open=is_open)


def _bare_numbers(column: Sequence[str], missing: tuple[str, ...]) -> list[str]:
    """The numbers of a column without what is written around them; none where fewer than half are numbers."""
    found = [text for cell in column if (text := cell.strip()) not in missing]
    parts = [part for text in found if (part := WRITTEN.fullmatch(text)) is not None]
    if 2 * len(parts) < len(found) or are_dates("", found) or are_codes("", found):
        return []
    return list(map(body_of, parts))


def _contradiction(
    found: dict[int, list[str]], fitting: dict[int, list[NumberFormat]], best: NumberFormat
) -> FileError:
    """What to say where columns have different conventions: read the best one, without the columns of others."""
    others = [place for place, conventions in fitting.items() if best not in conventions]
    own = next(place for place, conventions in fitting.items() if best in conventions)
    telling = lambda place: max(found[place], key=lambda text: sum(mark in text for mark in ".,"))
    thousands = f" --thousands {_option_word(best.thousands)}" if best.thousands else ""
    return FileError(
        f"{telling(own)!r} and {telling(others[0])!r} have different separators of decimals or thousands. Leave out "
        f"the columns that are not like the others: --decimal {best.decimal}{thousands} "
        f"--exclude {','.join(str(place + 1) for place in others)}"
    )


def remedy(text: str, numbers: NumberFormat) -> str:
    """What to say of a text that is a number in another convention than that of the first rows; nothing of others."""
    part = WRITTEN.fullmatch(text.strip())
    body = "" if part is None else body_of(part)
    if numbers.is_open and re.fullmatch(GROUP, body):
        return ask_group(text)
    is_like = lambda each: each.decimal == numbers.decimal and numbers.thousands in ("", each.thousands)
    others = [each for each in _CONVENTIONS if each.is_number(body) and (numbers.is_open or is_like(each))]
    if not others or replace(numbers, prefix="", suffix="").is_number(body):
        return ""
    thousands = f" --thousands {_option_word(others[0].thousands)}" if others[0].thousands else ""
    return (
        f"{text!r} is a number with other separators than those of the first rows. Say --decimal {others[0].decimal}"
        f"{thousands}"
    )


def _option_word(mark: str) -> str:
    """A separator as it is typed in a shell."""
    return f'"{mark}"' if mark in f"{BLANKS}'" else mark


def _is_grouped(text: str) -> bool:
    text = text.translate(dict.fromkeys(map(ord, BLANKS), " ") | {ord("’"): "'"})
    return any(both.is_number(text) for both in _GROUPED)


def is_header(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool | None:
    """Whether `first` has the names of the columns of `rows`; None if that cannot be told."""
    if not rows:
        return not all(numbers.is_number(cell) for cell in first)
    days = [place for place, cell in enumerate(first) if are_dates("", [cell])]
    if any(_are_days([row[place] for row in rows], numbers) for place in days):
        return False  # nobody calls a column of days by one of them
    if all(_is_word(cell, numbers) for cell in first):
        return True  # as most tables have it, and quickly: a table may have 20,000 columns
    columns = list(zip(*rows))
    forms = [numbers.of_column(column) for column in columns]
    kinds = [kind_of_numbers(column, form) for column, form in zip(columns, forms)]
    name_rows = all(cell.strip() for cell in columns[0]) and len(set(columns[0])) == len(columns[0])
    are_unnamed = first[0].strip() == "" and all(cell.strip() for cell in first[1:]) and name_rows
    if are_unnamed:
        # Above numbers, words, 0, 1, 2 and 400, 410, 420 are names; others may be a row without its first value.
        above = [first[place].strip() for place in range(1, len(first)) if kinds[place] is Kind.MEASUREMENT]
        are_names = not above or any(_is_word(cell, numbers) for cell in above) or _go_on_evenly(first[1:])
        if are_names or counts_on(columns[0]):
            return True
    # Negative amounts may be written in a way that only the first row shows.
    above_amounts = [(cell, column) for cell, column, form in zip(first, columns, forms) if form.unit]
    if any(numbers.of_column([cell, *column]).is_number(cell) for cell, column in above_amounts):
        return False
    if _are_numbers_above_words(first, columns, kinds, numbers):
        return True
    judged = [place for place, kind in enumerate(kinds) if kind in (Kind.MEASUREMENT, Kind.TRUTH, Kind.MIXED)]
    judged = judged[1:] if are_unnamed and judged[:1] == [0] else judged
    if not judged:
        return True
    figures = [place for place in judged if numbers.is_number(first[place]) or forms[place].is_number(first[place])]
    words = [first[place] for place in judged if place not in figures and not numbers.is_missing(first[place])]
    if all(cell.strip().lower() in ("true", "false") for cell in words) and words:
        truths = [place for place in judged if kinds[place] is Kind.TRUTH]
        return None if len(words) > len(truths) else False
    if words and not figures:
        return True
    if not words and len(figures) < len(judged):
        return False  # a row with missing values
    answer = _numbers_are_names(figures, first, columns, numbers)
    if answer is False and any(kind is Kind.EMPTY and numbers.is_number(cell) for cell, kind in zip(first, kinds)):
        return True if _go_on_evenly(first) else None  # a number in a column that has no other
    if words and answer is False:
        # Some names and some numbers: a header with years, or a row with a slip of the pen.
        return True if 2 * len(words) >= len(judged) else None
    return answer


def _are_days(texts: Sequence[str], numbers: NumberFormat) -> bool:
    """Whether a column has days or times alone, and some."""
    found = [text.strip() for text in texts if not numbers.is_missing(text)]
    return bool(found) and are_dates("", found)


def _go_on_evenly(cells: Sequence[str]) -> bool:
    """Whether there are whole numbers alone, 0 or 1 and on by one, or three and more at equal distances."""
    steps = np.diff([int(cell) for cell in cells]) if all(map(is_whole, cells)) else np.zeros(0)
    is_even = len(steps) > 1 and bool(np.all(steps == steps[0])) and bool(steps[0] > 0)
    return is_even or counts_rows(cells)


def _are_numbers_above_words(
    first: Sequence[str], columns: Sequence[tuple[str, ...]], kinds: Sequence[Kind], numbers: NumberFormat
) -> bool:
    """Whether there are distinct numbers in the first line, some of them above columns of words."""
    cells = [cell.strip() for cell in first if cell.strip()]
    # Numbers in brackets are text where no other number says that they are negative; the first line may.
    has_numbers = lambda column: any(WRITTEN.fullmatch(cell.strip()) for cell in column)
    above_words = [
        cell
        for cell, column, kind in zip(first, columns, kinds)
        if kind is Kind.TRUTH or (kind is Kind.TEXT and not has_numbers(column))
    ]
    are_numbers = all(map(numbers.is_number, cells)) and any(map(numbers.is_number, above_words))
    return are_numbers and len(set(cells)) == len(cells)


def _numbers_are_names(
    places: list[int], first: Sequence[str], columns: list[tuple[str, ...]], numbers: NumberFormat
) -> bool | None:
    """Whether numbers in the first line are names, such as 0, 1, 2, ... or wavelengths."""
    value = lambda cell: numbers.value(cell) if numbers.is_number(cell) else np.nan
    names = np.array([numbers.value(first[place]) for place in places])
    values = np.array([[value(cell) for cell in columns[place]] for place in places]).T
    if len(names) == 1 and len(first) == 1:
        return None if names[0] == 0 else False  # pandas calls a column without a name 0
    if len(np.unique(names)) < len(names) or np.any(np.all(values == names, axis=1)):
        return False  # names are distinct, and no row repeats them
    has_other_type = [is_whole(first[place]) and not any(is_whole(cell) for cell in columns[place]) for place in places]
    with np.errstate(all="ignore"):
        low, high = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
        is_far = (names < 2 * low - high) | (names > 2 * high - low)
    # Of two rows nobody knows the range.
    far = float(np.mean(is_far)) if len(values) > 2 else 0.0
    if not np.all(np.diff(names) > 0):
        return None if all(has_other_type) and far > 0.5 else False
    if len(names) == 1:
        return None if all(has_other_type) and names[0] in (0, 1) else False
    rows_increase = float(np.mean(np.all(np.diff(values, axis=1) > 0, axis=1)))
    steps = np.diff(names)
    is_even = bool(np.allclose(steps, steps[0], rtol=1e-6))
    every = [numbers.value(cell) if numbers.is_number(cell) else np.nan for cell in first]  # columns of words too
    if np.array_equal(np.array(every) - every[0], np.arange(len(every))) and every[0] in (0, 1):
        is_rare = far > 0.5 or len(names) > FEW_CHANCES  # a row of values is 0, 1, 2, ... hardly ever
        return True if any(has_other_type) or (is_rare and rows_increase < 0.5) else None
    if rows_increase >= 0.5:
        return None if far > 0.5 else False
    if far > 0.5:
        return True if len(names) > 2 else None
    if all(has_other_type):
        return True if is_even and len(names) > 3 else None
    return None if (is_even and len(names) > 3) or len(names) >= FEW_CHANCES else False


def _is_word(cell: str, numbers: NumberFormat) -> bool:
    """Whether a cell is neither empty nor a number of any notation, a truth value or a mark of a missing one."""
    text = cell.strip()
    return WRITTEN.fullmatch(text) is None and not numbers.is_missing(text) and text.lower() not in TRUTHS


def _are_two_headers(rows: Rows, numbers: NumberFormat) -> bool:
    """Whether the second line has names too: some of the first one occur twice, or are missing where there are such.

    Below several lines of names pandas writes that of the index, in a line of its own.
    """
    first, second, *others = ([cell.strip() for cell in row] for row in rows[:3])
    named = list(filter(None, first))
    are_missing = any(not above and _is_word(below, numbers) for above, below in zip(first[1:], second[1:]))
    is_index = bool(others) and not first[0] and not second[0] and _names_index(others[0], numbers)
    return (are_missing or is_index or len(set(named)) < len(named)) and has_units(first, rows[1:], numbers)


def _names_index(cells: Sequence[str], numbers: NumberFormat) -> bool:
    """Whether a line has one word, in its first cell."""
    return _is_word(cells[0], numbers) and not any(map(str.strip, cells[1:]))


def has_units(first: Sequence[str], rows: Rows, numbers: NumberFormat) -> bool:
    """Whether the line after the names has words where all lines after it have numbers: units, say."""
    if len(rows) < 3 or not any(_is_word(cell, numbers) for cell in rows[0]):
        return False
    columns = list(zip(*rows[1:]))
    forms = [numbers.of_column(column) for column in columns]
    kinds = [kind_of_numbers(column, form) for column, form in zip(columns, forms)]
    # A word that occurs again further down stands for a missing value, or is one of several categories.
    is_again = [not numbers.is_missing(cell) and cell in column for cell, column in zip(rows[0], columns)]
    if any(again and kind in (Kind.MIXED, Kind.TEXT) for again, kind in zip(is_again, kinds)):
        return False
    judged = [place for place, kind in enumerate(kinds) if kind in (Kind.MEASUREMENT, Kind.MIXED)]
    are_words = not any(forms[place].is_number(cells[place]) for place in judged for cells in (first, rows[0]))
    is_text = any(not numbers.is_missing(rows[0][place]) for place in judged)
    is_text = is_text or (not first[0].strip() and _names_index(rows[0], numbers))
    return bool(judged) and are_words and is_text
