"""Array namespaces and devices: which ones arrays have, moving between them, and what the standard lacks."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
from scipy import sparse

from preimage._engine.dask import fetch_rows
from preimage._engine.dask import known_rows as known_rows
from preimage._engine.typing import Array, Rows

is_sparse = sparse.issparse


def array_namespace(*arrays: Array) -> Any:
    """The array API namespace shared by `arrays`; SciPy's sparse matrices count as NumPy."""
    for array in arrays:
        if type(array) is not np.ndarray:
            break
    else:  # the usual case, thousands of times per second
        return array_api_compat.numpy
    dense = [array for array in arrays if array is not None and not is_sparse(array)]
    return array_api_compat.array_namespace(*dense) if dense else array_api_compat.numpy


def is_host(array: Array) -> bool:
    """Whether `array` is NumPy's or SciPy's (or a range of row numbers), so that threads over blocks help."""
    return isinstance(array, (np.ndarray, range)) or is_sparse(array)


def is_dask(array: Any) -> bool:
    """Whether `array` is a Dask array: cut into chunks, computed when asked for."""
    return type(array).__module__.split(".")[0] == "dask" and hasattr(array, "chunks")


def is_chunked(X: Any) -> bool:
    """Whether the rows of X are in chunks that may be on other machines: a Dask array or data frame."""
    return is_dask(X) or _is_dask_frame(X)


def without_frame(X: Any) -> Any:
    """The Dask array of a Dask data frame, whose chunks have unknown lengths; anything else as it is."""
    return X.to_dask_array() if _is_dask_frame(X) else X


def is_lazy(array: Any) -> bool:
    """Whether the values of `array` may be too many to hold at once: a memory map, a Dask array or data frame."""
    return isinstance(array, np.memmap) or is_chunked(array)


def in_memory(values: Any) -> Any:
    """What Dask would compute, in memory; anything else as it is."""
    return values.compute() if hasattr(values, "compute") else values


def where_computed(values: Any) -> Any:
    """Values that are computed now and stay where that happens, for many passes: a Dask array with its workers."""
    return values.persist() if is_dask(values) else values


def _is_dask_frame(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array")


def is_foreign(array: Any) -> bool:
    """Whether `array` belongs to an array API library other than NumPy that holds its values (torch, CuPy, ...)."""
    return (
        not isinstance(array, (np.ndarray, np.generic))
        and not is_sparse(array)
        and not is_dask(array)
        and array_api_compat.is_array_api_obj(array)
    )


def as_points(X: Rows) -> Array:
    """Rows of inputs as an array: lists and data frames become NumPy, integers become floating."""
    if is_sparse(X):
        X = canonical(X)
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    if is_masked(X):
        raise ValueError("Masked entries are missing values, which kernels here do not take; fill them, or drop rows.")
    if isinstance(X, np.ma.MaskedArray) or not array_api_compat.is_array_api_obj(X):
        try:
            X = np.asarray(X)
        except (TypeError, ValueError) as error:  # rows of different lengths
            raise ValueError(
                f"Kernels here take rows of as many numbers each; got {type(X).__name__} ({error})."
            ) from error
    if X.dtype.kind == "c" if isinstance(X, np.ndarray) else "complex" in str(X.dtype):
        raise ValueError(f"Kernels here take real numbers; got {X.dtype}. Pass real and imaginary parts as columns.")
    xp = array_namespace(X)
    with np.errstate(over="ignore"):  # numbers of more than double precision
        try:
            return xp.astype(X, floating_type(X), copy=False)
        except (TypeError, ValueError) as error:  # entries that are text or objects, such as None in a frame
            raise ValueError(
                f"Kernels here take numbers, of which none is missing; got an array of {X.dtype} with entries that are "
                f"none ({error}). Convert columns to numbers, and fill missing entries or drop their rows."
            ) from error


def is_objects(X: Any) -> bool:
    """Whether X is a column of objects, as `as_objects` makes it; rows of numbers are none."""
    return type(X) is np.ndarray and X.dtype.kind == "O" and X.ndim == 2 and X.shape[1] == 1


def as_rows(X: Rows) -> Array:
    """Rows of numbers as `as_points` has them, or a column of objects as it is: rows that were validated before."""
    return X if is_objects(X) else as_points(X)


def is_masked(X: Any) -> bool:
    """Whether X is an array of NumPy with entries behind a mask, which are missing."""
    return isinstance(X, np.ma.MaskedArray) and bool(np.ma.is_masked(X))


def canonical(X: Array) -> Array:
    """A sparse matrix in rows with one entry per place; the matrix itself is not changed, as SciPy would do.

    SciPy adds up entries of the same place inside of the matrix that is used.
    """
    rows = X.tocsr()
    if rows.has_canonical_format:
        return rows
    rows = rows.copy() if rows is X else rows
    rows.sum_duplicates()
    return rows


def describe_device(array: Array) -> str:
    """Library and device of an array, for messages: 'a NumPy array', 'a torch array on cuda:0'."""
    if is_sparse(array):
        return "a SciPy sparse matrix"
    if isinstance(array, np.ndarray):
        return "a NumPy array"
    library = type(array).__module__.split(".")[0]
    if not is_foreign(array):
        return f"a {library} {type(array).__name__}" if library != "builtins" else f"a {type(array).__name__}"
    return f"a {library} array on {array_api_compat.device(array)}"


def describe_values(values: Any) -> str:
    """What was given in place of an array of numbers, for messages: its kind, and the shape and type of an array."""
    if not hasattr(values, "shape"):
        return type(values).__name__
    return f"{type(values).__name__} of shape {tuple(values.shape)} of {values.dtype}"


def to_numpy(array: Array) -> np.ndarray:
    """A NumPy copy or view of `array`, from any device."""
    if isinstance(array, np.ndarray):
        return array
    if is_sparse(array):
        return array.toarray()
    if array_api_compat.is_cupy_array(array):
        return array.get()
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)


def from_device(values: Any) -> Any:
    """Values that another library holds, on any device, in NumPy; anything else, a list or a data frame, as it is."""
    return to_numpy(values) if is_foreign(values) else values


def from_numpy(values: Array, device_of: Array, dtype: Any = None) -> Array:
    """Move NumPy `values` to the namespace and device of the array `device_of`, with its dtype by default.

    Next to a column of objects they keep their own.
    """
    if dtype is None and is_objects(device_of):
        return np.asarray(values)
    dtype = device_of.dtype if dtype is None else dtype
    if is_host(device_of):
        return np.asarray(values, dtype=dtype)
    return array_namespace(device_of).asarray(_writable(values), dtype=dtype, device=array_api_compat.device(device_of))


# Types that every library of the array API standard has. NumPy has more: text, objects, long doubles.
_STANDARD_TYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"],
)


def follow_rows(values: Any, rows: Rows) -> Any:
    """NumPy `values` in the namespace and on the device of `rows`, with their own dtype; anything else as it is.

    Text and other types that only NumPy has stay where they are, as scikit-learn's labels do.
    """
    if type(values) is not np.ndarray or type(rows) is np.ndarray:  # the usual case, of single rows too
        return values
    if not is_foreign(rows) or values.dtype.name not in _STANDARD_TYPES:
        return values
    return array_namespace(rows).asarray(_writable(values), device=array_api_compat.device(rows))


def to_device_of(array: Array, other: Array) -> Array:
    """`array` with the dtype of `other`; a NumPy array is also moved to the namespace and device of `other`."""
    if is_sparse(array):
        return array.astype(other.dtype)
    if is_foreign(array):
        return array_namespace(array).astype(array, other.dtype, copy=False)
    return from_numpy(np.asarray(array), other)


def device_kwargs(array: Array) -> Mapping[str, Any]:
    """Keyword arguments that create an array on the device of `array`."""
    return {} if is_host(array) else {"device": array_api_compat.device(array)}


def to_dense(array: Array) -> Array:
    """`array` itself, or a dense copy of a sparse one."""
    return array.toarray() if is_sparse(array) else array


def floating_type(X: Array) -> Any:
    """The dtype that results on `X` have: float32 stays, everything else becomes float64."""
    xp = array_namespace(X)
    return xp.float32 if X.dtype == xp.float32 else xp.float64


def in_double(array: Array) -> Array:
    """`array` in double precision, on the same device; a column of objects has no precision and stays."""
    if is_sparse(array):
        return array.astype(np.float64)
    if is_objects(array):
        return array
    xp = array_namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def in_precision(array: Array, dtype: Any) -> Array:
    """`array` as float32 or float64, whichever the floating `dtype` of any namespace is; objects stay."""
    if is_objects(array):
        return array
    single = itemsize(dtype) == 4
    if is_sparse(array):
        return array.astype(np.float32 if single else np.float64, copy=False)
    xp = array_namespace(array)
    return xp.astype(array, xp.float32 if single else xp.float64, copy=False)


def itemsize(dtype: Any) -> int:
    """Bytes per number of a floating dtype of any namespace."""
    if isinstance(dtype, np.dtype):  # iterations ask in every step, and names of dtypes are slow to make
        return 4 if dtype.char == "f" else 8
    return 4 if "float32" in str(dtype) else 8


# By bytes of a number.
_EPSILON = {4: float(np.finfo(np.float32).eps), 8: float(np.finfo(np.float64).eps)}


def epsilon(dtype: Any) -> float:
    """Distance from one to the next number of a floating dtype of any namespace."""
    return _EPSILON[itemsize(dtype)]


def integer_power(base: Array, exponent: int) -> Array:
    """base ** exponent by repeated squaring: several times faster than a general power on blocks."""
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def inner_products(X: Array, Y: Array) -> Array:
    """X Yᵀ as a dense array, for dense and sparse operands."""
    return to_dense(X @ Y.T)


def squared_row_norms(X: Array) -> Array:
    """‖xᵢ‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return array_namespace(X).sum(X * X, axis=1)


def concat_rows(*arrays: Array) -> Array:
    """Stack arrays, dense or sparse, one below the other."""
    if not all(type(array) is np.ndarray for array in arrays) and any(is_sparse(array) for array in arrays):
        return sparse.vstack(arrays, format="csr")
    return array_namespace(*arrays).concat(arrays, axis=0)


def concat_columns(*arrays: Array) -> Array:
    """Arrays with equally many rows, dense or sparse, side by side."""
    if any(is_sparse(array) for array in arrays):
        return sparse.hstack(arrays, format="csr")
    return array_namespace(*arrays).concat(arrays, axis=1)


def take_rows(array: Rows, indices: Array) -> Array:
    """The rows with the given NumPy indices; those of a Dask array come into memory."""
    if is_dask(array):
        return fetch_rows(array, np.asarray(indices))
    if is_host(array):
        return array[indices]
    return array_namespace(array).take(array, from_numpy(indices, array, dtype=array_namespace(array).int64), axis=0)


def take_columns(array: Array, indices: np.ndarray) -> Array:
    """The columns with the given NumPy indices."""
    if is_host(array):
        return array[:, indices]
    return array_namespace(array).take(array, from_numpy(indices, array, dtype=array_namespace(array).int64), axis=1)


def with_rows(array: Array, numbers: np.ndarray, new: Array) -> Array:
    """A copy of `array` with the rows of the given NumPy numbers replaced by those of `new`."""
    order = np.arange(array.shape[0])
    order[numbers] = array.shape[0] + np.arange(numbers.size)
    return take_rows(concat_rows(array, new), order)


def clamp_at_zero(fresh: Array) -> Array:
    """max(s, 0), in place for a NumPy array, which no one else may hold; NaN stays NaN, so bad values show."""
    if isinstance(fresh, np.ndarray):
        # A row of zeros, not a scalar: NumPy's loop over two arrays is the faster one.
        return np.maximum(fresh, np.zeros(fresh.shape[1:] and fresh.shape[-1:], fresh.dtype), out=fresh)
    return array_namespace(fresh).clip(fresh, min=0.0)


def copy_transposed(target: Array, source: Array) -> None:
    """target[...] = source.T, several times faster than NumPy's own loop on large arrays."""
    if not isinstance(target, np.ndarray):
        target[...] = source.T
        return
    # A row of the target is a column of the source, one number from each of its cache lines. Those of 512 rows fit into
    # the first cache, where the next rows of the target find them; of ten times as many they do not.
    strip = 512
    for start in range(0, source.shape[0], strip):
        target[:, start : start + strip] = _with_odd_rows(source[start : start + strip]).T


def _with_odd_rows(source: Array) -> Array:
    """The same matrix, copied if its columns fall on few sets of a cache and push each other out of it."""
    # Addresses that differ by multiples of 4096 bytes compete for the same set. Rows of a multiple of 256 bytes have
    # sixteen sets at most for all entries of a column.
    if source.strides[0] % 256:
        return source
    n, m = source.shape
    line = 64 // source.itemsize
    odd = np.empty((n, -(-m // (4 * line)) * 4 * line + line), source.dtype)[:, :m]
    odd[...] = source
    return odd


def transposed(array: Array) -> Array:
    """The transpose in row-major order: a copy, unless the array has that order already."""
    if isinstance(array, np.ndarray):
        if array.flags.f_contiguous:
            return array.T
        out = np.empty(array.shape[::-1], array.dtype)
        copy_transposed(out, array)
        return out
    xp = array_namespace(array)
    return xp.asarray(array.T, copy=True)


def own_copy(array: Array, original: Any) -> Array:
    """`array`, copied if it shares memory with `original`: what a model keeps must not change with user data."""
    if isinstance(array, np.ndarray):
        shared = isinstance(original, np.ndarray) and np.may_share_memory(array, original)
        return array.copy() if shared or not isinstance(original, (np.ndarray, list)) else array
    if is_sparse(array):
        return array.copy()
    return array_namespace(array).asarray(array, copy=True) if _has_memory_of(original, array) else array


def _has_memory_of(other: Any, array: Array) -> bool:
    """Whether an array of another library has memory in common with something; a tensor and a view of it do."""
    if other is array:
        return True
    if type(other) is not type(array):
        return False
    if array_api_compat.is_torch_array(array):
        return array.device == other.device and array.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
    if array_api_compat.is_cupy_array(array):
        return bool(array_namespace(array).may_share_memory(array, other))
    return False  # of libraries that give no addresses


def unshared(result: Any, given: Iterable[Any]) -> Any:
    """`result`, in which arrays that have memory in common with an array of `given` are copied.

    Also inside of tuples, lists, dictionaries and dataclasses, so that writing into a result changes nothing else, and
    changing what was given leaves the result as it is.
    """
    if isinstance(result, np.ndarray):
        return result.copy() if any(_may_be_seen_by(other, result) for other in given) else result
    if type(result) in (tuple, list):
        return type(result)(unshared(part, given) for part in result)
    if type(result) is dict:
        return {name: unshared(part, given) for name, part in result.items()}
    if is_dataclass(result) and not isinstance(result, type):
        parts = {field.name: getattr(result, field.name) for field in fields(result) if field.init}
        changed = {name: unshared(part, given) for name, part in parts.items()}
        changed = {name: part for name, part in changed.items() if part is not parts[name]}
        return replace(result, **changed) if changed else result
    if is_sparse(result) or is_foreign(result):
        return own_copy(result, result) if any(_has_memory_of(other, result) for other in given) else result
    return result


def _may_be_seen_by(other: Any, array: np.ndarray) -> bool:
    """Whether an array may have memory of `other`; of views of data frames and the like nobody can tell."""
    if isinstance(other, np.ndarray):
        return np.may_share_memory(array, other)
    return array.base is not None and hasattr(other, "__array__") and not isinstance(other, np.generic)


def on_device(array: Array, device: str) -> Array:
    """`array` on a device such as "cuda", as a torch tensor, or CuPy's where torch is missing."""
    try:
        import torch
    except ImportError:
        if not str(device).startswith("cuda"):
            raise ImportError(f"device={device!r} needs PyTorch; install it with `pip install torch`.") from None
        try:
            import cupy
        except ImportError:
            raise ImportError(
                f"device={device!r} needs PyTorch or CuPy; install one of them, for instance `pip install torch`."
            ) from None
        number = int(str(device).partition(":")[2] or 0)
        with cupy.cuda.Device(number):
            return cupy.asarray(array)
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={device!r} is none that PyTorch {torch.__version__} knows, such as 'cpu', 'cuda' or 'cuda:1'."
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            f"device={device!r} needs a GPU, and PyTorch {torch.__version__} sees none here. Leave `device` out to "
            "compute on the CPU, or install a build of PyTorch for your GPU."
        )
    return torch.as_tensor(_writable(array)).to(device)


def streamed_to(device: str) -> Callable[[Array], Array]:
    """A function that moves NumPy rows to a device, there while the device still works on rows that came before."""
    if not str(device).startswith("cuda"):
        return lambda rows: on_device(rows, device)
    try:
        import torch
    except ImportError:  # CuPy's copies wait for their turn
        return lambda rows: on_device(rows, device)
    stream = torch.cuda.Stream(device)

    def moved(rows: Array) -> Array:
        with torch.cuda.stream(stream):
            tensor = on_device(rows, device)
        present = torch.cuda.current_stream(tensor.device)
        present.wait_stream(stream)
        tensor.record_stream(present)  # its memory is free again when the present stream is done with it
        return tensor

    return moved


def _writable(values: Array) -> np.ndarray:
    """A NumPy array that torch takes without a warning: it warns of memory that it could not write to."""
    values = np.asarray(values)
    return values if values.flags.writeable else values.copy()
