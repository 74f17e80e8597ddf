"""Arrays by name and one JSON document, as safetensors bytes."""

import json
from typing import Any

import numpy as np
from scipy import sparse

from preimage._arrays import is_foreign, is_sparse, to_numpy
from preimage._typing import Array

# The entry of the header that holds our JSON; safetensors allows strings only.
ENTRY = "preimage"
_TYPES = {
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
    "BOOL": "?",
}
_WRITABLE = {code.lstrip("<") for code in _TYPES.values()} | {"b1"}
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}


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
            reference = self._put_csr(name, array) if is_sparse(array) else self._put_dense(name, array)
            self._written[id(array)] = array, reference  # held, so that no other array can get its id
        return self._written[id(array)][1]

    def get(self, reference: Any) -> Array:
        """The array for which a reference stands; ValueError for anything else, and for numbers that are not finite."""
        if isinstance(reference, dict) and {"array"} <= set(reference) <= {"array", "order", "finite"}:
            return self._dense(reference["array"], reference.get("order", "C"), reference.get("finite", True))
        if isinstance(reference, dict) and set(reference) == {"sparse", "kind", "shape"}:
            return self._csr(**reference)
        raise ValueError(f"The file refers to an array in an unknown way: {reference!r:.100}.")

    def _put_dense(self, name: str, array: Array) -> dict[str, Any]:
        array = to_numpy(array) if is_foreign(array) else np.asarray(array)
        if array.dtype.kind not in "fiub" or array.dtype.newbyteorder("<").str.lstrip("<|") not in _WRITABLE:
            raise TypeError(f"Arrays of {array.dtype} cannot be stored; `{name}` has this type. Use float64.")
        reference: dict[str, Any] = {"array": name}
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            # The order of additions, and so the last digits, depend on the layout.
            array, reference["order"] = array.T, "F"
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            reference["finite"] = False
        self.arrays[name] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        return reference

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
        return array

    def _csr(self, sparse: Any, kind: Any, shape: Any) -> Array:
        is_size = lambda size: isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**31
        is_shape = isinstance(shape, list) and len(shape) == 2 and all(map(is_size, shape))
        if not is_shape or not isinstance(kind, str) or kind not in _SPARSE:
            raise ValueError(f"The file has a sparse array of an unknown kind {kind!r:.30} or shape {shape!r:.60}.")
        if f"{sparse!s:.200} of {shape}" in self._read:
            return self._read[f"{sparse!s:.200} of {shape}"]
        data, indices, indptr = (self._one(f"{sparse!s:.200}.{part}") for part in ("data", "indices", "indptr"))
        flat = all(part.ndim == 1 for part in (data, indices, indptr))
        if not flat or [part.dtype.kind for part in (data, indices, indptr)] != ["f", "i", "i"]:
            raise ValueError(f"The sparse array {sparse!r:.60} of the file has parts of a wrong shape or type.")
        # SciPy's compiled products do not check indices: one outside the shape would read beyond the arrays. Its own
        # `check_format` passes over matrices whose last pointer says that they are empty.
        fits = indptr.size == shape[0] + 1 and indptr[0] == 0 and indptr[-1] <= data.size == indices.size
        fits = fits and bool(np.all(indptr[1:] >= indptr[:-1]) and np.all((indices >= 0) & (indices < shape[1])))
        if not fits:
            raise ValueError(f"The sparse array {sparse!r:.60} of the file does not fit its shape {shape}.")
        matrix = _SPARSE[kind]((data, indices, indptr), shape=tuple(shape))
        self._read[f"{sparse!s:.200} of {shape}"] = matrix
        return matrix


def to_safetensors(document: dict[str, Any], tensors: Tensors) -> bytes:
    """safetensors bytes of a JSON document and arrays."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return _safetensors("numpy").save(tensors.arrays, metadata={ENTRY: text})


def from_safetensors(data: bytes) -> tuple[Any, Tensors]:
    """Document and `Tensors` of safetensors bytes; ValueError, and nothing executed, for any other bytes."""
    safetensors = _safetensors()
    # safetensors begins with the length of its header, which may look like anything, and then has a brace.
    if data[:2] in (b"\x80\x04", b"\x80\x05", b"PK") and data[8:9] != b"{":
        kind = "a ZIP archive, such as skops or PyTorch write" if data[:2] == b"PK" else "a pickle, which may hold code"
        raise ValueError(f"The file is {kind}, not safetensors; it was not opened. Files of `save` can be loaded.")
    try:
        flat = safetensors.deserialize(data)
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        text = (header.get("__metadata__") or {}).get(ENTRY)
    except (safetensors.SafetensorError, ValueError, RecursionError, AttributeError) as error:
        raise ValueError(f"The file is damaged, cut off, or not safetensors: {error}") from error
    if not isinstance(text, str):
        raise ValueError(f"The file holds tensors but no model of preimage: its header has no entry {ENTRY!r}.")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The description of the model in the file is not the JSON that we write: {error}") from error
    return document, Tensors({name: _array(name, view) for name, view in flat})


def _array(name: str, view: dict[str, Any]) -> np.ndarray:
    if view["dtype"] not in _TYPES:
        raise ValueError(f"The array {name!r:.60} of the file has the type {view['dtype']}, which we do not write.")
    # A copy: aligned, writable, and without the whole file behind it.
    return np.frombuffer(view["data"], dtype=_TYPES[view["dtype"]]).reshape(view["shape"]).copy()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice.")
    return dict(pairs)


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is no number.")


def _safetensors(part: str | None = None) -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            'Files of models are safetensors, which is not installed. Type: pip install "preimage[persist]"'
        ) from error
    return safetensors if part is None else getattr(safetensors, part)
