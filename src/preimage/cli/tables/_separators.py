"""What separates values, and what the digits of a number: found from the first lines of a table."""

import csv
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from preimage.cli._errors import FileError
from preimage.cli.tables._lines import lines_of, single_blanks
from preimage.cli.tables._numbers import MISSING, THOUSANDS, NumberFormat, counts_rows

# In the order of preference where two fit equally well. A blank stands for any run of blanks and tabs.
DELIMITERS = ("\t", ";", ",", "|", " ")
# Lines by which delimiters are judged: enough to tell them apart, few enough to try all of them.
LINES = 200
# The fraction of lines, or of values, that leaves little doubt.
MOSTLY = 0.9
_DOT, _COMMA = NumberFormat("."), NumberFormat(",")
_GROUPED = [NumberFormat(*marks) for marks in ((".", ","), (",", "."), (".", "'"), (",", " "))]
# A mark between digits, or at the beginning of a number.
_SEPARATED = re.compile(r"\d[.,' ’\u00a0\u202f]\d|^[-+]?[.,]\d")


def cells_of(lines: list[str], delimiter: str, quote: str = '"') -> list[list[str]]:
    """The values of every line; a value between quotes may go over several lines."""
    return [cells for _, cells in numbered_cells(lines, delimiter, quote)]


def numbered_cells(lines: list[str], delimiter: str, quote: str = '"') -> list[tuple[int, list[str]]]:
    """The values of every row, and the place of its first line."""
    if delimiter == " ":
        text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
        lines = lines_of(b"".join(single_blanks(iter([text.encode()]))).decode())
    csv.field_size_limit(2**31 - 1)
    reader, found, start = csv.reader(lines, delimiter=delimiter, quotechar=quote), [], 0
    for cells in reader:
        if cells:
            found.append((start, cells))
        start = reader.line_num
    return found


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
        found = [cell for row in inside[1:] or inside for cell in row if not _DOT.is_missing(cell)]
        numeric = max(sum(map(test, found)) for test in (_DOT.is_number, _COMMA.is_number, _is_grouped)) if found else 0
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
    rows = {delimiter: cells_of(lines[:LINES], delimiter, quote) for delimiter in DELIMITERS}
    found = {delimiter: Table.of(cells) for delimiter, cells in rows.items() if cells}
    tables = {mark: table for mark, table in found.items() if table.width > 1 and table.regular > 0.5}
    alone = Table.of([[line.rstrip("\n")] for line in lines[:LINES]])
    if not tables:
        return ","
    if expected in tables:
        return expected
    if " " in tables and any(_beats_blanks(mark, tables) for mark in tables):
        tables.pop(" ")
    # Regular lines of numbers: the number of lines counts least, since lines of text may come before the table.
    score = lambda mark: (round(tables[mark].regular, 1), tables[mark].numeric, -DELIMITERS.index(mark))
    # Commas also separate decimals, and stand in words; tabs, semicolons and bars do so less.
    strong = [mark for mark in tables if mark not in ", " and _is_strong(tables[mark], rows[mark])]
    best = max(strong or tables, key=score)
    if best == "," and tables[","].width == 2 and alone.numeric > 0.99:
        _check_two_columns(cells_of(lines[:LINES], ",", quote))
        if len(cells_of(lines[:1], ",", quote)[0]) == 1 and not _are_row_numbers(lines, quote):
            return ";"  # one name, and one number with a decimal comma per line
    return best


def _is_strong(table: Table, rows: list[list[str]]) -> bool:
    """Whether lines are regular and hold numbers, and no column has commas everywhere that are no decimal commas."""
    if table.regular < MOSTLY or not table.numeric:
        return False
    columns = list(zip(*(row for row in rows[table.first + 1 :] if len(row) == table.width)))
    with_commas = [[cell for cell in column if "," in cell] for column in columns]
    undivided = [
        len(cells) >= MOSTLY * len(column) and not any(_COMMA.is_number(cell) or _is_grouped(cell) for cell in cells)
        for column, cells in zip(columns, with_commas)
    ]
    return not any(undivided)


def _beats_blanks(mark: str, tables: dict[str, Table]) -> bool:
    """Whether a delimiter divides lines regularly; a comma also separates decimals, between blanks."""
    blanks, table = tables[" "], tables[mark]
    if mark == " " or table.regular < MOSTLY:
        return False
    return mark != "," or table.numeric >= blanks.numeric or blanks.numeric < MOSTLY


def _are_row_numbers(lines: list[str], quote: str) -> bool:
    """Whether first values count the lines after the first: R leaves the name of such a column out."""
    firsts = [row[0] for row in cells_of(lines[1:LINES], ",", quote)]
    return firsts == [str(number + 1) for number in range(len(firsts))]


def _check_two_columns(rows: list[list[str]]) -> None:
    """Refuse pairs of whole numbers without names that are decimal numbers as well, unless the first ones count."""
    pairs = [row for row in rows if len(row) == 2]
    could_be_one = len(rows[0]) == 2 and all(_COMMA.is_number(",".join(pair)) for pair in pairs)
    have_zeros = any(re.match(r"0\d", second) for _, second in pairs)  # decimals begin with zeros, numbers do not
    if could_be_one and (have_zeros or not counts_rows([first for first, _ in pairs])):
        raise FileError(
            f"{','.join(rows[0])!r} may be two numbers, or one with a decimal comma. Say --delimiter , for two, or "
            "--delimiter ';' --decimal , for one."
        )


def guess_number_format(cells: Iterable[str], delimiter: str, missing: tuple[str, ...] = MISSING) -> NumberFormat:
    """How the numbers among these values are written.

    Where "1,234" alone could be a thousand or one and a bit, the user is asked.
    """
    stripped = [cell.strip() for cell in cells]
    texts = [text for text in stripped if _SEPARATED.search(text)]
    dots = [text for text in texts if "." in text and _DOT.is_number(text)]
    commas = [text for text in texts if "," in text and _COMMA.is_number(text)]
    for decimal in (".", ","):
        for group in THOUSANDS:
            both = NumberFormat(decimal, group)
            if group == decimal:
                continue
            # "1.234,5" or "1,234,567" can be read in one way only.
            if any(group in text and _is_only(text, both) for text in texts):
                return NumberFormat(decimal, group, missing)
    if dots and commas:
        return _of_both(dots, commas, missing)
    found, decimal = (commas, ",") if commas else (dots, ".")
    other = "." if decimal == "," else ","
    whole = [text for text in stripped if re.fullmatch(r"[-+]?\d{4,}", text)]
    is_open = found and not whole and all(_is_group(text, decimal) for text in found)
    if is_open and (decimal == "," or delimiter in ";\t"):
        raise FileError(
            f"{found[0]!r} may be a number above a thousand, or have three decimals. Say --decimal {decimal} for "
            f"decimals, or --thousands {decimal} --decimal {other} for thousands."
        )
    return NumberFormat(decimal, "", missing)


def _of_both(dots: list[str], commas: list[str], missing: tuple[str, ...]) -> NumberFormat:
    """Numbers with dots and others with commas: one of the two groups digits."""
    dots_group, commas_group = (
        all(_is_group(text, mark) for text in texts) for texts, mark in ((dots, "."), (commas, ","))
    )
    if dots_group == commas_group:
        raise FileError(
            f"{dots[0]!r} and {commas[0]!r} have different decimal separators. Say --decimal . or --decimal , and "
            "leave out the columns that have the other: --exclude NAME."
        )
    return NumberFormat(".", ",", missing) if commas_group else NumberFormat(",", ".", missing)


def _is_group(text: str, mark: str) -> bool:
    """Whether a number with one `mark` could have it between thousands: one to three digits, not zero, and three."""
    return re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}{re.escape(mark)}\d{{3}}", text) is not None


def _is_only(text: str, both: NumberFormat) -> bool:
    return both.is_number(text) and not _DOT.is_number(text) and not _COMMA.is_number(text)


def _is_grouped(text: str) -> bool:
    return any(both.is_number(text) for both in _GROUPED)
