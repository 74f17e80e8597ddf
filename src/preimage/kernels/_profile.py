"""Kernels that are a function of one pairwise quantity."""

from abc import abstractmethod
from collections.abc import Callable
from math import comb
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from preimage._engine.arrays import array_namespace, from_numpy, integer_power, to_numpy
from preimage._engine.typing import Array
from preimage._engine.warnings import unwarned
from preimage.exceptions import UnsupportedKernelError
from preimage.kernels._kernel import Kernel, Prepared
from preimage.kernels._pairwise import InnerProduct, SquaredDistance

# Powers of two among which the first bracket is looked for: arguments from 1e-90 to 1e90, whatever the unit of inputs.
# Cubes of these are numbers of double precision; profiles that overflow for smaller ones are cut where they do.
EXPONENTS = np.arange(-300, 301)
# Halvings of an interval between two powers of two, after which its ends are neighbouring numbers of double precision.
HALVINGS = 54


@unwarned()
def invert_monotone(profile: Callable[[np.ndarray], np.ndarray], values: Array, *, rising: bool) -> Array:
    """The s ≥ 0 with profile(s) = values, elementwise, to rounding.

    Parameters
    ----------
    profile : callable
        Of NumPy arrays; rises from s = 0 on, or falls.
    values : array of any shape
        Values before that of s = 0 count as this one.
    rising : bool

    Returns
    -------
    array of the shape of `values`
        NaN for values beyond all that the profile takes.
    """
    sign = 1.0 if rising else -1.0
    wanted = sign * to_numpy(values).astype(float)
    grid = np.concatenate([[0.0], 2.0**EXPONENTS])
    found = sign * profile(grid)
    usable = np.isfinite(found)
    grid, found = grid[usable], np.maximum.accumulate(found[usable])  # rounding errors are no descents
    place = np.searchsorted(found, wanted)  # the first in the grid with at least the value
    low, high = grid[np.clip(place - 1, 0, None)], grid[np.clip(place, None, len(grid) - 1)]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = sign * profile(middle) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    s = from_numpy(np.where((place == len(grid)) | np.isnan(wanted), np.nan, high), values)
    return array_namespace(values).astype(s, values.dtype, copy=False)


class ProfileKernel(Kernel):
    """k(x, y) = f(s(x, y)) for a profile f and a pairwise quantity s: a distance or the inner product.

    A subclass names its quantity and gives f and f′; values, diagonals and contracted gradients follow by the chain
    rule, for dense and sparse inputs of any array library.

    See Also
    --------
    Kernel : The interface, for kernels that are no function of one quantity.
    SquaredDistance : The quantity of radial kernels.
    InnerProduct : The quantity of polynomial kernels.
    preimage.testing.check_kernel : Whether a new kernel keeps the contract.

    Examples
    --------
    Cauchy's kernel in four lines, with gradients for pre-images:

    >>> from preimage.kernels import ProfileKernel, SquaredDistance
    >>> class Cauchy(ProfileKernel):
    ...     pairwise = SquaredDistance()
    ...     def profile(self, s):
    ...         return 1 / (1 + s)
    ...     def profile_derivative(self, s):
    ...         return -1 / (1 + s) ** 2
    >>> Cauchy()([[0.0]], [[0.0], [1.0], [3.0]])
    array([[1. , 0.5, 0.1]])
    """

    #: A `PairwiseQuantity`; None for a combination of kernels that are no profiles of one quantity (`is_profile`).
    pairwise: Any

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse another profile for a kernel that has one: its derivatives and inverse would be those of the first."""
        super().__init_subclass__(**options)
        known = [each.__name__ for each in cls.__mro__ if "profile" in vars(each) and each is not ProfileKernel]
        if len(known) > 1:
            raise TypeError(
                f"{cls.__name__} has the profile of {known[0]}, but would inherit derivatives of that of {known[1]}. "
                "Derive it from ProfileKernel alone, with `pairwise`, `profile` and `profile_derivative`."
            )

    @abstractmethod
    def profile(self, s: Array) -> Array:
        """f(s), elementwise; s itself where f(s) = s."""

    @abstractmethod
    def profile_derivative(self, s: Array) -> Array:
        """f′(s), elementwise."""

    def apply_profile(self, s: Array) -> None:
        """Overwrite s with f(s): where no memory is needed for that, time to get it is saved."""
        s[...] = self.profile(s)

    def profile_with_derivative(self, s: Array) -> tuple[Array, Array]:
        """f(s) and f′(s) together, for kernels where one gives the other."""
        return self.profile(s), self.profile_derivative(s)

    def profile_derivatives(self, s: Array, order: int) -> list[Array]:
        """The list f(s), f′(s), …, of `order` + 1 arrays; infinite where a derivative grows without bound.

        Only the geometry of feature space asks for more than the first (`preimage.geometry`).
        """
        if order > 1:
            raise UnsupportedKernelError(
                f"{self!r} gives its profile and the first derivative; order {order} was asked for. "
                "Implement `profile_derivatives(s, order)` on its class."
            )
        return list(self.profile_with_derivative(s))[: order + 1]

    def inverse_profile(self, v: Array) -> Array:
        """The s with f(s) = v, where f is invertible.

        The profile of a radial kernel that is positive semidefinite in all dimensions falls (it is completely
        monotone), so that bisection finds s where a class has no formula.
        """
        if not self._falls:
            raise UnsupportedKernelError(
                f"{self!r} has no inverse profile. Linear, Exponential, Sigmoid, polynomials of odd degree, "
                "Multiquadric and positive semidefinite kernels of the squared distance have one, and so have "
                "multiples of these and sums with constants."
            )
        return invert_monotone(self.profile, v, rising=False)

    @property
    def has_inverse_profile(self) -> bool:
        """Whether `inverse_profile` can be called."""
        return self._falls or type(self).inverse_profile is not ProfileKernel.inverse_profile

    @property
    def _falls(self) -> bool:
        """Whether f is known to fall from s = 0 on."""
        return self.is_radial and self.is_positive_semidefinite

    @property
    def is_radial(self) -> bool:
        """Whether k is a function of the squared Euclidean distance."""
        return self.pairwise == SquaredDistance()

    def prepare(self, Y: Array) -> Prepared:
        quantity = self.pairwise.prepare(Y)

        def tiles(X: Array) -> Callable[..., Array]:
            quantities = quantity.tiles(X)

            def tile(rows: slice, columns: slice, out: Array | None = None) -> Array:
                s = quantities(rows, columns, out)
                if out is None:
                    return self.profile(s)
                self.apply_profile(s)
                return s

            return tile

        def with_gradient(Z: Array) -> tuple[Array, Callable[[Array], Array]]:
            values, derivatives = self.profile_with_derivative(quantity(Z))
            return values, lambda weights: self.pairwise.gradient(Z, Y, weights * derivatives)

        prepared = Prepared(self, Y, tiles, with_gradient, in_place=True)
        prepared._errors = quantity._errors
        return prepared

    @property
    def writes_in_place(self) -> bool:
        """Whether values need no memory of their own: neither the quantity nor the profile does."""
        own_profile = type(self).apply_profile is not ProfileKernel.apply_profile
        return own_profile and self.pairwise.writes_in_place

    def diagonal(self, X: Array) -> Array:
        return self.profile(self.pairwise.diagonal(X))

    def gradient(self, Z: Array, X: Array, weights: Array) -> Array:
        self.require_columns(Z, X)
        return self.pairwise.gradient(Z, X, weights * self.profile_derivative(self.pairwise.prepare(X)(Z)))

    def diagonal_gradient(self, Z: Array) -> Array:
        derivative = self.profile_derivative(self.pairwise.diagonal(Z))
        return derivative[:, None] * self.pairwise.diagonal_gradient(Z)


def is_profile(kernel: object) -> TypeGuard[ProfileKernel]:
    """Whether a kernel is a function of one pairwise quantity; sums and products are where all of their parts are."""
    return isinstance(kernel, ProfileKernel) and kernel.pairwise is not None


def is_euclidean_profile(kernel: object) -> TypeGuard[ProfileKernel]:
    """Whether a kernel is a function of the squared Euclidean distance or of the inner product."""
    return isinstance(kernel, ProfileKernel) and kernel.pairwise in (SquaredDistance(), InnerProduct())


def affine_power_derivatives(base: Array, factor: float, exponent: float, order: int) -> list[Array]:
    """Derivatives 0 … order in s of base^p with base = a·s + c and `factor` a; p is an integer, or base > 0."""
    derivatives, scale = [], 1.0
    for m in range(order + 1):
        derivatives.append(scale * _power(base, exponent - m) if scale else 0 * base)
        scale *= factor * (exponent - m)  # zero from p + 1 on where p is an integer
    return derivatives


def powers(factor: float, order: int) -> list[float]:
    """1, a, a², … up to the order, infinite where Python would raise an error."""
    with unwarned():
        return [float(power) for power in np.float64(factor) ** np.arange(order + 1)]


def product_derivatives(left: list[Array], right: list[Array]) -> list[Array]:
    """Leibniz' rule: derivatives 0 … m of a product from those of its factors."""
    return [sum(comb(m, i) * left[i] * right[m - i] for i in range(m + 1)) for m in range(len(left))]


def power_derivatives(derivatives: list[Array], exponent: int) -> list[Array]:
    """Derivatives of f^d from those of f, by Leibniz' rule d − 1 times."""
    result = derivatives
    for _ in range(exponent - 1):
        result = product_derivatives(result, derivatives)
    return result


def _power(base: Array, exponent: float) -> Array:
    if exponent == 0:
        return array_namespace(base).ones_like(base)
    return integer_power(base, exponent) if isinstance(exponent, Integral) and exponent > 0 else base**exponent
