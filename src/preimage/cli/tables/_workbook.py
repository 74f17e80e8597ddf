"""The parts of an Excel workbook: where its sheets are, and what their cells refer to by number."""

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any
from xml.parsers import expat

from preimage.cli._errors import FileError

# Bytes of a part that are parsed together.
BLOCK = 2**20
# Tags of a part that are held, 500 bytes each: 130 MB. Excel has 64,000 formats of cells, with up to four tags each.
MOST_HELD_TAGS = 2**18
# Formats that a workbook does not spell out, by their numbers: percent, dates, times, and times that go beyond a day.
_KNOWN_FORMATS = {
    **dict.fromkeys((9, 10), "0%"),
    **dict.fromkeys((*range(14, 18), 22, *range(27, 37), *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((*range(18, 22), 45, 47), "hh:mm:ss"),
    46: "[h]:mm:ss",
}
# Letters that Excel cannot write as they are: _x000D_ is a carriage return.
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


@lru_cache(1024)
def local(name: str) -> str:
    """A name without its prefix."""
    return name.rpartition(":")[2]


def parser_of_part() -> Any:
    """A parser of XML that refuses definitions of entities, of which sheets have none and bombs are made."""

    def refuse(*declared: Any) -> None:
        raise FileError("it defines entities of its own, as no program does that writes workbooks.")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    return parser


def parse(part: IO[bytes], begin: Callable[[str, dict[str, str]], None], end: Callable[[str, list[str]], None]) -> None:
    """Call ``begin(name, attributes)`` and ``end(name, texts)`` for the elements of a part, without prefixes.

    The texts are those of all elements v and t, without how they are pronounced; who has used them clears the list.
    """
    parser = parser_of_part()
    texts: list[str] = []
    spoken: list[int] = []  # lengths of `texts` where an rPh began

    def start(name: str, attributes: dict[str, str]) -> None:
        name = local(name)
        if name in ("v", "t"):
            parser.CharacterDataHandler = texts.append
        elif name == "rPh":
            spoken.append(len(texts))
        else:
            begin(name, attributes)

    def finish(name: str) -> None:
        name = local(name)
        if name in ("v", "t"):
            parser.CharacterDataHandler = None
        elif name == "rPh":
            del texts[spoken.pop() :]
        else:
            end(name, texts)

    parser.StartElementHandler, parser.EndElementHandler = start, finish
    while block := part.read(BLOCK):
        parser.Parse(block)
    parser.Parse(b"", True)


def unescaped(text: str) -> str:
    """A text with the letters that Excel writes by their numbers."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def parts_of(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """What a part refers to: by its identifier, the last word of its type, and the part; "" is the whole workbook."""
    folder, targets = posixpath.dirname(part), {}
    for _, tag, found in _tags(archive, related(part)):
        if tag == "Relationship" and found.get("TargetMode") != "External":
            whole = posixpath.normpath(posixpath.join("/", folder, found["Target"])).lstrip("/")
            targets[found["Id"]] = (posixpath.basename(found["Type"]), whole)
    return targets


def related(part: str) -> str:
    """The part that says what a part refers to."""
    folder, name = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{name}.rels")


@dataclass(frozen=True)
class Workbook:
    """The parts of a workbook, and what holds for all sheets.

    Attributes
    ----------
    archive : ZipFile
    part : str
        The one that lists the sheets.
    parts : dict of str to (str, str)
        Those that it refers to: what they are, and where.
    sheets : dict of str to str
        Names of sheets of cells and their parts, in their order; those that are hidden come last.
    starts_1904 : bool
        Whether dates count days from 1904 on, as those of old Macintoshes.
    """

    archive: zipfile.ZipFile
    part: str
    parts: dict[str, tuple[str, str]]
    sheets: dict[str, str]
    starts_1904: bool

    @classmethod
    def of(cls, archive: zipfile.ZipFile) -> "Workbook":
        part = next((part for what, part in parts_of(archive, "").values() if what == "officeDocument"), "")
        if not part:
            raise FileError("it has no workbook.")
        parts, starts_1904 = parts_of(archive, part), False
        shown: dict[str, str] = {}
        hidden: dict[str, str] = {}
        for _, tag, found in _tags(archive, part):
            if tag == "workbookPr":
                starts_1904 = found.get("date1904") in ("1", "true")
            elif tag == "sheet":
                what, where = parts[found["id"]]
                if what == "worksheet":
                    (shown if found.get("state", "visible") == "visible" else hidden)[found["name"]] = where
        return cls(archive, part, parts, {**shown, **hidden}, starts_1904)

    def named(self, wanted: str | None) -> str:
        """The name of the sheet that is called so or, if none is, has this number; None takes the first."""
        names = list(self.sheets)
        if wanted in self.sheets:
            return str(wanted)
        number = 1 if wanted is None else int(wanted) if wanted.isdecimal() else 0
        if not 0 < number <= len(names):
            raise FileError(f"it has no sheet {wanted!r}, but {', '.join(names)}.")
        return names[number - 1]

    def shared_texts(self) -> list[str]:
        """Texts that cells refer to by number."""
        found: list[str] = []

        def end(name: str, texts: list[str]) -> None:
            if name == "si":
                found.append(unescaped("".join(texts)))
                texts.clear()

        for part in self._all("sharedStrings"):
            with self.archive.open(part) as opened:
                parse(opened, lambda name, attributes: None, end)
        return found

    def formats(self) -> list[str]:
        """How numbers are shown in cells of each style."""
        codes, used = dict(_KNOWN_FORMATS), []
        for part in self._all("styles"):
            for around, tag, found in _tags(self.archive, part):
                if around == "numFmts":
                    codes[int(found["numFmtId"])] = found["formatCode"]
                elif around == "cellXfs" and tag == "xf":
                    used.append(int(found.get("numFmtId", "0")))
        return [codes.get(number, "") for number in used]

    def _all(self, what: str) -> Iterator[str]:
        return (part for kind, part in self.parts.values() if kind == what)


def _tags(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, dict[str, str]]]:
    """The elements of a part, in their order: the name of the one around, its own, and its attributes."""
    found: list[tuple[str, str, dict[str, str]]] = []
    around = [""]

    def begin(name: str, attributes: dict[str, str]) -> None:
        found.append((around[-1], name, {local(key): value for key, value in attributes.items()}))
        around.append(name)
        if len(found) > MOST_HELD_TAGS:
            raise FileError(f"its sheets and formats are described by more than {MOST_HELD_TAGS:,} XML tags.")

    def end(name: str, texts: list[str]) -> None:
        around.pop()
        texts.clear()

    with archive.open(part) as opened:
        parse(opened, begin, end)
    return found
