"""Lines above a table: titles, and a line of names that lacks the one of the rows."""

from collections.abc import Sequence

from preimage.cli._errors import FileError
from preimage.cli._options import TableOptions
from preimage.cli.tables._columns import is_whole
from preimage.cli.tables._conventions import convention_of
from preimage.cli.tables._delimiters import DOT, LINES, Table
from preimage.cli.tables._headers import is_header
from preimage.cli.tables._numbers import WRITTEN
from preimage.cli.tables._text import Dialect

# Lines from which on an empty one does not end titles.
MOST_TITLES = 10


def count_titles(
    numbered: list[tuple[int, list[str]]], lines: list[str], table: Table, dialect: Dialect, options: TableOptions
) -> int:
    """The number of rows at the beginning that are titles.

    Spreadsheets write as many separators below a title as in the table; between blanks, words of a title are values.
    """
    rows = [cells for _, cells in numbered]
    are_alone = [not any(map(str.strip, cells[1:])) and WRITTEN.fullmatch(cells[0].strip()) is None for cells in rows]
    alone = are_alone.index(False) if table.width > 1 and False in are_alone else 0
    is_worded = lambda cells: not any(map(DOT.is_number, cells))
    closed = [end for end in _empty_lines(numbered, lines) if 2 * sum(map(is_worded, rows[:end])) >= end]
    are_names = lambda first, below: is_header(first, below, convention_of(below or [first], options))
    if dialect.delimiter != " ":  # words and numbers side by side: above names alone they are no table
        closed = [end for end in closed if are_names(rows[end], rows[end + 1 :])]
    count = max([alone, *closed])
    below = [cells for cells in rows[count:] if len(cells) == table.width]
    if not count or not below:
        return 0
    is_closed = not any(map(str.strip, rows[count - 1])) and any(map(str.strip, rows[0]))
    if is_closed or are_names(below[0], below[1:]):
        return count
    if options.header is not None:
        return 0
    # Rows that lack all values but the first look like titles, too: only the user knows how many of the lines are some.
    lines_above = numbered[count][0]
    few, ones = ("first line", "it is one") if count == 1 else (f"first {lines_above} lines", "N of them are")
    raise FileError(
        f"its {few}, {first_cells(rows[0])}{', ...' if count > 1 else ''}, may be titles, or belong to the table. Say "
        f"--skip {lines_above if count == 1 else 'N'} --no-header if {ones}, --header if the first has names, or "
        "--no-header if it has values."
    )


def _empty_lines(numbered: list[tuple[int, list[str]]], lines: list[str]) -> list[int]:
    """The places of rows near the beginning with an empty line above them."""
    near = range(1, min(len(numbered), MOST_TITLES))
    return [place for place in near if not lines[numbered[place][0] - 1].strip()]


def check_preamble(last: tuple[int, list[str]], first: tuple[int, list[str]], table: Table) -> None:
    """Refuse a table without names right below a line that may have them, although it has another number."""
    if len(last[1]) > 1 and any(map(str.strip, last[1])) and first[0] == last[0] + 1:
        raise FileError(
            f"line {last[0] + 1} has {len(last[1])} values, and {table.width} are below it: names, of which some are "
            f"missing or hold the delimiter? Correct that line, or read the rows without names: --skip {first[0]} "
            "--no-header"
        )


def has_short_header(
    numbered: list[tuple[int, list[str]]], table: Table, lines: list[str], options: TableOptions
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
    return is_header(rows[0], rows[1:], convention_of(rows[1:] or rows, options)) is not True


def _may_name_a_row(text: str) -> bool:
    """Whether a text is a word, or a whole number."""
    return is_whole(text) or WRITTEN.fullmatch(text) is None


def first_cells(cells: Sequence[str]) -> str:
    return repr(", ".join(cells[:6]) + (", ..." if len(cells) > 6 else ""))
