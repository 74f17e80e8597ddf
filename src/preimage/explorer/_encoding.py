"""Data of a page: a header of names and numbers, and one compressed block with all arrays."""

import base64
import gzip
import json
from typing import Any, TypeAlias

import numpy as np

# Bytes at which arrays begin a multiple: what JavaScript's arrays of double precision ask for.
ALIGNMENT = 8
# More takes twice the time for one part in a hundred of the size.
COMPRESSION_LEVEL = 6
DTYPES = ("float32", "float64", "int32", "uint8")
# An array as it is stored: its type, its shape and its bytes.
_Stored: TypeAlias = tuple[str, tuple[int, ...], bytes]
# Inside a script element of HTML these could end it, or begin a comment; inside JSON the escape means the same.
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def encode(header: dict[str, Any]) -> tuple[str, str]:
    """A header as JSON, safe inside HTML, and its arrays as text: base64 of a block compressed by gzip.

    Parameters
    ----------
    header : dict
        Dictionaries, lists, strings, finite numbers, None, and NumPy arrays of the types in `DTYPES`, which may have
        NaN. Each array becomes ``{"array": number}`` and is described under "arrays" by its type, shape and first byte.
        Equal arrays are stored once: models of several widths have the same points.

    Returns
    -------
    text, block : str
    """
    arrays: dict[_Stored, int] = {}
    tree = _without_arrays(header, arrays)
    parts, described, first = [], [], 0
    for dtype, shape, data in arrays:
        described.append({"dtype": dtype, "shape": list(shape), "first": first})
        padding = -len(data) % ALIGNMENT
        parts.append(data + bytes(padding))
        first += len(data) + padding
    text = json.dumps({**tree, "arrays": described}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    block = gzip.compress(b"".join(parts), COMPRESSION_LEVEL, mtime=0)  # without a time, equal pages are equal files
    return _escaped(text), base64.b64encode(block).decode("ascii")


def _without_arrays(value: Any, arrays: dict[_Stored, int]) -> Any:
    """The same tree with references in place of arrays, which are added to `arrays` with their numbers."""
    if isinstance(value, np.ndarray):
        if value.dtype.name not in DTYPES:
            raise TypeError(f"A page holds arrays of the types {', '.join(DTYPES)}; got {value.dtype.name}.")
        data = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
        return {"array": arrays.setdefault((value.dtype.name, value.shape, data), len(arrays))}
    if isinstance(value, dict):
        return {key: _without_arrays(each, arrays) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_arrays(each, arrays) for each in value]
    return value


def _escaped(text: str) -> str:
    # A lone surrogate has no bytes in any encoding of a file.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(_ESCAPES.get(character, character) for character in text) if _ESCAPES.keys() & set(text) else text
