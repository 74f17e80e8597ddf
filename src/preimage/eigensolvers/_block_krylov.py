"""Block Krylov iteration: few, large products with the operator and nothing else."""

import math
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from preimage._arrays import array_namespace, device_kwargs, epsilon, from_numpy, take_rows
from preimage._linalg import eigh_descending, orthogonalize
from preimage._products import product
from preimage._progress import stage
from preimage._typing import Array
from preimage._validation import Interval
from preimage.eigensolvers._eigensolver import (
    SOLVER_ROUNDING,
    EigenResult,
    Eigensolver,
    Operator,
    leading_order,
    measured_result,
    product_rounding,
    relative_tolerance,
)

# Spare directions beyond the wanted ones: convergence is governed by the first eigenvalue outside the block. Ten times
# as many would make each product cost more than the products that they save.
OVERSAMPLING = 8
# Products with a held matrix run near full speed from about this width on; wider blocks reach a lower Krylov degree
# for the same number of columns.
WIDEST_HELD_BLOCK = 48
# Without a held matrix every product computes the kernel again, which costs more than the product: fewer, wider ones.
NARROWEST_COMPUTED_BLOCK = 48
# Columns of K that the first, cheap product mixes: as many as show the leading subspace, few next to all.
SKETCH_COLUMNS = 512
# Blocks of the basis before a restart. Most problems need five to ten; ten times as many would fill the memory.
BASIS_BLOCKS = 12
# Blocks before the first test of convergence with a held matrix: Rayleigh–Ritz is not free next to such a product, and
# the first blocks hardly ever suffice.
FIRST_LOOK = 4
# Block products after which an iteration without `max_iter` stops: 25 restarts, where most problems need none.
MOST_PRODUCTS = 300


class BlockKrylov(Eigensolver):
    """Rayleigh–Ritz on span{Q, AQ, A²Q, …}, with full reorthogonalisation and measured residuals.

    Needs only products A @ block, so it runs on matrices held in memory, on Gram matrices computed again in each
    product, and on any device. When the basis is full it restarts from the leading Ritz vectors, keeping the residual
    block (thick restart), so no progress is lost. An invariant subspace ends the iteration exactly.

    Parameters
    ----------
    tol : float or None, default=None
        Relative residual ‖Au − λu‖/|λ₁| to reach; None is 1e-6 in float64 and 5e-5 in float32. Weak pairs must in
        addition be accurate relative to their own eigenvalue, ‖Au − λu‖ ≤ 1e-6·|λ| (1e-2 in float32), or `tol`·|λ|
        where `tol` is larger.
    max_iter : int or None, default=None
        Largest number of block products; None is 300.
    block_size : int or None, default=None
        Number of columns of a block; None chooses by k and by the cost of a product.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.eigensolvers import BlockKrylov
    >>> A = np.diag(np.arange(1000.0))
    >>> result = BlockKrylov().solve(A, 2, np.random.default_rng(0))
    >>> result.values.round(6), result.converged
    (array([999., 998.]), True)
    """

    _parameter_constraints = {
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "block_size": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, tol: float | None = None, max_iter: int | None = None, block_size: int | None = None) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.block_size = block_size

    def solve(self, operator: Operator, k: int, rng: np.random.Generator, *, by_modulus: bool = False) -> EigenResult:
        n = operator.shape[0]
        k = min(k, n)
        tolerance = relative_tolerance(self.tol, operator.dtype)
        width = min(self.block_size or _block_width(operator, k), n)
        # At least room for what a restart keeps, k + width, and two blocks of progress.
        krylov = _KrylovBasis(operator, min(n, max(BASIS_BLOCKS * width, k + 3 * width)))
        max_products = self.max_iter or MOST_PRODUCTS
        next_look = 1 if not getattr(operator, "is_held", True) else FIRST_LOOK
        excess: float | None = None
        block = orthogonalize(_start(operator, width, rng), krylov.vectors)

        # Invariant: `block` is orthonormal and orthogonal to the basis, which holds every Ritz vector seen so far.
        with stage("Finding eigenvectors") as advance:
            for step in range(1, max_products + 1):
                if block.shape[1] == 0:  # the basis is invariant: go on in its complement until there are k pairs
                    block = orthogonalize(_random_block(operator, width, rng), krylov.vectors)[:, : n - krylov.size]
                if krylov.size + block.shape[1] > krylov.capacity:
                    krylov.restart(krylov.ritz(k + width, by_modulus)[1])
                krylov.append(block)
                advance(block.shape[1])
                last = step == max_products or krylov.size == n
                if krylov.size >= k and (last or step >= next_look):
                    result = krylov.result(*krylov.ritz(k, by_modulus), tolerance)
                    if result.converged:
                        return replace(result, reason="converged")
                    if last:
                        return result
                    excess, before = result.excess, excess
                    next_look = step + _steps_to_wait(excess, before)
                block = krylov.next_block()
        raise ValueError(
            f"BlockKrylov needs {k} basis vectors for {k} eigenpairs, but max_iter={max_products} blocks of {width} "
            "columns end earlier. Raise max_iter or block_size."
        )


class _KrylovBasis:
    """Orthonormal vectors Q, their images AQ, and the Rayleigh–Ritz pairs on their span."""

    def __init__(self, operator: Operator, capacity: int) -> None:
        device_array = _device_array(operator)
        shape = operator.shape[0], capacity
        empty = lambda: array_namespace(device_array).empty(shape, dtype=operator.dtype, **device_kwargs(device_array))
        self.operator = operator
        self.capacity = capacity
        self.size = 0
        self.n_products = 0
        self._scale = 0.0
        self._rounding = product_rounding(operator)
        self._blocks: list[slice] = []  # the last two, in order
        self._vectors, self._images = empty(), empty()

    @property
    def vectors(self) -> Array:
        return self._vectors[:, : self.size]

    @property
    def images(self) -> Array:
        return self._images[:, : self.size]

    def append(self, block: Array) -> None:
        """Add an orthonormal block, and its image by one product."""
        new = slice(self.size, self.size + block.shape[1])
        product = self.operator @ block
        self._vectors[:, new], self._images[:, new] = block, product
        self._blocks = [*self._blocks[-1:], new]
        self.size, self.n_products = new.stop, self.n_products + block.shape[1]
        self._scale = max(self._scale, _longest(product))

    def next_block(self) -> Array:
        """What the last image adds to the span; no columns when the span is invariant."""
        product = self._images[:, self._blocks[-1]]
        # Directions shorter than this are rounding errors and are dropped.
        floor = SOLVER_ROUNDING * epsilon(product.dtype) * self._scale
        # Lanczos: in exact arithmetic the image of a block meets only that block, the one before it, and, for a
        # while after a restart, the Ritz vectors. The second pass over everything removes rounding errors.
        recent = self._vectors[:, self._blocks[0].start : self.size] if self._blocks[0].start else None
        return orthogonalize(product, self.vectors, floor, recent)

    def ritz(self, count: int, by_modulus: bool) -> tuple[Array, Array]:
        """The leading Ritz values, and their vectors as weights of the basis."""
        projected = product(self.vectors.T, self.images)
        values, weights = eigh_descending((projected + projected.T) / 2)
        order = leading_order(values, by_modulus)[:count]
        return take_rows(values, order), take_rows(weights.T, order).T

    def result(self, values: Array, weights: Array, tolerance: float) -> EigenResult:
        """The Ritz pairs with residuals measured on the stored images; no further product is needed."""
        vectors, products = product(self.vectors, weights), product(self.images, weights)
        return measured_result(values, vectors, products, tolerance, self.n_products, "iteration limit", self._rounding)

    def restart(self, weights: Array) -> None:
        """Keep only the given Ritz vectors; the pending block stays orthogonal to them."""
        count = weights.shape[1]
        kept = product(self.vectors, weights), product(self.images, weights)
        self._vectors[:, :count], self._images[:, :count] = kept
        self.size, self._blocks = count, [slice(0, count)]


def _block_width(operator: Operator, k: int) -> int:
    width = k + OVERSAMPLING
    if getattr(operator, "is_held", True):
        return min(width, WIDEST_HELD_BLOCK)
    return max(width, NARROWEST_COMPUTED_BLOCK)


def _steps_to_wait(excess: float, before: float | None) -> int:
    """Half of the steps that the last reduction of the residual predicts: convergence only gets faster.

    A step is taken to reduce residuals by ten where there is no earlier value, and by two at least: a smaller guess
    would wait long after one bad step.
    """
    reduction = 10.0 if before is None else max(before / excess, 2.0)
    return max(1, int(math.log(max(excess, 1.0)) / math.log(reduction) / 2))


def _start(operator: Operator, width: int, rng: np.random.Generator) -> Array:
    """A random block with one multiplication by the operator already in it, at the cost of a few columns."""
    n = operator.shape[0]
    count = max(SKETCH_COLUMNS, 2 * width)
    if not hasattr(operator, "sketch") or n <= count:
        return _random_block(operator, width, rng)
    stride = n // count
    weights = rng.standard_normal((len(range(0, n, stride)), width))
    return operator.sketch(from_numpy(weights, _device_array(operator), dtype=operator.dtype), stride)


def _random_block(operator: Operator, width: int, rng: np.random.Generator) -> Array:
    return from_numpy(rng.standard_normal((operator.shape[0], width)), _device_array(operator), dtype=operator.dtype)


def _device_array(operator: Operator) -> Array:
    """An array on the device of the operator."""
    return getattr(operator, "device_array", operator)


def _longest(product: Array) -> float:
    """A lower bound of ‖A‖: the longest product with a unit vector."""
    xp = array_namespace(product)
    return float(xp.sqrt(xp.max(xp.sum(product * product, axis=0))))
