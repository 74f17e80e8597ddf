"""Files that R writes with `save`: arrays, factors and lists of them.

The format is that of "R Internals", section 1.8, in its binary form (XDR), version 2 or 3.
"""

import bz2
import gzip
import lzma
from collections.abc import Callable
from typing import Any

import numpy as np

OPENERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZ": bz2.decompress,
    b"\xfd7": lzma.decompress,
}
NO_VALUE, REFERENCE = 254, 255
SYMBOL, PAIRS, CHARACTERS, LOGICALS, INTEGERS, REALS, STRINGS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10


def read_r_file(contents: bytes) -> dict[str, Any]:
    """The objects of a file by name: lists with names are dictionaries, matrices and factors are arrays.

    Raises
    ------
    ValueError
        If the file holds something else than vectors, matrices, factors and lists, or is no such file.
    """
    decompress = OPENERS.get(contents[:2])
    contents = contents if decompress is None else decompress(contents)
    if contents[:7] not in (b"RDX2\nX\n", b"RDX3\nX\n"):
        raise ValueError("It is not a binary file of R.")
    return _Reader(contents, start=7).objects()


class _Reader:
    """Reads one item after the other; symbols that came before are referred to by number."""

    def __init__(self, contents: bytes, start: int) -> None:
        self.contents, self.position = contents, start
        self.symbols: list[str] = []

    def objects(self) -> dict[str, Any]:
        version, _, _ = self.integer(), self.integer(), self.integer()
        if version == 3:
            self.take(self.integer())  # the name of the encoding
        return dict(self.item())

    def item(self) -> Any:
        flags = self.integer()
        kind = flags & 0xFF
        if kind == NO_VALUE:
            return None
        if kind == REFERENCE:
            return self.symbols[(flags >> 8) - 1]
        if kind == SYMBOL:
            self.symbols.append(self.item())
            return self.symbols[-1]
        if kind == PAIRS:
            return self.pairs(flags)
        if kind == CHARACTERS:
            length = self.integer()
            return None if length == -1 else self.take(length).decode("utf-8")
        values = self.vector(kind)
        return _with_attributes(values, dict(self.item())) if flags & HAS_ATTRIBUTES else values

    def pairs(self, flags: int) -> list[tuple[str, Any]]:
        """A linked list, one cell after the other: not by recursion, which long lists would exhaust."""
        found = []
        while flags & 0xFF == PAIRS:
            if flags & HAS_ATTRIBUTES or not flags & HAS_TAG:
                raise ValueError("only lists with names are read")
            found.append((self.item(), self.item()))
            flags = self.integer()
        return found

    def vector(self, kind: int) -> Any:
        length = self.integer()
        if kind in (LIST, STRINGS):
            return [self.item() for _ in range(length)]
        if kind not in (LOGICALS, INTEGERS, REALS):
            raise ValueError(f"items of kind {kind} are not read")
        dtype = np.dtype(">f8" if kind == REALS else ">i4")
        return np.frombuffer(self.take(length * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def take(self, length: int) -> bytes:
        taken = self.contents[self.position : self.position + length]
        if not 0 <= length <= len(taken):
            raise ValueError("the file ends too early")
        self.position += length
        return taken


def _with_attributes(values: Any, attributes: dict[str, Any]) -> Any:
    if "dim" in attributes:
        return np.asarray(values).reshape(tuple(attributes["dim"]), order="F")
    if "levels" in attributes:
        return np.asarray(attributes["levels"])[values - 1]  # R counts from one
    if "names" in attributes and isinstance(values, list):
        return dict(zip(attributes["names"], values))
    return values
