"""What every transformation of inputs can do, transformations by a function, and data enlarged by transformations."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import (
    array_namespace,
    as_points,
    concat_rows,
    from_numpy,
    is_foreign,
    to_dense,
    to_device_of,
    to_numpy,
)
from preimage._engine.finite import gives_finite_numbers
from preimage._engine.typing import Array, Rows, Seed, Targets
from preimage._engine.validation import Interval, check_parameters

# How far a transformation goes: one number for all rows, or an array with one per row.
Amount: TypeAlias = float | Array


class Transformation(BaseEstimator, ABC):
    r"""A one-parameter family of maps :math:`x \mapsto L_t x` with :math:`L_0 x = x`.

    Models should ignore it: what an input means does not change.

    A transformation is a value: parameters in, never changed afterwards. A subclass gives :math:`L_t` and its tangent
    :math:`\tau(x) = \frac{d}{dt} L_t x \big|_{t=0}`; both take and return rows, and keep
    precision and array library; integers become floating-point numbers.

    See Also
    --------
    FunctionTransformation : A transformation from a function.
    TranslateX : A transformation of images.
    TimeShift : A transformation of signals.
    TangentCovariance : Makes models that ignore it.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TimeShift, Transformation
    >>> shift = TimeShift(exact=True)
    >>> isinstance(shift, Transformation)
    True
    >>> signals = np.array([[0.0, 1.0, 0.0, 0.0]])
    >>> np.allclose(shift.apply(signals, 0), signals)
    True
    """

    _parameter_constraints: dict = {}

    @abstractmethod
    def apply(self, X: Rows, t: Amount) -> Array:
        """The rows L_t x.

        Parameters
        ----------
        X : array of shape (n, d)
        t : float or array of shape (n,)
            How far; one number for all rows, or one per row.

        Returns
        -------
        array of shape (n, d)
        """

    @abstractmethod
    def tangents(self, X: Rows) -> Array:
        """The tangents τ(x) = dL_t x/dt at t = 0, shape (n, d)."""


def check_rows(transformation: Transformation, X: Rows) -> Array:
    """X as a dense array of finite rows; error messages name `transformation`."""
    X = to_dense(as_points(X))
    name, xp = type(transformation).__name__, array_namespace(X)
    if X.ndim != 2:
        raise ValueError(f"{name} transforms the rows of a 2D array; got an array of shape {tuple(X.shape)}.")
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"{name} needs finite values; X contains NaN or infinity. Impute or drop such rows first.")
    return X


def check_amount(transformation: Transformation, t: Amount, n: int) -> float | np.ndarray:
    """The amount as a float, or as a NumPy array with one entry per row."""
    name = type(transformation).__name__
    amounts = np.asarray(t.cpu() if is_foreign(t) and hasattr(t, "cpu") else t, dtype=np.float64)
    if amounts.shape not in ((), (n,)):
        raise ValueError(f"{name} takes one amount, or one for each of {n} rows; got shape {amounts.shape}.")
    if not np.all(np.isfinite(amounts)):
        raise ValueError(f"{name} needs a finite amount t; got {t!r}.")
    return float(amounts) if amounts.ndim == 0 else amounts


class FunctionTransformation(Transformation):
    r"""A transformation given by a function :math:`(X, t) \mapsto L_t X` of all rows at once.

    Parameters
    ----------
    function : callable
        Takes an array of shape (n, d) and a number t, and returns the transformed rows; t = 0 changes nothing.
    tangent_function : callable or None, default=None
        Takes an array of shape (n, d), returns the tangents. None differentiates `function` by central differences.
    step : float, default=1e-5
        Step of these differences, whose errors are its square; smaller steps show rounding errors ε/step.

    See Also
    --------
    Transformation : The interface, for a class of your own.
    TangentCovariance : Takes functions as they are.
    VirtualExamples : Takes functions as they are, too.

    Examples
    --------
    Rotations of the plane:

    >>> import numpy as np
    >>> from preimage.invariances import FunctionTransformation
    >>> def rotate(X, angle):
    ...     c, s = np.cos(angle), np.sin(angle)
    ...     return X @ np.array([[c, s], [-s, c]])
    >>> rotation = FunctionTransformation(rotate)
    >>> rotation.apply(np.array([[1.0, 0.0]]), np.pi / 2).round(12) + 0
    array([[0., 1.]])
    >>> rotation.tangents(np.array([[2.0, 0.0]])).round(6) + 0
    array([[0., 2.]])
    """

    _parameter_constraints = {
        "function": [callable],
        "tangent_function": [callable, None],
        "step": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        function: Callable[[Array, Amount], Array],
        tangent_function: Callable[[Array], Array] | None = None,
        step: float = 1e-5,
    ) -> None:
        self.function = function
        self.tangent_function = tangent_function
        self.step = step

    def apply(self, X: Rows, t: Amount) -> Array:
        """What the function gives for the rows of X and t, which is passed on as it is."""
        check_parameters(self)
        X = check_rows(self, X)
        return self._checked(self.function(X, t), X, "function")

    def tangents(self, X: Rows) -> Array:
        check_parameters(self)
        X = check_rows(self, X)
        if self.tangent_function is not None:
            return self._checked(self.tangent_function(X), X, "tangent_function")
        return (self.apply(X, self.step) - self.apply(X, -self.step)) / (2 * self.step)

    def _checked(self, result: Any, X: Array, name: str) -> Array:
        """The result of a function of the user, checked to be finite rows of the shape of X."""
        result = result if is_foreign(result) else np.asarray(result)
        if tuple(result.shape) != tuple(X.shape):
            raise ValueError(
                f"The `{name}` of a FunctionTransformation must return an array of the shape of its rows, "
                f"{tuple(X.shape)}; it returned {tuple(result.shape)}."
            )
        xp = array_namespace(result)
        if not bool(xp.all(xp.isfinite(result))):
            raise ValueError(f"The `{name}` of a FunctionTransformation returned NaN or infinity for finite rows.")
        return to_device_of(result, X)


def as_transformations(owner: Any) -> list[Transformation]:
    """The `transformations` of `owner` as a list: one or several, objects or functions."""
    given = owner.transformations
    parts = [_as_transformation(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
    if not parts:
        raise ValueError(f"{type(owner).__name__} needs at least one transformation; got an empty list.")
    return parts


def _as_transformation(each: Any) -> Transformation:
    if isinstance(each, Transformation):
        return each
    if callable(each):
        return FunctionTransformation(each)
    raise TypeError(
        f"A transformation is an object such as Rotate((16, 16)), or a function of rows and an amount; got {each!r}."
    )


class VirtualExamples(BaseEstimator):
    r"""Adds :math:`L_t x`, for several transformations and amounts t, to data.

    A transformer of scikit-learn must return as many rows as it was given, and a pipeline hands on the labels as they
    are. So there is no `transform`: call `augment` before fitting. `fit_resample` is the same under the name that
    pipelines of imbalanced-learn call, which let steps change the number of rows while fitting only.

    Parameters
    ----------
    transformations : Transformation, callable, or list of them
        A function (X, t) stands for ``FunctionTransformation(function)``.
    amounts : sequence of float, default=(-1.0, 1.0)
        The t of each transformation: pixels for those of images.
    keep_original : bool, default=True
        Whether the rows that were given come first.

    See Also
    --------
    TangentCovariance : The other way: a penalty on changes along transformations.
    preimage.OrientedKernelPCA : Takes the centres of virtual examples as `landmarks`.
    TranslateX : One of the transformations of images.

    Examples
    --------
    >>> import numpy as np
    >>> from preimage.invariances import TranslateX, TranslateY, VirtualExamples
    >>> X, y = np.random.default_rng(0).normal(size=(10, 64)), np.arange(10)
    >>> virtual = VirtualExamples([TranslateX((8, 8)), TranslateY((8, 8))])
    >>> X_more, y_more = virtual.augment(X, y)
    >>> X_more.shape, y_more.shape
    ((50, 64), (50,))
    """

    _parameter_constraints = {
        "transformations": [Transformation, callable, list, tuple],
        "amounts": ["array-like"],
        "keep_original": ["boolean"],
    }

    def __init__(
        self, transformations: Any, amounts: Sequence[float] = (-1.0, 1.0), keep_original: bool = True
    ) -> None:
        self.transformations = transformations
        self.amounts = amounts
        self.keep_original = keep_original

    @gives_finite_numbers()
    def augment(self, X: Rows, y: Targets | None = None) -> Any:
        """The rows of X and their virtual examples, with labels.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,) or (n, k), optional
            Labels, which transformations do not change.

        Returns
        -------
        X : array of shape (N, d)
            The original rows first, then all rows for the first transformation and amount, and so on.
        y : array of N labels
            Only if y was given.
        """
        check_parameters(self)
        X, moves = as_points(X), self._moves()
        parts = [X] if self.keep_original else []
        X_more = concat_rows(*parts, *[part.apply(X, t) for part, t in moves])
        if y is None:
            return X_more
        y = y if hasattr(y, "shape") and not hasattr(y, "iloc") else np.asarray(y)
        if y.shape[0] != X.shape[0]:
            raise ValueError(f"There are {y.shape[0]} labels for {X.shape[0]} rows; one each is needed.")
        return X_more, array_namespace(y).concat([y] * (len(parts) + len(moves)), axis=0)

    def fit_resample(self, X: Rows, y: Targets) -> tuple[Array, Array]:
        """`augment`, as samplers of imbalanced-learn are called."""
        return self.augment(X, y)

    def points(self, X: Rows, n_points: int, *, max_iter: int = 10, random_state: Seed = 0) -> Array:
        """Centres of clusters of X and its virtual examples, shape (n_points, d): expansion points.

        Expansions on them can represent what transformations change, without a point for each virtual example.

        Parameters
        ----------
        X : array of shape (n, d)
        n_points : int
        max_iter : int, default=10
            Steps of k-means, from random rows.
        random_state : int, RandomState or None, default=0
        """
        X_more = self.augment(X)
        if not isinstance(n_points, Integral) or not 1 <= n_points <= X_more.shape[0]:
            raise ValueError(
                f"`n_points` must be a number between 1 and {X_more.shape[0]}, the rows with virtual ones; "
                f"got {n_points!r}."
            )
        from sklearn.cluster import KMeans

        clusters = KMeans(n_points, init="random", n_init=1, max_iter=max_iter, random_state=random_state)
        return from_numpy(clusters.fit(to_numpy(X_more)).cluster_centers_, X_more)

    def _moves(self) -> list[tuple[Transformation, float]]:
        moves = [(part, float(t)) for part in as_transformations(self) for t in self.amounts]
        if not moves:
            raise ValueError("VirtualExamples needs at least one amount; got none.")
        return moves
