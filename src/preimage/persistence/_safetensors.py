"""The safetensors format, written and read without trusting a number in it.

A file has eight bytes (the length of the header), a header in JSON (the type, shape and place of every array, and texts
under ``__metadata__``), and the arrays, one after another without gaps. Everything that a file declares is compared
with the size of the file before memory is asked for, and arrays are read into their final memory: loading takes little
more memory than the file has bytes.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from scipy import sparse

from preimage._engine.arrays import from_device, is_objects, is_sparse
from preimage._engine.typing import Array
from preimage.persistence._compiled_code import check_booleans, check_csr

# The texts of the header: our JSON, and the checksum of it and of the arrays.
ENTRY, CHECKSUM = "preimage", "preimage.sha256"
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "<i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "<u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in TYPES.items()}
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
# Values that the JSON of a file may have: an empty list takes three bytes there and 64 in memory, and a second time
# when it is decoded. This many take 70 MB; a model with names for 400,000 columns has as many.
MOST_VALUES = 500_000
# safetensors allows headers of at most this size, and NumPy arrays of at most so many axes.
MOST_BYTES, MOST_AXES = 100_000_000, 32
LONGEST_FREE_AXIS = 1_000_000


def parts_of_file(text: str, arrays: dict[str, np.ndarray]) -> list[Any]:
    """The buffers of a file, to be written one after another: a JSON document and arrays by name."""
    header: dict[str, Any] = {"__metadata__": {ENTRY: text, CHECKSUM: checksum(text, arrays)}}
    # Wide numbers first, so that all of them are aligned.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    begin = 0
    for name in order:
        array = arrays[name]
        end = begin + array.nbytes
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    if count_values(encoded) > MOST_VALUES or len(encoded) > MOST_BYTES:  # which could not be read again
        raise ValueError(
            f"The model has more than {MOST_VALUES} names or numbers outside of arrays, or {MOST_BYTES} letters of "
            "them, too many for a file. Fit it on an array: a frame brings the name of every column along."
        )
    return [len(encoded).to_bytes(8, "little"), encoded, *(arrays[name].reshape(-1).data for name in order)]


def checksum(text: str, arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 of a JSON document and of all arrays with their names, types and shapes.

    It finds damage. Whoever changes a file on purpose can write a new one.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        kind = json.dumps([name, _NAMES[array.dtype], list(array.shape)])
        digest.update(kind.encode())
        digest.update(array.reshape(-1).data)
    return digest.hexdigest()


def read_file(file: BinaryIO, size: int) -> tuple[Any, dict[str, np.ndarray]]:
    """The JSON document and the arrays of a file of `size` bytes; ValueError, and nothing executed, for any other."""
    start = file.read(9)
    # A file begins with the length of its header, which may look like anything, and then has a brace.
    if start[:2] in (b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK") and start[8:] != b"{":
        kind = (
            "a ZIP archive, such as skops or PyTorch write" if start[:2] == b"PK" else "a pickle, which may hold code"
        )
        raise ValueError(f"The file is {kind}, not safetensors; it was not opened. Files of `save` can be loaded.")
    try:
        header = _header(file, start, size)
        texts = _texts(header.pop("__metadata__", None))
        places = list(_places(header))
        begin = size - max((end for *_, end in places), default=0)
        arrays = dict(_arrays(file, places, begin, size))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The file is damaged, cut off, or not safetensors: {error}") from error
    if ENTRY not in texts:
        raise ValueError(f"The file holds tensors but no model of preimage: its header has no entry {ENTRY!r}.")
    # Files of earlier versions have none.
    if CHECKSUM in texts and texts[CHECKSUM] != checksum(texts[ENTRY], arrays):
        raise ValueError("The file is damaged: its contents do not have the checksum that was written with them.")
    try:
        return from_json(texts[ENTRY].encode("utf-8", "surrogatepass")), arrays
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The description of the model in the file is not the JSON that we write: {error}") from error


def from_json(encoded: bytes) -> Any:
    """What JSON describes; ValueError where it is too long, has a name twice, or constants that JSON does not have."""
    if count_values(encoded) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES} values.")
    text = encoded.decode("utf-8", "surrogatepass")
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_distinct)


def count_values(encoded: bytes) -> int:
    """At most so many values can be in JSON; letters inside of words are counted as well."""
    return sum(encoded.count(mark) for mark in (b",", b"[", b"{"))


def _header(file: BinaryIO, start: bytes, size: int) -> dict[str, Any]:
    length = int.from_bytes(start[:8], "little")
    if len(start) < 9 or not 1 < length <= min(size - 8, MOST_BYTES):
        raise ValueError(f"a header of {length} bytes was announced, and the file has {size}.")
    header = from_json(start[8:] + file.read(length - 1))
    if not isinstance(header, dict):
        raise ValueError("its header is no table of arrays.")
    return header


def _texts(metadata: Any) -> dict[str, str]:
    texts = {} if metadata is None else metadata
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError("the entries of its header are no texts.")
    # A damaged name of the checksum must not pass for a file that has none.
    unknown = sorted(set(texts) - {ENTRY, CHECKSUM})
    if ENTRY in texts and unknown:
        raise ValueError(f"its header has entries that we do not write: {', '.join(unknown)[:100]}.")
    return texts


def _places(header: dict[str, Any]) -> Iterator[tuple[str, np.dtype, list[int], int, int]]:
    """Name, type, shape, begin and end of every array."""
    is_size = lambda value: type(value) is int and 0 <= value < 2**62
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"the array {name!r:.60} has no type, shape and place.")
        kind, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(kind, str) or kind not in TYPES:
            raise ValueError(f"the array {name!r:.60} has the type {kind!r:.30}, which we do not write.")
        are_sizes = isinstance(shape, list) and isinstance(place, list) and all(map(is_size, [*shape, *place]))
        # An array of no numbers fits any file, whatever its other axes say; models make arrays as long as these.
        is_vast = are_sizes and 0 in shape and max(shape) > LONGEST_FREE_AXIS
        if not are_sizes or is_vast or len(shape) > MOST_AXES or len(place) != 2:
            raise ValueError(f"the array {name!r:.60} has the shape {shape!r:.60} and the place {place!r:.60}.")
        dtype = np.dtype(TYPES[kind])
        if place[1] - place[0] != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"the array {name!r:.60} of shape {shape!r:.60} does not fit its place {place!r:.60}.")
        yield name, dtype, shape, place[0], place[1]


def _arrays(
    file: BinaryIO, places: list[tuple[str, np.dtype, list[int], int, int]], begin: int, size: int
) -> Iterator[tuple[str, np.ndarray]]:
    expected = 0
    # One after another without gaps: together they are as large as the rest of the file, and no larger.
    for name, _, _, first, last in sorted(places, key=lambda place: place[3:]):
        if first != expected:
            raise ValueError(f"the array {name!r:.60} overlaps another, or leaves a gap.")
        expected = last
    if file.tell() != begin:
        raise ValueError(f"its arrays need {expected} bytes, and the file has {size - file.tell()} for them.")
    for name, dtype, shape, _, _ in sorted(places, key=lambda place: place[3:]):
        array = np.empty(math.prod(shape), dtype)
        if array.size and file.readinto(array.view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
            raise ValueError(f"it ends in the middle of the array {name!r:.60}.")
        yield name, array.reshape(shape)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice.")
    return dict(pairs)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no number.")


class Tensors:
    """Arrays by name, dense or CSR; in the JSON document a reference stands for each.

    Parameters
    ----------
    arrays : dict of str to array, optional
    """

    def __init__(self, arrays: dict[str, np.ndarray] | None = None):
        self.arrays = {} if arrays is None else arrays
        # An array that several parts of a model share is stored once, and shared again after loading.
        self._written: dict[int, tuple[Array, dict]] = {}
        self._read: dict[str, Array] = {}

    def put(self, name: str, array: Array) -> dict[str, Any]:
        """Keep an array, of any library and device, and return what stands for it in JSON."""
        if id(array) not in self._written:
            put = self._put_csr if is_sparse(array) else self._put_texts if is_objects(array) else self._put_dense
            reference = put(name, array)
            self._written[id(array)] = array, reference  # held, so that no other array can get its id
        return self._written[id(array)][1]

    def get(self, reference: Any) -> Array:
        """The array for which a reference stands; ValueError for anything else, and for numbers that are not finite."""
        if isinstance(reference, dict) and {"array"} <= set(reference) <= {"array", "order", "finite"}:
            return self._dense(reference["array"], reference.get("order", "C"), reference.get("finite", True))
        if isinstance(reference, dict) and set(reference) == {"sparse", "kind", "shape"}:
            return self._csr(**reference)
        if isinstance(reference, dict) and set(reference) == {"texts"}:
            return self._texts(reference["texts"])
        raise ValueError(f"The file refers to an array in an unknown way: {reference!r:.100}.")

    def has_size(self, size: int) -> bool:
        """Whether an array that was asked for has as many rows or columns."""
        return any(size in array.shape for array in self._read.values())

    def _put_dense(self, name: str, array: Array) -> dict[str, Any]:
        array = np.asarray(from_device(array))
        if array.dtype.newbyteorder("<") not in _NAMES:
            raise TypeError(f"Arrays of {array.dtype} cannot be stored; `{name}` has this type. Use float64.")
        reference: dict[str, Any] = {"array": name}
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            # The order of additions, and so the last digits, depend on the layout.
            array, reference["order"] = array.T, "F"
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            reference["finite"] = False
        self.arrays[name] = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        return reference

    def _put_texts(self, name: str, array: Array) -> dict[str, Any]:
        """A column of texts: their letters in UTF-8, one after another, and where each text ends."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in array[:, 0]]
        ends = np.cumsum([len(each) for each in encoded], dtype=np.int64) if encoded else np.zeros(0, dtype=np.int64)
        self._put_dense(f"{name}.letters", np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self._put_dense(f"{name}.ends", ends)
        return {"texts": name}

    def _put_csr(self, name: str, array: Array) -> dict[str, Any]:
        kind = "csr_array" if isinstance(array, sparse.sparray) else "csr_matrix"
        array = array.tocsr()
        for part in ("data", "indices", "indptr"):
            self._put_dense(f"{name}.{part}", getattr(array, part))
        return {"sparse": name, "kind": kind, "shape": [int(size) for size in array.shape]}

    def _dense(self, name: Any, order: Any, finite: Any) -> np.ndarray:
        array = self._one(name, finite is True)
        if order not in ("C", "F") or not isinstance(finite, bool):
            raise ValueError(f"The array {name!r:.60} of the file has an unknown layout.")
        if name not in self._read:
            self._read[name] = array.T if order == "F" else array
        return self._read[name]

    def _one(self, name: Any, finite: bool = True) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"The file has no array {name!r:.60}; it holds {', '.join(sorted(self.arrays))[:200]}.")
        array = self.arrays[name]
        if finite and array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            raise ValueError(f"The array {name!r} of the file has values that are not finite.")
        check_booleans(array)
        return array

    def _texts(self, name: Any) -> Array:
        if f"texts {name!s:.200}" in self._read:
            return self._read[f"texts {name!s:.200}"]
        letters, ends = (self._one(f"{name!s:.200}.{part}") for part in ("letters", "ends"))
        fits = letters.dtype == np.uint8 and ends.dtype == np.int64 and letters.ndim == ends.ndim == 1
        borders = np.concatenate([[0], ends]) if fits else ends
        if not fits or borders[-1] != letters.size or np.any(borders[1:] < borders[:-1]):
            raise ValueError(f"The texts {name!r:.60} of the file do not end where their letters do.")
        column, encoded = np.empty((ends.size, 1), dtype=object), letters.tobytes()
        for row, (start, stop) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
            column[row, 0] = encoded[start:stop].decode("utf-8", "surrogatepass")
        self._read[f"texts {name!s:.200}"] = column
        return column

    def _csr(self, sparse: Any, kind: Any, shape: Any) -> Array:
        is_size = lambda size: isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**31
        is_shape = isinstance(shape, list) and len(shape) == 2 and all(map(is_size, shape))
        if not is_shape or not isinstance(kind, str) or kind not in _SPARSE:
            raise ValueError(f"The file has a sparse array of an unknown kind {kind!r:.30} or shape {shape!r:.60}.")
        if f"{sparse!s:.200} of {shape}" in self._read:
            return self._read[f"{sparse!s:.200} of {shape}"]
        data, indices, indptr = (self._one(f"{sparse!s:.200}.{part}") for part in ("data", "indices", "indptr"))
        if data.dtype.kind != "f":
            raise ValueError(f"The sparse array {sparse!r:.60} of the file has parts of a wrong type.")
        check_csr(sparse, data, indices, indptr, shape)
        matrix = _SPARSE[kind]((data, indices, indptr), shape=tuple(shape))
        self._read[f"{sparse!s:.200} of {shape}"] = matrix
        return matrix
