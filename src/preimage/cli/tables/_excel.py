"""Sheets of Excel files: their cells as texts, what these were in the sheet, and how they look."""

import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np

from preimage.cli._errors import FileError
from preimage.cli.tables._paths import check_unpacked
from preimage.cli.tables._workbook import BLOCK, Workbook, parse, unescaped

# Bytes of XML that any file may unpack to, however small it is: 5 million cells. A text among them is copied a few
# times, so ten times as many would take gigabytes.
MOST_UNPACKED = 200_000_000
# Tags that any file may have, and more of them for each of its bytes; each takes a microsecond. Sheets of zeros have 2
# tags per byte, others fewer; a file that is made to take minutes has 250.
MOST_TAGS, MOST_TAGS_PER_BYTE = 2**20, 4
# A sheet of Excel has no more rows and columns; empty ones take memory too.
MOST_ROWS, MOST_COLUMNS = 2**20, 2**14
# A sheet is in memory as a whole, with a text of 60 bytes or more for each cell: this many take a gigabyte.
MOST_CELLS = 2**24
_ADVICE = "If it is yours, save the sheet as CSV."
# What a cell is, by the types of the file.
NUMBER, TEXT, TRUTH, ERROR, DATE, NOTHING = "n", "s", "b", "e", "d", " "
_TEXTS = {"str", "inlineStr"}
# What is no letter of a date in a format: words, colours and conditions, and escaped letters; and times beyond a day.
_NO_DATE, _ELAPSED = re.compile(r'"[^"]*"|\[[^\]]*\]|[\\_*].'), re.compile(r"\[(?:h+|m+|s+)\]", re.I)
# A currency, a word, or a sign of percent or money in a format.
_UNIT = re.compile(r'\[\$([^\]-]+)|"\s*([^"]*[^"\s])\s*"|([%‰$€£¥])')
_ZEROS = re.compile("00+")
_LAST_DAY = 2958465  # 9999-12-31
# Cells that a message names.
_NAMED = 5


@dataclass(frozen=True)
class Sheet:
    """The cells of a sheet without empty rows and columns at the end, from the first row and column on.

    Cells are read as they are stored, whatever is shown: 25 % is 0.25, hidden rows and columns are there,
    and of merged cells the first one has the value.

    Attributes
    ----------
    name : str
    others : tuple of str
        Names of the other sheets.
    height, width : int
        Numbers of rows and columns.
    rows : list of list of str
        All of one length. Numbers are written as Python does, dates as ISO 8601 does.
    kinds : list of str
        For each row a letter per cell: `NUMBER`, `TEXT`, `TRUTH`, `ERROR`, `DATE` or `NOTHING`.
    styles : dict of int to str
        For columns with numbers, the most frequent style of these; "" for none.
    units : dict of int to str
        For columns whose numbers are shown with one unit, such as % or €, that unit.
    merged : list of (int, int, int, int)
        Merged cells: first row, first column, last row and last column of each area.
    computed : set of int
        Columns most of whose numbers are those of formulas.
    first_row : int
        The first row of values, where this is known.
    columns : tuple of set of str
        What the cells of each column are from there on, but for empty ones and errors.
    """

    name: str
    others: tuple[str, ...]
    height: int
    width: int
    rows: list[list[str]]
    kinds: list[str]
    styles: dict[int, str]
    units: dict[int, str]
    merged: list[tuple[int, int, int, int]]
    computed: set[int]

    first_row: int = 0
    columns: tuple[set[str], ...] = ()

    def of_table(self, first_row: int) -> "Sheet":
        """The same without the texts of its cells, of which a table with these values has copies."""
        columns = (set[str]().union(*of_column) for of_column in zip(*self.kinds[first_row:]))
        found = tuple(kinds - {NOTHING, ERROR} for kinds in columns)
        return replace(self, rows=[], first_row=first_row, columns=found)

    def lines(self) -> list[str]:
        """The rows as lines of text with tabs between values; titles above the table have fewer values than it."""
        # Most rows end where the table does; notes may stand next to it.
        width = int(np.median([_filled(row) for row in self.rows]))
        above = next((place for place, row in enumerate(self.rows) if 2 * sum(map(bool, row)) > width), 0)
        rows = [*(row[: _filled(row)] for row in self.rows[:above]), *self.rows[above:]]
        quoted = lambda cell: '"' + cell.replace('"', '""').replace("\n", " ") + '"'
        return ["\t".join(map(quoted, row)) + "\n" for row in rows]

    def check_merged(self, places: dict[int, str]) -> None:
        """Refuse merged cells in columns of values, whose names are given by their places: only the first has one."""
        for top, left, bottom, right in self.merged:
            names = [name for place, name in places.items() if left <= place <= right]
            if names and bottom >= self.first_row:
                area = f"{letters_of(left)}{top + 1}:{letters_of(right)}{bottom + 1}"
                raise FileError(
                    f"its cells {area} are merged, of which only the first has a value. Split them, or leave the "
                    f"column out: --exclude {names[0]}"
                )


def read_sheet(path: Path, sheet: str | None = None) -> Sheet:
    """A sheet by its name or number; None takes the first that is not hidden."""
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path.stat().st_size)
            book = Workbook.of(archive)
            name = book.named(sheet)
            reader = _Reader(book)
            with archive.open(book.sheets[name]) as part:
                parse(part, reader.begin, reader.end)
    except Exception as error:  # a file of another kind fails in many ways
        if isinstance(error, (OSError, MemoryError, FileError)):
            raise
        raise FileError(f"it is no Excel file (.xlsx), or damaged: {error}") from error
    return reader.sheet(name, tuple(other for other in book.sheets if other != name))


def place_of(reference: str) -> tuple[int, int]:
    """The row and the column of a cell such as B7, counted from 0."""
    letters = reference.rstrip("0123456789")
    return int(reference[len(letters) :]) - 1, column_of(letters)


def area_of(reference: str) -> tuple[int, int, int, int]:
    """First row and column, and last row and column, of an area such as B7:C9."""
    first, _, last = reference.replace("$", "").partition(":")
    return *place_of(first), *place_of(last or first)


@cache
def column_of(letters: str) -> int:
    """The number of a column from 0 on: A, B, ..., Z, AA, ..."""
    number = 0
    for letter in letters:
        number = 26 * number + "ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(letter) + 1
    if not 0 < number <= MOST_COLUMNS:
        raise ValueError(f"a column {letters}.")
    return number - 1


@cache
def letters_of(column: int) -> str:
    """The name of a column."""
    return (letters_of(column // 26 - 1) if column >= 26 else "") + chr(ord("A") + column % 26)


def _check_size(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse a book that would fill the memory, or take minutes, before any of it is parsed."""
    try:
        check_unpacked(archive, size, MOST_UNPACKED, _ADVICE)
    except ValueError as error:
        raise FileError(str(error)) from error
    tags = sum(_count_tags(archive, member) for member in archive.infolist())
    if tags > MOST_TAGS + MOST_TAGS_PER_BYTE * size:
        raise FileError(f"it has {size} bytes, and {tags:,} XML tags. {_ADVICE}")


def _count_tags(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    with archive.open(member) as part:
        return sum(block.count(b"<") for block in iter(lambda: part.read(BLOCK), b""))


class _Reader:
    """The cells of a sheet as its elements pass by."""

    def __init__(self, book: Workbook) -> None:
        self.formats = book.formats()
        self.are_dates = [bool(_date_letters(code)) for code in self.formats]
        self.shared = book.shared_texts()
        self.epoch = datetime(1904, 1, 1) if book.starts_1904 else datetime(1899, 12, 30)
        self.rows: list[list[str]] = []
        self.kinds: list[str] = []
        self.texts_of_row: list[str] = []
        self.kinds_of_row: list[str] = []
        self.row = self.column = -1
        self.is_inside = False
        self.type, self.style, self.has_formula = NUMBER, "", False
        self.n_cells = 0
        self.counts: Counter[tuple[int, str]] = Counter()  # numbers in a column with a style
        self.computed: Counter[int] = Counter()  # numbers of formulas in a column
        self.merged: list[tuple[int, int, int, int]] = []
        self.without_values: list[str] = []

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            reference = attributes.get("r")
            self.column = self.column + 1 if reference is None else column_of(reference.rstrip("0123456789"))
            self.type, self.style = attributes.get("t", NUMBER), attributes.get("s", "")
            self.has_formula = False
        elif name == "f":
            self.has_formula = True
        elif name == "sheetData":
            self.is_inside = True
        elif name == "row" and self.is_inside:
            self.row, self.column = int(attributes.get("r", self.row + 2)) - 1, -1
            self.texts_of_row, self.kinds_of_row = [], []
            if self.row >= MOST_ROWS:
                raise _too_large()
        elif name == "mergeCell":
            self.merged.append(area_of(attributes["ref"]))

    def end(self, name: str, texts: list[str]) -> None:
        if name == "c":
            text = "".join(texts)
            texts.clear()
            if text:
                self._add(text)
            elif self.has_formula and self.type not in _TEXTS:
                self.without_values.append(f"{letters_of(self.column)}{self.row + 1}")
        elif name == "row" and self.is_inside:
            self._add_row()
        elif name == "sheetData":
            self.is_inside = False

    def _add(self, text: str) -> None:
        kind = self.type
        if kind == NUMBER:
            kind, text = self._number(text)
        elif kind == TEXT:
            text = self.shared[int(text)]
        elif kind in _TEXTS:
            kind, text = TEXT, unescaped(text)
        elif kind == TRUTH:
            text = str(text not in ("0", "false"))
        elif kind == DATE:
            text = text.replace("T", " ").removesuffix("Z").removesuffix(" 00:00:00")
        gap = self.column - len(self.texts_of_row)
        if gap:
            if gap < 0:
                raise ValueError(f"cells of row {self.row + 1} are not in their order.")
            self.texts_of_row += [""] * gap
            self.kinds_of_row += NOTHING * gap
        self.texts_of_row.append(text)
        self.kinds_of_row.append(kind)

    def _number(self, text: str) -> tuple[str, str]:
        if self.style:
            style = int(self.style)
            if self.are_dates[style] and 0 <= float(text) <= _LAST_DAY:
                return DATE, self._date(float(text), self.formats[style])
        self.counts[self.column, self.style] += 1
        self.computed[self.column] += self.has_formula
        if text.isdecimal():
            # A format of zeros alone shows as many digits, as codes have: 1067 is 01067 for the reader.
            digits = _ZEROS.fullmatch(self.formats[int(self.style)]) if self.style else None
            return NUMBER, text.zfill(len(digits[0])) if digits else text
        is_whole = text.lstrip("-").isdecimal()
        return NUMBER, text if is_whole else repr(float(text))

    def _date(self, serial: float, code: str) -> str:
        """A date, a time of the day, or hours, minutes and seconds, as many as there are."""
        milliseconds = timedelta(milliseconds=round(serial * 86_400_000))
        if _ELAPSED.search(code):
            seconds = milliseconds // timedelta(seconds=1)
            return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        if serial < 1:
            return str((self.epoch + milliseconds).time())
        # Excel counts a 29th of February 1900, which has not been.
        has_not_been = serial < 60 and self.epoch.year == 1899
        return str(self.epoch + milliseconds + timedelta(days=int(has_not_been))).removesuffix(" 00:00:00")

    def _add_row(self) -> None:
        missing = self.row - len(self.rows)
        if missing < 0:
            raise ValueError(f"row {self.row + 1} is not in its order.")
        self.n_cells += len(self.texts_of_row)
        if self.n_cells > MOST_CELLS:
            raise _too_large()
        self.rows += [[] for _ in range(missing)]
        self.kinds += [""] * missing
        self.rows.append(self.texts_of_row)
        self.kinds.append("".join(self.kinds_of_row))

    def sheet(self, name: str, others: tuple[str, ...]) -> Sheet:
        """What was read, with rows of one length."""
        if self.without_values:
            shown, count = ", ".join(self.without_values[:_NAMED]), len(self.without_values)
            raise FileError(
                f"its sheet {name!r} has formulas that no program has computed yet, in {count} "
                f"cell{'s' if count != 1 else ''}: {shown}{', ...' if count > _NAMED else ''}. Open it in Excel or "
                "LibreOffice, and save it."
            )
        width = max((_filled(row) for row in self.rows), default=0)
        while self.rows and not _filled(self.rows[-1]):
            self.rows.pop()
        if not self.rows or not width:
            raise FileError("its sheet is empty; choose another one with --sheet NAME.")
        # Rows are made equally long: a cell far to the right makes all of them long.
        if len(self.rows) * width > MOST_CELLS:
            raise _too_large()
        rows = [row[:width] + [""] * (width - len(row)) for row in self.rows]
        kinds = [kinds[:width].ljust(width, NOTHING) for kinds in self.kinds[: len(rows)]]
        styles = {column: style for (column, style), _ in reversed(self.counts.most_common())}
        all_numbers: Counter[int] = Counter()
        for (column, _), count in self.counts.items():
            all_numbers[column] += count
        computed = {column for column, count in self.computed.items() if 2 * count > all_numbers[column]}
        return Sheet(name, others, len(rows), width, rows, kinds, styles, self._units(), self.merged, computed)

    def _units(self) -> dict[int, str]:
        found: dict[int, set[str]] = {}
        for column, style in self.counts:
            found.setdefault(column, set()).add(_unit(self.formats[int(style)]) if style else "")
        return {column: unit for column, units in found.items() if len(units) == 1 and (unit := units.pop())}


def _too_large() -> FileError:
    most = f"{MOST_CELLS:,} cells or {MOST_ROWS:,} rows"
    return FileError(f"its sheet has more than {most}, which are the most that are read. Save it as CSV.")


def _date_letters(code: str) -> list[str]:
    """What a format says of dates and times."""
    code = code.partition(";")[0]
    return _ELAPSED.findall(code) or re.findall("[dmyhs]", _NO_DATE.sub("", code), re.I)


def _unit(code: str) -> str:
    """The unit that a format shows, or nothing."""
    found = _UNIT.search(code.partition(";")[0])
    return next(filter(None, found.groups())) if found else ""


def _filled(row: Sequence[str]) -> int:
    """The number of cells up to the last one with something in it."""
    return max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)
