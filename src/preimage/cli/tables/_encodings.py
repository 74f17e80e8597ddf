"""The bytes of a text table: compressed or not, in the encodings that people use."""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preimage.cli._errors import FileError
from preimage.cli.tables._optional import need

COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
# Bytes that are read together.
BLOCK = 2**20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


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
        raise FileError("it has zero bytes, so it is no text; it may be damaged, or of another format.")
    for name in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(name)().decode(start, final=False)  # a letter may be cut off at the end
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"


def check_encoding(name: str) -> str:
    """The name of an encoding that Python knows, or a `FileError`."""
    try:
        codecs.lookup(name)
    except LookupError as error:
        raise FileError(f"--encoding {name} is unknown. Use utf-8, latin-1, cp1252 or utf-16, say.") from error
    return name


def compression_of(path: Path) -> str | None:
    """gzip, zstd, bz2, or None, by the last suffix."""
    return COMPRESSIONS.get(path.suffix.lower())


def raw_blocks(path: Path, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file, decompressed, in blocks."""
    with open_bytes(path) as file:
        while block := file.read(size):
            yield bytes(block)


def open_bytes(path: Path) -> Any:
    """A binary file to read, decompressed."""
    compression = compression_of(path)
    if compression is None:
        return open(path, "rb")
    return need("pyarrow", "Compressed tables").input_stream(str(path), compression=compression)


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
            raise FileError(f"its bytes are not {encoding}. Try --encoding latin-1.") from error
        held = b"\r" if block.endswith(b"\r") else b""
        block = block[: len(block) - len(held)]
        yield unified(block)
    if held:
        yield b"\n"


def unified(block: bytes) -> bytes:
    """Lines of Windows and of old Macintoshes, ended as everywhere else."""
    return re.sub(rb"\r\n?", b"\n", block) if b"\r" in block else block
