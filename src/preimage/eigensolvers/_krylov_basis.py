"""Orthonormal bases of block Krylov spaces, and Rayleigh–Ritz pairs on them."""

import math

import numpy as np

from preimage._engine.arrays import array_namespace, device_kwargs, epsilon, from_numpy, squared_row_norms, take_rows
from preimage._engine.lapack import eigenpairs_between
from preimage._engine.linalg import difference, eigh_descending, orthogonalize, product
from preimage._engine.typing import Array
from preimage.eigensolvers._eigensolver import (
    LARGE_PROJECTION,
    SOLVER_ROUNDING,
    WEAKEST,
    EigenResult,
    Operator,
    allowed_residuals,
    leading_order,
    measured_result,
    product_rounding,
)


class Waiting:
    """After how many more columns to look at residuals again, by the reduction between earlier looks.

    Residuals are taken to fall by ten with every `k/16 + 4` columns where there is no earlier value: an average over
    spectra. Looks come at three quarters of the way, because convergence only gets faster, and never later than six
    columns or a sixth of all columns after the last one.
    """

    def __init__(self, k: int) -> None:
        self.columns_per_decade = k / 16 + 4
        self._before: tuple[int, float] | None = None

    def columns(self, size: int, excess: float) -> int:
        if self._before is not None:
            decades = math.log10(max(self._before[1] / excess, 1.1))
            self.columns_per_decade = min((size - self._before[0]) / decades, 4 * self.columns_per_decade)
        self._before = size, excess
        predicted = 0.75 * self.columns_per_decade * math.log10(max(excess, 1.0))
        return max(1, int(min(predicted, max(size / 6, 6))))


class KrylovBasis:
    """Orthonormal vectors Q, their images AQ, and the projected matrix QᵀAQ, which grow block by block.

    Vectors and images are stored as rows, so that each is one piece of memory.
    """

    def __init__(self, operator: Operator, capacity: int) -> None:
        array = device_array(operator)
        xp, kwargs = array_namespace(array), {"dtype": operator.dtype, **device_kwargs(array)}
        self.operator = operator
        self.capacity = capacity
        self.size = 0
        self.n_products = 0
        self._scale = 0.0
        self._rounding = product_rounding(operator)
        self._blocks: list[slice] = []  # the last two, in order
        self._vectors = xp.empty((capacity, operator.shape[0]), **kwargs)
        self._images = xp.empty((capacity, operator.shape[0]), **kwargs)
        self._projected = xp.zeros((capacity, capacity), **kwargs)
        self._beyond: Array = None  # inner products of what the images of the last block have outside of the span

    @property
    def vectors(self) -> Array:
        return self._vectors[: self.size, :].T

    @property
    def images(self) -> Array:
        return self._images[: self.size, :].T

    def append(self, block: Array) -> None:
        """Add an orthonormal block, and its image by one product."""
        new = slice(self.size, self.size + block.shape[1])
        self._vectors[new, :] = block.T
        product = self.operator @ self._vectors[new, :].T
        self._images[new, :] = product.T
        self._blocks = [*self._blocks[-1:], new]
        self.size, self.n_products = new.stop, self.n_products + block.shape[1]
        self._scale = max(self._scale, _longest(self._images[new, :]))

    def next_block(self) -> Array:
        """What the last image adds to the span; no columns when the span is invariant."""
        # Lanczos: in exact arithmetic the image of a block meets only that block, the one before it, and, for a
        # while after a restart, the Ritz vectors. Other entries of the projected matrix are zero.
        last, recent = self._blocks[-1], slice(self._blocks[0].start, self.size)
        image, directions = self._images[last, :], self._vectors[recent, :]
        overlaps = product(image, directions.T)
        self._projected[last, recent] = overlaps
        self._projected[recent, last] = overlaps.T
        beyond = difference(image, product(overlaps, directions))
        self._beyond = product(beyond, beyond.T)
        # Directions shorter than this are rounding errors and are dropped.
        floor = SOLVER_ROUNDING * epsilon(image.dtype) * self._scale
        # The second pass over everything removes rounding errors.
        return orthogonalize(beyond.T, self.vectors, floor, self.vectors[:, :0], self._beyond)

    def ritz(self, count: int, by_modulus: bool) -> tuple[Array, Array]:
        """The leading Ritz values, and their vectors as weights of the basis."""
        values, weights = eigh_descending(self._projected[: self.size, : self.size])
        if not by_modulus:
            return values[:count], weights[:, :count]
        order = leading_order(values, by_modulus)[:count]
        return take_rows(values, order), take_rows(weights.T, order).T

    def weakest_excess(self, k: int, tolerance: float, by_modulus: bool) -> float:
        """An estimate of the largest residual of the k leading pairs over what is allowed.

        In exact arithmetic AQ lies in the span but for the images of the last block, so that ‖Au − λu‖ is the length
        of their part outside, weighted by the last entries of u. The weakest pairs converge last: of many pairs only
        these are computed, which is several times faster.
        """
        projected = self._projected[: self.size, : self.size]
        largest, few = None, min(k, WEAKEST)
        if by_modulus or not isinstance(projected, np.ndarray) or self.size < LARGE_PROJECTION:
            values, weights = self.ritz(k, by_modulus)
        else:
            values, weights = eigenpairs_between(projected, self.size - k, self.size - k + few - 1)
            largest = self._scale
            if values.shape[0] < few:  # LAPACK's driver for some pairs may miss those of equal eigenvalues
                (values, weights), largest = self.ritz(k, by_modulus), None
        xp = array_namespace(values)
        last = weights[self._blocks[-1], :]
        residuals = xp.sqrt(xp.clip(xp.sum(last * (self._beyond @ last), axis=0), min=0.0))
        return float(xp.max(residuals / allowed_residuals(values, tolerance, self._rounding, largest)))

    def result(self, k: int, tolerance: float, by_modulus: bool) -> EigenResult:
        """The Ritz pairs with residuals measured on the stored images; no further product is needed."""
        values, weights = self.ritz(k, by_modulus)
        vectors = product(self._vectors[: self.size, :].T, weights)
        products = product(self._images[: self.size, :].T, weights)
        return measured_result(values, vectors, products, tolerance, self.n_products, "iteration limit", self._rounding)

    def restart(self, count: int, by_modulus: bool) -> None:
        """Keep only the leading Ritz vectors; the pending block stays orthogonal to them."""
        values, weights = self.ritz(count, by_modulus)
        kept = [product(weights.T, rows[: self.size, :]) for rows in (self._vectors, self._images)]
        self._vectors[:count, :], self._images[:count, :] = kept
        xp = array_namespace(values)
        self._projected[...] = xp.zeros_like(self._projected)
        self._projected[:count, :count] = xp.eye(count, dtype=values.dtype, **device_kwargs(values)) * values
        self.size, self._blocks = count, [slice(0, count)]


def random_block(operator: Operator, width: int, rng: np.random.Generator) -> Array:
    return from_numpy(rng.standard_normal((operator.shape[0], width)), device_array(operator), dtype=operator.dtype)


def device_array(operator: Operator) -> Array:
    """An array on the device of the operator."""
    return getattr(operator, "device_array", operator)


def _longest(images: Array) -> float:
    """A lower bound of ‖A‖: the longest image of a unit vector."""
    xp = array_namespace(images)
    return float(xp.sqrt(xp.max(squared_row_norms(images))))
