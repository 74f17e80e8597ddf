"""Families of inputs with parameters: functions of the user, mixtures of templates, and transformed templates."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import to_dense, to_numpy
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, StrOptions, check_parameters

# Starts that fill a box: their members are computed at once, and are few next to the rows of most models. With a tenth
# of them, searches of two parameters end above a grid for every fifth target.
MOST_STARTS = 256
# More starts for one or two parameters, for which so many are a fine grid: 63 values of each.
FINE_GRID = 4096
# Most sides of a box for which starts have an order of neighbours; in more dimensions 256 points are all far apart.
MOST_SIDES = 5
# Values of each amount that are tried with every template, however many there are: both ends, zero, and between.
AMOUNTS_TRIED = 5


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
        return [difference(self, T, j, self.bounds(), self.step) for j in range(self.n_parameters)]

    def canonical(self, T: np.ndarray) -> np.ndarray:
        """The same members by parameters as users expect them."""
        return T.copy()


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
        given = [-np.inf if self.lower is None else self.lower, np.inf if self.upper is None else self.upper]
        try:
            low, high = (np.broadcast_to(np.asarray(each, dtype=float), (self.n_parameters,)).copy() for each in given)
        except ValueError as error:
            raise ValueError(
                f"FunctionFamily needs `lower` and `upper` as numbers, or {self.n_parameters} of them; got "
                f"{self.lower!r} and {self.upper!r}."
            ) from error
        return low, high

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


class Mixtures(Family):
    r"""Mixtures of templates, :math:`z = \sum_j t_j x_j`.

    Parameters
    ----------
    templates : array of shape (m, d)
        The inputs that are mixed.
    weights : {"convex", "affine", "linear"}, default="convex"
        "convex" has :math:`t_j \ge 0` and :math:`\sum_j t_j = 1`, so that pre-images stay within the hull of the
        templates; "affine" has the sum alone; "linear" takes all numbers.

    See Also
    --------
    Parametrized : The solver that searches a family.
    Transformed : Templates that are transformed one at a time.
    preimage.solvers.FunctionFamily : Any function of a few parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.solvers import Mixtures
    >>> Mixtures([[0.0, 0.0], [1.0, 2.0]])(np.array([[1.0, 3.0]]))  # weights are divided by their sum
    array([[0.75, 1.5 ]])
    """

    _parameter_constraints = {
        "templates": ["array-like", "sparse matrix"],
        "weights": [StrOptions({"convex", "affine", "linear"})],
    }

    def __init__(self, templates: Rows, weights: str = "convex") -> None:
        self.templates = templates
        self.weights = weights

    @property
    def n_parameters(self) -> int:
        return len(_templates(self))

    def __call__(self, T: np.ndarray) -> np.ndarray:
        return self.canonical(T) @ _templates(self)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = super().bounds()
        return (np.zeros_like(low), high) if self.weights == "convex" else (low, high)

    def starts(self) -> np.ndarray:
        m = self.n_parameters
        # Differences of sorted numbers are weights all over the simplex.
        cuts = np.sort(filling(max(0, MOST_STARTS - m - 1), m - 1), axis=1)
        inside = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
        return np.concatenate([np.full((1, m), 1 / m), np.eye(m), inside])

    def contracted(self, T: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        along = gradients @ _templates(self).T
        if self.weights == "linear":
            return along
        # Dividing by the sum, or taking 1 − Σt from all, removes what changes the sum alone.
        if self.weights == "affine":
            return along - np.mean(along, axis=1, keepdims=True)
        weights = self.canonical(T)
        return (along - np.sum(along * weights, axis=1, keepdims=True)) / _sums(T)

    def derivatives(self, T: np.ndarray) -> list[np.ndarray]:
        X = _templates(self)
        if self.weights == "linear":
            return [np.broadcast_to(x, (len(T), len(x))) for x in X]
        if self.weights == "affine":
            return [np.broadcast_to(x - X.mean(axis=0), (len(T), len(x))) for x in X]
        Z = self(T)
        return [(x - Z) / _sums(T) for x in X]

    def canonical(self, T: np.ndarray) -> np.ndarray:
        if self.weights == "convex":
            sums = np.sum(T, axis=1, keepdims=True)
            return np.where(sums > 0, T / _sums(T), 1 / T.shape[1])
        return T + (1 - np.sum(T, axis=1, keepdims=True)) / T.shape[1] if self.weights == "affine" else T.copy()


class Transformed(Family):
    r"""Templates that are transformed, :math:`z = L^{(p)}_{t_p} \cdots L^{(1)}_{t_1} x_j`: translated, rotated, ...

    Parameters are the number j of the template, and one amount per transformation. Searches begin at every template.

    Parameters
    ----------
    templates : array of shape (m, d)
        The inputs that are transformed.
    transformations : transformation, function, or list of these
        Those of `preimage.invariances`, such as ``[TranslateX((16, 16)), TranslateY((16, 16))]``, or functions of rows
        and amounts, one per row.
    reach : float or sequence of floats, default=1.0
        The largest amount of each, in both directions, in the unit of the transformation: pixels for images.

    See Also
    --------
    Parametrized : The solver that searches a family.
    preimage.invariances.TranslateX : One of the transformations of images.
    Mixtures : Mixtures of templates.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.solvers import Transformed
    >>> shifts = Transformed([[1.0, 2.0]], lambda X, t: X + t[:, None], reach=3.0)
    >>> shifts(np.array([[0.0, 0.5]]))
    array([[1.5, 2.5]])
    """

    _parameter_constraints = {
        "templates": ["array-like", "sparse matrix"],
        "transformations": [list, tuple, callable, BaseEstimator],
        "reach": [Interval(Real, 0, None, closed="neither"), list, tuple, np.ndarray],
    }

    def __init__(self, templates: Rows, transformations: Any, reach: float | Sequence[float] = 1.0) -> None:
        self.templates = templates
        self.transformations = transformations
        self.reach = reach

    @property
    def n_parameters(self) -> int:
        return 1 + len(self._maps())

    def __call__(self, T: np.ndarray) -> np.ndarray:
        Z = _templates(self)[T[:, 0].round().astype(int)]
        for transform, amounts in zip(self._maps(), T[:, 1:].T, strict=True):
            Z = np.asarray(transform(Z, amounts), dtype=float)
        return Z

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        reach = self._reach()
        return np.concatenate([[0.0], -reach]), np.concatenate([[len(_templates(self)) - 1.0], reach])

    def starts(self) -> np.ndarray:
        few = min(AMOUNTS_TRIED ** len(self._maps()), MOST_STARTS)
        return self._with_every_template(max(few, MOST_STARTS // len(_templates(self))))

    def _fine_grid(self) -> np.ndarray:
        each = FINE_GRID // len(_templates(self))
        if len(self._maps()) > 2 or each <= AMOUNTS_TRIED ** len(self._maps()):
            return np.empty((0, self.n_parameters))
        return self._with_every_template(each)

    def _with_every_template(self, n_amounts: int) -> np.ndarray:
        amounts = spread_over(-self._reach(), self._reach(), n_amounts)
        numbers = np.arange(float(len(_templates(self))))
        return np.concatenate([np.column_stack([np.full(len(amounts), number), amounts]) for number in numbers])

    def derivatives(self, T: np.ndarray) -> list[np.ndarray]:
        # A search stays at the template where it began.
        others = [difference(self, T, j, self.bounds(), self.step) for j in range(1, self.n_parameters)]
        return [np.zeros_like(others[0]), *others]

    def _maps(self) -> list[Callable[[np.ndarray, np.ndarray], Array]]:
        given: Any = self.transformations if isinstance(self.transformations, (list, tuple)) else [self.transformations]
        if not given:
            raise ValueError("Transformed needs at least one transformation; got an empty list.")
        for each in given:
            if not callable(getattr(each, "apply", each)):
                raise TypeError(
                    f"A transformation is one of preimage.invariances, or a function of rows and amounts; got {each!r}."
                )
        return [getattr(each, "apply", each) for each in given]

    def _reach(self) -> np.ndarray:
        n = len(self._maps())
        reach = np.asarray(self.reach, dtype=float)
        if reach.shape not in ((), (n,)) or not np.all(np.isfinite(reach) & (reach > 0)):
            raise ValueError(
                f"Transformed needs `reach` as a positive number, or one for each of {n} transformations; got "
                f"{self.reach!r}."
            )
        return np.broadcast_to(reach, (n,)).copy()


def _templates(family: Any) -> np.ndarray:
    try:
        X = np.asarray(to_numpy(to_dense(family.templates)), dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{type(family).__name__} needs `templates` as rows of numbers: {error}.") from error
    if X.ndim != 2 or 0 in X.shape or not np.all(np.isfinite(X)):
        raise ValueError(
            f"{type(family).__name__} needs `templates` as one or more rows of finite numbers; got an array of shape "
            f"{X.shape}{'' if np.all(np.isfinite(X)) else ' with NaN or infinity'}."
        )
    return X


def _sums(T: np.ndarray) -> np.ndarray:
    """Sums of the rows, one where they are zero."""
    sums = np.sum(T, axis=1, keepdims=True)
    return np.where(sums > 0, sums, 1.0)


def check_family(family: Family) -> None:
    """Refuse parameters with which a family has no members."""
    check_parameters(family)
    low, high = family.bounds()
    if not np.all(low <= high):
        raise ValueError(f"Bounds need lower ≤ upper for every parameter; got {low} and {high}.")


def difference(
    function: Callable[[np.ndarray], np.ndarray],
    T: np.ndarray,
    j: int,
    bounds: tuple[np.ndarray, np.ndarray],
    step: float,
) -> np.ndarray:
    """∂/∂tⱼ of a function with values (q, d), by differences within the bounds, beyond which it may not exist."""
    low, high = bounds[0][j], bounds[1][j]
    size = step * (high - low if np.isfinite(high - low) else 1.0)
    before, after = T.copy(), T.copy()
    before[:, j], after[:, j] = np.maximum(T[:, j] - size, low), np.minimum(T[:, j] + size, high)
    moved = after[:, j] - before[:, j]  # at a bound the difference is one-sided
    return (function(after) - function(before)) / np.where(moved > 0, moved, 1.0)[:, None]


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
