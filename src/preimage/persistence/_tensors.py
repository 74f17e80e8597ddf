"""Arrays by name, and references that stand for them in JSON."""

from typing import Any

import numpy as np
from scipy import sparse

from preimage._engine.arrays import from_device, is_sparse
from preimage._engine.typing import Array
from preimage.persistence._compiled_code import check_booleans, check_csr
from preimage.persistence._safetensors import TYPES

_WRITABLE = {np.dtype(code) for code in TYPES.values()}
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

    def has_size(self, size: int) -> bool:
        """Whether an array that was asked for has as many rows or columns."""
        return any(size in array.shape for array in self._read.values())

    def _put_dense(self, name: str, array: Array) -> dict[str, Any]:
        array = np.asarray(from_device(array))
        if array.dtype.newbyteorder("<") not in _WRITABLE:
            raise TypeError(f"Arrays of {array.dtype} cannot be stored; `{name}` has this type. Use float64.")
        reference: dict[str, Any] = {"array": name}
        if array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous:
            # The order of additions, and so the last digits, depend on the layout.
            array, reference["order"] = array.T, "F"
        if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
            reference["finite"] = False
        self.arrays[name] = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
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
        check_booleans(array)
        return array

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
