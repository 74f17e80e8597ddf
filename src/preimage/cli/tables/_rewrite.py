"""A text table written again, byte for byte but for the cells of a result."""

import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from preimage.cli._errors import FileError
from preimage.cli.tables._numbers import NumberFormat, Words
from preimage.cli.tables._text import ByteStream, TextRows, comment_test, raw_blocks

_CHANGED = "it has changed since it was read, or is not as regular as it seemed: nothing was written. Run again."
_LITTLE_ENDIAN = {"utf-16": codecs.BOM_UTF16_LE, "utf-32": codecs.BOM_UTF32_LE}
# A word between blanks, with blanks between quotes.
_WORDS = re.compile(r'((?:"[^"]*"|[^ \t\r\n"])+)')
# Encodings in which a byte of a letter may be that of a separator.
_UNSAFE = ("utf-", "shift", "gb", "big5", "cp932", "cp936", "cp949", "cp950", "johab", "hz", "iso2022")


@dataclass(frozen=True)
class Rewriter:
    """The bytes of a text file with other cells in some places.

    Attributes
    ----------
    rows : TextRows
    formats : tuple of NumberFormat or Words
        Of all columns.
    only_gaps : bool
        Whether cells with a value stay.
    """

    rows: TextRows
    formats: tuple[NumberFormat | Words, ...]
    only_gaps: bool

    def blocks(self, edits: Iterator[tuple[int, Mapping[int, list[str]]]]) -> Iterator[bytes]:
        """All bytes, decompressed; `edits` yields numbers of rows, and for each place of a column their new texts."""
        codec, mark = self._transport()
        lines = iter(io.TextIOWrapper(io.BufferedReader(ByteStream(raw_blocks(self.rows.path))), codec, newline=""))
        records, special = self._records(lines, mark), f" \t{self.rows.dialect.quote}"
        for count, texts in edits:
            columns = [(place, self._carried_all(of_rows)) for place, of_rows in texts.items()]
            found: list[str] = []
            row = 0
            while row < count:
                record = next(records, None)
                if record is None:
                    raise FileError(_CHANGED)
                if isinstance(record, str):
                    found.append(record)
                    continue
                for place, (new, are_simple) in columns:
                    cell = record.cells[place]
                    # Most cells: a number, neither between quotes nor between blanks.
                    if are_simple and cell and cell[0] not in special and cell[-1] not in special:
                        if new[row] and (not self.only_gaps or self.formats[place].is_missing(self._meant(cell))):
                            record.replace(place, new[row])
                    else:
                        self._edit(record, place, new[row])
                found.append(record.joined(self._separator))
                row += 1
            yield "".join(found).encode(codec)
        rest = list(lines)
        self._check_rest(rest)
        yield "".join(rest).encode(codec)

    def _transport(self) -> tuple[str, str]:
        """An encoding that gives all bytes back as they were, and the byte order mark in it."""
        if self._is_narrow:
            return "latin-1", codecs.BOM_UTF8.decode("latin-1")
        name = codecs.lookup(self.rows.dialect.encoding).name
        if name in _LITTLE_ENDIAN:
            is_little = next(raw_blocks(self.rows.path, 4), b"").startswith(_LITTLE_ENDIAN[name])
            return name + ("-le" if is_little else "-be"), "\ufeff"
        return name, "\ufeff"

    @cached_property
    def _is_narrow(self) -> bool:
        """Whether separators are the same bytes as in ASCII, and no others are."""
        name = codecs.lookup(self.rows.dialect.encoding).name
        return name.startswith("utf-8") or not name.startswith(_UNSAFE)

    def _carried(self, text: str) -> str:
        """A text as it stands in lines: in narrow encodings one letter for each byte."""
        encoding = self.rows.dialect.encoding
        return text.encode(encoding.removesuffix("-sig")).decode("latin-1") if self._is_narrow else text

    def _carried_all(self, texts: list[str]) -> tuple[list[str], bool]:
        """Texts as they stand in lines, and whether none of them needs quotes."""
        together = "".join(texts)
        carried = texts if together.isascii() else [self._carried(text) for text in texts]
        return carried, not any(mark in together for mark in (self._separator, self.rows.dialect.quote, self._group))

    def _meant(self, text: str) -> str:
        """What `_carried` was given."""
        is_same = text.isascii() or not self._is_narrow
        return text if is_same else text.encode("latin-1").decode(self.rows.dialect.encoding)

    def _records(self, lines: Iterator[str], mark: str) -> Iterator["str | _Record"]:
        """Lines that are no rows as they are, and rows."""
        dialect = self.rows.dialect
        for number, line in enumerate(lines):
            if number == 0 and line.startswith(mark):
                yield mark
                line = line[len(mark) :]
            is_empty = not line.strip(" \t\r\n" if dialect.delimiter == " " else "\r\n")
            if number < self.rows.first_line or is_empty or self._is_comment(line):
                yield line
                continue
            record = self._parts(line)
            while record is None:  # a value between quotes goes on
                more = next(lines, None)
                if more is None:
                    raise FileError(_CHANGED)
                line += more
                record = self._parts(line)
            if len(record.cells) == self.rows.width:
                yield record
            elif dialect.skip_ragged:
                yield line
            else:
                raise FileError(_CHANGED)

    def _parts(self, line: str) -> "_Record | None":
        """A row; None if a quote is open."""
        separator, quote = self._separator, self.rows.dialect.quote
        if separator == " ":
            parts = _WORDS.split(line)
            is_open = any('"' in blanks for blanks in parts[::2])
            return None if is_open else _Record(parts[1::2], parts[-1], parts[:-1:2])
        body = line.rstrip("\r\n")
        end_of_line = line[len(body) :]
        if quote not in body:
            return _Record(body.split(separator), end_of_line)
        cells, start = [], 0
        while start <= len(body):
            end = _after_quotes(body, start, quote) if body.startswith(quote, start) else start
            if end < 0:
                return None
            end = body.find(separator, end)
            end = len(body) if end < 0 else end
            cells.append(body[start:end])
            start = end + len(separator)
        return _Record(cells, end_of_line)

    @cached_property
    def _is_comment(self) -> Callable[[str], object]:
        return comment_test(self.rows.dialect.comment)

    @cached_property
    def _separator(self) -> str:
        return self._carried(self.rows.dialect.delimiter)

    @cached_property
    def _group(self) -> str:
        """Commas between thousands, which stand between quotes in the only column of a table."""
        is_alone = self.rows.width == 1 and self.rows.dialect.numbers.thousands == ","
        return "," if is_alone else self._separator

    def _edit(self, record: "_Record", place: int, new: str) -> None:
        """Put a text in a cell, unless there is none, or the cell has a value that stays."""
        cell, quote = record.cells[place], self.rows.dialect.quote
        inner = cell.strip(" \t")
        is_quoted = len(inner) > 1 and inner.startswith(quote)
        known = inner[1:-1].replace(2 * quote, quote) if is_quoted else inner
        if not new or (self.only_gaps and not self.formats[place].is_missing(self._meant(known))):
            return
        # Blanks around a value stay, between its quotes or, where quotes are new, within these.
        new = _with_blanks(new, known if is_quoted else cell)
        if is_quoted or self._separator in new or quote in new or (self._group in new and self._group not in cell):
            new = quote + new.replace(quote, 2 * quote) + quote
        record.replace(place, _with_blanks(new, cell) if is_quoted else new)

    def _check_rest(self, lines: list[str]) -> None:
        """Refuse rows behind those of the result, except a footer."""
        dialect = self.rows.dialect
        filled = [line for line in lines if line.strip(f"{self._separator}{dialect.quote} \t\r\n")]
        if sum(not self._is_comment(line) for line in filled) > (dialect.skip_footer or 0) and not dialect.skip_ragged:
            raise FileError(_CHANGED)


def _with_blanks(new: str, old: str) -> str:
    """A text between the blanks that another one has around it, if that is more than blanks."""
    inner = old.strip(" \t")
    start = old.index(inner)
    return old[:start] + new + old[start + len(inner) :] if inner else new


class _Record:
    """The cells of a row as they stand in the file, blanks before them where these separate, and what ends the line."""

    __slots__ = ("between", "cells", "end")

    def __init__(self, cells: list[str], end: str, between: list[str] | None = None) -> None:
        self.cells = cells
        self.end = end
        self.between = between

    def replace(self, place: int, text: str) -> None:
        """Put a text in a cell; columns of aligned tables keep their right end where there is room."""
        if self.between is not None and len(blanks := self.between[place]) > 1 and not blanks.strip(" "):
            self.between[place] = " " * max(1, len(blanks) + len(self.cells[place]) - len(text))
        self.cells[place] = text

    def joined(self, separator: str) -> str:
        if self.between is None:
            return separator.join(self.cells) + self.end
        return "".join([part for pair in zip(self.between, self.cells) for part in pair]) + self.end


def _after_quotes(text: str, start: int, quote: str) -> int:
    """The place after the quotes that begin at `start`; negative if they do not end."""
    end = text.find(quote, start + 1)
    while end >= 0 and text[end + 1 : end + 2] == quote:
        end = text.find(quote, end + 2)
    return end + 1 if end >= 0 else -1
