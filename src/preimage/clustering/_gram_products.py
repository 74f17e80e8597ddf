"""Rows of a Gram matrix and products with it: NumPy in, NumPy out, on whatever device the matrix is."""

import numpy as np

from preimage._arrays import from_numpy, is_host, itemsize, take_rows, to_numpy
from preimage._typing import Array
from preimage.feature_space import Gram

# Fraction of rows with entries above which a matrix that is not held is multiplied as a whole: by symmetry each entry
# is computed once for two uses, so half of the rows cost as much as all.
FEW_ROWS = 0.5


def kernel_rows(gram: Gram, numbers: Array) -> np.ndarray:
    """The rows of a symmetric Gram matrix with the given numbers, shape (len(numbers), n)."""
    if gram.is_held:
        return to_numpy(take_rows(gram.values, numbers))
    return to_numpy(gram.columns(numbers)).T


def product(gram: Gram, V: Array) -> np.ndarray:
    """K V for a dense V of shape (n, k)."""
    return to_numpy(gram @ _on_device(V, gram))


def rows_product(V: Array, numbers: Array, gram: Gram) -> np.ndarray:
    """V K_numbers for the rows of K with the given numbers; V of shape (k, len(numbers)), the result (k, n)."""
    if gram.is_held:
        rows = take_rows(gram.values, numbers)
        return to_numpy(_on_device(V.T, gram).T @ rows)
    if numbers.size > FEW_ROWS * gram.shape[0]:
        whole = np.zeros((gram.shape[0], V.shape[0]))
        whole[numbers] = V.T
        return product(gram, whole).T
    return to_numpy(Gram(gram.kernel, gram.X, take_rows(gram.X, numbers)) @ _on_device(V.T, gram)).T


def _on_device(V: Array, gram: Gram) -> Array:
    """V in the precision of the matrix and on its device."""
    V = np.ascontiguousarray(V, dtype=np.float32 if itemsize(gram.dtype) == 4 else np.float64)
    return V if is_host(gram.device_array) else from_numpy(V, gram.device_array, dtype=gram.dtype)
