"""What every transformation of inputs can do, and transformations by a function."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from preimage._engine.arrays import array_namespace, as_points, is_foreign, to_dense, to_device_of
from preimage._engine.typing import Array, Rows
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
