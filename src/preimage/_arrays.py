"""Array namespaces: which one, where, and the few operations the standard lacks."""

import array_api_compat
import array_api_compat.numpy
import numpy as np
from scipy import sparse

from preimage._dask import fetch_rows

is_sparse = sparse.issparse


def array_namespace(*arrays):
    """The array API namespace shared by `arrays`; SciPy's sparse matrices count as NumPy."""
    if all(type(array) is np.ndarray for array in arrays):  # the usual case, asked for thousands of times a second
        return array_api_compat.numpy
    dense = [array for array in arrays if array is not None and not is_sparse(array)]
    return array_api_compat.array_namespace(*dense) if dense else array_api_compat.numpy


def is_host(array):
    """Whether `array` is NumPy's or SciPy's, so that threads over blocks help."""
    return is_sparse(array) or isinstance(array, (np.ndarray, range))


def is_dask(array):
    """Whether `array` is a Dask array: cut in chunks, computed when asked for."""
    return type(array).__module__.split(".")[0] == "dask" and hasattr(array, "chunks")


def is_dask_frame(X):
    """Whether `X` is a Dask data frame."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "to_dask_array")


def without_frame(X):
    """The Dask array of a Dask data frame, whose chunks have unknown lengths; anything else as it is."""
    return X.to_dask_array() if is_dask_frame(X) else X


def is_lazy(array):
    """Whether the values of `array` may be too many to hold at once: a memory map, a Dask array or data frame."""
    return isinstance(array, np.memmap) or is_dask(array) or is_dask_frame(array)


def is_foreign(array):
    """Whether `array` belongs to an array API library other than NumPy that holds its values (torch, CuPy, ...)."""
    return (
        not is_sparse(array)
        and not is_dask(array)
        and array_api_compat.is_array_api_obj(array)
        and not isinstance(array, np.ndarray)
    )


def as_points(X):
    """Rows of inputs as an array: lists and data frames become NumPy, integers become floating."""
    if is_sparse(X):
        return X if X.dtype.kind == "f" else X.astype(np.float64)
    if not array_api_compat.is_array_api_obj(X):
        X = np.asarray(X)
    xp = array_namespace(X)
    return xp.astype(X, floating_type(X), copy=False)


def describe_home(array):
    """Library and device of an array, for messages: 'a NumPy array', 'a torch array on cuda:0'."""
    if is_sparse(array):
        return "a SciPy sparse matrix"
    if isinstance(array, np.ndarray):
        return "a NumPy array"
    library = type(array).__module__.split(".")[0]
    return f"a {library} array on {array_api_compat.device(array)}"


def to_numpy(array):
    """A NumPy copy or view of `array`, from whichever device it lives on."""
    if isinstance(array, np.ndarray):
        return array
    if is_sparse(array):
        return array.toarray()
    if array_api_compat.is_cupy_array(array):
        return array.get()
    if array_api_compat.is_torch_array(array):
        return array.detach().cpu().numpy()
    return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(array)


def from_numpy(values, like, dtype=None):
    """Move NumPy `values` to the namespace and device of `like`, with its dtype unless another is given."""
    if is_host(like):
        return np.asarray(values, dtype=dtype or like.dtype)
    values = np.asarray(values)
    if not values.flags.writeable:  # which torch would warn of
        values = values.copy()
    return array_namespace(like).asarray(values, dtype=dtype or like.dtype, device=array_api_compat.device(like))


def beside(array, like):
    """`array` with the dtype of `like`, moved to its library and device when it is NumPy's."""
    if is_sparse(array):
        return array.astype(like.dtype)
    if is_foreign(array):
        return array_namespace(array).astype(array, like.dtype, copy=False)
    return from_numpy(np.asarray(array), like)


def device_kwargs(like):
    """Keyword arguments that place a new array beside `like`."""
    return {} if is_host(like) else {"device": array_api_compat.device(like)}


def to_dense(array):
    """`array` itself, or a dense copy of a sparse one."""
    return array.toarray() if is_sparse(array) else array


def floating_type(X):
    """The dtype that results on `X` have: float32 stays, everything else becomes float64."""
    xp = array_namespace(X)
    return xp.float32 if X.dtype == xp.float32 else xp.float64


def in_double(array):
    """`array` in double precision, where it is."""
    if is_sparse(array):
        return array.astype(np.float64)
    xp = array_namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def in_precision(array, dtype):
    """`array` as float32 or float64, whichever the floating `dtype` of any namespace is."""
    single = itemsize(dtype) == 4
    if is_sparse(array):
        return array.astype(np.float32 if single else np.float64)
    xp = array_namespace(array)
    return xp.astype(array, xp.float32 if single else xp.float64, copy=False)


def itemsize(dtype):
    """Bytes of one number of a floating dtype of any namespace."""
    return 4 if "float32" in str(dtype) else 8


def epsilon(dtype):
    """Distance from one to the next number of a floating dtype of any namespace."""
    return float(np.finfo(np.float32 if itemsize(dtype) == 4 else np.float64).eps)


def integer_power(base, exponent):
    """base ** exponent by repeated squaring: several times faster than a general power on blocks."""
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def inner_products(X, Y):
    """X Yᵀ as a dense array, for dense and sparse operands."""
    return to_dense(X @ Y.T)


def squared_row_norms(X):
    """‖xᵢ‖² of every row."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return array_namespace(X).sum(X * X, axis=1)


def concat_rows(*arrays):
    """Stack arrays, dense or sparse, one below the other."""
    if any(is_sparse(array) for array in arrays):
        return sparse.vstack(arrays, format="csr")
    return array_namespace(*arrays).concat(arrays, axis=0)


def take_rows(array, indices):
    """The rows with the given NumPy indices; those of a Dask array are fetched."""
    if is_dask(array):
        return fetch_rows(array, np.asarray(indices))
    if is_host(array):
        return array[indices]
    return array_namespace(array).take(array, from_numpy(indices, array, dtype=array_namespace(array).int64), axis=0)


def clamp_at_zero(fresh):
    """max(s, 0) for an array that nobody else holds; NaN stays NaN, so bad values are not hidden."""
    if isinstance(fresh, np.ndarray):
        # A row of zeros, not a scalar: NumPy's loop over two arrays is the faster one.
        return np.maximum(fresh, np.zeros(fresh.shape[1:] and fresh.shape[-1:], fresh.dtype), out=fresh)
    return array_namespace(fresh).clip(fresh, min=0.0)


def copy_transposed(target, source):
    """target[...] = source.T, two to three times faster than NumPy's own loop on large targets."""
    if not isinstance(target, np.ndarray):
        target[...] = source.T
        return
    strip = 128 // target.itemsize  # two cache lines: every line of the target is written while it is in reach
    for start in range(0, source.shape[0], strip):
        target[:, start : start + strip] = source[start : start + strip].T


def transposed(array):
    """The transpose as an array of its own, in row-major order."""
    if isinstance(array, np.ndarray):
        out = np.empty(array.shape[::-1], array.dtype)
        copy_transposed(out, array)
        return out
    xp = array_namespace(array)
    return xp.asarray(array.T, copy=True)


def own_copy(array, original):
    """`array`, copied when it is `original` or shares its memory: what a model keeps must not change under it."""
    if isinstance(array, np.ndarray):
        shared = isinstance(original, np.ndarray) and np.may_share_memory(array, original)
        return array.copy() if shared or not isinstance(original, (np.ndarray, list)) else array
    if is_sparse(array):
        return array.copy()
    return array_namespace(array).asarray(array, copy=True) if array is original else array


def on_device(array, device):
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
    array = np.asarray(array)
    if not array.flags.writeable:  # which torch would warn of
        array = array.copy()
    return torch.as_tensor(array).to(device)
