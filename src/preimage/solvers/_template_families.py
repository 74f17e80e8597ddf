"""Families made of templates: their mixtures, and what transformations make of them."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import to_dense, to_numpy
from preimage._engine.typing import Array, Rows
from preimage._engine.validation import Interval, StrOptions
from preimage.solvers._families import FINE_GRID, MOST_STARTS, Family, filling, spread_over

# Values of each amount that are tried with every template, however many there are: both ends, zero, and between.
AMOUNTS_TRIED = 5


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
        others = [self._difference(T, j) for j in range(1, self.n_parameters)]
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
