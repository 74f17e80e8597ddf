"""Kernels and pairwise quantities prepared for many evaluations against the same points."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from preimage._engine.typing import Array

EVERYTHING = slice(None)
WithGradient: TypeAlias = Callable[[Array], tuple[Array, Callable[[Array], Array]]]


class Prepared:
    """k(·, y) for the rows of Y: what depends on Y alone is done once.

    A call gives values, `with_gradient` values and what gradients are made of, and `tiles(X)` parts of the matrix of
    all pairs of two sets, with what depends on X alone done once as well.

    Parameters
    ----------
    kernel : Kernel or PairwiseQuantity
        Has the `gradient`.
    points : array of shape (m, d)
        The rows Y.
    tiles : callable
        From X to a function of two slices, f(rows, columns) = k(X[rows], Y[columns]), a fresh array.
    with_gradient : callable or None, default=None
        In place of the method, where values and gradients share work.
    in_place : bool, default=False
        Whether these functions take an array to write to, or None, as a third argument.

    See Also
    --------
    Kernel.prepare : Makes one.
    ProfileKernel : A kernel that needs none of its own.
    preimage.testing.check_kernel : Whether a new kernel keeps the contract.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.kernels import Linear
    >>> prepared = Linear().prepare(np.array([[1.0, 2.0], [0.0, 1.0]]))
    >>> prepared(np.array([[3.0, 4.0]]))
    array([[11.,  4.]])
    >>> values, contracted = prepared.with_gradient(np.array([[3.0, 4.0]]))
    >>> contracted(np.array([[1.0, 10.0]]))
    array([[ 1., 12.]])
    """

    def __init__(
        self,
        kernel: Any,
        points: Array,
        tiles: Callable[[Array], Callable[..., Array]],
        with_gradient: WithGradient | None = None,
        *,
        in_place: bool = False,
    ) -> None:
        self.kernel = kernel
        self.points = points
        self._tiles_of = tiles
        self._with_gradient = with_gradient
        self._in_place = in_place

    @staticmethod
    def of_function(kernel: Any, points: Array, function: Callable[[Array, Array], Array]) -> "Prepared":
        """From a function of two sets of rows, f(X, Y) = the matrix of k(xᵢ, yⱼ)."""
        return Prepared(kernel, points, lambda X: lambda rows, columns: function(X[rows, :], points[columns, :]))

    def changed(self, kernel: Any, change: Callable[[Array], Array]) -> "Prepared":
        """Values of another `kernel` on the same points, entry by entry those of this one, changed."""

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            part = self.tiles(X)
            return lambda rows, columns: change(part(rows, columns))

        return Prepared(kernel, self.points, tiles)

    def __call__(self, Z: Array, out: Array | None = None) -> Array:
        """k(zᵢ, yⱼ), shape (q, m); written to `out` where it is given."""
        return self.tiles(Z)(EVERYTHING, EVERYTHING, out)

    def with_gradient(self, Z: Array) -> tuple[Array, Callable[[Array], Array]]:
        """k(zᵢ, yⱼ), and the function of weights that `kernel.gradient(Z, Y, ·)` is."""
        if self._with_gradient is not None:
            return self._with_gradient(Z)
        return self(Z), lambda weights: self.kernel.gradient(Z, self.points, weights)

    def tiles(self, X: Array) -> Callable[..., Array]:
        """f with f(rows, columns, out=None) = k(X[rows], Y[columns]) for slices of rows and columns."""
        part = self._tiles_of(X)
        return part if self._in_place else lambda rows, columns, out=None: written(part(rows, columns), out)


def written(values: Array, out: Array | None) -> Array:
    """The values, in an array that exists where one is given."""
    if out is None:
        return values
    out[...] = values
    return out


def fits(out: Array | None, *operands: Array) -> bool:
    """Whether a product of NumPy operands can be written to `out` without a copy."""
    arrays = all(isinstance(each, np.ndarray) for each in (out, *operands))
    return arrays and out is not None and out.dtype == np.result_type(*operands)
