"""Lines of a text table on their way to the parser: streams of blocks of bytes, in UTF-8."""

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

from preimage.cli._errors import FileError

# Bytes of a line, or of empty lines at the end, that are held, and values of a line: numbers of 15 letters for 500,000
# columns. Lines are taken apart in Python, where a value takes 250 bytes and 30 microseconds.
LONGEST_LINE, MOST_VALUES = 2**23, 2**19
# First words of a last line that sums up the lines above it.
TOTALS = re.compile(
    rb"[\s\"']*(?:(?:grand |sub)?totals?|sum|summe|gesamt|mean|average|mittelwert|median|end|eof)\b[\s\"':.]*", re.I
)


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


def without_first(blocks: Iterator[bytes], count: int) -> Iterator[bytes]:
    """Blocks of whole lines without the first `count` lines."""
    for block in blocks:
        place = 0
        while count and place < len(block):
            place = block.index(b"\n", place) + 1
            count -= 1
        if place < len(block):
            yield block[place:]


def without_comments(
    blocks: Iterator[bytes], comment: str, check: Callable[[str], None] = lambda line: None
) -> Iterator[bytes]:
    """Blocks of whole lines without those that begin with `comment`, each of which `check` sees, and may refuse."""
    mark = comment.encode()
    lines = re.compile(comment_pattern(comment).encode() + rb".*\n", re.M)
    for block in blocks:
        if mark in block:
            for line in lines.findall(block):
                check(line.decode(errors="replace"))
            block = lines.sub(b"", block)
        yield block


def comment_pattern(comment: str) -> str:
    """A regular expression of the beginning of a comment; Excel's errors, such as #DIV/0!, begin none."""
    return rf"^[ \t]*{re.escape(comment)}(?!(?:N/A|NA|DIV/0!|VALUE!|REF!|NUM!|NAME\?|NULL!))"


def single_blanks(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines in which any run of blanks and tabs is one blank, and none is at the ends of lines."""
    for block in blocks:
        yield _without_runs(block)


def _without_runs(block: bytes) -> bytes:
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
    while lines and empty.fullmatch(lines[-1]):
        lines.pop()
    lines = lines[: len(lines) - (count or 0)]
    if count is None and lines:
        _check_total(lines[-1], delimiter)
    if lines:
        yield b"\n".join(lines) + b"\n"


def _end_of_last(block: bytes, delimiter: str) -> int:
    """The place of the newline after the last line that has more than blanks and delimiters; 0 if there is none.

    Spreadsheets leave a million lines of delimiters; one after another they would take seconds for each block.
    """
    filled = len(block.rstrip(b" \t\n\r\f\v" + delimiter.encode()))
    return block.find(b"\n", filled) if filled else 0


def _check_total(line: bytes, delimiter: str) -> None:
    first = line.split(delimiter.encode(), 1)[0]
    if TOTALS.fullmatch(first):
        raise FileError(
            f"its last line begins with {first.decode(errors='replace').strip()!r} and may sum up the others. "
            "Leave it out with --skip-footer 1, or take it as a row with --skip-footer 0."
        )


class Stream(io.RawIOBase):
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
