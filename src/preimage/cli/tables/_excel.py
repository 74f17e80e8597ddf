"""Sheets of Excel files as rows of texts."""

from pathlib import Path
from typing import Any

from preimage.cli._errors import FileError

# A sheet is in memory as a whole, with a text of 60 bytes or more for each cell: this many take a gigabyte.
MOST_CELLS = 2**24
INSTALL = 'Excel files need openpyxl, which is not installed. Type: pip install "preimage[excel]"'


def read_sheet(path: Path, sheet: str | None = None) -> list[list[str]]:
    """The cells of a sheet as texts, without empty rows and columns at the end; None takes the first sheet."""
    try:
        import openpyxl
    except ImportError as error:
        raise FileError(INSTALL) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # a file of another kind fails in many ways
        if isinstance(error, (OSError, MemoryError)) and not isinstance(error, KeyError):
            raise
        raise FileError(f"it is no Excel file (.xlsx), or damaged: {error}") from error
    try:
        if sheet is not None and sheet not in book.sheetnames:
            raise FileError(f"it has no sheet {sheet!r}, but {', '.join(book.sheetnames)}.")
        chosen = book[sheet or book.sheetnames[0]]
        # The size that a sheet declares may be any; rows are as long as they are.
        chosen.reset_dimensions()
        rows, cells = [], 0
        for row in chosen.iter_rows(values_only=True):
            cells += len(row) + 1
            if cells > MOST_CELLS:
                raise FileError(
                    f"its sheet has more than {MOST_CELLS:,} cells, which is the most that is read. Save it as CSV."
                )
            rows.append([_text(value) for value in row])
    finally:
        book.close()
    width = max((_filled(row) for row in rows), default=0)
    while rows and not _filled(rows[-1]):
        rows.pop()
    if not rows or not width:
        raise FileError("its sheet is empty; choose another one with --sheet NAME.")
    return [row[:width] + [""] * (width - len(row)) for row in rows]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return repr(value) if isinstance(value, (float, int)) else str(value).replace("\n", " ")


def _filled(row: list[str]) -> int:
    """The number of cells up to the last one with something in it."""
    return max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)
