"""Products with a symmetric Gram matrix that the workers of a cluster compute, each kernel value once."""

from functools import partial

import numpy as np

from preimage._engine.rows import PairSums, Workers, block_shape, cut, sum_rows
from preimage._engine.typing import Array
from preimage.feature_space._gram import ROW_BLOCKS_PER_SUM, Gram
from preimage.kernels import Kernel


def worker_product(kernel: Kernel, X: Array, workers: Workers) -> PairSums:
    """A function from V to K V, for the rows X in this process, of which workers get the blocks that they need."""
    return workers.pairs(partial(_within, kernel), partial(mirrored_products, kernel), X)


def _within(kernel: Kernel, X: Array, V: Array) -> Array:
    return Gram(kernel, X) @ V


def mirrored_products(kernel: Kernel, X: Array, Y: Array, V: Array, W: Array) -> tuple[Array, Array]:
    """K W and Kᵀ V for the matrix K with entries k(xᵢ, yⱼ), each of which is computed once and used twice."""
    n, (row_step, column_step) = X.shape[0], block_shape(X, Y.shape[0])
    block = Gram(kernel, X, Y)._tile_values(row_step, column_step)

    def contribution(super_rows: slice) -> Array:
        total = np.zeros((n + Y.shape[0], V.shape[1]), dtype=V.dtype)
        upper, lower = total[:n], total[n:]
        for start in range(super_rows.start, super_rows.stop, row_step):
            rows = slice(start, min(start + row_step, super_rows.stop))
            for columns in cut(Y.shape[0], column_step):
                values = block(rows, columns)
                upper[rows] += values @ W[columns]
                lower[columns] += values.T @ V[rows]
        return total

    total = sum_rows(contribution, range(n), rows=row_step * ROW_BLOCKS_PER_SUM, device_of=X)
    return total[:n], total[n:]
