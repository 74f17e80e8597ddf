"""Families of inputs with parameters, and those of functions of the user."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import product
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.typing import Array
from preimage._engine.validation import Interval, check_parameters

# Starts that fill a box: their members are computed at once, and are few next to the rows of most models. With a tenth
# of them, searches of two parameters end above a grid for every fifth target.
MOST_STARTS = 256
# More starts for one or two parameters, for which so many are a fine grid: 63 values of each.
FINE_GRID = 4096
# Most sides of a box for which starts have an order of neighbours; in more dimensions 256 points are all far apart.
MOST_SIDES = 5


class Family(BaseEstimator, ABC):
    """Inputs z = g(t) with p parameters t.

    A family is a value: parameters in, never changed afterwards. It works on NumPy arrays in double precision, with one
    member per row.

    See Also
    --------
    Parametrized : The solver that searches a family.
    FunctionFamily : A family from a function, without a class.

    Examples
    --------
    A family is called with parameters, one member per row, and knows their number and bounds:

    >>> import numpy as np
    >>> from preimage.solvers import Family, FunctionFamily
    >>> line = FunctionFamily(lambda T: T * np.array([1.0, 2.0]), 1, lower=0.0, upper=3.0)
    >>> isinstance(line, Family), line.n_parameters
    (True, 1)
    >>> line(np.array([[0.5], [1.0]]))
    array([[0.5, 1. ],
           [1. , 2. ]])
    """

    _parameter_constraints: dict = {}

    #: Step of numerical derivatives, as a fraction of the range of a parameter, or of one where it has no range:
    #: errors are its square, and rounding errors ε/step.
    step: float = 1e-5

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number p of parameters."""

    @abstractmethod
    def __call__(self, T: np.ndarray) -> np.ndarray:
        """The members g(t) for the rows of T, shape (q, d)."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest parameters, infinite where there is no bound; two arrays of shape (p,)."""
        return np.full(self.n_parameters, -np.inf), np.full(self.n_parameters, np.inf)

    def starts(self) -> np.ndarray:
        """Parameters from which searches may begin, shape (m, p)."""
        return spread_over(*self.bounds())

    def _fine_grid(self) -> np.ndarray:
        """More starts for families of one or two parameters, shape (m, p): all minima that a plot would show."""
        low, high = self.bounds()
        n_sides = int(np.sum(np.isfinite(low) & np.isfinite(high)))
        return spread_over(low, high, FINE_GRID) if n_sides in (1, 2) else np.empty((0, self.n_parameters))

    def contracted(self, T: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        """(∂g/∂t)ᵀ times each row of `gradients`: gradients with respect to the parameters, shape (q, p)."""
        return np.stack([np.einsum("qd,qd->q", each, gradients) for each in self.derivatives(T)], axis=1)

    def derivatives(self, T: np.ndarray) -> list[np.ndarray]:
        """∂g/∂tⱼ at the rows of T, one array of shape (q, d) per parameter; here by differences."""
        return [self._difference(T, j) for j in range(self.n_parameters)]

    def canonical(self, T: np.ndarray) -> np.ndarray:
        """The same members by parameters as users expect them."""
        return T.copy()

    def _difference(self, T: np.ndarray, j: int) -> np.ndarray:
        low, high = self.bounds()
        size = high[j] - low[j] if np.isfinite(high[j] - low[j]) else 1.0
        before, after = T.copy(), T.copy()
        # Within the bounds, beyond which g may not exist: at a bound the difference is one-sided.
        before[:, j] = np.maximum(T[:, j] - self.step * size, low[j])
        after[:, j] = np.minimum(T[:, j] + self.step * size, high[j])
        moved = after[:, j] - before[:, j]
        difference = self(after) - self(before)
        return difference / np.where(moved > 0, moved, 1.0)[:, None]


class FunctionFamily(Family):
    r"""The family z = g(t) of a function.

    Parameters
    ----------
    function : callable
        Takes parameters of shape (q, p) and returns inputs of shape (q, d), as NumPy arrays.
    n_parameters : int
        The number p of parameters.
    jacobian : callable or None, default=None
        Takes parameters of shape (q, p) and returns ∂g/∂t of shape (q, d, p); None takes differences of `function`.
    lower, upper : float, array of shape (p,) or None, default=None
        Bounds of the parameters. Searches begin all over a box, and at zero where there is none: with several minima
        give bounds.
    step : float, default=1e-5
        Step of differences, as a fraction of the range of each parameter, or of one without a range.

    See Also
    --------
    Parametrized : The solver that searches a family.
    Mixtures : Mixtures of given inputs.
    Transformed : Given inputs under transformations.

    Examples
    --------
    Points of the unit circle:

    >>> import numpy as np
    >>> from preimage.feature_space import Expansion
    >>> from preimage.kernels import Gaussian
    >>> from preimage.solvers import FunctionFamily, Parametrized
    >>> circle = FunctionFamily(lambda T: np.column_stack([np.cos(T), np.sin(T)]), 1, lower=0.0, upper=2 * np.pi)
    >>> target = Expansion(Gaussian(0.5), np.array([[2.0, 2.0]]), np.array([[1.0]]))
    >>> result = Parametrized(circle).solve(target)
    >>> result.points.round(3), result.parameters.round(3)
    (array([[0.707, 0.707]]), array([[0.785]]))
    """

    _parameter_constraints = {
        "function": [callable],
        "n_parameters": [Interval(Integral, 1, None, closed="left")],
        "jacobian": [callable, None],
        "lower": [Real, "array-like", None],
        "upper": [Real, "array-like", None],
        "step": [Interval(Real, 0, 1, closed="neither")],
    }

    n_parameters: int = 1

    def __init__(
        self,
        function: Callable[[np.ndarray], Array],
        n_parameters: int,
        jacobian: Callable[[np.ndarray], Array] | None = None,
        lower: float | Array | None = None,
        upper: float | Array | None = None,
        step: float = 1e-5,
    ) -> None:
        self.function = function
        self.n_parameters = n_parameters
        self.jacobian = jacobian
        self.lower = lower
        self.upper = upper
        self.step = step

    def __call__(self, T: np.ndarray) -> np.ndarray:
        return np.asarray(self.function(T), dtype=float)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        bound = lambda value, default: np.broadcast_to(
            np.asarray(default if value is None else value, dtype=float), (self.n_parameters,)
        ).copy()
        return bound(self.lower, -np.inf), bound(self.upper, np.inf)

    def derivatives(self, T: np.ndarray) -> list[np.ndarray]:
        if self.jacobian is None:
            return super().derivatives(T)
        J = np.asarray(self.jacobian(T), dtype=float)
        if J.ndim != 3 or J.shape[0] != len(T) or J.shape[2] != self.n_parameters:
            raise ValueError(
                f"`jacobian` must return ∂g/∂t of shape ({len(T)}, d, {self.n_parameters}) for {len(T)} rows of "
                f"parameters; it returned shape {J.shape}."
            )
        return list(np.moveaxis(J, 2, 0))


def check_family(family: Family) -> None:
    """Refuse parameters with which a family has no members."""
    check_parameters(family)
    try:
        low, high = family.bounds()
    except ValueError as error:
        if isinstance(family, FunctionFamily):
            raise ValueError(
                f"FunctionFamily needs `lower` and `upper` as numbers, or {family.n_parameters} of them; got "
                f"{family.lower!r} and {family.upper!r}."
            ) from error
        raise
    if not np.all(low <= high):
        raise ValueError(f"Bounds need lower ≤ upper for every parameter; got {low} and {high}.")


def members(family: Family, T: np.ndarray, d: int | None) -> np.ndarray:
    """g(T), checked to be finite rows of d columns; d = None takes any number of columns."""
    Z = np.asarray(family(T), dtype=float)
    if Z.ndim != 2 or Z.shape[0] != len(T) or (d is not None and Z.shape[1] != d):
        wanted = f"({len(T)}, {'d' if d is None else d})"
        raise ValueError(
            f"{type(family).__name__} must give inputs of shape {wanted} for {len(T)} rows of parameters; it gave "
            f"shape {Z.shape}."
        )
    if not np.all(np.isfinite(Z)):
        raise ValueError(
            f"{type(family).__name__} gave NaN or infinity for finite parameters. Give bounds within which it has "
            "members."
        )
    return Z


def spread_over(low: np.ndarray, high: np.ndarray, most: int = MOST_STARTS) -> np.ndarray:
    """`most` parameters all over a box: a grid with a middle, and points in between; zero along open sides."""
    bounded = np.isfinite(low) & np.isfinite(high)
    nearest = np.clip(0.0, low, high)
    p = int(bounded.sum())
    if p == 0:
        return nearest[None, :]
    # The largest odd number, so that the middle is one of them: the root is rounded, 1e-9 is more than its error.
    side = int(most ** (1 / p) + 1e-9)
    side -= 1 - side % 2
    ticks = np.linspace(0, 1, side) if side > 1 else np.array([0.5])
    grid = np.array(list(product(ticks, repeat=p))) if side > 1 else np.full((1, p), 0.5)
    fractions = np.concatenate([grid, filling(most - len(grid), p)])
    T = np.tile(nearest, (len(fractions), 1))
    T[:, bounded] = low[bounded] + fractions * (high - low)[bounded]
    return T


def filling(count: int, p: int) -> np.ndarray:
    """Points that fill the unit cube of p dimensions evenly, in every number; random ones from a fixed seed for many p.

    The sequence i·α mod 1 with α = (1/g, 1/g², …), where g is the root of g^(p+1) = g + 1: of all such sequences the
    one whose points stay farthest apart in one dimension, and nearly so in a few.
    """
    if p > MOST_SIDES:
        return np.random.default_rng(0).random((count, p))
    root = 2.0
    for _ in range(64):  # a contraction by less than one half
        root = (1 + root) ** (1 / (p + 1))
    return (0.5 + np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, p + 1)) % 1.0
