"""Sheets of Excel files as rows of texts."""

import zipfile
from pathlib import Path
from typing import Any

from preimage.cli._errors import FileError
from preimage.cli.tables._paths import check_unpacked, need

# Bytes of XML that any file may unpack to, however small it is: 5 million cells. A text among them is copied a few
# times, so ten times as many would take gigabytes.
MOST_UNPACKED = 200_000_000
# Tags that any file may have, and more of them for each of its bytes. openpyxl holds the cells of a row as objects of
# 300 bytes per tag, 300 MB for the first number. Sheets of zeros have 2 tags per byte, others fewer; a file that is
# made to fill the memory has 250.
MOST_TAGS, MOST_TAGS_PER_BYTE = 2**20, 4
# Tags of the parts that openpyxl holds as objects of 700 bytes per tag as long as the book is open, 180 MB for this
# number. Excel has 64,000 formats of cells, with up to four tags each.
MOST_HELD_TAGS = 2**18
_HELD_PARTS = ("xl/styles.xml", "xl/workbook.xml")
# A sheet of Excel has no more rows; empty ones take memory too.
MOST_ROWS = 2**20
# A sheet is in memory as a whole, with a text of 60 bytes or more for each cell: this many take a gigabyte.
MOST_CELLS = 2**24
_ADVICE = "If it is yours, save the sheet as CSV."


def read_sheet(path: Path, sheet: str | None = None) -> list[list[str]]:
    """The cells of a sheet as texts, without empty rows and columns at the end; None takes the first sheet."""
    openpyxl = need("openpyxl", "Excel files")
    try:
        _check_book(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # a file of another kind fails in many ways
        if isinstance(error, (OSError, MemoryError, FileError)):
            raise
        raise FileError(f"it is no Excel file (.xlsx), or damaged: {error}") from error
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise FileError(f"it has no sheet {sheet!r}, but {', '.join(book.sheetnames)}.")
        chosen = book[sheet or book.sheetnames[0]]
        # The size that a sheet declares may be any; rows are as long as they are.
        chosen.reset_dimensions()
        rows = _rows(chosen)
    finally:
        book.close()
    width = max((_filled(row) for row in rows), default=0)
    while rows and not _filled(rows[-1]):
        rows.pop()
    if not rows or not width:
        raise FileError("its sheet is empty; choose another one with --sheet NAME.")
    # Rows are made equally long: a cell far to the right makes all of them long.
    if len(rows) * width > MOST_CELLS:
        raise _too_large()
    return [row[:width] + [""] * (width - len(row)) for row in rows]


def _check_book(path: Path) -> None:
    """Refuse a book that would fill the memory before openpyxl, which holds much of it as objects, opens it."""
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        try:
            check_unpacked(archive, size, MOST_UNPACKED, _ADVICE)
        except ValueError as error:
            raise FileError(str(error)) from error
        tags = {member.filename: 0 for member in archive.infolist()}
        for member in archive.infolist():  # of several parts with one name, each counts
            tags[member.filename] += _count_tags(archive, member)
    if sum(tags.values()) > MOST_TAGS + MOST_TAGS_PER_BYTE * size:
        raise FileError(f"it has {size} bytes, and {sum(tags.values()):,} XML tags. {_ADVICE}")
    if (held := sum(tags.get(name, 0) for name in _HELD_PARTS)) > MOST_HELD_TAGS:
        raise FileError(f"its sheets and formats are described by {held:,} XML tags. {_ADVICE}")


def _count_tags(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> int:
    with archive.open(member) as part:
        return sum(block.count(b"<") for block in iter(lambda: part.read(2**20), b""))


def _rows(sheet: Any) -> list[list[str]]:
    """The rows of a sheet, empty ones too; FileError at the first cell too many."""
    rows: list[list[str]] = []
    cells = 0
    for row in sheet.iter_rows(values_only=True):
        cells += len(row)
        if cells > MOST_CELLS or len(rows) == MOST_ROWS:
            raise _too_large()
        rows.append([_text(value) for value in row])
    return rows


def _too_large() -> FileError:
    most = f"{MOST_CELLS:,} cells or {MOST_ROWS:,} rows"
    return FileError(f"its sheet has more than {most}, which are the most that are read. Save it as CSV.")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, (float, int)) else str(value).replace("\n", " ")


def _filled(row: list[str]) -> int:
    """The number of cells up to the last one with something in it."""
    return max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)
