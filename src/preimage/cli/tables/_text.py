"""Text on its way to columns: bytes, encodings, lines and cells, the last of which pyarrow reads."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from preimage.cli._errors import DataError, FileError
from preimage.cli.tables._numbers import MISSING, NumberFormat
from preimage.cli.tables._paths import compression_of, need

# Bytes that are read and parsed together.
BLOCK = 2**20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Bytes of a line, or of empty lines at the end, that are held, and values of a line: numbers of 15 letters for 500,000
# columns. Lines are taken apart in Python, where a value takes 250 bytes and 30 microseconds.
LONGEST_LINE, MOST_VALUES = 2**23, 2**19
# First words of a last line that sums up the lines above it.
TOTALS = re.compile(
    r"[\s\"']*(?:(?:grand |sub)?total(?:s|e|t|en)?(?: g[ée]n[ée]ral)?|(?:zwischen|gesamt)?summe|sums?|summa|suma|somme"
    r"|soma|(?:ins)?gesamt|gesamtergebnis|razem|итого|всего|mean|average|mittelwert|durchschnitt|moyenne|promedio"
    r"|median|end|eof)"
    r"\b[\s\"':.]*",
    re.I,
)
# What begins comments.
COMMENTS = ("#", "%")
BLANKS_AND_QUOTES = " \t\"'"
ZERO_BYTES = "it has zero bytes, so it is no text; it may be damaged, or of another format."
_OPEN = (
    "it has a quote that begins a value and does not end, which takes all lines after it for one value. Close it, or "
    "put the value between quotes, and write quotes within it twice."
)
DELIMITER_NAMES = {"\t": "tab", " ": "blanks"}


@dataclass(frozen=True)
class Dialect:
    """How a table is written as text.

    Attributes
    ----------
    encoding : str
    delimiter : str
        A blank stands for any run of blanks and tabs.
    quote : str
    comment : str
        What begins lines that are left out; empty for nothing.
    numbers : NumberFormat
    skip_footer : int or None
        Lines after the table; None for none, and a last line that looks like a total is refused.
    skip_ragged : bool
    is_comment_given : bool
        Whether the user said what begins comments.
    late_comments : str
        Signs that begin no line of the first ones, and may begin comments further down.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    comment: str = ""
    numbers: NumberFormat = field(default_factory=NumberFormat)
    skip_footer: int | None = None
    skip_ragged: bool = False
    is_comment_given: bool = False
    late_comments: str = ""

    def described(self) -> str:
        """What is not usual about it."""
        told = []
        if self.delimiter != ",":
            told.append(f"delimiter {DELIMITER_NAMES.get(self.delimiter, repr(self.delimiter))}")
        if self.numbers.decimal != ".":
            told.append(f"decimal {self.numbers.decimal!r}")
        if self.numbers.thousands:
            told.append(f"thousands {self.numbers.thousands!r}")
        if self.encoding.partition("-sig")[0] != "utf-8":
            told.append(self.encoding)
        return f"; {', '.join(told)}" if told else ""


def guess_encoding(start: bytes) -> str:
    """The encoding of a text that begins with these bytes.

    A byte order mark decides. Without, bytes that are valid UTF-8 are UTF-8; else Windows' cp1252, or Latin-1 where
    bytes occur that cp1252 lacks. Other encodings of one byte per letter cannot be told from these: letters may be
    wrong then, digits are the same.
    """
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    if b"\0" in start:
        # In UTF-16 every other byte of digits and Latin letters is zero.
        even, odd = start[0:4096:2].count(0), start[1:4096:2].count(0)
        length = max(1, len(start[:4096]) // 2)
        if odd > 0.5 * length and even < 0.1 * length:
            return "utf-16-le"
        if even > 0.5 * length and odd < 0.1 * length:
            return "utf-16-be"
        raise FileError(ZERO_BYTES)
    for name in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(name)().decode(start, final=False)  # a letter may be cut off at the end
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"


def open_bytes(path: Path) -> Any:
    """A binary file to read, decompressed."""
    compression = compression_of(path)
    if compression is None:
        return open(path, "rb")
    return need("pyarrow", "Compressed tables").input_stream(str(path), compression=compression)


def raw_blocks(path: Path, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file, decompressed, in blocks."""
    with open_bytes(path) as file:
        while block := file.read(size):
            yield bytes(block)


def decoded(blocks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """The same text in UTF-8, without a byte order mark and with newlines alone at the ends of lines."""
    decoder = None
    if codecs.lookup(encoding).name != "utf-8":
        decoder = codecs.getincrementaldecoder(encoding)()
    held = b""  # a carriage return at the end of a block: a newline may follow
    for block in blocks:
        try:
            block = held + (block if decoder is None else decoder.decode(block).encode("utf-8"))
        except UnicodeError as error:
            raise _of_bytes(encoding) from error
        held = b"\r" if block.endswith(b"\r") else b""
        yield unified(block[: len(block) - len(held)])
    if held:
        yield b"\n"


def _of_bytes(encoding: str) -> FileError:
    """What to say of bytes that are none of an encoding: Windows' own first, since Latin-1 lacks its apostrophes."""
    other = "latin-1" if codecs.lookup(encoding).name == "cp1252" else "cp1252"
    return FileError(f"its bytes are not {encoding}. Try --encoding {other}.")


def unified(block: bytes) -> bytes:
    """Lines of Windows and of old Macintoshes, ended as everywhere else."""
    return re.sub(rb"\r\n?", b"\n", block) if b"\r" in block else block


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends; other marks than newlines, such as form feeds, end none."""
    return re.findall(r"[^\n]*\n|[^\n]+$", text)


def whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end where lines end; the last line gets its end."""
    held: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, block[:end]])
            held = []
        if end < len(block):
            held.append(block[end:])
            check_length(sum(map(len, held)))
    if held:
        yield b"".join(held) + b"\n"


def check_length(size: int) -> None:
    """Refuse a line of so many bytes before more memory is taken for it."""
    if size > LONGEST_LINE:
        raise FileError(
            f"it has a line of more than {LONGEST_LINE // 2**20} MiB, which is the longest that is read. If it is no "
            "text, give it the suffix of its format; if it is, write it as NumPy (.npy) or Parquet (.parquet)."
        )


def check_values(lines: list[str]) -> None:
    """Refuse lines of so many values that taking them apart would fill the memory, whatever separates them."""
    if any(len(line) > MOST_VALUES and max(map(line.count, ",;\t| ")) > MOST_VALUES for line in lines):
        raise FileError(
            f"it has a line of more than {MOST_VALUES:,} values, which is the most that is read from text. Write it as "
            "NumPy (.npy) or Parquet (.parquet)."
        )


def comment_pattern(comment: str) -> str:
    """A regular expression of the beginning of a comment; Excel's errors, such as #DIV/0!, begin none."""
    errors = "|".join(re.escape(mark[1:]) for mark in MISSING if mark.startswith("#"))
    return rf"^[ \t]*{re.escape(comment)}(?!{errors})"


def comment_test(comment: str) -> Callable[[str], object]:
    """Whether a line begins with a comment; where nothing begins comments, none does."""
    return re.compile(comment_pattern(comment)).match if comment else lambda line: None


def row_pattern(delimiters: str, quote: str) -> str:
    """A regular expression of a row from the beginning of a line on, whose quoted values may go over several lines."""
    mark, others = re.escape(quote), "".join(map(re.escape, delimiters))
    if delimiters == " ":  # quotes stand anywhere, as in `single_blanks`
        return r'^(?:"[^"]*"|[^"\n])*\n'
    value = rf"(?:{mark}(?:[^{mark}]|{mark}{mark})*{mark}(?!{mark})[^{others}\n]*|(?!{mark})[^{others}\n]*)"
    return rf"^(?:[^{mark}\n]*|{value}(?:[{others}]{value})*)\n"


def single_blanks(block: bytes) -> bytes:
    """Whole lines in which any run of blanks and tabs is one blank, and none is at the ends of lines."""
    if b'"' in block:  # blanks between quotes stay
        block = re.sub(rb'"[^"]*"|[ \t]+', lambda found: found[0] if found[0].startswith(b'"') else b" ", block)
    else:
        block = re.sub(rb"[ \t]+", b" ", block)
    return re.sub(rb"^ | $", b"", block, flags=re.M)


def without_last(blocks: Iterator[bytes], count: int | None, delimiter: str) -> Iterator[bytes]:
    """Blocks of whole lines without the last `count` lines, and without empty ones at the end.

    Lines of delimiters alone are empty: spreadsheets leave such. With None, a last line that looks like a total is
    refused.
    """
    mark = re.escape(delimiter.encode())
    # Two quotes alone are a missing value of a table with one column.
    empty = re.compile(rb"\s*|[\s\"]*" + mark + rb"[\s\"" + mark + rb"]*")
    held = b""
    for block in blocks:
        block = held + block
        cut, left = _end_of_last(block, delimiter), (count or 0) + 1  # `left` lines that hold something stay behind
        while left and cut > 0:
            before = block.rfind(b"\n", 0, cut)
            left -= empty.fullmatch(block, before + 1, cut) is None
            cut = before
        held = block[cut + 1 :] if cut > 0 else block
        if len(held) > 2 * LONGEST_LINE:
            raise FileError(
                f"it has more than {LONGEST_LINE // 2**20} MiB of empty lines, or of lines after its table."
            )
        if cut > 0:
            yield block[: cut + 1]
    lines = held[: _end_of_last(held, delimiter) + 1].split(b"\n")[:-1]
    for left in range(count or 0, -1, -1):
        while lines and empty.fullmatch(lines[-1]):
            lines.pop()
        lines = lines[: len(lines) - (left > 0)]
    first = lines[-1].decode(errors="replace").lstrip(BLANKS_AND_QUOTES + delimiter) if lines else ""
    first = first.split(delimiter, 1)[0]
    if count is None and TOTALS.fullmatch(first):
        raise FileError(
            f"its last line begins with {first.strip(BLANKS_AND_QUOTES)!r} and may sum up "
            "the others. Leave it out with --skip-footer 1, or take it as a row with --skip-footer 0."
        )
    if lines:
        yield b"\n".join(lines) + b"\n"


def _end_of_last(block: bytes, delimiter: str) -> int:
    """The place of the newline after the last line that has more than blanks and delimiters; 0 if there is none.

    Spreadsheets leave a million lines of delimiters; one after another they would take seconds for each block.
    """
    filled = len(block.rstrip(b" \t\n\r\f\v" + delimiter.encode()))
    return block.find(b"\n", filled) if filled else 0


def cells_of(lines: list[str], delimiter: str, quote: str = '"') -> list[list[str]]:
    """The values of every line; a value between quotes may go over several lines."""
    return [cells for _, cells in numbered_cells(lines, delimiter, quote)]


def numbered_cells(lines: list[str], delimiter: str, quote: str = '"') -> list[tuple[int, list[str]]]:
    """The values of every row, and the place of its first line."""
    if delimiter == " ":
        text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
        lines = lines_of(single_blanks(text.encode()).decode())
    csv.field_size_limit(2**31 - 1)
    reader, found, start = csv.reader(lines, delimiter=delimiter, quotechar=quote), [], 0
    for cells in reader:
        if cells:
            found.append((start, cells))
        start = reader.line_num
    return found


@dataclass(frozen=True)
class TextRows:
    """The rows of a text file.

    Attributes
    ----------
    path : Path
    dialect : Dialect
    first_line : int
        Lines before the first row.
    width : int
        Number of columns.
    """

    path: Path
    dialect: Dialect
    first_line: int
    width: int

    def columns(self, places: list[int]) -> Iterator[list[Any]]:
        """Batches of rows: one pyarrow array of texts for each column in `places`."""
        arrow, csv = need("pyarrow", "Text tables"), need("pyarrow.csv", "Text tables")
        names, dialect, ragged = [str(place) for place in range(self.width)], self.dialect, ""
        # The last column shows whether a quote is open at the end: `lines` has no carriage returns but those added.
        picked = list(dict.fromkeys([*(names[place] for place in places), names[-1]]))
        is_open = False

        def at_ragged(row: Any) -> str:
            """What to do with a line that has too few or too many values."""
            nonlocal ragged, is_open
            is_open = is_open or "\r" in row.text
            ragged = (
                f"{'a line' if row.number is None else self.where(row.number)} has {row.actual_columns} values; "
                f"{row.expected_columns} are needed. If the table ends there, leave out the last N lines with "
                "--skip-footer N; --skip-ragged leaves out all such lines."
            )
            return "skip" if dialect.skip_ragged else "error"

        marks = {"delimiter": dialect.delimiter, "quote_char": dialect.quote, "newlines_in_values": True}
        texts = {"column_types": dict.fromkeys(picked, arrow.string()), "include_columns": picked}
        # One thread: several read ahead without bound, and do not know row numbers. At least one row fits a block.
        block = {"block_size": max(BLOCK, 64 * self.width), "use_threads": False, "column_names": names}
        try:
            reader = csv.open_csv(
                io.BufferedReader(ByteStream(chain(self.lines(), [b"\r\r"])), BLOCK),
                csv.ReadOptions(**block),
                csv.ParseOptions(**marks, invalid_row_handler=at_ragged),
                csv.ConvertOptions(**texts, strings_can_be_null=False),
            )
            for batch in reader:
                if batch.num_rows:
                    is_open = is_open or "\r" in batch.column(names[-1])[-1].as_py()
                    yield [batch.column(names[place]) for place in places]
            if is_open:
                raise FileError(_OPEN)
        except arrow.ArrowInvalid as error:
            if is_open:
                raise FileError(_OPEN) from error
            if ragged and not dialect.skip_ragged:
                raise DataError(ragged) from error
            if "Empty CSV" in str(error):
                return
            if "UTF8" in str(error):
                raise _of_bytes(dialect.encoding) from error
            raise FileError(" ".join(str(error).split())) from error

    def lines(self) -> Iterator[bytes]:
        """The lines of the rows in blocks, as the parser wants them; comments that may be rows are refused."""
        blocks = whole_lines(decoded(raw_blocks(self.path), self.dialect.encoding))
        return without_last(self._without_comments(blocks), self.dialect.skip_footer, self.dialect.delimiter)

    def where(self, row: int) -> str:
        """A row, counted from 1, as a line of the file; where lines are left out, as a row."""
        left_out = self.dialect.comment or self.dialect.skip_ragged
        return f"row {row}" if left_out else f"line {row + self.first_line}"

    def _without_comments(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Blocks of whole lines without those before the first row and comments, and with single blanks."""
        comment, quote, left, held = self.dialect.comment, self.dialect.quote.encode(), self.first_line, b""
        lines = re.compile(comment_pattern(comment).encode() + rb".*\n", re.M)
        row = re.compile(row_pattern(self.dialect.delimiter, self.dialect.quote).encode(), re.M)
        for block in blocks:
            place = 0
            while left and place < len(block):
                place = block.index(b"\n", place) + 1
                left -= 1
            block = block[place:]
            for sign in self.dialect.late_comments:
                # Looking for a letter is fast: most numbers have no such.
                if sign.encode() in block and (late := re.search(comment_pattern(sign).encode() + rb".*", block, re.M)):
                    raise _of_comment(late[0].decode(errors="replace"), sign)
            if comment and quote in (block := held + block):
                block, held = self._without_comments_between(block, lines, row)
            elif comment and comment.encode() in block:
                for line in lines.findall(block):
                    self._check_comment(line.decode(errors="replace"))
                block = lines.sub(b"", block)
            if block:
                yield single_blanks(block) if self.dialect.delimiter == " " else block
        if held:
            yield held

    def _without_comments_between(
        self, block: bytes, comment: re.Pattern[bytes], row: re.Pattern[bytes]
    ) -> tuple[bytes, bytes]:
        """Whole rows without the comments between them, and the beginning of a row whose quotes are open."""
        rows, place = [], 0
        while place < len(block):
            if found := comment.match(block, place):
                self._check_comment(found[0].decode(errors="replace"))
            elif found := row.match(block, place):
                rows.append(found[0])
            else:
                check_length(len(block) - place)
                break
            place = found.end()
        return b"".join(rows), block[place:]

    def _check_comment(self, line: str) -> None:
        """Refuse a line that begins like a comment and has the values of a row, unless the user said that it is one."""
        dialect = self.dialect
        cells = cells_of([line], dialect.delimiter, dialect.quote)[0]
        others = cells[1:] or [cells[0].strip().removeprefix(dialect.comment)]
        if len(cells) == self.width and not dialect.is_comment_given and any(map(dialect.numbers.is_number, others)):
            raise _of_comment(line, dialect.comment)


def _of_comment(line: str, sign: str) -> FileError:
    return FileError(
        f"the line {line.strip()[:60]!r} may be a comment, or a row. Say --comment '{sign}' to leave such lines out, "
        "or --comment none to take them."
    )


class ByteStream(io.RawIOBase):
    """Blocks of bytes as a file to read."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._block: Any = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not len(self._block):
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block = memoryview(block)
        size = min(len(buffer), len(self._block))
        buffer[:size] = self._block[:size]
        self._block = self._block[size:]
        return size
