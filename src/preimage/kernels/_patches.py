"""Kernels that know neighbourhoods in images."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from preimage._engine.arrays import array_namespace, from_numpy, integer_power
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.kernels._kernel import Kernel, Prepared


class Patches(Kernel):
    """k(x, y) = (Σᵢ kᵢ(x, y)^d)^e with kᵢ the inner product on region i of an image  (K13).

    Products of d pixels enter only when the pixels lie in one region, so features are local; e > 1 adds products of
    regions. Images are rows, flattened in C order.

    Parameters
    ----------
    image_shape : (int, int)
        Height and width.
    patch : int, default=4
        Side of the square regions.
    step : int or None, default=None
        Distance between neighbouring regions; None is `patch`, disjoint regions. Smaller steps overlap.
    degree : int, default=2
        d, the degree inside a region.
    outer_degree : int, default=1
        e, the degree across regions.
    window_width : float or None, default=None
        Standard deviation, in pixels, of a Gaussian window on every region; None weighs all its pixels equally.
    smoothing : float or None, default=None
        Standard deviation, in pixels, of a Gaussian that smooths the images first.

    See Also
    --------
    Polynomial : Products of all pixels, near and far.
    preimage.invariances.VirtualExamples : Shifted and turned images, for models that should ignore that.
    MappedInputs : Smoothing or filtering by a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear, Patches
    >>> images = np.random.default_rng(0).random((5, 64))
    >>> np.allclose(Patches((8, 8), degree=1)(images), Linear()(images))
    True
    """

    is_positive_semidefinite = True
    is_bound_to_columns = True
    _parameter_constraints = {
        "image_shape": [tuple, list],
        "patch": [Interval(Integral, 1, None, closed="left")],
        "step": [Interval(Integral, 1, None, closed="left"), None],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "outer_degree": [Interval(Integral, 1, None, closed="left")],
        "window_width": [Interval(Real, 0, None, closed="neither"), None],
        "smoothing": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        image_shape: tuple[int, int],
        patch: int = 4,
        step: int | None = None,
        degree: int = 2,
        outer_degree: int = 1,
        window_width: float | None = None,
        smoothing: float | None = None,
    ) -> None:
        self.image_shape = image_shape
        self.patch = patch
        self.step = step
        self.degree = degree
        self.outer_degree = outer_degree
        self.window_width = window_width
        self.smoothing = smoothing

    def prepare(self, Y: Array) -> Prepared:
        right = self._regions(Y)

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            left = right if X is Y else self._regions(X)
            return lambda rows, columns: integer_power(
                _sum_of_powers(left, right, rows, columns, self.degree), self.outer_degree
            )

        return Prepared(self, Y, tiles)

    def diagonal(self, X: Array) -> Array:
        xp = array_namespace(X)
        regions = [integer_power(xp.sum(part * part, axis=1), self.degree) for part in self._regions(X)]
        return integer_power(sum(regions[1:], regions[0]), self.outer_degree)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        left, right = self._regions(Z), self._regions(X)
        if self.outer_degree > 1:
            total = _sum_of_powers(left, right, slice(None), slice(None), self.degree)
            weights = weights * self.outer_degree * integer_power(total, self.outer_degree - 1)
        parts = []
        for part, other in zip(left, right, strict=True):
            # The derivative of (x·z)^d of one region; regions overlap, and `_gather` adds their parts pixel by pixel.
            factor = self.degree * integer_power(part @ other.T, self.degree - 1) if self.degree > 1 else 1.0
            parts.append((weights * factor) @ other)
        return self._gather(parts, Z)

    def diagonal_gradient(self, Z: Array) -> Array:
        xp = array_namespace(Z)
        regions = self._regions(Z)
        norms = [xp.sum(part * part, axis=1) for part in regions]
        # k(z, z) = (Σᵢ nᵢ^d)^e with nᵢ = ‖part i‖²: the chain rule gives e(Σ nᵢ^d)^{e−1} · d nᵢ^{d−1} · 2 part i
        # (K13).
        outer: Any = 1.0
        if self.outer_degree > 1:
            powers = [integer_power(norm, self.degree) for norm in norms]
            outer = self.outer_degree * integer_power(sum(powers[1:], powers[0]), self.outer_degree - 1)
        parts = []
        for part, norm in zip(regions, norms, strict=True):
            inner = self.degree * integer_power(norm, self.degree - 1) if self.degree > 1 else xp.ones_like(norm)
            parts.append(2 * (outer * inner)[:, None] * part)
        return self._gather(parts, Z)

    def _regions(self, X: Array) -> list[Array]:
        """Weighted pixels of each region: a list of (n, p²) arrays."""
        return [X @ part for part in self._maps(X)]

    def _gather(self, parts: list[Array], like: Array) -> Array:
        """The adjoint of `_regions`: put gradients of regions back on the pixels."""
        maps = self._maps(like)
        total = parts[0] @ maps[0].T
        for part, linear in zip(parts[1:], maps[1:], strict=True):
            total = total + part @ linear.T
        return total

    def _maps(self, X: Array) -> list[Array]:
        """One (pixels, p²) matrix per region: smooth, cut out, weigh."""
        height, width = self.image_shape
        if X.shape[1] != height * width:
            raise ValueError(f"Patches of {height} × {width} images need {height * width} columns; got {X.shape[1]}.")
        if self.patch > min(height, width):
            raise ValueError(f"A patch of {self.patch} pixels does not fit in images of {height} × {width}.")
        regions = _region_maps(height, width, self.patch, self.step or self.patch, self.window_width, self.smoothing)
        return [from_numpy(region, X) for region in regions]


@lru_cache(maxsize=8)
def _region_maps(
    height: int, width: int, patch: int, step: int, window_width: float | None, smoothing: float | None
) -> list[np.ndarray]:
    pixels = np.eye(height * width)
    if smoothing is not None:
        images = pixels.reshape(-1, height, width)
        # Zero outside the image: the filter matrix is then symmetric, and smoothing is one linear map.
        pixels = gaussian_filter(images, (0, smoothing, smoothing), mode="constant").reshape(height * width, -1)
    return [pixels[:, index] * np.sqrt(weight) for index, weight in _windows(height, width, patch, step, window_width)]


def _windows(
    height: int, width: int, patch: int, step: int, window_width: float | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pixel numbers and weights of every region."""
    centre = (patch - 1) / 2
    for top in range(0, height, step):
        for left in range(0, width, step):
            # Regions at the border are cut off, so that every pixel belongs to at least one region.
            rows = np.arange(top, min(top + patch, height))
            columns = np.arange(left, min(left + patch, width))
            index = (rows[:, None] * width + columns[None, :]).ravel()
            if window_width is None:
                yield index, np.ones(index.size)
            else:
                distance = (rows - top - centre)[:, None] ** 2 + (columns - left - centre)[None, :] ** 2
                yield index, np.exp(-distance / (2 * window_width**2)).ravel()


def _sum_of_powers(left: list[Array], right: list[Array], rows: slice, columns: slice, degree: int) -> Array:
    total = integer_power(left[0][rows, :] @ right[0][columns, :].T, degree)
    for part, other in zip(left[1:], right[1:], strict=True):
        total += integer_power(part[rows, :] @ other[columns, :].T, degree)
    return total
