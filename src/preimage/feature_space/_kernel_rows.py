"""Kernel values of changing points against rows that stay."""

from preimage._arrays import array_namespace, device_kwargs, is_host
from preimage._rows import block_shape, cut, for_blocks
from preimage._typing import Array
from preimage.kernels import Kernel

# Rows of a tile, in units of the usual block. Points are few here, and preparing a tile costs as much as the values of
# a few points: with tiles of the usual size a pivot takes longer, with much larger ones the tile leaves the cache.
TILE = 16


class KernelRows:
    """k(·, x) for all rows x, prepared once: squared norms and shifts are not computed again for each new point.

    Parameters
    ----------
    kernel : Kernel
    rows : array of shape (n, d)
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self.kernel = kernel
        self.rows = rows
        step = block_shape(rows, 1)[0] * (TILE if is_host(rows) else 1)
        self._tiles = cut(rows.shape[0], step)
        self._functions = [kernel.against(rows[tile, :]) for tile in self._tiles]

    @property
    def dtype(self) -> Array:
        return self.kernel.value_type(self.rows)

    def __call__(self, points: Array) -> Array:
        """The values k(pᵢ, xⱼ), shape (len(points), n)."""
        if len(self._tiles) == 1:
            return self._functions[0](points)
        xp = array_namespace(self.rows)
        out = xp.empty((points.shape[0], self.rows.shape[0]), dtype=self.dtype, **device_kwargs(self.rows))

        def fill(number: int) -> None:
            out[:, self._tiles[number]] = self._functions[number](points)

        for_blocks(fill, range(len(self._tiles)), self.rows)
        return out
