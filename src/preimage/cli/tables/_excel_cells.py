"""Single cells of a workbook changed in its own file, of which all else stays as it is."""

import codecs
import copy
import math
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import IO, Any, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from preimage.cli._errors import FileError
from preimage.cli.tables._excel import Sheet, area_of, column_of, letters_of
from preimage.cli.tables._paths import need
from preimage.cli.tables._workbook import BLOCK, Workbook, local, parser_of_part, related

Value: TypeAlias = float | str | bool
# A row and a column from 0 on, and what the cell there holds from now on.
Change: TypeAlias = tuple[int, int, Value]

_TAG = re.compile(rb"<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*\s*/?>")
_SPANS = re.compile(rb"\s+spans\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_FORMULA = re.compile(rb"<(?:[^\s/<>:!?]+:)?f[\s/>]")
# Letters that XML cannot hold, and texts that would be read as the number of one.
_NO_LETTERS = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
# What comes before the settings of calculation in a workbook.
_BEFORE_CALCULATION = ("sheets", "functionGroups", "externalReferences", "definedNames")


def write_cells(source: Path, output: Path, sheet: Sheet, changes: Iterable[Change]) -> None:
    """Write a workbook again with some cells of a sheet changed.

    Changed cells keep their formats, and lose their formulas; those that were not there get the format of their column.
    Other formulas are computed again when a program opens the file. Everything else is the same, byte for byte.

    Parameters
    ----------
    source, output : Path
        Two different files.
    sheet : Sheet
        As it was read from `source`.
    changes : iterable of (int, int, float or str or bool)
        Row and column in `sheet`, and the new value, by rows and within these by columns.
    """
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(output, "w") as new:
        book = Workbook.of(old)
        changed = _to_be_computed_again(book)
        for name, member in {member.filename: member for member in old.infolist()}.items():
            if changed.get(name, b"") is None:
                continue
            with new.open(_described_like(member), "w") as written, old.open(member) as read:
                if name == book.sheets[sheet.name]:
                    _Splicer(written, sheet, changes).run(read)
                elif name in changed:
                    written.write(changed[name] or b"")
                else:
                    shutil.copyfileobj(read, written, BLOCK)


def _described_like(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A new member of an archive with the name, time and compression of another."""
    info = zipfile.ZipInfo(member.filename, member.date_time)
    for name in ("compress_type", "comment", "create_system", "external_attr"):
        setattr(info, name, copy.copy(getattr(member, name)))
    return info


class _Splicer:
    """The XML of a sheet on its way from one file to another, and what is put between its bytes.

    `held` are bytes that were read and may not be written yet; they begin at the offset `start` of the part, and those
    before the offset `done` are in `pieces` already, or left out. A span that is to be replaced begins at `opened`.
    """

    def __init__(self, written: IO[bytes], sheet: Sheet, changes: Iterable[Change]) -> None:
        self.written, self.sheet = written, sheet
        self.changes = _by_rows(changes, sheet)
        self.next = next(self.changes, None)
        self.parser: Any = parser_of_part()
        self.parser.StartElementHandler, self.parser.EndElementHandler = self._begin, self._end
        self.held, self.pieces = b"", list[bytes]()
        self.start = self.done = self.seen = 0
        self.opened: int | None = None
        self.is_inside = False
        self.prefix = ""
        self.row = self.column = -1
        self.cells: dict[int, Value] = {}  # changes in this row that are still to be made
        self.new = b""  # what stands for the opened span
        self.arrays: list[tuple[int, int, int, int]] = []  # areas with one formula, from cells that do not change
        self.master: tuple[str, str] | None = None  # number and cell of a shared formula that is being left out
        self.formula: list[str] = []
        self.orphans: dict[str, Any] = {}  # by the numbers of shared formulas that were left out, how to translate them

    def run(self, read: IO[bytes]) -> None:
        """Copy all of the part."""
        while True:
            block = read.read(BLOCK)
            if not self.start:
                _check_encoding(block)
            self.held += block
            self.parser.Parse(block, not block)
            if self.opened is None:
                self._copy(self.seen)
            self.held, self.start = self.held[self.done - self.start :], self.done
            self.written.write(b"".join(self.pieces))
            self.pieces.clear()
            if not block:
                break
        self.written.write(self.held)

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        self.seen, tag = self.parser.CurrentByteIndex, local(name)
        if tag == "sheetData":
            self.is_inside, self.prefix = True, name.removesuffix("sheetData")
        elif not self.is_inside:
            return
        elif tag == "row":
            self._begin_row(int(attributes.get("r", self.row + 2)) - 1)
        elif tag == "c":
            self._begin_cell(attributes)
        elif tag == "f":
            self._begin_formula(attributes)

    def _end(self, name: str) -> None:
        self.seen, tag = self.parser.CurrentByteIndex, local(name)
        if not self.is_inside:
            return
        if tag == "f" and self.master is not None:
            self._end_master(*self.master)
        if self.opened is not None and tag == ("c" if self.column in self.cells else "f"):
            self._replace()
        elif tag == "row":
            self._insert(self._cells_before(None))
        elif tag == "sheetData":
            self._insert(self._rows_before(None))
            self.is_inside = False

    def _begin_row(self, row: int) -> None:
        self._insert(self._rows_before(row))
        self.row, self.column, self.cells = row, -1, {}
        if self.next is None or self.next[0] != row:
            return
        self.cells, self.next = self.next[1], next(self.changes, None)
        tag = self._tag(self.seen)
        # Which columns a row spans is told to programs that want to know it early; new cells may be elsewhere.
        shorter = _SPANS.sub(b"", tag)
        end = self.seen + len(tag)
        if tag.endswith(b"/>"):
            name = tag[1:].split(None, 1)[0].removesuffix(b"/>")
            shorter = shorter[:-2].rstrip() + b">" + self._cells_before(None) + b"</" + name + b">"
        self._copy(self.seen)
        self.pieces.append(shorter)
        self.done = end

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        reference = attributes.get("r")
        column = self.column + 1 if reference is None else column_of(reference.rstrip("0123456789"))
        self._insert(self._cells_before(column))
        self.column = column
        if column in self.cells:
            self._check_arrays()
            self.new = self._cell(self.row, column, self.cells[column], attributes.get("s", ""))
            self.opened = self.seen

    def _begin_formula(self, attributes: dict[str, str]) -> None:
        is_changed, number, area = self.column in self.cells, attributes.get("si", ""), attributes.get("ref")
        kind = attributes.get("t", "normal")
        if kind in ("array", "dataTable") and area is not None:
            bounds = area_of(area)
            if is_changed and bounds[:2] != bounds[2:]:
                raise _of_an_array(self.row, self.column, bounds)
            if not is_changed:
                self.arrays.append(bounds)
        elif kind == "shared" and area is not None:
            self.orphans.pop(number, None)
            if is_changed:
                self.master, self.formula = (number, _reference(self.row, self.column)), []
                self.parser.CharacterDataHandler = self.formula.append
        elif kind == "shared" and not is_changed and number in self.orphans:
            formula = self.orphans[number].translate_formula(_reference(self.row, self.column))
            self.new, self.opened = self._element("f", escape(formula[1:])), self.seen

    def _end_master(self, number: str, reference: str) -> None:
        """Remember a formula that other cells share."""
        translator = need("openpyxl.formula.translate", "Formulas that several cells share").Translator
        self.orphans[number] = translator("=" + "".join(self.formula), reference)
        self.parser.CharacterDataHandler = self.master = None

    def _replace(self) -> None:
        """Put what is new where the element was that ends here."""
        assert self.opened is not None
        tag = self._tag(self.opened)
        is_closed = tag.endswith(b"/>")
        end = self.opened + len(tag) if is_closed else self.start + self.held.index(b">", self.seen - self.start) + 1
        self._copy(self.opened)
        self.pieces.append(self.new)
        self.done = self.seen = end
        self.cells.pop(self.column, None)
        self.opened = None

    def _check_arrays(self) -> None:
        for bounds in self.arrays:
            top, left, bottom, right = bounds
            if top <= self.row <= bottom and left <= self.column <= right:
                raise _of_an_array(self.row, self.column, bounds)

    def _tag(self, offset: int) -> bytes:
        """The tag that begins at an offset."""
        found = _TAG.match(self.held, offset - self.start)
        assert found is not None, "expat has parsed it"
        return found[0]

    def _copy(self, end: int) -> None:
        """Bytes up to an offset stay as they are."""
        if end > self.done:
            self.pieces.append(self.held[self.done - self.start : end - self.start])
            self.done = end

    def _insert(self, new: bytes) -> None:
        if new:
            self._copy(self.seen)
            self.pieces.append(new)

    def _rows_before(self, row: int | None) -> bytes:
        """Changed rows that the sheet has not."""
        new = b""
        while self.next is not None and (row is None or self.next[0] < row):
            number, self.cells = self.next
            self.row, self.next = number, next(self.changes, None)
            new += self._element("row", self._cells_before(None).decode(), f' r="{number + 1}"')
        return new

    def _cells_before(self, column: int | None) -> bytes:
        """Changed cells of this row that the sheet has not."""
        places = [place for place in self.cells if column is None or place < column]
        for place in places:
            self.column = place
            self._check_arrays()
        return b"".join(
            self._cell(self.row, place, self.cells.pop(place), self.sheet.styles.get(place, "")) for place in places
        )

    def _cell(self, row: int, column: int, value: Value, style: str) -> bytes:
        about = f' r="{_reference(row, column)}"' + (f' s="{style}"' if style else "")
        if isinstance(value, str):
            text = escape(_NO_LETTERS.sub(lambda found: f"_x{ord(found[0]):04X}_", value))
            content = f'<{self.prefix}is><{self.prefix}t xml:space="preserve">{text}</{self.prefix}t></{self.prefix}is>'
            return self._element("c", content, about + ' t="inlineStr"')
        if isinstance(value, bool):
            return self._element("c", f"<{self.prefix}v>{value:d}</{self.prefix}v>", about + ' t="b"')
        if not math.isfinite(value):
            return self._element("c", f"<{self.prefix}v>#NUM!</{self.prefix}v>", about + ' t="e"')
        number = repr(float(value)).removesuffix(".0")
        return self._element("c", f"<{self.prefix}v>{number}</{self.prefix}v>", about)

    def _element(self, tag: str, content: str, about: str = "") -> bytes:
        """An element in ASCII, which is the same in all encodings of sheets."""
        name = self.prefix + tag
        return f"<{name}{about}>{content}</{name}>".encode("ascii", "xmlcharrefreplace")


def _check_encoding(part: bytes) -> None:
    """Refuse XML of two bytes per letter, between which others cannot be put."""
    if part.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FileError("it has parts in UTF-16. Open it in Excel or LibreOffice, and save it.")


def _by_rows(changes: Iterable[Change], sheet: Sheet) -> Iterator[tuple[int, dict[int, Value]]]:
    """Changes row by row."""
    for row, cells in groupby(changes, lambda change: change[0]):
        found = {column: value for _, column, value in cells}
        if not (row < sheet.height and max(found) < sheet.width):
            raise ValueError(f"The sheet has {sheet.height} rows and {sheet.width} columns; row {row} is changed.")
        yield row, found


def _reference(row: int, column: int) -> str:
    return f"{letters_of(column)}{row + 1}"


def _of_an_array(row: int, column: int, bounds: tuple[int, int, int, int]) -> FileError:
    top, left, bottom, right = bounds
    return FileError(
        f"its cell {_reference(row, column)} belongs to the formula of {_reference(top, left)}:"
        f"{_reference(bottom, right)}, of which no single cell can change. Put values in its place (copy, paste as "
        "values), or leave the column out with --exclude."
    )


def _to_be_computed_again(book: Workbook) -> dict[str, bytes | None]:
    """Parts that change so that programs compute the formulas of a workbook when they open it; None for no part.

    The order of computation, which names cells with formulas, is left out: programs make it anew.
    """
    chains = {name: part for name, (what, part) in book.parts.items() if what == "calcChain"}
    if not chains and not any(_has_formulas(book, part) for part in book.sheets.values()):
        return {}
    changed: dict[str, bytes | None] = {book.part: _computed_when_opened(book.archive.read(book.part))}
    if chains:
        references, types = related(book.part), "[Content_Types].xml"
        changed[references] = _without(book.archive.read(references), "Id", set(chains))
        changed[types] = _without(book.archive.read(types), "PartName", {f"/{part}" for part in chains.values()})
        changed.update(dict.fromkeys(chains.values()))
    return changed


def _has_formulas(book: Workbook, part: str) -> bool:
    end = b""
    with book.archive.open(part) as opened:
        while block := opened.read(BLOCK):
            if _FORMULA.search(end + block):
                return True
            end = block[-64:]
    return False


def _computed_when_opened(workbook: bytes) -> bytes:
    """The list of sheets with the wish that formulas be computed."""
    elements = _elements(workbook)
    for name, attributes, start, end in elements:
        if local(name) == "calcPr":
            wished = {**attributes, "fullCalcOnLoad": "1"}
            tag = " ".join([f"<{name}", *(f"{key}={quoteattr(value)}" for key, value in wished.items())])
            return b"".join((workbook[:start], f"{tag}/>".encode(), workbook[end:]))
    name, end = max(
        ((name, end) for name, _, _, end in elements if local(name) in _BEFORE_CALCULATION), key=lambda found: found[1]
    )
    prefix = name.removesuffix(local(name))
    return b"".join((workbook[:end], f'<{prefix}calcPr fullCalcOnLoad="1"/>'.encode(), workbook[end:]))


def _without(part: bytes, key: str, values: set[str]) -> bytes:
    """A part without elements that have one of some values of an attribute."""
    for _, attributes, start, end in reversed(_elements(part)):
        if attributes.get(key) in values:
            part = part[:start] + part[end:]
    return part


def _elements(part: bytes) -> list[tuple[str, dict[str, str], int, int]]:
    """The elements of a part: names, attributes, and the places where they begin and end."""
    _check_encoding(part)
    parser, opened, found = parser_of_part(), list[tuple[str, dict[str, str], int]](), []

    def end(name: str) -> None:
        name, attributes, start = opened.pop()
        tag = _TAG.match(part, start)
        assert tag is not None
        is_closed = tag[0].endswith(b"/>")
        found.append(
            (name, attributes, start, tag.end() if is_closed else part.index(b">", parser.CurrentByteIndex) + 1)
        )

    parser.StartElementHandler = lambda name, attributes: opened.append((name, attributes, parser.CurrentByteIndex))
    parser.EndElementHandler = end
    parser.Parse(part, True)
    return sorted(found, key=lambda element: element[2])
