"""What separates the values of a text table: the reading is taken that obeys most of a few laws."""

import re
from collections import Counter
from dataclasses import dataclass

from preimage.cli._errors import FileError
from preimage.cli.tables._columns import counts_on, counts_rows, is_whole
from preimage.cli.tables._numbers import BLANKS, MINUS, MONEY, UNITS, WRITTEN, NumberFormat, body_of
from preimage.cli.tables._text import cells_of, lines_of

# In the order of preference where several fit equally well. A blank stands for any run of blanks and tabs.
DELIMITERS = ("\t", ";", ",", "|", " ")
# Lines by which delimiters are judged: enough to tell them apart, few enough to try all of them.
LINES = 200
# The fraction of lines, or of values, that leaves little doubt.
MOSTLY = 0.9
# Of so many decimals one begins with a zero, but for one case in a thousand.
MANY_PAIRS = 65
DOT, COMMA = NumberFormat("."), NumberFormat(",")
_GROUPED = [NumberFormat(*marks) for marks in ((".", ","), (",", "."), (".", "'"), (",", " "))]
_TWO_NUMBERS = re.compile(rf"\s*\d+[ \t]+[{MINUS}+]?\d[\d ]*").fullmatch


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
    covered : float
        Fraction of all lines that have it.
    numeric : float
        Fraction of its values that are numbers.
    inside : list of list of str
        The values of its lines, but for the first one, which may have names.
    """

    first: int
    width: int
    regular: float
    covered: float
    numeric: float
    inside: list[list[str]]

    @classmethod
    def of(cls, rows: list[list[str]]) -> "Table":
        counts = [len(row) for row in rows]
        width = Counter(counts).most_common(1)[0][0]
        first = _first_regular(counts, width)
        inside = [row for row in rows[first:] if len(row) == width]
        below = inside[1:] or inside
        found = [cell.strip() for row in below for cell in row if not DOT.is_missing(cell)]
        bodies = [body_of(part) for text in found if (part := _written(text)) and _is_known(part)]
        numeric = max(sum(map(test, bodies)) for test in (DOT.is_number, COMMA.is_number, _is_grouped)) if found else 0
        regular, covered = len(inside) / (len(rows) - first), len(inside) / len(rows)
        return cls(first, width, regular, covered, numeric / max(1, len(found)), below)


def _first_regular(counts: list[int], width: int) -> int:
    """The place from which on most lines have `width` values."""
    for place, count in enumerate(counts):
        following = counts[place : place + 4]
        if count == width and 2 * sum(other == width for other in following) > len(following):
            return place
    return 0


def guess_delimiter(lines: list[str], quote: str = '"', expected: str = "") -> str:
    """What separates the values of these lines, without comments; a comma where there is one value per line.

    `expected` is what the name of the file says: it is taken wherever it divides lines at all. Of others, those are
    candidates that stand outside of quotes and divide lines regularly.
    """
    lines = lines[:LINES]
    bare = _without_quoted(lines, quote)
    rows = {mark: cells_of(lines, mark, quote) for mark in DELIMITERS if 4 * sum(mark in x for x in bare) >= len(bare)}
    found = {mark: Table.of(cells) for mark, cells in rows.items() if cells}
    tables = {mark: table for mark, table in found.items() if table.width > 1 and table.regular > 0.5}
    if expected in tables:
        return expected
    # Commas that all stand in numbers separate nothing, unless they divide the names.
    others = {mark: table for mark, table in tables.items() if mark != "," and table.regular >= MOSTLY}
    if "," in tables and any(t.first <= tables[","].first and _has_commas_in_numbers(t) for t in others.values()):
        del tables[","]
    # Blanks next to tabs align values; those of a line above names between tabs stand in a title.
    are_both = {"\t", " "} <= {*tables} and tables["\t"].width == tables[" "].width
    if are_both and not any(map(_written, rows["\t"][tables["\t"].first])):
        del tables[" "]
    # No values have another delimiter everywhere; few lines are left out; most values are numbers.
    score = lambda mark: (
        tables[mark].regular >= MOSTLY
        and not _has_marks_between(tables[mark], {other: tables[other] for other in {*tables} - {mark}}),
        round(tables[mark].covered, 1),
        round(tables[mark].numeric, 1),
        -tables[mark].first,
        -DELIMITERS.index(mark),
    )
    best = max(tables, key=score, default=",")
    if best in ", " and _are_single(lines, best, quote):
        return ";"
    if best == "," and tables:
        _check_blanks_between(tables[","])
    return best


def _without_quoted(lines: list[str], quote: str) -> list[str]:
    """Lines without the values that stand between quotes, in which marks separate nothing."""
    marks = "".join(DELIMITERS)
    value = rf"(?:^|(?<=[{marks}])){quote}[^{quote}]*(?:{quote}{quote}[^{quote}]*)*{quote}(?=[{marks}]|$)"
    return lines_of(re.sub(value, "", "".join(lines), flags=re.M))


def _has_commas_in_numbers(table: Table) -> bool:
    """Whether there are values with commas, all of which are numbers."""
    cells = [cell for row in table.inside for cell in row if "," in cell]
    return bool(cells) and all(map(_may_be_one, cells))


def _has_marks_between(table: Table, others: dict[str, Table]) -> bool:
    """Whether all values of a column have another delimiter in them; a blank stands in words, and commas in numbers.

    Lines above the table of that delimiter that have none of it are titles.
    """
    for mark, other in others.items():
        begin = other.first - table.first
        rows = [row for place, row in enumerate(table.inside) if place >= begin or any(mark in cell for cell in row)]
        for column in zip(*rows):
            cells = [cell for cell in map(str.strip, column) if (mark if mark != " " else "  ") in cell]
            if len(cells) >= MOSTLY * len(column) and not any(map(_may_be_one, cells)):
                return True
    return False


def _may_be_one(text: str) -> bool:
    """Whether a text is one number with a decimal comma or groups of digits, and perhaps money."""
    part = _written(text)
    return part is not None and (COMMA.is_number(body_of(part)) or _is_grouped(body_of(part)))


def _written(text: str) -> re.Match[str] | None:
    """A number with all around it; "USD,50667" is the end of one value and another one."""
    part = WRITTEN.fullmatch(text.strip())
    return None if part is None or (part["prefix"] and part["body"].startswith(",")) else part


def _is_known(part: re.Match[str]) -> bool:
    """Whether what stands behind a number is a sign of money or percent, or nothing."""
    return part["suffix"] is None or re.search(rf"(?:{MONEY}|{UNITS})$", part["suffix"]) is not None


def _is_grouped(text: str) -> bool:
    text = text.translate(dict.fromkeys(map(ord, BLANKS), " ") | {ord("’"): "'"})
    return any(both.is_number(text) for both in _GROUPED)


def _check_blanks_between(table: Table) -> None:
    """Refuse lines in which commas seem to stand in numbers, and blanks between these and between thousands."""
    for column in zip(*table.inside):
        count = sum(_TWO_NUMBERS(cell) is not None for cell in column)
        if count >= MOSTLY * len(column) and not all(map(_is_grouped, column)):
            raise FileError(
                f"{column[0]!r} may be one value between commas, or decimals and the number behind them. Say "
                "--delimiter , for commas between values. If blanks separate these, and thousands too, nobody can tell "
                "one from the other: write them with semicolons, or numbers between quotes."
            )


def _are_single(lines: list[str], mark: str, quote: str) -> bool:
    """Whether every line is one number, with a decimal comma, groups of digits or a sign of money."""
    texts = [line.strip("\n\"' ") for line in lines]
    if Table.of([[text] for text in texts]).numeric < 0.99:
        return False
    parts = [WRITTEN.fullmatch(text) for text in texts]
    are_amounts = all(part is not None and (part["prefix"] or part["suffix"]) for part in parts[1:])
    rows = cells_of(lines, mark, quote)
    if are_amounts or mark == " ":
        return are_amounts and (parts[0] is not None or len(cells_of(lines[:1], ",", quote)[0]) == 1)
    are_divided = len({text.count(",") for text in texts[1:]}) == 1  # all lines by as many commas
    return not are_divided or (max(map(len, rows)) == 2 and _is_one_column(rows, rows[len(rows) - len(lines) + 1 :]))


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
        could_be_one = len(rows[0]) == 2 and all(_may_be_one(",".join(row)) for row in rows if len(row) == 2)
        if not could_be_one or (counts_rows([row[0] for row in rows if len(row) == 2]) and not have_zeros):
            return False
    raise FileError(
        f"{','.join((pairs or rows)[0])!r} may be two numbers, or one with a decimal comma. Say --delimiter , for two, "
        "or --delimiter ';' --decimal , for one."
    )
