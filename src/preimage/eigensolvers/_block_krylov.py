"""Block Krylov iteration, few, large products with the operator; and the choice among all eigensolvers."""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import (
    array_namespace,
    device_kwargs,
    epsilon,
    from_numpy,
    squared_row_norms,
    take_rows,
)
from preimage._engine.lapack import eigenpairs_between
from preimage._engine.linalg import difference, eigh_descending, orthogonalize, orthonormal_columns, product
from preimage._engine.progress import stage
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.eigensolvers._eigensolver import (
    LARGE_PROJECTION,
    SOLVER_ROUNDING,
    WEAKEST,
    EigenResult,
    Eigensolver,
    Operator,
    Waiting,
    allowed_residuals,
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
# Columns of K that the first, cheap product mixes: as many as show the leading subspace, few next to all. It is worth
# its price from this many times as many rows on.
SKETCH_COLUMNS, SKETCH_FRACTION = 512, 4
# The same without a held matrix: one of so many columns, which is the fraction of a pass that it costs; up to the size
# whose own matrix is small (64 MiB in float32).
COMPUTED_SKETCH_FRACTION, LARGEST_SAMPLE = 64, 4096
# Products with the matrix of the sampled points that turn random weights towards its leading eigenvectors. Each costs
# little; eigenvectors of a sample differ from those of all points by more than further steps would gain.
SAMPLE_STEPS = 4
# Blocks of the basis before a restart. Most problems need five to ten; ten times as many would fill the memory.
BASIS_BLOCKS = 12
# Columns of the basis of a held matrix before a restart: so many for every pair, and so many more. Flat spectra need
# four for each of fifty pairs. Ten times more would be more than the matrix.
COLUMNS_PER_PAIR, MORE_COLUMNS = 4, 80
# Columns before the first test of convergence, in the same form: hardly any spectrum needs fewer. The test decomposes
# a matrix of this size, which is not free next to products with a held matrix.
FIRST_LOOK_PER_PAIR, FIRST_LOOK_MORE = 1.2, 8
# Block products after which an iteration without `max_iter` stops: 25 restarts, where most problems need none.
MOST_PRODUCTS = 300


class BlockKrylov(Eigensolver):
    r"""Rayleigh–Ritz on span{Q, AQ, A²Q, …}, with full reorthogonalisation and measured residuals.

    Needs only products A @ block, so it runs on matrices held in memory, on Gram matrices computed again in each
    product, and on any device. When the basis is full it restarts from the leading Ritz vectors, keeping the residual
    block (thick restart), so no progress is lost. An invariant subspace ends the iteration exactly.

    Parameters
    ----------
    tol : float or None, default=None
        Relative residual :math:`\|Au - \lambda u\| / |\lambda_1|` to reach; None is 1e-6 in float64 and 5e-5 in
        float32. Weak pairs must in addition be accurate relative to their own eigenvalue, :math:`\|Au - \lambda u\| \le
        10^{-6} |\lambda|` (1e-2 in float32), or `tol` times :math:`|\lambda|` where `tol` is larger.
    max_iter : int or None, default=None
        Largest number of block products; None is 300.
    block_size : int or None, default=None
        Number of columns of a block; None chooses by k and by the cost of a product.

    See Also
    --------
    Dense : Full accuracy, for matrices of a few thousand rows.
    Arpack : SciPy's solver, one vector at a time.
    preimage.KernelPCA : Takes an eigensolver as `eigensolver`.

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
        is_held = getattr(operator, "is_held", True)
        width = min(self.block_size or block_width(k, is_held, getattr(operator, "column_step", 1)), n)
        krylov = KrylovBasis(operator, min(n, basis_size(k, width, is_held)))
        max_products = self.max_iter or MOST_PRODUCTS
        next_look = int(FIRST_LOOK_PER_PAIR * k) + FIRST_LOOK_MORE if is_held else 0
        waiting = Waiting(k)
        block = orthogonalize(_start(operator, width, rng), krylov.vectors)

        # Invariant: `block` is orthonormal and orthogonal to the basis, which holds every Ritz vector seen so far.
        with stage("Finding eigenvectors") as advance:
            for step in range(1, max_products + 1):
                if block.shape[1] == 0:  # the basis is invariant: go on in its complement until there are k pairs
                    block = orthogonalize(random_block(operator, width, rng), krylov.vectors)[:, : n - krylov.size]
                if krylov.size + block.shape[1] > krylov.capacity:
                    krylov.restart(k + width, by_modulus)
                krylov.append(block)
                advance(block.shape[1])
                block = krylov.next_block()
                last = step == max_products or krylov.size == n
                if krylov.size < k or (krylov.n_products < next_look and not last and block.shape[1]):
                    continue
                excess = 1.0 if last else krylov.weakest_excess(k, tolerance, by_modulus)
                if excess <= 1:
                    result = krylov.result(k, tolerance, by_modulus)
                    if result.converged:
                        return replace(result, reason="converged")
                    if last:
                        return result
                    excess = result.excess
                next_look = krylov.n_products + waiting.columns(krylov.n_products, excess)
        raise ValueError(
            f"BlockKrylov needs {k} basis vectors for {k} eigenpairs, but max_iter={max_products} blocks of {width} "
            "columns end earlier. Raise max_iter or block_size."
        )


def block_width(k: int, is_held: bool = True, column_step: int = 1) -> int:
    """Columns of a block for k pairs.

    Where products cost the same up to a multiple of `column_step` columns, a block has as many. One less, as the first
    product with a centred matrix has one more column, for the means of its rows.
    """
    width = k + OVERSAMPLING
    if is_held:
        return min(width, WIDEST_HELD_BLOCK)
    width = max(width, NARROWEST_COMPUTED_BLOCK)
    return width if column_step == 1 else -(-(width + 1) // column_step) * column_step - 1


def basis_size(k: int, width: int, is_held: bool = True) -> int:
    """Columns of the basis before a restart: room for what that keeps, k + width, and two blocks of progress."""
    least = max(BASIS_BLOCKS * width, k + 3 * width)
    return max(least, COLUMNS_PER_PAIR * k + MORE_COLUMNS) if is_held else least


def _start(operator: Operator, width: int, rng: np.random.Generator) -> Array:
    """A random block with one multiplication by the operator already in it, at the cost of a few columns.

    Where every product computes the matrix again, the weights of these columns are first turned towards the leading
    eigenvectors of the sampled points, whose small matrix is held: that saves a pass over all points.
    """
    n, is_held = operator.shape[0], getattr(operator, "is_held", True)
    count = sketch_columns(n, width, is_held)
    if not hasattr(operator, "sketch") or n < SKETCH_FRACTION * count:
        return random_block(operator, width, rng)
    stride = n // count
    random = rng.standard_normal((len(range(0, n, stride)), width))
    weights = from_numpy(random, device_array(operator), dtype=operator.dtype)
    if not is_held and hasattr(operator, "sample"):
        sample = operator.sample(stride)
        for _ in range(SAMPLE_STEPS):
            weights = orthonormal_columns(sample @ weights)
    return operator.sketch(weights, stride)


def sketch_columns(n: int, width: int, is_held: bool) -> int:
    """Columns of A that the first, cheap product mixes."""
    count = max(SKETCH_COLUMNS, 2 * width)
    return count if is_held else max(count, min(n // COMPUTED_SKETCH_FRACTION, LARGEST_SAMPLE))


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
