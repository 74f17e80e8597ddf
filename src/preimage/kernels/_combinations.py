"""Sums, products, multiples and powers of kernels, and constants; profiles of one quantity stay profiles."""

from abc import abstractmethod
from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from preimage._engine.arrays import array_namespace, integer_power, is_objects
from preimage._engine.typing import Array
from preimage._engine.validation import Interval
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel, Prepared
from preimage.kernels._pairwise import ManhattanDistance, SquaredDistance
from preimage.kernels._profile import ProfileKernel, is_profile, power_derivatives, product_derivatives


def add(left: Kernel, right: Any) -> Kernel:
    """k + k′: features of both, side by side; or k + c, a number as another feature √c."""
    if isinstance(right, Real):
        # Zero is what Python's sum of a list begins with.
        return left if right == 0 else add(left, Constant(float(right)))
    _require_combinable("+", left, right)
    return Sum(left, right)


def multiply(kernel: Kernel, other: Any) -> Kernel:
    """k·k′, all products of features, or a multiple of k."""
    if isinstance(other, Real):
        _require_combinable("*", kernel)
        return Scaled(kernel, float(other))
    _require_combinable("*", kernel, other)
    return Product(kernel, other)


def divide(kernel: Kernel, divisor: float) -> Kernel:
    """k/a for a number a."""
    if not isinstance(divisor, Real):
        raise TypeError(f"'/' divides a kernel by a number; got {divisor!r}.")
    if divisor == 0 or not isfinite(1 / float(divisor)):
        raise ValueError(f"A kernel can be divided by a number whose inverse is finite; got {divisor!r}.")
    return multiply(kernel, 1 / float(divisor))


def power(kernel: Kernel, exponent: int) -> Kernel:
    """k^d for an integer d ≥ 1: products of d features."""
    _require_combinable("**", kernel)
    if not isinstance(exponent, Integral) or exponent < 1:
        raise ValueError(f"A kernel can be raised to an integer power of at least 1; got {exponent!r}.")
    return Power(kernel, exponent)


class Combination(ProfileKernel):
    """k = F(k₁, …): values and gradients by the chain rule; a profile where all parts are profiles of one quantity."""

    #: Whether F is a sum of multiples: ∂F/∂kᵢ are numbers that do not depend on the values.
    is_linear = False

    @abstractmethod
    def value(self, *values: Array) -> Array:
        """F(k₁, …), elementwise."""

    @abstractmethod
    def partials(self, *values: Array) -> tuple[Any, ...]:
        """∂F/∂kᵢ, elementwise or numbers; without values where F is linear."""

    @property
    def pairwise(self) -> Any:
        """The quantity that all parts are profiles of, None without; a constant is a profile of any quantity."""
        parts = [part for part in self.parts() if type(part) is not Constant]
        found = [part.pairwise if isinstance(part, ProfileKernel) else None for part in parts]
        if not found:
            return SquaredDistance()
        return found[0] if all(each == found[0] for each in found) else None

    @property
    def is_positive_semidefinite(self) -> bool:
        return all(part.is_positive_semidefinite for part in self.parts())

    @property
    def is_symmetric(self) -> bool:
        return all(part.is_symmetric for part in self.parts())

    @property
    def has_gradient(self) -> bool:
        return all(part.has_gradient for part in self.parts())

    @property
    def own_columns(self) -> int:
        return max(part.own_columns for part in self.parts())

    @property
    def takes_objects(self) -> bool:
        return all(part.takes_objects for part in self.parts())

    @property
    def evaluates_pairs(self) -> bool:
        return any(part.evaluates_pairs for part in self.parts())

    def value_type(self, X: Array) -> Any:
        return self.parts()[0].value_type(X)

    def profile(self, s: Array) -> Array:
        return self.value(*(part.profile(s) for part in self.parts()))

    def profile_derivative(self, s: Array) -> Array:
        return self._chained(
            lambda part: part.profile(s), lambda part, partial: _times(partial, part.profile_derivative(s))
        )

    def prepare(self, Y: Array) -> Prepared:
        if is_profile(self):
            return super().prepare(Y)
        parts = [part.prepare(Y) for part in self.parts()]

        def tiles(X: Array) -> Callable[[slice, slice], Array]:
            of_parts = [part.tiles(X) for part in parts]
            return lambda rows, columns: self.value(*(tile(rows, columns) for tile in of_parts))

        return Prepared(self, Y, tiles)

    def diagonal(self, X: Array) -> Array:
        return self.value(*(part.diagonal(X) for part in self.parts()))

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        if is_profile(self):
            return super().gradient(Z, X, weights)
        term = lambda part, partial: part.gradient(Z, X, _times(partial, weights))
        return self._chained(lambda part: part.prepare(X)(Z), term)

    def diagonal_gradient(self, Z: Array) -> Array:
        return self._chained(
            lambda part: part.diagonal(Z), lambda part, partial: (partial * part.diagonal_gradient(Z).T).T
        )

    def _chained(self, values_of: Callable[[Any], Array], term: Callable[[Any, Any], Array]) -> Array:
        """Σᵢ term(part i, ∂F/∂kᵢ)."""
        parts = self.parts()
        partials = self.partials(*(() if self.is_linear else map(values_of, parts)))
        first, *others = map(term, parts, partials)
        return sum(others, first)


class _Linear(Combination):
    """A sum or a multiple: what shifts the inputs of all parts shifts the whole."""

    is_linear = True

    @property
    def is_bilinear(self) -> bool:
        return all(part.is_bilinear for part in self.parts())

    def recentered(self, origin: Array) -> Kernel:
        # A profile of inner products, of which one term alone could be shifted, stays one: fixed points need it.
        if self.is_bilinear or is_profile(self):
            return super().recentered(origin)
        shifted = self._with_parts(lambda part: part.recentered(origin))
        return self if all(map(lambda a, b: a is b, shifted.parts(), self.parts())) else shifted

    def unshifted(self) -> tuple[Kernel, Array | None]:
        found = [part.unshifted() for part in self.parts()]
        origins = [origin for _, origin in found if origin is not None]
        # Values that depend on differences x − y alone do not change when both are shifted.
        together = all(np.array_equal(origins[0], c) if c is not None else _is_stationary(part) for part, c in found)
        if not origins or not together:
            return self, None
        return self._with_parts(lambda part: part.unshifted()[0]), origins[0]

    def _with_parts(self, change: Callable[[Kernel], Kernel]) -> Kernel:
        return self.rebuilt(change, lambda name, value: value)


class _Pair(Combination):
    """Two kernels `left` and `right`."""

    _parameter_constraints = {"left": [Kernel], "right": [Kernel]}

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    @property
    def constant(self) -> float | None:
        """The value of the part that is a constant, if one is."""
        return next((part.value for part in (self.left, self.right) if type(part) is Constant), None)

    @property
    def other(self) -> Any:
        """The part that is not a constant, or the first of two."""
        return self.right if type(self.left) is Constant else self.left


class Sum(_Linear, _Pair):
    """k(x, y) = k₁(x, y) + k₂(x, y)."""

    def value(self, *values: Array) -> Array:
        left, right = values
        return left + right

    def partials(self, *values: Array) -> tuple[Any, ...]:
        return 1.0, 1.0

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        pairs = zip(self.left.profile_derivatives(s, order), self.right.profile_derivatives(s, order), strict=True)
        return [left + right for left, right in pairs]

    @property
    def has_inverse_profile(self) -> bool:
        return self._falls if self.constant is None else self.other.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return super().inverse_profile(v) if self.constant is None else self.other.inverse_profile(v - self.constant)


class Product(_Pair):
    """k(x, y) = k₁(x, y) k₂(x, y)."""

    def value(self, *values: Array) -> Array:
        left, right = values
        return left * right

    def partials(self, *values: Array) -> tuple[Any, ...]:
        return values[::-1]

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return product_derivatives(self.left.profile_derivatives(s, order), self.right.profile_derivatives(s, order))

    @property
    def has_inverse_profile(self) -> bool:
        if self.constant is None:
            return self._falls
        return self.constant != 0 and self.other.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return super().inverse_profile(v) if self.constant is None else self.other.inverse_profile(v / self.constant)


class Scaled(_Linear):
    """k(x, y) = a·k₁(x, y)."""

    _parameter_constraints = {"kernel": [Kernel], "factor": [Interval(Real, None, None, closed="neither")]}

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    @property
    def is_positive_semidefinite(self) -> bool:
        return self.kernel.is_positive_semidefinite and self.factor >= 0

    def value(self, *values: Array) -> Array:
        return self.factor * values[0]

    def partials(self, *values: Array) -> tuple[Any, ...]:
        return (self.factor,)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        return [self.factor * derivative for derivative in self.kernel.profile_derivatives(s, order)]

    @property
    def has_inverse_profile(self) -> bool:
        return self.factor != 0 and self.kernel.has_inverse_profile

    def inverse_profile(self, v: Array) -> Array:
        return self.kernel.inverse_profile(v / self.factor)


class Power(Combination):
    """k(x, y) = k₁(x, y)^d."""

    _parameter_constraints = {"kernel": [Kernel], "exponent": [Interval(Integral, 1, None, closed="left")]}

    def __init__(self, kernel: Kernel, exponent: int = 2) -> None:
        self.kernel = kernel
        self.exponent = exponent

    def value(self, *values: Array) -> Array:
        return integer_power(values[0], self.exponent)

    def partials(self, *values: Array) -> tuple[Any, ...]:
        return (1.0 if self.exponent == 1 else self.exponent * integer_power(values[0], self.exponent - 1),)

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
    takes_objects = True
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

    def prepare(self, Y: Array) -> Prepared:
        if not is_objects(Y):
            return super().prepare(Y)
        return Prepared.of_function(self, Y, lambda X, Y: np.full((X.shape[0], Y.shape[0]), float(self.value)))

    def diagonal(self, X: Array) -> Array:
        return np.full(X.shape[0], float(self.value)) if is_objects(X) else super().diagonal(X)

    def recentered(self, origin: Array) -> Kernel:
        return self  # there is nothing to shift


def _times(partial: Any, values: Array) -> Array:
    """A product, without a pass over the values where the factor is the number one."""
    return values if isinstance(partial, float) and partial == 1 else partial * values


def _is_stationary(kernel: Kernel) -> bool:
    """Whether k(x, y) is known to depend on x − y alone."""
    if is_profile(kernel):
        return kernel.pairwise in (SquaredDistance(), ManhattanDistance())
    return isinstance(kernel, Combination) and all(_is_stationary(part) for part in kernel.parts())


def _require_combinable(operator: str, *kernels: Any) -> None:
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            instead = f" A function becomes a kernel by CallableKernel({_name(kernel)})." if callable(kernel) else ""
            raise TypeError(f"'{operator}' combines a kernel with another kernel or a number; got {kernel!r}.{instead}")
        if kernel.points_are_row_numbers:
            raise TypeError("Precomputed kernels are combined as matrices: add or multiply these, and pass the result.")
    if not any(all(getattr(kernel, takes) for kernel in kernels) for takes in ("takes_numbers", "takes_objects")):
        raise TypeError(
            f"'{operator}' combines kernels on the same rows; {kernels[0]!r} and {kernels[1]!r} compare objects and "
            "rows of numbers. A FeatureUnion puts features of both side by side, of one EmpiricalKernelMap for each."
        )


def _name(function: Any) -> str:
    name = getattr(function, "__name__", "function")
    return name if name.isidentifier() else "function"
