"""Rows as users hold them: orders, strides, dtypes, sparse formats, data frames, lists, and what a call did to them."""

import pickle
import tempfile

import numpy as np
import scipy.sparse as sp

try:
    import pandas as pd
except ImportError:  # the fuzzer also runs where only the dependencies of the library are installed
    pd = None


class Subclass(np.ndarray):
    """An array of a class of its own, such as the arrays with units of other libraries."""


def _strided(values):
    wide = np.full((2 * values.shape[0], 3 * values.shape[1]), _filling(values.dtype), dtype=values.dtype)
    wide[::2, ::3] = values
    return wide[::2, ::3]


def _filling(dtype):
    """What stands between the entries of a strided array: reading it spoils every result."""
    return np.nan if dtype.kind in "fc" else np.ones(1, dtype)[0]


def _read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def _unaligned(values):
    """Numbers that start in the middle of a machine word, as in files that were mapped to memory."""
    if values.dtype == object or not values.size:
        return values
    return np.frombuffer(b"x" + values.tobytes(), values.dtype, offset=1).reshape(values.shape)


def _memory_map(values):
    """Numbers in a file that is mapped to memory, which some estimators read block by block."""
    if values.dtype.kind in "OU" or not values.size:
        return values
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, values.dtype, "w+", shape=values.shape)
    mapped[...] = values
    return mapped


def _duplicated(values):
    """COO with every entry in two parts, half of them at the end."""
    matrix = sp.coo_matrix(values)
    half = (matrix.data / 2).astype(matrix.dtype) if matrix.dtype.kind == "f" else matrix.data
    rest = (matrix.data - half).astype(matrix.dtype) if matrix.dtype.kind == "f" else 0 * matrix.data
    row, col = np.tile(matrix.row, 2), np.tile(matrix.col, 2)
    return sp.coo_matrix((np.concatenate([half, rest]), (row, col)), shape=values.shape)


def _csr_duplicated(values):
    """CSR whose rows name some columns twice, in no order."""
    parts = _duplicated(values)
    order = np.argsort(parts.row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(parts.row, minlength=values.shape[0]))])
    return sp.csr_matrix((parts.data[order], parts.col[order], indptr), shape=values.shape)


def _csr_unsorted(values):
    matrix = sp.csr_matrix(values)
    for i in range(matrix.shape[0]):
        row = slice(matrix.indptr[i], matrix.indptr[i + 1])
        matrix.indices[row], matrix.data[row] = matrix.indices[row][::-1].copy(), matrix.data[row][::-1].copy()
    matrix.has_sorted_indices = False
    return matrix


def _csr_zeros(values):
    """CSR that stores every entry, zeros too, with 64-bit indices."""
    n, d = values.shape
    if d == 0:
        return sp.csr_array(values)
    indices, indptr = np.tile(np.arange(d, dtype=np.int64), n), np.arange(0, n * d + 1, d, dtype=np.int64)
    return sp.csr_array((values.ravel().copy(), indices, indptr), shape=(n, d))


def _frame(values):
    return pd.DataFrame(values, columns=[f"column {j}" for j in range(values.shape[1])])


def _mixed_frame(values):
    """Columns of different types: doubles, single precision, nullable; text and objects stay what they are."""
    frame = _frame(values)
    if values.dtype.kind not in "fiub":
        return frame
    kinds = ["float64", "float32", "Float64"] if values.dtype.kind == "f" else [values.dtype, "Int64", "float64"]
    columns = {}
    for j, name in enumerate(frame.columns):
        single = kinds[j % 3] == "float32"
        columns[name] = typed(values[:, j], "float32") if single else frame[name].astype(kinds[j % 3])
    return pd.DataFrame(columns)


DENSE = {
    "plain": lambda values: np.ascontiguousarray(values),
    "fortran": np.asfortranarray,
    "strided": _strided,
    "reversed": lambda values: np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1],
    "read-only": _read_only,
    "unaligned": _unaligned,
    "memory map": _memory_map,
    "subclass": lambda values: values.view(Subclass),
    "masked": np.ma.masked_array,
    "list": lambda values: values.tolist(),
}
SPARSE = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "dok": sp.dok_matrix,
    "lil": sp.lil_matrix,
    "bsr": sp.bsr_matrix,
    "dia": sp.dia_matrix,
    "csr array": sp.csr_array,
    "coo duplicates": _duplicated,
    "csr duplicates": _csr_duplicated,
    "csr unsorted": _csr_unsorted,
    "csr zeros": _csr_zeros,
}
FRAMES = {
    "frame": _frame,
    "nullable frame": lambda values: _frame(values).convert_dtypes(),
    "mixed frame": _mixed_frame,
}
CONTAINERS = {**DENSE, **SPARSE, **(FRAMES if pd else {})}
# Types that a sparse matrix can have; SciPy itself refuses the others.
SPARSE_TYPES = ("float64", "float32", "int64", "int8", "bool", "longdouble")
TYPES = (
    "float64",
    "float32",
    "float16",
    "longdouble",
    ">f8",
    "int64",
    "int8",
    "uint8",
    "bool",
    "object",
    "str",
    "complex128",
)


def typed(values, dtype):
    """Doubles as another type: clipped to what it can hold, so that finite numbers stay finite."""
    kind = np.dtype(dtype)
    if dtype == "str":
        return values.astype(str)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        # The largest double that is no more than the largest integer.
        top = np.nextafter(float(info.max), 0) if float(info.max) > info.max - 1 else float(info.max)
        return np.clip(np.nan_to_num(np.round(values)), float(info.min), top).astype(kind)
    if kind.kind == "b":
        return values > 0
    if kind.kind == "f" and kind.itemsize < 8:
        most = float(np.finfo(kind).max)
        values = np.where(np.isfinite(values), np.clip(values, -most, most), values)
    return values.astype(kind)


def contained(values, dtype, container):
    """Doubles as a user would hold them."""
    if container in SPARSE and dtype not in SPARSE_TYPES:
        dtype = "float64"
    if container in FRAMES and dtype in ("float16", "complex128"):  # pandas refuses to convert them
        dtype = "float32"
    return CONTAINERS[container](typed(values, dtype))


def fingerprint(value):
    """Bytes that differ if a call changed `value` in place."""
    if value is None or isinstance(value, (int, float, str)):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return fingerprint(value.data), fingerprint(np.ma.getmaskarray(value))
    if isinstance(value, np.ndarray):
        whole = value
        while isinstance(whole.base, np.ndarray):  # gaps of strided arrays count too
            whole = whole.base
        content = pickle.dumps(whole.tolist()) if whole.dtype == object else whole.tobytes()
        return value.shape, value.strides, str(value.dtype), content
    if sp.issparse(value):
        if value.format == "dok":
            return value.shape, str(value.dtype), dict(value.items())
        if value.format == "lil":
            return value.shape, pickle.dumps((value.rows.tolist(), value.data.tolist()))
        names = ("data", "indices", "indptr", "row", "col", "offsets")
        return value.shape, [fingerprint(getattr(value, name)) for name in names if hasattr(value, name)]
    if pd is not None and isinstance(value, pd.Series):
        return value.name, str(value.dtype), pickle.dumps(value.tolist()), value.index.tolist()
    if pd is not None and isinstance(value, pd.DataFrame):  # the pickle of a frame has caches that reading fills
        return [fingerprint(value.iloc[:, place]) for place in range(value.shape[1])]
    return pickle.dumps(value)
