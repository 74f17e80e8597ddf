"""Sums, products, multiples and powers of kernels, and constants; profiles of one quantity stay profiles."""

import operator
from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real

import numpy as np

from preimage._engine.arrays import array_namespace, integer_power
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel, OfOneKernel
from preimage.kernels._pairwise import ManhattanDistance, PairwiseQuantity, SquaredDistance
from preimage.kernels._prepared import Prepared
from preimage.kernels._profile import ProfileKernel, power_derivatives, product_derivatives


def add(left: Kernel, right: Kernel | float) -> Kernel:
    """k + k′: features of both, side by side; or k + c, a number as another feature √c."""
    if isinstance(right, Real):
        # Zero is what Python's sum of a list begins with.
        return left if right == 0 else add(left, Constant(float(right)))
    if not isinstance(right, Kernel):
        raise _not_a_kernel(right, "+")
    _require_combinable(left, right)
    return ProfileSum(left, right) if _share_quantity(left, right) else Sum(left, right)


def multiply(kernel: Kernel, other: Kernel | float) -> Kernel:
    """k·k′, all products of features, or a multiple of k."""
    _require_combinable(kernel, other)
    if isinstance(other, Real):
        factor = float(other)
        return ScaledProfile(kernel, factor) if isinstance(kernel, ProfileKernel) else Scaled(kernel, factor)
    if not isinstance(other, Kernel):
        raise _not_a_kernel(other, "*")
    return ProfileProduct(kernel, other) if _share_quantity(kernel, other) else Product(kernel, other)


def divide(kernel: Kernel, divisor: float) -> Kernel:
    """k/a for a number a."""
    if not isinstance(divisor, Real):
        raise TypeError(f"'/' divides a kernel by a number; got {divisor!r}.")
    if divisor == 0 or not isfinite(1 / float(divisor)):
        raise ValueError(f"A kernel can be divided by a number whose inverse is finite; got {divisor!r}.")
    return multiply(kernel, 1 / float(divisor))


def power(kernel: Kernel, exponent: int) -> Kernel:
    """k^d for an integer d ≥ 1: products of d features."""
    _require_combinable(kernel)
    if not isinstance(exponent, Integral) or exponent < 1:
        raise ValueError(f"A kernel can be raised to an integer power of at least 1; got {exponent!r}.")
    return ProfilePower(kernel, exponent) if isinstance(kernel, ProfileKernel) else Power(kernel, exponent)


class _Pair(Kernel):
    """Two kernels `left` and `right`."""

    _parameter_constraints = {"left": [Kernel], "right": [Kernel]}

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.left.is_positive_semidefinite and self.right.is_positive_semidefinite

    @property
    def is_symmetric(self) -> bool:
        return self.left.is_symmetric and self.right.is_symmetric

    @property
    def has_gradient(self) -> bool:
        return self.left.has_gradient and self.right.has_gradient

    @property
    def pairwise(self) -> PairwiseQuantity:
        # A constant is a profile of any quantity.
        return self.right.pairwise if type(self.left) is Constant else self.left.pairwise

    @property
    def constant(self) -> float | None:
        """The value of the part that is a constant, if one is."""
        return next((part.value for part in (self.left, self.right) if type(part) is Constant), None)

    @property
    def other(self) -> Kernel:
        """The part that is not a constant, or the first of two."""
        return self.right if type(self.left) is Constant else self.left

    def _prepared_pair(self, Y: Array, combine: Callable[[Array, Array], Array]) -> Prepared:
        """Values of both parts, combined."""
        left, right = self.left.prepare(Y), self.right.prepare(Y)

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            one, other = left.tiles(X), right.tiles(X)
            return lambda rows, columns: combine(one(rows, columns), other(rows, columns))

        return Prepared(self, Y, tiles)


class _OfTwoTerms(_Pair):
    """A sum: what shifts one term shifts the sum."""

    @property
    def is_bilinear(self) -> bool:
        return self.left.is_bilinear and self.right.is_bilinear

    def recentered(self, origin: Array) -> Kernel:
        # A profile of inner products, of which one term alone could be shifted, stays one: fixed points need it.
        if self.is_bilinear or isinstance(self, ProfileKernel):
            return super().recentered(origin)
        left, right = self.left.recentered(origin), self.right.recentered(origin)
        return self if left is self.left and right is self.right else add(left, right)

    def unshifted(self) -> tuple[Kernel, Array | None]:
        (left, one), (right, other) = self.left.unshifted(), self.right.unshifted()
        if one is None and other is None:
            return self, None
        # Values that depend on differences x − y alone do not change when both are shifted.
        if one is None:
            together = _is_stationary(left)
        else:
            together = _is_stationary(right) if other is None else np.array_equal(one, other)
        return (add(left, right), other if one is None else one) if together else (self, None)


class _Multiple(OfOneKernel):
    """A kernel times a number."""

    _parameter_constraints = {"kernel": [Kernel], "factor": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.kernel.is_positive_semidefinite and self.factor >= 0

    @property
    def is_bilinear(self) -> bool:
        return self.kernel.is_bilinear

    def recentered(self, origin: Array) -> Kernel:
        if self.is_bilinear:
            return super().recentered(origin)
        kernel = self.kernel.recentered(origin)
        return self if kernel is self.kernel else multiply(kernel, self.factor)

    def unshifted(self) -> tuple[Kernel, Array | None]:
        kernel, origin = self.kernel.unshifted()
        return (self, None) if origin is None else (multiply(kernel, self.factor), origin)


class _IntegerPower(OfOneKernel):
    """A kernel to an integer power."""

    _parameter_constraints = {"kernel": [Kernel], "exponent": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, kernel: Kernel, exponent: int = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent


class Sum(_OfTwoTerms):
    """k(x, y) = k₁(x, y) + k₂(x, y)."""

    def prepare(self, Y: Array) -> Prepared:
        return self._prepared_pair(Y, operator.add)

    def diagonal(self, X: Array) -> Array:
        return self.left.diagonal(X) + self.right.diagonal(X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return self.left.gradient(Z, X, weights) + self.right.gradient(Z, X, weights)

    def diagonal_gradient(self, Z: Array) -> Array:
        return self.left.diagonal_gradient(Z) + self.right.diagonal_gradient(Z)


class Product(_Pair):
    """k(x, y) = k₁(x, y) k₂(x, y)."""

    def prepare(self, Y: Array) -> Prepared:
        return self._prepared_pair(Y, operator.mul)

    def diagonal(self, X: Array) -> Array:
        return self.left.diagonal(X) * self.right.diagonal(X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        by_left = self.left.gradient(Z, X, weights * self.right(Z, X))
        return by_left + self.right.gradient(Z, X, weights * self.left(Z, X))

    def diagonal_gradient(self, Z: Array) -> Array:
        left, right = self.left.diagonal(Z), self.right.diagonal(Z)
        return right[:, None] * self.left.diagonal_gradient(Z) + left[:, None] * self.right.diagonal_gradient(Z)


class Scaled(_Multiple):
    """k(x, y) = a·k₁(x, y)."""

    def prepare(self, Y: Array) -> Prepared:
        return self.kernel.prepare(Y).changed(self, lambda values: self.factor * values)

    def diagonal(self, X: Array) -> Array:
        return self.factor * self.kernel.diagonal(X)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return self.factor * self.kernel.gradient(Z, X, weights)

    def diagonal_gradient(self, Z: Array) -> Array:
        return self.factor * self.kernel.diagonal_gradient(Z)


class Power(_IntegerPower):
    """k(x, y) = k₁(x, y)^d."""

    def prepare(self, Y: Array) -> Prepared:
        return self.kernel.prepare(Y).changed(self, lambda values: integer_power(values, self.exponent))

    def diagonal(self, X: Array) -> Array:
        return integer_power(self.kernel.diagonal(X), self.exponent)

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        return self.kernel.gradient(Z, X, weights * self._derivative(self.kernel(Z, X)))

    def diagonal_gradient(self, Z: Array) -> Array:
        return self._derivative(self.kernel.diagonal(Z))[:, None] * self.kernel.diagonal_gradient(Z)

    def _derivative(self, values: Array) -> Array:
        return _power_derivative(values, self.exponent)


class ProfileSum(_OfTwoTerms, ProfileKernel):
    """The sum of two profiles of one pairwise quantity, itself a profile of it."""

    def profile(self, s: Array) -> Array:
        return self.left.profile(s) + self.right.profile(s)

    def profile_derivative(self, s: Array) -> Array:
        return self.left.profile_derivative(s) + self.right.profile_derivative(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        pairs = zip(self.left.profile_derivatives(s, order), self.right.profile_derivatives(s, order), strict=True)
        return [left + right for left, right in pairs]

    @property
    def has_inverse_profile(self) -> bool:
        return self._falls if self.constant is None else self.other.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return super().inverse_profile(v) if self.constant is None else self.other.inverse_profile(v - self.constant)


class ProfileProduct(_Pair, ProfileKernel):
    """The product of two profiles of one pairwise quantity, itself a profile of it."""

    def profile(self, s: Array) -> Array:
        return self.left.profile(s) * self.right.profile(s)

    def profile_derivative(self, s: Array) -> Array:
        by_left = self.left.profile_derivative(s) * self.right.profile(s)
        return by_left + self.left.profile(s) * self.right.profile_derivative(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return product_derivatives(self.left.profile_derivatives(s, order), self.right.profile_derivatives(s, order))

    @property
    def has_inverse_profile(self) -> bool:
        if self.constant is None:
            return self._falls
        return self.constant != 0 and self.other.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return super().inverse_profile(v) if self.constant is None else self.other.inverse_profile(v / self.constant)


class ScaledProfile(_Multiple, ProfileKernel):
    """A multiple of a profile."""

    def profile(self, s: Array) -> Array:
        return self.factor * self.kernel.profile(s)

    def profile_derivative(self, s: Array) -> Array:
        return self.factor * self.kernel.profile_derivative(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [self.factor * derivative for derivative in self.kernel.profile_derivatives(s, order)]

    @property
    def has_inverse_profile(self) -> bool:
        return self.factor != 0 and self.kernel.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return self.kernel.inverse_profile(v / self.factor)


class ProfilePower(_IntegerPower, ProfileKernel):
    """An integer power of a profile."""

    def profile(self, s: Array) -> Array:
        return integer_power(self.kernel.profile(s), self.exponent)

    def profile_derivative(self, s: Array) -> Array:
        return _power_derivative(self.kernel.profile(s), self.exponent) * self.kernel.profile_derivative(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return power_derivatives(self.kernel.profile_derivatives(s, order), self.exponent)

    @property
    def has_inverse_profile(self) -> bool:
        return self._has_root and self.kernel.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        if not self._has_root:
            return super().inverse_profile(v)
        xp = array_namespace(v)
        return self.kernel.inverse_profile(xp.sign(v) * xp.abs(v) ** (1 / self.exponent))

    @property
    def _has_root(self) -> bool:
        """Whether f^d gives f: for odd d, and where f is known not to be negative."""
        return self.exponent % 2 == 1 or self._falls


class Constant(ProfileKernel):
    """k(x, y) = c: one feature √c, the same for all inputs; added to another kernel it is a bias.

    A constant is a profile of any quantity: with another profile it makes a profile of the quantity of that one.
    Numbers become constants, ``Linear() + 1.0`` is ``Linear() + Constant(1.0)``.

    Parameters
    ----------
    value : float, default=1.0
        The constant c. Negative values are not positive semidefinite.

    See Also
    --------
    Linear : Often used with a constant, ``Linear() + 1``.
    Polynomial : Has a constant of its own, `coef0`.
    Kernel : How kernels combine.

    Examples
    --------
    >>> from preimage.kernels import Constant, Linear
    >>> (Linear() + Constant(1.0))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[12.]])
    """

    pairwise = SquaredDistance()
    is_bilinear = True
    has_inverse_profile = False
    _parameter_constraints = {"value": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.value >= 0

    def profile(self, s: Array) -> Array:
        return array_namespace(s).full_like(s, self.value)

    def profile_derivative(self, s: Array) -> Array:
        return array_namespace(s).zeros_like(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [self.profile(s)] + order * [self.profile_derivative(s)]

    def inverse_profile(self, v: Array) -> Array:
        raise UnsupportedKernelError(f"{self!r} is the same for all inputs: its value does not tell them apart.")

    def recentered(self, origin: Array) -> Kernel:
        return self  # there is nothing to shift


def _power_derivative(values: Array, exponent: int) -> Array:
    return exponent * integer_power(values, exponent - 1) if exponent > 1 else 1.0 + 0 * values


def _is_stationary(kernel: Kernel) -> bool:
    """Whether k(x, y) is known to depend on x − y alone."""
    if isinstance(kernel, ProfileKernel):
        return kernel.pairwise in (SquaredDistance(), ManhattanDistance())
    return isinstance(kernel, (Sum, Product, Scaled, Power)) and all(_is_stationary(part) for part in kernel.parts())


def _share_quantity(left: Kernel, right: Kernel) -> bool:
    if not (isinstance(left, ProfileKernel) and isinstance(right, ProfileKernel)):
        return False
    return left.pairwise == right.pairwise or Constant in (type(left), type(right))


def _require_combinable(*kernels: object) -> None:
    if any(isinstance(kernel, Kernel) and kernel.points_are_row_numbers for kernel in kernels):
        raise TypeError("Precomputed kernels are combined as matrices: add or multiply these, and pass the result.")


def _not_a_kernel(value: object, operator: str) -> TypeError:
    return TypeError(f"'{operator}' combines a kernel with another kernel or a number; got {value!r}.")
