"""Arrays under names in safetensors bytes, with one JSON document beside them."""

import json

import numpy as np
from scipy import sparse

from preimage._arrays import is_sparse

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
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}


class Tensors:
    """Arrays by name, dense or CSR; in the JSON document a reference stands for each.

    Parameters
    ----------
    arrays : dict of str to array, optional
    """

    def __init__(self, arrays=None):
        self.arrays = {} if arrays is None else arrays

    def put(self, name, array):
        """Keep an array, and return what stands for it in JSON."""
        if is_sparse(array):
            array = array.tocsr()
            for part in ("data", "indices", "indptr"):
                self.put(f"{name}.{part}", getattr(array, part))
            kind = "csr_array" if isinstance(array, sparse.sparray) else "csr_matrix"
            return {"sparse": name, "kind": kind, "shape": [int(size) for size in array.shape]}
        array = np.asarray(array)
        if array.dtype.kind not in "fiub" or array.dtype.newbyteorder("<").str.lstrip("<|") not in _WRITABLE:
            raise ValueError(f"Arrays of {array.dtype} cannot be stored; `{name}` has this type. Use float64.")
        self.arrays[name] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        return {"array": name}

    def get(self, reference):
        """The array for which a reference stands, finite; ValueError for anything else."""
        if isinstance(reference, dict) and set(reference) == {"array"}:
            return self._one(reference["array"])
        if isinstance(reference, dict) and set(reference) == {"sparse", "kind", "shape"}:
            return self._csr(**reference)
        raise ValueError(f"The file refers to an array in an unknown way: {reference!r:.100}.")

    def _one(self, name):
        if not isinstance(name, str) or name not in self.arrays:
            raise ValueError(f"The file has no array {name!r:.60}; it holds {', '.join(sorted(self.arrays))[:200]}.")
        array = self.arrays[name]
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            raise ValueError(f"The array {name!r} of the file has values that are not finite.")
        return array

    def _csr(self, sparse, kind, shape):
        is_size = lambda size: isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**31
        is_shape = isinstance(shape, list) and len(shape) == 2 and all(map(is_size, shape))
        if not is_shape or not isinstance(kind, str) or kind not in _SPARSE:
            raise ValueError(f"The file has a sparse array of an unknown kind {kind!r:.30} or shape {shape!r:.60}.")
        data, indices, indptr = (self._one(f"{sparse!s:.200}.{part}") for part in ("data", "indices", "indptr"))
        flat = all(part.ndim == 1 for part in (data, indices, indptr))
        if not flat or [part.dtype.kind for part in (data, indices, indptr)] != ["f", "i", "i"]:
            raise ValueError(f"The sparse array {sparse!r:.60} of the file has parts of a wrong shape or type.")
        if indptr.size != shape[0] + 1 or data.size != indices.size:
            raise ValueError(f"The sparse array {sparse!r:.60} of the file does not fit its shape {shape}.")
        matrix = _SPARSE[kind]((data, indices, indptr), shape=tuple(shape))
        matrix.check_format(full_check=True)
        return matrix


_WRITABLE = {code.lstrip("<") for code in _TYPES.values()} | {"b1"}


def to_bytes(document, tensors):
    """safetensors bytes of a JSON document and arrays."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    return _safetensors("numpy").save(tensors.arrays, metadata={ENTRY: text})


def from_bytes(data):
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


def _array(name, view):
    if view["dtype"] not in _TYPES:
        raise ValueError(f"The array {name!r:.60} of the file has the type {view['dtype']}, which we do not write.")
    # A copy: aligned, writable, and without the whole file behind it.
    return np.frombuffer(view["data"], dtype=_TYPES[view["dtype"]]).reshape(view["shape"]).copy()


def _distinct(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice.")
    return dict(pairs)


def _refuse_constant(text):
    raise ValueError(f"{text} is no number.")


def _safetensors(part=None):
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise ImportError(
            'Files of models are safetensors, which is not installed. Type: pip install "preimage[persist]"'
        ) from error
    return safetensors if part is None else getattr(safetensors, part)
